"""The element types that a nest is compiled for: a kernel for each choice that matters to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.dtypes import CVM, INT8, INT32, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in, read_tensors
from cvmgen.ir.visit import walk


@dataclass(frozen=True, slots=True)
class Variant:
    """The storage types that a kernel is made for.

    `source` and `stored` are those of operands of type `cvm`, None where it reads or stores none
    of them. `rows` are the choices of the type parameters that it serves, all of them where none
    is named, and `chosen` what they stand for, as far as the kernel depends on them.
    """

    source: DType | None
    stored: DType | None
    rows: tuple[int, ...] = ()
    chosen: tuple[DType, ...] = ()

    @property
    def suffix(self) -> str:
        """What the name of its kernel ends with."""
        types = (*self.chosen, self.source, self.stored)
        return "".join(f"_{each.name}" for each in types if each is not None)


def type_variants(program: i.Program, nest: i.Nest) -> tuple[Variant, ...]:
    """The kernels of a nest."""
    cvm = {name for name, kind in program.operator.type_of.items() if kind == CVM}
    read = (inputs_behind(program, nest) & cvm) - set(int32_inputs(program))
    sources = (INT8, INT32) if read else (None,)
    results = (INT8, INT32) if nest.tensor in cvm else (None,)
    return tuple(
        Variant(source, stored, rows, chosen)
        for chosen, rows in type_choices(program, nest).items()
        for source in sources
        for stored in results
    )


def type_choices(program: i.Program, nest: i.Nest) -> dict[tuple[DType, ...], tuple[int, ...]]:
    """What the type parameters that a nest depends on can stand for, and in which rows."""
    operator = program.operator
    table = operator.types
    kinds = {operator.type_of.get(name) for name in (*inputs_behind(program, nest), nest.tensor)}
    kinds |= {each.type_name for each in nodes_in(nest.body, i.Limit)}
    columns = [at for at, name in enumerate(table.names) if name in kinds]
    found: dict[tuple[DType, ...], list[int]] = {}
    for number, row in enumerate(table.rows):
        found.setdefault(tuple(row[at] for at in columns), []).append(number)
    if len(found) == 1:
        return dict.fromkeys(found, ())
    return {chosen: tuple(rows) for chosen, rows in found.items()}


def storage_types(program: i.Program, variant: Variant) -> Mapping[str, DType]:
    """The storage types of inputs and outputs, as the kernels of a variant find them."""
    operator, wide = program.operator, int32_inputs(program)
    source, stored = variant.source or INT32, variant.stored or INT32
    types = {item.name: INT32 if item.name in wide else source for item in operator.inputs}
    chosen = operator.choices[variant.rows[0] if variant.rows else 0]
    return types | dict.fromkeys(operator.output_names, stored) | chosen


# ---------------------------------------------------------------- what nests read and fill


def int32_inputs(program: i.Program) -> tuple[str, ...]:
    """Inputs that kernels read as int32 whatever the caller stores.

    In an operator that reduces, those read outside the reductions: they are read once for
    an output element, so a copy as int32 costs next to nothing.
    """
    reduced: set[str] = set()
    for nest in program.nests:
        for each in walk(nest.body):
            if isinstance(each, i.Loop) and reduces(each.body):
                reduced |= {load.tensor for load in nodes_in(each, i.Load)}
    names = [item.name for item in program.operator.inputs if item.dtype == CVM]
    if reduced.isdisjoint(names):
        return ()
    return tuple(name for name in names if name not in reduced)


def reduces(body: tuple[i.Stmt, ...]) -> bool:
    """Whether a loop with this body combines its elements, it and no loop inside alone."""
    return any(
        isinstance(each, (i.Accumulate, i.Break))
        or (isinstance(each, i.If) and reduces((*each.then, *each.otherwise)))
        for each in body
    )


def inputs_read(program: i.Program, nest: i.Nest) -> tuple[str, ...]:
    """The inputs whose elements or presence a nest reads."""
    read = read_in(nest.body)
    return tuple(item.name for item in program.operator.inputs if item.name in read)


def inputs_behind(program: i.Program, nest: i.Nest) -> set[str]:
    """The inputs that a nest reads, itself or through lets in memory, whose machine types follow
    from those of what they are made of."""
    found, wanted = set(inputs_read(program, nest)), set(scratch_read(program, nest))
    for each in reversed(program.nests):
        if each.tensor in wanted & program.lets.keys():
            found |= set(inputs_read(program, each))
            wanted |= set(scratch_read(program, each))
    return found


def read_in(body: object) -> set[str]:
    """The tensors of which statements or values read elements, and those that they ask for."""
    return {*read_tensors(body), *(each.name for each in nodes_in(body, i.Given))}


def scratch_read(program: i.Program, nest: i.Nest) -> tuple[str, ...]:
    """The memory of selected lists that a nest reads but does not fill."""
    read = read_tensors(nest.body)
    names = (each.name for each in program.scratch if each.owner != nest.tensor)
    return tuple(name for name in names if name in read)


def used_tensors(program: i.Program, nest: i.Nest) -> list[str]:
    """What a nest reads, inputs in the order of the operator, then what it writes."""
    read = inputs_read(program, nest)
    return [*read, *scratch_read(program, nest), *written_tensors(program, nest)]


def written_tensors(program: i.Program, nest: i.Nest) -> tuple[str, ...]:
    """What a nest writes: an output, or the memory of a selected list, or of both."""
    output = (nest.tensor,) if nest.tensor in program.operator.output_names else ()
    return (*output, *(each.name for each in program.scratch_of(nest.tensor)))
