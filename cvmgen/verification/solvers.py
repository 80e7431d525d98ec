"""Two solvers that are asked the same question in the same text.

Their work is limited by counts of their own, never by time, so that an answer does not depend on
the machine. Neither is needed to run cvmgen; without one of them the other is asked alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from cvmgen.verification.terms import Formula, smt, truths_of


@dataclass(frozen=True, slots=True)
class Answer:
    """unsat, sat or unknown; of a `model` the values of symbols; what it cost in the solver's own
    units; which conditions of the question were `used`."""

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
        model = {name: _number_of(found.get(at)) for name, at in asked.spelled.items()}
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


def installed() -> tuple[str, ...]:
    """The solvers that are there."""
    return tuple(name for name, (module, _) in SOLVERS.items() if find_spec(module))


def ask(solver: str, asked: Question, limit: int) -> Answer:
    return SOLVERS[solver][1](asked, limit)
