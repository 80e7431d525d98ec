"""Reductions whose iterations may be divided: which loops they are, and what may be done how.

A sweep is a loop that does nothing but accumulate by operations which give the same bits in
every order: then threads may take shares of it, in any order, and combine what they have. Sums of
real numbers are not among these operations, their maxima and minima are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from cvmgen import algebra
from cvmgen.analysis.grid import grid
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent, leaves_loop
from cvmgen.ir.rewrite import identity_element, index_values
from cvmgen.ir.uses import assigned, carried, has, names_in, nodes_in, read_tensors, reassigned
from cvmgen.ir.visit import substitute, walk

FEW = 32  # iterations that a thread makes faster alone than together with others
# How the shares of a decision are joined, by its value before any element has decided.
DECISIONS = {False: "or", True: "and"}
ANY_ORDER = {
    "+": {"u32", "u64", "i128"},  # modulo a power of two, or wide enough for every sum
    "*": {"u32", "u64", "i128"},
    "max": {"i32", "i64", "i128", "f64"},  # of NaN, +0 and -0 the function decides, not the order
    "min": {"i32", "i64", "i128", "f64"},
    "and": {"bool"},
    "or": {"bool"},
    "|": {"i32"},
}
SETS = (i.Let, i.Assign, i.Accumulate)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Loops around one body: `rows` and inside them `columns`, with the locals of a row between.

    `combined` are the accumulators with the operation that joins two shares of each.
    """

    rows: tuple[i.Loop, ...]
    locals: i.Block
    columns: i.Loop
    combined: tuple[tuple[str, str], ...]

    @property
    def loops(self) -> tuple[i.Loop, ...]:
        return (*self.rows, self.columns)

    @property
    def body(self) -> i.Block:
        return self.columns.body


@dataclass(frozen=True, slots=True)
class NestReduction:
    """What is done for one result: statements with sweeps in them, then what one thread does.

    It `splits` where a sweep's accumulators matter to nothing but the end: then each may be made
    of parts that are worked on apart.
    """

    head: i.Block
    tail: i.Block
    sweeps: Mapping[i.Loop, Sweep]
    splits: bool

    @property
    def accumulators(self) -> tuple[str, ...]:
        combined = (name for sweep in self.sweeps.values() for name, _ in sweep.combined)
        return tuple(dict.fromkeys(combined))


def find_reduction(
    indices: Sequence[str], body: i.Block, *, exact: bool = False
) -> NestReduction | None:
    """The reduction that makes one result, whose indices are given; None for another shape.
    Where sums are `exact`, their types hold whatever comes of some of their terms."""
    found = Sweeps(indices, body, exact)
    last = max((at for at, each in enumerate(body) if found.has_sweep(each)), default=None)
    if last is None or found.refused or all(map(few, found.sweeps.values())):
        return None
    head, tail = body[: last + 1], body[last + 1 :]
    if has(head, i.Store, i.Overflow, i.Sort) or has(tail, i.Loop):
        return None
    if found.slides() or found.contracts():
        return None
    return NestReduction(*with_sunk_locals(head, tail), found.sweeps, found.splits(head))


class Sweeps:
    """Finds the sweeps among the statements for one result."""

    def __init__(self, indices: Sequence[str], body: i.Block, exact: bool) -> None:
        self.exact = exact
        self.varying = assigned(body) | set(indices)
        self.types = {each.name: each.type for each in nodes_in(body, i.Let)}
        # For each index of the result, what is computed of it.
        self.reach = {each: dependent(body, {each}) for each in indices}
        self.sweeps: dict[i.Loop, Sweep] = {}
        self.refused = False  # a loop accumulates in a way that cannot be divided
        self.block(body, {})

    def block(self, statements: i.Block, starts: Mapping[str, i.Expr]) -> None:
        """Find sweeps; `starts` are the first values of locals around that still have them."""
        starts = dict(starts)
        for each in statements:
            match each:
                case i.Let(name=name, value=value):
                    starts[name] = value
                case i.Loop() if carried(each):
                    self.loop(each, starts)
                case i.If(then=then, otherwise=otherwise):
                    self.block(then, starts)
                    self.block(otherwise, starts)
                case _:
                    pass
            for name in reassigned((each,)):
                starts.pop(name, None)

    def loop(self, loop: i.Loop, starts: Mapping[str, i.Expr]) -> None:
        sweep = self.sweep(loop, starts)
        if sweep is None:
            self.refused = True
        else:
            self.sweeps[loop] = sweep

    def sweep(self, loop: i.Loop, starts: Mapping[str, i.Expr]) -> Sweep | None:
        """A loop as a sweep, where its iterations may be made in any order."""
        combined = []
        for name in sorted(carried(loop)):
            op = self.operation(loop, name, starts)
            if op is None:
                return None
            combined.append((name, op))
        steady = takewhile(self.steady, grid((loop,)).loops)
        found = grid((loop,), len([*steady]))
        if not found.loops:
            return None
        *rows, columns = found.loops
        if leaves_loop(columns.body) and not decides(columns, combined):
            return None
        locals_ = found.body[: len(found.body) - len(columns.body)]
        return Sweep(tuple(rows), locals_, columns, tuple(combined))

    def operation(self, loop: i.Loop, name: str, starts: Mapping[str, i.Expr]) -> str | None:
        """How shares of an accumulator are joined; None where the order of its values matters."""
        uses = [each for each in walk(loop) if getattr(each, "name", None) == name]
        terms = [each for each in uses if isinstance(each, i.Accumulate)]
        choices = [each for each in uses if isinstance(each, i.Assign)]
        if name not in starts or len(terms) + len(choices) < len(uses):
            return None  # read in the loop, a list, or begun with what is not known
        start, type_name = starts[name], self.types[name]
        if choices:
            known = type_name == "bool" and isinstance(start, i.Const)
            decided = {each.value for each in choices}
            if terms or not known or decided != {i.Const(start == i.Const(False))}:
                return None
            return DECISIONS[start == i.Const(True)]
        op = terms[0].op
        if any(each.op != op for each in terms) or not neutral(op, start):
            return None
        # A count is below what its type holds, and so is every part of it.
        counts = op == "+" and all(is_counted(each.value) for each in terms)
        holds = self.exact and op == "+" and type_name in ("i32", "i64")
        return op if counts or holds or type_name in ANY_ORDER[op] else None

    def steady(self, loop: i.Loop) -> bool:
        """Whether the call alone decides how often a loop runs."""
        ends = (loop.low, loop.high)
        return loop.low is not None and not read_tensors(ends) and not names_in(ends) & self.varying

    # -------------------------------------------------------- what else must hold

    def has_sweep(self, statement: i.Stmt) -> bool:
        return any(isinstance(each, i.Loop) and each in self.sweeps for each in walk(statement))

    def slides(self) -> bool:
        """Whether a window slides over elements: a test of places, by both kinds of indices."""
        by_result = frozenset[str]().union(*self.reach.values())
        for loop, sweep in self.sweeps.items():
            by_sweep = dependent((loop,), {each.index for each in sweep.loops})
            for each in walk(loop):
                if isinstance(each, i.If) and not read_tensors(each.condition):
                    names = names_in(each.condition)
                    if names & by_result and names & by_sweep:
                        return True
        return False

    def contracts(self) -> bool:
        """Whether elements of several tensors meet, each of them read for many results."""
        loads = [*nodes_in(tuple(self.sweeps), i.Load)]
        if len({each.tensor for each in loads}) < 2:
            return False
        for each in loads:
            names = names_in(each.offset)
            used = sum(bool(names & reach) for reach in self.reach.values())
            if used in (0, len(self.reach)):
                return False
        return True

    def splits(self, head: i.Block) -> bool:
        """Whether results take the same way, and accumulators are only copied until the end."""
        combined = {name for sweep in self.sweeps.values() for name, _ in sweep.combined}
        made = dependent(head, combined)
        for each in walk(head):
            match each:
                case i.If(condition=condition) if self.has_sweep(each):
                    if read_tensors(condition) or names_in(condition) & self.varying:
                        return False
                case i.Let(value=value) | i.Assign(value=value):
                    if names_in(value) & made and not is_copy_of_local(value):
                        return False
                case i.Loop() if each in self.sweeps:
                    own = {name for name, _ in self.sweeps[each].combined}
                    if (names_in(each) - own) & made:
                        return False
                case _:
                    pass
        return True


# ---------------------------------------------------------------- statements


def with_sunk_locals(head: i.Block, tail: i.Block) -> tuple[i.Block, i.Block]:
    """Head and tail, with locals that the tail alone reads moved there."""
    kept: list[i.Stmt] = []
    for each in reversed(head):
        after = (*kept, *tail)
        match each:
            case i.Let(name=name, value=value) if name not in names_in(tuple(kept)) | reassigned(
                tuple(kept)
            ) and not names_in(value) & reassigned(after):
                tail = (each, *tail)
            case _:
                kept.insert(0, each)
    return tuple(kept), tail


def decides(loop: i.Loop, combined: Sequence[tuple[str, str]]) -> bool:
    """Whether all that a loop finds is one decision, so that it may end with it."""
    names = {each.name for each in nodes_in(loop, i.Assign)}
    return len(combined) == 1 and combined[0][0] in names


def few(sweep: Sweep) -> bool:
    """Whether a sweep has but a few iterations in every call."""
    iterations = 1
    for loop in sweep.loops:
        match extent(loop):
            case i.Const(value=value):
                iterations *= value
            case _:
                return False
    return iterations <= FEW


def dependent(statements: i.Block, names: Collection[str]) -> frozenset[str]:
    """The names, and all that is computed of them."""
    found = set(names)
    sets = [each for each in walk(statements) if isinstance(each, SETS)]
    while more := {each.name for each in sets if names_in(each.value) & found} - found:
        found |= more
    return frozenset(found)


# ---------------------------------------------------------------- values


def neutral(op: str, start: i.Expr) -> bool:
    """Whether shares may each begin with this value: a maximum may with any, taken again."""
    return op in ("max", "min") or start == identity_element(op)


def is_counted(term: i.Expr) -> bool:
    return isinstance(term, i.Const) and term.value in (0, 1)


def is_copy_of_local(value: i.Expr) -> bool:
    """Whether a value is that of another local, at most in another type."""
    return all(isinstance(each, (i.Var, i.Convert)) for each in walk(value))


def neighbour_steps(
    reduction: NestReduction, body: i.Block, index: str
) -> tuple[i.Expr, i.Expr] | None:
    """How far apart the elements are that two neighbouring results read, by their index, and those
    that two neighbouring iterations of the first sweep read; None where neither is known."""
    sweep = next(iter(reduction.sweeps.values()))
    names, varying, mutable = (
        (index, sweep.columns.index),
        assigned(body) | {index},
        reassigned(body),
    )
    lets = (each for each in nodes_in(body, i.Let) if each.name not in mutable)
    values = index_values(lets)
    for each in walk((sweep.locals, sweep.body)):
        if isinstance(each, i.Load):
            offset = substitute(each.offset, values)
            lines = [algebra.line(offset, name, dependent(body, {name})) for name in names]
            found = tuple(line.step for line in lines if line is not None)
            fixed = not (names_in(found) & varying or read_tensors(found))
            if len(found) == 2 and found[1] != i.ZERO and fixed:
                return found
    return None
