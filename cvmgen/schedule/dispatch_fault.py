"""What must hold of the statements of a call: they run the one kernel of each nest that is for the
element types at hand, whatever these are, and give it what it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from cvmgen.dtypes import INT8
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.rewrite import inner_blocks
from cvmgen.ir.visit import walk
from cvmgen.schedule.dispatch import NARROW_RESULT, ROW, row_code
from cvmgen.schedule.gpu.mapped import NARROW, KernelParameter
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.signatures import (
    PLAN,
    DeviceSignatures,
    c_parameters,
    mapping_of,
    plan_parameter,
    tensor_types,
    tile_parameters,
)

GIVEN = tuple(f"{h.OURS}{name}" for name in ("error", "stream", "spaces", "overflow", "plan"))
FREE = ("free", "device_free")
Kinds = Mapping[str, str]  # the types of locals
Known = Mapping[i.Expr, bool]  # whether tests of types hold


def dispatch_fault(kernels: Kernels) -> str:
    """What in the call of an operator does not hold together; empty where all does."""
    if not kernels.call:
        return ""
    fault = kernel_fault(kernels.call, GIVEN, GIVEN)
    return fault or next(Started(kernels).faults(), "")


@dataclass(frozen=True)
class Started:
    """The functions that a call may start, by their names."""

    kernels: Kernels

    @cached_property
    def parameters(self) -> Mapping[str, Sequence[KernelParameter]]:
        """What they are given."""
        if self.kernels.kernels[0].mapped is None:
            return dict(self.in_c())
        made = DeviceSignatures(self.kernels)
        return {
            f"{kernel.name}{each.name}": (*made.own(kernel, each), *each.parameters)
            for kernel in self.kernels.kernels
            for each in mapping_of(kernel).functions
        }

    def in_c(self) -> Iterator[tuple[str, Sequence[KernelParameter]]]:
        program = self.kernels.program
        for kernel in self.kernels.kernels:
            types, kept = tensor_types(kernel), kernel.subject.kept
            yield kernel.name, c_parameters(program, kernel, types, kept)
            if tiles := kernel.tiles:
                factors = (KernelParameter(name, "factor") for name in tiles.factors)
                others = (*tile_parameters(program, kernel), KernelParameter("space", ""))
                yield tiles.function, (plan_parameter(program), *factors, *others)

    def of(self, kernel: Kernel) -> set[str]:
        """Those of them that a kernel became."""
        if kernel.mapped is not None:
            return {f"{kernel.name}{each.name}" for each in kernel.mapped.functions}
        return {kernel.name, *([kernel.tiles.function] if kernel.tiles else [])}

    # -------------------------------------------------------- faults

    def faults(self) -> Iterator[str]:
        kinds = {PLAN: plan_parameter(self.kernels.program).pointer, f"{h.OURS}overflow": "i64*"}
        for name, given, locals_ in starts(self.kernels.call, kinds):
            if name not in self.parameters:
                yield f"it starts {name}, which is no kernel"
            else:
                yield from argument_faults(name, self.parameters[name], given, locals_)
        for number in dict.fromkeys(each.number for each in self.kernels.kernels):
            yield from self.choice_faults(self.kernels.of(number))

    def choice_faults(self, kernels: Sequence[Kernel]) -> Iterator[str]:
        """The choices of types for which a nest is not computed by its kernel for them."""
        rows = range(len(self.kernels.operator.choices))
        functions = {name for each in kernels for name in self.of(each)}
        for narrow, narrow_result, row in product((False, True), (False, True), rows):
            known: dict[i.Expr, bool] = {NARROW: narrow, NARROW_RESULT: narrow_result}
            known |= {i.Compare("==", ROW, row_code(each)): each == row for each in rows}
            meant = [e for e in kernels if is_for(e, row, narrow=narrow, stored=narrow_result)]
            started = functions & {name for name, *_ in starts(self.kernels.call, {}, known)}
            if len(meant) != 1 or not started or not started <= self.of(meant[0]):
                found = ", ".join(sorted(started)) or "no kernel"
                wanted = " and ".join(each.name for each in meant) or "none"
                yield f"it starts {found} where {wanted} is for the element types"


def is_for(kernel: Kernel, row: int, *, narrow: bool, stored: bool) -> bool:
    """Whether a kernel is the one for some element types."""
    variant = kernel.variant
    pairs = ((variant.source, narrow), (variant.stored, stored))
    cvm = all(dtype is None or (dtype == INT8) == is_int8 for dtype, is_int8 in pairs)
    return cvm and (not variant.rows or row in variant.rows)


def starts(
    body: i.Block, kinds: Kinds, known: Known | None = None
) -> Iterator[tuple[str, Sequence[i.Expr], Kinds]]:
    """The functions that statements start where types are `known`, with what they are given and
    the types of the locals there."""
    kinds = dict(kinds)
    for each in body:
        match each:
            case i.Launch(kernel=kernel, arguments=arguments):
                yield kernel, arguments, kinds
            case i.Invoke(call=i.Call(function=function, arguments=arguments)):
                if function not in FREE:
                    yield function, arguments, kinds
            case i.Let(name=name, type=kind, value=value):
                kinds[name] = kind
                for part in walk(value):
                    if isinstance(part, i.Call) and i.Var(PLAN) in part.arguments:
                        yield part.function, part.arguments, kinds
            case i.If(condition=condition, then=then, otherwise=otherwise):
                holds = _truth(condition, known or {})
                yield from starts(then, kinds, known) if holds is not False else ()
                yield from starts(otherwise, kinds, known) if holds is not True else ()
            case _:
                for block in inner_blocks(each):
                    yield from starts(block, kinds, known)


def _truth(test: i.Expr, known: Known) -> bool | None:
    """Whether a test holds, if that is known."""
    match test:
        case i.Not(operand=operand):
            inner = _truth(operand, known)
            return None if inner is None else not inner
        case i.Logic(op="and" | "or" as op, operands=operands):
            found = [_truth(each, known) for each in operands]
            decided = op == "or"
            return decided if decided in found else None if None in found else not decided
        case _:
            return known.get(test)


def argument_faults(
    name: str, parameters: Sequence[KernelParameter], given: Sequence[i.Expr], kinds: Kinds
) -> Iterator[str]:
    """What a function is given that it does not ask for."""
    if len(parameters) != len(given):
        yield f"{name} is given {len(given)} values, not {len(parameters)}"
        return
    for parameter, value in zip(parameters, given, strict=True):
        wanted = parameter.pointer if parameter.elements else parameter.type
        found = _kind_of(value, kinds)
        if found and wanted and wanted not in (found, f"const {found}"):
            yield f"{name} is given {found} for {parameter.name}, which is {wanted}"


def _kind_of(value: i.Expr, kinds: Kinds) -> str:
    """The type of a value that is a local or was converted; of a local's address a pointer."""
    match value:
        case i.Convert(type=kind):
            return kind
        case i.Var(name=name):
            return kinds.get(name, "")
        case i.Address(place=i.Var(name=name)):
            return f"{kinds.get(name, '')}*"
        case i.Select(otherwise=inner) | i.Binary(left=inner):
            return _kind_of(inner, kinds)
        case _:
            return ""
