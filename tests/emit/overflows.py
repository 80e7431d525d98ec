"""Prints the refusals of calls whose results do not fit at many places, large enough for threads.

python -m tests.emit.overflows FOLDER LIBRARY
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import cvmgen
from cvmgen.errors import OperatorError

Array = np.ndarray[Any, Any]
SHAPE = (150, 200)  # beyond what runs on one thread
FIRST = 12345  # of the places that do not fit
PLACES = (FIRST, FIRST + 1, 17000, 29998, 29999)


def scattered(dtype: str, large: int) -> Array:
    """Zeros, and large values at these places."""
    found = np.zeros(SHAPE, dtype)
    found.reshape(-1)[list(PLACES)] = large
    return found


def rows(dtype: str, large: int) -> Array:
    """Rows of which two elements of some together are too large."""
    found = np.zeros((1500, 40), dtype)
    found[[1234, 1235, 1499], 3] = large
    found[[1234, 1235, 1499], 39] = large
    return found


# Operator, inputs, and the output with its element that is named.
CALLS: dict[str, tuple[str, list[Array], str]] = {
    "int8": (
        "extra.narrowed",
        [np.zeros(SHAPE, np.int8), scattered("int16", 43)],
        f"element ({FIRST // 200}, {FIRST % 200}) does not fit int8",
    ),
    "int32": (
        "extra.narrowed",
        [np.zeros(SHAPE, np.int32), scattered("int64", -(2**30))],
        f"element ({FIRST // 200}, {FIRST % 200}) does not fit int32",
    ),
    "int64": (
        "extra.narrowed",
        [scattered("int64", 2**63 - 1), scattered("int64", 1)],
        f"element ({FIRST // 200}, {FIRST % 200}) does not fit int64",
    ),
    "sums": (
        "extra.exact_totals",
        [rows("int64", -(2**63))],
        "element (1234,) does not fit int64",
    ),
    "running": (
        "extra.running_sums",
        [np.full(2000, 20, np.int16)],
        "element (1638,) does not fit int16",
    ),
}


def refusals(call: Callable[..., Any]) -> dict[str, str]:
    """What each call is refused for; `call` takes the name of an operator and its inputs."""
    found = {}
    for key, (name, inputs, _) in CALLS.items():
        try:
            call(name, *inputs)
        except OperatorError as error:
            found[key] = str(error)
    return found


def main() -> None:
    folder, library = sys.argv[1:]
    operators = cvmgen.load("c", folder=folder, library=library)
    print(json.dumps(refusals(lambda name, *inputs: operators[name](*inputs))))


if __name__ == "__main__":
    main()
