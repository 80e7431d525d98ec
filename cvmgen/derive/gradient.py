"""The equation of an adjoint: the terms of the operator's equations, turned round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from cvmgen.derive.digits import Digits, LeftIndex, LeftSlot, SlotDigit, targets_of
from cvmgen.derive.facts import DeclaredFacts, speaks_of_elements
from cvmgen.derive.ranges import NarrowedLoops
from cvmgen.derive.solving import Solver
from cvmgen.derive.substitution import (
    distinct,
    equals_number,
    formula_names,
    fresh,
    substitute,
    with_binder_name,
    with_parts,
)
from cvmgen.derive.terms import AdjointTerm, Factor, Linearisation
from cvmgen.functions import MIRRORED
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.logic import conjunction, conjuncts

# Conditions, factors, and the slots of the gradient.
Inner: TypeAlias = tuple[tuple[n.Expr, ...], tuple[Factor, ...], tuple[n.Slot, ...]]
# An index of a term, what it is to be, and of a multi-index the box that this runs over.
Pair: TypeAlias = tuple[n.Expr, n.Expr, n.Expr | None]


@dataclass(slots=True)
class Gradient:
    """Writes `dX[...] = ...` for equations of an operator; `items` say what is known there."""

    linear: Linearisation
    wrt: f.Input
    output: f.Output
    items: Sequence[f.Item]
    names: tuple[str, str]  # dX, dY
    declared: frozenset[str]
    shape: n.Expr | None  # of the gradient of the output as one list, if it has a name
    where: dict[str, tuple[tuple[str, ...], n.Expr]] = field(default_factory=dict)
    """What `where` will define: names, their parameters and values."""
    used: set[str] = field(default_factory=set)

    def equation(self, equations: Sequence[f.Equation]) -> f.Equation | None:
        """The equation of the adjoint; None if none of these reads the input."""
        found = [(each, term) for each in equations for term in self.linear.terms(each)]
        if not found:
            return None
        places = self.places(*found[0])
        whole: n.Expr | None = None
        for equation, term in found:
            part, negative = self.part(equation, term, places)
            sign = "-" if negative else "+"
            if whole is None:
                whole = n.Negate(part, part.span) if negative else part
            else:
                whole = n.Arithmetic(sign, whole, part, part.span)
        assert whole is not None
        return self.written(found[0][0], places, whole)

    def written(self, like: f.Equation, places: Sequence[LeftSlot], value: n.Expr) -> f.Equation:
        span = like.domain.span
        targets = targets_of(places)
        value = self.apart(value, {each.name for each in targets})
        slots = tuple(n.Slot(each.value(value), each.pack, span) for each in places)
        ranges = tuple(each.range(value) for each in targets)
        gather = self.as_declared(places) and all(each.plain for each in places)
        names = frozenset(formula_names(value) | {each.name for each in targets})
        where = tuple(unique_definition(name, *each, names) for name, each in self.where.items())
        domain = n.Binders(ranges, None, None, span)
        return f.Equation(self.names[0], slots, domain, gather, value, where, span)

    def apart(self, whole: n.Expr, targets: set[str]) -> n.Expr:
        """The formula with other names for definitions that are called like what a range binds:
        terms have indices of their own, and a definition has one name for all of them."""
        parts = (whole, tuple(value for _, value in self.where.values()))
        bound = targets | set(n.bound_inside(parts))
        taken = {*self.declared, *targets, *formula_names(parts), *self.where}
        for name in [each for each in self.where if each in bound]:
            new = fresh(name, taken)
            taken.add(new)
            self.where[new] = self.where.pop(name)
            whole = with_definition(whole, name, new)
        return whole

    def as_declared(self, slots: Iterable[LeftSlot | n.Slot]) -> bool:
        return [each.pack for each in slots] == [each.pack for each in self.wrt.extents]

    # -------------------------------------------------------- the left side

    def places(self, equation: f.Equation, term: AdjointTerm) -> tuple[LeftSlot, ...]:
        """A name for each index: the one that stands in its place, or one that fits."""
        solver = Solver(self.facts(), {*self.declared})
        solver.bind((*map(self.shaped, equation.domain.items), *term.binders))
        digits = Digits(solver.facts, conditions_of(equation, term))
        bound = {n.bound_by(each) for each in (*equation.domain.items, *term.binders)}
        names: list[str] = []
        found: list[LeftSlot] = []
        for slot, extent in zip(term.slots, self.extents(equation, term), strict=True):
            whole = (SlotDigit(slot.value, extent),)
            targets = []
            for digit in whole if slot.pack else digits.of(slot.value, extent):
                names.append(self.name(digit, slot.pack, bound, names))
                targets.append(LeftIndex(names[-1], slot.pack, digit.extent))
            found.append(LeftSlot(tuple(targets), slot.pack, extent))
        self.used |= solver.facts.used
        return tuple(found)

    def name(self, digit: SlotDigit, pack: bool, bound: set[str], names: Sequence[str]) -> str:
        taken = {*self.declared, *names}
        match digit.value:
            case n.Ref(name=name) if name in bound and name not in taken:
                return name
            case value:
                known = self.linear.names.get(value, "")
        extent = digit.extent
        lower = extent.name.lower() if isinstance(extent, n.Ref) and not pack else ""
        wanted = [each for each in (known, lower) if each and each not in taken]
        return wanted[0] if wanted else fresh("d" if pack else "i", taken)

    def extents(self, equation: f.Equation, term: AdjointTerm) -> tuple[n.Expr, ...]:
        """What each slot runs over: the declared extent, or that of the index there."""
        if self.as_declared(term.slots):
            return tuple(each.value for each in self.wrt.extents)
        boxes = {
            each.pack: each.extents
            for each in (*equation.domain.items, *term.binders)
            if isinstance(each, n.PackRange) and each.slots is None
        }
        match self.wrt.extents:
            case (f.Extent(value=n.Ref() as shape, pack=True),):
                pass
            case _:
                self.refuse(term.slots[0], "this reads '{}' by other indices than it is declared")
        found: list[n.Expr] = []
        at: n.Expr = n.Number(0, shape.span)
        for slot in term.slots:
            match slot:
                case n.Slot(pack=False):
                    found.append(n.Item(shape, at, slot.span))
                    length: n.Expr = n.Number(1, slot.span)
                case n.Slot(value=n.Ref(name=name)) if name in boxes:
                    found.append(boxes[name])
                    length = length_of(boxes[name])
                case n.Slot(value=n.Function(name="unflatten", arguments=(_, box))):
                    found.append(box)
                    length = length_of(box)
                case _:
                    self.refuse(slot, "the multi-index here has no range of its own")
            at = length if equals_number(at, 0) else n.Arithmetic("+", at, length, slot.span)
        return tuple(found)

    def refuse(self, slot: n.Slot, message: str) -> None:
        raise SpecError(slot.span, message.format(self.wrt.name), "name each index by itself")

    # -------------------------------------------------------- one term

    def part(
        self, equation: f.Equation, term: AdjointTerm, places: Sequence[LeftSlot]
    ) -> tuple[n.Expr, bool]:
        """What a term gives: a sum over the elements of the gradient that it reaches."""
        if [slot.pack for slot in term.slots] != [each.pack for each in places]:
            self.refuse(term.slots[0], "'{}' is read by other indices elsewhere in the formula")
        targets = targets_of(places)
        solver = Solver(self.facts(), self.taken(equation, term, targets))
        renaming = renamings(equation, term, targets, solver)
        domain = tuple(self.shaped(each) for each in equation.domain.items)
        solver.bind(renamed_binder(each, renaming) for each in (*domain, *term.binders))
        solver.facts.below.update({each.name: each.extent for each in targets})
        about = substitute(conditions_of(equation, term), renaming)
        pairs = pairs_of(substitute(term.slots, renaming), places, Digits(solver.facts, about))
        inner = (about, *substitute((term.factors, equation.slots), renaming))
        about, factors, left = self.simplified(inner, pairs)
        for value, wanted, box in pairs:
            if box is None:
                solver.equation(value, wanted)
            else:
                assert isinstance(wanted, n.Ref)
                solver.pack(value, wanted, box)
        self.name_packs(solver, (about, factors, left, tuple(solver.tests)))
        ranges = NarrowedLoops(solver.facts, solver.loops())
        conditions = [
            *ranges.narrow(substitute(tuple(solver.tests), solver.solved)),
            *(each for each in substitute(about, solver.solved) if not self.holds(each, solver)),
            *solver.filters,
        ]
        span = left[0].span if left else equation.span
        value = n.Access(self.names[1], None, substitute(left, solver.solved), span)
        for sign, factor in substitute(factors, solver.solved):
            value = n.Arithmetic(sign, value, factor, factor.span)
        whole = summed_value(tuple(ranges.loops), conditions, value)
        self.used |= solver.facts.used
        whole = self.with_names(whole, solver, renaming, ranges.absorbed)
        return distinct(whole, frozenset(each.name for each in targets)), term.negative

    def facts(self) -> DeclaredFacts:
        return DeclaredFacts(self.items)

    def taken(
        self, equation: f.Equation, term: AdjointTerm, targets: Sequence[LeftIndex]
    ) -> set[str]:
        own = {*self.declared, *(each.name for each in targets)}
        return own | {n.bound_by(each) for each in (*equation.domain.items, *term.binders)}

    def shaped(self, binder: n.Binder) -> n.Binder:
        """A range over the whole output, with its shape as a list that has a name."""
        match binder:
            case n.PackRange(extents=n.ShapeOf()):
                pass
            case _:
                return binder
        slots = self.output.slots
        shape = self.shape
        if shape is None and all(not slot.pack for slot in slots):
            shape = n.TupleOf(tuple(slot.value for slot in slots), binder.span)
        if shape is None:
            raise SpecError(binder.span, "the range of this multi-index has no name", "name it")
        return replace(binder, extents=shape)

    def simplified(self, parts: Inner, pairs: Sequence[Pair]) -> Inner:
        """With the index of the left side for what is computed in its place."""
        known: dict[n.Expr, n.Expr] = {
            value: wanted for value, wanted, _ in pairs if isinstance(value, n.Arithmetic)
        }
        return with_parts(parts, known) if known else parts

    def holds(self, condition: n.Expr, solver: Solver) -> bool:
        """Whether a condition is known to hold."""
        match condition:
            case n.Truth(value=value):
                return value
            case n.Present(name=name):
                return name == self.wrt.name
            case n.Compare(relations=relations, operands=operands) if not speaks_of_elements(
                condition
            ):
                links = zip(relations, operands, operands[1:], strict=False)
                return all(_proved(solver.facts, *link) for link in links)
            case _:
                return False

    # -------------------------------------------------------- names for what is long

    def name_packs(self, solver: Solver, parts: object) -> None:
        """A multi-index that is computed and stands several times keeps its name."""
        for name, value in solver.solved.items():
            uses = sum(isinstance(node, n.Ref) and node.name == name for node in n.walk(parts))
            match value:
                case n.Listing(
                    element=element, binders=n.Binders(items=(n.IndexRange(index=index),))
                ) if uses > 1 and name not in self.where:
                    self.where[name] = ((index,), element)
                    one = n.Apply(name, (n.Ref(index, "index", value.span),), value.span)
                    solver.solved[name] = replace(value, element=one)
                case _:
                    pass

    def with_names(
        self,
        whole: n.Expr,
        solver: Solver,
        renaming: dict[str, n.Expr],
        absorbed: Sequence[n.Expr],
    ) -> n.Expr:
        """Compound indices that stand several times, by a name that `where` explains; those that
        had a range of their own also where they stand once."""
        new = formula_names(tuple(renaming.values()))
        wanted = {value: name for name, value in solver.solved.items() if name not in new}
        for value, name in self.linear.names.items():
            wanted.setdefault(substitute(substitute(value, renaming), solver.solved), name)
        taken = formula_names(whole) | self.declared
        for value, name in sorted(wanted.items(), key=lambda pair: -node_count(pair[0])):
            known = self.where.get(name)
            compound = isinstance(value, n.Arithmetic)
            if not compound or (name in taken if known is None else known != ((), value)):
                continue
            often = sum(node == value for node in n.walk(whole))
            if often < (1 if value in absorbed else 2) and known is None:
                continue
            self.where[name] = ((), value)
            whole = with_parts(whole, {value: n.Ref(name, "parameter", value.span)})
        return whole


def conditions_of(equation: f.Equation, term: AdjointTerm) -> tuple[n.Expr, ...]:
    """The conditions under which a term counts, one by one."""
    tests = (equation.domain.condition, *term.conditions)
    return tuple(each for test in tests for each in conjuncts(test))


def pairs_of(slots: Sequence[n.Slot], places: Sequence[LeftSlot], digits: Digits) -> list[Pair]:
    """What the slots of a term are to be, digit by digit where they have those of the left."""
    found: list[Pair] = []
    for slot, place in zip(slots, places, strict=True):
        value = slot.value
        parts = () if slot.pack else digits.of(value, place.extent)
        if slot.pack:
            found.append((value, place.value(value), place.extent))
        elif place.has_extents_of(parts):
            own = zip(parts, place.targets, strict=True)
            found += [(each.value, target.ref(value), None) for each, target in own]
        else:
            found.append((value, place.value(value), None))
    return found


def with_definition(node: Any, old: str, new: str) -> Any:
    """The formula with another name for a definition."""

    def change(each: Any) -> Any:
        match each:
            case n.Ref(name=name, role="parameter") if name == old:
                return replace(each, name=new)
            case n.Apply(name=name) if name == old:
                return replace(each, name=new)
            case _:
                return each

    return n.rebuild(node, change)


def unique_definition(
    name: str, parameters: tuple[str, ...], value: n.Expr, taken: frozenset[str]
) -> f.Definition:
    """A `where` definition: its parameters and what it binds have names of their own."""
    names: dict[str, n.Expr] = {}
    for each in parameters:
        new = fresh(each, taken | formula_names(value) - {each})
        names[each] = n.Ref(new, "parameter", value.span)
    body = distinct(substitute(value, names), taken)
    kinds = tuple((each.name, f.INT) for each in names.values() if isinstance(each, n.Ref))
    return f.Definition(name, kinds, body, f.INT, value.span)


def renamings(
    equation: f.Equation, term: AdjointTerm, targets: Sequence[LeftIndex], solver: Solver
) -> dict[str, n.Expr]:
    """Other names for indices of the term that are called like an index of the left side."""
    clashing = {each.name for each in targets}
    found: dict[str, n.Expr] = {}
    for binder in (*equation.domain.items, *term.binders):
        name = n.bound_by(binder)
        if name in clashing and name not in found:
            pack = isinstance(binder, n.PackRange)
            new = fresh("e" if pack else name, solver.taken)
            solver.taken.add(new)
            found[name] = n.Ref(new, "pack" if pack else "index", binder.span)
    return found


def node_count(expr: n.Expr) -> int:
    return sum(1 for _ in n.walk(expr))


def renamed_binder(binder: n.Binder, renaming: dict[str, n.Expr]) -> n.Binder:
    binder = substitute(binder, renaming)
    new = renaming.get(n.bound_by(binder))
    return with_binder_name(binder, new.name) if isinstance(new, n.Ref) else binder


def length_of(box: n.Expr) -> n.Expr:
    """How many entries a box has; of a part `n[:a]` that is known to lie in n, a."""
    match box:
        case n.Part(low=None, high=high) if high is not None:
            return high
        case _:
            return n.Function("len", (box,), box.span)


def _proved(facts: DeclaredFacts, relation: str, left: n.Expr, right: n.Expr) -> bool:
    match relation:
        case ">" | ">=":
            return _proved(facts, MIRRORED[relation], right, left)
        case "<":
            return facts.is_below(left, right)
        case "<=" if equals_number(left, 0):
            return facts.at_least(right, 0)
        case "==":
            return facts.same(left, right)
        case _:
            return False


def summed_value(
    loops: tuple[n.Binder, ...], conditions: Sequence[n.Expr], value: n.Expr
) -> n.Expr:
    """The value summed over the loops, where the conditions hold; 0 if nothing is summed."""
    span = value.span
    test = conjunction(*conditions) if conditions else None
    if loops:
        return n.Reduction("sum", n.Binders(loops, None, test, span), value, span)
    if test is None:
        return value
    return n.Conditional(value, test, n.Number(0, span), span)
