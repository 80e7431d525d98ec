"""Schedules for models: whatever they say the integers stay, and what is not legal is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cvmgen.build import write_changed
from cvmgen.graph import load, load_model
from cvmgen.graph.limits import Array
from cvmgen.graph.symbol import SymbolGraph
from cvmgen.model.build import make_files
from cvmgen.model.emit import Files
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError
from cvmgen.spec.schedules import parse_schedules
from tests.conformance.calls import Conformance
from tests.model.invented import MODELS, Sketch


@pytest.fixture(scope="module")
def chain(conformance: Conformance) -> tuple[SymbolGraph, dict[str, Array]]:
    """Convolutions, a maximum and a sum."""
    sketch = Sketch(conformance.libraries["python"], 0)
    return MODELS["chain"](sketch), sketch.arrays


def schedules(text: str) -> Schedules:
    return checked_schedules(parse_schedules(Source("test.sched", text)))


def scheduled(
    chain: tuple[SymbolGraph, dict[str, Array]], conformance: Conformance, text: str, name: str
) -> Files:
    return make_files(*chain, name, conformance.libraries["python"], schedules(text))


TEXTS = {
    "plain": ("schedule other for model {}\n", 27, "each node is a step, one thread, no tiles"),
    "sums": (
        "schedule reduction for model {\n  expand totals over results\n  distribute results\n"
        "  reorder summed, results\n  unswitch results\n  reorder summed, results\n"
        "  clip results\n  parallelise outer when work >= 1\n}\n"
        "schedule elementwise for model {\n  fuse\n  parallelise outer\n}\n",
        7,
        "convolutions are sums like others",
    ),
    "written_out": (
        "schedule reduction for model {\n  unroll outer, summed by 5\n}\n"
        "schedule elementwise for model {\n  fuse\n}\n",
        7,
        "five iterations of each loop, and what is left",
    ),
    "in_blocks": (
        "schedule reduction for model {\n  split results by 5 into block, lane\n"
        "  expand totals over lane\n  distribute lane\n  reorder summed, lane\n"
        "  parallelise outer, block\n}\n"
        "schedule elementwise for model {\n  split inner by 4 into block, lane\n"
        "  parallelise outer, block\n}\n",
        27,
        "neither divides all extents",
    ),
    "tiles": (
        "schedule contraction for model {\n  tile columns, rows by dot4 when work >= 100000\n"
        "  parallelise rows\n}\nschedule elementwise for model {\n  fuse\n  merge inner\n}\n",
        7,
        "large convolutions alone are tiles, and nothing else is done",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_integers_stay(
    chain: tuple[SymbolGraph, dict[str, Array]], conformance: Conformance, tmp_path: Path, name: str
) -> None:
    text, steps, why = TEXTS[name]
    files = scheduled(chain, conformance, text, name).all()
    assert len(re.findall(r"^static void \w+_step\(", files[f"{name}.c"], re.M)) == steps, why
    assert "\nSTEP\n" not in files[f"{name}.c"], "no schedule says vectorise"
    write_changed(tmp_path, files)
    model = load_model(tmp_path, name, threads=2)
    network = load(*chain, operators=conformance.libraries["c"])
    limit = (1 << (network.input_precision - 1)) - 1
    random = np.random.default_rng(3)
    for _ in range(3):
        x = random.integers(-limit, limit, network.input_shape, np.int32, endpoint=True)
        np.testing.assert_array_equal(model(x), network(x))


SUMS = "schedule reduction for model {{\n  {}\n}}\nschedule elementwise for model {{\n  fuse\n}}\n"
NEAR = (
    "beside results into near when iterations >= {}\n  expand totals over near\n"
    "  distribute near\n  vectorise near"
)
DECIDED = [
    ("unroll summed by 6\n  unswitch results", "if (2 * y >= 1 &&", True, "six terms"),
    ("unroll summed by 5\n  unswitch results", "if (2 * y >= 1 &&", False, "six terms"),
    ("split results by 8 into block, lane", "x_block", True, "nine results"),
    ("split results by 9 into block, lane", "x_block", False, "nine results are a block"),
    (NEAR.format(9), "STEP\nstatic", True, "nine results at most"),
    (NEAR.format(10), "STEP\nstatic", False, "nine results at most"),
    (
        "parallelise outer when work >= 31752",
        "share(216, 2, relu17",
        True,
        "two parts are worth it",
    ),
    ("parallelise outer when work >= 63504", "share(216, 2, relu17", True, "two parts at least"),
    ("parallelise outer when work >= 63505", "cvmgen_threads", False, "one less than it takes"),
]


@pytest.mark.parametrize(("actions", "text", "there", "why"), DECIDED)
def test_constant_extents_decide(
    chain: tuple[SymbolGraph, dict[str, Array]],
    conformance: Conformance,
    actions: str,
    text: str,
    there: bool,
    why: str,
) -> None:
    made = scheduled(chain, conformance, SUMS.format(actions), "decided").all()["decided.c"]
    assert (text in made) == there, why


def test_a_sum_behind_a_test(conformance: Conformance, tmp_path: Path) -> None:
    """Of one line of weights a row of results meets elements or none, and totals of a row grow
    together."""
    python = conformance.libraries["python"]
    sketch = Sketch(python, 0)
    factors = sketch.data(3, 3, 9, 9), sketch.parameter(3, 1, 1, 3)
    symbol = sketch.symbol(sketch.use("conv2d", *factors, padding=(1, 1), groups=3))
    files = make_files(symbol, sketch.arrays, "line", python).all()
    assert "if (0 <= y - 1 && y - 1 < 9) {\n" in files["line.c"]
    assert "int32_t total[9];\n" in files["line.c"]
    write_changed(tmp_path, files)
    network = load(symbol, sketch.arrays, operators=conformance.libraries["c"])
    x = np.random.default_rng(5).integers(-127, 127, network.input_shape, np.int32)
    np.testing.assert_array_equal(load_model(tmp_path, "line")(x), network(x))


def test_threads_share_a_maximum(conformance: Conformance, tmp_path: Path) -> None:
    """Of sums threads have parts where any order gives the same."""
    python = conformance.libraries["python"]
    sketch = Sketch(python, 0)
    symbol = sketch.symbol(sketch.use("max", sketch.data(1, 3, 9, 9), axis=(2, 3)))
    text = "schedule reduction for model {\n  parallelise summed\n}\n"
    files = make_files(symbol, sketch.arrays, "most", python, schedules(text)).all()
    assert "*call->largest = cvmgen_max_i32(*call->largest, largest);" in files["most.c"]
    write_changed(tmp_path, files)
    model = load_model(tmp_path, "most", threads=2)
    x = np.random.default_rng(5).integers(-127, 127, (1, 3, 9, 9), np.int32)
    np.testing.assert_array_equal(model(x), x.max((2, 3)))


REFUSED = [
    ("schedule other for model {\n  fuse\n}\n", "only what goes element by element can join"),
    (
        "schedule contraction for model {\n  tile rows by dot4\n}\n",
        "a tile has all rows and all columns",
    ),
    (
        "schedule reduction for model {\n  distribute results\n}\n",
        "changes in one step of the loop x and is read in another: its steps cannot run apart",
    ),
    (
        "schedule reduction for model {\n  expand totals over results\n  parallelise results\n"
        "  vectorise results\n}\n",
        "runs in threads already",
    ),
    (
        "schedule contraction for model {\n  parallelise summed\n  tile rows, columns by dot4\n}\n",
        "carries total, which depends on the order of iterations: .* cannot run in parallel",
    ),
    (
        "schedule reduction for model {\n  split results by 5 into block, lane\n"
        "  vectorise lane by 48\n}\n",
        "vectors have 32 or 64 bytes",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(
    chain: tuple[SymbolGraph, dict[str, Array]], conformance: Conformance, text: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message) as error:
        scheduled(chain, conformance, text, "refused").all()
    assert error.value.span.text in map(str.strip, text.splitlines())


def test_the_story(chain: tuple[SymbolGraph, dict[str, Array]], conformance: Conformance) -> None:
    text = (
        "schedule contraction for model {\n  tile rows, columns by dot4\n"
        "  parallelise rows when work >= 10000000\n}\n"
    )
    files = scheduled(chain, conformance, text, "told")
    story = list(files.story())
    at = story.index("  contraction, by test.sched:1")
    assert story[at + 1 : at + 15] == [
        "    outer: n 2, oc 8, y 7, x 9",
        "    batches: none",
        "    rows: n 2, y 7, x 9",
        "    columns: oc 8",
        "    summed: ic 3, ki 3, kj 3",
        "  tile rows, columns by dot4",
        "    stages data as bytes: 3 runs of 12 for a row",
        "    packs weight1 in panels of 16 columns",
        "    14 blocks of at most 9 rows and 16 columns",
        "  parallelise rows when work >= 10000000",
        "    work: 2709",
        "    changes nothing",
        "  for 0 <= n < 2:",
        "    for 0 <= y < 7:",
    ]
    assert "  no schedule" in story
