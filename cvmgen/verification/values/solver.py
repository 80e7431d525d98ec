"""Whether conditions can hold together, as z3 knows it."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from typing import Any

from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t

STEPS = 300_000  # of the solver, so that what it finds does not depend on the machine


@functools.cache
def there() -> bool:
    return importlib.util.find_spec("z3") is not None


def possible(conditions: Iterable[t.Condition]) -> bool:
    """False where no inputs make all of them hold; True also where that is not known."""
    if not there():
        return True
    z3: Any = importlib.import_module("z3")
    solver = z3.Solver()
    solver.set("rlimit", STEPS)
    words = _Words(z3)
    for each in conditions:
        solver.add(words.condition(each))
    solver.add(*words.bounds)
    return bool(solver.check() != z3.unsat)


class _Words:
    """Terms as the solver has them: an atom that it has no word for is any number of its bounds."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.atoms: dict[int, Any] = {}
        self.cores: dict[Any, Any] = {}
        self.bounds: list[Any] = []

    def integer(self, value: t.Integer) -> Any:
        if isinstance(value, int):
            return self.z3.IntVal(value)
        total = self.z3.IntVal(0)
        for monomial, factor in value.parts.items():
            product = self.z3.IntVal(factor)
            for number in monomial:
                product = product * self.atom(number)
            total = total + product
        return total

    def key(self, key: Any) -> Any:
        return self.integer(t.of_key(key))

    def atom(self, number: int) -> Any:
        if number not in self.atoms:
            atom = t.TABLE.atoms[number]
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

    def condition(self, test: t.Condition) -> Any:
        found = self.core(test.core)
        return found if test.holds else self.z3.Not(found)

    def core(self, core: tuple[Any, ...]) -> Any:
        match core:
            case ("ge", key, least):
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
