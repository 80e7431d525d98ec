"""What integers of a typed loop can be: intervals, which follow an exponent case by case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cvmgen import ranges
from cvmgen.functions import RELATIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.ranges import Range
from cvmgen.typing.agreement import BITS, HOST, NUMBER, Agreement, end_of
from cvmgen.typing.machine_types import combine, joined_all
from cvmgen.typing.short_reals import TO_INTEGERS

SIGNED = ("i8", "i16", "i32", "i64", "u8", "u16")  # those that u64 and back gives as they are
EXTREMES = ("min_i32", "max_i32", "min_i64", "max_i64")
MOST_SHIFT = 31


@dataclass(frozen=True, slots=True)
class RealCut:
    """The same of a real number, by integers."""

    value: i.Expr
    low: int | None = None
    high: int | None = None

    def within(self, function: str, limit: int) -> RealCut:
        """The least or the greatest of it and an integer."""
        if function == "min":
            low = None if self.low is None else min(self.low, limit)
            return RealCut(self.value, low, limit if self.high is None else min(self.high, limit))
        high = None if self.high is None else max(self.high, limit)
        return RealCut(self.value, limit if self.low is None else max(self.low, limit), high)


class IntegerRanges:
    """Intervals of expressions. `kinds` are the machine types of locals, `known` the ranges of
    names, `held` those of the elements of tensors; `changed` are the locals with several values."""

    def __init__(
        self,
        elements: Mapping[str, str],
        kinds: Mapping[str, str],
        known: Mapping[str, Range],
        changed: frozenset[str],
        held: Mapping[str, Range] = MappingProxyType({}),
    ) -> None:
        self.elements, self.kinds = elements, dict(kinds)
        self.types = Agreement(elements, kinds)  # of what stands there as yet
        self.known, self.changed, self.held = dict(known), changed, held
        self.made: set[str] = set()  # locals that are made of elements
        self.short: set[str] = set()  # those that have 32 bits by now
        self.by_case = False  # whether an exponent is one of its values

    def of_elements(self, value: i.Expr) -> bool:
        return any(
            isinstance(each, i.Load) or (isinstance(each, i.Var) and each.name in self.made)
            for each in walk(value)
        )

    def fits(self, value: i.Expr) -> bool:
        found = self.range_of(value)
        return found is not None and found.fits(32)

    def range_of(self, value: i.Expr) -> Range | None:
        """What an integer can be; None of one that has no known type."""
        found = self.bounds(value)
        if found is not None:
            return found
        return self.limits_of(value)

    def limits_of(self, value: i.Expr) -> Range | None:
        """What the type of an integer holds; what is made of written numbers has 32 bits."""
        kind = {NUMBER: "i32", HOST: "i64"}.get(found := self.types.type_of(value), found)
        return Range(end_of(kind, "least"), end_of(kind, "greatest")) if kind in BITS else None

    def bounds(self, value: i.Expr) -> Range | None:
        """The range of a value by what it is made of, where its type holds all of that."""
        match value:
            case i.Const(value=bool()):
                return None
            case i.Const(value=number):
                return Range(number, number)
            case i.Var(name=name):
                return self.known.get(name)
            case i.Load(tensor=tensor):
                return self.held.get(tensor)
            case i.Convert(type="i64", operand=i.Convert(type="u64", operand=inner)) if (
                self.types.type_of(inner) in SIGNED
            ):
                return self.range_of(inner)
            case i.Convert(type="i64", operand=i.Var(name=name)) if name in self.short:
                return self.known[name]
            case i.Convert(type=kind, operand=inner) if kind in BITS:
                found = self.range_of(inner)
                return found if found is not None and self.holds(value, found) else None
            case i.Binary(op="shr", left=left, right=right):
                return self.shifted(left, right)
            case i.Binary(op=op, left=left, right=right) if op in ranges.RULES:
                found = self.combined(op, left, right)
                return found if found is not None and self.holds(value, found) else None
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.truth(condition)
                if test is not None:
                    return self.range_of(then if test else otherwise)
                return joined_all([self.range_of(then), self.range_of(otherwise)])
            case i.Call(function=function, arguments=arguments) if function in EXTREMES:
                known = [each for each in map(self.range_of, arguments) if each is not None]
                complete = len(known) == len(arguments)
                return ranges.extreme(function[:3], known) if complete else None
            case i.Call(function="abs_i32" | "abs_i64", arguments=(inner,)):
                found = self.range_of(inner)
                return None if found is None else ranges.magnitude(found)
            case i.Call(function="to_int", arguments=(number,)):
                cut = real_cut(number)
                if cut.low is None or cut.high is None:
                    return None
                return Range(min(cut.low, 0), max(cut.high, 0))  # NaN is 0
            case _:
                return None

    def holds(self, value: i.Expr, found: Range) -> bool:
        """Whether the type of a value holds a range."""
        limits = self.limits_of(value)
        return limits is not None and limits.low <= found.low and found.high <= limits.high

    def combined(self, op: str, left: i.Expr, right: i.Expr) -> Range | None:
        return combine(op, self.range_of(left), self.range_of(right))

    def shifted(self, left: i.Expr, right: i.Expr) -> Range | None:
        """What a shift to the right leaves; of what depends on the exponent, case by case."""
        found = self.combined("shr", left, right)
        if found is None or found.fits(32) or self.by_case:
            return found
        cases = [combine("shr", self.range_of(left), each) for each in self.cases(right)]
        return joined_all(cases) if cases else found

    def cases(self, exponent: i.Expr) -> Iterator[Range]:
        """Each value of an exponent that has few, which is known to be it meanwhile."""
        found = self.range_of(exponent)
        name = exponent.name if isinstance(exponent, i.Var) else None
        if found is None or found.low < 0 or found.high > MOST_SHIFT or self.by_case:
            return
        if name is None and found.low < found.high:
            return
        self.by_case = True
        for value in range(found.low, found.high + 1):
            case = Range(value, value)
            if name is not None:
                self.known[name] = case
            yield case
        self.by_case = False
        if name is not None:
            self.known[name] = found

    def truth(self, condition: i.Expr) -> bool | None:
        """Whether a condition holds, where ranges say so."""
        match condition:
            case i.Const(value=bool(value)):
                return value
            case i.Compare(op=op, left=left, right=right):
                one, other = self.range_of(left), self.range_of(right)
                if one is None or other is None or op in ("==", "!="):
                    return None
                ends = {RELATIONS[op](one.low, other.high), RELATIONS[op](one.high, other.low)}
                return ends.pop() if len(ends) == 1 else None
            case i.Logic(op="and" | "both", operands=operands):
                tests = [self.truth(each) for each in operands]
                return False if False in tests else None if None in tests else True
            case _:
                return None


def real_cut(number: i.Expr) -> RealCut:
    """A number as one that integers cut; what is rounded to an integer may be so before."""
    match number:
        case i.Call(function=function, arguments=(inner,)) if function in TO_INTEGERS:
            below = real_cut(inner)
            return replace(below, value=i.Call(function, (below.value,)))
        case i.Call(function="min_f64" | "max_f64" as function, arguments=(one, other)):
            for end, inner in ((one, other), (other, one)):
                if (limit := whole_number(end)) is not None:
                    return real_cut(inner).within(function[:3], limit)
            return RealCut(number)
        case _:
            return RealCut(number)


def whole_number(value: i.Expr) -> int | None:
    """An integer that is written out as a real number."""
    match value:
        case i.Call(function="negate_f64", arguments=(i.Real(text=text),)):
            number = -float(text)
        case i.Real(text=text):
            number = float(text)
        case _:
            return None
    return int(number) if math.isfinite(number) and number == int(number) else None
