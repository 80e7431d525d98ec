"""How an operator became code, as data for pages: no part of the compiler is needed to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvmgen.emit.line_map import Place


@dataclass(frozen=True, slots=True)
class StageChange:
    """What a stage or an action is, and the lines of what it made; each begins with `+`, `-` or a
    blank. `parts` are the actions of a stage."""

    title: str
    lines: tuple[str, ...] = ()
    parts: tuple[StageChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """A file below generated/, its text, and of each line which part of the formula it computes."""

    file: str
    text: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """The code and the stages of an operator by target, the stages that are the same for all of
    them, and what is known of the machine types of locals where they are named."""

    code: Mapping[str, Code]
    first_stages: tuple[StageChange, ...]
    stages: Mapping[str, tuple[StageChange, ...]]
    types: tuple[tuple[Place, str], ...]


def as_added(lines: Sequence[str]) -> list[str]:
    """The lines of what is new altogether."""
    return [f" {line}" for line in lines]
