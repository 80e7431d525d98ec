"""Whether conditions can hold together, as z3 knows it, and inputs for which they do."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from typing import Any

from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import Assignment, CallTooLarge, Place, elements_of
from cvmgen.verification.values.table import TABLE

# Of the solver, so that what it finds does not depend on the machine.
STEPS = 300_000
EXACT_STEPS = 1_000_000
WAY_STEPS = 50_000  # of those of a call by which ways of its formula are left out
CALL_STEPS = 150_000  # of all questions of a call: few that need more come to an end


@functools.cache
def there() -> bool:
    return importlib.util.find_spec("z3") is not None


def spent() -> int:
    """The steps that were taken in a call."""
    return TABLE.spent[-1] - TABLE.spent[0] if TABLE.spent else 0


def possible(conditions: Iterable[t.Condition], *, exact: bool = True) -> bool:
    """False where no inputs make all of them hold; True also where that is not known.

    Products are numbers of their own first, of which only signs and sizes are known: what is
    impossible for these is so for the products, and a linear solver sees it at once. Unless it
    is asked to be exact, that is all.
    """
    return not there() or all(_answer(part, exact) is not None for part in independent(conditions))


def example(conditions: Iterable[t.Condition]) -> Assignment:
    """Inputs for which all of them may hold: elements of which a solver says nothing are left
    out, and operations that it has no word for are not what it takes them to be."""
    found: Assignment = {}
    for part in independent(conditions) if there() else ():
        found |= _answer(part, True) or {}
    return found


def independent(conditions: Iterable[t.Condition]) -> Iterator[frozenset[t.Condition]]:
    """The conditions in parts that have no element in common: all can hold if each part can, and
    what was asked of a part need not be asked again."""
    parts: list[tuple[frozenset[Place], set[t.Condition]]] = []
    for each in dict.fromkeys(conditions):
        about, members = _elements(each), {each}
        apart = []
        for places, others in parts:
            if places.isdisjoint(about):
                apart.append((places, others))
            else:
                about, members = about | places, members | others
        parts = [*apart, (about, members)]
    return (frozenset(members) for _, members in parts)


def _elements(test: t.Condition) -> frozenset[Place]:
    """The elements that a condition speaks of."""
    known = TABLE.elements
    if test not in known:
        known[test] = known[test.other] = frozenset(elements_of([test]))
    return known[test]


def _answer(part: frozenset[t.Condition], exact: bool) -> Assignment | None:
    """Inputs for a part, as far as they are known; None where there are none."""
    answers = TABLE.answers
    if (part, exact) not in answers:
        answers[part, exact] = _asked(sorted(part, key=lambda each: each.number), exact)
    return answers[part, exact]  # type: ignore[no-any-return]


def _asked(conditions: list[t.Condition], exact: bool) -> Assignment | None:
    z3: Any = importlib.import_module("z3")
    linear = _Linear(z3)
    found = _solved(z3.Solver(), STEPS, linear, conditions)
    if found is None or not (exact and linear.products):
        return found
    # z3's qfnia turns products of elements of a few bits to bits, whose numbers end.
    return _solved(z3.Tactic("qfnia").solver(), EXACT_STEPS, _Words(z3), conditions)


def _solved(
    solver: Any, steps: int, words: _Words, conditions: list[t.Condition]
) -> Assignment | None:
    if spent() > CALL_STEPS:
        raise CallTooLarge(f"more than {CALL_STEPS} steps of the solver")
    solver.set("rlimit", steps)
    for each in conditions:
        solver.add(words.condition(each))
    solver.add(*words.bounds)
    said = solver.check()
    TABLE.spent += [int(steps) for name, steps in solver.statistics() if name == "rlimit count"]
    if said == words.z3.unsat:
        return None
    return words.inputs(solver.model()) if said == words.z3.sat else {}


class _Words:
    """Terms as the solver has them: an atom that it has no word for is any number of its bounds."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.atoms: dict[int, Any] = {}
        self.cores: dict[Any, Any] = {}
        self.bounds: list[Any] = []

    def inputs(self, model: Any) -> Assignment:
        """The elements as a model has them."""
        keys = {number: TABLE.atoms[number].key for number in self.atoms}
        return {
            key[1:]: model.eval(self.atoms[number], model_completion=True).as_long()
            for number, key in keys.items()
            if key[0] == "input"
        }

    def integer(self, value: t.Integer) -> Any:
        if isinstance(value, int):
            return self.z3.IntVal(value)
        total = self.z3.IntVal(0)
        for monomial, factor in value.parts.items():
            total = total + factor * self.product(monomial)
        return total

    def product(self, monomial: t.Monomial) -> Any:
        result = self.z3.IntVal(1)
        for number in monomial:
            result = result * self.atom(number)
        return result

    def key(self, key: Any) -> Any:
        return self.integer(t.of_key(key))

    def atom(self, number: int) -> Any:
        if number not in self.atoms:
            atom = TABLE.atoms[number]
            self.atoms[number] = word = self.z3.Int(f"a{number}")
            self.bounds += [word >= atom.low, word <= atom.high]
            self.define(word, atom.key)
        return self.atoms[number]

    def define(self, word: Any, key: tuple[Any, ...]) -> None:
        match key:
            case ("if", test, yes, no):
                self.bounds.append(
                    word == self.z3.If(self.condition(test), self.key(yes), self.key(no))
                )
            case ("max" | "min" as name, members):
                words = [self.key(member) for member in members]
                self.bounds.append(self.z3.Or([word == each for each in words]))
                self.bounds += [word >= each if name == "max" else word <= each for each in words]
            case ("div", a, int(b)) if b > 0:
                self.bounds.append(word == self.key(a) / b)
            case ("entry", index, first, entries):
                at = self.key(index)
                for place, entry in enumerate(entries):
                    if not isinstance(entry, rt.RealTerm):
                        holds = self.z3.Implies(at == first + place, word == self.key(entry))
                        self.bounds.append(holds)
            case _:
                pass

    def compared(self, key: Any, least: int) -> None:
        """For b > 0, a div b >= c just where a >= c*b: no product of an unknown quotient is left,
        which the solver would not find its way through."""
        quotient = t.single(t.of_key(key))
        if quotient is not None and quotient.key[0] == "div":
            a, b = map(self.key, quotient.key[1:])
            reached = (self.atom(quotient.number) >= least) == (a >= least * b)
            self.bounds.append(self.z3.Implies(b > 0, reached))

    def condition(self, test: t.Condition) -> Any:
        found = self.core(test.core)
        return found if test.holds else self.z3.Not(found)

    def core(self, core: tuple[Any, ...]) -> Any:
        match core:
            case ("ge", key, least):
                self.compared(key, least)
                return self.key(key) >= least
            case ("eq", key, value):
                return self.key(key) == value
            case ("and", parts):
                return self.z3.And([self.condition(part) for part in parts])
            case _:
                pass
        if core not in self.cores:
            self.cores[core] = self.z3.Bool(f"c{len(self.cores)}")
        return self.cores[core]


class _Linear(_Words):
    """A product of numbers as a number, with the laws of its sign and that it is not nearer to 0
    than a factor of it."""

    def __init__(self, z3: Any) -> None:
        super().__init__(z3)
        self.products: dict[t.Monomial, Any] = {}

    def product(self, monomial: t.Monomial) -> Any:
        if len(monomial) < 2:
            return super().product(monomial)
        if monomial not in self.products:
            self.products[monomial] = made = self.z3.Int("m" + "_".join(map(str, monomial)))
            self.lemmas(made, self.atom(monomial[0]), self.product(monomial[1:]))
        return self.products[monomial]

    def lemmas(self, made: Any, a: Any, b: Any) -> None:
        z3 = self.z3
        self.bounds += [
            (made == 0) == z3.Or(a == 0, b == 0),
            (made > 0) == z3.Or(z3.And(a > 0, b > 0), z3.And(a < 0, b < 0)),
            z3.Implies(z3.And(a > 0, b > 0), z3.And(made >= a, made >= b)),
        ]
