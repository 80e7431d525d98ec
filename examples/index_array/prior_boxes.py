"""Prior boxes of a detector: one around each place of a feature map, in pixels of the image.

    python examples/index_array/prior_boxes.py [--target python]

The boxes follow from the shape of the feature map alone, which index_array turns into places;
nothing in prior_boxes asks how large it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cvmgen

Array = np.ndarray[Any, Any]


def prior_boxes(
    index_array: Callable[..., Array],
    feature_map: Array,
    stride: float,
    size: Sequence[float],
) -> Array:
    """Boxes for a feature map N x H x W x C: N x H x W x 4, each (top, left, bottom, right).

    stride: pixels from place to place; size: height and width of a box
    """
    template = feature_map[..., 0]  # N x H x W
    centres = index_array(template, axes=(-2, -1, -2, -1)).astype(np.float32) * np.float32(stride)
    half = np.array(size, np.float32) / 2
    return centres + np.concatenate([-half, half])


def main() -> None:
    parser = argparse.ArgumentParser(description="Prior boxes for a small feature map.")
    parser.add_argument("--target", default="c", choices=["c", "python", "numpy", "cuda-cpu"])
    ops = cvmgen.load(target=parser.parse_args().target)

    feature_map = np.ones((1, 3, 4, 256), np.float32)
    boxes = prior_boxes(ops.mxnet.index_array, feature_map, stride=16, size=(8, 8))
    rows, columns = boxes.shape[1:3]
    print(f"{rows} x {columns} places, 16 pixels apart; boxes of 8 x 8 pixels around them:")
    for row in boxes[0]:
        print("   ".join("({:3g}, {:3g}, {:3g}, {:3g})".format(*box) for box in row))


if __name__ == "__main__":
    main()
