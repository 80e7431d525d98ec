"""The host code of a program: what it gives the nests, and adding to it."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i


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


def shape_name(output: str) -> str:
    """The host variable that holds the extents of an output."""
    return f"{output}_shape"
