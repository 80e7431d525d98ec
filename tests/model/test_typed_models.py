"""Models whose elements have types of their own, as C: what their interpreter gave, to the bit.

The samples are those of the networks, of which they are one library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.build import write_changed
from cvmgen.errors import ModelError
from cvmgen.graph import CompiledModel, load_model
from cvmgen.graph.network import Network
from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import Plan, PlannedTensor, PlanState, PlanStep, placed
from cvmgen.model.build import make_files
from tests.graph.test_tflite import SAMPLES, STREAM, arrays, model_of
from tests.model.byte_models import ByteModel
from tests.model.invented import for_small_models

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def folder(libraries: dict[str, Operators], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all samples."""
    files: dict[str, str] = {}
    for at, sample in enumerate(SAMPLES):
        model, python = model_of(sample), libraries["python"]
        files |= make_files(model, None, f"m{at}", python, for_small_models()).all()
    place = tmp_path_factory.mktemp("models")
    write_changed(place, files)
    return place


def same_as_stored(model: CompiledModel, sample: str) -> None:
    wanted = zip(*arrays(sample, "out"), strict=True)
    for given, expected in zip(zip(*arrays(sample, "in"), strict=True), wanted, strict=True):
        found = model(*given)
        results = found if isinstance(found, tuple) else (found,)
        for one, other in zip(results, expected, strict=True):
            assert one.dtype == other.dtype, sample
            assert one.tobytes() == other.tobytes(), sample


@pytest.mark.parametrize("threads", [1, 2])
def test_models_give_what_their_interpreter_gives(folder: Path, threads: int) -> None:
    for at, sample in enumerate(SAMPLES):
        same_as_stored(load_model(folder, f"m{at}", threads=threads), sample)


def test_states_live_on_and_begin_again(folder: Path) -> None:
    model = load_model(folder, f"m{SAMPLES.index(STREAM)}")
    assert (model.states, model.input_names) == (("ring",), ("frame",))
    assert model.output_dtypes == (np.int8, np.uint8)
    same_as_stored(model, STREAM)
    with pytest.raises(AssertionError):
        same_as_stored(model, STREAM)
    model.reset()
    same_as_stored(model, STREAM)
    with pytest.raises(ModelError, match="input frame: must hold elements of int8, not of int64"):
        model(np.zeros((1, 1, 4), np.int64))
    with pytest.raises(ModelError, match="takes 1 inputs, not 2"):
        model(1, 2)


# ---------------------------------------------------------------- plans of any opset


@dataclass(frozen=True)
class Made:
    """A model that is a plan already."""

    made: Plan
    file: str | None = "made"

    def plan(self, operators: OperatorLibrary) -> Plan:
        return self.made


def plan(
    tensors: list[tuple[tuple[int, ...], str]],
    steps: list[tuple[Any, ...]],
    heads: tuple[int, ...],
    **more: Any,
) -> Plan:
    """A plan of tflite, of which the first tensor is what it is given."""
    found = tuple(
        PlannedTensor(f"n{at}", shape, None, np.dtype(kind))
        for at, (shape, kind) in enumerate(tensors)
    )
    made = tuple(
        PlanStep(f"n{each[2][0]}", each[0], tuple(each[3].items()), each[1], each[2])
        for each in steps
    )
    layout = placed(found, made, heads, (0,))
    return Plan(found, (0,), made, heads, layout, {"data": 0}, **{"opset": "tflite"} | more)


def rows(kind: str, *values: float) -> Array:
    return np.array(values, kind)


REFUSED: list[tuple[Plan, str, str]] = [
    (
        plan(
            [((4,), "int32"), ((4,), "int8"), ((4,), "int8")],
            [("gather", (1, 0), (2,), {"axis": 0})],
            (2,),
            constants={1: rows("int8", 1, 2, 3, 4)},
        ),
        "made: node n2: a model cannot have this operator: each index must lie in the axis",
        "indices that are not known",
    ),
    (
        plan(
            [((4,), "int8"), ((2,), "int32"), ((2,), "int8")],
            [("gather", (0, 1), (2,), {"axis": 0})],
            (2,),
            constants={1: rows("int32", 1, 4)},
        ),
        "each index must lie in the axis",
        "an index that is outside",
    ),
]


@pytest.mark.parametrize(("made", "told", "why"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_what_only_runs_find_out_is_refused(
    libraries: dict[str, Operators], made: Plan, told: str, why: str
) -> None:
    with pytest.raises(ModelError) as error:
        make_files(Made(made), None, "made", libraries["python"])
    assert told in str(error.value)


def swapped() -> Plan:
    """Two states that exchange what they hold, and one that stays as it is."""
    made = plan(
        [((3,), "int8"), ((3,), "int8"), ((3,), "int8"), ((3,), "int8"), ((3,), "int8")],
        [("maximum", (0, 1), (4,), {})],
        (4, 2, 3),
    )
    ends = [(1, 2, 5), (2, 1, 7), (3, 3, 9)]
    states = tuple(
        PlanState(f"s{read}", read, written, rows("int8", first, first, -first))
        for read, written, first in ends
    )
    return replace(made, states=states)


def moved() -> Plan:
    """Real numbers and conditions that are only moved, one of them by a constant."""
    return plan(
        [((2,), "float32"), ((1,), "float32"), ((4,), "float32"), ((2, 2), "float32")],
        [
            ("pad", (0, 1), (2,), {"before": (1,), "after": (1,)}),
            ("reshape", (2,), (3,), {"target_shape": (2, 2)}),
        ],
        (3, 0),
        constants={1: rows("float32", -0.0)},
    )


def signed_zeros() -> Plan:
    """A parameter whose elements are equal, and are two numbers."""
    return plan(
        [((2,), "float32"), ((2,), "float32"), ((2,), "float32")],
        [("mul", (0, 1), (2,), {})],
        (2, 0),
        constants={1: rows("float32", 0.0, -0.0)},
        opset="onnx",
    )


def rounded() -> Plan:
    """A product that is rounded to 32 bits before something is subtracted, also where that is no
    number."""
    return plan(
        [((3,), "float32")] * 5,
        [("mul", (0, 1), (2,), {}), ("sub", (2, 3), (4,), {})],
        (4, 0),
        constants={
            1: rows("float32", 1 + 2**-23, np.inf, -np.inf),
            3: rows("float32", 1 + 2**-22, 1, np.nan),
        },
        opset="onnx",
    )


LEFT, RIGHT = np.arange(-6, 6, dtype=np.float32), np.arange(20, 32, dtype=np.float32)
LEFT, RIGHT = LEFT.reshape(4, 3), RIGHT.reshape(4, 3)
BOUND = rows("float32", 3e38, 1, -1)


def chosen() -> Plan:
    """Rows of three elements, of which some are read."""
    return plan(
        [((4, 3), "float32"), ((3,), "float32"), ((4, 3), "bool")] + [((4, 3), "float32")] * 2,
        [("less", (0, 1), (2,), {}), ("where", (2, 0, 3), (4,), {})],
        (4, 0),
        constants={1: BOUND, 3: RIGHT},
        opset="onnx",
    )


PLANS: list[tuple[Callable[[], Plan], list[Array], list[list[Array]], str]] = [
    (
        swapped,
        [rows("int8", 6, 0, 0)] * 2,
        [
            [rows("int8", 6, 5, 0), rows("int8", 7, 7, -7), rows("int8", 9, 9, -9)],
            [rows("int8", 7, 7, 0), rows("int8", 5, 5, -5), rows("int8", 9, 9, -9)],
        ],
        "states exchange what they hold",
    ),
    (
        moved,
        [rows("float32", np.nan, -0.0)],
        [[rows("float32", -0.0, np.nan, -0.0, -0.0).reshape(2, 2), rows("float32", np.nan, -0.0)]],
        "real numbers",
    ),
    (
        signed_zeros,
        [rows("float32", 1, 1)],
        [[rows("float32", 0.0, -0.0), rows("float32", 1, 1)]],
        "zeros of both signs",
    ),
    (
        rounded,
        [rows("float32", 1 + 2**-23, 1, 1)],
        [[rows("float32", 0.0, np.inf, np.nan), rows("float32", 1 + 2**-23, 1, 1)]],
        "each operation rounds",
    ),
    (
        chosen,
        [LEFT],
        [[np.where(LEFT < BOUND, LEFT, RIGHT), LEFT]],
        "rows of three choose",
    ),
]


@pytest.mark.parametrize(("draw", "calls", "wanted", "why"), PLANS, ids=[row[-1] for row in PLANS])
def test_a_plan(
    libraries: dict[str, Operators],
    tmp_path: Path,
    draw: Callable[[], Plan],
    calls: list[Array],
    wanted: list[list[Array]],
    why: str,
) -> None:
    write_changed(tmp_path, make_files(Made(draw()), None, "made", libraries["python"]).all())
    model = load_model(tmp_path)
    for given, expected in zip(calls, wanted, strict=True):
        assert [each.tobytes() for each in model(given)] == [each.tobytes() for each in expected]


def test_tiles_of_bytes_with_and_without_a_sign(
    libraries: dict[str, Operators], tmp_path: Path
) -> None:
    """All but one of the convolutions: a border has one value."""
    files = make_files(ByteModel(), None, "bytes", libraries["python"], for_small_models())
    write_changed(tmp_path, files.all())
    assert (tmp_path / "bytes.c").read_text().count("cvmgen_run_tile(") == 4
    model, network = load_model(tmp_path), Network(ByteModel(), libraries["numpy"])
    random = np.random.default_rng(4)
    shape = model.input_shape
    for given in (
        random.integers(0, 256, shape, np.uint8),
        random.choice(np.array([0, 255], np.uint8), shape),
        np.full(shape, 255, np.uint8),
    ):
        for one, other in zip(model(given), network(given), strict=True):
            assert one.tobytes() == other.tobytes()
            assert len(np.unique(one)) > 1
