"""What a formula names and uses more than once becomes a local, where it is sure to be needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cvmgen.analysis.definedness import SCOPES, always_evaluated, direct_operands
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild, substitute, with_operands


def with_bindings(expr: i.Expr, named: Mapping[i.Expr, str], fresh: Callable[[str], str]) -> i.Expr:
    """`expr` with a binding for each subtree of `named` that occurs in it more than once.

    A binding stands at the innermost place that holds all occurrences, and only where one of
    them is evaluated whatever the conditions say.
    """
    if not named or isinstance(expr, SCOPES):
        return expr
    bindings, body = bound(expr, named, fresh)

    done = with_operands(body, lambda each: with_bindings(each, named, fresh))
    for name, value in reversed(bindings):
        done = i.Bind(name, value, done)
    return done


def bound(
    expr: i.Expr, named: Mapping[i.Expr, str], fresh: Callable[[str], str]
) -> tuple[list[tuple[str, i.Expr]], i.Expr]:
    """Bindings that belong in front of `expr`, in order, and `expr` with their names."""
    parts = [
        Counter(each for each in subexpressions(part) if each in named)
        for part in direct_operands(expr)
    ]
    total: Counter[i.Expr] = sum(parts, Counter())
    sure = set(always_evaluated(expr))
    candidates = [
        each
        for each, count in total.items()
        if count > 1 and each in sure and max(part[each] for part in parts) < count
    ]
    candidates.reverse()  # of equal size the first comes last, since bindings are turned round
    candidates.sort(key=lambda each: -sum(1 for _ in subexpressions(each)))
    bindings: list[tuple[str, i.Expr]] = []
    for each in candidates:
        held = (expr, *(value for _, value in bindings))
        if sum(1 for tree in held for node in subexpressions(tree) if node == each) < 2:
            continue
        mark = f"{named[each]} {len(bindings)}"  # no name of a formula has a space
        expr = with_name_for(expr, each, mark)
        bindings = [(known, with_name_for(value, each, mark)) for known, value in bindings]
        bindings.append((mark, each))
    names = {mark: fresh(mark.split()[0]) for mark, _ in reversed(bindings)}
    done = [(names[mark], _with_names(value, names)) for mark, value in reversed(bindings)]
    return done, _with_names(expr, names)


def _with_names(tree: i.Expr, names: Mapping[str, str]) -> i.Expr:
    return substitute(tree, {old: i.Var(new) for old, new in names.items()})


def with_name_for(tree: i.Expr, value: i.Expr, name: str) -> i.Expr:
    """The tree with a name for a value; where that has another one, the name is for both."""

    def change(node: Any) -> Any:
        match node:
            case i.Bind(name=local, value=i.Var(name=known), body=body) if known == name:
                return substitute(body, {local: i.Var(name)})
            case _:
                return i.Var(name) if node == value else node

    return rebuild(tree, change)


def subexpressions(expr: i.Expr) -> Iterator[i.Expr]:
    """An expression and those below it, but for what other scopes hold."""
    yield expr
    for each in direct_operands(expr):
        yield from subexpressions(each)
