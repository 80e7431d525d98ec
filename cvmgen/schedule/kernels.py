"""The kernels of an operator: each nest for one choice of element types, typed, then scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from cvmgen.analysis.plan import Field, fields_read, plan_fields
from cvmgen.analysis.tiling import TOTAL
from cvmgen.dtypes import INT8
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.ir.uses import all_names, has, nodes_in, stored_tensors
from cvmgen.lower.host_part import lower_for_c
from cvmgen.schedule.entries import KeptValue
from cvmgen.schedule.gpu.mapped import DeviceFunction, KernelParameter, Mapped
from cvmgen.schedule.outline import OutlinedPart, Outliner, unsound_outlined
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import Subject
from cvmgen.schedule.tile_functions import TileFunctions, TileWriter
from cvmgen.spec.formula import Operator
from cvmgen.typing.choices import (
    Variant,
    read_in,
    storage_types,
    type_variants,
    used_tensors,
)
from cvmgen.typing.short_integers import short_integers
from cvmgen.typing.short_reals import short_reals
from cvmgen.typing.types import host_before, memory_types, type_nest, type_prepare


@dataclass(frozen=True, slots=True)
class Kernel:
    """A nest for one choice of element types.

    `typed` are its statements as they got machine types, which no schedule has changed; `subject`
    has those that its schedule made of them; `outlined` are those with `parts` for the loops that
    threads share, and `tiles` what computes the nest by tiles. On a GPU it is `mapped` to threads.
    """

    name: str
    number: int  # of the nest among those of the program
    nest: i.Nest
    variant: Variant
    typed: i.Block
    subject: Subject
    mapped: Mapped | None = None
    outlined: i.Block = ()
    parts: tuple[OutlinedPart, ...] = ()
    tiles: TileFunctions | None = None

    @property
    def overflows(self) -> bool:
        """Whether it can find a value beyond the type of its output."""
        return has(self.typed, i.Overflow)

    @property
    def bodies(self) -> tuple[i.Block, ...]:
        """The statements that compute the nest, as far as stages have come."""
        if self.mapped is not None:
            return tuple(each.body for each in self.mapped.functions)
        if not self.outlined:
            return (self.subject.body,)
        return (self.outlined, *(each.body for each in self.parts))


@dataclass(frozen=True, slots=True)
class InlineFunction:
    """A function of which compilers make a copy for each call: what the `body` does for values of
    `parameters`. It has the `captures` besides; it may be one of several threads `in_threads`."""

    name: str
    parameters: tuple[str, ...]
    captures: tuple[i.Capture, ...]
    body: i.Block
    in_threads: bool


@dataclass(frozen=True, slots=True)
class Inlined:
    """A kernel and its parts with calls of inline functions."""

    outlined: i.Block
    parts: tuple[OutlinedPart, ...]
    functions: tuple[InlineFunction, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Kernels of a nest that differ in element types alone, with the bodies that are theirs for
    the machine types that type parameters stand for in each; or the functions that compute such a
    nest by `tiles`, of which one may be in a family without the other. Where branches of the
    bodies have some statements in common, they are `inlined` besides."""

    kernels: tuple[Kernel, ...]
    types: Mapping[str, tuple[str, ...]]
    outlined: i.Block
    parts: tuple[OutlinedPart, ...]
    kept: tuple[KeptValue, ...]
    tiles: TileFunctions | None = None
    inlined: Inlined | None = None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of its functions end with for the types of each kernel."""
        if self.tiles is None:
            return tuple(each.variant.suffix for each in self.kernels)
        return tuple(each.tiles.suffix for each in self.kernels if each.tiles)

    @property
    def bodies(self) -> tuple[i.Block, ...]:
        """The statements of its functions."""
        if self.tiles is not None:
            return (self.tiles.taking, self.tiles.running)
        return (self.outlined, *(each.body for each in self.parts))

    def shown(self) -> Iterator[i.Nest]:
        """Its functions as nests, for people: what they are made for, then the formula."""
        nest, names = self.kernels[0].nest, ", ".join(each.name for each in self.kernels)
        kinds = kinds_shown(self.types)
        if self.tiles is not None:
            yield from self.tiles.shown(nest, self.suffixes, kinds)
            return
        said = self.inlined or Inlined(self.outlined, self.parts, ())
        functions: list[InlineFunction | OutlinedPart] = [*said.functions, *said.parts]
        for each in functions:
            yield replace(nest, body=each.body, formula=f"{each.name}: {nest.formula}")
        yield replace(nest, body=said.outlined, formula=f"{names}{kinds}: {nest.formula}")

    @property
    def elements(self) -> Mapping[str, str]:
        """The machine types of the elements of tensors, or the parameters that stand for them."""
        names = {values: name for name, values in self.types.items()}
        tables = [each.subject.dtypes for each in self.kernels]
        columns = {name: tuple(each[name].machine for each in tables) for name in tables[0]}
        return {name: names.get(column, column[0]) for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class DeviceFamily:
    """Functions of the kernels of a nest for a GPU, one of each, with the body and the parameters
    that are theirs for the machine types that type parameters stand for in each. A function
    without type parameters is by itself; `name` is what the one for several types is called."""

    name: str
    kernels: tuple[Kernel, ...]
    functions: tuple[DeviceFunction, ...]
    types: Mapping[str, tuple[str, ...]]
    body: DeviceFunction
    given: tuple[KernelParameter, ...]

    def shown(self) -> i.Nest:
        """It as a nest, for people."""
        nest = self.kernels[0].nest
        names = ", ".join(f"{each.name}{self.body.name}" for each in self.kernels)
        title = f"{names}{kinds_shown(self.types)}: {nest.formula}"
        return replace(nest, body=self.body.body, formula=title)


def kinds_shown(types: Mapping[str, tuple[str, ...]]) -> str:
    """What type parameters stand for, for people."""
    return "".join(f", {name} = {', '.join(each)}" for name, each in types.items())


@dataclass(frozen=True, slots=True)
class Kernels:
    """A program with machine types: its host part, and all kernels of each nest, in order.

    `program` is what they were made of, which types depend on; `families` have each kernel once,
    `tile_families` what computes kernels by tiles, on a GPU `device_families` each function of a
    kernel.
    `call` is what the host does behind its part, up to the last kernel.
    """

    program: i.Program
    host: i.Program
    kernels: tuple[Kernel, ...]
    families: tuple[Family, ...] = ()
    tile_families: tuple[Family, ...] = ()
    device_families: tuple[DeviceFamily, ...] = ()
    call: i.Block = ()

    @property
    def operator(self) -> Operator:
        return self.program.operator

    def of(self, number: int) -> tuple[Kernel, ...]:
        """The kernels of a nest, one for each choice of types."""
        return tuple(each for each in self.kernels if each.number == number)

    def widest(self, number: int) -> Kernel:
        """The kernel of a nest for int32 tensors, by the first choice of other types."""
        narrow = (INT8 in (each.variant.source, each.variant.stored) for each in self.of(number))
        return min(zip(narrow, self.of(number), strict=True), key=itemgetter(0))[1]

    def shown(self) -> i.Program:
        """The program with the widest kernels for its nests, for people, or with the kernels of all
        families; of kernels in several functions the parts stand first, each as a nest."""
        nests: list[i.Nest] = []
        for family in (*self.tile_families, *self.families):
            nests += family.shown()
        nests += (each.shown() for each in self.device_families)
        if nests:
            return replace(self.host, nests=tuple(nests))
        for number, nest in enumerate(self.host.nests):
            kernel = self.widest(number)
            nests += (
                replace(nest, body=each.body, formula=f"{each.name}: {nest.formula}")
                for each in kernel.parts
            )
            nests.append(replace(nest, body=kernel.outlined or kernel.subject.body))
        return replace(self.host, nests=tuple(nests))


def typed(program: i.Program) -> Kernels:
    """The lowered program with machine types, each nest once for each choice of element types."""
    kernels = tuple(
        typed_kernel(program, number, variant)
        for number, nest in enumerate(program.nests)
        for variant in type_variants(program, nest)
    )
    return Kernels(program, type_prepare(program), kernels)


def typed_kernel(program: i.Program, number: int, variant: Variant) -> Kernel:
    nest, dtypes = program.nests[number], storage_types(program, variant)
    dtypes = {**dtypes, **memory_types(program, nest, dtypes)}
    elements = {name: dtype.machine for name, dtype in dtypes.items()}
    body = short_reals(type_nest(program, nest, dtypes).body, elements)
    subject = Subject.of(program, nest, body, dtypes)
    name = f"{nest_name(program, number)}{variant.suffix}"
    return Kernel(name, number, nest, variant, body, subject)


def nest_name(program: i.Program, number: int) -> str:
    """What the names of a nest's kernels begin with."""
    tensor = program.nests[number].tensor
    same = [at for at, each in enumerate(program.nests) if each.tensor == tensor]
    suffix = f"_{same.index(number)}" if len(same) > 1 else ""
    return f"{program.operator.name}_{tensor}{suffix}"


def scheduled(target: str, kernels: Kernels, schedules: Schedules) -> Kernels:
    """The kernels after all actions of the schedules of their classes for a target."""
    done = tuple(
        replace(each, subject=schedules.scheduled(target, each.subject)) for each in kernels.kernels
    )
    return replace(kernels, kernels=done)


def outlined(kernels: Kernels) -> Kernels:
    """The loops that threads share become functions of their own, which capture what they use; so
    does what computes a nest by tiles."""
    fields = plan_fields(kernels.program)
    done = tuple(
        replace(
            outlined_kernel(kernels.program, each, fields),
            tiles=tile_functions(kernels, each, fields),
        )
        for each in kernels.kernels
    )
    return replace(kernels, kernels=done)


def outlined_kernel(program: i.Program, kernel: Kernel, fields: tuple[Field, ...]) -> Kernel:
    def read(body: i.Block) -> list[Field]:
        return fields_read(fields, program.operator, body)

    body = kernel.subject.body
    tensors = used_tensors(program, kernel.nest)
    tensors += [h.NOTED] if kernel.overflows else []
    tensors += [each.array for each in kernel.subject.kept]
    taken = {each.name for each in read(body)}
    name = nest_name(program, kernel.number)
    functions = {nest_name(program, number) for number in range(len(program.nests))}
    functions |= {each.removesuffix("_call") for each in functions}  # as captures are called
    outliner = Outliner(name, body, tensors, taken, lambda part: bool(read(part)), functions)
    return replace(kernel, outlined=outliner.outlined(), parts=tuple(outliner.parts))


def tile_functions(
    kernels: Kernels, kernel: Kernel, fields: tuple[Field, ...]
) -> TileFunctions | None:
    """The functions that compute a nest by tiles, where its schedule has some."""
    program, nest, tiling = kernels.program, kernel.nest, kernel.subject.tiling
    if tiling is None:
        return None
    shifts = [each.value for each in (tiling.found.border, tiling.found.zero) if each is not None]
    behind, shifting = {*read_in(tiling.found.after), nest.tensor}, {*read_in(tuple(shifts))}
    tensors = [each for each in used_tensors(program, nest) if each in behind | shifting]
    tensors += [h.NOTED] if has(tiling.found.after, i.Overflow) else []
    name = nest_name(program, kernel.number)
    places = (kernel.typed, tiling.x_start, tiling.w_start, tiling.lines, tuple(shifts))
    taken = {*all_names(kernel.typed), *tensors}
    taken |= {each.name for each in fields_read(fields, program.operator, places)}

    def reads_plan(body: i.Block) -> bool:
        return bool(fields_read(fields, program.operator, body))

    given = (tuple(tensors), shifting - behind)
    kinds = {each.subject.elements[nest.tensor] for each in tiled(kernels, kernel.number)}
    return TileWriter(
        *(name, tiles_suffix(kernels, kernel), tiling, kernel.subject, *given, reads_plan, taken),
        *(nest.span, TOTAL in kinds and len(kinds) > 1),
    ).functions()


def tiled(kernels: Kernels, number: int) -> Iterator[Kernel]:
    """The kernels of a nest that its schedule computes by tiles."""
    return (each for each in kernels.of(number) if each.subject.tiling is not None)


def tiles_suffix(kernels: Kernels, kernel: Kernel) -> str:
    """Without the type of the factors, if nothing behind their sums depends on it."""
    shared = replace(kernel.variant, source=None)
    found = {
        (tiling.found.total.type, tiling.found.after, tiling.found.before)
        for each in tiled(kernels, kernel.number)
        if replace(each.variant, source=None) == shared
        and (tiling := each.subject.tiling) is not None
    }
    return (shared if len(found) == 1 else kernel.variant).suffix


def shortened(kernels: Kernels) -> Kernels:
    """The loops of vectors of kernels and of what they became compute in 32 bits what has them."""
    done = tuple(shortened_kernel(kernels, each) for each in kernels.kernels)
    return replace(kernels, kernels=done)


def shortened_kernel(kernels: Kernels, kernel: Kernel) -> Kernel:
    elements = kernel.subject.elements
    known = host_before(kernels.program, kernels.program.nests[kernel.number]).ranges
    parts = []
    for each in kernel.parts:
        parts.append(each.with_body(short_integers(each.body, elements, known, kernel.outlined)))
    tiles = kernel.tiles
    if tiles is not None:
        totals = {tiles.own["totals"]: "i32"}
        tiles = replace(tiles, taking=short_integers(tiles.taking, {**elements, **totals}, known))
    outlined = short_integers(kernel.outlined, elements, known)
    return replace(kernel, outlined=outlined, parts=tuple(parts), tiles=tiles)


def host_lowered(precision: str, kernels: Kernels, schedules: Schedules) -> Kernels:
    """The host part as checks and assignments; a function gives the `precision` of inputs."""
    return replace(kernels, host=lower_for_c(kernels.host, precision))


@remembered
def unsound_parts(program: i.Program, kernel: Kernel) -> tuple[str, ...]:
    """What does not hold together in the functions that a kernel became. Asked behind each stage,
    of which most leave them as they are."""
    return tuple(_found_unsound(program, kernel))


def _found_unsound(program: i.Program, kernel: Kernel) -> Iterator[str]:
    places = (each.place for each in nodes_in(kernel.bodies, i.Address))  # for helpers to fill
    given = {each.tensor for each in places if isinstance(each, i.Load)}
    if kernel.nest.tensor not in stored_tensors(kernel.bodies) | given:
        yield f"nothing writes to {kernel.nest.tensor}"
    fields = plan_fields(program)
    if kernel.tiles:
        yield from kernel.tiles.faults((each.name for each in fields), kernel.subject.elements)
    if kernel.parts:

        def read(body: i.Block) -> set[str]:
            return {each.name for each in fields_read(fields, program.operator, body)}

        names, elements = kernel.subject.outside.names, kernel.subject.elements
        yield from unsound_outlined(kernel.outlined, kernel.parts, names, elements, read)
