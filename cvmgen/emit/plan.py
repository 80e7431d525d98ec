"""The plan of a call: the host values that nests read, and their C types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import walk
from cvmgen.spec.formula import Attribute


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the plan."""

    name: str
    type: str  # int64_t, bool or cvmgen_list


def plan_fields(program: i.Program, more: Iterable[str] = ()) -> tuple[Field, ...]:
    """The host values that the nests read, in the order in which the host makes them; `more` are
    others that their kernels need."""
    types = host_types(program)
    needed: set[str] = {each.size for each in program.scratch} | set(more)
    for nest in program.nests:
        inner = assigned(nest.body)
        names = names_in(nest.body) - inner
        given = {f"has_{each.name}" for each in walk(nest.body) if isinstance(each, i.Given)}
        needed |= names | given | (names_in(nest.prologue) - assigned(nest.prologue))
        if nest.each is not None:
            needed.discard(nest.each[0])
            if nest.each[0] in names:
                needed.add(nest.each[0])
    return tuple(Field(name, kind) for name, kind in types.items() if name in needed)


def host_types(program: i.Program) -> dict[str, str]:
    """Every name that the host binds, with its C type."""
    types: dict[str, str] = {}

    def visit(statements: Iterable[i.Stmt]) -> None:
        for statement in statements:
            match statement:
                case i.TakeInput(input=item):
                    for extent in item.extents:
                        if extent.new and not item.variadic:
                            types[extent.new] = "cvmgen_list" if extent.pack else "int64_t"
                    if item.count:
                        types[item.count] = "int64_t"
                case i.TakeAttribute(attribute=attribute):
                    types.update(attribute_types(attribute))
                case i.Let(name=name, type=kind):
                    types[name] = {"list": "cvmgen_list", "bool": "bool"}.get(kind, "int64_t")
                case i.SetOutput(tensor=tensor, precision=precision):
                    types[f"{tensor}_shape"] = "cvmgen_list"
                    if precision is not None:
                        types[f"{tensor}_precision"] = "int64_t"
                case i.Cases(branches=branches):
                    for _, body in branches:
                        visit(body)
                case _:
                    pass

    visit(program.prepare)
    for nest in program.nests:
        if nest.each is not None:
            types[nest.each[0]] = "int64_t"
        visit(nest.prologue)
    return types


def attribute_types(attribute: Attribute) -> dict[str, str]:
    scalar = "bool" if attribute.kind == "bool" else "int64_t"
    whole = attribute.is_list or attribute.components
    own, *others = attribute.bound_names
    types = {**dict.fromkeys(others, scalar), own: "cvmgen_list" if whole else scalar}
    if attribute.optional:
        types[f"has_{attribute.name}"] = "bool"
    return types
