"""What only the whole operator shows: outputs are declared and written in every case."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.source import SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec.types import untold


def whole_errors(
    declaration: d.OperatorDecl, table: f.TypeTable, items: tuple[f.Item, ...]
) -> Iterator[SpecError]:
    """What is wrong with an operator whose items are right."""
    span = declaration.name_span
    yield from output_errors(declaration, items)
    given = [item for item in items if isinstance(item, f.Input | f.Attribute)]
    if names := untold(table, given):
        message = f"no input tells what {' and '.join(names)} is"
        hint = f"give an input that is not optional the type {names[0]}"
        hint = f"{hint}, or let an attribute decide it: attr to : type in {names[0]}"
        yield SpecError(span, message, hint)


def output_errors(declaration: d.OperatorDecl, items: tuple[f.Item, ...]) -> Iterator[SpecError]:
    cases = [item for item in items if isinstance(item, f.Case)]
    everywhere = outputs_of(items)
    some = {name: output for case in cases for name, output in outputs_of(case.items).items()}
    if not everywhere and not some:
        hint = "declare one: output Y : cvm[...] precision ..."
        yield SpecError(declaration.name_span, "the operator has no output", hint)
    at_top = written_by(items)
    in_some = at_top.union(*(written_by(case.items) for case in cases))
    yield from (never_written(each) for name, each in everywhere.items() if name not in in_some)
    for case in cases:
        own = outputs_of(case.items)
        written = at_top | written_by(case.items)
        for name, first in some.items():
            if name not in own:
                hint = f"the case that declares it is in line {first.span.line}"
                message = f"this case has no output '{name}'"
                yield SpecError(case.condition.span, message, hint)
        for name, output in {**everywhere, **own}.items():
            if name in own and name not in written:
                yield never_written(output)
            elif name in in_some and name not in written:
                hint = f"give its formula in this case: {name}[...] = ..."
                message = f"this case never writes output '{name}'"
                yield SpecError(case.condition.span, message, hint)


def never_written(output: f.Output) -> SpecError:
    message = f"output '{output.name}' is never written"
    return SpecError(output.span, message, f"give its formula: {output.name}[...] = ...")


def outputs_of(items: tuple[f.Item, ...]) -> dict[str, f.Output]:
    return {item.name: item for item in items if isinstance(item, f.Output)}


def written_by(items: tuple[f.Item, ...]) -> set[str]:
    return {item.tensor for item in items if isinstance(item, f.Equation)}
