"""Invented schedules for C: actions that each name what the nest has by then, whatever they do.

A schedule grows by one action at a time, as somebody would write it: what is refused is left out,
what is accepted stays, and the roles that it makes can be named from then on. Some begin with
nothing, others with what is left of a schedule that works. What is accepted is compiled and called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from cvmgen import driver
from cvmgen.ir.nodes import Program
from cvmgen.ir.visit import walk
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.legality import applied
from cvmgen.schedule.schedules import checked_schedules
from cvmgen.schedule.subject import Subject
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules

NUMBERS = (1, 2, 3, 4, 7, 8, 16, 32, 63, 64, 100, 1024, 8192, 65536, 2**31, 2**40)
USUAL = (2, 3, 4, 7, 8, 16, 32, 64)
BOUNDS = (0, 1, 1, 1, 2, 4, 5, 16, 40, 1000, 2**40)
MEASURES = ("results", "elements", "work", "entries", "iterations", "points")
INTRINSICS = ("dot4",)
# As `cvmgen list --schedules` has them.
FORMS = [form for kind in ACTIONS.values() if "c" in kind.targets for form in kind.forms]
ROLES = {name: tuple(kind.roles) for name, kind in CLASSES.items()}
SHIPPED = Path(__file__).parents[2] / "spec" / "schedules" / "c.sched"


def shipped_schedules() -> Mapping[str, tuple[str, ...]]:
    """The actions of the schedules that come with cvmgen, by class."""
    text = re.sub(r'"[^"]*"', "", SHIPPED.read_text(encoding="utf-8"))
    blocks = re.findall(r"^schedule (\w+) for c \{\n(.*?)^\}", text, re.M | re.S)
    return {
        name: tuple(line.strip() for line in body.splitlines() if line.strip())
        for name, body in blocks
    }


@dataclass(slots=True)
class Nests:
    """The nests of an operator, for some of its choices of types, that a class takes."""

    operator: Operator
    subjects: Mapping[str, list[Subject]]  # by class, with the roles that it gives

    @classmethod
    def of(cls, operator: Operator, program: Program) -> Nests:
        kernels = driver.typed_kernels(program)
        found: dict[str, list[Subject]] = {}
        for number, _ in enumerate(kernels.program.nests):
            for subject in (each.subject for each in kernels.of(number)[:2]):
                for shape in CLASSES:
                    text = f"schedule {shape} for c {{\n}}\n"
                    schedules = checked_schedules(parse_schedules(Source("z.sched", text)))
                    plan, chosen = schedules.chosen("c", subject)
                    if plan is not None:
                        found.setdefault(shape, []).append(chosen)
        return cls(operator, found)


@dataclass(slots=True)
class Growing:
    """A schedule, as far as it has come, and the nests that it is for."""

    shape: str
    subjects: list[Subject]
    lines: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    tried: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)  # schedules that break the compiler

    def text(self, *more: str) -> str:
        lines = "".join(f"  {line}\n" for line in (*self.lines, *more))
        return f"schedule {self.shape} for c {{\n{lines}}}\n"

    @property
    def size(self) -> int:
        """The parts of the largest of the nests."""
        return max(sum(1 for _ in walk(each.body)) for each in self.subjects)

    def add(self, line: str) -> bool:
        """Whether an action is accepted that makes something else of a nest."""
        self.tried += 1
        text = self.text(line)
        try:
            schedules = checked_schedules(parse_schedules(Source("z.sched", text)))
            use = schedules.plans["c", self.shape].uses[-1]
            made = [applied(use, each) for each in self.subjects]
        except (SpecError, SpecErrors):
            return False
        except Exception as error:
            self.faults.append((text, f"{type(error).__name__}: {error}"))
            return False
        if all(new.is_like(old) for new, old in zip(made, self.subjects, strict=True)):
            return False
        self.subjects = made
        self.lines.append(line)
        self.roles += [each for each in made[0].roles if each not in self.roles]
        return True


class Inventor:
    """Draws actions, and schedules of them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.shipped = shipped_schedules()

    def schedule(self, shape: str, subjects: Sequence[Subject]) -> Growing:
        found = Growing(shape, list(subjects), roles=[*ROLES[shape]])
        random = self.random
        ways = [self.mutated, self.mutated, self.mutated, self.alone, self.built]
        for line in random.choice(ways)(found):
            found.add(line)
        return found

    def mutated(self, growing: Growing) -> Iterator[str]:
        """What is left of a schedule that works, with others between, and some of it again."""
        random = self.random
        lines = [*random.choice([*self.shipped.values()])]
        if growing.shape in self.shipped and random.random() < 0.8:
            lines = [*self.shipped[growing.shape]]
        for _ in range(random.choice((0, 0, 1, 2))):
            one = lines.pop(random.randrange(len(lines)))
            if random.random() < 0.5:
                lines.insert(random.randint(0, len(lines)), one)
            if not lines:
                break
        for line in lines:
            if random.random() < 0.15:
                yield self.action(growing)
            if random.random() < 0.08:
                continue
            if random.random() < 0.12:
                line = self.of_others(line, growing)
            yield self.eager(line)
        if lines and random.random() < 0.3:
            first = random.randrange(len(lines))
            for line in lines[first : first + random.randint(1, 8)]:
                yield self.again(self.eager(self.of_others(line, growing)))
        for _ in range(random.randint(0, 3)):
            yield self.action(growing)

    def of_others(self, line: str, growing: Growing) -> str:
        """The line with another loop for one of those that it speaks of."""
        spoken, behind, made = line.partition(" into ")
        known = [each for each in growing.roles if re.search(rf"\b{each}\b", spoken)]
        if not known:
            return line
        old, new = self.random.choice(known), self.random.choice(growing.roles)
        return re.sub(rf"\b{old}\b", new, spoken, count=1) + behind + made

    def again(self, line: str) -> str:
        """The line with other names for what it makes."""
        head, into, made = line.partition(" into ")
        made, when, test = made.partition(" when ")
        names = (f"n{self.random.randrange(10**6)}" for _ in made.split(", "))
        return head + into + ", ".join(names) * bool(into) + when + test

    def alone(self, growing: Growing) -> Iterator[str]:
        for _ in range(self.random.randint(4, 40)):
            yield self.action(growing)

    def built(self, growing: Growing) -> Iterator[str]:
        """Loops in blocks and arrays over them, which many actions need, and then anything."""
        loop = self.random.choice(growing.roles)
        size = self.random.choice(USUAL)
        yield f"split {loop} by {size} into block, lane"
        if "totals" in growing.roles:
            yield "expand totals over lane"
            if self.random.random() < 0.7:
                yield "distribute lane"
            if self.random.random() < 0.7:
                yield "reorder summed, lane"
        yield from self.alone(growing)

    def eager(self, line: str) -> str:
        """The line, with tests that small calls pass."""
        bound = str(self.random.choice(BOUNDS))
        line = re.sub(r">= \d+", f">= {bound}", line)
        if self.random.random() < 0.6:
            line = re.sub(r"by \d+", lambda _: f"by {self.random.choice(USUAL)}", line)
        return line

    def action(self, growing: Growing) -> str:
        random = self.random
        form = random.choice(FORMS)

        def operand(found: re.Match[str]) -> str:
            match found[0]:
                case "LOOP" | "LOCAL":
                    return random.choice(growing.roles)
                case "LOOPS":
                    few = min(len(growing.roles), random.choice((1, 1, 1, 2, 3)))
                    return ", ".join(random.sample(growing.roles, few))
                case "NEW":
                    return f"n{random.randrange(10**6)}"
                case "NUMBER":
                    return str(random.choice(USUAL if random.random() < 0.8 else NUMBERS))
                case "MEASURE":
                    return random.choice(MEASURES)
                case _:
                    return random.choice(INTRINSICS)

        line = re.sub(r"LOCAL|LOOPS|LOOP|NEW|NUMBER|MEASURE|INTRINSIC", operand, form)
        if form.startswith("expand") and random.random() < 0.8 and "totals" in growing.roles:
            line = re.sub(r"^expand \w+", "expand totals", line)
        return re.sub(r">= \d+", lambda _: f">= {random.choice(BOUNDS)}", line)
