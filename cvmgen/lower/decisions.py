"""Tests of loops that look for an element that decides, as comparisons that are cheap to make.

`all[q in U](x < t)` leaves its loop at the first q for which x >= t. What x is made of often says
so earlier: where it is 0 unless a condition holds, and t is at least 1, that condition comes first;
a product of two values that are not negative is above 0 where both are; `min(a, b) > max(c, d)` is
four comparisons; and a quotient rounded down reaches t where the dividend reaches t times a divisor
above 0. Each step is exact over the integers; real numbers are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cvmgen.analysis.facts import Facts
from cvmgen.analysis.list_loops import decision
from cvmgen.dtypes import INT32
from cvmgen.functions import MIRRORED
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.rewrite import locals_reached
from cvmgen.ir.uses import assigned, names_in, reassigned
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.source import SpecError
from cvmgen.typing.types import type_nest

PARTED = (i.Select, i.Binary)


def decide_early(program: i.Program) -> i.Program:
    """Tests that look for a deciding element become cheap comparisons, cheapest first."""
    if program.operator.has_reals:
        return program
    return replace(program, nests=tuple(early(program, nest) for nest in program.nests))


def early(program: i.Program, nest: i.Nest) -> i.Nest:
    """The nest with its tests taken apart; as it is where no machine type would hold them."""
    body = rebuild(nest.body, Tests(Facts.of(program, nest)).loop)
    done = replace(nest, body=body)
    return done if body == nest.body or has_types(program, done) else nest


def has_types(program: i.Program, nest: i.Nest) -> bool:
    """Whether machine types hold all values of a nest, whatever the types of its tensors."""
    operator = program.operator
    names = (*(item.name for item in operator.inputs), *operator.output_names)
    nests = tuple(nest if each.span is nest.span else each for each in program.nests)
    try:
        for choice in operator.choices:
            type_nest(replace(program, nests=nests), nest, dict.fromkeys(names, INT32) | choice)
    except SpecError:
        return False
    return True


class Tests:
    """Takes tests apart, knowing what holds of the values of the host."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.locals: list[i.Stmt] = []
        self.taken: set[str] = set()
        self.span: Any = None  # of the loop at hand

    def loop(self, node: Any) -> Any:
        if not isinstance(node, i.Loop) or decision(node) is None:
            return node
        self.span = node.span
        return replace(node, body=self.early(self.unchosen(node.body)))

    def unchosen(self, body: i.Block) -> i.Block:
        """Without a local that one branch sets, where what it is otherwise does not decide."""
        match body:
            case (
                *before,
                i.Let(name=name, value=default),
                i.If(then=(*inner, i.Assign(name=set_, value=value)), otherwise=()) as branch,
                i.If(condition=i.Compare() as test) as decides,
            ) if name == set_ and sum(each == name for each in self.set_in(inner, decides)) == 0:
                turned = toward(test, name)
                if turned is None or not self.never(turned.op, default, turned.right):
                    return body
                asked = self.tested(body, decides, replace(turned, left=value))
                return (*before, replace(branch, then=(*inner, *asked)))
            case (*before, i.If(condition=i.Compare() as test) as decides):
                return (*before, *self.tested(body, decides, test))
            case _:
                return body

    def tested(self, body: i.Block, decides: i.If, test: i.Compare) -> i.Block:
        """The statement that decides, and locals in front of it, for a test taken apart."""
        if isinstance(test.right, PARTED) and not isinstance(test.left, PARTED):
            test = i.Compare(MIRRORED[test.op], test.right, test.left)
        self.locals, self.taken = [], {*names_in(body), *assigned(body)}
        asked = self.asked(test.op, test.left, test.right, straight=True)
        return (*self.locals, replace(decides, condition=asked))

    @staticmethod
    def set_in(inner: list[i.Stmt], decides: i.If) -> Iterator[str]:
        """What the statements around an assignment set, or read where it decides."""
        yield from reassigned(tuple(inner))
        yield from names_in((tuple(inner), decides.then))

    def never(self, op: str, value: i.Expr, threshold: i.Expr) -> bool:
        """Whether a comparison never holds: of at most 0 with at least 1."""
        match value:
            case i.Const(value=number) if number <= 0:
                return op in (">=", ">", "==") and self.facts.positive(threshold)
            case _:
                return False

    def asked(self, op: str, value: i.Expr, threshold: i.Expr, *, straight: bool = False) -> i.Expr:
        """A comparison of a value, asked of the parts of the value; `straight`: if all tests
        before it hold, it is asked, so that it may have locals."""
        match value:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                if self.never(op, otherwise, threshold):
                    yes = self.asked(op, then, threshold, straight=straight)
                    return conjunction((*conjuncts(condition), *conjuncts(yes)))
                yes = self.asked(op, then, threshold)
                return i.Select(condition, yes, self.asked(op, otherwise, threshold))
            case i.Binary(op="floordiv", left=dividend, right=divisor) if op == ">=":
                if self.facts.positive(divisor):
                    return i.Compare(op, dividend, i.Binary("*", threshold, divisor))
                if straight and not isinstance(divisor, i.Var):
                    name = fresh("divisor", self.taken)
                    self.locals.append(i.Let(name, "int", divisor, self.span))
                    divisor = i.Var(name)
                reached = i.Compare(op, dividend, i.Binary("*", threshold, divisor))
                divided = i.Compare(op, replace(value, right=divisor), threshold)
                return i.Select(i.Compare(">", divisor, i.ZERO), reached, divided)
            case _:
                return i.Compare(op, value, threshold)

    # -------------------------------------------------------- order

    def early(self, body: i.Block) -> i.Block:
        """Each test as soon as the locals are there that it reads, and not before."""
        locals_: dict[str, i.Let] = {}
        for at, each in enumerate(body):
            match each:
                case i.Let(name=name) if name not in reassigned(body):
                    locals_[name] = each
                case i.If(otherwise=()) if at == len(body) - 1:
                    values = {name: local.value for name, local in locals_.items()}
                    tests = [
                        part
                        for test in conjuncts(each.condition)
                        for part in split_test(test, values)
                    ]
                    return self.nested(locals_, tests, replace(each, then=self.early_in(each)))
                case _:
                    return body
        return body

    def early_in(self, test: i.If) -> i.Block:
        decides = any(isinstance(each, i.Break) for each in test.then)
        return test.then if decides else self.early(test.then)

    def nested(self, locals_: dict[str, i.Let], tests: list[i.Expr], last: i.If) -> i.Block:
        """Locals and tests in turn; what only the statements behind all tests read comes last."""
        body: list[i.Stmt] = []
        together: list[i.Expr] = []
        left = dict(locals_)
        for at, test in enumerate(tests):
            wanted = locals_reached(test, left)
            if wanted and together:
                inner = self.nested(left, tests[at:], last)
                return (*body, replace(last, condition=conjunction(together), then=inner))
            body += [left.pop(name) for name in list(left) if name in wanted]
            together.append(test)
        rest = [local for name, local in left.items() if name in locals_reached(last.then, left)]
        return (*body, replace(last, condition=conjunction(together), then=(*rest, *last.then)))


def toward(test: i.Compare, name: str) -> i.Compare | None:
    """A comparison with the local on its left."""
    if test.left == i.Var(name) and name not in names_in(test.right):
        return test
    if test.right == i.Var(name) and name not in names_in(test.left):
        return i.Compare(MIRRORED[test.op], test.right, test.left)
    return None


# ---------------------------------------------------------------- comparisons


def split_test(test: i.Expr, values: Mapping[str, i.Expr]) -> tuple[i.Expr, ...]:
    """Comparisons that hold together where a test holds."""
    match test:
        case i.Compare(op=">", left=left, right=right):
            return implied_orders(left, right, values)
        case i.Compare(op="<", left=left, right=right):
            return implied_orders(right, left, values)
        case _:
            return (test,)


def implied_orders(high: i.Expr, low: i.Expr, values: Mapping[str, i.Expr]) -> tuple[i.Expr, ...]:
    """Comparisons that hold together where high > low."""
    if low == i.ZERO:
        meaning = values.get(high.name, high) if isinstance(high, i.Var) else high
        match meaning:
            case i.Binary(op="*", left=one, right=other) if not_negative(
                one, values
            ) and not_negative(other, values):
                return (
                    *implied_orders(one, i.ZERO, values),
                    *implied_orders(other, i.ZERO, values),
                )
            case i.Binary(op="-", left=left, right=right) if left != i.ZERO:
                return implied_orders(left, right, values)
            case i.Call(function="max", arguments=arguments):
                others = [each for each in arguments if not at_most_0(each)]
                if len(others) == 1 and len(arguments) > 1:
                    return implied_orders(others[0], i.ZERO, values)
            case _:
                pass
    for value, function in ((high, "min"), (low, "max")):
        if isinstance(value, i.Call) and value.function == function and len(value.arguments) > 1:
            return tuple(
                part
                for each in value.arguments
                for part in (
                    implied_orders(each, low, values)
                    if value is high
                    else implied_orders(high, each, values)
                )
            )
    return (i.Compare(">", high, low),)


def at_most_0(expr: i.Expr) -> bool:
    return isinstance(expr, i.Const) and expr.value <= 0


def not_negative(expr: i.Expr, values: Mapping[str, i.Expr]) -> bool:
    match expr:
        case i.Const(value=value):
            return value >= 0
        case i.Var(name=name):
            return name in values and not_negative(values[name], values)
        case i.Call(function="abs"):
            return True
        case i.Call(function="max", arguments=arguments):
            return any(not_negative(each, values) for each in arguments)
        case i.Call(function="min", arguments=arguments):
            return all(not_negative(each, values) for each in arguments)
        case i.Binary(op="+" | "*", left=left, right=right):
            return not_negative(left, values) and not_negative(right, values)
        case _:
            return False
