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
    found = algebra.linear(plus(times(entry, N), plus(A, i.Const(-1))), [entry])
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
    assert algebra.linear(expr, [i.Item(i.Var("d"), A)], frozenset({"d"})) is None


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
