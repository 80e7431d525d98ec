"""Folds over a part of a pack in host code: reference, c and python give the same numbers."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from cvmgen.reference import Reference, Tensor
from tests.specs import operator
from tests.targets import load_own

ITEMS = """
  input  X : cvm[n...]
  let    N = len(n)
  attr   axes : int list in [0, N)
  let    R = {a for a in axes}
  let    K = {i for i < N} - R
  let    V = sum[d[j] < n[j] for j in R if not 0 in R or d[0] > 0](sum[j in R]((j + 1)*d[j]))
  let    W = sum[d[j] < n[j] for j in R](sum[d[j] < n[j] for j in K](sum[j < N]((j + 1)*d[j])))
  output Y : cvm[(1 if i in R else n[i] for i < N)...] precision 32
  Y[(0 if i in R else d[i] for i < N)...] = count[d[j] < n[j] for j in R](true) + V + W
    forall d[i] < n[i] for i in K
"""


def test_parts_of_packs_in_host_code(tmp_path: Path) -> None:
    formula = operator(ITEMS, "counted")
    reference = Reference(formula)
    for target, loaded in load_own([formula], tmp_path).items():
        counted = loaded.test.counted
        for shape in ((4,), (2, 3), (3, 2, 2)):
            for count in range(len(shape) + 1):
                for axes in combinations(range(len(shape)), count):
                    x = np.ones(shape, np.int32)
                    given = {"X": Tensor.of(x)}
                    expected = reference.evaluate(given, {"axes": axes}).outputs["Y"]
                    assert counted(x, axes=axes).tolist() == expected.nested(), (target, axes)
