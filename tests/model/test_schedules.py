"""Schedules for models: whatever they say the integers stay, and what is not legal is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cvmgen.build import write_changed
from cvmgen.graph import load, load_model
from cvmgen.graph.parameters import Array
from cvmgen.graph.symbol import Symbol
from cvmgen.model.build import make_files
from cvmgen.model.emit import Files
from cvmgen.schedule.book import Schedules, checked
from cvmgen.source import Source, SpecError
from cvmgen.spec.schedules import parse_schedules
from tests.conformance.calls import Conformance
from tests.model.invented import MODELS, Sketch


@pytest.fixture(scope="module")
def chain(conformance: Conformance) -> tuple[Symbol, dict[str, Array]]:
    """Convolutions, a maximum and a sum."""
    sketch = Sketch(conformance.libraries["python"], 0)
    return MODELS["chain"](sketch), sketch.arrays


def schedules(text: str) -> Schedules:
    return checked(parse_schedules(Source("test.sched", text)))


def scheduled(
    chain: tuple[Symbol, dict[str, Array]], conformance: Conformance, text: str, name: str
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
    chain: tuple[Symbol, dict[str, Array]], conformance: Conformance, tmp_path: Path, name: str
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
    chain: tuple[Symbol, dict[str, Array]], conformance: Conformance, text: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message) as error:
        scheduled(chain, conformance, text, "refused").all()
    assert error.value.span.text in map(str.strip, text.splitlines())


def test_the_story(chain: tuple[Symbol, dict[str, Array]], conformance: Conformance) -> None:
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
