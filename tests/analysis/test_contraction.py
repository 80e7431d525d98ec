"""Which nests are products of matrices, and which index belongs to which side."""

from __future__ import annotations

from itertools import product

import pytest

from cvmgen.analysis.contraction import Contraction, Factor, contraction
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.grid import grid
from cvmgen.analysis.magnitude import covers, magnitude
from cvmgen.analysis.sums_of_products import NoContraction
from cvmgen.driver import C_LIKE, lower
from cvmgen.dtypes import INT8
from cvmgen.ir import nodes as i
from cvmgen.ir.host import given_shapes
from cvmgen.ir.loops import product as product_of
from cvmgen.ir.text import text
from cvmgen.ir.visit import substitute, walk
from cvmgen.typing.types import type_nest
from tests.specs import operator

SIZES = {
    "A": "input A : cvm[I, K]\n",
    "B": "input B : cvm[J, K]\n",
    "Y": "output Y : cvm[I, J] precision 32\n",
}
PLAIN = "".join(SIZES.values())


def found(items: str) -> Contraction | None:
    program = lower(operator(items), C_LIKE)
    (nest,) = program.nests
    names = (*(item.name for item in program.operator.inputs), *program.operator.output_names)
    typed = type_nest(program, nest, dict.fromkeys(names, INT8))
    outer = grid(typed.body)
    sizes = {name: product_of(shape) for name, shape in given_shapes(program).items()}
    try:
        return contraction(outer.loops, outer.body, Facts.of(program, nest), sizes)
    except NoContraction:
        return None


def shown(side: Factor) -> str:
    """The lines of a side, its locals and tests, and its element or the start of a line."""
    steps = [
        f"{each.name} = {text(each.value)}" if isinstance(each, i.Let) else text(each)
        for each in side.steps
    ]
    if side.start is not None:
        steps.append(f"{side.load.tensor} from {text(side.start)}")
    else:
        steps.append(text(side.load))
    return f"{' '.join(loop.index for loop in side.lines)}: {'; '.join(steps)}"


CONTRACTIONS = [
    (
        "a product of matrices",
        PLAIN + "Y[i, j] = sum[k < K](A[i, k] * B[j, k])",
        ("", "i: A from i * K", "j: B from j * K", "k"),
    ),
    (
        "the inner index is of the first factor",
        PLAIN + "Y[i, j] = sum[k < K](B[j, k] * A[i, k])",
        ("", "i: A from i * K", "j: B from j * K", "k"),
    ),
    (
        "the second matrix lies the other way",
        "input A : cvm[I, K]\ninput B : cvm[K, J]\n" + SIZES["Y"] + "Y[i, j] = "
        "sum[k < K](A[i, k] * B[k, j])",
        ("", "i: A from i * K", "j: B@[k * J + j]", "k"),
    ),
    (
        "batches",
        "input A : cvm[N, I, K]\ninput B : cvm[N, J, K]\noutput Y : cvm[N, I, J] precision 32\n"
        "Y[n, i, j] = sum[k < K](A[n, i, k] * B[n, j, k])",
        ("n", "i: A from (n * I + i) * K", "j: B from (n * J + j) * K", "k"),
    ),
    (
        "several sums are one place",
        "input A : cvm[I, K, L]\ninput B : cvm[J, K, L]\n" + SIZES["Y"] + "Y[i, j] = "
        "sum[k < K, l < L](A[i, k, l] * B[j, k, l])",
        ("", "i: A from i * K * L", "j: B from j * K * L", "k l"),
    ),
    (
        "in another order they are not",
        "input A : cvm[I, L, K]\ninput B : cvm[J, K, L]\n" + SIZES["Y"] + "Y[i, j] = "
        "sum[k < K, l < L](A[i, l, k] * B[j, k, l])",
        ("", "i: A@[(i * L + l) * K + k]", "j: B from j * K * L", "k l"),
    ),
    (
        "a condition that the other factor cannot make",
        "attr c in [1, 9)\n" + PLAIN + "Y[i, j] = sum[k < K if k + j < c](A[i, k] * B[j, k])",
        ("", "i: A from i * K", "j: k + j < c; B@[j * K + k]", "k"),
    ),
    (
        "a condition that both can make is made once",
        "attr c in [1, 9)\n" + PLAIN + "Y[i, j] = sum[k < K if k < c](A[i, k] * B[j, k])",
        ("", "i: k < c; A@[i * K + k]", "j: B from j * K", "k"),
    ),
    (
        "a condition that both need",
        "input A : cvm[I, K]\ninput B : cvm[J, K]\nattr c in [1, 9)\nattr m in [1, 9)\n"
        + SIZES["Y"]
        + "Y[i, j] = sum[k < m if k < K](A[i, k] * B[j, k])",
        ("", "i: k < K; A@[i * K + k]", "j: k < K; B@[j * K + k]", "k"),
    ),
    (
        "a quotient is a batch",
        "input A : cvm[G, I, K]\ninput B : cvm[J, K]\nattr c in [1, 64)\nrequire G * c == J : 'c'\n"
        "output Y : cvm[I, J] precision 32\n".replace("'c'", '"c divides J"')
        + "Y[i, j] = sum[k < K](A[j div c, i, k] * B[j, k])",
        ("j_outer", "i: A from (j_outer * I + i) * K", "j_inner: B from j * K", "k"),
    ),
    (
        "an extent that is a quotient",
        "input A : cvm[I, L]\ninput B : cvm[J, K]\nattr s in [1, 9)\n"
        'require L >= K : "a window"\noutput Y : cvm[I, J, (L - K) div s + 1] precision 32\n'
        "Y[i, j, x] = sum[k < K](A[i, x * s + k] * B[j, k])",
        ("", "j: B from j * K", "i x: A from i * L + x * s", "k"),
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"), [row[1:] for row in CONTRACTIONS], ids=[row[0] for row in CONTRACTIONS]
)
def test_contractions(items: str, expected: tuple[str, str, str, str]) -> None:
    made = found(items)
    assert made is not None
    batches = " ".join(loop.index for loop in made.batches)
    summed = " ".join(loop.index for loop in made.summed)
    assert (batches, shown(made.rows), shown(made.columns), summed) == expected


OTHERS = [
    ("a matrix and a vector", "input A : cvm[I, K]\ninput B : cvm[K]\noutput Y : cvm[I] "
     "precision 32\nY[i] = sum[k < K](A[i, k] * B[k])"),
    ("one factor", PLAIN + "Y[i, j] = sum[k < K](A[i, k])"),
    ("three factors", PLAIN + "Y[i, j] = sum[k < K](A[i, k] * B[j, k] * B[j, k])"),
    ("a product of differences", PLAIN + "Y[i, j] = sum[k < K]((A[i, k] - 1) * (B[j, k] - 1))"),
    ("a greatest product", PLAIN + "Y[i, j] = max[k < K](A[i, k] * B[j, k])"),
    ("the sum is shorter for some", PLAIN + "Y[i, j] = sum[k < min(i, K)](A[i, k] * B[j, k])"),
    ("a condition on rows and columns", PLAIN + "Y[i, j] = sum[k < K if i + j > k]"
     "(A[i, k] * B[j, k])"),
    ("a condition on elements", PLAIN + "Y[i, j] = sum[k < K if A[i, k] > 0](A[i, k] * B[j, k])"),
    ("a place that is an element", PLAIN + "Y[i, j] = sum[k < K if 0 <= A[i, k] < K]"
     "(A[i, k] * B[j, A[i, k]])"),
    ("two sums", PLAIN + "Y[i, j] = sum[k < K](A[i, k] * B[j, k]) + sum[k < K](A[i, k])"),
    (
        "without a condition of rows the column would be read beyond its end",
        "input A : cvm[I, K]\ninput B : cvm[J, L]\n" + SIZES["Y"]
        + "Y[i, j] = sum[k < K if k + i < L](A[i, k] * B[j, k])",
    ),
]  # fmt: skip


@pytest.mark.parametrize("items", [row[1] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_other_nests(items: str) -> None:
    assert found(items) is None


# ---------------------------------------------------------------- magnitudes

N, M, P = i.Var("N"), i.Var("M"), i.Var("P")
a, b = i.Var("a"), i.Var("b")


def binary(op: str, left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary(op, left, right)


PLACES = [
    binary("+", binary("*", a, M), b),
    binary("-", binary("*", a, P), binary("+", P, b)),
    binary("*", binary("-", binary("*", a, M), binary("*", b, N)), P),
    binary("+", binary("truncdiv", a, M), binary("rem", binary("*", b, i.Const(-3)), N)),
    binary("*", i.Call("min_i64", (a, binary("-", P, b))), i.Call("max_i64", (b, P))),
]


def value(expr: i.Expr) -> int:
    match expr:
        case i.Const(value=number):
            return number
        case i.Binary(op=op, left=left, right=right):
            x, y = value(left), value(right)
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0
            results = {"+": x + y, "-": x - y, "*": x * y, "truncdiv": quotient}
            return {**results, "rem": x - quotient * y}[op]
        case i.Call(function=function, arguments=arguments):
            values = [value(each) for each in arguments]
            return {"min": min, "max": max, "abs": lambda *x: abs(*x)}[function[:3]](*values)
        case _:
            raise AssertionError(expr)


@pytest.mark.parametrize("place", PLACES, ids=text)
def test_magnitudes_bound_every_step(place: i.Expr) -> None:
    facts = Facts()
    facts.positive_names |= {"N", "M"}
    facts.indices |= {"a", "b"}
    bound = magnitude(place, {"a": N, "b": M}, facts)
    assert bound is not None
    for n, m, p in product(range(1, 5), range(1, 5), range(-3, 4)):
        known: dict[str, i.Expr] = {"N": i.Const(n), "M": i.Const(m), "P": i.Const(p)}
        most = value(substitute(bound, known))
        for at_a, at_b in product(range(n), range(m)):
            all_known = known | {"a": i.Const(at_a), "b": i.Const(at_b)}
            for step in walk(substitute(place, all_known)):
                assert abs(value(step)) <= most, (text(place), n, m, p, at_a, at_b)


def test_elements_have_no_bound() -> None:
    assert magnitude(i.Load("A", None, a), {"a": N}, Facts()) is None


@pytest.mark.parametrize(
    ("larger", "smaller", "expected"),
    [
        (binary("*", N, binary("*", M, P)), binary("*", P, N), True),
        (binary("*", N, M), binary("*", N, N), False),
        (binary("+", binary("*", N, M), P), binary("*", N, M), True),
        (binary("+", N, M), binary("*", N, M), False),
    ],
    ids=["factors", "twice", "a part", "a sum"],
)
def test_bounds_that_say_no_more(larger: i.Expr, smaller: i.Expr, expected: bool) -> None:
    assert covers(larger, smaller) is expected
