"""What kernels keep whose threads work together: all of a block meet where they must, what a loop
divides among threads is joined before it is read, and no element is stored by all of them.

Each value has a level: it is the same for all threads of a block, for those of a team (which makes
one result), or may differ from thread to thread; so has the control that leads to a statement.
Loads at the same place give the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, names_in, nodes_in, read_tensors
from cvmgen.ir.visit import walk

BLOCK, TEAM, THREAD = 0, 1, 2  # the largest group that has a value in common
# What helpers give, whatever they are given.
GIVES: Mapping[str, int] = {
    **dict.fromkeys(("thread", "lane", "share_of", "stores", "block_rank"), THREAD),
    **dict.fromkeys(("team_of", "combine"), TEAM),
    **dict.fromkeys(("block_all", "block_any", "block_keep"), BLOCK),
}
# Helpers that wait for all threads of a block, or for those of a team, that make one result.
MEET: Mapping[str, int] = {
    **dict.fromkeys(("block_all", "block_any", "block_keep", "block_rank", "contract"), BLOCK),
    "combine": TEAM,
}
JOIN = ("block_all", "block_any", "combine")  # what threads have of a local
OWN = ("grid", "block", "team")  # threads that divide a loop: each makes iterations of its own


def thread_fault(body: i.Block) -> str:
    """What in a kernel threads may not do; empty where there is nothing."""
    try:
        UniformityWalk().block(body, BLOCK)
    except ThreadFaultError as fault:
        return str(fault)
    return ""


class ThreadFaultError(Exception):
    """What threads may not do."""


def divergence(what: str) -> NoReturn:
    raise ThreadFaultError(what)


class UniformityWalk:
    """Walks a kernel in order, each loop twice: what an iteration leaves is there for the next."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.around: list[i.Loop] = []  # the divided loops
        self.apart: set[str] = set()  # locals of which each thread has what it made of a loop
        self.shared: set[str] = set()  # arrays of a block
        self.written: set[str] = set()  # of these, what was stored and not waited for
        self.seen: set[str] = set()  # and what was read

    def block(self, body: i.Block, control: int) -> int:
        """Check statements that threads reach together as `control` says; how those behind them
        do: some may have left."""
        for each in body:
            self.reads(each)
            control = max(control, self.statement(each, control))
        return control

    def statement(self, statement: i.Stmt, control: int) -> int:
        match statement:
            case i.Loop():
                return self.loop(statement, control)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.meet(condition, control)
                test = max(control, self.level(condition))
                left = max(self.block(then, test), self.block(otherwise, test))
                return left if has((then, otherwise), i.Break, i.Return) else BLOCK
            case i.Let(name=name, value=value):
                self.meet(value, control)
                self.levels[name] = self.level(value)
                self.apart.discard(name)
            case i.Assign(name=name, value=value):
                self.meet(value, control)
                self.change(name, max(control, self.level(value)), is_team_value(value, name))
            case i.Accumulate(name=name, value=value):
                self.change(name, max(control, self.level(value), self.levels.get(name, 0)))
            case i.Array(name=name, space="shared"):
                self.shared.add(name)
            case i.Barrier():
                self.together("a barrier", BLOCK, control)
                self.written.clear()
                self.seen.clear()
            case i.Sort(among="block"):
                self.together("a sort", BLOCK, control)
            case i.Store(target=target):
                self.store(target, control)
            case i.Invoke(call=call):
                self.meet(call, control)
            case _:
                pass
        return BLOCK

    def loop(self, loop: i.Loop, control: int) -> int:
        divided = loop.share is not None and loop.share.among in OWN
        inner = THREAD if divided else max(control, self.level((loop.low, loop.high)))
        self.levels[loop.index] = inner
        self.around += [loop] if divided else []
        for _ in range(2):
            inner = max(inner, self.block(loop.body, inner))
        self.around = self.around[:-1] if divided else self.around
        return inner if has(loop.body, i.Return) else BLOCK

    # -------------------------------------------------------- values

    def level(self, node: object) -> int:
        """The level of an expression."""
        match node:
            case i.Call(function=function) if function in GIVES:
                return GIVES[function]
            case i.Call(arguments=arguments):
                return self.level(arguments)
            case tuple():
                return max(map(self.level, node), default=BLOCK)
            case _:
                calls = [*nodes_in(node, i.Call)]
                names = (self.levels.get(name, BLOCK) for name in names_in(node))
                return max(
                    [*names, *(GIVES.get(each.function, BLOCK) for each in calls)], default=0
                )

    def change(self, name: str, level: int, joined: bool = False) -> None:
        """A local gets a value; what each thread of several has of it must be joined."""
        self.levels[name] = level
        if joined:
            self.apart.discard(name)
        elif self.around and not self.own(name):
            outermost = self.around[0]
            if outermost.share is not None and outermost.share.among == "grid":
                divergence(
                    f"the loop {outermost.index} is divided among all threads, and carries {name}"
                )
            self.apart.add(name)

    def own(self, name: str) -> bool:
        """Whether an iteration of a divided loop has a local for itself."""
        return any(each.name == name for each in nodes_in(self.around[-1].body, i.Let))

    def reads(self, statement: i.Stmt) -> None:
        """Locals must be joined, and what a block shares must be there, before they are read."""
        if not self.around:
            for name in sorted(names_in(heads(statement)) & self.apart):
                if not (isinstance(statement, i.Assign) and is_team_value(statement.value, name)):
                    divergence(f"{name} is read, of which each thread has its own share")
        for name in sorted(read_tensors(heads(statement)) & self.shared):
            if name in self.written:
                divergence(f"{name} is read before all threads of the block have written it")
            self.seen.add(name)

    # -------------------------------------------------------- together

    def store(self, target: i.Access | i.Load, control: int) -> None:
        if control < THREAD:
            divergence(f"all threads of a block store the same element of {target.tensor}")
        if target.tensor in self.shared:
            if target.tensor in self.seen:
                divergence(f"{target.tensor} is written anew before all threads have read it")
            self.written.add(target.tensor)

    def meet(self, value: i.Expr, control: int) -> None:
        """Calls for which threads wait, and functions that helpers call by threads of their own."""
        for each in walk(value):
            match each:
                case i.Call(function=function) if function in MEET:
                    self.together(function, MEET[function], control)
                    self.levels |= dict.fromkeys(changed_by(each), BLOCK)
                case i.Lambda(body=body):
                    self.block(body, THREAD)
                case _:
                    pass

    def together(self, what: str, group: int, control: int) -> None:
        if control > group:
            who = "a block" if group == BLOCK else "a team"
            divergence(f"not all threads of {who} reach {what}, which waits for them")


def heads(statement: i.Stmt) -> object:
    """What a statement itself reads, without the statements in it and without where it stores."""
    match statement:
        case i.Loop(low=low, high=high, share=share):
            return (low, high, share)
        case i.If(condition=condition):
            return condition
        case i.Store(target=i.Load(offset=offset), value=value):
            return (offset, value)
        case _:
            return statement


def is_team_value(value: i.Expr, name: str) -> bool:
    """Whether a value is what all threads have of a local."""
    match value:
        case i.Call(function=function, arguments=arguments):
            return function in JOIN and i.Var(name) in arguments
        case _:
            return False


def changed_by(call: i.Call) -> set[str]:
    """The locals that a helper changes."""
    places = (each.place for each in call.arguments if isinstance(each, i.Address))
    return {place.name for place in places if isinstance(place, i.Var)}
