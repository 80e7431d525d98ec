"""What comes of calls that are looked at for all values of their inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.evaluate import Assignment

Shown = ChosenCall | None  # with numbers


@dataclass(frozen=True, slots=True)
class Difference:
    """An element that is not what the formula says, with inputs that show it if some were found."""

    call: str
    output: str
    position: int
    found: str
    wanted: str
    shown_by: Assignment | None
    numbers: tuple[Any, Any] | None = None  # what text and formula give for these inputs
    compiled: Any = None  # what the compiled text gives
    python: str = ""  # the call with these inputs


@dataclass(slots=True)
class ValidatedCalls:
    """What came of the calls of an operator."""

    operator: str
    calls: dict[str, None] = field(default_factory=dict)
    elements: int = 0
    cases: int = 0  # elements that are equal by cases and not at once
    seconds: float = 0.0
    difference: Difference | None = None
    faults: list[str] = field(default_factory=list)  # calls in which the text is not defined
    shown_by: Shown = None  # for what refutes the text
    open: list[str] = field(default_factory=list)  # calls of which it is not known, and why
    blocks: int = 0  # of the functions that calls may come to, without those that refuse
    not_run: dict[str, int] = field(default_factory=dict)  # how many of these, by function

    @property
    def validated(self) -> bool:
        return not (self.refuted or self.open) and bool(self.calls)

    @property
    def refuted(self) -> bool:
        return self.difference is not None or bool(self.faults)
