"""Runs every operator of a library in this process: for libraries built with sanitizers.

python -m tests.emit.run_everything FOLDER LIBRARY
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from random import Random

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import OperatorError
from tests.conformance.calls import declared, mapped
from tests.conformance.random_calls import call
from tests.conformance.wild import UNBOUNDED, wild

CALLS = 30


def main() -> None:
    folder, library = map(Path, sys.argv[1:])
    operators = cvmgen.load("c", folder=folder, library=library)
    for info in read_manifest(folder).operators:
        name = info.full_name
        print(name, flush=True)  # what a report below belongs to
        run(operators[name], name, Random(name))


def run(operator: Operator, name: str, random: Random) -> None:
    """Calls with data that keep their precision and, in turn, with data that do not."""
    for number in range(CALLS):
        drawn = call(name, random)
        precisions = declared(operator, drawn.inputs)
        inputs = list(drawn.inputs)
        if number % 2 and name not in UNBOUNDED:
            inputs = mapped(lambda one: wild(random, one), inputs)
        with contextlib.suppress(OperatorError):
            operator(*inputs, precisions=precisions, **drawn.attributes)


if __name__ == "__main__":
    main()
