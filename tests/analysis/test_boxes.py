"""Windows: which inputs are read in boxes that overlap, and the nest that reads a copy."""

from __future__ import annotations

import pytest

from cvmgen.analysis.boxes import BoxRead, BoxSide, find_box_read
from cvmgen.driver import C_LIKE, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from cvmgen.schedule.gpu.box_reads import Box, read_near
from tests.specs import operator

Loops = tuple[i.Loop, ...]
Body = tuple[i.Stmt, ...]


def results(body: Body) -> tuple[Loops, Body]:
    """The loops over the results, and what makes one."""
    loops: list[i.Loop] = []
    while len(body) == 1 and isinstance(body[0], i.Loop):
        loops.append(body[0])
        body = body[0].body
    return tuple(loops), body


def search(items: str) -> tuple[BoxRead | None, Body]:
    program = lower(operator(items.replace("'", '"')), C_LIKE)
    (nest,) = program.nests
    loops, body = results(nest.body)
    return find_box_read(program, nest, loops, body), body


def side_text(side: BoxSide) -> str:
    """A side as `result * step + tap * step from start in extent`."""
    parts = [f"{tap.index} * {text(tap.step)}" for tap in side.taps]
    if side.result is not None:
        parts.insert(0, f"{side.result.index} * {text(side.step)}")
    start = "" if side.start == i.Const(0) else f" from {text(side.start)}"
    return " + ".join(parts) + start + (f" in {text(side.extent)}" if side.extent else "")


IMAGE = "input X : cvm[C, H, W]\nattr K in [1, 64)\nattr S in [1, 64)\nattr D in [1, 64)\n"
PLACES = (
    'let M = (H - K) div S + 1\nlet N = (W - K) div S + 1\nrequire M >= 1 and N >= 1 : "it fits"\n'
)
OUTPUT = "output Y : cvm[C, M, N] precision p(X)\n"
PADDED = (
    IMAGE + "attr P in [0, 64)\nlet M = (H + 2*P - (K - 1)*D - 1) div S + 1\n"
    'let N = (W + 2*P - (K - 1)*D - 1) div S + 1\nrequire M >= 1 and N >= 1 : "it fits"\n' + OUTPUT
)
WINDOWS = [
    (
        "plain",
        IMAGE + PLACES + OUTPUT + "Y[c, y, x] = max[i < K, j < K](X[c, y*S + i, x*S + j])",
        ["y * S + i * 1", "x * S + j * 1"],
        "every place exists",
    ),
    (
        "padded",
        PADDED + "Y[c, y, x] = max[i < K, j < K if 0 <= h and h < H and 0 <= w and w < W]("
        "X[c, h, w]) where h = y*S + i*D - P, w = x*S + j*D - P",
        ["y * S + i * D from -1 * P in H", "x * S + j * D from -1 * P in W"],
        "places are tested",
    ),
    (
        "from the other side",
        PADDED + "Y[c, y, x] = max[i < K, j < K if h >= 0 and H > h and w >= 0 and W > w]("
        "X[c, h, w]) where h = i*D - P + y*S, w = j*D + x*S - P",
        ["y * S + i * D from -1 * P in H", "x * S + j * D from -1 * P in W"],
        "tests and sums in another order",
    ),
    (
        "one digit of a row",
        'attr A in [1, 99)\nattr B in [1, 99)\nattr K in [1, 9)\nrequire K <= B : "it fits"\n'
        "input X : cvm[A * B]\noutput Y : cvm[A * (B - K + 1)] precision p(X)\n"
        "Y[a * (B - K + 1) + b] = max[k < K](X[a * B + b + k]) forall a < A, b < B - K + 1",
        ["b * 1 + k * 1"],
        "a step of a whole dimension is that of a digit",
    ),
    (
        "summed dimension",
        IMAGE + PLACES + "output Y : cvm[M, N] precision 32\n"
        "Y[y, x] = sum[c < C, i < K, j < K](X[c, y*S + i, x*S + j])",
        ["c * 1", "y * S + i * 1", "x * S + j * 1"],
        "all results read it whole",
    ),
    (
        "along rows only",
        IMAGE + 'require K <= W : "it fits"\noutput Y : cvm[C, H, W - K + 1] precision p(X)\n'
        "Y[c, y, x] = max[j < K](X[c, y, x + j])",
        ["x * 1 + j * 1"],
        "rows are not neighbours",
    ),
    (
        "two indices of one side",
        'input X : cvm[N]\nattr K in [1, 9)\nrequire 3*K <= N : "it fits"\n'
        "output Y : cvm[N - 3*K + 1] precision p(X)\n"
        "Y[x] = max[a < 3, b < K](X[x + a*K + b])",
        ["a * 1", "x * 1 + b * 1"],
        "the innermost goes along with results",
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"), [pytest.param(*row[1:3], id=row[0]) for row in WINDOWS]
)
def test_the_sides_of_a_window(items: str, expected: list[str]) -> None:
    window, _ = search(items)
    assert window is not None
    assert [side_text(side) for side in window.sides] == expected


ROW = (
    'input X : cvm[N]\nattr K in [1, 9)\nrequire K <= N : "it fits"\n'
    "output Y : cvm[N - K + 1] precision 32\n"
)
OTHERS = [
    ("input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[x] = X[x]", "no window"),
    (
        "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\nY[i] = sum[j < N](X[i, j])",
        "rows do not overlap",
    ),
    (
        IMAGE + 'require K <= H : "it fits"\noutput Y : cvm[C, H - K + 1, W] precision p(X)\n'
        "Y[c, y, x] = max[i < K](X[c, y + i, x])",
        "neighbouring results read beside each other",
    ),
    (
        'input X : cvm[H, W, C]\nattr K in [1, 9)\nrequire K <= H and K <= W : "it fits"\n'
        "output Y : cvm[H - K + 1, W - K + 1, C] precision p(X)\n"
        "Y[y, x, c] = max[i < K, j < K](X[y + i, x + j, c])",
        "channels last: neighbours read whole runs as it is",
    ),
    (ROW + "Y[x] = sum[k < K](X[x + K - 1 - k])", "backwards"),
    (ROW + "Y[x] = sum[k < K if X[k] > 0](X[x + k])", "not always read"),
    (ROW + "Y[x] = sum[k < K](X[x + k*k mod K])", "not affine"),
    (ROW + "Y[x] = sum[k < K if 0 <= x + k < N - 1](X[x + k])", "tested against another end"),
    (ROW + "Y[x] = sum[k < K if x + k < N](X[x + k])", "one end is tested alone"),
    (ROW + "Y[x] = sum[k < K if 0 <= k + 1 < N](X[x + k])", "another place is tested"),
    (
        "input X : cvm[N]\noutput Y : cvm[N] precision 32\n"
        "Y[x] = sum[k < N if 0 <= x + k < N](X[x + k])",
        "a window as long as the input",
    ),
    (
        "input X : cvm[N]\nattr K in [0, 9)\nattr S in [0, 9)\noutput Y : cvm[N] precision 32\n"
        "Y[x] = sum[k < K if 0 <= x*S + k < N](X[x*S + k])",
        "all results may read one window",
    ),
    (
        'input X : cvm[N]\nattr K in [1, 9)\nrequire 2*K <= N : "it fits"\n'
        "output Y : cvm[N - 2*K + 1] precision 32\n"
        "Y[x] = sum[k < K](X[x + k + K] - X[x + k]*X[x + k])",
        "one of the places is read twice, the other is not: it is taken",
    ),
]


@pytest.mark.parametrize(("items", "why"), OTHERS[:-1], ids=[row[-1] for row in OTHERS[:-1]])
def test_other_reads_are_no_windows(items: str, why: str) -> None:
    assert search(items)[0] is None, why


def test_one_of_two_reads() -> None:
    window, _ = search(OTHERS[-1][0])
    assert window is not None
    assert text(window.load) == "X@[x + k + K]"


def near(items: str) -> list[str]:
    """The body that reads the box, as text; `at_y` is where the window of a result begins."""
    window, body = search(items)
    assert window is not None
    moving = [side.name for side in window.sides if side.result is not None]
    box = Box(
        "box",
        {name: i.Var(f"at_{name}") for name in moving},
        {side.name: i.Var(f"length_{side.name}") for side in window.sides},
    )
    return block_lines(read_near(body, window, box, set()).body)


def test_tested_places_are_locals() -> None:
    assert near(WINDOWS[1][1])[1:-1] == [
        "for 0 <= i < i32(K):",
        "  let y_place: i32 = at_y + i * i32(D)",
        "  if 0 <= y_place and y_place < length_y:",
        "    for 0 <= j < i32(K):",
        "      let x_place: i32 = at_x + j * i32(D)",
        "      if 0 <= x_place and x_place < length_x:",
        "        largest max= box@[y_place * length_x + x_place]",
    ]


def test_places_keep_their_names() -> None:
    items = (
        "input X : cvm[N]\nattr R in [0, 9)\noutput Y : cvm[N] precision 32\n"
        "Y[x] = sum[k < 2*R + 1](at(x + k - R)) where at(h) = X[h] if 0 <= h < N else 0"
    )
    assert near(items)[1:-1] == [
        "for 0 <= k < i32(2 * R + 1):",
        "  let h: i32 = at_x + k",
        "  if 0 <= h and h < length_x:",
        "    total += box@[h]",
    ]


def test_places_that_exist_need_no_local() -> None:
    assert near(WINDOWS[4][1])[-4:-1] == [
        "  for 0 <= i < i32(K):",
        "    for 0 <= j < i32(K):",
        "      total += box@[(c * length_y + (at_y + i)) * length_x + (at_x + j)]",
    ]


def test_short_indices_are_long_elsewhere() -> None:
    items = (
        "input X : cvm[N]\ninput W : cvm[A, K]\nattr P in [0, 9)\nlet Z = N + 2*P - K + 1\n"
        "require Z >= 1 : 'it fits'\noutput Y : cvm[A, Z] precision 32\n"
        "Y[a, x] = sum[k < K if 0 <= x + k - P < N](X[x + k - P] * W[a, k] * k)"
    )
    assert near(items)[1:-1] == [
        "for 0 <= k < i32(K):",
        "  let place: i32 = at_x + k",
        "  if 0 <= place and place < length_x:",
        "    total += box@[place] * W@[a * K + k] * i64(k)",
    ]
