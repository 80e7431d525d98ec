"""Formula to nest, as text: what each pass makes of it."""

import pytest

from cvmgen.driver import C_LIKE, COMMON, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.ir.visit import walk
from tests.specs import operator

VECTOR = "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\n"
MATRIX = "input X : cvm[M, K]\n"
ANY = "input X : cvm[n...]\n"
NUMBER = "input X : cvm[N]\noutput Y : cvm[1] precision 32\n"

LOWERED = [
    (
        "copy",
        VECTOR + "Y[i] = X[i]",
        ["for 0 <= i < N:", "  Y@[i] = X@[i]"],
        "no reduction: no accumulator",
    ),
    (
        "row sums",
        MATRIX + "output Y : cvm[M]\nY[i] = sum[k < K](X[i, k])",
        [
            "for 0 <= i < M:",
            "  let total: int = 0",
            "  for 0 <= k < K:",
            "    total += X@[i * K + k]",
            "  Y@[i] = total",
        ],
        "the reduced index is innermost, the accumulator starts once for each output element",
    ),
    (
        "quotients stay in their loops",
        "input X : cvm[N]\ninput W : cvm[K]\noutput Y : cvm[N] precision 32\n"
        "Y[i] = sum[k < K - 1](W[k] * q) where q = i div (K - 1)",
        [
            "for 0 <= i < N:",
            "  let total: int = 0",
            "  for 0 <= k < K - 1:",
            "    total += W@[k] * (i div (K - 1))",
            "  Y@[i] = total",
        ],
        "where a loop has no iteration, its divisor may be 0",
    ),
    (
        "an entry that may be missing stays behind its guard",
        ANY + "output Y : cvm[n...] precision 32\n"
        "Y[d...] = X[d...] + (n[1] if len(n) > 1 else n[0])",
        ["for 0 <= d < n_size:", "  Y@[d] = X@[d] + (n[1] if n_len > 1 else n[0])"],
        "only what every call has is named in front of the nest",
    ),
    (
        "elementwise of any rank",
        ANY + "output Y : cvm[n...] precision p(X)\nY[d...] = max(0, X[d...])",
        ["for 0 <= d < n_size:", "  Y@[d] = max(0, X@[d])"],
        "a pack that every access walks whole is one flat loop",
    ),
    (
        "named value",
        ANY + "output Y : cvm[n...] precision p(X)\n"
        "Y[d...] = x if x >= 0 else -x where x = X[d...]",
        ["for 0 <= d < n_size:", "  let x: int = X@[d]", "  Y@[d] = x if x >= 0 else 0 - x"],
        "a where without parameters is loaded once",
    ),
    (
        "guarded load stays guarded",
        VECTOR + "Y[i] = x if i > 0 else 0 where x = X[i - 1]",
        ["for 0 <= i < N:", "  Y@[i] = X@[i - 1] if i > 0 else 0"],
        "the branch not taken is not evaluated",
    ),
    (
        "zero guard",
        "input X : cvm[N]\noutput Y : cvm[N]\n"
        "Y[i] = sum[k < 3](at(i + k - 1) * 2) where at(j) = X[j] if 0 <= j < N else 0",
        [
            "for 0 <= i < N:",
            "  let total: int = 0",
            "  for 0 <= k < 3:",
            "    let j: int = i + k - 1",
            "    if 0 <= j and j < N:",
            "      total += X@[j] * 2",
            "  Y@[i] = total",
        ],
        "x if c else 0 in a sum is a test around the addition",
    ),
    (
        "guard of an outer loop",
        "input X : cvm[N, M]\noutput Y : cvm[N]\n"
        "Y[i] = sum[k < 3, j < M](at(i + k, j)) "
        "where at(h, w) = X[h, w] if h < N and w < M else 0",
        [
            "for 0 <= i < N:",
            "  let total: int = 0",
            "  for 0 <= k < 3:",
            "    let h: int = i + k",
            "    if h < N:",
            "      for 0 <= j < M:",
            "        if j < M:",
            "          total += X@[h * M + j]",
            "  Y@[i] = total",
        ],
        "tests and locals move out of the loops that they do not depend on",
    ),
    (
        "diagonal of a square",
        "input X : cvm[N, N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i, i]",
        ["for 0 <= i < N:", "  Y@[i] = X@[i * N + i]"],
        "an extent may stand twice in a shape",
    ),
    (
        "transposed",
        "input X : cvm[n...]\nlet N = len(n)\n"
        "output Y : cvm[(n[N - 1 - i] for i < N)...] precision p(X)\n"
        "Y[(d[N - 1 - i] for i < N)...] = X[d...] forall d... < n...",
        ["for d... < n:", "  Y@[d.Y_steps] = X@[position(d)]"],
        "an affine index list is a list of steps",
    ),
    (
        "flattened",
        ANY + "output Y : cvm[size(n)] precision p(X)\n"
        "Y[flatten_index(d..., n...)] = X[d...] forall d... < n...",
        ["for 0 <= d < n_size:", "  Y@[d] = X@[d]"],
        "the row-major position of a whole multi-index is the flat index",
    ),
    (
        "parts of a shape",
        "input X : cvm[n...]\ninput I : cvm[m...]\nlet N = len(n)\nattr a in [0, N)\n"
        "output Y : cvm[n[:a]..., m..., n[a + 1:]...] precision p(X)\n"
        "Y[i..., j..., k...] = X[i..., clip(I[j...], 0, n[a] - 1), k...] "
        "forall i... < n[:a]..., j... < m..., k... < n[a + 1:]...",
        [
            "for 0 <= i < i_extents_size:",
            "  for 0 <= j < m_size:",
            "    for 0 <= k < k_extents_size:",
            "      Y@[(i * m_size + j) * k_extents_size + k] = "
            "X@[(i * n_a + max(0, min(I@[j], n_a - 1))) * k_extents_size + k]",
        ],
        "multi-indices over neighbouring parts of a shape are positions in them",
    ),
    (
        "not affine",
        ANY + "output Y : cvm[n...] precision p(X)\nY[d...] = X[(d[j] div 2 for j < len(n))...]",
        [
            "for d... < n:",
            "  Y@[position(d)] = X@[flatten_index((d[j] div 2 for 0 <= j < n_len), n)]",
        ],
        "other index lists are looked up whole",
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"),
    [pytest.param(items, expected, id=name) for name, items, expected, _ in LOWERED],
)
def test_nest_after_the_common_passes(items: str, expected: list[str]) -> None:
    (nest,) = lower(operator(items), COMMON).nests
    assert block_lines(nest.body) == expected


# Lets with selected lists, the nest of each, why.
LISTS = [
    (
        "select",
        "let V = select[q < N](X[q] > 0)",
        [
            "let count: int = 0",
            "for 0 <= q < N:",
            "  if X@[q] > 0:",
            "    V@[count] = q",
            "    count += 1",
            "V_length@[0] = count",
        ],
        "one entry behind the other; their number is known at the end",
    ),
    (
        "sort",
        "let V = sort[q < N] by (-X[q], q)",
        [
            "for 0 <= q < N:",
            "  V@[q] = q",
            "  V_keys@[q] = 0 - X@[q]",
            "V_length@[0] = N",
            "sort V@[0]...V_length@[0] by V_keys@[0]",
        ],
        "every index knows its place; the index as the last key is the stable order itself",
    ),
    (
        "sort of some by two keys",
        "let V = sort[1 <= q < N if X[q] > 0] by (X[q], X[q - 1])",
        [
            "let count: int = 0",
            "for 1 <= q < N:",
            "  if X@[q] > 0:",
            "    V@[count] = q",
            "    V_keys@[count * 2] = X@[q]",
            "    V_keys@[count * 2 + 1] = X@[q - 1]",
            "    count += 1",
            "V_length@[0] = count",
            "sort V@[0]...V_length@[0] by V_keys@[0]",
        ],
        "the keys of an entry lie side by side",
    ),
    (
        "sort by the index",
        "let V = sort[q < N] by (q)",
        ["for 0 <= q < N:", "  V@[q] = q", "V_length@[0] = N"],
        "nothing to sort",
    ),
    (
        "set of itself",
        "let V = {p for p < N if all[q in V if q < p](X[p] != X[q])}",
        [
            "let count: int = 0",
            "for 0 <= p < N:",
            "  let holds: bool = true",
            "  for q in V@[0]...count:",
            "    if X@[p] == X@[q]:",
            "      holds = false",
            "      break",
            "  if holds:",
            "    V@[count] = p",
            "    count += 1",
            "V_length@[0] = count",
        ],
        "its elements below p are those that it has so far",
    ),
    (
        "conditional list",
        "let V = sort[q < N] by (X[q]) if N > 9 else select[q < N](X[q] > 0)",
        [
            "if N > 9:",
            "  for 0 <= q < N:",
            "    V@[q] = q",
            "    V_keys@[q] = X@[q]",
            "  V_length@[0] = N",
            "  sort V@[0]...V_length@[0] by V_keys@[0]",
            "else:",
            "  let count: int = 0",
            "  for 0 <= q < N:",
            "    if X@[q] > 0:",
            "      V@[count] = q",
            "      count += 1",
            "  V_length@[0] = count",
        ],
        "only the list that is chosen is made",
    ),
    (
        "a range that elements cut",
        "let V = select[q < min(N, X[0])](X[q] > 0)",
        [
            "let end: int = min(N, X@[0])",
            "let count: int = 0",
            "for 0 <= q < end:",
            "  if X@[q] > 0:",
            "    V@[count] = q",
            "    count += 1",
            "V_length@[0] = count",
        ],
        "the end is read once",
    ),
]


@pytest.mark.parametrize(
    ("lets", "expected"),
    [pytest.param(lets, expected, id=name) for name, lets, expected, _ in LISTS],
)
def test_nest_of_a_list(lets: str, expected: list[str]) -> None:
    made, given = lower(operator(f"{NUMBER}{lets}\nY[0] = count(V)"), COMMON).nests
    assert (made.tensor, block_lines(made.body)) == ("V", expected)
    assert block_lines(given.body) == ["Y@[0] = V_length@[0]"]


def test_a_list_for_each_index() -> None:
    items = (
        "input X : cvm[B, N]\noutput Y : cvm[B] precision 32\n"
        "let V[b] = select[q < N](X[b, q] > 0)\nY[b] = count(V[b])"
    )
    made, _ = lower(operator(items), COMMON).nests
    assert block_lines(made.body) == [
        "for 0 <= b < B:",
        "  let count: int = 0",
        "  for 0 <= q < N:",
        "    if X@[b * N + q] > 0:",
        "      V@[b * N + count] = q",
        "      count += 1",
        "  V_length@[b] = count",
    ]


def test_a_list_that_no_equation_needs_is_not_made() -> None:
    items = f"{NUMBER}let V = sort[q < N] by (X[q])\nY[0] = X[0]"
    assert [nest.tensor for nest in lower(operator(items), COMMON).nests] == ["Y"]


# A let with the list V, and whether its entries ascend: then one is found by halves.
MEMBERSHIPS = [
    ("let V = select[q < N](X[q] > 0)", True),
    ("let V = {q for q < N if X[q] > 0}", True),
    ("let W = select[q < N](X[q] > 0)\nlet V = select[q in W](X[q] > 1)", True),
    ("let V = sort[q < N] by (X[q])", False),
    ("let W = sort[q < N] by (X[q])\nlet V = select[q in W](X[q] > 1)", False),
    ("let V = sort[q < N] by (X[q]) if N > 9 else select[q < N](X[q] > 0)", False),
    ("attr axes : int list = () in [0, 9)\nlet V = select[q in axes](q < N)", False),
]


@pytest.mark.parametrize(("lets", "ascending"), MEMBERSHIPS)
def test_membership(lets: str, ascending: bool) -> None:
    program = lower(operator(f"{NUMBER}{lets}\nY[0] = 1 if 3 in V else 0"), COMMON)
    (test,) = (each for each in walk(program.nests[-1].body) if isinstance(each, i.Contains))
    assert isinstance(test.collection, i.Entries)
    assert test.collection.ascending is ascending


def test_strided_walks_for_c() -> None:
    items = (
        "input X : cvm[n...]\nlet N = len(n)\n"
        "output Y : cvm[(n[N - 1 - i] for i < N)...] precision p(X)\n"
        "Y[(d[N - 1 - i] for i < N)...] = X[d...] forall d... < n..."
    )
    program = lower(operator(items), C_LIKE)
    assert block_lines(program.nests[0].body) == [
        "for 0 <= d_row < d_rows:",
        "  let Y_row: int = walk_offset(d_row, d_box, Y_steps)",
        "  for 0 <= d < d_run:",
        "    Y@[Y_row + d * Y_step] = X@[d_row * d_run + d]",
    ]
    host = block_lines(program.prepare)
    assert "merge d_box along Y_steps" in host
    assert host.index("  Y_steps[N - 1 - i] += Y_strides[i]") < host.index(
        "merge d_box along Y_steps"
    )


def test_every_statement_knows_its_formula() -> None:
    found = operator("input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i]")
    program = lower(found, C_LIKE)
    for nest in program.nests:
        assert nest.span.place == "test.cvm:5"
        assert all(statement.span.place == "test.cvm:5" for statement in nest.body)
