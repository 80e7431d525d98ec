"""The command `cvmgen`: build, list, show, check, run."""

from cvmgen.cli.main import main

__all__ = ["main"]
