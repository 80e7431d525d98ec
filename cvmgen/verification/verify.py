"""The obligations of an operator's kernels, each with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.bounds import all_ways, claims
from cvmgen.verification.calls import Call, Shape
from cvmgen.verification.contents import know_contents
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.obligations import BOUNDS, DIVISORS, VACUITY, WALKS, WIDTHS, Obligation
from cvmgen.verification.proofs import Proof, Prover
from cvmgen.verification.reading import Demand, Reader
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import ZERO, Formula, Term, conjuncts, every, names_of, product
from cvmgen.verification.walks import walked

PRODUCTS = "products of extents that the solvers give up on"
MOST_WAYS = 4
ANY_RANK = "lists of the host are not looked at; calls of all ranks are tried in tests"
UNKNOWN_SHAPE = "memory whose shape is not looked at"

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
        reader = Reader(self.symbols, self.kernel.subject.elements)
        self.call = Call.of(self.kernels.program, self.kernel.nest, reader)
        self.walk = KernelWalk(reader)
        self.walk.block(self.kernel.subject.body, self.call.scope)
        know_contents(self.symbols, reader.loads, self.walk.stores, self.walk.older)
        self.lists, self.walks = reader.lists, dict[str, Demand]()
        self.lists.bases.update(
            *(each.names for each in self.call.scope.names.values() if isinstance(each, Term))
        )
        self.demands = tuple(reader.demands)

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
        for box, demand in self.walks.items():
            yield self.obligation(WALKS, replace(demand, shown=box), (), (), ANY_RANK)

    def vacuity(self) -> Obligation:
        """A proof of what no call can be is no proof."""
        facts = (*self.call.scope.path, *self.call.sizes)
        proof = self.prover.possible(self.symbols, facts)
        demand = Demand("call", (), "requirements", self.kernel.nest.span, ZERO)
        return self.obligation(VACUITY, demand, (every(*facts),), (proof,))

    def width(self, demand: Demand) -> Obligation:
        """The result of an operation lies in its type; tensors are no larger than they can be."""
        path = (*self.call.sizes, *demand.path)
        return self.proved(WIDTHS, replace(demand, path=path), conjuncts(demand.claim))

    def bounds(self, demand: Demand) -> Obligation:
        """The element lies in its tensor, by the first way to take its offset apart that a proof
        is found for."""
        if not (shape := self.shape(demand)):
            return self.open(demand, UNKNOWN_SHAPE)
        if walk := walked(
            *(demand.operand, demand.tensor, self.lists.walks, demand.path, self.lists)
        ):
            self.walks[walk.box] = demand
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
        return sorted(found, key=lambda way: self.doubts(demand, way))[:MOST_WAYS]

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
        own = self.walk.lengths.get(demand.tensor)
        return self.call.shapes.get(demand.tensor, () if own is None else (own,))

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
