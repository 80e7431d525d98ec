"""Two solvers: what both decide they decide alike, or all proofs end."""

from pathlib import Path

import pytest

from cvmgen.errors import InternalError
from cvmgen.verification import solvers
from cvmgen.verification import terms as t
from cvmgen.verification.proofs import Prover
from cvmgen.verification.solvers import Answer
from cvmgen.verification.symbols import Symbols

pytest.importorskip("z3")
pytest.importorskip("cvc5")


def questions() -> tuple[Symbols, tuple[t.Formula, ...], t.Formula]:
    """That a product of numbers from 1 on is at least 1, which intervals do not tell."""
    symbols = Symbols()
    x, y = symbols.fresh("x"), symbols.fresh("y")
    path = (t.at_most(1, x), t.at_most(x, y), t.at_most(y * x, 7))
    return symbols, path, t.at_most(x * x, 7)


def test_both_prove() -> None:
    assert Prover(("z3", "cvc5")).prove(*questions()).status == "proved"
    _, path, claim = questions()
    asked = solvers.question((*path, t.negation(claim)))
    assert {solvers.ask(each, asked, 100_000).result for each in ("z3", "cvc5")} == {"unsat"}


@pytest.mark.parametrize("wrong", ["z3", "cvc5"])
def test_opposite_answers_are_an_error(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the solvers is at fault, and whoever is asked first."""
    module, right = solvers.SOLVERS[wrong]

    def turned(asked: solvers.Question, limit: int) -> Answer:
        result = right(asked, limit).result
        return Answer({"sat": "unsat", "unsat": "sat"}.get(result, result))

    monkeypatch.setitem(solvers.SOLVERS, wrong, (module, turned))  # type: ignore[arg-type]
    prover, (_, path, claim) = Prover(), questions()
    asked = solvers.question((*path, t.negation(claim)))
    prover.ask("z3", asked, 1)
    with pytest.raises(InternalError, match=r"z3 says .* and cvc5 says .* of one question"):
        prover.ask("cvc5", asked, 1)


def test_what_a_solver_leaves_open_is_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solvers.SOLVERS, "cvc5", ("cvc5", lambda *_: Answer("unknown")))
    assert Prover().prove(*questions()).status == "proved"


def test_what_was_asked_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by one that calls the symbols otherwise, who is answered in words of its own."""
    monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path))
    a, b = (solvers.question([t.equal(t.symbol(name), 3)]) for name in "ab")
    first = solvers.ask("z3", a, 1000)

    def asked(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(solvers, "_write", asked)
    assert (first.model, solvers.ask("z3", b, 1000).model) == ({"a": 3}, {"b": 3})
    with pytest.raises(LookupError):
        solvers.ask("z3", a, 1001)
