"""The verifier: what a pass can break, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cvmgen.driver import C_LIKE, COMMON, lower
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.verify import verify
from cvmgen.source import Source, Span
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile

FORMULA = """\
operator scaled {
  "Each element times a number."
  input  X : cvm[n...]
  attr   by = 1 in [0, 8)
  output Y : cvm[n...] precision p(X) + 3
  Y[d...] = by * X[d...]
}
"""
Change = Callable[[i.Program], i.Program]
SPAN = Span(Source("a.cvm", FORMULA), 0, 1)
ZERO = i.Const(0)
LET = i.Let("x", "int", ZERO, SPAN)
SUM = i.Fold("sum", i.Var("j"), (i.Over("j", ZERO, i.Var("n_size")),), None)


@pytest.fixture(scope="module")
def program() -> i.Program:
    """The operator after the common passes."""
    (operator,) = check_files([SpecFile(Source("a.cvm", FORMULA), "toy")])
    return lower(operator, COMMON)


def in_nest(*statements: i.Stmt) -> Change:
    def put(program: i.Program) -> i.Program:
        (nest,) = program.nests
        return replace(program, nests=(replace(nest, body=(*statements, *nest.body)),))

    return put


def on_host(*statements: i.Stmt) -> Change:
    return lambda program: replace(program, prepare=(*program.prepare, *statements))


COPY = i.Copy("i32", i.Load("Y", None, ZERO), ZERO, i.Load("X", None, ZERO), ZERO, ZERO, SPAN)
FILL = i.Fill("i32", i.Load("Y", None, ZERO), ZERO, ZERO, ZERO, SPAN)


def store(value: i.Expr, tensor: str = "Y") -> i.Stmt:
    return i.Store(i.Load(tensor, None, ZERO), value, SPAN)


def emptied(program: i.Program) -> i.Program:
    return replace(program, nests=(replace(program.nests[0], body=(LET,)),))


BROKEN = [
    (emptied, "a nest that writes nothing to Y"),
    (in_nest(store(i.Var("q"))), "the name 'q', which nothing binds"),
    (in_nest(store(i.Var("d"))), "the name 'd', which nothing binds"),
    (in_nest(store(i.Var("x")), LET), "the name 'x', which nothing binds"),
    (
        in_nest(i.If(i.Const(True), (LET,), (), SPAN), store(i.Var("x"))),
        "the name 'x', which nothing binds",
    ),
    (in_nest(i.Loop("k", ZERO, i.Var("k"), (), 0, SPAN)), "the name 'k', which nothing binds"),
    (in_nest(LET, LET), "two locals 'x' in one block"),
    (in_nest(i.Assign("y", ZERO, SPAN)), "a change of 'y', which is no local"),
    (in_nest(i.Accumulate("n_size", "+", ZERO, SPAN)), "a change of 'n_size', which is no local"),
    (on_host(i.Append("n", "list", ZERO, SPAN)), "a change of 'n', which is no local"),
    (on_host(i.Merge("n", (), False, SPAN)), "a change of 'n', which is no local"),
    (in_nest(store(ZERO, "X")), "'X', which is not an output"),
    (in_nest(store(i.Load("Y", None, ZERO))), "'Y', which is not an input"),
    (in_nest(replace(COPY, target=COPY.source)), "'X', which is not an output"),
    (in_nest(replace(COPY, source=COPY.target)), "'Y', which is not an input"),
    (in_nest(replace(COPY, count=i.Var("q"))), "the name 'q', which nothing binds"),
    (in_nest(replace(FILL, target=COPY.source)), "'X', which is not an output"),
    (in_nest(replace(FILL, step=i.Var("q"))), "the name 'q', which nothing binds"),
    (in_nest(store(i.Given("X"))), "'X', which is not optional"),
    (on_host(i.Let("p", "int", i.PrecisionOf("Z", None), SPAN)), "'Z', which is not an input"),
    (
        in_nest(store(i.Access("X", None, ((i.Var("n"), True),)))),
        "Access `X[n...]`, which a pass before removes",
    ),
    (in_nest(store(SUM)), "Fold `sum[0 <= j < n_size](j)`, which a pass before removes"),
    (
        in_nest(store(i.Bind("x", ZERO, i.Var("x")))),
        "Bind `(let x = 0 in x)`, which a pass before removes",
    ),
]
NAMES = [name for name, _ in COMMON]


@pytest.mark.parametrize(("change", "what"), BROKEN, ids=[what for _, what in BROKEN])
def test_broken(program: i.Program, change: Change, what: str) -> None:
    verify(program, NAMES)
    with pytest.raises(InternalError) as caught:
        verify(change(program), NAMES)
    assert str(caught.value) == f"the pass 'shelter' left toy.scaled with {what}"


ALLOWED = [
    (on_host(i.Let("z", "int", SUM, SPAN)), "host code keeps its folds for Python"),
    (in_nest(COPY, FILL), "runs of elements"),
    (in_nest(LET, i.Assign("x", ZERO, SPAN), store(i.Var("x"))), "a local may change"),
    (in_nest(i.If(i.Const(True), (LET,), (LET,), SPAN)), "blocks have locals of their own"),
]


@pytest.mark.parametrize(("change", "why"), ALLOWED, ids=[why for _, why in ALLOWED])
def test_allowed(program: i.Program, change: Change, why: str) -> None:
    assert why
    verify(change(program), NAMES)


def test_what_c_cannot_have_is_gone_at_the_end(program: i.Program) -> None:
    names = [*NAMES, *(name for name, _ in C_LIKE)]
    with pytest.raises(InternalError, match="Fold"):
        verify(on_host(i.Let("z", "int", SUM, SPAN))(program), names)
