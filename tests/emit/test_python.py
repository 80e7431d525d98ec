"""The python target: modules that need numpy alone, with the formula in the docstring."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cvmgen.api.python_backend import by_parameter
from cvmgen.errors import OperatorError
from cvmgen.spec import formula as f
from tests.conformance.calls import Conformance, compare, wanted_dtype
from tests.conformance.random_calls import DRAW, call
from tests.emit.nests import made_by_nests
from tests.operators import sampled, sweeps

# Refuses the import of everything that only generating needs, and of cvmgen itself.
ALONE = """
import sys

FORBIDDEN = {"cvmgen", "jinja2", "lark", "sympy"}


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ImportError(f"{name} must not be needed")


sys.meta_path.insert(0, Refuse())
import numpy as np
import cvm

X = np.array([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]], np.int8)
W = np.array([[[[1, 2], [3, 4]]]], np.int32)
print(cvm.conv2d(X, W).tolist())
print(cvm.sum(X, axes=(3,), keepdims=True).tolist(), cvm.max(X).tolist())
print(cvm.elemwise_add([1, 2], [3, -4], dtype=np.int8))
try:
    cvm.conv2d(X, W, groups=2)
except ValueError as error:
    print(type(error).__name__, error, sep=" | ")
    print(error.argument, error.value, error.rule, sep=" | ")
print(sorted(name for name in sys.modules if name.partition(".")[0] in FORBIDDEN))
"""
PRINTED = """\
[[[[37, 47], [67, 77]]]]
[[[[6], [15], [24]]]] [9]
[ 4 -2]
OperatorError | cvm.conv2d: groups = 2: must be in [1, C] (C = 1)
groups | 2 | must be in [1, C] (C = 1)
[]
"""


def test_a_package_needs_numpy_alone(generated: Path, tmp_path: Path) -> None:
    shutil.copytree(generated / "python" / "cvm", tmp_path / "cvm")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == PRINTED


@pytest.fixture(scope="module")
def packages(
    generated: Path, extra_generated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, ModuleType]]:
    """The packages as a program of somebody else imports them."""
    place = tmp_path_factory.mktemp("packages")
    opsets = [*(generated / "python").iterdir(), extra_generated / "python" / "extra"]
    for folder in opsets:
        shutil.copytree(folder, place / f"alone_{folder.name}")
    sys.path.insert(0, str(place))
    yield {folder.name: importlib.import_module(f"alone_{folder.name}") for folder in opsets}
    sys.path.remove(str(place))


def standalone(packages: dict[str, ModuleType], name: str) -> Any:
    opset, _, operator = name.partition(".")
    return getattr(packages[opset], operator)


@pytest.mark.parametrize("name", sampled(DRAW))
def test_called_alone(conformance: Conformance, packages: dict[str, ModuleType], name: str) -> None:
    """The same results and the same refusals as through cvmgen."""
    random = Random(f"alone {name}")
    operator = standalone(packages, name)
    kind = packages[name.partition(".")[0]]._support.OperatorError
    assert not issubclass(kind, OperatorError)
    for _ in range(10):
        drawn = call(name, random)
        expected = conformance.expected(drawn)
        try:
            found = operator(*drawn.inputs, **by_parameter(drawn.attributes))
        except kind as error:
            message = str(error)
        else:
            compare(found, expected, wanted_dtype(drawn, None), str(drawn))
            message = ""
        assert message == expected.refusal, str(drawn)


@pytest.mark.parametrize("name", sampled(DRAW))
def test_results_written_alone(
    conformance: Conformance, packages: dict[str, ModuleType], name: str
) -> None:
    random = Random(f"alone {name}")
    for _ in range(3):
        drawn = call(name, random)
        expected = conformance.expected(drawn)
        if expected.refusal:
            continue
        outs = tuple(np.asarray(each, order="F") for each in expected.empty_results(np.int32))
        out = outs if len(outs) > 1 else outs[0]
        found = standalone(packages, name)(*drawn.inputs, out=out, **by_parameter(drawn.attributes))
        compare(found, expected, np.int32, str(drawn))
        results = found if isinstance(found, tuple) else (found,)
        assert all(one is other for one, other in zip(results, outs, strict=True))


ONE = np.ones(3, np.int32)
# Operator, inputs, keywords, message: what a caller gets wrong without cvmgen in between.
REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("cvm.abs", [None], {}, "X: this input is missing"),
    ("cvm.abs", [ONE.astype(float)], {}, "X = dtype float64: elements must be int8 or int32"),
    ("cvm.abs", [7], {}, "X = int: a numpy array, or an object with __dlpack__, is needed"),
    ("cvm.cvm_clip", [ONE], {}, "precision: this attribute is missing"),
    ("cvm.cvm_clip", [ONE], {"precision": 2.0}, "precision = 2.0: an integer is needed"),
    ("cvm.sum", [ONE], {"axes": 0}, "axes = 0: a tuple of integers is needed"),
    ("cvm.abs", [ONE], {"precisions": {"Z": 3}}, "precisions = 'Z': inputs are X"),
    ("cvm.abs", [ONE], {"precisions": {"X": 33}}, "X = precision 33: a precision is in [1, 32]"),
    ("cvm.abs", [ONE], {"dtype": np.int16}, "dtype = int16: elements must be int8 or int32"),
    ("cvm.abs", [ONE], {"out": np.zeros(4, np.int32)}, "Y = shape (4,): the shape must be (3,)"),
    ("cvm.abs", [ONE], {"out": np.zeros(3)}, "Y = dtype float64: elements must be int8 or int32"),
    (
        "cvm.abs",
        [ONE * 200],
        {"out": np.zeros(3, np.int8)},
        "Y = int8: int8 does not hold precision 9",
    ),
    ("cvm.abs", [ONE], {"out": ONE}, "Y: it shares memory with X"),
    (
        "cvm.abs",
        [ONE * 9],
        {"precisions": {"X": 4}, "check": "values"},
        "X = 9 at (0,): precision 4 holds [-7, 7]",
    ),
    ("cvm.concatenate", [[]], {"axis": 0}, "I: at least one input is needed"),
    (
        "cvm.concatenate",
        [[ONE, ONE[:0]]],
        {"axis": 0},
        "I[1] = shape (0,): every extent must be at least 1",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "keywords", "message"), REFUSED, ids=lambda each: None)
def test_refused_alone(
    packages: dict[str, ModuleType],
    name: str,
    inputs: list[Any],
    keywords: dict[str, Any],
    message: str,
) -> None:
    kind = packages[name.partition(".")[0]]._support.OperatorError
    with pytest.raises(kind) as caught:
        standalone(packages, name)(*inputs, **keywords)
    assert str(caught.value) == f"{name}: {message}"


def test_precisions_of_several_tensors(packages: dict[str, ModuleType]) -> None:
    concatenate = packages["cvm"].concatenate
    for precisions in ({"I": 3}, {"I": [3, 2]}, {"I": (3, None)}, None):
        found = concatenate([ONE, ONE * 3], axis=0, precisions=precisions)
        assert found.tolist() == [1, 1, 1, 3, 3, 3]


def test_an_alias_alone(packages: dict[str, ModuleType]) -> None:
    assert packages["cvm"].strided_slice is packages["cvm"].slice
    assert "strided_slice" in packages["cvm"].__all__


def test_inference_alone(packages: dict[str, ModuleType]) -> None:
    module = importlib.import_module("alone_cvm.conv2d")
    shapes, precisions = module.infer(
        [(1, 3, 8, 8), (4, 3, 3, 3), None], [8, 8, None], stride=(2, 2)
    )
    assert (shapes, precisions) == (((1, 4, 3, 3),), (21,))


# ---------------------------------------------------------------- the text


def test_docstrings_carry_the_formula(
    packages: dict[str, ModuleType], formulas: dict[str, f.Operator]
) -> None:
    for operator in formulas.values():
        module = importlib.import_module(f"alone_{operator.opset}.{operator.name}")
        doc = module.__doc__ or ""
        assert f" {operator.files}\n" in doc
        for line in operator.text.splitlines():
            assert line.strip() in doc, operator.full_name
        assert (getattr(module, operator.name).__doc__ or "").startswith(operator.doc)


@pytest.mark.parametrize("name", sampled(DRAW))
def test_every_nest_says_where_its_formula_stands(
    generated: Path, extra_generated: Path, formulas: dict[str, f.Operator], name: str
) -> None:
    operator = formulas[name]
    folder = extra_generated if operator.opset == "extra" else generated
    text = (folder / "python" / operator.opset / f"{operator.name}.py").read_text()
    nests = text.split("\ndef _nest_")[1:]
    places = [operator.place(each.span) for each in made_by_nests(operator)]
    found = [place for nest in nests for place in places if f"# {place}: " in nest]
    assert len(found) == len(nests)  # one that tests has the same place
    assert set(found) == set(places)


def test_generated_modules_are_tidy(generated: Path, extra_generated: Path) -> None:
    """Nothing is imported or assigned and never used; ruff knows."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    for folder in (generated, extra_generated):
        command = [ruff, "check", "--isolated", "--no-cache", "--select", "F,E9,W", "--quiet"]
        done = subprocess.run(
            [*command, folder / "python"], capture_output=True, text=True, check=False
        )
        assert done.stdout == ""


def test_lists_as_operands(packages: dict[str, ModuleType]) -> None:
    found = packages["cvm"].broadcast_add([[1], [2]], [[10, 20]])
    assert found.dtype == np.int32
    assert found.tolist() == [[11, 21], [12, 22]]


@pytest.mark.parametrize("names", sweeps(DRAW))
def test_operands_are_left_alone(
    conformance: Conformance, packages: dict[str, ModuleType], names: list[str]
) -> None:
    for name in names:
        drawn = call(name, Random(name))
        if conformance.expected(drawn).refusal:
            continue
        before = pickle.dumps(drawn.inputs)
        standalone(packages, name)(*drawn.inputs, **by_parameter(drawn.attributes))
        assert pickle.dumps(drawn.inputs) == before
