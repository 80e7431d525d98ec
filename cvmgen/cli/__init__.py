"""The command `cvmgen`: build, list, show, check, run."""

from cvmgen.cli.command import main

__all__ = ["main"]
