"""Ranges of locals that loops change, where the ends of loops are known: sums above all.

A local is always one of the values that it was set to, plus some of what was added since. Each
place that adds does so at most as often as the loops run that stand between it and the local's
declaration. The ranges of a pass may use those of the pass before: they are right in each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from cvmgen.ir import nodes as i
from cvmgen.ranges import RULES, Range, magnitude, negative, plus, times
from cvmgen.ranges import extreme as chosen
from cvmgen.typing.agreement import Agreement
from cvmgen.verification.floors import own_extreme
from cvmgen.verification.reading import LIMITS

PASSES = 3
ANY = Range(*LIMITS["i64"])
TRUTH = Range(0, 1)
FUNCTIONS: Mapping[str, Callable[[list[Range]], Range]] = {
    "max": lambda given: chosen("max", given),
    "min": lambda given: chosen("min", given),
    "abs": lambda given: magnitude(given[0]),
    "negate": lambda given: negative(given[0]),
}


def totals(
    body: i.Block, elements: Mapping[str, str], known: Mapping[str, Range]
) -> dict[str, Range]:
    """The range of each local of a block, for elements of these types and ranges."""
    found: dict[str, Range] = {}
    for _ in range(PASSES):
        made = Pass(found, known, Agreement(elements, {}))
        made.block(body)
        found = made.ranges()
    return found


def range_of(value: i.Expr, elements: Mapping[str, str], known: Mapping[str, Range]) -> Range:
    """Of an expression of which nothing else is known."""
    return Pass({}, known, Agreement(elements, {})).of(value)


@dataclass
class Pass:
    """One walk through a block; `before` are ranges of locals that are known already."""

    before: Mapping[str, Range]
    known: Mapping[str, Range]
    agreement: Agreement
    found: dict[str, Range] = field(default_factory=dict)  # of locals that are gone
    bases: dict[str, Range] = field(default_factory=dict)  # what a local is set to
    added: dict[str, Range] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    indices: dict[str, Range] = field(default_factory=dict)
    around: list[str] = field(default_factory=list)  # indices of the loops at hand
    trips: list[int] = field(default_factory=list)

    def ranges(self) -> dict[str, Range]:
        """Of the locals of machine integers; no value leaves its type, which is shown elsewhere."""
        for name in list(self.bases):
            self.leave(name)
        return self.found

    def leave(self, name: str) -> None:
        """A local goes, and may be declared again."""
        if name in self.bases:
            whole = plus(self.bases.pop(name), self.added.pop(name, Range(0, 0)))
            whole = self.within(self.agreement.types.get(name, ""), whole)
            self.found[name] = whole.join(self.found.get(name, whole))

    def declare(self, name: str, kind: str) -> None:
        self.leave(name)
        self.agreement.types[name] = kind
        self.depths[name] = len(self.trips)

    def within(self, kind: str, found: Range) -> Range:
        low, high = LIMITS.get(kind, (ANY.low, ANY.high))
        return (
            Range(max(found.low, low), min(found.high, high))
            if self.meets(found, low, high)
            else Range(low, high)
        )

    def meets(self, found: Range, low: int, high: int) -> bool:
        return found.low <= high and low <= found.high

    # ------------------------------------------------------------ statements

    def block(self, body: i.Block) -> None:
        for each in body:
            self.statement(each)

    def statement(self, statement: i.Stmt) -> None:
        match statement:
            case i.Let(name=name, type=kind, value=value):
                found = self.of(value)
                self.declare(name, kind)
                self.set(name, found)
            case i.Array(name=name, type=kind):
                self.agreement.elements = {**self.agreement.elements, name: kind}
                self.declare(name, kind)
            case i.Assign(name=name, value=value):
                self.set(name, self.of(value))
            case i.Accumulate(name=name, op="+", value=value):
                self.add(name, self.of(value), None)
            case i.Store(target=i.Load(tensor=name) as place, value=value) if name in self.depths:
                match value:
                    case i.Binary(op="+", left=left, right=right) if left == place:
                        self.add(name, self.of(right), place.offset)
                    case _:
                        extreme = own_extreme(statement)
                        self.set(name, self.of(extreme.value if extreme else value))
            case i.Accumulate(name=name, op=op, value=value):
                self.set(name, self.of(value) if op in ("max", "min") else self.any(name, op))
            case i.If(then=then, otherwise=otherwise):
                self.block(then)
                self.block(otherwise)
            case i.Loop():
                self.loop(statement)
            case _:
                pass

    def any(self, name: str, op: str) -> Range:
        return TRUTH if op in ("and", "or") else ANY

    def add(self, name: str, value: Range, place: i.Expr | None) -> None:
        """To a local, or to the element of an array at a place: the iterations of a loop whose
        index is that place come to other elements."""
        index = place.name if isinstance(place, i.Var) else ""
        around = list(zip(self.around, self.trips, strict=True))[self.depths.get(name, 0) :]
        often = prod(trips for each, trips in around if each != index)
        added = times(value, Range(0, often))
        self.added[name] = plus(self.added.get(name, Range(0, 0)), added)

    def set(self, name: str, found: Range) -> None:
        """A value that a local is set to, on some way."""
        self.bases[name] = found.join(self.bases.get(name, found))

    def loop(self, loop: i.Loop) -> None:
        low = Range(0, 0) if loop.low is None else self.of(loop.low)
        high = ANY if loop.low is None else self.of(loop.high)
        self.agreement.types[loop.index] = loop.type
        self.indices[loop.index] = ANY if loop.low is None else Range(low.low, high.high - 1)
        self.around.append(loop.index)
        self.trips.append(max(0, -(-(high.high - low.low) // loop.step)))
        self.block(loop.body)
        self.around.pop()
        self.trips.pop()

    # ------------------------------------------------------------ values

    def of(self, expr: i.Expr) -> Range:
        match expr:
            case i.Const(value=value):
                return Range(int(value), int(value))
            case i.Var(name=name):
                return self.named(name)
            case i.Binary(op=op, left=left, right=right):
                rule = RULES.get(op)
                found = ANY if rule is None else rule(self.of(left), self.of(right))
                return self.typed(expr, found)
            case i.Call(function=function, arguments=arguments):
                base = function.rpartition("_")[0] or function
                rule_of = FUNCTIONS.get(base) or FUNCTIONS.get(function)
                return ANY if rule_of is None else rule_of([self.of(each) for each in arguments])
            case i.Select(then=then, otherwise=otherwise):
                return self.of(then).join(self.of(otherwise))
            case i.Convert(type=kind, operand=operand):
                return self.converted(kind, self.of(operand))
            case i.Load(tensor=tensor):
                kind = self.agreement.elements.get(tensor, "i64")
                known = self.known.get(tensor) or self.before.get(tensor)
                return known or Range(*LIMITS.get(kind, (ANY.low, ANY.high)))
            case i.Compare() | i.Logic() | i.Not():
                return TRUTH
            case _:
                return ANY

    def named(self, name: str) -> Range:
        if name in self.indices:
            return self.indices[name]
        limits = LIMITS.get(self.agreement.types.get(name, ""), (ANY.low, ANY.high))
        return self.before.get(name, Range(*limits))

    def typed(self, expr: i.Expr, found: Range) -> Range:
        """Unsigned arithmetic wraps; of the other kinds it is shown that they do not."""
        kind = self.agreement.type_of(expr)
        return self.converted(kind, found) if kind.startswith("u") else found

    def converted(self, kind: str, found: Range) -> Range:
        if kind not in LIMITS:
            return ANY
        low, high = LIMITS[kind]
        return found if low <= found.low and found.high <= high else Range(low, high)
