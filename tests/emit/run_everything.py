"""Runs every operator of a library in this process: for libraries built with sanitizers.

python -m tests.emit.run_everything FOLDER LIBRARY OPSET
"""

from __future__ import annotations

import sys
from random import Random

import cvmgen
from cvmgen.errors import OperatorError
from tests.conformance.calls import mapped, measured
from tests.conformance.random_calls import DRAW, call
from tests.conformance.wild import UNBOUNDED, wild

CALLS = 30


def main() -> None:
    folder, library, opset = sys.argv[1:]
    operators = cvmgen.load("c", folder=folder, library=library)
    for name in DRAW:
        if not name.startswith(f"{opset}."):
            continue
        print(name, flush=True)  # what a report below belongs to
        random = Random(name)
        for number in range(CALLS):
            drawn = call(name, random)
            declared = [measured(each) for each in drawn.inputs]
            inputs = drawn.inputs
            if number % 2 and name not in UNBOUNDED:
                inputs = tuple(mapped(lambda one: wild(random, one), inputs))
            try:
                operators[name](*inputs, precisions=declared, **drawn.attributes)
            except OperatorError:
                continue


if __name__ == "__main__":
    main()
