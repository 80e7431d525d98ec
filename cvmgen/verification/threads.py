"""Threads of a GPU: no two of them race for an element, and all of a block come to each barrier.

A kernel is walked once (`threads_walk.py`); what it does to memory that others have falls into
epochs between barriers (`threads_epochs.py`). For each pair of accesses of one epoch, of which one
writes, two threads with symbols of their own are asked whether they can be at the same address
(`threads_pairs.py`): for all sizes, grids and blocks at once. Threads of different blocks never
wait for each other; there all accesses are of one epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import stored_tensors
from cvmgen.ir.visit import walk as nodes
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import Kernel
from cvmgen.verification.calls import HostReader
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import FormulaReader
from cvmgen.verification.threads_epochs import Epochs, Meeting, Pair, ThreadAccess, all_of
from cvmgen.verification.threads_helpers import WHOLE, launched
from cvmgen.verification.threads_pairs import DEAD, UNKNOWN, ThreadPairs, Verdict
from cvmgen.verification.threads_reading import ThreadReader
from cvmgen.verification.threads_symbols import THREAD, PlacedSymbols
from cvmgen.verification.threads_walk import ThreadWalk, UnseenError


@dataclass(frozen=True)
class ThreadFindings:
    """What is known of threads at a place of a kernel's function: that they do not `race` for an
    element, or that they come to a `barrier` together; and who has `reached` it."""

    function: str
    kind: str
    shown: str
    verdict: Verdict
    reached: str
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """A proof of what nobody is shown to come to is none."""
        vacuous = self.verdict.status == "proved" and self.reached in (DEAD, UNKNOWN)
        return self.reached if vacuous else self.verdict.status

    @property
    def relied(self) -> frozenset[str]:
        """What a proof takes for granted."""
        return self.verdict.assumed if self.verdict.status == "proved" else frozenset()

    @property
    def why(self) -> str:
        """What stands against a question that is left open."""
        if self.status == DEAD:
            return "no thread comes there in any call"
        if self.status == UNKNOWN:
            return "no call is found in which two threads come there"
        if self.status != "open":
            return ""
        if self.verdict.assumed:
            return f"too little is known of {', '.join(sorted(self.verdict.assumed))}"
        return "the solvers give up"


def races(program: i.Program, kernel: Kernel, prover: Prover) -> Iterator[ThreadFindings]:
    """All results for the functions of a kernel."""
    assert kernel.mapped is not None, "it is mapped to threads"
    for each in kernel.mapped.functions:
        yield from races_of(program, kernel, each, prover)


def races_of(
    program: i.Program, kernel: Kernel, function: DeviceFunction, prover: Prover
) -> Iterator[ThreadFindings]:
    """The results for a function; what stays open is asked again with indices as symbols, which
    keep the ranges that sums of them lose."""
    name = kernel.name + function.name
    try:
        plain = Asking(_walked(program, kernel, function), prover)
    except UnseenError as unseen:
        yield ThreadFindings(name, "race", f"a {unseen}", Verdict("open", frozenset()), UNKNOWN)
        return
    by_digits: Asking | None = None
    for number, each in enumerate(plain.questions):
        verdict = each.ask()
        if verdict.status == "open":
            by_digits = by_digits or Asking(_walked(program, kernel, function, digits=True), prover)
            verdict = by_digits.questions[number].ask()
        if verdict.status == "open":
            plain.threads.thorough = True
            verdict = each.ask()
            plain.threads.thorough = False
        meanings = plain.threads.symbols.meanings
        yield ThreadFindings(name, each.kind, each.shown, verdict, each.reached(), meanings)


@dataclass(frozen=True)
class ThreadQuestion:
    """A question of threads at a place, and whether any come there."""

    kind: str
    shown: str
    ask: Callable[[], Verdict]
    reached: Callable[[], str]


class Asking:
    """What is asked of a function."""

    def __init__(self, walk: ThreadWalk, prover: Prover) -> None:
        epochs = Epochs()
        epochs.of(walk.whole)
        self.threads = threads = ThreadPairs(walk, epochs.waiting, prover)
        self.questions: list[ThreadQuestion] = []
        for each in all_of(walk.whole):
            if isinstance(each, Meeting):
                ways = partial(threads.together, each), partial(threads.came, each)
                self.questions.append(ThreadQuestion("barrier", each.what, *ways))
        for pair in unique(epochs.pairs):
            if pair.one.written or pair.other.written:
                self.add(pair, same_block=True)
        for pair in between_blocks(walk):
            self.add(pair, same_block=False)

    def add(self, pair: Pair, *, same_block: bool) -> None:
        ask = partial(self.threads.meet, pair, same_block=same_block)
        reached = partial(self.threads.reached, pair, same_block=same_block)
        self.questions.append(ThreadQuestion("race", _shown(pair), ask, reached))


def _walked(
    program: i.Program, kernel: Kernel, function: DeviceFunction, *, digits: bool = False
) -> ThreadWalk:
    """The walk of a function by one thread, with what the host ensures."""
    assert kernel.mapped is not None, "it is mapped to threads"
    symbols = PlacedSymbols()
    given = (*function.leading, *function.parameters)
    elements = {each.name: each.type for each in given if each.elements}
    call = HostReader.of(program, kernel.nest, FormulaReader(symbols, kernel.subject.elements))
    reader = ThreadReader(symbols, {**kernel.subject.elements, **elements})
    reader.digits, reader.required = digits, call.reader.required
    found = ThreadWalk(reader, arrays_written(function.body), WHOLE)
    launched(found, kernel.mapped, call.scope)
    symbols.level = THREAD
    found.block(function.body, call.scope)
    return found


def unique(pairs: list[Pair]) -> Iterable[Pair]:
    return {(id(e.one), id(e.other), e.around): e for e in pairs}.values()


def between_blocks(walk: ThreadWalk) -> Iterator[Pair]:
    """Accesses of memory that all blocks have."""
    found = [e for e in all_of(walk.whole) if isinstance(e, ThreadAccess) and not e.shared]
    for at, one in enumerate(found):
        for two in found[at:]:
            if one.array == two.array and (one.written or two.written):
                yield Pair(one, two)


def _shown(pair: Pair) -> str:
    one, two = pair.one.shown, pair.other.shown
    return one if pair.one is pair.other else f"{one} and {two}"


def arrays_written(body: i.Block) -> frozenset[str]:
    """Memory of others that a kernel stores to."""
    found = set(stored_tensors(body))
    for each in nodes(body):
        if isinstance(each, i.Call) and each.function == ".store":
            found |= {part.tensor for part in nodes(each.arguments[1]) if isinstance(part, i.Load)}
    local = {each.name for each in nodes(body) if isinstance(each, i.Array)}
    return frozenset(found - local)
