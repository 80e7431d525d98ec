"""The blocks of checked operators as they were parsed."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.source import Source
from cvmgen.spec import declarations as d
from cvmgen.spec.families import instantiate
from cvmgen.spec.formula import Operator
from cvmgen.spec.parse import parse, parse_at


def declared(operator: Operator) -> d.OperatorDecl:
    """The block of a checked operator as it was parsed, that of its family filled in."""
    blocks = [span for title, span in operator.blocks if not title.startswith("def ")]
    return _joined([parse_at(span.source, span.start) for span in blocks])


def read_declaration(text: str) -> d.OperatorDecl:
    """The same, of the text of an operator, with that of its family in front of it; raises
    SpecErrors where the text is none."""
    return _joined(parse(Source("formula", text)))


def _joined(found: Iterable[d.TopLevel | None]) -> d.OperatorDecl:
    families: dict[str, d.FamilyDecl] = {}
    for each in found:
        match each:
            case d.FamilyDecl(name=name):
                families[name] = each
            case d.InstanceDecl():
                return instantiate(each, families)
            case d.OperatorDecl():
                return each
            case _:
                pass
    raise ValueError("no operator is declared here")


def definitions(operator: Operator) -> list[d.Definition]:
    """What stands outside of an operator's block and is used in it, in the order of its blocks."""
    spans = [span for title, span in operator.blocks if title.startswith("def ")]
    found = (parse_at(span.source, span.start) for span in spans)
    return [each for each in found if isinstance(each, d.Definition)]
