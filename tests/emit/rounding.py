"""Prints what a library makes of data whose sums depend on their order and on each rounding.

python -m tests.emit.rounding FOLDER LIBRARY
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import cvmgen

TERMS = 131
Array = np.ndarray[Any, Any]


def ragged(rows: int, dtype: str) -> Array:
    """Numbers of many magnitudes: another order, or one rounding less, gives other bits."""
    generator = np.random.default_rng(rows)
    exponents = generator.integers(-20, 20, (rows, TERMS))
    return (generator.normal(size=(rows, TERMS)) * 2.0**exponents).astype(dtype)


def operands(dtype: str) -> dict[str, list[Array]]:
    """The inputs of each operator that adds up."""
    A, B, C = ragged(7, dtype), ragged(5, dtype), ragged(3, dtype)
    return {
        "extra.exact_totals": [A],
        "extra.running_sums": [A[0]],
        "extra.dot_products": [A, B],
        "extra.distances": [A, B],
        "extra.product_and_sum": [A[:3], B[:3], C],
        "extra.products": [(1 + A[0] / 2.0**30).astype(dtype)],
    }


CALLS = {
    f"{name} {dtype}": (name, inputs)
    for dtype in ("float64", "float32")
    for name, inputs in operands(dtype).items()
}


def results(call: Callable[..., Any]) -> dict[str, str]:
    """The bits of each result; `call` takes the name of an operator and its inputs."""
    return {key: call(name, *inputs).tobytes().hex() for key, (name, inputs) in CALLS.items()}


def main() -> None:
    folder, library = sys.argv[1:]
    operators = cvmgen.load("c", folder=folder, library=library)
    print(json.dumps(results(lambda name, *inputs: operators[name](*inputs))))


if __name__ == "__main__":
    main()
