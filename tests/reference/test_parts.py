"""Parts of an equation, named by `where`: which have one value at a point, and keep it."""

from __future__ import annotations

from cvmgen.reference.lets import steady_parts
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Equation

FORMULA = """operator f {
  "Parts that stay and parts that move."
  input  X : int32[n, m]
  output Y : int64[n, m]
  Y[i, j] = twice + sum[k < m](moved) + below(1) + whole - sum[l < m](whole * l)
    where own = X[i, j] + 1,
          twice = own * own + own,
          moved = X[i, k] * own + k,
          below(d) = own if i < d else moving,
          moving = sum[k < m](X[i, k]),
          whole = total(i) + twice
}
def total(x) = x + x
"""


def test_parts_with_one_value_at_a_point() -> None:
    (operator,) = check_files([SpecFile(Source("toy.cvm", FORMULA), "toy")])
    (equation,) = (each for each in operator.items if isinstance(each, Equation))
    assert steady_parts(equation) == {"own", "twice", "whole"}
    inputs = {"X": Tensor((2, 3), [4, -1, 2, 5, 0, 7], 0, "int32")}
    once = Reference(operator).evaluate(inputs).outputs["Y"].values
    each_time = Reference(operator)
    each_time.keeps_parts = False
    assert once == each_time.evaluate(inputs).outputs["Y"].values
    x = [[4, -1, 2], [5, 0, 7]]
    wanted = []
    for i, row in enumerate(x):
        for own in (each + 1 for each in row):
            twice = own * own + own
            moved = sum(each * own + k for k, each in enumerate(row))
            whole = 2 * i + twice
            wanted.append(twice + moved + (own if i < 1 else sum(row)) + whole - 3 * whole)
    assert once == wanted
