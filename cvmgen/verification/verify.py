"""The obligations of an operator's kernels, each with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.ir.uses import uses
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.bounds import all_ways, claims, row_ways
from cvmgen.verification.boxes import Boxes, Claim
from cvmgen.verification.calls import HostReader, Shape
from cvmgen.verification.contents import know_contents
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.obligations import (
    BOUNDS,
    DIVISORS,
    ONCE,
    VACUITY,
    WALKS,
    WIDTHS,
    WRITTEN,
    Obligation,
)
from cvmgen.verification.proofs import Proof, Prover
from cvmgen.verification.reading import Demand, FormulaReader
from cvmgen.verification.regions import Shows, WrittenTensor
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import ONE, ZERO, Formula, Term, conjuncts, every, names_of, product
from cvmgen.verification.walks import WalkClaims, walked
from cvmgen.verification.written import WholeTensor, whole_tensor

PRODUCTS = "products of extents that the solvers give up on"
MOST_WAYS = 4
ANY_RANK = (
    "what the host makes of the shape is not understood; calls of all ranks are tried in tests"
)
UNKNOWN_SHAPE = "memory whose shape is not looked at"
LEFT = "the kernel may end early"
AGAIN = "a block that begins earlier writes elements again; that they are the same, values show"

Way = tuple[Formula, ...]


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


@dataclass
class KernelProofs:
    """Proves what one kernel must keep."""

    kernels: Kernels
    kernel: Kernel
    prover: Prover

    def __post_init__(self) -> None:
        self.symbols = Symbols()
        reader = FormulaReader(self.symbols, self.kernel.subject.elements)
        self.call = HostReader.of(self.kernels.program, self.kernel.nest, reader)
        self.walk = KernelWalk(reader)
        self.memory()
        self.walk.block(self.kernel.subject.body, self.call.scope)
        know_contents(self.symbols, reader.loads, self.walk.stores, self.walk.older)
        self.lists = reader.lists
        self.lists.bases.update(
            *(each.names for each in self.call.scope.names.values() if isinstance(each, Term))
        )
        self.demands = tuple(reader.demands)
        self.walked = {each: walk for each in self.demands if (walk := self.walk_of(each))}
        self.boxes = tuple(self.walks())

    def memory(self) -> None:
        """Arrays beside the tensors: what the kernel keeps of entries of a list, which it makes
        itself, and what kernels before it made."""
        subject, reader = self.kernel.subject, self.walk.reader
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
                if all(name == "Sort" for name, _ in before.unread):  # it moves entries, no more
                    for name, stored in before.stores.items():
                        self.walk.stores.setdefault(name, []).extend(stored)

    def made_before(self, other: Kernel) -> bool:
        """Whether a kernel for the same types makes a list that this one reads."""
        own, its = self.kernel.subject, other.subject
        lists = {each.name for each in self.kernels.program.scratch}
        made = lists & uses(its.body).stored & uses(own.body).loaded - uses(own.body).stored
        inputs = [each.name for each in self.kernels.operator.inputs]
        alike = all(its.elements.get(name) == own.elements.get(name) for name in inputs)
        if not made or not alike or other.nest.each is not None or other.nest.case is not None:
            return False
        self.walk.older.update(dict.fromkeys(made, frozenset(self.symbols.axioms)))
        return True

    def obligations(self) -> Iterator[Obligation]:
        yield self.vacuity()
        for name, span in self.walk.unread:
            demand = Demand("access", (), name.lower(), span, ZERO)
            yield self.open(demand, f"what {name} moves is not looked at")
        for each in self.demands:
            match each.kind:
                case "access":
                    yield self.bounds(each)
                case "divisor":
                    yield self.proved(DIVISORS, each, conjuncts(each.claim))
                case "width":
                    yield self.width(each)
                case _:
                    raise AssertionError(each.kind)
        yield from self.boxes
        if self.prover.solvers:
            yield from self.written()

    # ------------------------------------------------------------ what is written

    def written(self) -> Iterator[Obligation]:
        """All of what the nest makes is written, and nothing twice."""
        nest, path = self.kernel.nest, (*self.call.scope.path, *self.call.sizes)
        for tensor in () if nest.guarded else self.made():
            shows = Shows(self.at_once, self.at_last)
            found = whole_tensor(self.walk.written, tensor, self.call, shows)
            if self.walk.returns:
                found = WholeTensor((), why=LEFT)
            proofs = tuple(self.prover.prove(self.symbols, *each) for each in found.claims)
            claims = tuple(claim for _, claim in found.claims)
            demand = Demand("written", path, f"all of {tensor.name}", nest.span, ZERO)
            yield self.obligation(WRITTEN, demand, claims, proofs, found.why)
            if found.again:
                yield self.obligation(ONCE, demand, (), (), AGAIN)
            else:
                yield self.obligation(ONCE, demand, claims, proofs, found.why)

    def made(self) -> Iterator[WrittenTensor]:
        """A result or a `let` of the nest; a list, with what goes with its entries."""
        nest, kept = self.kernel.nest, {each.array for each in self.kernel.subject.kept}
        shapes = {name: shape or (ONE,) for name, shape in self.call.shapes.items()}
        own = self.kernels.program.lists_of(nest.tensor)
        if nest.tensor in self.kernels.operator.output_names or not own:
            yield WrittenTensor(nest.tensor, shapes[nest.tensor])
            yield from (WrittenTensor(each.name, shapes[each.name]) for each in own)
            return
        length = self.symbols.once(("length", nest.tensor), lambda: self.symbols.fresh("length"))
        lengths, rows = f"{nest.tensor}_length", len(own[0].shape) - 1
        for name in (e.name for e in own if e.name not in kept and not e.is_spare):
            found = WrittenTensor(name, shapes[name])
            yield (
                found
                if name == lengths
                else replace(found, lengths=lengths, length=length, rows=rows)
            )

    def at_once(self, path: Way, claim: Formula) -> bool:
        return self.prover.at_once(self.symbols, path, claim)

    def at_last(self, path: Way, claim: Formula) -> bool:
        return self.prover.prove(self.symbols, path, claim).status == "proved"

    # ------------------------------------------------------------ boxes of any rank

    def walk_of(self, demand: Demand) -> WalkClaims | None:
        if demand.kind != "access" or not self.shape(demand):
            return None
        return walked(demand.operand, demand.tensor, self.lists.walks, demand.path, self.lists)

    def walks(self) -> Iterator[Obligation]:
        """What the host owes, first of all: of a box that lies in its tensor more is known."""
        several: dict[str, list[tuple[Demand, WalkClaims]]] = {}
        for demand, walk in self.walked.items():
            several.setdefault(walk.box, []).append((demand, walk))
        for same in several.values():
            yield self.host_walk(same[0][0], [walk for _, walk in same])
        self.prover.known = None  # what is known from now on is more

    def host_walk(self, demand: Demand, rows: list[WalkClaims]) -> Obligation:
        boxes = Boxes(self.call, demand.tensor, rows[0])
        demand = replace(demand, shown=rows[0].box)
        claims = boxes.claims()
        if claims is None:
            return self.obligation(WALKS, demand, (), (), ANY_RANK)
        proofs = tuple(self.prover.prove(self.symbols, *each) for each in claims)
        found = self.obligation(WALKS, demand, tuple(each for _, each in claims), proofs).as_open()
        if found.status == "proved":
            boxes.learn(self.all_shown, rows)
        return found

    def all_shown(self, claims: Iterable[Claim]) -> bool:
        return all(self.prover.prove(self.symbols, *e).status == "proved" for e in claims)

    def vacuity(self) -> Obligation:
        """A proof of what no call can be is no proof."""
        facts = (*self.call.scope.path, *self.call.sizes)
        proof = self.prover.possible(self.symbols, facts)
        demand = Demand("call", (), "requirements", self.kernel.nest.span, ZERO)
        return self.obligation(VACUITY, demand, (every(*facts),), (proof,))

    def width(self, demand: Demand) -> Obligation:
        """The result of an operation lies in its type; tensors are no larger than they can be."""
        demand = replace(demand, path=(*self.call.sizes, *demand.path))
        found = self.proved(WIDTHS, demand, conjuncts(demand.claim))
        if found.status == "open":
            return self.of_rows(demand) or found
        return found

    def of_rows(self, demand: Demand) -> Obligation | None:
        """The start of a row that lies in some tensor is no larger than the tensor."""
        assert demand.limits is not None
        for shape in dict.fromkeys(self.call.shapes.values()):
            for way in row_ways(demand.operand, shape, *demand.limits):
                proofs = None if self.doubts(demand, way) else self.all_proved(demand, way)
                if proofs is not None:
                    return self.obligation(WIDTHS, demand, way, proofs)
        return None

    def bounds(self, demand: Demand) -> Obligation:
        """The element lies in its tensor, by the first way to take its offset apart that a proof
        is found for."""
        if not (shape := self.shape(demand)):
            return self.open(demand, UNKNOWN_SHAPE)
        if (walk := self.walked.get(demand)) is not None:
            return self.proved(BOUNDS, demand, walk.claims)
        splits = {size: split for (size, _), split in self.lists.splits.items()}
        found = list(all_ways(demand.operand, shape, demand.path, splits))
        for way in self.promising(demand, found):
            if (proofs := self.all_proved(demand, way)) is not None:
                return self.obligation(BOUNDS, demand, way, proofs)
        tried = self.proved(BOUNDS, demand, found[0])
        return self.refuted(demand, shape) or tried.as_open()

    def promising(self, demand: Demand, found: list[Way]) -> list[Way]:
        """The few ways that most is proved of quickly, of equals the one by single dimensions."""
        doubts: list[int] = []
        for way in found:
            doubts.append(self.doubts(demand, way))
            if not doubts[-1]:
                return [way]
        chosen = sorted(range(len(found)), key=doubts.__getitem__)
        return [found[at] for at in chosen[:MOST_WAYS]]

    def all_proved(self, demand: Demand, way: Way) -> tuple[Proof, ...] | None:
        """The proofs of all claims; None as soon as one has none."""
        proofs: list[Proof] = []
        for claim in way:
            proofs.append(self.prover.prove(self.symbols, demand.path, claim))
            if proofs[-1].status != "proved":
                return None
        return tuple(proofs)

    def refuted(self, demand: Demand, shape: Shape) -> Obligation | None:
        """A way that fails refutes itself alone; an offset outside of the run, the access."""
        run = claims(((demand.operand, product(shape)),))
        for claim in run:
            proof = self.prover.refute(self.symbols, demand.path, claim)
            if proof is not None:
                return self.obligation(BOUNDS, demand, (claim,), (proof,))
        return None

    def shape(self, demand: Demand) -> Shape:
        """Its extents; one of no dimensions is a run of one element."""
        if demand.tensor in self.call.shapes:
            return self.call.shapes[demand.tensor] or (ONE,)
        own = self.walk.lengths.get(demand.tensor)
        return () if own is None else (own,)

    def doubts(self, demand: Demand, way: Way) -> int:
        """How much of a way is not proved quickly."""
        return sum(not self.prover.quick(self.symbols, demand.path, each) for each in way)

    def proved(self, what: str, demand: Demand, way: Way) -> Obligation:
        proofs = tuple(self.prover.prove(self.symbols, demand.path, each) for each in way)
        return self.obligation(what, demand, way, proofs)

    def open(self, demand: Demand, why: str) -> Obligation:
        return self.obligation(BOUNDS, demand, (), (), why)

    def obligation(
        self,
        what: str,
        demand: Demand,
        way: Way,
        proofs: tuple[Proof, ...],
        why: str = "",
    ) -> Obligation:
        pairs = zip(way, proofs, strict=True)
        against = [self.reason(claim) for claim, each in pairs if each.status != "proved"]
        name = self.kernels.operator.full_name
        return Obligation(
            *(what, name, self.kernel.name, demand.shown, demand.span, way, proofs),
            meanings=self.symbols.meanings,
            why=why or next(iter(against), ""),
        )

    def reason(self, claim: Formula) -> str:
        """Why a claim is open: less is known of a symbol than holds, or solvers give up."""
        vague = sorted({self.symbols.vague[e] for e in names_of(claim) if e in self.symbols.vague})
        return vague[0] if vague else PRODUCTS
