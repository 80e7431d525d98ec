"""What a refusal shows of a call, by the condition that does not hold."""

from __future__ import annotations

import pytest

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.terms import TermFinder
from tests.reference.calls import written

# A condition, the terms in their order, and why.
ROWS = [
    ("N > 1 and k < N", ["N", "k"], "each once"),
    ("all[i < len(n)](n[i] > k)", ["n", "k"], "an index is no term"),
    ("p(X) < 9 and b", ["p(X)", "b"], "precisions and truths"),
    ("all[j in T](j < N)", ["axes", "N"], "the list that a set is made from"),
    ("count(U - T) > 0", ["n", "axes"], "sets made from sets; a set of numbers has no list"),
    ("h > w", ["h", "w"], "entries by their names"),
    ("all[i < M](len(m[i]) == N)", ["M", "m", "N"], "the shapes of several inputs"),
    ("all[i < M](p(Z[i]) < 9)", ["M"], "of several precisions none"),
]


@pytest.mark.parametrize(("condition", "expected", "why"), ROWS)
def test_terms(condition: str, expected: list[str], why: str) -> None:
    operator = written(
        f"""operator f {{
          input  X : cvm[n...]
          input  each i < M : Z[i] : cvm[m[i]...]
          let    N = len(n)
          attr   axes : int list = () in [0, N)
          attr   k = 1
          attr   b : bool = true
          attr   size (h, w) = (1, 1)
          let    T = {{a for a in axes}}
          let    U = {{j for j < N if n[j] > 1}} + {{i for i < N}}
          require {condition} : "{why}"
          output Y : cvm[n...] precision 32
          Y[d...] = X[d...]
        }}"""
    )
    (require,) = (each for each in operator.items if isinstance(each, f.Require))
    assert [name(each) for each in TermFinder(operator).of(require.condition)] == expected


def name(term: n.Ref | n.Precision) -> str:
    return term.name if isinstance(term, n.Ref) else f"p({term.tensor})"
