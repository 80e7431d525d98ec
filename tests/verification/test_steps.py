"""Steps of built models: all is proved of right ones, and not of wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cvmgen.api import load
from cvmgen.graph.limits import Array
from cvmgen.graph.symbol import SymbolGraph
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.model.build import planned
from cvmgen.model.stages import Staged, staged
from cvmgen.model.storage import Storage
from cvmgen.ranges import Range
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.source import Source, Span
from cvmgen.verification import steps
from cvmgen.verification.obligations import Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.steps import ELEMENTS, MEMORY, step_obligations
from cvmgen.verification.totals import totals
from tests.model.invented import ALONE, MODELS, Sketch, for_small_models

pytest.importorskip("z3")
pytest.importorskip("cvc5")

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
RESNET = ROOT.parent / "shared" / "models" / "cifar10_resnet20_v2"
DRAWN = MODELS | ALONE
LARGEST = "i8(largest@[c])"
"""A maximum over a window that the border cuts: it begins with the least integer, and that it is of
one element at least is not seen."""


def built(
    symbol: Path | SymbolGraph, params: Path | Mapping[str, Array], schedules: Schedules
) -> Staged:
    *_, (_, made) = staged(planned(symbol, params, load(target="python"))[1], schedules)
    return made


def left(made: Staged) -> list[Obligation]:
    """What is not proved."""
    names = [each.name for each in made.steps]
    found = list(step_obligations(made, Prover(), names))
    assert found
    return [each for each in found if each.status != "proved"]


@pytest.fixture(scope="module")
def digits() -> Staged:
    return built(DIGITS / "digits.json", DIGITS / "digits.bin", packaged())


def test_the_digits_network(digits: Staged) -> None:
    assert left(digits) == []


@pytest.mark.parametrize("seed", range(len(DRAWN)), ids=list(DRAWN))
def test_invented_models(seed: int) -> None:
    sketch = Sketch(load(target="python"), seed)
    symbol = list(DRAWN.values())[seed](sketch)
    found = left(built(symbol, sketch.arrays, for_small_models()))
    assert [each.shown for each in found if not each.shown.endswith(LARGEST)] == []
    assert len(found) <= 1
    assert {each.status for each in found} <= {"open"}


@pytest.mark.skipif(not RESNET.is_dir(), reason="the published model is not beside the repository")
def test_a_published_model() -> None:
    assert left(built(RESNET / "symbol.json", RESNET / "params.bin", packaged())) == []


# ---------------------------------------------------------------- faults


def further(node: Any) -> Any:
    """Each element one behind the one that is meant."""
    if isinstance(node, i.Load):
        return replace(node, offset=i.Binary("+", node.offset, i.Const(1)))
    return node


def longer(node: Any) -> Any:
    """Each loop makes an iteration more."""
    if isinstance(node, i.Loop):
        return replace(node, high=i.Binary("+", node.high, i.Const(1)))
    return node


@pytest.mark.parametrize("change", [further, longer])
def test_faults_of_places(digits: Staged, change: Any) -> None:
    """In every step there is an element that is outside then."""
    for at, step in enumerate(digits.steps):
        body = rebuild(step.made.body, change)
        wrong = replace(step, made=step.made.with_body(body))
        made = replace(digits, steps=(*digits.steps[:at], wrong, *digits.steps[at + 1 :]))
        found = {each.about for each in left(made) if each.kernel == step.name}
        assert "bounds" in found, step.name


def with_storage(made: Staged, storage: Storage) -> Staged:
    return replace(made, layouts=replace(made.placed, storage=storage))


def test_memory_that_is_too_small(digits: Staged) -> None:
    """The tile reads the border of its data."""
    storage = digits.placed.storage
    place = storage.placements["pool0"]
    small = replace(place, pads=((0, 0),) * len(place.shape))
    wrong = replace(storage, placements={**storage.placements, "pool0": small})
    assert "bounds" in {each.about for each in left(with_storage(digits, wrong))}


def test_elements_beyond_the_range_that_is_relied_on(digits: Staged) -> None:
    storage = digits.placed.storage
    narrow = replace(storage.elements["relu0"], range=Range(0, 50))
    wrong = replace(storage, elements={**storage.elements, "relu0": narrow})
    (found,) = (each for each in left(with_storage(digits, wrong)) if each.about == ELEMENTS)
    assert found.kernel == "relu0_step"


def test_tensors_in_one_place(digits: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    real = steps.workspace_layout
    monkeypatch.setattr(steps, "workspace_layout", lambda *e: (dict.fromkeys(real(*e)[0], 0), 1))
    assert {each.about for each in left(digits)} == {MEMORY}


# ---------------------------------------------------------------- sums


def loop(index: str, high: int, *body: i.Stmt) -> i.Loop:
    return i.Loop(index, i.Const(0), i.Const(high), body, 0, SPAN)


def let(value: int) -> i.Let:
    return i.Let("s", "i32", i.Const(value), SPAN)


def add(value: i.Expr) -> i.Accumulate:
    return i.Accumulate("s", "+", value, SPAN)


SPAN = Span(Source("a.cvm", "x"), 0, 1)
X = i.Load("X", None, i.Var("k"))
PLACE = i.Load("T", None, i.Var("c"))


def cases() -> Iterator[tuple[str, i.Block, Range]]:
    yield "a sum", (let(0), loop("k", 10, add(X))), Range(-20, 30)
    yield "from one on", (let(1), loop("k", 10, add(i.Var("k")))), Range(1, 91)
    inner = loop("j", 4, let(0), loop("k", 10, add(X)))
    yield "anew in each iteration", (inner,), Range(-20, 30)
    twice = i.If(i.Const(1), (let(5), add(X)), (let(9), add(X)), SPAN)
    yield "two of one name", (twice,), Range(3, 12)
    product = (let(1), loop("k", 3, i.Accumulate("s", "*", X, SPAN)))
    yield "a product", product, Range(-(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize(("why", "body", "expected"), list(cases()))
def test_sums(why: str, body: i.Block, expected: Range) -> None:
    assert totals(body, {"X": "i32"}, {"X": Range(-2, 3)})["s"] == expected, why


def test_sums_side_by_side() -> None:
    """Each element of an array is added to once in each iteration around."""
    start = loop("c", 8, i.Store(PLACE, i.Const(0), SPAN))
    more = loop("k", 10, loop("c", 8, i.Store(PLACE, i.Binary("+", PLACE, X), SPAN)))
    body = (i.Array("T", "i32", 8, SPAN), start, more)
    assert totals(body, {"X": "i32"}, {"X": Range(-2, 3)})["T"] == Range(-20, 30)
