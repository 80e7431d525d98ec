"""Processes that help: answers in their order, and nothing lost where one fails."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cvmgen.build import cluster, helpers, process
from cvmgen.build.helpers import helped, helped_as_done
from cvmgen.errors import BuildError

ROWS: list[tuple[Callable[..., Any], list[Any], list[Any], str]] = [
    (math.sqrt, [9, 4, 1, 16], [3.0, 2.0, 1.0, 4.0], "answers in the order of the items"),
    (math.sqrt, [9, -1, 1, 16], [3.0, None, 1.0, 4.0], "one fails"),
    (len, [[1], 7, "abc", ()], [1, None, 3, 0], "answers that are nothing else than false"),
    (print, ["a", "b", "c"], [None, None, None], "what is printed is no answer"),
    (len, [[1], [lambda: 0], "abc"], [1, None, 3], "what cannot be sent"),
    (lambda item: item, [1, 2, 3], [None, None, None], "what cannot be named"),
    (os._exit, [0, 0, 0], [None, None, None], "they end"),
]


def _own_process(wait: int) -> int:
    time.sleep(wait / 100)
    return os.getpid()


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CVMGEN_JOBS", "2")
    monkeypatch.setattr(helpers, "FEW", 2)


@pytest.mark.parametrize(("work", "items", "answers", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_answers(work: Callable[..., Any], items: list[Any], answers: list[Any], why: str) -> None:
    assert list(helped(work, items)) == answers, why
    told = [answer for _, answer in helped_as_done(work, items)]
    assert sorted(map(str, told)) == sorted(map(str, answers)), "in any order"


def test_what_is_done_first_comes_first() -> None:
    assert [item for item, _ in helped_as_done(time.sleep, [3, 0.1])] == [0.1, 3]


def test_one_process_alone_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CVMGEN_JOBS", "1")
    assert list(helped(math.sqrt, [9, 4, 1])) == [None, None, None]


def test_few_items_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "FEW", 4)
    assert list(helped(math.sqrt, [9, 4, 1])) == [None, None, None]


def test_where_no_python_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "_COMMAND", ("",))
    assert list(helped(math.sqrt, [9, 4, 1])) == [None, None, None]


def test_files_of_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert list(helped(math.sqrt, [9, 4])) == [3.0, 2.0]


def test_who_asks_no_more_ends_them() -> None:
    answers = helped(time.sleep, [0, 60, 60, 60])
    began = time.monotonic()
    assert next(answers) is None
    asked = tuple(process._running)
    assert len(asked) == 2
    answers.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 30
    assert all(each.poll() is not None for each in asked)
    assert not process._running


def test_workers_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as workers:
        monkeypatch.setenv("CVMGEN_SCHEDULER", workers.scheduler_address)
        assert list(helped(math.sqrt, [9, -1, 1])) == [3.0, None, 1.0]
        assert list(helped(os.getpid, [])) == []
        told = {pid for pid in helped(_own_process, range(8)) if pid is not None}
        assert len(told) > 1
        assert os.getpid() not in told
        monkeypatch.setattr(cluster, "_PACKAGE", Path(__file__).parent)
        with pytest.raises(BuildError, match="another cvmgen than here, or none: the worker tcp:"):
            list(helped(math.sqrt, [9]))
    monkeypatch.setenv("CVMGEN_SCHEDULER", "localhost")
    with pytest.raises(BuildError, match="no workers of Dask at localhost"):
        list(helped(math.sqrt, [9]))
