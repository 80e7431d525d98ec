"""Generic kernels: one body for the kernels of a nest that differ in element types alone.

Bodies are walked side by side. Where they agree they stay; where they name machine types that
differ as those of the elements of a tensor do, a type parameter stands for these; where numbers
differ as the ends of such types do, the end of the type parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.ir.uses import read_tensors, stored_tensors
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.kernels import Family, Kernel, Kernels
from cvmgen.source import Span
from cvmgen.typing.agreement import BITS, Agreement, DisagreementError, end_of, promoted

Body = TypeVar("Body")
Member = TypeVar("Member")
Group = TypeVar("Group")
Types = Mapping[str, tuple[str, ...]]
"""Type parameters, with the machine types that they stand for in each of some kernels."""

SOURCES, RESULT = ("element_t", "second_t", "third_t"), "result_t"
WIDE = "wide_t"  # in which kernels calculate: int32, or one of these where that could overflow
WIDER = ("u32", "i64")
TYPE_PARAMETERS = (*SOURCES, WIDE, RESULT)
TYPE_FIELDS = ("type", "source_type", "result", "constants")  # of nodes, which name machine types
EXTREMES = ("max", "min")
WORTHWHILE = 8


class DifferentError(Exception):
    """Bodies differ in more than types."""


def generic(
    kernels: Sequence[Kernel], bodies: Sequence[Body], *, ends: bool = False
) -> tuple[Body, Types] | None:
    """The body that those of some kernels of a nest are for their types, and for the `ends` of
    these; None where they differ in more."""
    types = parameters_of(kernels)
    if len(kernels) < 2 or not types:
        return None
    plain = [
        with_converted_stores(body, kernel) for body, kernel in zip(bodies, kernels, strict=True)
    ]
    sides = SideBySide(types, [*map(type_of_values, kernels, plain)], ends=ends)
    try:
        body = sides.unified(plain)
    except (DifferentError, DisagreementError):
        return None
    return None if has_generic_extremes(body) else (body, sides.types)


def has_generic_extremes(body: object) -> bool:
    """Whether the type of a maximum or minimum is a parameter; each has helpers of its own."""
    nodes = tuple(walk(body))
    found = {each.name for each in nodes if isinstance(each, i.Accumulate) and each.op in EXTREMES}
    return any(
        isinstance(each, i.Let) and each.name in found and each.type in TYPE_PARAMETERS
        for each in nodes
    )


def parameters_of(kernels: Sequence[Kernel]) -> Types:
    """The type parameters that tell kernels apart: one for all tensors whose elements are of the
    same types in each."""
    first = kernels[0]
    used = read_tensors(first.typed) | stored_tensors(first.typed)
    columns = {
        name: tuple(each.subject.dtypes[name].machine for each in kernels)
        for name in first.subject.dtypes
        if name in used
    }
    result = columns.pop(first.nest.tensor, ())
    sources = dict.fromkeys(each for each in columns.values() if len(set(each)) > 1)
    found = dict(zip(SOURCES, sources, strict=False))
    return found if len(set(result)) < 2 or result in sources else {**found, RESULT: result}


def with_converted_stores(body: Body, kernel: Kernel) -> Body:
    """A body that converts what it stores to the type of its element, as a store does anyway."""
    stored = kernel.nest.tensor
    kind = kernel.subject.dtypes[stored].machine if stored in kernel.subject.dtypes else ""

    def change(node: Any) -> Any:
        match node:
            case i.Store(target=i.Load(tensor=tensor), value=value) if kind and tensor == stored:
                return replace(node, value=conversion_to(kind, value))
            case _:
                return node

    changed: Body = rebuild(body, change)
    return changed


def conversion_to(kind: str, value: i.Expr) -> i.Convert:
    match value:
        case i.Convert(type=type_name) if type_name == kind:
            return value
        case _:
            return i.Convert(kind, value)


def type_of_values(kernel: Kernel, body: object) -> Callable[[i.Expr], str]:
    """What tells the type in which a kernel calculates with a value, which may be a small one."""
    nodes = tuple(walk(body))
    arrays = {each.name: each.type for each in nodes if isinstance(each, i.Array)}
    locals_ = {each.name: each.type for each in nodes if isinstance(each, i.Let)}
    elements = {**kernel.subject.elements, **arrays}
    for each in nodes:
        match each:
            case i.Let(
                name=name,
                type="vector",
                value=i.Call(arguments=(i.Address(place=i.Load(tensor=tensor)), *_)),
            ):
                elements[name] = elements[tensor]
            case _:
                pass
    found = Agreement(elements, locals_)

    def type_of(value: i.Expr) -> str:
        match value:
            case i.Const(value=number) if -(1 << 31) <= number < 1 << 31:
                return "i32"
            case _:
                return promoted(found.type_of(value))

    return type_of


# ---------------------------------------------------------------- side by side


@dataclass(slots=True)
class SideBySide:
    """Walks bodies together; `kinds` give the types in which each calculates with a value.

    Where some convert a value and others have it in the type they need, these convert it to that,
    which changes nothing. So kernels that calculate in int32, since no value leaves it, are like
    those that do so modulo 2^32, or in int64: one more parameter stands for these.
    """

    types: Types
    kinds: Sequence[Callable[[i.Expr], str]]
    ends: bool = False

    def unified(self, several: Sequence[Any]) -> Any:
        """What nodes have in common, with parameters for types that differ as these do."""
        first = several[0]
        if any(each.__class__ is not first.__class__ for each in several):
            return self.unified(self.all_converted(several))
        if isinstance(first, tuple | list) and all(len(each) == len(first) for each in several):
            return tuple(self.unified(each) for each in zip(*several, strict=True))
        if self.ends and isinstance(first, i.Const) and any(each != first for each in several):
            return self.end([each.value for each in several])
        if names := compared_fields(first.__class__):
            parts = {n: self.unified([getattr(each, n) for each in several]) for n in names}
            return replace(first, **parts)
        if all(each == first for each in several):
            return first
        if isinstance(first, str):
            return self.parameter(tuple(several))
        raise DifferentError

    def all_converted(self, several: Sequence[Any]) -> list[i.Convert]:
        """Values of which some are converted, with the others converted to what they are."""
        if not any(isinstance(each, i.Convert) for each in several):
            raise DifferentError
        return [
            each if isinstance(each, i.Convert) else i.Convert(kind(each), each)
            for each, kind in zip(several, self.kinds, strict=True)
        ]

    def end(self, values: Sequence[int]) -> i.Limit:
        """The end of the elements' types that numbers are."""
        for name, each in self.types.items():
            for side in ("least", "greatest") if name != WIDE and {*each} <= {*BITS} else ():
                if [end_of(kind, side) for kind in each] == values:
                    return i.Limit(side, name)
        raise DifferentError

    def parameter(self, names: tuple[str, ...]) -> str:
        """The type parameter that stands for some names."""
        for name, each in self.types.items():
            if each == names:
                return name
        if WIDE in self.types or not {"i32"} < {*names} <= {"i32", *WIDER}:
            raise DifferentError
        self.types = {**self.types, WIDE: names}
        return WIDE


@cache
def compared_fields(kind: type) -> tuple[str, ...]:
    """The fields in which nodes of a class may differ; none of what is no node."""
    if not is_dataclass(kind) or issubclass(kind, Span):
        return ()
    return tuple(each.name for each in fields(kind) if each.compare)


# ---------------------------------------------------------------- the kernels of a nest


def families(kernels: Kernels) -> Kernels:
    """Kernels that differ in element types alone are one family, with one body."""
    numbers = dict.fromkeys(each.number for each in kernels.kernels)
    found = [family for number in numbers for family in families_of(kernels.of(number))]
    found.sort(key=lambda each: kernels.kernels.index(each.kernels[0]))
    tiles = [each for number in numbers for each in tile_families_of(kernels.of(number))]
    return replace(kernels, families=tuple(found), tile_families=tuple(tiles))


def families_of(kernels: Iterable[Kernel]) -> Iterator[Family]:
    """The families of the kernels of a nest."""
    for each in grouped(kernels, _family):
        yield from [each] if is_worthwhile(each) else map(family_of_one, each.kernels)


def grouped(
    members: Iterable[Member], family: Callable[[tuple[Member, ...]], Group | None]
) -> list[Group]:
    """The families that members are: each joins the first one that it is like."""
    found: list[tuple[tuple[Member, ...], Group]] = []
    for each in members:
        sides = ((at, (*others, each)) for at, (others, _) in enumerate(found))
        made = ((at, whole, family(whole)) for at, whole in (*sides, (len(found), (each,))))
        at, whole, group = next(row for row in made if row[-1] is not None)
        assert group is not None
        found[at : at + 1] = [(whole, group)]
    return [group for _, group in found]


def is_worthwhile(family: Family) -> bool:
    """Whether enough statements need not be said again."""
    count = sum(isinstance(each, i.Stmt) for each in walk(family.bodies))
    return (len(family.kernels) - 1) * count >= WORTHWHILE


def family_of_one(kernel: Kernel) -> Family:
    """A kernel by itself."""
    return Family((kernel,), {}, kernel.outlined, kernel.parts, kernel.subject.kept)


def _family(kernels: tuple[Kernel, ...]) -> Family | None:
    """The family that kernels are, if they are one."""
    if len(kernels) == 1:
        return family_of_one(kernels[0])
    bodies = [(each.outlined, each.parts, each.subject.kept) for each in kernels]
    made = generic(kernels, bodies, ends=True)
    if made is None:
        return None
    (outlined, parts, kept), types = made
    return Family(kernels, types, outlined, parts, kept)


TILES = ("taking", "running")  # what there is to do by tiles: two functions


def tile_families_of(kernels: Iterable[Kernel]) -> Iterator[Family]:
    """The families of what computes the kernels of a nest by tiles: both functions, or else those
    that take totals, as ways to run the nest differ where factors are staged otherwise."""
    members = {each.tiles.suffix: each for each in kernels if each.tiles}
    apart: list[Kernel] = []
    for each in grouped(members.values(), partial(_tile_family, TILES)):
        if is_worthwhile(each):
            yield each
        else:
            apart += each.kernels
    for each in grouped(apart, partial(_tile_family, TILES[:1])):
        shared = is_worthwhile(each)
        yield from [each] if shared else ()
        for kernel in each.kernels:
            if (alone := _tile_family(TILES[shared:], (kernel,))) is not None:
                yield alone


def _tile_family(functions: Sequence[str], kernels: tuple[Kernel, ...]) -> Family | None:
    """The family that these functions of kernels are, if they are one."""
    tiles = [each.tiles for each in kernels if each.tiles]
    own = [tuple(getattr(each, name) for name in functions) for each in tiles]
    made = (own[0], {}) if len(kernels) == 1 else generic(kernels, own, ends=True)
    if made is None:
        return None
    bodies, types = made
    others: dict[str, Any] = {name: () for name in TILES if name not in functions}
    whole = replace(tiles[0], **others, **dict(zip(functions, bodies, strict=True)))
    return Family(kernels, types, (), (), (), whole)


# ---------------------------------------------------------------- verification


@remembered
def unsound_family(family: Family) -> tuple[str, ...]:
    """The kernels of a family that its body is not, with their machine types for the parameters.
    Asked behind each stage that comes after families, none of which changes them."""
    return tuple(_found_unsound(family))


def _found_unsound(family: Family) -> Iterator[str]:
    body = family.bodies, family.kept
    for at, kernel in enumerate(family.kernels):
        types = {name: kinds[at] for name, kinds in family.types.items()}
        own = own_bodies(family, kernel), kernel.subject.kept if family.tiles is None else ()
        if not types and own == body:
            continue
        stored = with_converted_stores(own, kernel) if types else own
        type_of = type_of_values(kernel, stored)
        if without_idle(instance(body, types), type_of) != without_idle(stored, type_of):
            yield f"the body of {kernel.name} is not that of its family"


def own_bodies(family: Family, kernel: Kernel) -> tuple[i.Block, ...]:
    """The statements of a kernel that those of its family stand for."""
    if family.tiles is None or kernel.tiles is None:
        return (kernel.outlined, *(each.body for each in kernel.parts))
    there = zip((kernel.tiles.taking, kernel.tiles.running), family.bodies, strict=True)
    return tuple(mine if said else () for mine, said in there)


def instance(body: Body, types: Mapping[str, str]) -> Body:
    """A body with machine types for type parameters, and their ends."""

    def type_name(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(type_name, value))
        return types.get(value, value) if isinstance(value, str) else value

    def change(node: Any) -> Any:
        if isinstance(node, i.Limit):
            return i.Const(end_of(types[node.type_name], node.end))
        named = {name: getattr(node, name) for name in TYPE_FIELDS if hasattr(node, name)}
        other = {name: type_name(value) for name, value in named.items()}
        return node if other == named else replace(node, **other)

    return rebuild(body, change)


def without_idle(body: Body, type_of: Callable[[i.Expr], str]) -> Body:
    """A body without conversions to the type in which C has a value anyway."""

    def change(node: Any) -> Any:
        match node:
            case i.Convert(type=type_name, operand=operand) if type_of(operand) == type_name:
                return operand
            case _:
                return node

    return rebuild(body, change)
