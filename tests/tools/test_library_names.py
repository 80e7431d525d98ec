"""What operators are called in other libraries."""

from __future__ import annotations

from functools import reduce

import numpy as np

from tests.operators import product
from tools.library_names import LIBRARIES, LIBRARY_NAMES, library_names


def test_names_are_of_operators_and_of_libraries() -> None:
    assert {each.full_name for each in product()} >= LIBRARY_NAMES.keys()
    names = {each for several in LIBRARY_NAMES.values() for each in several}
    assert {each.partition(".")[0] for each in names} == LIBRARIES.keys()
    for each in names:
        library, *path = each.split(".")
        assert library != "numpy" or callable(reduce(getattr, path, np)), each


def test_each_name_stands_behind_its_library() -> None:
    told = library_names("cvm.clip")
    assert told == (
        "NumPy `numpy.clip`, PyTorch `torch.clamp`, TensorFlow `tf.clip_by_value`, ONNX `Clip`"
    )
    assert library_names("cvm.cvm_precision") == ""
