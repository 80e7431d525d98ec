"""Nests whose results are sums of products of two elements each: the statements around the sum, and
what it adds. `analysis/contraction.py` says which index belongs to which factor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cvmgen.analysis.paths import Path, Step, path
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import expanded, without_dead
from cvmgen.ir.uses import has, names_in, read_tensors, reassigned
from cvmgen.ir.visit import substitute
from cvmgen.typing.machine_types import unconverted

INTEGERS = frozenset({"i32", "i64", "i128", "u32", "u64"})


class NoContraction(Exception):
    """Why a nest is no contraction, or one that the register tile cannot do, for people: what is in
    the way, and what would change it, if anything does."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Border:
    """What stands for elements of a tensor where it has none: a value of the host."""

    tensor: str
    value: i.Expr


@dataclass(frozen=True, slots=True)
class ZeroPoint:
    """What is subtracted from each element of a tensor: a value of the host, or one element."""

    tensor: str
    value: i.Expr


@dataclass(frozen=True, slots=True)
class SumOfProducts:
    """What a nest consists of inside its parallel loops."""

    before: tuple[i.Let, ...]
    total: i.Let
    steps: tuple[Step, ...]
    summed: tuple[i.Loop, ...]
    factors: tuple[i.Load, i.Load]
    after: i.Block
    border: Border | None
    zero: ZeroPoint | None


def contraction_parts(body: i.Block) -> SumOfProducts:
    """The statements of a result as a sum of products; raises NoContraction."""
    sums = reassigned(body)
    before: list[i.Let] = []
    rest = list(body)
    while rest and isinstance(rest[0], i.Let) and rest[0].name not in sums:
        before.append(rest[0])
        rest.pop(0)
    before, late = reading_apart(before)
    match rest:
        case [i.Let(name=name) as total, i.Loop() as loop, *after] if sums == {name}:
            inner, found = products(substitute(loop, expanded(late)), name)
            after = [*without_dead(tuple(late), tuple(after)), *after]
        case [i.Let(), i.If(), *_] | [i.If(), *_]:
            raise NoContraction("results are summed on a condition")
        case _:
            raise NoContraction("a result is more than one sum of products")
    if total.type not in INTEGERS or unconverted(total.value) != i.ZERO:
        raise NoContraction("the sum is not one of integers")
    if has(tuple(after), i.Loop):
        raise NoContraction("a result loops behind its sum")
    return SumOfProducts(
        tuple(before),
        total,
        inner.steps,
        inner.loops,
        found.factors,
        tuple(after),
        found.border,
        found.zero,
    )


def reading_apart(before: Iterable[i.Let]) -> tuple[list[i.Let], list[i.Let]]:
    """The locals in front of a sum, and those that read elements, and what is made of them, which
    may as well stand behind it."""
    first: list[i.Let] = []
    late: list[i.Let] = []
    for each in before:
        reads = read_tensors((each,)) or names_in(each.value) & {one.name for one in late}
        (late if reads else first).append(each)
    return first, late


@dataclass(frozen=True, slots=True)
class Product:
    """What a sum adds: the product of two elements, with what stands for those that are not there,
    and a zero point."""

    factors: tuple[i.Load, i.Load]
    border: Border | None
    zero: ZeroPoint | None


def products(loop: i.Loop, total: str) -> tuple[Path, Product]:
    """The way through a reduction, and what it adds; raises NoContraction."""
    found = path(loop)
    match found.last:
        case i.Accumulate(name=name, op="+", value=value) if name == total:
            value, number = with_zero_point(value, inner_names(found))
            found, value, border = with_border(found, value, number)
            factors = two_loads(value)
        case _:
            raise NoContraction("a result is more than one sum of products")
    if read_tensors((found.steps, tuple(each.high for each in found.loops))):
        raise NoContraction("elements decide what is added")
    if any(each.low != i.ZERO for each in found.loops):
        raise NoContraction("an index of the sum does not begin at 0")
    if number is None:
        return found, Product(factors, border, None)
    tensor = factors[0].tensor
    if border is None and found.tests:
        border = Border(tensor, number)
    return found, Product(factors, border, ZeroPoint(tensor, number))


def with_zero_point(value: i.Expr, inner: set[str]) -> tuple[i.Expr, i.Expr | None]:
    """`(x - z) * w` as the product of x and w, and z, in which are none of the `inner` names."""
    for one, other in sides_of_product(value):
        element, number = above_zero_point(one)
        if number is not None and has(element, i.Load) and not names_in(number) & inner:
            return i.Binary("*", unconverted(element), other), number
    return value, None


def above_zero_point(factor: i.Expr) -> tuple[i.Expr, i.Expr | None]:
    """A factor without what is subtracted from it, and that; None where nothing is."""
    match factor:
        case i.Binary(op="-", left=element, right=number):
            return element, number
        case i.Binary(op="+", left=element, right=i.Const(value=more)):
            return element, i.Const(-more)
        case _:
            return factor, None


def with_border(
    way: Path, value: i.Expr, zero: i.Expr | None
) -> tuple[Path, i.Expr, Border | None]:
    """`(x if there else z) * w` as the product of x and w behind that test, and z; `zero` is what
    is subtracted from each x."""
    for one, other in sides_of_product(value):
        match one:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                element, number = unconverted(then), unconverted(otherwise)
                if not isinstance(element, i.Load) or has(number, i.Load):
                    return way, value, None
                behind = replace(way, steps=(*way.steps, condition))
                counts = number != (i.ZERO if zero is None else unconverted(zero))
                if counts and (way.tests or names_in(number) & inner_names(way)):
                    return way, value, None
                outside = Border(element.tensor, number) if counts else None
                return behind, i.Binary("*", element, other), outside
            case _:
                continue
    return way, value, None


def sides_of_product(value: i.Expr) -> tuple[tuple[i.Expr, i.Expr], ...]:
    """The factors of a product, each with the other one; none of what is no product."""
    match unconverted(value):
        case i.Binary(op="*", left=left, right=right):
            return ((unconverted(left), right), (unconverted(right), left))
        case _:
            return ()


def inner_names(way: Path) -> set[str]:
    return {each.index for each in way.loops} | {each.name for each in way.lets}


def two_loads(value: i.Expr) -> tuple[i.Load, i.Load]:
    """The factors of a product of two elements; raises NoContraction."""
    match unconverted(value):
        case i.Binary(op="*", left=left, right=right):
            first, second = unconverted(left), unconverted(right)
        case _:
            first = second = value
    if first is second or not isinstance(first, i.Load) or not isinstance(second, i.Load):
        raise NoContraction(
            "what is added is not the product of two elements alone",
            "take other factors and terms out of the sum: sum[k < K](2 * X[k] * W[k]) is "
            "2 * sum[k < K](X[k] * W[k])",
        )
    if (first.which, second.which) != (None, None) or read_tensors((first.offset, second.offset)):
        raise NoContraction("elements of another tensor decide which ones are multiplied")
    return first, second
