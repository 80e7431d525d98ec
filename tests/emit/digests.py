"""Prints a digest of the results of calls large enough for several threads, operator by operator.

python -m tests.emit.digests FOLDER LIBRARY
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import load_all

# Shapes of the inputs and attributes; each is beyond what runs on one thread.
ROW = (3, 300, 70)
CALLS: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "cvm.abs": ([ROW], {}),
    "cvm.cvm_right_shift": ([ROW], {"precision": 7, "shift_bit": 3}),
    "cvm.elemwise_add": ([ROW, ROW], {}),
    "cvm.broadcast_add": ([(3, 300, 1), (300, 70)], {}),
    "cvm.broadcast_mul": ([(1, 300, 70), (3, 1, 1)], {}),
    "cvm.broadcast_div": ([(300, 70), (70,)], {}),
    "cvm.sum": ([ROW], {"axes": (1,)}),
    "cvm.max": ([ROW], {"axes": (0, 2), "keepdims": True}),
    "cvm.conv2d": ([(2, 4, 20, 20), (6, 4, 3, 3), (6,)], {"padding": (1, 1)}),
    "cvm.dense": ([(40, 60), (50, 60), (50,)], {}),
    "cvm.max_pool2d": ([(2, 8, 40, 40)], {"pool_size": (3, 2), "padding": (1, 1)}),
    "cvm.upsampling": ([(2, 8, 20, 20)], {"scale": 3}),
    "cvm.flatten": ([ROW], {}),
    "cvm.batch_flatten": ([ROW], {}),
    "cvm.transpose": ([(30, 40, 50)], {"axes": (2, 0, 1)}),
    "cvm.slice_like": ([ROW, (2, 200)], {"axes": (1,)}),
    "cvm.take": ([(40, 50, 60), (9, 3)], {"axis": 1}),
    "cvm.cvm_lut": ([ROW, (10, 9)], {}),
    "cvm.expand_dims": ([ROW], {"axis": 1, "num_newaxis": 3}),
    "cvm.squeeze": ([(3, 1, 300, 70)], {}),
    "cvm.where": ([ROW[:1], ROW, ROW], {}),
    "extra.running_sum": ([(2000,)], {}),
    "extra.depth_to_space": ([(2, 36, 20, 20)], {"block": 3}),
    "extra.histogram": ([ROW], {"bins": 256}),
    "cvm.repeat": ([ROW], {"axis": 2, "repeats": 3}),
    "cvm.tile": ([ROW], {"reps": (2, 1, 2)}),
    "cvm.reshape": ([(3, 300, 700)], {"target_shape": (700, 900)}),
    "cvm.slice": ([(3, 300, 700)], {"begin": (1,)}),
    "extra.reverse": ([(900_000,)], {}),
    "extra.swap_ends": ([(40, 20, 50)], {}),
}


def paths(names: list[str]) -> list[Path]:
    return [Path(name) for name in names]


def main() -> None:
    operators = load_all("c", *paths(sys.argv[1::2]), libraries=paths(sys.argv[2::2]))
    generator = np.random.default_rng(1)
    found = {}
    for name, (shapes, attributes) in CALLS.items():
        inputs = [generator.integers(-100, 100, shape).astype(np.int32) for shape in shapes]
        result = operators[name](*inputs, **attributes)
        found[name] = hashlib.sha256(result.tobytes()).hexdigest()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
