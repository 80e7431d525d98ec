"""What kernels write: all of a tensor, nothing twice; a fault in either is not proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.ir.uses import nodes_in
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source, Span
from cvmgen.verification import terms as t
from cvmgen.verification.calls import HostReader
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.regions import Shows, WrittenTensor
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.verify import KernelProofs, scheduled_kernels
from cvmgen.verification.written import whole_tensor
from tests.specs import operator
from tests.verification.test_bounds import MATMUL, RIGHT, mutants
from tests.verification.test_boxes import KEPT as BOX

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()
POOLED = """
  input X : cvm[C, H, W]
  attr s = 2 in [1, 5)
  output Y : cvm[C, H, (W - 1) div s + 1]
  Y[c, y, x] = max[k < 3 if x * s + k < W](X[c, y, x * s + k])
"""
SUMS = """
  input X : cvm[n...]
  output Y : cvm[n[:1]..., n[2:]...]
  require len(n) > 1 : "there are two dimensions at least"
  Y[i..., k...] = sum[j < n[1]](X[i..., j, k...])
"""
KEPT = """
  input X : cvm[B, N]
  let V[b] = select[q < N](X[b, q] > 0)
  output Y : cvm[B, N]
  Y[b, i] = X[b, V[b][i]] if i < count(V[b]) else -1
"""
TOTALS = """
  input X : int32[N, K]
  output Y : int64[N, K]
  let S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)
  Y[n, k] = S[n, K - 1 - k]
"""
SPAN = Span(Source("a.cvm", "x"), 0, 1)


def outcomes(items: str, body: Callable[[i.Block], i.Block] = lambda e: e) -> Counter[str]:
    kernels = scheduled_kernels(operator(items), packaged())
    found: Counter[str] = Counter()
    for nest in {id(each.nest): each for each in kernels.kernels}.values():
        other = replace(nest, subject=nest.subject.with_body(body(nest.subject.body)))
        for each in KernelProofs(kernels, other, PROVER).written():
            found[f"{each.about} {each.status}"] += 1
    return found


@pytest.mark.parametrize("items", [*RIGHT.values(), POOLED, SUMS, TOTALS])
def test_all_is_written_once(items: str) -> None:
    assert set(outcomes(items)) == {"written proved", "once proved"}


def test_what_is_kept_is_written_over_what_is_not() -> None:
    """A row goes where the next one goes if it is not kept; the rest is filled."""
    found = outcomes(KEPT)
    assert found == {"written proved": 2, "once proved": 1, "once open": 1}


# ---------------------------------------------------------------- faults


def other_ends(node: object) -> Iterator[object]:
    """The first element is left out, or the last one: a tail that is dropped; or there are more."""
    if isinstance(node, i.Loop) and node.low is not None and stores(node):
        for op in "+-":
            if op == "-" or node.step == 1:  # one more block has no elements
                yield replace(node, high=i.Binary(op, node.high, i.ONE))
            yield replace(node, low=i.Binary(op, node.low, i.ONE))


def no_rest(node: object) -> Iterator[object]:
    """The last block is as long as the others, or shorter than what is left."""
    match node:
        case i.Call(function="min_i64", arguments=(i.Const() as most, rest)):
            yield most
            yield replace(node, arguments=(most, i.Binary("-", rest, i.ONE)))


def other_step(node: object) -> Iterator[object]:
    """Elements between blocks that are left out, or written twice."""
    if isinstance(node, i.Loop) and node.step > 1 and stores(node):
        yield replace(node, step=node.step + 1)
        yield replace(node, step=node.step - 1)


def other_place(node: object) -> Iterator[object]:
    """Rows of another length, and columns in the place of rows."""
    match node:
        case i.Store(target=i.Load(tensor="Y", offset=i.Binary() as offset) as target):
            for made in (i.Binary("+", offset, i.ONE), i.Binary("*", offset, i.Const(2))):
                yield replace(node, target=replace(target, offset=made))
            match offset:
                case i.Binary(left=i.Binary(op="*", left=i.Var() as row) as whole, right=column):
                    made = replace(offset, left=replace(whole, left=column), right=row)
                    yield replace(node, target=replace(target, offset=made))
                    made = replace(offset, left=replace(whole, right=i.Var("K")))
                    yield replace(node, target=replace(target, offset=made))
                case _:
                    pass
        case _:
            pass


def guarded(node: object) -> Iterator[object]:
    """Some element is not written, or its row in its stead."""
    if isinstance(node, i.Store) and stores(node):
        yield i.If(i.Compare("!=", i.Var("N"), i.Const(7)), (node,), (), SPAN)


def stores(node: i.Loop | i.Store) -> bool:
    return any(isinstance(e.target, i.Load) and e.target.tensor == "Y" for e in all_stores(node))


def all_stores(node: i.Loop | i.Store) -> tuple[i.Store, ...]:
    return (node,) if isinstance(node, i.Store) else nodes_in(node.body, i.Store)


FAULTS = (other_ends, no_rest, other_step, other_place, guarded)
FAULTY = {"matmul": MATMUL, "pooled": POOLED, "rows of a box": BOX}


# Windows take six times as long as a product, by the same rules.
@pytest.mark.parametrize("name", ["matmul", pytest.param("pooled", marks=pytest.mark.slow)])
def test_faults_are_not_proved(name: str) -> None:
    """An element that is left out or written twice, a tail that is dropped, another stride."""
    items, right = FAULTY[name], outcomes(FAULTY[name])
    assert right["written proved"]
    body = scheduled_kernels(operator(items), packaged()).kernels[0].subject.body
    made = [other for change in FAULTS for other in mutants(body, change)]
    assert len(made) >= 10
    for other in made[:: max(1, len(made) // 8)]:
        assert outcomes(items, lambda _, other=other: other) != right, block_lines(other)


# ---------------------------------------------------------------- invented nests


def plus(left: i.Expr, right: i.Expr) -> i.Expr:
    return right if left == i.ZERO else i.Binary("+", left, right)


def times(left: i.Expr, by: int) -> i.Expr:
    return i.Binary("*", left, i.Const(by))


def loop(index: str, high: i.Expr, body: i.Block, step: int = 1, low: i.Expr = i.ZERO) -> i.Loop:
    return i.Loop(index, low, high, body, 0, SPAN, step)


def invented(random: Random, base: i.Expr, stride: int, count: int, depth: int) -> i.Block:
    """Statements that write `count` places from a base on, so far apart; now and then not quite."""
    index, at = f"i{depth}", i.Var(f"i{depth}")
    slip = random.choice((-1, 1)) if random.random() < 0.04 else 0
    count += slip

    def filled(base: i.Expr, stride: int, count: int) -> i.Block:
        return invented(random, base, stride, count, depth - 1)

    if depth <= 0 or random.random() < 0.15:
        store = i.Store(i.Load("Y", None, plus(base, times(at, stride))), i.ONE, SPAN)
        return (loop(index, i.Const(count), (store,)),)
    divisors = [each for each in range(2, count) if count % each == 0] or [1]
    by = random.choice(divisors)
    match random.choice(["rows", "columns", "behind", "blocks", "either"]):
        case "rows":
            body = filled(plus(base, times(at, count // by * stride)), stride, count // by)
            return (loop(index, i.Const(by), body),)
        case "columns":
            body = filled(plus(base, times(at, stride)), stride * by, count // by)
            return (loop(index, i.Const(by), body),)
        case "behind":
            cut = random.randrange(count + 1) if count > 0 else 0
            behind = plus(base, i.Const(cut * stride))
            return (*filled(base, stride, cut), *filled(behind, stride, count - cut))
        case "blocks":
            block, inner = random.randrange(1, 9), f"k{depth}"
            most = i.Call("min_i64", (i.Const(block), i.Binary("-", i.Const(count), at)))
            place = plus(base, times(i.Binary("+", at, i.Var(inner)), stride))
            store = i.Store(i.Load("Y", None, place), i.ONE, SPAN)
            step = block + random.choice((0, 0, 0, 0, 1, -1))
            return (loop(index, i.Const(count), (loop(inner, most, (store,)),), max(step, 1)),)
        case _:
            test = i.Compare("<", i.Const(random.randrange(2)), i.ONE)
            both = filled(base, stride, count), filled(base, stride, count)
            return (i.If(test, *both, SPAN),)


def run(body: i.Block, values: dict[str, int], found: Counter[int]) -> None:
    for each in body:
        match each:
            case i.Store(target=i.Load(offset=offset)):
                found[number_of(offset, values)] += 1
            case i.If(condition=i.Compare(left=left, right=right)):
                test = number_of(left, values) < number_of(right, values)
                run(each.then if test else each.otherwise, values, found)
            case i.Loop(index=index, low=low, high=high):
                assert low is not None
                ends = number_of(low, values), number_of(high, values)
                for at in range(*ends, each.step):
                    run(each.body, {**values, index: at}, found)
            case _:
                raise AssertionError(each)


def number_of(expr: i.Expr, values: dict[str, int]) -> int:
    match expr:
        case i.Const(value=value):
            return int(value)
        case i.Var(name=name):
            return values[name]
        case i.Binary(op=op, left=left, right=right):
            one, other = number_of(left, values), number_of(right, values)
            return one + other if op == "+" else one - other if op == "-" else one * other
        case i.Call(arguments=arguments):
            return min(number_of(each, values) for each in arguments)
        case _:
            raise AssertionError(expr)


def test_what_is_proved_of_invented_nests_is_so() -> None:
    """Most nests that fill a tensor are shown to; none that does not is."""
    random, counts = Random(7), Counter[str]()
    for _ in range(250):
        body, found = invented(random, i.ZERO, 1, 24, 3), Counter[int]()
        run(body, {}, found)
        symbols, prover = Symbols(), Prover(())
        reader, shape = FormulaReader(symbols, {"Y": "i32"}), (t.term(4), t.term(6))
        call, walk = HostReader(reader), KernelWalk(reader)
        walk.block(body, PlaceScope())
        shows = partial(prover.at_once, symbols)
        made = whole_tensor(walk.written, WrittenTensor("Y", shape), call, Shows(shows, shows))
        exact, all_of = found == Counter(range(24)), set(found) == set(range(24))
        if not made.why:
            assert all_of, block_lines(body)
            assert made.again or exact, block_lines(body)
        counts["shown" if not made.why else "not shown"] += exact
        counts["again"] += made.again
        counts["wrong"] += not all_of
    assert counts["shown"] > 2 * counts["not shown"], counts
    assert min(counts["again"], counts["wrong"]) > 5, counts


# ---------------------------------------------------------------- recurrences


def order(body: i.Block | None = None) -> set[str]:
    kernels = scheduled_kernels(operator(TOTALS), packaged())
    kernel = next(each for each in kernels.kernels if each.nest.tensor == "S")
    if body is not None:
        kernel = replace(kernel, subject=kernel.subject.with_body(body))
    found = list(KernelProofs(kernels, kernel, PROVER).order())
    assert found
    return {each.status for each in found}


def other_read(node: object) -> Iterator[object]:
    """What is written now, or later, or in another row."""
    match node:
        case i.Binary(op="-", left=i.Var(name="k"), right=i.Const(value=1)):
            yield i.Var("k")
            yield i.Binary("+", i.Var("k"), i.ONE)
            yield i.Binary("-", i.Var("k"), i.Var("K"))
        case i.Loop(index="k"):
            yield replace(node, parallel=1)
        case _:
            pass


def test_a_recurrence_reads_what_was_written_before() -> None:
    kernels = scheduled_kernels(operator(TOTALS), packaged())
    body = next(e for e in kernels.kernels if e.nest.tensor == "S").subject.body
    assert order() == {"proved"}
    found = list(mutants(body, other_read))
    assert len(found) >= 4
    for other in found:
        assert order(other) != {"proved"}, block_lines(other)
