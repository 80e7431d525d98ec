"""The element types of an adjoint: for which choices of them there is one, and how calls tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cvmgen.derive.terms import PLURALS, Linear
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec.types import untold


def linear_in(
    operator: f.Operator, wrt: f.Input, output: f.Output
) -> tuple[Linear, tuple[int, ...]]:
    """The formula as sums of products, and the choices of types for which it is one.

    SpecError if there is none: the gradient of the output has its type, the adjoint that of the
    input, so that the elements of both must be of one kind.
    """
    faults: list[SpecError] = []
    found: list[tuple[Linear, tuple[int, ...]]] = []
    for (kind, result), rows in by_kinds(operator, wrt, output).items():
        linear = Linear(operator, wrt.name, kind)
        try:
            if terms_of(linear) and (kind == f.BOOL or kind != result):
                raise no_type(wrt, output, kind, result)
        except SpecError as fault:
            faults.append(fault)
        else:
            found.append((linear, rows))
    if not found:
        raise faults[0]
    every = sorted(row for _, rows in found for row in rows)
    return found[0][0], tuple(every)


def terms_of(linear: Linear) -> Collection[object]:
    items = f.all_items(linear.operator.items)
    equations = (each for each in items if isinstance(each, f.Equation))
    return [term for equation in equations for term in linear.terms(equation)]


def by_kinds(
    operator: f.Operator, wrt: f.Input, output: f.Output
) -> dict[tuple[f.Kind, f.Kind], tuple[int, ...]]:
    """The choices of types, by what elements of the input and of the output are."""
    table = operator.types
    found: dict[tuple[f.Kind, f.Kind], tuple[int, ...]] = {}
    for row in range(len(table.rows)):
        first, second = (f.element_kind(table.dtype(each.dtype, row)) for each in (wrt, output))
        found[first, second] = (*found.get((first, second), ()), row)
    return found


def no_type(wrt: f.Input, output: f.Output, kind: f.Kind, result: f.Kind) -> SpecError:
    if kind == f.BOOL:
        message = f"elements of '{wrt.name}' are conditions, which have no sums: it has no adjoint"
        return SpecError(wrt.span, message)
    message = (
        f"elements of '{wrt.name}' are {PLURALS[kind]}, those of '{output.name}' {PLURALS[result]}"
    )
    hint = f"a gradient of '{output.name}' has the type of it, the adjoint that of '{wrt.name}'"
    return SpecError(wrt.span, f"{message}: the adjoint has no type", hint)


def reduced(table: f.TypeTable, rows: Collection[int], names: Collection[str]) -> f.TypeTable:
    """The table of these choices alone, for the parameters that are used."""
    columns = [at for at, name in enumerate(table.names) if name in names]
    chosen = (tuple(table.rows[row][at] for at in columns) for row in rows)
    return f.TypeTable(tuple(table.names[at] for at in columns), tuple(dict.fromkeys(chosen)))


def telling(table: f.TypeTable, kept: Sequence[f.Input], others: Sequence[f.Input]) -> set[str]:
    """Of the other inputs as many as it takes to tell the choice of types of a call."""
    added: list[f.Input] = []
    for each in others:
        if not untold(table, [*kept, *added]):
            break
        if each.dtype in table.names and not each.optional:
            added.append(each)
    return {each.name for each in added}
