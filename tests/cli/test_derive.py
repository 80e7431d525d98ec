"""`cvmgen derive`: adjoints as text, and what is told when there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen import load
from cvmgen.errors import OperatorError
from tests.targets import LANGUAGES, TARGETS

from .conftest import ROOT, Command

DOUBLE = """\
operator double_adjoint_X {
  "Adjoint of double with respect to X: the gradient of Y, carried back to X."
  input  dY : cvm[n...]
  output dX : cvm[n...]
  dX[d...] = dY[d...]*2
}
"""
CLIPPED = """
operator clipped {
  "Elements cut at 0."
  input  X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = 2 * max(0, X[d...])
}
"""


@pytest.mark.parametrize("name", ["double", "toy.double", "twice"])
def test_prints_the_formula(cvmgen: Command, spec: Path, name: str) -> None:
    outcome = cvmgen("derive", name, "--wrt", "X", "--spec", spec)
    assert (outcome.code, outcome.out, outcome.err) == (0, DOUBLE, "")


def test_prints_it_for_programs(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("derive", "double", "--wrt", "X", "--name", "back", "--spec", spec, "--json")
    assert outcome.json == {
        "operator": "toy.double",
        "wrt": "X",
        "name": "back",
        "text": DOUBLE.replace("double_adjoint_X", "back"),
    }


def test_the_text_can_be_saved_and_shown(cvmgen: Command, spec: Path) -> None:
    text = cvmgen("derive", "shifted", "--wrt", "X", "--spec", spec).out
    (spec / "toy/adjoints.cvm").write_text(text)
    assert cvmgen("show", "shifted_adjoint_X", "--spec", spec).out == text
    assert cvmgen("check", spec, "--spec", spec).code == 0


def test_what_is_not_linear_is_shown(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/clipped.cvm").write_text(CLIPPED)
    outcome = cvmgen("derive", "clipped", "--wrt", "X", "--spec", spec)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"{spec}/toy/clipped.cvm:6:17: error: this is not linear in 'X'\n"
        "  |\n"
        "6 |   Y[d...] = 2 * max(0, X[d...])\n"
        "  |                 ^^^^^^^^^^^^^^^\n"
        "  = hint: only sums of products with other values have an adjoint that is a formula\n"
    )


WIDE = """
operator wide {
  "Elements with a precision times elements without one."
  input  X : cvm[N]
  input  W : int32[N]
  output Y : int32[N]
  Y[i] = X[i] * W[i]
}
"""


def test_an_adjoint_that_no_precision_admits_is_refused(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/wide.cvm").write_text(WIDE)
    outcome = cvmgen("derive", "wide", "--wrt", "X", "--spec", spec)
    message = "the adjoint has the type of 'X', but its values more than the 32 bits of cvm"
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert "input  X : cvm[N]" in outcome.err
    assert cvmgen("derive", "wide", "--wrt", "W", "--spec", spec).code == 0


LONG = """
operator long {
  "Sums of products, as wide as int64 is."
  input  X : int8[N, M]
  input  W : int8[M]
  output Y : int64[N]
  Y[i] = sum[j < M](X[i, j] * W[j])
}
"""


def test_an_adjoint_that_no_kernel_can_compute_is_refused(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/long.cvm").write_text(LONG)
    outcome = cvmgen("derive", "long", "--wrt", "W", "--spec", spec)
    assert (outcome.code, outcome.out) == (1, "")
    assert "the adjoint with respect to 'W' can be larger than a kernel can compute" in outcome.err
    assert "('Y' is int64)" in outcome.err


REFUSED = (
    (("double", "--wrt", "Z"), "toy.double has no input 'Z'; its inputs are X", "unknown input"),
    (("duoble", "--wrt", "X"), "did you mean 'double'", "unknown operator"),
    (("double", "--wrt", "X", "--name", "let"), "'let' is no name", "a word of the language"),
    (("double", "--wrt", "X", "--name", "a b"), "'a b' is no name", "not a word"),
    (("double", "--wrt", "X", "--name", "shifted"), "'shifted' is an operator already", "taken"),
    (("double", "--wrt", "X", "--name", "twice"), "'twice' is an operator already", "an alias"),
    (("double",), "--wrt", "the input is missing"),
)


@pytest.mark.parametrize(("arguments", "message", "why"), REFUSED)
def test_wrong_arguments(
    cvmgen: Command, spec: Path, arguments: tuple[str, ...], message: str, why: str
) -> None:
    outcome = cvmgen("derive", *arguments, "--spec", spec)
    assert outcome.code == 2, why
    assert message in outcome.err, why


# ---------------------------------------------------------------- against what people wrote

SYSTEMML = ("common.cvm", "systemml/windows.cvm", "systemml/convolution.cvm")
PAIRS = (
    ("systemml.conv2d", "x", "conv2d_backward_data"),
    ("systemml.conv2d", "w", "conv2d_backward_filter"),
)
CALLS = 40


@pytest.fixture
def derived(cvmgen: Command, tmp_path: Path) -> Path:
    """A folder of operators built from a spec to which adjoints were saved."""
    spec = tmp_path / "spec"
    (spec / "systemml").mkdir(parents=True)
    for name in SYSTEMML:
        (spec / name).write_text((ROOT / "spec" / name).read_text())
    texts = [cvmgen("derive", name, "--wrt", wrt, "--spec", spec).out for name, wrt, _ in PAIRS]
    (spec / "systemml/adjoints.cvm").write_text("\n".join(texts))
    own = [f"{name}_adjoint_{wrt}" for name, wrt, _ in PAIRS]
    written = [f"systemml.{name}" for *_, name in PAIRS]
    targets = [word for name in LANGUAGES for word in ("--target", name)]
    outcome = cvmgen("build", *own, *written, *targets, "--spec", spec, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    return tmp_path / "out"


@pytest.mark.parametrize("target", TARGETS)
def test_saved_and_built_they_are_what_people_wrote(derived: Path, target: str) -> None:
    loaded = load(target, folder=derived)
    random = np.random.default_rng(1)
    for name, wrt, written in PAIRS:
        ours, theirs = loaded[f"{name}_adjoint_{wrt}"], loaded[f"systemml.{written}"]
        compared = 0
        while compared < CALLS:
            shapes, attributes = convolution(random, wrt)
            for whole in (True, False):
                operands = [drawn(random, shape, whole=whole) for shape in shapes]
                expected, refusal = outcome_of(theirs, operands, attributes)
                found, own_refusal = outcome_of(ours, operands, attributes)
                assert bool(own_refusal) == bool(refusal), attributes
                if refusal:
                    continue
                same = np.array_equal if whole else np.allclose
                assert same(found, expected), attributes
                compared += whole


def convolution(
    random: np.random.Generator, wrt: str
) -> tuple[list[tuple[int, int]], dict[str, Any]]:
    """Shapes of the operands of an adjoint, mostly fitting, and its attributes."""
    N, C, F, R, S = map(int, random.integers(1, 4, 5))
    H, W = map(int, random.integers(1, 8, 2))
    stride = tuple(map(int, random.integers(1, 4, 2)))
    words = ("valid", "same", "full", None, None)
    word = words[random.integers(len(words))]
    padding = word or tuple(map(int, random.integers(0, 3, 2)))
    YH, YW = (
        (x + twice(word, given, x, r, s) - r) // s + 1
        for x, given, r, s in zip((H, W), padding[:2], (R, S), stride, strict=True)
    )
    shapes = [(F, C * R * S) if wrt == "x" else (N, C * H * W), (N, F * max(YH * YW, 1))]
    attributes = {"input_shape": (N, C, H, W), "filter_shape": (F, C, R, S)}
    return shapes, attributes | {"stride": stride, "padding": padding}


def twice(word: str | None, given: Any, x: int, r: int, s: int) -> int:
    """Twice the padding: what a word stands for has the same result at each stride."""
    match word:
        case "valid":
            return (x - r) * (s - 1)
        case "same":
            return x * (s - 1) + r - s
        case "full":
            return (s - 1) * x + (s + 1) * r - 2 * s
        case _:
            return 2 * int(given)


def drawn(random: np.random.Generator, shape: tuple[int, int], *, whole: bool) -> Any:
    return random.integers(-9, 10, shape).astype(float) if whole else random.normal(size=shape)


def outcome_of(operator: Any, operands: list[Any], attributes: dict[str, Any]) -> tuple[Any, str]:
    """What a call gives, or why it is refused."""
    try:
        return operator(*operands, **attributes), ""
    except OperatorError as error:
        return None, str(error)
