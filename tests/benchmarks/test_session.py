"""A whole run in its own process, and what becomes of what workers tell."""

from __future__ import annotations

import pytest

from benchmarks.machine import describe
from benchmarks.results import Measurement, Row
from benchmarks.session import Session, measured
from benchmarks.worker import Task, environment
from cvmgen.build import c_compiler
from cvmgen.errors import BuildError


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))


def test_what_a_worker_tells_is_kept() -> None:
    session, shown = Session(Measurement({}, {}, {}, {}, [])), list[Row]()
    row = {"workload": "w", "threads": 2, "ours": 1.5, "peers": {"numpy": 1.0}, "wrong": ["numpy"]}
    for message in (
        {"absent": {"numba": "none"}},
        {"versions": {"numpy": "2.4"}},
        {"rates": {"copy GB/s": 10.0}},
        {"missing": {"m": "no model"}},
        {"row": row},
    ):
        session.take(message, 2, lambda row, whole: shown.append(row))
    whole = session.whole
    assert whole.absent == {"numba": "none"}
    assert whole.versions == {"numpy": "2.4"}
    assert whole.rates == {"2": {"copy GB/s": 10.0}}
    assert whole.missing == {"m": "no model"}
    assert whole.rows == shown == [Row("w", 2, 1.5, {"numpy": 1.0}, wrong=("numpy",))]
    assert whole.row("w", 2) is shown[0]
    assert whole.row("w", 1) is None


def test_of_several_passes_one_row_counts() -> None:
    session, name = Session(Measurement({}, {}, {}, {}, [])), "abs, 16 M"
    for number, ours in enumerate((2.0, 4.0, 1.0)):
        row = {"workload": name, "threads": 2, "ours": ours, "probe": 2.0, "wrong": []}
        told = {"row": row, "rates": {"copy GB/s": 10.0 + number}}
        session.take(told, 2, lambda row, whole: None)
    assert session.whole.rows == [Row(name, 2, 2.0, probe=2.0)]
    assert session.whole.rates == {"2": {"copy GB/s": 11.0}}


def test_a_run() -> None:
    shown = list[Row]()
    whole = measured(
        [Task(1, "a bound call", effort="quick")], lambda row, whole: shown.append(row)
    )
    assert whole.missing == {}
    (row,) = whole.rows
    assert shown == [row]
    assert row.ours > 0
    assert row.peers["numpy"] > 0
    assert row.wrong == ()
    assert "numpy" in whole.versions
    assert all(rate > 0 for rate in whole.rates["1"].values())


def test_a_worker_that_dies_is_told_of() -> None:
    whole = measured([Task(1, "(", effort="quick")], lambda row, whole: None)
    assert whole.rows == []
    assert whole.missing == {"the rest, threads: 1": "the worker ended with 1"}


def test_each_library_is_told_the_number_of_threads() -> None:
    found = environment(2)
    assert {found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]} == {"2"}


def test_the_machine_is_described_without_its_name() -> None:
    found = describe()
    assert set(found) == {"cpu", "flags", "cores", "system", "compiler", "python"}
    assert int(found["cores"]) >= 1
