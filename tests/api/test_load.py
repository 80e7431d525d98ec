"""Loading: targets, folders, names, and what loading must not need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.library import TARGETS as KNOWN
from cvmgen.errors import BuildError, CvmgenError
from tests.targets import TARGETS, missing_gpu, quickly, whole

ROOT = Path(__file__).resolve().parents[2]


def test_an_unknown_target() -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("rust")
    assert (
        str(caught.value) == "unknown target 'rust'; targets are c, python, numpy, cuda, cuda-cpu"
    )


@pytest.mark.parametrize("target", KNOWN)
def test_targets_that_load(target: str, generated: Path) -> None:
    if target == "cuda" and (reason := missing_gpu()):
        with pytest.raises(CvmgenError) as caught:
            cvmgen.load(target, folder=generated)
        assert str(caught.value) == reason
        return
    assert cvmgen.load(target, folder=generated).target == target


def test_a_folder_without_operators(tmp_path: Path) -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("c", folder=tmp_path)
    manifest = tmp_path / "manifest.json"
    assert str(caught.value) == f"{manifest}: no generated operators here; run 'cvmgen build'"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"operators": 3, "limits": {}}', "\x00"])
def test_a_damaged_manifest(tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(text)
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("c", folder=tmp_path)
    assert str(caught.value).startswith(f"{manifest}: ")


@pytest.mark.parametrize("target", TARGETS)
def test_a_folder_without_the_target(generated: Path, tmp_path: Path, target: str) -> None:
    shutil.copy(generated / "manifest.json", tmp_path)
    with pytest.raises(CvmgenError, match="run 'cvmgen build'"):
        cvmgen.load(target, folder=tmp_path)


def test_a_missing_source(generated: Path, tmp_path: Path) -> None:
    shutil.copytree(generated, tmp_path / "generated")
    shutil.rmtree(tmp_path / "generated" / "c")
    operators = cvmgen.load("python", folder=tmp_path / "generated")
    path = tmp_path / "generated" / "c" / "cvm" / "abs.c"
    with pytest.raises(CvmgenError) as caught:
        operators.cvm.abs.source("c")
    assert str(caught.value) == f"{path}: No such file or directory; run 'cvmgen build'"


def test_a_library_built_before(generated: Path) -> None:
    library = whole(generated)
    operators = cvmgen.load("c", folder=str(generated), library=str(library))
    assert operators.cvm.abs(np.array([-3], np.int8)).tolist() == [3]


def test_a_library_that_is_none(generated: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    for path in (broken, tmp_path / "missing.so"):
        with pytest.raises(CvmgenError) as caught:
            cvmgen.load("c", folder=generated, library=path)
        assert str(path) in str(caught.value)


def test_a_library_of_other_operators(generated: Path, extra_generated: Path) -> None:
    library = quickly(extra_generated, "c")
    operators = cvmgen.load("c", folder=generated, library=library)
    with pytest.raises(CvmgenError, match="cvm_abs"):
        operators.cvm.abs(np.array([-3], np.int8))


def test_no_compiler(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler"):
        cvmgen.load("c", folder=generated)
    operators = cvmgen.load("python", folder=generated)
    assert operators.cvm.abs([-3]).tolist() == [3]


def test_two_folders_side_by_side(generated: Path, tmp_path: Path) -> None:
    """Two loaded folders do not disturb each other, though their packages have one name."""
    shutil.copytree(generated, tmp_path / "other")
    module = tmp_path / "other" / "python" / "cvm" / "relu.py"
    module.write_text(module.read_text().replace("max(0, X[d])", "max(1, X[d])"))
    first = cvmgen.load("python", folder=generated)
    second = cvmgen.load("python", folder=tmp_path / "other")
    X = np.array([-1, 5], np.int32)
    assert second.cvm.relu(X).tolist() == [1, 5]
    assert first.cvm.relu(X).tolist() == [0, 5]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("target", TARGETS)
def test_misspelt_names(libraries: dict[str, Operators], target: str) -> None:
    ops = libraries[target]
    with pytest.raises(AttributeError) as caught:
        ops.cvm.conv2  # noqa: B018
    message = "the opset cvm has no operator 'conv2'; did you mean 'conv2d'?"
    assert str(caught.value) == message
    with pytest.raises(AttributeError) as caught:
        ops.cmv  # noqa: B018
    assert str(caught.value) == "there is no opset 'cmv'; did you mean 'cvm'?"
    with pytest.raises(AttributeError) as caught:
        ops.cvm.qqqqqq  # noqa: B018
    assert str(caught.value) == "the opset cvm has no operator 'qqqqqq'"
    with pytest.raises(KeyError) as missing:
        ops["cvm.conv2"]
    assert missing.value.args == (message,)
    with pytest.raises(AttributeError):
        ops.cvm.slize  # noqa: B018


def test_what_is_there(libraries: dict[str, Operators]) -> None:
    ops = libraries["c"]
    assert ops.target == "c"
    assert dir(ops) == ["cvm", "extra", "mxnet", "onnx", "systemml", "tflite", "tosa"]
    assert "conv2d" in dir(ops.cvm)
    assert {"slice", "strided_slice"} <= set(dir(ops.cvm))
    assert len(ops.cvm) == len(list(ops.cvm))
    assert [each.name for each in ops] == [
        each.name
        for opset in (ops.cvm, ops.mxnet, ops.onnx, ops.systemml, ops.tflite, ops.tosa, ops.extra)
        for each in opset
    ]
    assert ops["cvm.abs"] is ops.cvm.abs
    assert ops.cvm.strided_slice is ops.cvm.slice
    assert (
        repr(ops)
        == "<operators of cvm, mxnet, onnx, systemml, tflite, tosa, extra on the target c>"
    )
    assert repr(ops.extra) == f"<opset extra: {len(ops.extra)} operators>"


# ---------------------------------------------------------------- what is not imported

FIRST_CALL = """
import json, sys
import cvmgen
imported = sorted({name.partition(".")[0] for name in sys.modules})
import numpy as np
ops = cvmgen.load(sys.argv[1], folder=sys.argv[2], library=sys.argv[3] or None)
X = np.arange(9, dtype=np.int32).reshape(1, 1, 3, 3)
Y = ops.cvm.conv2d(X, X[:, :, :2, :2], padding=(1, 1))
ops.cvm.conv2d.infer([X.shape, X.shape], [8, 8])
called = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps([imported, called, Y.shape]))
"""


@pytest.mark.parametrize("target", TARGETS)
def test_calling_needs_no_generator(generated: Path, target: str) -> None:
    library = str(quickly(generated, target)) if target == "cuda-cpu" else ""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_CALL, target, generated, library],
        cwd=generated,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    imported, called, shape = json.loads(done.stdout)
    for name in ("sympy", "lark", "jinja2"):
        assert name not in imported
        assert name not in called
    assert shape == [1, 1, 4, 4]
