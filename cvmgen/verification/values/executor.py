"""What instructions ask of the machine that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cvmgen.verification.values import llvm
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.typed_memory import TypedMemory


class Executor(Protocol):
    """A machine that runs modules."""

    memory: TypedMemory
    distances: dict[int, int]  # of 64 bits, by what stands for them in 32
    thresholds: Mapping[int, int]  # for numbers that tests compare with, what stands for them

    def counts_little(self) -> bool:
        """Whether little counts as much: tests compare with what stands for their numbers."""

    def constant(self, number: int, about: llvm.Type, value: llvm.Value) -> Any:
        """The value of a constant in the module of a number."""

    def call(self, address: Any, arguments: list[Any]) -> Any:
        """The result of the function at an address."""

    def known(self, test: t.Condition) -> bool | None:
        """Whether a condition holds on the way that is gone; None where both ways are run."""

    def never(self, test: t.Truth, why: str) -> None:
        """Where this holds on the way that is gone the text is not defined."""
