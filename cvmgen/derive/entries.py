"""Multi-indices that are computed entry by entry, each from one entry of another.

In `X[(d[K - N + j] mod n[j] for j < N)...]` entry j of the index comes from the entry of d
that stands K - N further. Solved for d: an entry is what its own formula gives for the
target, where several are possible with a new index over them, and a new index alone where
no entry of the target speaks of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cvmgen.derive.facts import opposite
from cvmgen.derive.polynomials import addends_of, equation, expression, solved_for
from cvmgen.derive.substitution import entry_of, equals_number, free_names, fresh, substitute
from cvmgen.derive.unknowns import Unknowns
from cvmgen.spec import nodes as n
from cvmgen.spec.logic import conjunction


class Leaf(NamedTuple):
    """One entry of the solution, how many values its new index takes (None: it has none), and
    the condition under which there is a solution (None: always)."""

    value: n.Expr
    choices: n.Expr | None
    test: n.Expr | None


@dataclass(slots=True)
class ListedEntries:
    """`(element for index < count)` as it reads one pack, `shift` entries further."""

    element: n.Expr
    index: str
    count: n.Expr
    pack: str
    shift: n.Expr


class EntrySolver:
    """Solves `(element for j < N) == target` for the pack that its entries read."""

    def __init__(self, solver: Unknowns, target: n.Ref, extents: n.Expr) -> None:
        self.solver = solver
        self.facts = solver.facts
        self.target = target
        self.extents = extents
        self.span = target.span

    def solve(self, expr: n.Listing) -> bool:
        """Whether the equation is taken care of."""
        listed = self.listed(expr)
        if listed is None:
            return False
        match self.solver.unknown[listed.pack]:
            case [n.PackRange(extents=box, slots=None)]:
                pass
            case _:
                return False
        length = self.facts.length(box)
        if length is None or self.solver.depends(box):
            return False
        shifted = n.Arithmetic("+", listed.shift, listed.count, self.span)
        if not self.facts.same(shifted, length):
            return False
        return self.solved(listed, box, length)

    def listed(self, expr: n.Listing) -> ListedEntries | None:
        match expr.binders:
            case n.Binders(
                items=(n.IndexRange(index=index, low=low, high=count),), condition=None
            ) if equals_number(low, 0) and not self.solver.depends(count):
                pass
            case _:
                return None
        names = self.solver.depends(expr.element)
        if len(names) != 1:
            return None
        (pack,) = names
        places = set()
        for node in n.walk(expr.element):
            match node:
                case n.Item(sequence=n.Ref(name=name), index=place) if name == pack:
                    places.add(place)
                case _:
                    pass
        uses = sum(isinstance(node, n.Ref) and node.name == pack for node in n.walk(expr.element))
        items = sum(
            isinstance(node, n.Item) and node.sequence == n.Ref(pack, "pack", self.span)
            for node in n.walk(expr.element)
        )
        if len(places) != 1 or uses != items:
            return None
        shift = self.shift(places.pop(), index)
        return None if shift is None else ListedEntries(expr.element, index, count, pack, shift)

    def shift(self, place: n.Expr, index: str) -> n.Expr | None:
        """What is added to the index in the place of an entry."""
        addends = list(addends_of(place))
        own = [(False, each) for minus, each in addends if is_index_name(each, index) and not minus]
        rest = [each for each in addends if not is_index_name(each[1], index)]
        if len(own) != 1 or len(rest) != len(addends) - 1:
            return None
        if any(index in free_names(each) or self.solver.depends(each) for _, each in rest):
            return None
        if not rest:
            return n.Number(0, self.span)
        (minus, first), *others = rest
        start = n.Negate(first, first.span) if minus else first
        return solved_for(start, [(not sign, each) for sign, each in others], False)

    # -------------------------------------------------------- the solution

    def solved(self, listed: ListedEntries, box: n.Expr, length: n.Expr) -> bool:
        at = fresh(listed.index, self.solver.taken - {listed.index})
        choice = fresh("r", self.solver.taken)
        place = n.Ref(at, "index", self.span)
        whole = equals_number(listed.shift, 0)
        own = place if whole else solved_for(place, list(addends_of(listed.shift)), False)
        element = substitute(listed.element, {listed.index: own})
        walk = BranchWalk(self, listed.pack, box, place, own, n.Ref(choice, "pack", self.span))
        if whole:
            leaf = walk.tree(element)
        else:
            covered = n.Compare((">=",), (place, listed.shift), self.span)
            leaf = walk.branches(covered, lambda: walk.tree(element), walk.free)
        if leaf is None:
            return False
        ranges = n.IndexRange(at, n.Number(0, self.span), length, self.span)
        binders = n.Binders((ranges,), None, None, self.span)
        if leaf.choices is not None:
            box = self.shortest(n.Listing(leaf.choices, binders, self.span), at)
            self.solver.bind([n.PackRange(choice, box, None, self.span)])
        self.solver.settle(listed.pack, n.Listing(leaf.value, binders, self.span))
        if leaf.test is not None:
            self.solver.tests.append(n.Reduction("all", binders, leaf.test, self.span))
        return True

    def shortest(self, listing: n.Listing, index: str) -> n.Expr:
        """`L` for `(L[i] for i < N)` where L has N entries."""
        match listing.element:
            case n.Item(sequence=n.Ref(name=name) as whole, index=n.Ref(name=used)) if (
                used == index
            ):
                own = self.facts.length(self.facts.lets.get(name, whole))
                own_count = self.facts.length(listing)
                if own is not None and own_count is not None and self.facts.same(own, own_count):
                    return whole
            case _:
                pass
        return listing


@dataclass(slots=True)
class BranchWalk:
    """Goes through the branches of an element; `place` is the entry of the pack, `own` that of
    the target."""

    entries: EntrySolver
    pack: str
    box: n.Expr
    place: n.Ref
    own: n.Expr
    choice: n.Ref

    def tree(self, element: n.Expr) -> Leaf | None:
        solver, facts = self.entries.solver, self.entries.facts
        match element:
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                if solver.depends(condition):
                    return None
                return self.branches(
                    condition, lambda: self.tree(then), lambda: self.tree(otherwise)
                )
            case _ if self.pack in free_names(element):
                return self.leaf(element, self.wanted)
            case _:
                found = self.free()
                extent = entry_of(self.entries.extents, self.own, self.entries.span)
                one = n.Number(1, element.span)
                single = facts.decided(n.Compare(("==",), (extent, one), element.span))
                if equals_number(element, 0) and single:
                    return found
                return found._replace(test=equation(element, self.wanted))

    def branches(
        self, condition: n.Expr, yes: Callable[[], Leaf | None], no: Callable[[], Leaf | None]
    ) -> Leaf | None:
        facts = self.entries.facts
        with facts.assuming(condition):
            first = yes()
        with facts.assuming(opposite(condition)):
            second = no()
        if first is None or second is None:
            return None
        one, true = n.Number(1, condition.span), n.Truth(True, condition.span)
        choices = None
        if first.choices is not None or second.choices is not None:
            choices = conditional(first.choices or one, condition, second.choices or one)
        test = None
        if first.test is not None or second.test is not None:
            test = conditional(first.test or true, condition, second.test or true)
        return Leaf(conditional(first.value, condition, second.value), choices, test)

    @property
    def wanted(self) -> n.Expr:
        return entry_of(self.entries.target, self.own, self.entries.span)

    @property
    def extent(self) -> n.Expr:
        """The extent of the pack at this entry, where the branch tells it shorter."""
        facts = self.entries.facts
        terms = facts.simplest(entry_of(self.box, self.place, self.entries.span))
        return terms

    @property
    def chosen(self) -> n.Expr:
        return n.Item(self.choice, self.place, self.entries.span)

    def free(self) -> Leaf:
        """No entry of the target speaks of this one: all its values count."""
        return Leaf(self.chosen, self.extent, None)

    def leaf(self, element: n.Expr, wanted: n.Expr) -> Leaf | None:
        facts, span = self.entries.facts, self.entries.span
        match element:
            case n.Item():
                return Leaf(wanted, None, self.inside(wanted))
            case n.Arithmetic(sign="+" | "-"):
                addends = list(addends_of(element))
                own = [each for each in addends if self.pack in free_names(each[1])]
                others = [each for each in addends if self.pack not in free_names(each[1])]
                if len(own) != 1:
                    return None
                return self.leaf(own[0][1], solved_for(wanted, others, own[0][0]))
            case n.Arithmetic(sign="*", left=left, right=right):
                part, factor = (left, right) if self.pack in free_names(left) else (right, left)
                if self.pack in free_names(factor) or not facts.not_zero(factor):
                    return None
                found = self.leaf(part, n.Arithmetic("div", wanted, factor, span))
                rest = equation(n.Arithmetic("mod", wanted, factor, span), n.Number(0, span))
                return None if found is None else found._replace(test=conjunction(rest, found.test))
            case n.Arithmetic(sign="div", left=n.Item(), right=by) if facts.at_least(by, 1):
                return self.several(wanted, by)
            case n.Arithmetic(sign="mod", left=n.Item(), right=by) if facts.at_least(by, 1):
                return self.every(wanted, by)
            case _:
                return None

    def several(self, wanted: n.Expr, by: n.Expr) -> Leaf | None:
        """`d[i] div s == t`: t*s and the s - 1 after it."""
        facts, span = self.entries.facts, self.entries.span
        start = n.Arithmetic("*", wanted, by, span)
        value = n.Arithmetic("+", start, self.chosen, span)
        target_extent = entry_of(self.entries.extents, self.own, span)
        exact = n.Arithmetic("*", target_extent, by, span)
        if wanted == self.wanted and facts.same(self.extent, exact):
            return Leaf(value, by, None)
        return Leaf(value, by, self.inside(value))

    def every(self, wanted: n.Expr, by: n.Expr) -> Leaf | None:
        """`d[i] mod s == t`: t and every s-th after it."""
        facts, span = self.entries.facts, self.entries.span
        target_extent = entry_of(self.entries.extents, self.own, span)
        if wanted != self.wanted or not facts.same(target_extent, by):
            return None
        value = n.Arithmetic("+", n.Arithmetic("*", self.chosen, by, span), wanted, span)
        often = facts.split_evenly(self.extent, by)
        if often is not None:
            return Leaf(value, expression(often, by), None)
        choices = n.Function("ceildiv", (self.extent, by), span)
        return Leaf(value, choices, self.inside(value))

    def inside(self, value: n.Expr) -> n.Expr | None:
        """The test that a value is an index below the extent of the pack there."""
        facts, span = self.entries.facts, self.entries.span
        above = facts.at_least(value, 0)
        if above and facts.is_below(value, self.extent):
            return None
        itself = n.Item(n.Ref(self.pack, "pack", span), self.place, span)
        if above:
            return n.Compare(("<",), (itself, self.extent), span)
        return n.Compare(("<=", "<"), (n.Number(0, span), itself, self.extent), span)


def is_index_name(expr: n.Expr, name: str) -> bool:
    return isinstance(expr, n.Ref) and expr.name == name


def conditional(first: n.Expr, condition: n.Expr, second: n.Expr) -> n.Expr:
    """A choice, or the one value that both branches have, as far as they do."""
    match first:
        case _ if first == second:
            return first
        case n.Conditional(then=then, condition=inner, otherwise=otherwise) if otherwise == second:
            return n.Conditional(then, conjunction(condition, inner), second, condition.span)
        case _:
            return n.Conditional(first, condition, second, condition.span)
