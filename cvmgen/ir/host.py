"""The host code of a program: what it gives the nests, and adding to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.spec.formula import Attribute


def outputs(prepare: i.Block, case: int | None) -> list[i.SetOutput]:
    """The outputs that a nest of this case can write."""
    found = [each for each in prepare if isinstance(each, i.SetOutput)]
    for statement in prepare:
        if isinstance(statement, i.Cases) and case is not None:
            found.extend(outputs(statement.branches[case][1], None))
    return found


def input_names(program: i.Program) -> set[str]:
    names = set(program.operator.output_names)
    for item in program.operator.inputs:
        names |= {item.name, item.index or item.name, item.count or item.name}
        names |= {extent.new for extent in item.extents if extent.new}
    for attribute in program.operator.attributes:
        names.update(attribute.bound_names)
    return names


def given_shapes(program: i.Program) -> dict[str, tuple[i.Expr, ...]]:
    """The extents of each input as the host has them, those of a pack as one list."""
    shapes = {}
    for each in program.prepare:
        if isinstance(each, i.TakeInput):
            pairs = zip(each.input.extents, each.known, strict=True)
            found = (i.Var(extent.new) if extent.new else known for extent, known in pairs)
            shapes[each.input.name] = tuple(value for value in found if value is not None)
    return shapes


def insert(prepare: i.Block, added: dict[int | None, list[i.Stmt]]) -> i.Block:
    """`prepare` with host statements at its end, those of a case at the end of its branch."""
    done: list[i.Stmt] = []
    for statement in prepare:
        if isinstance(statement, i.Cases):
            branches = tuple(
                (condition, (*body, *added.get(number, ())))
                for number, (condition, body) in enumerate(statement.branches)
            )
            statement = replace(statement, branches=branches)
        done.append(statement)
    return (*done, *added.get(None, ()))


def with_bodies(program: i.Program, change: Callable[[i.Block], i.Block]) -> i.Program:
    """The program with what `change` makes of the body of each nest."""
    nests = tuple(replace(nest, body=change(nest.body)) for nest in program.nests)
    return replace(program, nests=nests)


def with_host_part(
    program: i.Program, change: Callable[[i.Nest], tuple[i.Nest, Iterable[i.Stmt]]]
) -> i.Program:
    """The program with what `change` makes of each nest, and the statements that this asks of the
    host: at the end of the host code, or of the prologue that a nest over several tensors has."""
    added: dict[int | None, list[i.Stmt]] = {}
    nests = []
    for each in program.nests:
        nest, host = change(each)
        if nest.each is None:
            added.setdefault(nest.case, []).extend(host)
        else:
            nest = replace(nest, prologue=(*nest.prologue, *host))
        nests.append(nest)
    return replace(program, prepare=insert(program.prepare, added), nests=tuple(nests))


# The C types of values of the host; of all others int64_t.
C_TYPES = {"list": "cvmgen_list", "reals": "cvmgen_reals", "bool": "bool", "f64": "double"}
LISTS = (C_TYPES["list"], C_TYPES["reals"])


def shape_name(output: str) -> str:
    """The host variable that holds the extents of an output."""
    return f"{output}_shape"


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
                    types[name] = C_TYPES.get(kind, "int64_t")
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
    scalar = {"bool": "bool", "real": "double"}.get(attribute.kind, "int64_t")
    listed = C_TYPES["reals" if attribute.kind == "real" else "list"]
    own, *others = attribute.bound_names
    types = {**dict.fromkeys(others, scalar), own: listed if attribute.is_listed else scalar}
    if attribute.optional:
        types[f"has_{attribute.name}"] = "bool"
    return types
