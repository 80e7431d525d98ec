"""Running reductions along long rows in parts, so that threads share a row.

    for n: total = 0; for k < K: total += x[n, k]; Y[n, k] = total

is, where there are few rows and these are long,

    sums[n, p]   = sum of x[n, k] over the part before p, 0 for the first one
    before[n, p] = sums[n, 0] + ... + sums[n, p]
    for n, p: total = before[n, p]; for k in part p: total += x[n, k]; Y[n, k] = total

with sums, maxima and minima of integers, which come out the same however their terms are grouped;
products leave 64 bits too soon for parts to be kept. A maximum's first part begins with the row's
first term, which changes nothing. How many parts there are follows from the shapes of a call alone,
and is 1 where the rows are work enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import insert
from cvmgen.ir.uses import bound_in, names_in
from cvmgen.ir.visit import fresh, replaced, substitute
from cvmgen.lower.list_nests import box_size
from cvmgen.lower.scans import FOLDS, NEUTRAL, STARTS
from cvmgen.lower.widths import Widths, host_ranges

PART = 4096  # terms of a part: as many as there are parts of a row of some ten millions
LONG = 65536  # terms of a row that is worth parts
OF_PARTS = "what each part of a row comes to"
BEFORE_PARTS = "what all parts of a row before one come to"


@dataclass(frozen=True, slots=True)
class RunningReduction:
    """A nest whose innermost loop goes on with what is in a local: `outer` are the loops around."""

    outer: tuple[i.Loop, ...]
    start: i.Let
    loop: i.Loop
    step: i.Accumulate


def part_scans(program: i.Program, rows: int | None) -> i.Program:
    """The program with parts of running reductions of integers along long rows.

    rows: calls with fewer rows than so many have parts; without it all have.
    """
    for nest in program.nests:
        found = running_reduction(nest)
        if found is not None:
            program = _parted(program, nest, found, rows)
    return program


def running_reduction(nest: i.Nest) -> RunningReduction | None:
    """What a nest is as a running reduction, if it is one."""
    outer: list[i.Loop] = []
    body = nest.body
    while len(body) == 1 and isinstance(body[0], i.Loop) and body[0].low == i.ZERO:
        outer.append(body[0])
        body = body[0].body
    match body:
        case (i.Let(name=name) as start, i.Loop(low=i.Const(value=0), body=inner) as loop) if (
            nest.each is None and nest.guarded is None and not _ends_vary(outer, loop)
        ):
            steps = [each for each in inner if isinstance(each, i.Accumulate)]
            stores = [each for each in inner if isinstance(each, i.Store)]
            if len(inner) == 2 and len(steps) == len(stores) == 1 and steps[0].name == name:
                return RunningReduction(tuple(outer), start, loop, steps[0])
    return None


def _ends_vary(outer: list[i.Loop], loop: i.Loop) -> bool:
    indices = {each.index for each in outer}
    return any(names_in(each.high) & indices for each in (*outer, loop))


def _parted(
    program: i.Program, nest: i.Nest, scan: RunningReduction, rows: int | None
) -> i.Program:
    """The program with the nests of the parts, where 64 bits hold what they keep."""
    if not is_of_short_integers(program, nest, scan):
        return program
    parts = Parts(program, nest, scan, rows)
    return replace(
        program,
        prepare=insert(program.prepare, {nest.case: parts.host()}),
        scratch=(*program.scratch, *parts.memory),
        nests=tuple(
            made for each in program.nests for made in (parts.nests() if each is nest else (each,))
        ),
    )


def is_of_short_integers(program: i.Program, nest: i.Nest, scan: RunningReduction) -> bool:
    """Whether memory of 64 bits holds what parts come to: 32 bits hold a term of a sum, as terms
    are less than 2^31 (as everywhere), and 64 one of a maximum."""
    if program.operator.has_reals or scan.step.op == "*":
        return False
    widths = Widths(program, nest, host_ranges(program))
    widths.largest()
    found = widths.exact(scan.step.value)
    return found is not None and found.fits(32 if scan.step.op == "+" else 64)


class Parts:
    """The nests, memory and host values that a running reduction in parts takes."""

    def __init__(
        self, program: i.Program, nest: i.Nest, scan: RunningReduction, rows: int | None
    ) -> None:
        self.nest, self.scan, self.rows = nest, scan, rows
        taken = {name for each in program.nests for name in names_in(each.body) | bound_in(each)}
        taken |= set(names_in(program.prepare)) | set(program.operator.type_of)
        taken |= {each.name for each in program.scratch}
        name = nest.tensor
        self.count = i.Var(fresh(f"{name}_parts", taken))
        self.length: i.Expr = i.Const(PART)
        if rows is not None:
            self.length = i.Var(fresh(f"{name}_part_terms", taken))
        self.rest = i.Var(fresh(f"{name}_last_terms", taken))
        self.part = i.Var(fresh("part", taken))
        self.term = i.Var(fresh("term", taken))
        self.before = i.Var(fresh("before", taken))
        self.shape = (*(loop.high for loop in scan.outer), self.count)
        sums, before = (fresh(f"{name}_{each}", taken) for each in ("part_sums", "before"))
        self.memory = (
            i.Scratch(sums, sums, self.shape, nest.case, "int", OF_PARTS, partial=True),
            i.Scratch(before, before, self.shape, nest.case, "int", BEFORE_PARTS),
        )

    def host(self) -> list[i.Stmt]:
        """How many parts a row has and how long these are, and the sizes of memory."""
        length = self.scan.loop.high
        before = i.Binary("*", i.Binary("-", self.count, i.ONE), self.length)
        made = [*self.terms(length), (self.count.name, i.Call("ceildiv", (length, self.length)))]
        made.append((self.rest.name, i.Binary("-", length, before)))
        made += [(each.size, box_size(self.shape)) for each in self.memory]
        return [i.Let(name, "int", value, self.nest.span) for name, value in made]

    def terms(self, length: i.Expr) -> list[tuple[str, i.Expr]]:
        """How many terms a part has, where the call decides it."""
        if self.rows is None or not isinstance(self.length, i.Var):
            return []
        worth: i.Expr = i.Compare(">=", length, i.Const(LONG))
        if self.scan.outer:
            few = box_size(tuple(loop.high for loop in self.scan.outer))
            worth = i.Logic("and", (worth, i.Compare("<", few, i.Const(self.rows))))
        return [(self.length.name, i.Select(worth, i.Const(PART), length))]

    def nests(self) -> tuple[i.Nest, ...]:
        sums, before = self.memory
        loop, span = self.scan.loop, self.nest.span
        start = replace(self.scan.start, value=self.place(before))
        step = self.moved(loop.body, self.part)
        is_last = i.Compare("==", i.Binary("+", self.part, i.ONE), self.count)
        high = i.Select(is_last, self.rest, self.length)
        rest = i.Loop(self.term.name, i.ZERO, high, step, 0, loop.span)
        return (
            self.filling(sums, (i.Store(self.place(sums), self.part_before(), span),)),
            self.running(sums, before),
            self.filling(self.nest, (start, rest)),
        )

    def moved(self, node: Any, part: i.Expr) -> Any:
        """What stands in the loop along the row, for a term of a part; whether there is a term
        before it is told by the part and the term apart."""
        index = i.Var(self.scan.loop.index)
        begun = i.Compare(">", index, i.ZERO)
        parts = tuple(i.Compare(">", each, i.ZERO) for each in (part, self.term))
        node = replaced(node, lambda each: i.Logic("or", parts) if each == begun else each)
        place = i.Binary("+", i.Binary("*", part, self.length), self.term)
        return substitute(node, {index.name: place})

    def part_before(self) -> i.Expr:
        """What the terms of the part before this one come to; of none before the first part."""
        op, at, value = self.scan.step.op, self.scan.loop.index, self.scan.step.value
        before = i.Binary("-", self.part, i.ONE)
        over = i.Over(self.term.name, i.ZERO, self.length)
        whole = i.Fold(FOLDS[op], self.moved(value, before), (over,), None)
        none = NEUTRAL.get(op) or substitute(value, {at: i.ZERO})
        return i.Select(i.Compare(">", self.part, i.ZERO), whole, none)

    def running(self, sums: i.Scratch, before: i.Scratch) -> i.Nest:
        """The nest that combines what parts come to, one after the other."""
        op, span = self.scan.step.op, self.nest.span
        step = i.Accumulate(self.before.name, op, self.place(sums), span)
        store = i.Store(self.place(before), self.before, span)
        start = i.Let(self.before.name, "int", STARTS[op][0], span)
        parts = i.Loop(self.part.name, i.ZERO, self.count, (step, store), 0, span)
        return replace(self.nest, tensor=before.name, body=self.around((start, parts)))

    def filling(self, memory: i.Scratch | i.Nest, body: i.Block) -> i.Nest:
        name = memory.name if isinstance(memory, i.Scratch) else memory.tensor
        loop = i.Loop(self.part.name, i.ZERO, self.count, body, 0, self.nest.span)
        return replace(self.nest, tensor=name, body=self.around((loop,)))

    def around(self, body: i.Block) -> i.Block:
        for loop in reversed(self.scan.outer):
            body = (replace(loop, body=body),)
        return body

    def place(self, memory: i.Scratch) -> i.Access:
        indices = (*(i.Var(loop.index) for loop in self.scan.outer), self.part)
        return i.Access(memory.name, None, tuple((each, False) for each in indices))
