"""The way inwards to one statement: loops and guards in each other, with locals between."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import nodes as i

Step = i.Let | i.Expr


@dataclass(frozen=True, slots=True)
class Path:
    """The loops around a statement, outermost first, and what stands in front of it: `steps` are
    locals, and tests without which nothing behind them runs, in their order."""

    loops: tuple[i.Loop, ...]
    steps: tuple[Step, ...]
    last: i.Stmt

    @property
    def lets(self) -> tuple[i.Let, ...]:
        return tuple(each for each in self.steps if isinstance(each, i.Let))

    @property
    def tests(self) -> tuple[i.Expr, ...]:
        return tuple(each for each in self.steps if not isinstance(each, i.Let))


def path(statement: i.Stmt) -> Path:
    """The way from a statement inwards, to the first one that has more in it than locals and one
    statement behind them."""
    loops: list[i.Loop] = []
    steps: list[Step] = []
    while True:
        match statement:
            case i.Loop(body=(*locals_, inner)) if all_locals(locals_):
                loops.append(statement)
            case i.If(condition=test, then=(*locals_, inner), otherwise=()) if all_locals(locals_):
                steps.append(test)
            case _:
                return Path(tuple(loops), tuple(steps), statement)
        steps += (each for each in locals_ if isinstance(each, i.Let))
        statement = inner


def all_locals(statements: list[i.Stmt]) -> bool:
    return all(isinstance(each, i.Let) for each in statements)
