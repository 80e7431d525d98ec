"""Sines and cosines that tell a network where in a sequence it is.

    python examples/index_array/positional_encoding.py [--target python]

Channels come in pairs: pair i of position t holds the sine and the cosine of t / 10000^(2i / C).
index_array gives t and i; nothing in positional_encoding asks how long the sequences are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import cvmgen

Array = np.ndarray[Any, Any]
BASE = 10000.0
LEVELS = " .:-=+*#%@"


def positional_encoding(index_array: Callable[..., Array], embeddings: Array) -> Array:
    """The encoding for embeddings T x N x C, C even: an array of their shape."""
    length, batch, channels = embeddings.shape
    template = embeddings.reshape(length, batch, channels // 2, 2)
    places = index_array(template, axes=(0, 2)).astype(np.float32)  # T x N x C/2 x 2 x 2
    position, pair = places[..., 0], places[..., 1]
    angle = position / np.float32(BASE) ** (2 * pair / np.float32(channels))
    encoding = np.stack([np.sin(angle[..., 0]), np.cos(angle[..., 1])], axis=-1)
    return encoding.reshape(embeddings.shape)


def shades(encoding: Array) -> list[str]:
    """A character for each number: blank for -1, `@` for 1."""
    steps = ((encoding + 1) / 2 * (len(LEVELS) - 1)).round().astype(int)
    return ["".join(LEVELS[step] for step in row) for row in steps]


def main() -> None:
    parser = argparse.ArgumentParser(description="The positional encoding of a short sequence.")
    parser.add_argument("--target", default="c", choices=["c", "python", "numpy", "cuda-cpu"])
    ops = cvmgen.load(target=parser.parse_args().target)

    embeddings = np.ones((24, 1, 128), np.float32)
    encoding = positional_encoding(ops.mxnet.index_array, embeddings)
    print("sines from -1 (blank) to 1 (@), positions downwards, pairs of channels to the right:")
    print("\n".join(shades(encoding[:, 0, 0::2])))


if __name__ == "__main__":
    main()
