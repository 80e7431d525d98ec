"""An obligation: one claim about a kernel, where it comes from, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from cvmgen.source import Span
from cvmgen.verification import terms as t
from cvmgen.verification.proofs import INTERVALS, SOLVER_FREE, Proof
from cvmgen.verification.solvers import question
from cvmgen.verification.terms import Formula

BOUNDS = "bounds"
WALKS = "walks"
DIVISORS = "divisors"
WIDTHS = "widths"
VACUITY = "vacuity"
WRITTEN, ONCE = "written", "once"
ORDER = "order"
PROPERTIES: Mapping[str, str] = {
    BOUNDS: "each element that is read or written lies in its tensor",
    WALKS: "a box of any rank that the host has walked by steps lies in its tensor",
    DIVISORS: "no divisor is 0",
    WIDTHS: "no operation leaves its machine type, unless it is one of bits",
    WRITTEN: "each element of what a nest makes is written",
    ONCE: "no element of what a nest makes is written twice",
    ORDER: "what a nest reads of its own elements, or of memory filled in part, was written before",
    VACUITY: "there is a call of which all is so that proofs begin with",
}


@dataclass(frozen=True)
class Obligation:
    """What must hold at a place of a kernel: all of the claims, each with its proof. `why` says
    what stands against one that is open."""

    about: str  # which property
    operator: str
    kernel: str
    shown: str
    span: Span | None
    claims: tuple[Formula, ...]
    proofs: tuple[Proof, ...]
    meanings: Mapping[str, str]
    why: str = ""

    @cached_property
    def status(self) -> str:
        found = {each.status for each in self.proofs} or {"open"}
        return next((word for word in ("refuted", "open") if word in found), "proved")

    def as_open(self) -> Obligation:
        """The same where a refuted claim is one of several ways to a proof."""
        proofs = (replace(e, status="open") if e.status == "refuted" else e for e in self.proofs)
        return replace(self, proofs=tuple(proofs))

    @property
    def engines(self) -> tuple[str, ...]:
        """What every claim was proved by: the solvers where one was asked, else without any."""
        asked = [set(each.engines) for each in self.proofs if not each.alone]
        if asked:
            return tuple(sorted(set.intersection(*asked)))
        return max((each.engines for each in self.proofs), key=SOLVER_FREE.index, default=INTERVALS)

    @cached_property
    def digest(self) -> str:
        """A hash of the claims and of the facts that they were tried with."""
        pairs = zip(self.claims, self.proofs, strict=True)
        texts = (question((*each.facts, t.negation(claim))).text for claim, each in pairs)
        return sha256("\n\n".join(texts).encode()).hexdigest()[:16]

    @property
    def unproved(self) -> tuple[tuple[Formula, Proof], ...]:
        pairs = zip(self.claims, self.proofs, strict=True)
        return tuple(each for each in pairs if each[1].status != "proved")
