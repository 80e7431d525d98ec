"""The obligations of an operator's kernels, each with what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.dtypes import MAX_SIZE
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in, uses
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.legality import in_threads
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import index_in_turn
from cvmgen.spec.formula import Operator
from cvmgen.verification import terms as t
from cvmgen.verification.accumulated import Sum, know_sums
from cvmgen.verification.bounds import digits
from cvmgen.verification.calls import HostReader
from cvmgen.verification.contents import know_contents
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.obligations import (
    ONCE,
    ORDER,
    VACUITY,
    WRITTEN,
    Obligation,
)
from cvmgen.verification.places import PlaceProofs, Way
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import FormulaReader, PlaceDemand, symbols_of
from cvmgen.verification.regions import Shows, WrittenTensor
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import FALSE, ONE, TRUE, ZERO, Formula, Term, every, names_of
from cvmgen.verification.written import WholeTensor, filled_first, whole_tensor

SEVERAL = "elements are written at several places"
LEFT = "the kernel may end early"
AGAIN = "a block that begins earlier writes elements again; that they are the same, values show"


def scheduled_kernels(operator: Operator, schedules: Schedules) -> Kernels:
    """The kernels for C as their schedules leave them."""
    kernels = kernels_or_program(lower(operator, C), "c", schedules, "schedule")
    assert isinstance(kernels, Kernels)
    return kernels


def obligations(operator: Operator, schedules: Schedules, prover: Prover) -> Iterator[Obligation]:
    """What the C kernels of an operator must keep, all of them for all sizes."""
    kernels = scheduled_kernels(operator, schedules)
    for kernel in kernels.kernels:
        yield from KernelProofs(kernels, kernel, prover).obligations()


class KernelProofs(PlaceProofs):
    """Proves what one kernel must keep."""

    def __init__(self, kernels: Kernels, kernel: Kernel, prover: Prover) -> None:
        self.kernels, self.kernel = kernels, kernel
        reader = FormulaReader(Symbols(), kernel.subject.elements)
        call, self.walk = HostReader.of(kernels.program, kernel.nest, reader), KernelWalk(reader)
        name = kernels.operator.full_name
        super().__init__(name, kernel.name, call, self.walk.lengths, prover)
        self.before: list[Sum] = []  # of kernels that made what this one reads
        self.memory()
        self.walk.block(kernel.subject.body, call.scope)
        know_sums(self.symbols, (*self.before, *self.walk.sums.all), tuple(self.call.sizes))
        lengths = self.walk.stores.get(f"{kernel.nest.tensor}_length", ())  # where lists end
        asked = symbols_of(reader.demands).union(*(each.value.names for each in lengths))
        know_contents(self.symbols, reader.loads, self.walk.stores, self.walk.older, asked)
        self.take(reader.demands)

    def memory(self) -> None:
        """Arrays beside the tensors: what the kernel keeps of entries of a list, which it makes
        itself, and what kernels before it made."""
        subject, reader = self.kernel.subject, self.walk.reader
        for name, memory in self.kernels.program.lets.items():
            if memory.case in (None, self.kernel.nest.case) and not self.kernel.nest.guarded:
                self.call.sizes.append(t.below(t.product(self.call.shapes[name]), MAX_SIZE))
        shape = tuple(reader.integer(each, self.call.scope) for each in subject.memory)
        for kept in subject.kept:
            self.call.shapes[kept.array] = shape
            if kept.type in ("i32", "i64"):
                self.walk.older[kept.array] = frozenset(self.symbols.axioms)
        for other in self.kernels.kernels:
            if self.made_before(other):
                with reader.quiet():
                    before = KernelWalk(reader)
                    before.block(other.subject.body, self.call.scope.inner())
                self.before += before.sums.all
                if all(name == "Sort" for name, _ in before.unread):  # it moves entries, no more
                    for name, stored in before.stores.items():
                        self.walk.stores.setdefault(name, []).extend(stored)

    def made_before(self, other: Kernel) -> bool:
        """Whether a kernel for the same types of what it reads makes memory that this one reads."""
        own, its = self.kernel.subject, other.subject
        lists, read = {each.name for each in self.kernels.program.scratch}, uses(its.body).loaded
        made = lists & uses(its.body).stored & uses(own.body).loaded - uses(own.body).stored
        inputs = [each.name for each in self.kernels.operator.inputs if each.name in read]
        same_case = other.nest.case in (None, self.kernel.nest.case)
        alike = all(its.elements.get(name) == own.elements.get(name) for name in inputs)
        if not made or not alike or other.nest.each is not None or not same_case:
            return False
        self.walk.older.update(dict.fromkeys(made, frozenset(self.symbols.axioms)))
        return True

    def obligations(self) -> Iterator[Obligation]:
        yield self.vacuity()
        for name, span in self.walk.unread:
            demand = PlaceDemand("access", (), name.lower(), span, ZERO)
            yield self.open(demand, f"what {name} moves is not looked at")
        yield from self.of_places()
        if self.prover.solvers:
            yield from self.written()
            yield from self.order()
            yield from self.filled()

    # ------------------------------------------------------------ what is written

    def written(self) -> Iterator[Obligation]:
        """All of what the nest makes is written, and nothing twice."""
        nest, path = self.kernel.nest, (*self.call.scope.path, *self.call.sizes)
        for tensor in () if nest.guarded else self.made():
            shows, memory = Shows(self.at_once, self.at_last), self.kernels.program.lets
            in_turn = tensor.name in memory and memory[tensor.name].in_turn
            made = filled_first(self.walk.written) if in_turn else self.walk.written
            found = whole_tensor(made, tensor, self.call, shows)
            if self.walk.returns:
                found = WholeTensor((), why=LEFT)
            proofs = tuple(self.prover.prove(self.symbols, *each) for each in found.claims)
            claims = tuple(claim for _, claim in found.claims)
            demand = PlaceDemand("written", path, f"all of {tensor.name}", nest.span, ZERO)
            yield self.obligation(WRITTEN, demand, claims, proofs, found.why)
            if in_turn:
                yield self.in_turn(demand)
            elif found.again:
                yield self.obligation(ONCE, demand, (), (), AGAIN)
            else:
                yield self.obligation(ONCE, demand, claims, proofs, found.why)

    def in_turn(self, demand: PlaceDemand) -> Obligation:
        """What is stored to elements again is stored by one iteration after the other."""
        body = self.kernel.subject.body
        index = index_in_turn(body)
        vectors = {each.index for each in nodes_in(body, i.Loop) if each.vector}
        demand = replace(demand, shown=f"the last of what is stored to {self.kernel.nest.tensor}")
        return self.proved(ORDER, demand, (FALSE if index in in_threads(body) | vectors else TRUE,))

    def order(self) -> Iterator[Obligation]:
        """Of a recurrence: what is read has a smaller index along the axis than what is written
        there, and the others are the same. Indices along an axis are written in ascending order, as
        `once` shows by its loops, one iteration after the other, so that it was written before."""
        nest = self.kernel.nest
        memory = self.kernels.program.lets.get(nest.tensor)
        if memory is None or memory.axis is None:
            return
        own = [e for e in self.demands if e.kind == "access" and e.tensor == nest.tensor]
        places = {each.operand for each in own if each.stored}
        for each in (one for one in own if not one.stored):
            if len(places) != 1:
                yield self.obligation(ORDER, each, (), (), SEVERAL)
                continue
            shape = self.call.shapes[nest.tensor]
            written, read = digits(min(places, key=str), shape), digits(each.operand, shape)
            at_once = not self.parts_of(written[memory.axis]).isdisjoint(self.walk.parallel)
            claims = [
                t.below(one, other) if at == memory.axis else t.equal(one, other)
                for at, (one, other) in enumerate(zip(read, written, strict=True))
                if at == memory.axis or memory.apart
            ]
            yield self.proved(ORDER, each, (*claims, *([FALSE] if at_once else [])))

    def filled(self) -> Iterator[Obligation]:
        """Of memory that is filled in part: what is read lies in that part."""
        for each in self.demands:
            memory = self.kernels.program.lets.get(each.tensor)
            if each.kind == "access" and memory is not None and memory.filled and not each.stored:
                *others, last = digits(each.operand, self.call.shapes[memory.name])
                yield self.proved(ORDER, each, (t.below(last, self.part_of(memory)(others)),))

    def part_of(self, memory: i.Scratch) -> Callable[[Sequence[Term]], Term]:
        """The end of the elements that are filled, by the other indices."""
        part, reader = memory.filled, self.walk.reader
        assert part is not None

        def end(others: Sequence[Term]) -> Term:
            scope = self.call.scope.inner()
            scope.names.update(zip(part.indices, others, strict=False))
            with reader.quiet():
                return reader.integer(part.end, scope)

        return end

    def parts_of(self, operand: Term) -> set[str]:
        """The symbols of a term, with those that they are made of."""
        found, left = set[str](), set(operand.names)
        while left:
            found.add(name := left.pop())
            for each in self.symbols.axioms[name]:
                left |= names_of(each) - found
        return found

    def made(self) -> Iterator[WrittenTensor]:
        """A result or a `let` of the nest; a list, with what goes with its entries."""
        nest, kept = self.kernel.nest, {each.array for each in self.kernel.subject.kept}
        shapes = {name: shape or (ONE,) for name, shape in self.call.shapes.items()}
        memory = self.kernels.program.lets.get(nest.tensor)
        if memory is not None and memory.filled is not None:
            found, end = WrittenTensor(memory.name, shapes[memory.name]), self.part_of(memory)
            yield replace(found, end=end, length=self.length(), rows=len(found.shape) - 1)
            return
        own = self.kernels.program.lists_of(nest.tensor)
        if nest.tensor in self.kernels.operator.output_names or not own:
            yield WrittenTensor(nest.tensor, shapes[nest.tensor])
            yield from (WrittenTensor(each.name, shapes[each.name]) for each in own)
            return
        lengths, rows = f"{nest.tensor}_length", len(own[0].shape) - 1
        for name in (e.name for e in own if e.name not in kept and not e.is_spare):
            found = WrittenTensor(name, shapes[name])
            yield (
                found
                if name == lengths
                else replace(found, lengths=lengths, length=self.length(), rows=rows)
            )

    def length(self) -> Term:
        """A symbol for what stands there as the end of each row."""
        return self.symbols.once(
            ("length", self.kernel.nest.tensor), lambda: self.symbols.fresh("length")
        )

    def at_once(self, path: Way, claim: Formula) -> bool:
        return self.prover.at_once(self.symbols, path, claim)

    def at_last(self, path: Way, claim: Formula) -> bool:
        return self.prover.prove(self.symbols, path, claim).status == "proved"

    def vacuity(self) -> Obligation:
        """A proof of what no call can be is no proof."""
        facts = (*self.call.scope.path, *self.call.sizes)
        proof = self.prover.possible(self.symbols, facts)
        demand = PlaceDemand("call", (), "requirements", self.kernel.nest.span, ZERO)
        return self.obligation(VACUITY, demand, (every(*facts),), (proof,))
