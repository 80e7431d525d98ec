"""The nests of a greedy selection in two steps: a mask of bits for all pairs, and who is kept."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from cvmgen.analysis.greedy import Greedy, relevant
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import entry_at, extent
from cvmgen.ir.rewrite import renamed
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.gpu.mapped import Writer

WORD = i.Const(64)  # the candidates that a word of the mask has bits for
BYTE = i.Const(8)  # those that one thread tests


@dataclass(frozen=True, slots=True)
class Mask:
    """The memory for the bits of some lists: words by list, column and candidate.

    The word of a candidate in a column says which of 64 others it rules out; the bit for itself,
    that it does not meet its own condition. Words of a candidate in columns before its own are
    never read. `loops` are those over the indices of the lists, which hold up to `capacity`
    candidates each.
    """

    name: str
    loops: Sequence[i.Loop]
    capacity: i.Expr

    @property
    def column(self) -> i.Expr:
        """The number of the first column of the list at hand."""
        number: i.Expr = i.ZERO
        for loop in self.loops:
            number = sum_of(folded_product(number, loop.high), i.Var(loop.index))
        return folded_product(number, columns(self.capacity))

    def word(self, column: i.Expr, candidate: i.Expr) -> i.Expr:
        return sum_of(folded_product(column, self.capacity), candidate)


class MaskNests(Writer):
    """Puts together the nests of a selection: `pairs` finds the mask, `kept` goes through it."""

    def __init__(self, found: Greedy, mask: Mask) -> None:
        own = (*found.locals, found.loop)
        taken = {*names_in((own, mask.capacity)), *assigned(own)}
        super().__init__(found.loop.span, taken | {each.index for each in mask.loops})
        self.found, self.mask, self.loop = found, mask, found.loop
        # Candidates that are counted from 0 are their own places.
        self.counted = self.loop.low == i.ZERO
        self.earlier, self.later = map(self.place, (found.test.index, self.loop.index))
        self.candidates = extent(self.loop)  # how many there are
        self.column, self.byte = self.fresh("column"), self.fresh("byte")
        self.first, self.end, self.out = self.fresh("first"), self.fresh("end"), self.fresh("out")
        self.bits, self.rank = self.fresh("kept"), self.fresh("place")

    def place(self, index: str) -> i.Var:
        return i.Var(index) if self.counted else self.fresh(f"{index}_at")

    # -------------------------------------------------------- all pairs

    def pairs(self) -> i.Block:
        """Loops that are all independent, around the tests of one entry against 8 candidates."""
        behind = sum_of(folded_product(WORD, self.column), WORD)
        body: i.Block = (self.where(less_than(self.earlier, behind), *self.found_byte()),)
        capacity = self.mask.capacity
        extents = ((self.byte, BYTE), (self.earlier, capacity), (self.column, columns(capacity)))
        for index, end in extents:
            body = (self.over(index, end, body),)
        return self.of_lists(body)

    def of_lists(self, body: i.Block) -> i.Block:
        for loop in reversed(self.mask.loops):
            body = (replace(loop, body=body),)
        return body

    def found_byte(self) -> i.Block:
        tests = self.where(less_than(self.earlier, self.end), *self.tests())
        start = sum_of(folded_product(WORD, self.column), folded_product(BYTE, self.byte))
        end = i.Call("min_i64", (sum_of(self.first, BYTE), self.candidates))
        word = self.mask.word(sum_of(self.mask.column, self.column), self.earlier)
        place = i.Load(self.mask.name, None, sum_of(folded_product(word, BYTE), self.byte))
        found = (self.let(self.end, "i64", end), tests)
        return (
            *relevant(self.found.locals, found),
            self.let(self.first, "i64", start),
            found[0],
            self.let(self.out, "u32", i.ZERO),
            tests,
            i.Store(place, self.out, self.span),
        )

    def tests(self) -> i.Block:
        """The tests of the candidates behind an entry, if it meets its own condition."""
        rules_out = self.add(self.out, "+", mask_bit(self.later))
        body = (*self.candidate(self.loop.index, self.later), *self.found.against(rules_out))
        low = i.Call("max_i64", (self.first, sum_of(self.earlier, i.ONE)))
        loop = self.over(self.later, self.end, body, low=low)
        entry = self.candidate(self.found.test.index, self.earlier)
        if self.found.condition == i.Const(True):
            return (*entry, loop)
        own, condition = self.own_condition(assigned(body))
        here = i.Compare("==", eighth(self.earlier), eighth(self.first))
        fails = self.where(here, i.Assign(self.out.name, mask_bit(self.earlier), self.span))
        return (*entry, *own, i.If(condition, (loop,), (fails,), self.span))

    def own_condition(self, taken: Set[str]) -> tuple[i.Block, i.Expr]:
        """What a candidate must meet by itself, asked of the entry."""
        names = {self.loop.index: self.found.test.index}
        for name in sorted(assigned(self.found.own) & taken):
            names[name] = self.fresh(name).name
        own, condition = renamed((self.found.own, self.found.condition), names)
        return own, condition

    # -------------------------------------------------------- those kept

    def kept(self) -> i.Block:
        """For each list a loop over columns, in order, whose iterations all threads share."""
        count, found = self.found.counter, self.found
        column = self.mask.word(sum_of(self.mask.column, self.column), i.ZERO)
        start = folded_product(WORD, self.column)
        address = i.Address(i.Load(self.mask.name, None, column))
        keep = i.Call("block_keep", (address, start, self.candidates))
        store = rebuild(found.store, lambda each: self.rank if each == i.Var(count) else each)
        at = i.Binary("rem", self.later, WORD)
        place = sum_of(i.Var(count), i.Call("bits_below", (self.bits, at)))
        stored = (
            *self.candidate(self.loop.index, self.later),
            self.let(self.rank, "i64", place),
            store,
        )
        those = self.where(i.Call("bit", (self.bits, at)), *stored)
        body: i.Block = (
            self.let(self.bits, "u64", keep),
            self.over(self.later, sum_of(start, WORD), (those,), low=start),
            i.Accumulate(count, "+", i.Call("bits", (self.bits,)), self.span),
        )
        steps = (self.over(self.column, columns(self.candidates), body), *found.behind)
        return self.of_lists((*relevant(found.locals, steps), *steps))

    # -------------------------------------------------------- candidates

    def candidate(self, name: str, place: i.Var) -> i.Block:
        """The local for the candidate at a place, where it is not the place itself."""
        if self.counted:
            return ()
        low = self.loop.low
        value = entry_at(self.loop.high, place) if low is None else sum_of(low, place)
        return (self.let(i.Var(name), "i64", value),)


def columns(candidates: i.Expr) -> i.Expr:
    """How many columns stand for so many candidates."""
    return i.Binary("truncdiv", sum_of(candidates, i.Const(63)), WORD)


def sum_of(left: i.Expr, right: i.Expr) -> i.Expr:
    if right == i.ZERO:
        return left
    return right if left == i.ZERO else i.Binary("+", left, right)


def folded_product(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.ZERO if i.ZERO in (left, right) else i.Binary("*", left, right)


def less_than(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Compare("<", left, right)


def eighth(place: i.Expr) -> i.Expr:
    return i.Binary("truncdiv", place, BYTE)


def mask_bit(place: i.Expr) -> i.Expr:
    """That of a candidate in its byte."""
    return i.Binary("shl", i.ONE, i.Binary("rem", place, BYTE))
