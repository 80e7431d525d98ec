"""Index lists of open rank: operators that put together, split and turn what a box is walked by."""

from __future__ import annotations

from random import Random

from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, data
from tests.conformance.draws import shape

# An output's extents, its equations, and what they are there for.
FORMS = [
    ("n[:a]..., (1 for i < k)..., n[a:]...",
     "Y[d[:a]..., (0 for i < k)..., d[a:]...] = X[d...] forall d... < n...",
     "new dimensions between the parts of a walk"),
    ("s...", "Y[d[:a]..., (0 for i < k)..., d[a:]...] = X[d...] forall d... < n...",
     "the same where the shape is one list"),
    ("s...", "Y[d[:a]..., (0 for i < k)..., (n[i] - 1 - d[i] for a <= i < N)...] = X[d...] "
     "forall d... < n...", "a part backwards"),
    ("(1 for i < k)..., n...", "Y[(0 for i < k)..., d...] = X[d...] forall d... < n...",
     "new dimensions in front"),
    ("n..., 2", "Y[d..., j] = X[d[:a]..., (0 for i in {i for a <= i < N})...] * j",
     "one entry for each member of a set that the entry does not name"),
    ("n[a:]..., n[:a]...", "Y[d[a:]..., d[:a]...] = X[d...] forall d... < n...",
     "the parts of one walk change places"),
    ("n[a:]..., n[:a]...", "Y[d..., e...] = X[e..., d...]", "two walks change places"),
    ("n...", "Y[(d[i] for i < a)..., d[a:]...] = X[d...] forall d... < n...",
     "a part as a list of entries"),
    ("n...", "Y[d...] = X[d[:a]..., (n[i + a] - 1 - d[i + a] for i < N - a)...]",
     "a part backwards where it is read"),
    ("(n[N - 1 - i] for i < N)...",
     "Y[(d[N - 1 - i] for i < N)...] = X[d...] forall d... < n...", "all dimensions turned"),
    ("n[:a]..., 1", "Y[i..., 0] = sum[j... < n[a:]...](X[i..., j...])",
     "a sum over a part, which may be empty"),
    ("n...", "Y[d...] = X[d...] + max[e... < n[a:]...](X[(0 for i < a)..., e...])",
     "a walk inside a walk"),
    ("n...", "Y[i, d...] = X[i, d...] * C[i] forall i < n[0], d... < n[1:]...",
     "an extent of a list, and a walk that is empty for rank 1"),
    ("n[0], n[1:]...", "Y[i, d...] = X[i, d...] * C[i]", "the same from the shape"),
    ("n...", "Y[(n[0] - 1 for i < 1)..., d...] = X[0, d...] forall d... < n[1:]... "
     "Y[i, d...] = X[i + 1, d...] forall i < n[0] - 1, d... < n[1:]...",
     "a list of one entry in front"),
]  # fmt: skip


def name_of(number: int) -> str:
    return f"form_{number}"


def formed() -> tuple[Operator, ...]:
    """The operators, with inputs X of any shape and C of its first extent."""
    blocks = (
        f"""operator {name_of(number)} {{
          "{why}"
          input  X : cvm[n...]
          input  C : cvm[n[0]]
          let    N = len(n)
          attr   a in [0, N]
          attr   k in [0, 3]
          require N + k <= 16 : "too many dimensions"
          let    s = ((n[i] if i < a else (1 if i < a + k else n[i - k])) for i < N + k)
          output Y : cvm[{extents}] precision 32
          {equations}
        }}"""
        for number, (extents, equations, why) in enumerate(FORMS)
    )
    return check_files([SpecFile(Source("formed.cvm", "\n".join(blocks)), "formed")])


def call(number: int, random: Random) -> Call:
    extents = shape(random)
    rank = len(extents)
    a, k = random.randint(0, rank), random.randint(0, min(3, 16 - rank))
    if FORMS[number][0].startswith("n[:a]..., 1"):
        a = min(a, 15)
    if FORMS[number][0] == "n..., 2" and rank == 16:
        extents, a, k = extents[:15], min(a, 15), min(k, 1)
    inputs = (data(random, extents, 8), data(random, extents[:1], 8))
    return Call(f"formed.{name_of(number)}", inputs, {"a": a, "k": k})
