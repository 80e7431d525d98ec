"""Intrinsics: what kernels call that is written once for each kind of processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """What an intrinsic computes, as a formula of the spec; `columns` and `depth` are the numbers
    of which its operands are packed multiples; `variants` the names of those for processors, the
    best first, and last the one that every processor has."""

    formula: str
    columns: int
    depth: int
    variants: tuple[str, ...]


INTRINSICS: Mapping[str, Intrinsic] = {
    "dot4": Intrinsic(
        """operator dot4 {
  "Totals of products of bytes, modulo 2^32: rows of elements + 128, columns of elements."
  input  X : cvm[R, K]
  input  W : cvm[C, K]
  output Y : cvm[R, C] precision 32
  Y[r, c] = sum[k < K]((X[r, k] - 128) * W[c, k])
}
""",
        columns=16,
        depth=4,
        variants=(
            "avx512vnni",
            "avx2",
            "neon_dot",
            "generic_avx512vnni",
            "generic_avx2",
            "generic_plain",
        ),
    ),
}
