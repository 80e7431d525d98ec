"""Selected lists: which of them equations need, and where each lies in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.source import Span
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.binders import is_below
from cvmgen.spec.formula import SELECTED
from cvmgen.spec.logic import conjuncts

Indices = tuple[i.Expr, ...]


@dataclass(frozen=True, slots=True)
class ListPlace:
    """Where the list for some indices lies."""

    name: str
    indices: Indices
    span: Span

    def entry(self, at: i.Expr) -> i.Access:
        return memory_access(self.name, (*self.indices, at))

    @property
    def length(self) -> i.Access:
        return memory_access(length_name(self.name), self.indices or (i.ZERO,))

    def key(self, at: i.Expr, number: int) -> i.Access:
        return memory_access(f"{self.name}_keys", (*self.indices, at, i.Const(number)))

    @property
    def spare(self) -> i.Access:
        return memory_access(i.spare_name(self.name), (*self.indices, i.ZERO))

    def entries(self, *, ascending: bool = False) -> i.Entries:
        return i.Entries(self.entry(i.ZERO), self.length, ascending)


def memory_access(name: str, index: Indices) -> i.Access:
    return i.Access(name, None, tuple((each, False) for each in index))


def length_name(name: str) -> str:
    """The memory for the number of entries of each list `name`."""
    return f"{name}_length"


def used_lists(operator: f.Operator, definitions: Mapping[str, f.Definition]) -> set[str]:
    """The selected lists that the equations and the requirements on elements need."""
    found: set[str] = set()

    def visit(node: object, known: Mapping[str, f.Definition]) -> None:
        for each in n.walk(node):
            if isinstance(each, n.Apply) and each.name not in found:
                found.add(each.name)
                visit(known[each.name].body, known)

    for item in f.all_items(operator.items):
        if isinstance(item, f.Equation):
            known = {**definitions, **{each.name: each for each in item.where}}
            visit((item.slots, item.domain, item.value), known)
        elif isinstance(item, f.Demand):
            visit((item.domain, item.condition), definitions)
    return {name for name in found if name in definitions and definitions[name].kind == SELECTED}


def without_own(binders: n.Binders, growing: Mapping[str, i.Expr]) -> n.Expr | None:
    """The filter of binders without the test `q < p` for elements of a list under construction:
    it has no others yet."""
    own = {
        binder.index
        for binder in binders.items
        if isinstance(binder, n.IndexMember)
        and isinstance(binder.collection, n.Apply)
        and binder.collection.name in growing
    }
    kept = [each for each in conjuncts(binders.condition) if not tests_own(each, own)]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else n.Logic("and", tuple(kept), kept[0].span)


def tests_own(condition: n.Expr, own: set[str]) -> bool:
    match condition:
        case n.Compare(operands=(n.Ref(name=left), n.Ref(name=right))):
            return any(is_below(condition, each, right if each == left else left) for each in own)
        case _:
            return False
