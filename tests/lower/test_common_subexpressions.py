"""Locals for values that a formula names: where they stand, and where none may stand."""

import pytest

from cvmgen.driver import COMMON, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from cvmgen.lower.common_subexpressions import with_bindings
from tests.specs import operator

VECTOR = "input X : cvm[N]\noutput Y : cvm[N] precision 32\n"
SQUARE = "let f[i] = X[i] * X[i]\n"
QUOTIENT = "let f[i] = 100 div X[i]\n"

# Name, lets and equation, the nest of the equation, why.
SHARED = [
    (
        "twice",
        SQUARE + "Y[i] = f[i] * f[i]",
        ["let f: int = X@[i] * X@[i]", "Y@[i] = f * f"],
        "computed once",
    ),
    ("once", SQUARE + "Y[i] = f[i] + 1", ["Y@[i] = X@[i] * X@[i] + 1"], "no local for one use"),
    (
        "of different arguments",
        "let f[i, j] = X[i] * X[j]\nY[i] = f[i, 0] + f[0, i]",
        ["Y@[i] = X@[i] * X@[0] + X@[0] * X@[i]"],
        "two values of one definition",
    ),
    (
        "unnamed",
        "Y[i] = X[i] * X[i] + X[i] * X[i]",
        ["Y@[i] = X@[i] * X@[i] + X@[i] * X@[i]"],
        "what the formula does not name stays as it is written",
    ),
    (
        "a definition of another",
        SQUARE + "let g[i] = f[i] * f[i]\nY[i] = g[i] + g[i]",
        ["let f: int = X@[i] * X@[i]", "let g: int = f * f", "Y@[i] = g + g"],
        "the inner one first",
    ),
    (
        "in the test and in a branch",
        SQUARE + "Y[i] = f[i] if f[i] > 3 else 0",
        ["let f: int = X@[i] * X@[i]", "Y@[i] = f if f > 3 else 0"],
        "the test is evaluated in any case",
    ),
    (
        "in the first of conditions",
        SQUARE + "Y[i] = 1 if f[i] > 3 and f[i] < 9 else 0",
        ["let f: int = X@[i] * X@[i]", "Y@[i] = 1 if f > 3 and f < 9 else 0"],
        "the first condition is evaluated in any case",
    ),
    (
        "a guarded access",
        "let f[i] = X[i + 1] * X[i]\nY[i] = f[i] * f[i] if i + 1 < N else 0",
        [
            "let chosen: int = 0",
            "if i + 1 < N:",
            "  let f: int = X@[i + 1] * X@[i]",
            "  chosen = f * f",
            "Y@[i] = chosen",
        ],
        "inside the branch, behind its test",
    ),
    (
        "a guarded division",
        QUOTIENT + "Y[i] = f[i] + f[i] if X[i] != 0 else 0",
        [
            "let chosen: int = 0",
            "if X@[i] != 0:",
            "  let f: int = 100 div X@[i]",
            "  chosen = f + f",
            "Y@[i] = chosen",
        ],
        "inside the branch, behind its test",
    ),
    (
        "in two branches",
        QUOTIENT + "Y[i] = f[i] if X[i] > 0 else (0 - f[i] if X[i] < 0 else 0)",
        ["Y@[i] = 100 div X@[i] if X@[i] > 0 else 0 - 100 div X@[i] if X@[i] < 0 else 0"],
        "neither branch may be taken: no local",
    ),
    (
        "behind the first of conditions",
        QUOTIENT + "Y[i] = 1 if X[i] != 0 and f[i] > 3 and f[i] < 9 else 0",
        ["Y@[i] = 1 if X@[i] != 0 and 100 div X@[i] > 3 and 100 div X@[i] < 9 else 0"],
        "the first condition decides whether the others are evaluated",
    ),
    (
        "behind the first of alternatives",
        QUOTIENT + "Y[i] = 0 if X[i] == 0 or f[i] > 3 or f[i] < 0 - 3 else 1",
        ["Y@[i] = 0 if X@[i] == 0 or 100 div X@[i] > 3 or 100 div X@[i] < -3 else 1"],
        "likewise",
    ),
    (
        "inside a reduction",
        SQUARE + "Y[i] = sum[k < i + 1](f[k] * f[k])",
        [
            "let total: int = 0",
            "for 0 <= k < i + 1:",
            "  let f: int = X@[k] * X@[k]",
            "  total += f * f",
            "Y@[i] = total",
        ],
        "inside the loop whose index it speaks of",
    ),
    (
        "behind a filter",
        QUOTIENT + "Y[i] = sum[k < i + 1 if X[k] != 0](f[k] * f[k])",
        [
            "let total: int = 0",
            "for 0 <= k < i + 1:",
            "  if X@[k] != 0:",
            "    let f: int = 100 div X@[k]",
            "    total += f * f",
            "Y@[i] = total",
        ],
        "the filter comes first",
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"),
    [pytest.param(items, expected, id=name) for name, items, expected, _ in SHARED],
)
def test_locals_of_an_equation(items: str, expected: list[str]) -> None:
    (nest,) = lower(operator(VECTOR + items), COMMON).nests
    first, *body = block_lines(nest.body)
    assert first == "for 0 <= i < N:"
    assert [line.removeprefix("  ") for line in body] == expected


# Name, the let of a list V, what each of its indices does, why.
LISTS = [
    (
        "keys of a sort",
        SQUARE + "let V = sort[i < N] by (f[i] * f[i])",
        ["V@[i] = i", "let f: int = X@[i] * X@[i]", "V_keys@[i] = f * f"],
        "a local in front of the key",
    ),
    (
        "the test of a select",
        SQUARE + "let V = select[i < N](f[i] > 1 and f[i] < 9)",
        ["let f: int = X@[i] * X@[i]", "if f > 1 and f < 9:", "  V@[count] = i", "  count += 1"],
        "a local in front of the test",
    ),
    (
        "a guarded test of a select",
        QUOTIENT + "let V = select[i < N](X[i] != 0 and f[i] > 1 and f[i] < 9)",
        [
            "if X@[i] != 0 and 100 div X@[i] > 1 and 100 div X@[i] < 9:",
            "  V@[count] = i",
            "  count += 1",
        ],
        "the first condition decides whether the others are evaluated",
    ),
]


@pytest.mark.parametrize(
    ("lets", "expected"),
    [pytest.param(lets, expected, id=name) for name, lets, expected, _ in LISTS],
)
def test_locals_of_a_list(lets: str, expected: list[str]) -> None:
    nest, _ = lower(operator(f"{VECTOR}{lets}\nY[i] = count(V)"), COMMON).nests
    lines = block_lines(nest.body)
    start = lines.index("for 0 <= i < N:") + 1
    assert [each.removeprefix("  ") for each in lines[start:-1] if each[0] == " "] == expected


# ---------------------------------------------------------------- trees

A, B, C = i.Var("a"), i.Var("b"), i.Var("c")
PRODUCT = i.Binary("*", A, B)
WIDER = i.Binary("+", PRODUCT, C)


def plus(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary("+", left, right)


def chosen(condition: i.Expr, then: i.Expr, otherwise: i.Expr) -> i.Expr:
    return i.Select(i.Compare("<", condition, C), then, otherwise)


def total(body: i.Expr) -> i.Expr:
    return i.Fold("sum", body, (i.Over("k", i.Const(0), C),), None)


# An expression in which `f` names a * b and `g` names a * b + c; what comes of it; why.
TREES = [
    (plus(PRODUCT, PRODUCT), plus(i.Var("f"), i.Var("f")), ["f"], "two uses"),
    (plus(PRODUCT, C), plus(PRODUCT, C), [], "one use"),
    (plus(WIDER, WIDER), plus(i.Var("g"), i.Var("g")), ["g"], "of the greater all is said"),
    (chosen(A, PRODUCT, PRODUCT), chosen(A, PRODUCT, PRODUCT), [], "one branch is taken"),
    (
        chosen(PRODUCT, PRODUCT, C),
        chosen(i.Var("f"), i.Var("f"), C),
        ["f"],
        "the test is always evaluated",
    ),
    (
        plus(total(PRODUCT), PRODUCT),
        plus(total(PRODUCT), PRODUCT),
        [],
        "a reduction is a scope of its own",
    ),
]


@pytest.mark.parametrize(("expr", "body", "names", "why"), TREES, ids=[row[-1] for row in TREES])
def test_bindings(expr: i.Expr, body: i.Expr, names: list[str], why: str) -> None:
    found = with_bindings(expr, {PRODUCT: "f", WIDER: "g"}, lambda name: name)
    bound = []
    while isinstance(found, i.Bind):
        bound.append(found.name)
        found = found.body
    assert (bound, text(found)) == (names, text(body)), why


def test_a_binding_stands_at_the_innermost_place() -> None:
    found = with_bindings(plus(A, plus(PRODUCT, PRODUCT)), {PRODUCT: "f"}, lambda name: name)
    assert isinstance(found, i.Binary)
    assert found.left == A
    assert isinstance(found.right, i.Bind)


def test_names_are_fresh() -> None:
    """A local avoids the names that are taken around it."""
    found = with_bindings(plus(PRODUCT, PRODUCT), {PRODUCT: "f"}, lambda name: f"{name}_2")
    assert isinstance(found, i.Bind)
    assert (found.name, found.value) == ("f_2", PRODUCT)
