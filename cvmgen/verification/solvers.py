"""Two solvers that are asked the same question in the same text.

Their work is limited by counts of their own, never by time, so that an answer does not depend on
the machine: what was asked once is kept in the cache, under the text of the question, its limit and
the version of the solver. Neither is needed to run cvmgen; without one of them the other is asked
alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.verification.terms import Formula, smt, truths_of


@dataclass(frozen=True, slots=True)
class Answer:
    """unsat, sat or unknown; of a `model` the values of symbols, as the question writes them or as
    the one who asks calls them; what it cost in the solver's own units; which conditions of the
    question were `used`."""

    result: str
    model: Mapping[str, int] = field(default_factory=dict)
    cost: int = 0
    used: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Whether several conditions can hold at once, in SMT-LIB 2. Symbols are written by numbers,
    in the order in which they stand there, so that the same question has the same text."""

    text: str
    spelled: Mapping[str, str]  # symbols as they are written


def question(conditions: Iterable[Formula]) -> Question:
    spelled: dict[str, str] = {}
    truths: set[str] = set()
    lines = []
    for each in conditions:
        truths.update(truths_of(each))
        lines.append(f"(assert {smt(each, lambda name: spell(name, spelled))})")
    kinds = ((at, "Bool" if name in truths else "Int") for name, at in spelled.items())
    declared = [f"(declare-const {at} {kind})" for at, kind in kinds]
    return Question("\n".join((*declared, *lines)), spelled)


def spell(name: str, spelled: dict[str, str]) -> str:
    return spelled.setdefault(name, f"x{len(spelled)}")


# What z3's newer arithmetic does with products is not all counted: where coefficients are those of
# fixed-point arithmetic, some of it does not end. The older one gives up.
OLD_ARITHMETIC = 2
_LARGE = re.compile(r"\(\* \(?(?:- )?\d{10}")


def ask_z3(asked: Question, limit: int) -> Answer:
    """By the plain solver: what z3 would try first where products are not linear, bits of integers
    and all, seldom helps to show that something cannot be."""
    import z3

    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    solver.set("rlimit", limit)
    if _LARGE.search(asked.text):
        solver.set("arith.solver", OLD_ARITHMETIC)
    asserted = z3.parse_smt2_string(asked.text, ctx=context)
    for number, each in enumerate(asserted):
        solver.assert_and_track(each, f"fact {number}")
    result = str(solver.check())
    spent: Any = solver.statistics()
    cost = sum(value for name, value in spent if name == "rlimit count")
    if result == "unsat":
        core = {str(each) for each in solver.unsat_core()}
        used = tuple(at for at in range(len(asserted)) if f"fact {at}" in core)
        return Answer(result, cost=int(cost), used=used)
    model = {}
    if result == "sat":
        found = {str(each): solver.model()[each] for each in solver.model().decls()}
        model = {at: _number_of(found.get(at)) for at in asked.spelled.values()}
    return Answer(result, model, int(cost))


def _number_of(value: Any) -> int:
    """What a solver gives a symbol, conditions as 0 or 1; where it says nothing, 0 will do."""
    written = "0" if value is None else str(value)
    return int({"True": "1", "False": "0"}.get(written, written))


def ask_cvc5(asked: Question, limit: int) -> Answer:
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("rlimit", str(limit))
    solver.setLogic("QF_NIA")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(
        cvc5.InputLanguage.SMT_LIB_2_6, f"{asked.text}\n(check-sat)\n", "obligation"
    )
    symbols = parser.getSymbolManager()
    result = "unknown"
    while not (command := parser.nextCommand()).isNull():
        said = command.invoke(solver, symbols).strip()
        result = said if said in ("sat", "unsat") else result
    return Answer(result)


SOLVERS: Mapping[str, tuple[str, Callable[[Question, int], Answer]]] = {
    "z3": ("z3", ask_z3),
    "cvc5": ("cvc5", ask_cvc5),
}


PACKAGES = {"z3": "z3-solver", "cvc5": "cvc5"}


def installed() -> tuple[str, ...]:
    """The solvers that are there."""
    return tuple(name for name, (module, _) in SOLVERS.items() if find_spec(module))


@cache
def solver_version(solver: str) -> str:
    try:
        return version(PACKAGES[solver])
    except PackageNotFoundError:  # built by hand
        return "unknown"


def ask(solver: str, asked: Question, limit: int) -> Answer:
    return named(answered(solver, asked, limit), asked)


def named(answer: Answer, asked: Question) -> Answer:
    """An answer with the values of symbols as the one who asks calls them."""
    if not answer.model:
        return answer
    return replace(answer, model={name: answer.model[at] for name, at in asked.spelled.items()})


def answered(solver: str, asked: Question, limit: int) -> Answer:
    """What a solver says of a text, from the cache if it was asked before."""
    run = SOLVERS[solver][1]
    if run.__module__ != __name__ or solver_version(solver) == "unknown":
        return run(asked, limit)
    asking = f"{solver} {solver_version(solver)} {_own_digest()}"
    key = content_key({"question": asked.text}, compiler=asking, flags=(str(limit),))
    path = get_or_build(key, "-answer.json", partial(_write, run, asked, limit))
    found = json.loads(path.read_text(encoding="utf-8"))
    return Answer(found["result"], found["model"], found["cost"], tuple(found["used"]))


def _write(run: Callable[[Question, int], Answer], asked: Question, limit: int, path: Path) -> None:
    path.write_text(json.dumps(asdict(run(asked, limit))), encoding="utf-8")


@cache
def _own_digest() -> str:
    """Of how solvers are asked."""
    return sha256(Path(__file__).read_bytes()).hexdigest()
