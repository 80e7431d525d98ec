"""Operators, networks, results and errors that are copied and sent to other processes."""

from __future__ import annotations

import copy
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen import rules
from cvmgen.api.calls import result_type
from cvmgen.api.driver import DriverError
from cvmgen.api.library import _load, _loaded
from cvmgen.cli.exits import UsageError
from cvmgen.errors import CacheError, InternalError, RefusedError
from cvmgen.source import Source, Span, SpecError, SpecErrors, SpecWarning
from tests.api.sent import called, failed, in_threads, mapped
from tests.targets import whole

SPAN = Span(Source("a.cvm", "one\ntwo\n", "there/a.cvm"), 4, 7)
SPEC_ERROR = SpecError(SPAN, "no", "try")
COPIES = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
METHODS = ["fork", "spawn"]
TARGETS = ["c", "python", "numpy"]

ERRORS = [
    cvmgen.CvmgenError("a"),
    cvmgen.OperatorError("cvm.dense", "X", "3", "no"),
    rules.OperatorError("cvm.dense", "", "", "no"),
    cvmgen.ModelError("no", file="a.json", where="node 3"),
    cvmgen.BuildError("cc refuses a.c"),
    RefusedError({"a.c": cvmgen.BuildError("a"), "b.c": cvmgen.BuildError("b")}),
    CacheError("full"),
    DriverError("gone", 719),
    UsageError("what?"),
    InternalError("ours"),
    SPEC_ERROR,
    SpecErrors([SPEC_ERROR]),
]


@pytest.fixture(scope="module")
def loaded(generated: Path) -> dict[str, Any]:
    return {target: cvmgen.load(target, folder=generated) for target in TARGETS}


@pytest.mark.parametrize("make", COPIES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_are_the_same_elsewhere(error: Exception, make: Any) -> None:
    found = make(error)
    assert type(found) is type(error)
    assert (str(found), found.args) == (str(error), error.args)
    shown = {name: repr(value) for name, value in vars(error).items()}
    assert {name: repr(value) for name, value in vars(found).items()} == shown


def test_what_is_no_error_in_the_spec_either() -> None:
    warning = SpecWarning(SPAN, "hm")
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)


@pytest.mark.parametrize("method", METHODS)
def test_an_error_comes_back_from_a_pool(method: str) -> None:
    for error in (ERRORS[1], ERRORS[3], SPEC_ERROR):
        with pytest.raises(type(error)) as caught:
            mapped(method, failed, [error])
        assert str(caught.value) == str(error)


@pytest.mark.parametrize("target", TARGETS)
def test_in_its_own_process_an_operator_stays_itself(loaded: Any, target: str) -> None:
    ops = loaded[target]
    for make in COPIES:
        assert make(ops) is ops
        assert make(ops.cvm) is ops.cvm
        assert make(ops.cvm.dense) is ops.cvm.dense


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", TARGETS)
def test_operators_in_a_pool(loaded: Any, target: str, method: str) -> None:
    ops = loaded[target].cvm
    X = np.array([-3, 0, 5], np.int8)
    boxes = np.array([[[0, 9, 1, 1, 2, 2], [0, 1, 1, 1, 2, 2]]], np.int32)
    calls = [(ops.abs, X), (ops.relu, X), (ops.get_valid_count, boxes)]
    absolute, positive, valid = mapped(method, called, calls)
    assert (absolute.tolist(), positive.tolist()) == ([3, 0, 5], [0, 0, 5])
    assert type(valid).__name__ == "get_valid_count_result"
    assert valid._fields == ops.get_valid_count.outputs
    with pytest.raises(cvmgen.OperatorError, match=r"cvm\.abs: X = dtype int64: ") as caught:
        mapped(method, called, [(ops.abs, np.zeros(3, np.int64))])
    assert caught.value.operator == "cvm.abs"


@pytest.mark.parametrize("method", METHODS)
def test_threads_of_the_library_in_a_pool(loaded: Any, method: str) -> None:
    ops = loaded["c"]
    in_threads(ops.cvm.abs)  # the library has threads of its own here already
    found = mapped(method, in_threads, [ops.cvm.abs] * 3)
    expected = np.abs(np.arange(-5, 5)).tolist()
    assert [each.tolist() for pair in found for each in pair] == [expected] * 6


def test_results_have_one_type(loaded: Any) -> None:
    first = loaded["numpy"].cvm.get_valid_count
    second = loaded["python"].cvm.get_valid_count
    boxes = np.zeros((1, 2, 6), np.int32)
    assert type(first(boxes)) is type(second(boxes))
    pair = result_type("pair_result", ("a", "b"))(1, 2)
    for make in COPIES:
        assert make(pair) == pair
        assert make(pair)._fields == ("a", "b")


def test_bound_calls_say_that_they_stay_here(loaded: Any) -> None:
    X = np.zeros((2, 3), np.int8)
    for ops in loaded.values():
        whole = ops.cvm.abs.bind(X, out=np.zeros((2, 3), np.int32))
        layer = ops.cvm.dense.bind((2, 3), W=X, precisions={"X": 8})
        for make in COPIES:
            for call in (whole, layer):
                with pytest.raises(TypeError, match="cannot be copied or sent; bind the operator"):
                    make(call)


def forget() -> None:
    """As in another process."""
    _loaded.clear()
    _load.cache_clear()


@pytest.mark.parametrize("target", ["python", "c"])
def test_other_files_are_refused(generated: Path, tmp_path: Path, target: str) -> None:
    folder = tmp_path / "generated"
    folder.mkdir()
    shutil.copytree(generated / target, folder / target)
    shutil.copy(generated / "manifest.json", folder)
    shutil.copy(generated / ".cvmgen-files", folder)
    sent = pickle.dumps(cvmgen.load(target, folder=folder).cvm.abs)
    forget()
    assert pickle.loads(sent)(np.array([-1], np.int8)).tolist() == [1]
    path = next((folder / target / "cvm").glob("abs.*"))
    path.write_text(path.read_text() + "\n")
    forget()
    with pytest.raises(cvmgen.CvmgenError, match="not what it was when its operators were sent"):
        pickle.loads(sent)
    shutil.rmtree(folder)
    with pytest.raises(cvmgen.CvmgenError, match="no generated operators here"):
        pickle.loads(sent)


def test_another_library_is_refused(generated: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.so"
    shutil.copy(whole(generated), mine)
    sent = pickle.dumps(cvmgen.load("c", folder=generated, library=mine).cvm.abs)
    forget()
    assert pickle.loads(sent)(np.array([-1], np.int8)).tolist() == [1]
    forget()
    other = tmp_path / "other.so"
    other.write_bytes(mine.read_bytes() + b"\0")
    other.replace(mine)
    with pytest.raises(cvmgen.CvmgenError, match=r"mine\.so: not what it was"):
        pickle.loads(sent)
