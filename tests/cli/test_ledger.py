"""`cvmgen verify --ledger`: what it verifies, what it writes, and what builds say of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cvmgen.cli import ledger
from cvmgen.verification.ledger import Finding, LedgerEntry, Left
from cvmgen.verification.solvers import installed
from tests.clang import needs_clang

from .conftest import Build, Command, Outcome, edit

SOLVED = Finding("proved", {"z3": 2})
OPEN = Finding("open", {"z3": 1}, (Left("the solvers give up", 1),))


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """What builds compile is not what these tests are about."""
    monkeypatch.setattr("cvmgen.cli.build.compiled_operators", lambda *_, **__: None)


@pytest.fixture
def verify(cvmgen: Command, build: Build, spec: Path, tmp_path: Path) -> Command:
    """`cvmgen verify --ledger` of the small spec, which is built."""
    build()

    def run(*arguments: object) -> Outcome:
        folder = tmp_path / "generated"
        return cvmgen("verify", "--ledger", "--spec", spec, "--generated", folder, *arguments)

    return run


class Engines:
    """Engines that find what they are told to; `asked` is what of."""

    def __init__(self) -> None:
        self.finding = SOLVED
        self.asked: list[tuple[str, str]] = []
        self.failing: list[tuple[str, str]] = []

    def of(self, target: str) -> Callable[..., LedgerEntry]:
        def verify(operator: object, schedules: object, folder: Path, text: str) -> LedgerEntry:
            self.asked.append((operator.name, target))  # type: ignore[attr-defined]
            if self.asked[-1] in self.failing:
                raise ValueError("no such symbol")
            return LedgerEntry({"bounds": self.finding}, text)

        return verify


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    found = Engines()
    verifiers = {target: found.of(target) for target in ("c", "cuda")}
    monkeypatch.setattr(ledger, "VERIFIERS", verifiers)
    monkeypatch.setattr(ledger, "engines_needed", lambda: None)
    return found


EVERYTHING = [("double", "c"), ("double", "cuda"), ("shifted", "c"), ("shifted", "cuda")]


def test_what_changed_is_verified_anew(
    verify: Command, build: Build, engines: Engines, spec: Path
) -> None:
    assert build("--check").code == 0, "there is no ledger: nothing is said"
    assert verify().code == 0
    assert engines.asked == EVERYTHING
    assert build("--check").out.endswith("is up to date\n")
    engines.asked.clear()
    assert "says so already" in verify().out
    assert engines.asked == []
    edit(spec, "2 * X[d...]", "X[d...] + X[d...]")
    assert "does not know the text of toy.double (c, cuda)" in build().err
    outcome = build("--check")
    assert outcome.code == 1
    assert "`cvmgen verify --ledger` verifies it" in outcome.err
    assert verify().code == 0
    assert engines.asked == EVERYTHING[:2]
    assert build("--check").code == 0


def test_where_an_engine_fails_the_others_go_on(
    verify: Command, build: Build, engines: Engines
) -> None:
    engines.failing = EVERYTHING[1:2]
    outcome = verify()
    assert outcome.code == 1
    assert engines.asked == EVERYTHING
    assert "cvmgen failed on toy.double, cuda (ValueError in verify, test_ledger.py:" in outcome.err
    assert build("--check").code == 1
    engines.asked.clear()
    engines.failing.clear()
    assert verify().code == 0
    assert engines.asked == EVERYTHING[1:2], "what is known already is not asked for again"
    assert build("--check").code == 0


def test_a_run_that_is_stopped_goes_on_where_it_was(verify: Command, engines: Engines) -> None:
    class Stopped(BaseException):
        pass

    def stop(*_: object) -> LedgerEntry:
        raise Stopped

    ledger.VERIFIERS["cuda"], kept = stop, ledger.VERIFIERS["cuda"]  # type: ignore[index]
    with pytest.raises(Stopped):
        verify()
    ledger.VERIFIERS["cuda"] = kept  # type: ignore[index]
    assert engines.asked == EVERYTHING[:1]
    verify()
    assert engines.asked == EVERYTHING


def test_a_build_keeps_the_ledger(
    verify: Command, build: Build, engines: Engines, spec: Path, tmp_path: Path
) -> None:
    verify()
    before = (tmp_path / "generated/ledger.json").read_text()
    edit(spec, "2 * X[d...]", "X[d...] + X[d...]")
    build()
    assert (tmp_path / "generated/ledger.json").read_text() == before
    assert (tmp_path / "generated/ledger.md").is_file()


def test_what_is_named_is_verified_in_any_case(verify: Command, engines: Engines) -> None:
    verify()
    engines.asked.clear()
    verify("shifted")
    assert engines.asked == EVERYTHING[2:]


def test_worse_is_told_until_it_is_mended_or_accepted(
    verify: Command, build: Build, engines: Engines
) -> None:
    verify()
    engines.finding = OPEN
    outcome = verify("double")
    assert outcome.code == 1
    assert "bounds of toy.double, c, was proved and is open (1 open)" in outcome.err
    assert build("--check").code == 1
    assert verify().code == 1, "it is still worse when it is found again"
    assert verify("--accept").code == 0
    assert build("--check").code == 0
    engines.finding = SOLVED
    assert verify("double").code == 0


def test_an_operator_that_is_gone(
    verify: Command, build: Build, engines: Engines, spec: Path, tmp_path: Path
) -> None:
    verify()
    path = spec / "toy/numbers.cvm"
    path.write_text(path.read_text().partition("operator shifted")[0])
    build()
    assert "toy.shifted" in build("--check").err
    verify()
    assert list(json.loads((tmp_path / "generated/ledger.json").read_text())["entries"]) == [
        "toy.double"
    ]
    assert build("--check").code == 0


def test_files_that_are_stale_are_not_verified(
    verify: Command, engines: Engines, spec: Path
) -> None:
    edit(spec, "2 * X[d...]", "X[d...] + X[d...]")
    outcome = verify()
    assert outcome.code == 1
    assert "`cvmgen build` brings it up to date first" in outcome.err
    assert engines.asked == []


def test_a_refuted_property_is_wrong(verify: Command, engines: Engines) -> None:
    engines.finding = Finding("refuted", {}, (Left("refuted: i = 3", 1, ("X[i]",)),))
    assert verify().code == 1


def test_own_formulas_are_not_called_tested(
    verify: Command, engines: Engines, tmp_path: Path
) -> None:
    verify()
    found = json.loads((tmp_path / "generated/ledger.json").read_text())
    assert "tested" not in json.dumps([found["entries"], found["stands"]])


REFUSED = [
    (("--accept",), "--accept goes with --ledger"),
    (("--ledger", "--explain", "double"), "--ledger asks everything"),
    (("--ledger", "--values"), "--ledger asks everything"),
    (("--ledger", "--target", "cuda"), "--ledger asks everything"),
    (("--ledger", "--actions", "--target", "cuda"), "--ledger asks everything"),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
def test_arguments_that_do_not_go_together(
    cvmgen: Command, spec: Path, arguments: tuple[str, ...], told: str
) -> None:
    outcome = cvmgen("verify", *arguments, "--spec", spec)
    assert outcome.code == 2
    assert told in outcome.err


def test_formulas_of_ones_own_need_a_folder(cvmgen: Command, spec: Path) -> None:
    assert "needs --generated DIR" in cvmgen("verify", "--ledger", "--spec", spec).err


def test_an_installation_stays_as_it_is(cvmgen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "checkout", lambda: None)
    assert "stay as they are" in cvmgen("verify", "--ledger").err


@needs_clang
@pytest.mark.skipif(not set(installed()) >= {"z3", "cvc5"}, reason="no z3 or no cvc5")
def test_by_the_engines_themselves(verify: Command, build: Build, tmp_path: Path) -> None:
    assert verify("double", "--json").code == 0
    found = json.loads((tmp_path / "generated/ledger.json").read_text())["entries"]["toy.double"]
    status = {
        target: {name: each["status"] for name, each in entry["findings"].items()}
        for target, entry in found.items()
    }
    assert status["c"]["bounds"] == status["cuda"]["races"] == "proved"
    assert status["c"]["values"] == "validated"
    assert found["c"]["findings"]["values"]["calls"]
    assert found["c"]["engines"].keys() == {"clang", "cvc5", "z3"}


PARTS = [
    (("--actions", 1), ("c", "actions"), "toy.double, c, was validated and is"),
    (("--values", 1, "--target", "cuda"), ("cuda", "values"), "toy.double, cuda, was validated"),
]


@needs_clang
@pytest.mark.parametrize(("asked", "where", "told"), PARTS)
def test_a_part_is_asked_by_itself_and_kept_while_its_text_is_the_same(
    verify: Command,
    build: Build,
    engines: Engines,
    spec: Path,
    tmp_path: Path,
    asked: tuple[object, ...],
    where: tuple[str, str],
    told: str,
) -> None:
    def found() -> str:
        entries = json.loads((tmp_path / "generated/ledger.json").read_text())["entries"]
        target, name = where
        return str(entries["toy.double"][target]["findings"].get(name, {}).get("status"))

    assert verify(*asked, "double").code == 2, "an entry of this text comes first"
    verify()
    assert verify(*asked, "double").code == 0
    assert found() == "validated"
    assert verify("double").code == 0
    assert found() == "validated", "nothing is asked again of the same text"
    assert build("--check").code == 0
    edit(spec, "2 * X[d...]", "X[d...] + X[d...]")
    build()
    verify()
    assert told in build("--check").err
    assert verify(*asked, "double").code == 0
    assert found() == "validated"
    assert build("--check").code == 0
