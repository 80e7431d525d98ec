"""Index algebra through sympy: what goes in opaque comes out as it was."""

import pytest

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text

A, B, N = i.Var("a"), i.Var("b"), i.Var("N")


def plus(x: i.Expr, y: i.Expr) -> i.Expr:
    return i.Binary("+", x, y)


def times(x: i.Expr, y: i.Expr) -> i.Expr:
    return i.Binary("*", x, y)


def floordiv(x: i.Expr, y: i.Expr) -> i.Expr:
    return i.Binary("floordiv", x, y)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (plus(A, B), plus(B, A), True),
        (times(i.Const(2), plus(A, B)), plus(times(A, i.Const(2)), times(B, i.Const(2))), True),
        (floordiv(A, B), floordiv(A, B), True),
        (floordiv(times(A, B), B), A, False),
        (plus(A, i.Const(1)), A, False),
    ],
)
def test_equal(left: i.Expr, right: i.Expr, same: bool) -> None:
    assert algebra.equal(left, right) is same


def test_floor_division_is_opaque() -> None:
    """sympy would write floor(a/49) and print it as a floating-point division."""
    atoms = algebra.Atoms()
    expr = plus(floordiv(A, i.Const(49)), i.Const(3))
    assert text(algebra.from_sympy(algebra.to_sympy(expr, atoms), atoms)) == "a div 49 + 3"


def test_linear() -> None:
    entry = i.Item(i.Var("d"), i.Var("j"))
    found = algebra.linear(plus(times(entry, N), plus(A, i.Const(-1))), (entry,))
    assert found is not None
    coefficients, rest = found
    assert coefficients == {entry: N}
    assert algebra.equal(rest, plus(A, i.Const(-1)))


@pytest.mark.parametrize(
    "expr",
    [
        times(i.Item(i.Var("d"), A), i.Item(i.Var("d"), A)),
        floordiv(i.Item(i.Var("d"), A), i.Const(2)),
    ],
)
def test_what_is_not_affine_is_said_to_be_so(expr: i.Expr) -> None:
    assert algebra.linear(expr, (i.Item(i.Var("d"), A),), frozenset({"d"})) is None


@pytest.mark.parametrize(
    ("expr", "simple"),
    [
        (plus(A, i.Const(0)), "a"),
        (times(i.Const(1), A), "a"),
        (times(i.Const(2), plus(A, i.Const(3))), "2 * (a + 3)"),
        (plus(i.Const(2), i.Const(3)), "5"),
    ],
)
def test_simplify_keeps_the_form_of_the_formula(expr: i.Expr, simple: str) -> None:
    """Never 2*(a+3) to 2*a+6: that would move where a machine integer overflows."""
    assert text(algebra.simplify(expr)) == simple


@pytest.mark.parametrize(
    ("expr", "divisor", "expected"),
    [
        (times(A, B), B, "a"),
        (times(A, B), times(B, A), "1"),
        (plus(times(A, B), times(N, B)), B, "N + a"),
        (times(i.Const(6), A), i.Const(3), "2 * a"),
        (i.Const(6), i.Const(3), "2"),
        (i.Const(7), i.Const(3), None),
        (A, i.Const(2), None),
        (plus(times(A, B), i.Const(1)), B, None),
        (times(floordiv(A, B), B), B, "a div b"),
        (A, B, None),
        (A, i.Const(0), None),
    ],
)
def test_quotient(expr: i.Expr, divisor: i.Expr, expected: str | None) -> None:
    found = algebra.quotient(expr, divisor)
    assert (None if found is None else text(found)) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (i.Const(0), []),
        (i.Const(3), [(3, ())]),
        (plus(times(i.Const(2), times(A, B)), N), [(1, (N,)), (2, (A, B))]),
        (plus(A, times(i.Const(-1), A)), []),
    ],
)
def test_terms(expr: i.Expr, expected: list[tuple[int, tuple[i.Expr, ...]]]) -> None:
    assert sorted(algebra.polynomial_terms(expr), key=repr) == sorted(expected, key=repr)


def test_one_form_for_equal_polynomials() -> None:
    assert algebra.normal(plus(A, plus(B, times(i.Const(-1), A)))) == B
    assert algebra.normal(plus(A, B)) == algebra.normal(plus(B, A))
