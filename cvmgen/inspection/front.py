"""The stages in front of the passes, which know of no target: a formula parsed, and checked."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen import tree
from cvmgen.errors import InternalError
from cvmgen.inspection.story import StageChange, as_added
from cvmgen.spec.formula import Operator
from cvmgen.spec.parse import parse_at

FRONT = {
    "parse": "the text as a syntax tree",
    "check": "every name resolved, every kind known: what all later stages begin with",
}


def front_changes(operator: Operator) -> Iterator[StageChange]:
    for stage, purpose in FRONT.items():
        lines = front_text(operator, stage).splitlines()
        yield StageChange(f"{stage}: {purpose}", tuple(as_added(lines)))


def front_text(operator: Operator, stage: str) -> str:
    """What one of the two made of the operator, as text for people."""
    return syntax_text(operator) if stage == "parse" else tree.lines_of(operator)


def syntax_text(operator: Operator) -> str:
    """The syntax tree of the operator's declaration."""
    declaration = parse_at(operator.span.source, operator.span.start)
    if declaration is None:
        raise InternalError(f"the stage 'parse' does not find {operator.full_name} again")
    return tree.lines_of(declaration)
