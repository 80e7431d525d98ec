"""What holds at places of a kernel: that elements lie in their tensors, divisors, machine types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cvmgen.verification.bounds import all_ways, claims, of_numbers, row_ways
from cvmgen.verification.boxes import Boxes, Claim
from cvmgen.verification.calls import HostReader, Shape
from cvmgen.verification.obligations import BOUNDS, DIVISORS, WALKS, WIDTHS, Obligation
from cvmgen.verification.proofs import Proof, Prover
from cvmgen.verification.reading import PlaceDemand
from cvmgen.verification.terms import ONE, Formula, Term, conjuncts, names_of, product
from cvmgen.verification.walks import WalkClaims, walked

PRODUCTS = "products of extents that the solvers give up on"
MOST_WAYS = 4
ANY_RANK = (
    "what the host makes of the shape is not understood; calls of all ranks are tried in tests"
)
UNKNOWN_SHAPE = "memory whose shape is not looked at"

Way = tuple[Formula, ...]


class PlaceProofs:
    """Proves what demands of a kernel ask, in the calls of an operator that the host admits;
    `lengths` are those of the kernel's own arrays."""

    def __init__(
        self, operator: str, name: str, call: HostReader, lengths: dict[str, Term], prover: Prover
    ) -> None:
        self.operator, self.name, self.call, self.prover = operator, name, call, prover
        self.lengths, self.symbols, self.lists = lengths, call.reader.symbols, call.reader.lists
        self.demands: tuple[PlaceDemand, ...] = ()
        self.walked: dict[PlaceDemand, WalkClaims] = {}
        self.boxes: tuple[Obligation, ...] = ()

    def take(self, demands: Iterable[PlaceDemand]) -> None:
        """What is asked; of boxes that are walked first, since of one that lies in its tensor more
        is known."""
        self.demands = tuple(demands)
        self.lists.bases.update(
            *(each.names for each in self.call.scope.names.values() if isinstance(each, Term))
        )
        self.walked = {each: walk for each in self.demands if (walk := self.walk_of(each))}
        self.boxes = tuple(self.walks())

    def of_places(self) -> Iterator[Obligation]:
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

    # ------------------------------------------------------------ boxes of any rank

    def walk_of(self, demand: PlaceDemand) -> WalkClaims | None:
        if demand.kind != "access" or not self.shape(demand):
            return None
        return walked(demand.operand, demand.tensor, self.lists.walks, demand.path, self.lists)

    def walks(self) -> Iterator[Obligation]:
        """What the host owes, first of all: of a box that lies in its tensor more is known."""
        several: dict[str, list[tuple[PlaceDemand, WalkClaims]]] = {}
        for demand, walk in self.walked.items():
            several.setdefault(walk.box, []).append((demand, walk))
        for same in several.values():
            yield self.host_walk(same[0][0], [walk for _, walk in same])
        self.prover.forget()

    def host_walk(self, demand: PlaceDemand, rows: list[WalkClaims]) -> Obligation:
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

    def width(self, demand: PlaceDemand) -> Obligation:
        """The result of an operation lies in its type; tensors are no larger than they can be."""
        demand = replace(demand, path=(*self.call.sizes, *demand.path))
        found = self.proved(WIDTHS, demand, conjuncts(demand.claim))
        if found.status == "open":
            return self.of_rows(demand) or found
        return found

    def of_rows(self, demand: PlaceDemand) -> Obligation | None:
        """The start of a row that lies in some tensor is no larger than the tensor."""
        assert demand.limits is not None
        for shape in dict.fromkeys(of_numbers(e, demand.path) for e in self.call.shapes.values()):
            for way in row_ways(demand.operand, shape, *demand.limits, demand.path):
                proofs = None if self.doubts(demand, way) else self.all_proved(demand, way)
                if proofs is not None:
                    return self.obligation(WIDTHS, demand, way, proofs)
        return None

    def bounds(self, demand: PlaceDemand) -> Obligation:
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

    def promising(self, demand: PlaceDemand, found: list[Way]) -> list[Way]:
        """The few ways that most is proved of quickly, of equals the one by single dimensions."""
        doubts: list[int] = []
        for way in found:
            doubts.append(self.doubts(demand, way))
            if not doubts[-1]:
                return [way]
        chosen = sorted(range(len(found)), key=doubts.__getitem__)
        return [found[at] for at in chosen[:MOST_WAYS]]

    def all_proved(self, demand: PlaceDemand, way: Way) -> tuple[Proof, ...] | None:
        """The proofs of all claims; None as soon as one has none."""
        proofs: list[Proof] = []
        for claim in way:
            proofs.append(self.prover.prove(self.symbols, demand.path, claim))
            if proofs[-1].status != "proved":
                return None
        return tuple(proofs)

    def refuted(self, demand: PlaceDemand, shape: Shape) -> Obligation | None:
        """A way that fails refutes itself alone; an offset outside of the run, the access."""
        run = claims(((demand.operand, product(shape)),))
        for claim in run:
            proof = self.prover.refute(self.symbols, demand.path, claim)
            if proof is not None:
                return self.obligation(BOUNDS, demand, (claim,), (proof,))
        return None

    def shape(self, demand: PlaceDemand) -> Shape:
        """Its extents; one of no dimensions is a run of one element."""
        if demand.tensor in self.call.shapes:
            return self.call.shapes[demand.tensor] or (ONE,)
        own = demand.length or self.lengths.get(demand.tensor)
        return () if own is None else (own,)

    def doubts(self, demand: PlaceDemand, way: Way) -> int:
        """How much of a way is not proved quickly."""
        return sum(not self.prover.quick(self.symbols, demand.path, each) for each in way)

    def proved(self, what: str, demand: PlaceDemand, way: Way) -> Obligation:
        proofs = tuple(self.prover.prove(self.symbols, demand.path, each) for each in way)
        return self.obligation(what, demand, way, proofs)

    def open(self, demand: PlaceDemand, why: str) -> Obligation:
        return self.obligation(BOUNDS, demand, (), (), why)

    def obligation(
        self,
        what: str,
        demand: PlaceDemand,
        way: Way,
        proofs: tuple[Proof, ...],
        why: str = "",
    ) -> Obligation:
        pairs = zip(way, proofs, strict=True)
        against = [self.reason(claim) for claim, each in pairs if each.status != "proved"]
        about = (what, self.operator, self.name, demand.shown, demand.span)
        return Obligation(
            *(*about, way, proofs),
            meanings=self.symbols.meanings,
            why=why or next(iter(against), ""),
        )

    def reason(self, claim: Formula) -> str:
        """Why a claim is open: less is known of a symbol than holds, or solvers give up."""
        vague = sorted({self.symbols.vague[e] for e in names_of(claim) if e in self.symbols.vague})
        return vague[0] if vague else PRODUCTS
