"""Integer arithmetic of 32 bits in loops of vectors, where it gives the values that 64 bits give.

A kernel computes in the narrowest type that holds every value on the way, and fixed-point formulas
go beyond 32 bits for a step: a sum that is cut to int32, a product by a power of two that is, a
quotient that is rounded. What comes of such a step has 32 bits again, and vectors of these hold
twice as many. With a, b, v, w, e integers and int32 the range -2^31..2^31 - 1:

- min(v + w, h) = min(v, h - w) + w, max(v + w, l) = max(v, l - w) + w, and with minus signs the
  other way around: order does not change where both sides get the same on top. Taken where
  intervals say that int32 holds v, w, the ends and the result.
- max(-2^31, min(a + b, 2^31 - 1)) of int32 a, b is the sum that saturates, and max(-2^31, min(a *
  2^e, 2^31 - 1)), 0 <= e <= 31, the shift to the left that does.
- floor((a + b) / 2^e) with 0 <= b <= 2^e is a >> e, and one more where the bits of a that this
  drops come to 2^e - b at least. Intervals say so of b for each e alone, with what its conditions
  come to: halves away from 0 add 2^e div 2 - (1 if a < 0 and e > 0 else 0).
- What is rounded and cut to integers l < 0 < h is cut as an integer as well as before: rounding
  keeps order and integers. NaN is 0 either way.
- The factors of a product of 64 bits are written as the 32 bits that they have: vectors have an
  instruction for that.

Only what stands in loops of vectors changes, and no place: where kernels have no time to gain
they keep the form of their formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from cvmgen import ranges
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import names_in, nodes_in, reassigned
from cvmgen.ir.visit import substitute, with_operands
from cvmgen.ranges import Range
from cvmgen.typing.agreement import HOST, NUMBER
from cvmgen.typing.integer_ranges import (
    EXTREMES,
    MOST_SHIFT,
    SIGNED,
    IntegerRanges,
    real_cut,
    whole_number,
)
from cvmgen.typing.machine_types import type_limits, unconverted
from cvmgen.typing.never_nan import RealKind, real_kind
from cvmgen.typing.short_reals import TO_INTEGERS, ShortReals

Node = TypeVar("Node")
INT32 = type_limits("i32")
SMALL = ("i8", "i16", "u8", "u16", "i32")  # what C computes with in 32 bits
WIDE = ("i64", HOST)
MOST_REAL = 1 << 24  # up to which float32 has all integers


def short_integers(
    body: i.Block,
    elements: Mapping[str, str],
    known: Mapping[str, Range | None],
    around: i.Block = (),
    held: Mapping[str, Range] = MappingProxyType({}),
    finite: Collection[str] = (),
) -> i.Block:
    """A typed body whose loops of vectors compute in 32 bits what has them. `elements` are the
    machine types of those of tensors, `known` what values of the host can be; `around` are
    statements that make other locals which it reads, `held` what elements are known to be; those
    of `finite` tensors are finite numbers."""
    lets = [*nodes_in((around, body), i.Let)]
    arrays = {each.name: each.type for each in nodes_in((around, body), i.Array)}
    kinds = {each.name: each.type for each in lets}
    ranges_of_host = {name: found for name, found in known.items() if found and name not in kinds}
    several = {name for name, count in Counter(each.name for each in lets).items() if count > 1}
    differ = {name for name in several if len({e.type for e in lets if e.name == name}) > 1}
    kinds = {name: kind for name, kind in kinds.items() if name not in differ}
    changed = reassigned((around, body))
    outside = ShortIntegers({**elements, **arrays}, kinds, ranges_of_host, changed, held)
    for each in lets:
        if each.name not in several:
            outside.note(each)

    def change(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop) or not statement.vector:
            return None
        short = ShortIntegers(outside.elements, kinds, outside.known, changed, held)
        short.finite = finite
        return (replace(statement, body=short.block(statement.body)),)

    return rewritten(body, change)


@dataclass(frozen=True, slots=True)
class Cut:
    """max(low, min(value, high)); an end that is not there is None."""

    value: i.Expr
    low: i.Expr | None
    high: i.Expr | None


class ShortIntegers(IntegerRanges):
    """Rewrites the statements of a loop in order; `finite` are tensors of finite numbers."""

    finite: Collection[str] = ()

    # -------------------------------------------------------- statements

    def block(self, body: i.Block) -> i.Block:
        return tuple(map(self.statement, body))

    def statement(self, statement: i.Stmt) -> i.Stmt:
        match statement:
            case i.Let(type="i64" | "u64" | "i32") if statement.name not in self.changed:
                return self.let(statement)
            case i.Store(value=i.Convert(type=kind, operand=operand)) if kind in SMALL:
                short = self.structural(operand) if self.of_elements(operand) else None
                value = self.inner(operand) if short is None else short
                value = value if kind == "i32" and short is not None else i.Convert(kind, value)
                return replace(statement, target=self.widened(statement.target), value=value)
            case i.Store(target=target, value=i.Binary(op="+", left=left, right=term)) if (
                left == target
            ):
                narrow = self.types.type_of(left) == "i32"
                term = self.small_product(term) if narrow else term
                return self.widened(replace(statement, value=i.Binary("+", left, term)))
            case i.Store(target=target, value=value):
                return replace(statement, target=self.widened(target), value=self.inner(value))
            case i.Accumulate(name=name, op="+", value=term) if self.kinds.get(name) == "i32":
                return self.widened(replace(statement, value=self.small_product(term)))
            case i.If(condition=condition, then=then, otherwise=otherwise):
                test = self.inner(condition)
                return i.If(test, self.block(then), self.block(otherwise), statement.span)
            case i.Let(name=name, value=value):
                done = replace(statement, value=self.inner(value))
                self.forget(name, statement.type)
                return done
            case _:
                return self.widened(statement)

    def widened(self, node: Node) -> Node:
        """What is not computed in 32 bits, with locals of these as wide as they were; a place that
        is one of them stays it."""
        if isinstance(node, i.Load) and isinstance(node.offset, i.Var):
            return node
        wide: dict[str, i.Expr] = {name: i.Convert("i64", i.Var(name)) for name in self.short}
        return substitute(node, wide) if self.short & names_in(node) else node

    def forget(self, name: str, kind: str) -> None:
        """A local begins; another one of its name may stand in another branch."""
        self.types.types[name] = self.kinds[name] = kind
        self.known.pop(name, None)
        self.short.discard(name)
        self.made.discard(name)

    def note(self, statement: i.Let) -> None:
        """What a local outside of loops of vectors can be."""
        if statement.type in ("i32", "i64") and statement.name not in self.changed:
            found = self.bounds(statement.value)
            if found is not None:
                self.known[statement.name] = found

    def let(self, statement: i.Let) -> i.Let:
        """A local of 32 bits where all that it can be has them."""
        name, value = statement.name, statement.value
        self.forget(name, statement.type)
        if statement.type == "u64" and isinstance(value, i.Convert):
            value = i.Convert("i64", value)  # as it is read
        found = self.range_of(value)
        if self.of_elements(value):
            self.made.add(name)
        if found is None or not found.fits(32) or not self.of_elements(value):
            return replace(statement, value=self.inner(statement.value))
        self.known[name] = found
        if statement.type == "i32":
            return replace(statement, value=self.inner(value))
        self.short.add(name)
        self.kinds[name] = "i32"
        return replace(statement, type="i32", value=self.narrow(value))

    def small_product(self, term: i.Expr) -> i.Expr:
        """A term of a sum: a product of elements of 8 bits less a zero point has 16, and compilers
        see of themselves that one of elements has."""
        match term:
            case i.Binary(op="*", left=left, right=right) if self.types.type_of(term) == "i32" and (
                isinstance(left, i.Load) != isinstance(right, i.Load)
            ):
                found = self.bounds(term)
                small = found is not None and found.fits(16)
                return i.Convert("i16", term) if small and self.of_elements(term) else term
            case _:
                return term

    # -------------------------------------------------------- in 32 bits

    def narrow(self, value: i.Expr) -> i.Expr:
        """A value that has 32 bits, in these."""
        short = self.structural(value)
        return i.Convert("i32", self.inner(value)) if short is None else short

    def structural(self, value: i.Expr) -> i.Expr | None:
        """A value by operations on 32 bits; None where it has more, or its parts have."""
        if not self.fits(value):
            return None
        match value:
            case i.Const():
                return value
            case i.Var(name=name) if name in self.short:
                return value
            case i.Convert(type="i64", operand=i.Convert(type="u64", operand=inner)) if (
                self.types.type_of(inner) in SIGNED
            ):
                return self.structural(inner)
            case i.Convert(type="i64", operand=inner) if self.fits(inner):
                return self.structural(inner)
        if self.types.type_of(value) in (*SMALL, NUMBER):
            return self.inner(value)
        if not self.of_elements(value):
            return i.Convert("i32", value)
        match value:
            case i.Binary(op="shr", left=left, right=right):
                return self.shift(left, right)
            case i.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                first, second = self.structural(left), self.structural(right)
                if first is None or second is None:
                    return None
                return i.Binary(op, first, second)
            case i.Convert(type="i64", operand=i.Binary(op="shl") as power):
                return i.Convert("i32", self.inner(power))
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                first, second = self.structural(then), self.structural(otherwise)
                if first is None or second is None:
                    return None
                return i.Select(self.inner(condition), first, second)
            case i.Call(function="abs_i64", arguments=(inner,)):
                short = self.structural(inner)
                return None if short is None else i.Call("abs_i32", (short,))
            case i.Call(function="min_i64" | "max_i64" as function, arguments=(one, other)):
                both = self.helper(function.replace("64", "32"), one, other)
                cut = self.cut_of(value) if both is None else None
                return both if cut is None else self.cut(cut)
            case i.Call(function="to_int", arguments=(number,)):
                return self.rounded(number)
            case _:
                return None

    def shift(self, left: i.Expr, right: i.Expr) -> i.Expr | None:
        """A shift to the right of what has 32 bits, or of a sum of two such."""
        count, found = self.structural(right), self.range_of(right)
        if count is None or found is None or found.low < 0 or found.high > MOST_SHIFT:
            return None
        short = self.structural(left)
        if short is not None:
            return i.Binary("shr", short, count)
        if isinstance(left, i.Convert) and self.types.type_of(left.operand) == "u32":
            return i.Convert("i32", i.Binary("shr", self.inner(left.operand), count))
        for term, rest in parted(left):
            first, second = self.structural(term), self.structural(rest)
            if first is not None and second is not None and self.below_power(rest, right):
                return i.Call("shr_sum_i32", (first, second, count))
        return None

    def below_power(self, value: i.Expr, exponent: i.Expr) -> bool:
        """Whether 0 <= value <= 2^exponent, whatever the exponent is."""
        answers = []
        for case in self.cases(exponent):
            found = self.range_of(value)
            answers.append(found is not None and found.low >= 0 and found.high <= 1 << case.low)
        return bool(answers) and all(answers)

    def cut_of(self, value: i.Expr) -> Cut | None:
        """What a minimum or maximum cuts, where one of its operands is an end."""
        match value:
            case i.Call(function="min_i64" | "max_i64" as function, arguments=(one, other)):
                pass
            case _:
                return None
        end, inner = (other, one) if self.structural(one) is None else (one, other)
        if self.structural(end) is None:
            return None
        below = self.cut_of(inner) if inner_extreme(inner, function) else None
        match function, below:
            case "max_i64", Cut(low=None, value=within, high=high):
                return Cut(within, end, high)
            case "min_i64", Cut(high=None, value=within, low=low) if self.ordered(low, end):
                return Cut(within, low, end)
            case "max_i64", _:
                return Cut(inner, end, None)
            case _:
                return Cut(inner, None, end)

    def ordered(self, low: i.Expr | None, high: i.Expr) -> bool:
        """Whether the ends of a cut are in order, so that it matters not which comes first."""
        one, other = None if low is None else self.range_of(low), self.range_of(high)
        return one is not None and other is not None and one.high <= other.low

    def cut(self, cut: Cut) -> i.Expr | None:
        """A value that is cut to 32 bits, in these."""
        value, ends = cut.value, (cut.low, cut.high)
        if not self.cut_fits(cut):
            return None
        if (short := self.structural(value)) is not None:
            if cut.high is not None:
                short = i.Call("min_i32", (short, self.narrow(cut.high)))
            return short if cut.low is None else i.Call("max_i32", (self.narrow(cut.low), short))
        if isinstance(value, i.Call) and value.function == "to_int":
            return self.rounded_sum(value.arguments[0], cut)
        saturates = ends == (i.Const(INT32.low), i.Const(INT32.high))
        match value:
            case i.Binary(op="+", left=left, right=right) if saturates:
                return self.helper("saturating_add_i32", left, right)
            case i.Binary(op="*", left=left, right=right) if saturates:
                exponent = exponent_of(right)
                found = None if exponent is None else self.range_of(exponent)
                if found is None or exponent is None or found.low < 0 or found.high > MOST_SHIFT:
                    return None
                return self.helper("saturating_shl_i32", left, exponent)
            case i.Binary(op="+" | "-" as op, left=left, right=right):
                moved = self.moved(op, left, right, cut)
                return self.moved("+", right, left, cut) if moved is None and op == "+" else moved
            case _:
                return None

    def helper(self, function: str, left: i.Expr, right: i.Expr) -> i.Expr | None:
        first, second = self.structural(left), self.structural(right)
        return None if first is None or second is None else i.Call(function, (first, second))

    def moved(self, op: str, value: i.Expr, by: i.Expr, cut: Cut) -> i.Expr | None:
        """value + by, or value - by, or constant - by, whose other part is cut instead."""
        if op == "-" and isinstance(value, i.Const):  # which turns the ends around, and their order
            if cut.low and cut.high and not self.ordered(cut.low, cut.high):
                return None
            ends = [self.end("-", value, each) for each in (cut.high, cut.low)]
            changed = self.cut_between(by, *ends)
            return None if changed is None else i.Binary("-", value, changed)
        back = "-" if op == "+" else "+"
        ends = [self.end(back, each, by) for each in (cut.low, cut.high)]
        changed, second = self.cut_between(value, *ends), self.structural(by)
        return None if changed is None or second is None else i.Binary(op, changed, second)

    def cut_between(self, value: i.Expr, low: i.Expr | None, high: i.Expr | None) -> i.Expr | None:
        if any(each is not None and not self.fits(each) for each in (low, high)):
            return None
        return self.cut(Cut(value, low, high))

    def cut_fits(self, cut: Cut) -> bool:
        """Whether 32 bits hold what a cut leaves."""
        found = self.range_of(cut.value)
        for function, end in (("min", cut.high), ("max", cut.low)):
            limit = None if end is None else self.range_of(end)
            if found is not None and limit is not None:
                found = ranges.extreme(function, (found, limit))
        return found is not None and found.fits(32)

    def end(self, op: str, left: i.Expr | None, right: i.Expr | None) -> i.Expr | None:
        """Another end, of 64 bits as long as it is not known to have 32."""
        match left, right:
            case (None, _) | (_, None):
                return None
            case i.Const(value=one), i.Const(value=other):
                return i.Const(one - other if op == "-" else one + other)
            case _:
                return i.Binary(op, self.as_wide(left), self.as_wide(right))

    def as_wide(self, value: i.Expr) -> i.Expr:
        wide = isinstance(value, i.Const) or self.types.type_of(value) in WIDE
        return value if wide else i.Convert("i64", value)

    def rounded(self, number: i.Expr) -> i.Expr | None:
        """The integer of a real number that is cut, in 32 bits."""
        cut = real_cut(number)
        if cut.low is None or cut.high is None:
            return None
        ends = i.Real(f"{cut.low}.0"), i.Real(f"{cut.high}.0")
        return self.integer_between(cut.value, (cut.low, cut.high), ends)

    def rounded_sum(self, number: i.Expr, cut: Cut) -> i.Expr | None:
        """The integer of a rounded number and one that is added to it, which is cut then."""
        match cut:
            case Cut(low=i.Const(value=low), high=i.Const(value=high)):
                pass
            case _:
                return None
        more = 0
        match number:
            case i.Binary(op="+", left=left, right=right) if whole_number(right) is not None:
                number, more = left, whole_number(right) or 0
                if more and not (rounds(left) and self.is_number(left)):
                    return None
            case _:
                pass
        low, high = low - more, high - more
        found = self.integer_between(number, (low, high), (i.Const(low), i.Const(high)))
        return found if found is None or not more else i.Binary("+", found, i.Const(more))

    def is_number(self, value: i.Expr) -> bool:
        return real_kind(value, self.types, self.finite) >= RealKind.NUMBER

    def integer_between(
        self, number: i.Expr, limits: tuple[int, int], ends: tuple[i.Expr, i.Expr]
    ) -> i.Expr | None:
        """The integer of a real number of 32 bits, cut to low <= 0 <= high, the `ends`."""
        low, high = limits
        short = ShortReals(self.elements, self.kinds).exact(self.inner(number))
        if short is None or not -MOST_REAL <= low <= 0 <= high <= MOST_REAL:
            return None
        return i.Call("cut_to_int_f32", (short, *(i.Convert("f32", each) for each in ends)))

    # -------------------------------------------------------- as wide as it was

    def inner(self, value: i.Expr) -> i.Expr:
        """A value of the type that it has, with parts that are computed in 32 bits."""
        if not self.of_elements(value):
            return value
        match value:
            case i.Load():
                return self.widened(value)
            case i.Var(name=name) if name in self.short:
                return i.Convert("i64", value)
            case i.Convert(type="i64", operand=i.Var(name=name)) if name in self.short:
                return value
            case (
                i.Convert(type="f32", operand=i.Convert(type="f64", operand=whole))
                | i.Convert(type="f32" | "f64", operand=whole)
            ) if self.types.type_of(whole) in WIDE and (short := self.structural(whole)):
                return i.Convert(value.type, short)
            case i.Binary(op="+", left=left, right=right) if self.types.type_of(value) == "i32":
                return i.Binary("+", self.term(left), self.term(right))
            case i.Binary(op="*", left=left, right=right) if self.is_wide_product(left, right):
                first, second = self.structural(left), self.structural(right)
                if first is not None and second is not None:
                    return i.Binary("*", i.Convert("i64", first), second)
            case i.Binary(op="shl" | "shr" as op, left=left, right=right):
                count = self.structural(right) if self.of_elements(right) else right
                return i.Binary(op, self.inner(left), self.inner(right) if count is None else count)
            case i.Compare(op=op, left=left, right=right):
                first, second = self.structural(left), self.structural(right)
                if first is not None and second is not None:
                    return i.Compare(op, first, second)
            case _:
                pass
        return with_operands(value, self.inner)

    def term(self, value: i.Expr) -> i.Expr:
        """A term of a sum of 32 bits."""
        small = self.small_product(value)
        return self.inner(value) if small is value else small

    def is_wide_product(self, left: i.Expr, right: i.Expr) -> bool:
        """Whether the factors of a product of 64 bits have 32."""
        wide = any(self.types.type_of(each) in WIDE for each in (left, right))
        return wide and self.fits(left) and self.fits(right)


def parted(total: i.Expr) -> Iterator[tuple[i.Expr, i.Expr]]:
    """Each term of a sum that is added, and what the others come to."""
    match total:
        case i.Binary(op="+", left=left, right=right):
            yield left, right
            yield right, left
            for term, rest in parted(left):
                yield term, i.Binary("+", rest, right)
        case i.Binary(op="-", left=left, right=right):
            for term, rest in parted(left):
                yield term, i.Binary("-", rest, right)
        case _:
            pass


def exponent_of(power: i.Expr) -> i.Expr | None:
    """The exponent of a power of two."""
    match power:
        case i.Convert(operand=operand):
            return exponent_of(operand)
        case i.Binary(op="shl", left=one, right=exponent) if unconverted(one) == i.Const(1):
            return exponent
        case _:
            return None


def rounds(number: i.Expr) -> bool:
    """Whether a real number is rounded to an integer."""
    return isinstance(number, i.Call) and number.function in TO_INTEGERS


def inner_extreme(value: i.Expr, function: str) -> bool:
    """Whether a value is the other one of minimum and maximum."""
    return isinstance(value, i.Call) and value.function in EXTREMES and value.function != function
