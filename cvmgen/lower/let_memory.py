"""Which lets are memory of the call: what one costs where it is read, or once for each element.

A `let` stands for its formula. One with indices whose extents shapes tell, or one without that
reduces, can as well be computed once for each of its elements, by a nest of its own in front of
those that read it. It is where that costs less:

    reads * cost  >  elements * (cost + STORE) + reads * LOAD

`reads` is how often all equations together evaluate it, `elements` how many values it has and
`cost` the operations of one, a reduction's once for each of its terms: polynomials in extents and
attributes, compared where each of these is TYPICAL. What is in memory itself reads a let once for
each of its own elements, so the last `let` is decided first.

An element that no equation evaluates need not have a value. So `inside` proves that each has one,
or decides again without that `let` (`never`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cvmgen import polynomials as p
from cvmgen.functions import ELEMENTARY, FUNCTIONS
from cvmgen.source import SpecWarning
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import INT, REAL, SELECTED

TYPICAL = 64  # what an extent or an attribute is taken to be
STORE = 16  # operations that cost as much as memory for an element, and its store
DIVISION = 8  # operations that cost as much as one, or as a function of real numbers
ROUNDED_ONCE = 32  # those that cost as much as one that is not made by a processor
OF_REALS = {row.name for row in FUNCTIONS.values() if row.parameters[0] == "real"}
LOAD = 4  # operations that cost as much as a load of it

Count = Mapping[tuple[str, ...], int]
Largest = Mapping[str, Count]  # of indices: their greatest values
ONCE: Count = {(): 1}


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a `let` is read and what that costs."""

    definition: f.Definition
    reads: Count
    elements: Count
    cost: Count
    case: int | None  # the one case that reads it
    has_ranges: bool  # whether it could be memory, for all that shapes and types tell

    @property
    def in_memory(self) -> bool:
        if self.definition.axis is not None:
            return bool(self.reads)  # a recurrence has no other form
        return self.has_ranges and self.is_cheaper

    @property
    def is_cheaper(self) -> bool:
        """Whether memory would cost less."""
        reads, elements, cost = map(typical, (self.reads, self.elements, self.cost))
        return reads * cost > elements * (cost + STORE) + reads * LOAD


def lets_in_memory(operator: f.Operator, never: frozenset[str] = frozenset()) -> dict[str, Tally]:
    """The lets that are memory of the call, by name, in the order of the text."""
    found = tallies(operator, never)
    return {
        name: each
        for name, each in found.items()
        if each.in_memory and (name not in never or each.definition.axis is not None)
    }


def tallies(operator: f.Operator, never: frozenset[str] = frozenset()) -> dict[str, Tally]:
    """What is found of each `let` that could be memory."""
    reader = EvaluationCounter(operator, never)
    found = {name: reader.decided(name) for name in reversed(reader.lets)}
    return dict(reversed(found.items()))


def repeated_lets(operator: f.Operator, kept: Collection[str]) -> Iterator[SpecWarning]:
    """The lets that are computed again and again, since they could not be memory of the call;
    those that could are `kept`."""
    never = frozenset(lets_in_memory(operator)) - set(kept)
    for name, each in tallies(operator, never).items():
        if name in kept or not each.is_cheaper or each.definition.axis is not None:
            continue
        text = f"'{name}' is computed {count_text(each.reads)} times"
        if not each.has_ranges:
            hint = "where the formula reads an element at each of its indices it is memory"
            yield SpecWarning(each.definition.span, text, hint)
            continue
        text = f"{text}, and has {count_text(each.elements)} elements"
        hint = "it is memory if each has a value: cut indices, and divide by max(1, ...)"
        yield SpecWarning(each.definition.span, text, hint)


def typical(count: Count) -> int:
    """About how much it is."""
    return sum(factor * TYPICAL ** len(names) for names, factor in count.items())


def count_text(count: Count) -> str:
    """A polynomial for people: `T^2*D + 2*T`."""
    return " + ".join(map(_term_text, count.items())) if count else "0"


def _term_text(term: tuple[tuple[str, ...], int]) -> str:
    names, factor = term
    powers = {name: names.count(name) for name in names}
    parts = [name if power == 1 else f"{name}^{power}" for name, power in powers.items()]
    return "*".join([*([] if factor == 1 and parts else [str(factor)]), *parts])


# ---------------------------------------------------------------- which can be memory


def _candidates(operator: f.Operator) -> Iterator[f.Definition]:
    """The lets of numbers that depend on elements, on single indices; one without indices reduces.

    Not those that read one of several tensors: the host goes through these.
    """
    definitions = {each.name: each for each in definitions_of(operator)}
    for each in definitions.values():
        if each.kind not in (INT, REAL) or not each.span.text.startswith("let"):
            continue
        body = list(_reached(each.body, definitions))
        read = [part for part in body if isinstance(part, n.Access)]
        reduces = any(isinstance(part, n.Reduction) for part in body)
        single = all(kind == INT for _, kind in each.parameters)
        alone = all(part.which is None for part in read)
        if read and single and alone and (each.parameters or reduces):
            yield each


def has_ranges(operator: f.Operator, definition: f.Definition) -> bool:
    """Whether every call has a size for memory, and all types one kind of elements."""
    if definition.ranges is None or mixes_kinds(operator):
        return False
    if f"{definition.name}_size" in _named(operator):  # which is what its memory's size is called
        return False
    names = {each.name for each in n.walk(definition.ranges) if isinstance(each, n.Ref)}
    return not names & optional_extents(operator)


def _named(operator: f.Operator) -> set[object]:
    """What has a name in an operator."""
    found: set[object] = {name for each in operator.attributes for name in each.bound_names}
    for each in n.walk(operator.items):
        found |= {getattr(each, part, None) for part in ("name", "new", "count", "index", "pack")}
    return found


def definitions_of(operator: f.Operator) -> Iterator[f.Definition]:
    return (each for each in f.all_items(operator.items) if isinstance(each, f.Definition))


def mixes_kinds(operator: f.Operator) -> bool:
    """Whether a type parameter stands for integers and for real numbers."""
    columns = zip(*operator.types.rows, strict=True)
    return any(len({each.kind for each in column}) > 1 for column in columns)


def optional_extents(operator: f.Operator) -> set[str]:
    """The extents that a call may lack."""
    optional = (item for item in operator.inputs if item.optional)
    return {extent.new for item in optional for extent in item.extents if extent.new}


def _reached(expr: n.Expr, definitions: Mapping[str, f.Definition]) -> Iterator[n.Expr]:
    """The parts of an expression, and of what it applies."""
    left, seen = [expr], set[str]()
    while left:
        for part in n.walk(left.pop()):
            yield part
            if isinstance(part, n.Apply) and part.name not in seen:
                seen.add(part.name)
                left.append(definitions[part.name].body)


# ---------------------------------------------------------------- how often


@dataclass(slots=True)
class LetReads:
    """Where a `let` is read: how often, and the greatest values of its indices there."""

    reads: Count = field(default_factory=dict)
    places: list[tuple[Count, Largest]] = field(default_factory=list)
    cases: set[int | None] = field(default_factory=set)


class EvaluationCounter:
    """Counts evaluations: of what equations and requirements read, then of what each `let` does."""

    def __init__(self, operator: f.Operator, never: frozenset[str]) -> None:
        self.operator = operator
        self.definitions = {each.name: each for each in definitions_of(operator)}
        self.lets = {each.name: each for each in _candidates(operator)}
        self.never = never
        self.uses = {name: LetReads() for name in self.lets}
        self.listed: set[str] = set()
        self.case: int | None = None
        self.items(operator.items, None)

    def items(self, items: tuple[f.Item, ...], case: int | None) -> None:
        """The equations and requirements, each in its case."""
        numbers = iter(range(len(items)))
        for item in items:
            match item:
                case f.Case(items=inner):
                    self.items(inner, next(numbers))
                case f.Equation(domain=domain, value=value, slots=slots, where=where):
                    self.case, outer = case, self.definitions
                    self.definitions = {**outer, **{each.name: each for each in where}}
                    times, largest = self.inside(domain, ONCE, {})
                    self.read((value, slots), times, largest)
                    self.definitions = outer
                case f.Demand(domain=domain, condition=condition):
                    self.case = case
                    self.read(condition, *self.inside(domain, ONCE, {}))
                case _:
                    pass

    def decided(self, name: str) -> Tally:
        """What is found of a `let` behind which all others are decided."""
        definition, uses = self.lets[name], self.uses[name]
        names = [parameter for parameter, _ in definition.parameters]
        extents: list[Count] = [{(each,): 1} for each in names]
        if definition.ranges is not None:
            extents = [self.largest(each, {}) for each in definition.ranges]
        elements = product_of_counts(extents)
        last = {each: _less_one(most) for each, most in zip(names, extents, strict=True)}
        cost = self.cost(definition.body, last)
        case = next(iter(uses.cases)) if len(uses.cases) == 1 else None
        known = has_ranges(self.operator, definition)
        found = Tally(definition, uses.reads, elements, cost, case, known)
        places = uses.places
        if found.in_memory and (name not in self.never or definition.axis is not None):
            places = [(elements, last)]
        for times, largest in places:
            for self.case in list(uses.cases):
                self.read(definition.body, times, largest)
                times = {}  # counted once, for whichever cases
        return found

    # -------------------------------------------------------- evaluations

    def read(self, node: object, times: Count, largest: Largest) -> None:
        """Note what is evaluated so often."""
        match node:
            case n.Reduction(binders=binders, body=body):
                self.read(body, *self.inside(binders, times, largest))
            case n.Listing(binders=binders, element=body) | n.SetOf(binders=binders, element=body):
                self.read(body, *self.inside(binders, times, largest))
            case n.Sorted(binders=binders, keys=keys):
                self.read(keys, *self.inside(binders, times, largest))
            case n.Apply():
                self.read(node.arguments, times, largest)
                self.apply(node, times, largest)
            case tuple() | n.Slot():
                for each in n.children(node):
                    self.read(each, times, largest)
            case _ if isinstance(node, n.Expr):
                for each in n.children(node):
                    self.read(each, times, largest)
            case _:
                pass

    def apply(self, expr: n.Apply, times: Count, largest: Largest) -> None:
        definition = self.definitions[expr.name]
        names = [name for name, _ in definition.parameters]
        given = [self.largest(each, largest) for each in expr.arguments]
        at = dict(zip(names, given, strict=True))
        if expr.name in self.uses:
            uses = self.uses[expr.name]
            uses.reads = p.plus(uses.reads, times)
            uses.places.append((times, at))
            uses.cases.add(self.case)
        elif definition.kind != SELECTED:
            self.read(definition.body, times, {**largest, **at})
        elif expr.name not in self.listed:
            self.listed.add(expr.name)
            extents = [self.largest(each, {}) for each in definition.ranges or ()]
            last = {each: _less_one(most) for each, most in zip(names, extents, strict=True)}
            self.read(definition.body, product_of_counts(extents), last)

    def inside(
        self, binders: n.Binders, times: Count, largest: Largest
    ) -> tuple[Count, dict[str, Count]]:
        """How often what is inside of binders is evaluated, and the greatest values of indices."""
        at = dict(largest)
        for binder in binders.items:
            trips = self.trips(binder, at)
            times = p.times(times, trips)
            if isinstance(binder, n.IndexRange):
                at[binder.index] = _less_one(self.largest(binder.high, at))
        if binders.condition is not None:
            self.read(binders.condition, times, at)
        return times, at

    def trips(self, binder: n.Binder, at: Largest) -> Count:
        """How often an index runs at most, as far as the form of its range tells."""
        match binder:
            case n.IndexRange(low=n.Number() as low, high=high):
                return p.plus(self.largest(high, at), self.largest(low, at), -1)
            case n.IndexRange(high=high):
                return self.largest(high, at)
            case n.IndexMember(collection=n.Apply(name=name)) if self.capacity(name) is not None:
                return self.largest(self.capacity(name), at)
            case n.IndexMember(collection=members):
                return {(f"count({members.span.code})",): 1}
            case n.PackRange(extents=extents):
                return {(f"size({extents.span.code})",): 1}
            case _:
                raise AssertionError("binder is not checked")

    def capacity(self, name: str) -> n.Expr | None:
        return self.definitions[name].capacity

    def largest(self, expr: n.Expr | None, at: Largest) -> Count:
        """About the greatest value of an index or an extent; what is no polynomial by its text."""
        match expr:
            case n.Number(value=value):
                return {(): value} if value else {}
            case n.Ref(name=name) if name in at:
                return at[name]
            case n.Arithmetic(sign="+" | "-" as sign, left=left, right=right):
                one, other = self.largest(left, at), self.largest(right, at)
                return p.plus(one, other, 1 if sign == "+" else -1)
            case n.Arithmetic(sign="*", left=left, right=right):
                return p.times(self.largest(left, at), self.largest(right, at))
            case None:
                return ONCE
            case _:
                return {(expr.span.code,): 1}

    # -------------------------------------------------------- operations

    def cost(self, node: object, at: Largest) -> Count:
        """The operations of an expression; what may be memory itself costs what an element does."""
        match node:
            case n.Reduction(binders=binders, body=body):
                inner, times = dict(at), ONCE
                for binder in binders.items:
                    times = p.times(times, self.trips(binder, inner))
                    if isinstance(binder, n.IndexRange):
                        inner[binder.index] = _less_one(self.largest(binder.high, inner))
                each = p.plus(self.cost((body, binders.condition), inner), ONCE)
                return p.plus(p.times(times, each), ONCE)
            case n.Apply(name=name, arguments=arguments):
                definition = self.definitions[name]
                given = self.cost(arguments, at)
                if definition.kind == SELECTED or self.may_be_memory(name):
                    return p.plus(given, ONCE)
                return p.plus(given, self.cost(definition.body, at))
            case n.Number() | n.Ref() | n.Real() | n.Truth() | n.Limit() | n.Present():
                return {}
            case tuple() | n.Slot():
                return self.sum(n.children(node), at)
            case n.Arithmetic(sign="div" | "tdiv" | "mod" | "over" | "^"):
                return p.plus(self.sum(n.children(node), at), {(): DIVISION})
            case n.Function(name=name) if name in ELEMENTARY:
                return p.plus(self.sum(n.children(node), at), {(): ROUNDED_ONCE})
            case n.Function(name=name) if name in OF_REALS:
                return p.plus(self.sum(n.children(node), at), {(): DIVISION})
            case _ if isinstance(node, n.Expr):
                return p.plus(self.sum(n.children(node), at), ONCE)
            case _:
                return {}

    def may_be_memory(self, name: str) -> bool:
        known = name in self.lets and name not in self.never
        return known and has_ranges(self.operator, self.lets[name])

    def sum(self, nodes: Iterable[object], at: Largest) -> Count:
        total: Count = {}
        for each in nodes:
            total = p.plus(total, self.cost(each, at))
        return total


def _less_one(count: Count) -> Count:
    return p.plus(count, ONCE, -1)


def product_of_counts(counts: Iterable[Count]) -> Count:
    result = ONCE
    for each in counts:
        result = p.times(result, each)
    return result
