"""The plan of a call: the host values that nests read, and their C types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.spec.formula import Operator


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the plan."""

    name: str
    type: str  # int64_t, double, bool, cvmgen_list or cvmgen_reals


def plan_fields(program: i.Program, more: Iterable[str] = ()) -> tuple[Field, ...]:
    """The host values that the nests read, in the order in which the host makes them; `more` are
    others that their kernels need."""
    types = host_types(program)
    needed: set[str] = {each.size for each in program.scratch} | set(more)
    needed |= {str(each.guarded.shape) for each in program.nests if each.guarded is not None}
    for nest in program.nests:
        inner = assigned(nest.body)
        names = names_in(nest.body) - inner
        given = {f"has_{each.name}" for each in nodes_in(nest.body, i.Given)}
        outer = names_in(nest.prologue) - assigned(nest.prologue)
        # Of the tensor at hand the host knows the number, which only statements of a nest need.
        needed |= names | given | (outer - {nest.each[0]} if nest.each else outer)
    return tuple(Field(name, kind) for name, kind in types.items() if name in needed)


def fields_read(
    fields: Iterable[Field], operator: Operator, body: object, more: Iterable[str] = ()
) -> list[Field]:
    """The members of the plan that statements read, and `more`."""
    # A local may have the name of a value that only other nests read.
    names = (names_in(body) - assigned(body)) | set(more)
    given = {f"has_{each.name}" for each in nodes_in(body, i.Given)}
    optional = {f"has_{item.name}" for item in operator.inputs if item.optional}
    wanted = names | (given - optional)
    return [field for field in fields if field.name in wanted]
