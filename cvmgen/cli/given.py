"""A model as arguments name it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cvmgen.cli.exits import UsageError

if TYPE_CHECKING:
    from cvmgen.graph.plan import ModelSource


@dataclass(frozen=True, slots=True)
class GivenModel:
    """The file of a model, that of its parameters, and the kernels that it is meant for."""

    file: Path
    params: Path | None = None
    rounding: str | None = None

    def source(self) -> ModelSource:
        """The model, read; ModelError where it cannot be."""
        # Imported here: models need much that other commands do not.
        from cvmgen.graph.network import read_model

        return read_model(self.file, self.params, self.rounding)

    def arguments(self) -> list[str]:
        """What names it on a command line."""
        files = [str(each) for each in (self.file, self.params) if each is not None]
        return ["--model", *files, *(["--rounding", self.rounding] if self.rounding else [])]


def given_model(options: argparse.Namespace) -> GivenModel | None:
    """The model of `--model`, if there is one."""
    if options.model is not None:
        file, params = options.model
        return GivenModel(file, params, options.rounding)
    if options.rounding is not None:
        raise UsageError("--rounding goes with --model")
    return None
