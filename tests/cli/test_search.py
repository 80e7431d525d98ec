"""`cvmgen list --search`: operators by the names that other libraries have for them."""

from __future__ import annotations

import pytest

from cvmgen.cli.search import matches
from cvmgen.cli.synonyms import SYNONYMS, compared_word
from tests.operators import product

from .conftest import Command

FOUND = (
    (("gather",), "cvm.take", "ONNX and TensorFlow"),
    (("Gather",), "cvm.take", "case does not count"),
    (("index_select",), "cvm.take", "PyTorch"),
    (("embedding",), "cvm.take", "of a table of rows"),
    (("torch.permute",), "cvm.transpose", "of a dotted name the last part counts"),
    (("permute",), "cvm.transpose", "PyTorch"),
    (("swapaxes",), "cvm.transpose", "NumPy"),
    (("unsqueeze",), "cvm.expand_dims", "PyTorch"),
    (("nms",), "cvm.non_max_suppression", "short for it"),
    (("NonMaxSuppression",), "cvm.non_max_suppression", "our name in another spelling"),
    (("matmul",), "cvm.dense", "NumPy"),
    (("Gemm",), "cvm.dense", "ONNX"),
    (("fully", "connected"), "cvm.dense", "words that make one name"),
    (("ReduceSum",), "cvm.sum", "ONNX"),
    (("Resize",), "cvm.upsampling", "ONNX"),
    (("hstack",), "cvm.concatenate", "NumPy"),
    (("clamp",), "cvm.clip", "PyTorch"),
    (("strided_slice",), "cvm.slice", "an alias"),
    (("cvm.relu",), "cvm.relu", "the full name"),
    (("pool2d",), "cvm.max_pool2d", "a part of the name"),
    (("window",), "cvm.max_pool2d", "a word of what is said of it"),
    (("boxes", "score"), "cvm.non_max_suppression", "several words of it"),
    (("meshgrid",), "mxnet.index_array", "NumPy"),
    (("ConvTranspose",), "systemml.conv2d_backward_data", "ONNX"),
    (("ReduceProd",), "tosa.reduce_product", "ONNX"),
    (("FloorDiv",), "systemml.intdiv", "TensorFlow"),
    (("float_power",), "systemml.pow", "NumPy"),
    (("AveragePool",), "systemml.avg_pool", "ONNX"),
    (("logical_or",), "tosa.reduce_any", "NumPy"),
    (("tranpose",), "cvm.transpose", "a letter is missing"),
    (("convolutoin",), "cvm.conv2d", "letters are exchanged"),
)


@pytest.mark.parametrize(("words", "name", "why"), FOUND)
def test_finds(words: tuple[str, ...], name: str, why: str) -> None:
    assert name in [each.operator.full_name for each in matches(product(), words)], why


def test_the_likeliest_comes_first(cvmgen: Command) -> None:
    found = cvmgen("list", "--json", "--search", "max").json["operators"]
    assert found[0] == {
        "name": "cvm.max",
        "doc": "Maximum over the given axes.",
        "by": "name",
        "word": "max",
    }
    assert {"cvm.max_pool2d", "cvm.broadcast_max"} <= {each["name"] for each in found[1:]}


def test_says_by_which_word(cvmgen: Command) -> None:
    outcome = cvmgen("list", "--search", "index_select")
    assert outcome.out.startswith("cvm.take  ")
    assert outcome.out.endswith("(elsewhere: index_select)\n")


def test_nothing_found(cvmgen: Command) -> None:
    outcome = cvmgen("list", "--search", "quaternion", "fft")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == ("no operator is known as 'quaternion fft'; `cvmgen list` names all\n")
    assert cvmgen("list", "--json", "--search", "fft").json == {"operators": []}


@pytest.mark.parametrize("option", [("--markdown",), ("--into", "FILE"), ("--check",)])
def test_search_stands_alone(cvmgen: Command, option: tuple[str, ...]) -> None:
    outcome = cvmgen("list", *option, "--search", "gather")
    assert outcome.code == 2
    assert "--search goes with --json alone" in outcome.err


def test_synonyms_are_of_operators_that_there_are() -> None:
    names = {each.full_name for each in product()}
    assert set(SYNONYMS) == names, "each operator has other names, and no other has"


@pytest.mark.parametrize("name", SYNONYMS)
def test_synonyms_say_something_new(name: str) -> None:
    words = [compared_word(word) for word in SYNONYMS[name]]
    assert all(words)
    assert len(set(words)) == len(words)
    assert compared_word(name.partition(".")[2]) not in words
