"""Accesses of kernels: those of right ones are proved, each mutant is not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import packaged
from cvmgen.verification import terms as t
from cvmgen.verification.bounds import all_ways, factors_of, row_ways
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.obligations import BOUNDS, VACUITY, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.verify import KernelProofs, obligations, scheduled_kernels
from tests.specs import operator

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()

MATMUL = """
  input X : cvm[M, K]
  input W : cvm[N, K]
  output Y : cvm[M, N]
  Y[i, j] = sum[k < K](X[i, k] * W[j, k])
"""
PADDED = """
  input X : cvm[N]
  attr pad = 1 in [0, 64)
  output Y : cvm[N + 2 * pad]
  Y[i] = X[i - pad] if 0 <= i - pad < N else 0
"""
STRIDED = """
  input X : cvm[N]
  attr step = 2 in [1, 64)
  output Y : cvm[(N - 1) div step + 1]
  Y[i] = X[i * step] + 1
"""
TRANSPOSED = """
  input X : cvm[M, N]
  output Y : cvm[N, M]
  Y[j, i] = X[i, j] + 1
"""
GROUPED = """
  input X : cvm[C, N]
  attr groups = 1 in [1, 1024)
  require C mod groups == 0 : "the groups are of the same size"
  let G = C div groups
  output Y : cvm[groups, G, N]
  Y[g, c, i] = X[g * G + c, i] + 1
"""
FOUR_BITS = """
  type T in int4, uint4
  input X : T[N]
  output Y : T[N]
  Y[i] = max(least(T), min(3 * X[i] + 1, greatest(T)))
"""
LOOKED_UP = """
  input X : cvm[N]
  input places : int32[M]
  output Y : cvm[M]
  Y[i] = X[max(0, min(places[i], N - 1))]
"""
ONE_OF_EACH = """
  input X : cvm[N, C]
  input F : cvm[N, K, C, M]
  require M == 1 : "one result of each"
  output Y : cvm[N, C]
  Y[n, c] = sum[k < K](X[n, c] * F[n, k, c, 0])
"""
DEPTH = """
  input X : cvm[H, W]
  attr block = 2 in [2, 64)
  require H mod block == 0 : "blocks are whole"
  output Y : cvm[H div block, W * block]
  Y[h, c] = X[h * block + c div W, c mod W] + 1
"""
RIGHT = {
    "looked up": LOOKED_UP,
    "one of each": ONE_OF_EACH,
    "depth": DEPTH,
    "matmul": MATMUL,
    "padded": PADDED,
    "strided": STRIDED,
    "transposed": TRANSPOSED,
    "grouped": GROUPED,
    "four bits": FOUR_BITS,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_proved(name: str) -> None:
    found = list(obligations(operator(RIGHT[name]), packaged(), PROVER))
    assert found
    assert [(each.shown, each.status) for each in found if each.status != "proved"] == []


# ---------------------------------------------------------------- mutants


def plus_one(node: i.Expr) -> Iterator[i.Expr]:
    """An element beside the one that is meant."""
    if isinstance(node, i.Load):
        for by in (1, -1):
            yield replace(node, offset=i.Binary("+", node.offset, i.Const(by)))


def one_more(node: object) -> Iterator[object]:
    """A loop that goes on for one more iteration, or begins one earlier."""
    if isinstance(node, i.Loop) and node.low is not None:
        yield replace(node, high=i.Binary("+", node.high, i.ONE))
        yield replace(node, low=i.Binary("-", node.low, i.ONE))


def without_guard(node: object) -> Iterator[object]:
    """A test that is made no longer."""
    if isinstance(node, (i.Select, i.If)):
        yield replace(node, condition=i.Const(True))


def wider_guard(node: object) -> Iterator[object]:
    """<= where < was meant."""
    if isinstance(node, i.Compare) and node.op == "<":
        yield replace(node, op="<=")


def swapped_stride(node: object) -> Iterator[object]:
    """Rows of another tensor's length."""
    if isinstance(node, i.Binary) and node.op == "*":
        match node:
            case i.Binary(left=i.Var(name="i" | "j"), right=i.Var(name="K" | "N" as name)):
                yield replace(node, right=i.Var("N" if name == "K" else "K"))


def mutants(body: i.Block, change: Callable[[object], Iterator[object]]) -> Iterator[i.Block]:
    """The block with each single thing changed that `change` changes."""
    places = 0

    def count(node: object) -> object:
        nonlocal places
        places += len(list(change(node)))
        return node

    rebuild(body, count)
    for wanted in range(places):
        yield mutated(body, change, wanted)


def mutated(body: i.Block, change: Callable[[object], Iterator[object]], wanted: int) -> i.Block:
    seen = 0

    def at(node: object) -> object:
        nonlocal seen
        for other in change(node):
            seen += 1
            if seen == wanted + 1:
                return other
        return node

    return rebuild(body, at)


def proofs(kernels: Kernels, kernel: Kernel, body: i.Block) -> list[Obligation]:
    other = replace(kernel, subject=kernel.subject.with_body(body))
    found = KernelProofs(kernels, other, PROVER).obligations()
    return [each for each in found if each.about == BOUNDS]


MUTANTS = [
    ("matmul", plus_one, "every element of every tensor can be the last one"),
    ("matmul", one_more, "an index reaches the extent, or is -1"),
    ("matmul", swapped_stride, "K and N are different extents"),
    ("padded", plus_one, "the guard is of another element"),
    ("padded", without_guard, "where the pad is, there is no element"),
    ("padded", wider_guard, "the element behind the last one"),
    ("strided", plus_one, "the last element that is read may be the last one"),
    ("transposed", one_more, "an index reaches the extent, or is -1"),
    ("looked up", plus_one, "the last place is that of the last element"),
    ("grouped", plus_one, "the last group ends with the last row"),
]


@pytest.mark.parametrize(("name", "change", "why"), MUTANTS)
def test_mutants_are_not_proved(
    name: str, change: Callable[[object], Iterator[object]], why: str
) -> None:
    kernels = scheduled_kernels(operator(RIGHT[name]), packaged())
    kernel = kernels.widest(0)
    found = list(mutants(kernel.subject.body, change))
    assert found
    for body in found:
        assert any(each.status != "proved" for each in proofs(kernels, kernel, body)), why


def test_a_mutant_is_refuted_by_a_call() -> None:
    kernels = scheduled_kernels(operator(TRANSPOSED), packaged())
    kernel = kernels.widest(0)
    body = next(mutants(kernel.subject.body, one_more))
    refuted = [each for each in proofs(kernels, kernel, body) if each.status == "refuted"]
    assert refuted
    assert all(proof.model for each in refuted for _, proof in each.unproved)


def test_without_solvers_intervals_prove_what_is_plain() -> None:
    def outcomes(items: str) -> set[str]:
        found = obligations(operator(items), packaged(), Prover(()))
        return {each.status for each in found if each.about == BOUNDS}

    assert outcomes(MATMUL) == {"proved"}
    assert "open" in outcomes(STRIDED)


def test_requirements_that_no_call_meets_are_refuted() -> None:
    items = """
      input X : cvm[N]
      attr low = 0 in [0, 4)
      require low > N + 4 : "the offset is beyond the elements"
      output Y : cvm[N]
      Y[i] = X[i] + 1
    """
    found = obligations(operator(items), packaged(), PROVER)
    assert {each.status for each in found if each.about == VACUITY} == {"refuted"}


LOW, HIGH = -3, 9


def ends_of_rows(left_out: int | None) -> bool:
    """Whether an operand that is a row of a tensor and something more lies within limits, for all
    small values of which the claims hold, without the one that is left out."""
    rows, behind, row, rest = map(t.symbol, ("N", "M", "i", "j"))
    operand = row * behind + rest
    way, *others = row_ways(operand, (rows, behind), LOW, HIGH)
    kept = [each for at, each in enumerate(way) if at != left_out]
    ways = [kept, *(others if left_out is None else [])]
    for several in product(range(-4, 5), range(-2, 4), range(-2, 4), range(-4, 12)):
        values = dict(zip(("N", "M", "i", "j"), several, strict=True))
        held = any(all(t.holds(each, values) for each in way) for way in ways)
        if held and not LOW <= t.evaluated(operand, values) <= HIGH:
            return False
    return True


def test_arrays_of_one_name_are_as_long_as_each_is() -> None:
    """Two ways of a kernel may have arrays of one name: the place of each is looked at beside the
    length of its own."""
    reader = FormulaReader(Symbols(), {})
    walk, scope = KernelWalk(reader), PlaceScope({}, ())
    at = i.Load("kept", None, i.Const(3))
    ways = [
        (i.Array("kept", "i32", length, None), i.Store(at, i.Const(1), None)) for length in (4, 2)
    ]
    for way in ways:
        walk.block(way, scope)
    assert [each.length for each in reader.demands] == [t.term(4), t.term(2)]


def test_an_extent_that_is_a_product_is_taken_apart() -> None:
    """The last factor is what most of an offset is a multiple of; each index is below its own."""
    c, h, w, extents = t.symbol("c"), t.symbol("h"), t.symbol("w"), map(t.symbol, "CHW")
    size = t.product(extents)
    offset = (c * t.symbol("H") + h) * t.symbol("W") + w
    assert factors_of(size, offset) == tuple(map(t.symbol, "CHW"))
    ways = [*all_ways(offset, (size,), (), {})]
    assert t.below(h, t.symbol("H")) in ways[1]
    for numbers in product(range(3), repeat=6):
        values = dict(zip("chwCHW", numbers, strict=True))
        if all(t.holds(each, values) for each in ways[1]):
            assert all(t.holds(each, values) for each in ways[0])


def test_the_start_of_a_row_is_no_larger_than_the_tensor() -> None:
    assert ends_of_rows(None)


@pytest.mark.parametrize("left_out", range(5))
def test_each_claim_of_a_row_is_needed(left_out: int) -> None:
    assert not ends_of_rows(left_out)
