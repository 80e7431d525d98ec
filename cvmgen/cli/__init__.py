"""The command `cvmgen`: build, list, show, check, derive, run."""

from cvmgen.cli.command import main

__all__ = ["main"]
