"""Windows around each result: which nests are, and how their guards leave the middle."""

from __future__ import annotations

import pytest

from cvmgen.driver import stage_text
from tests.lower.specs import operator
from tests.schedule.test_book import story

POOL = (
    "input X : cvm[H, W]\nattr P in [1, 9)\nattr Q in [0, 9)\nattr S in [1, 9)\n"
    "output Y : cvm[H, W] precision p(X)\n"
    "Y[y, x] = max[i < P, j < P if 0 <= y*S - Q + i < H and 0 <= x*S - Q + j < W]"
    "(X[y*S - Q + i, x*S - Q + j])"
)
CONVOLVED = (
    "input X : int8[C, H, W]\ninput K : int8[C, P, Q]\nattr D in [1, 9)\n"
    "output Y : int32[C, H, W]\n"
    "Y[c, y, x] = sum[i < P, j < Q if 0 <= y + i*D - 1 < H and 0 <= x + j*D - 1 < W]"
    "(X[c, y + i*D - 1, x + j*D - 1] * K[c, i, j])"
)
BACK = POOL.replace("x*S - Q + j", "x - S*j")
ROW = (
    "input X : cvm[H, W]\noutput Y : cvm[H, W] precision p(X)\n"
    "Y[y, x] = max[j < 3 if x + j < W](X[y, x + j])"
)
TOTAL = "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\nY[i] = sum[j < N](X[i, j])"
BESIDE = (
    "input X : cvm[H, W]\noutput Y : cvm[H, W] precision 32\n"
    "Y[y, x] = sum[i < 3 if 0 <= y + i - 1 < H](X[y + i - 1, x])"
)

CLASSES_OF = [
    (POOL, "separable_window", "guards at both sides of what is combined in any order"),
    (CONVOLVED, "window", "guards at both sides of products"),
    (ROW, "window", "a guard at one side"),
    (TOTAL, "reduction", "no guard"),
    (BESIDE, "sweeps", "a guard that holds for a whole row or for none of it"),
]


@pytest.mark.parametrize(("items", "expected", "why"), CLASSES_OF, ids=[r[-1] for r in CLASSES_OF])
def test_class(items: str, expected: str, why: str) -> None:
    assert f"  {expected}, by spec/" in stage_text(operator(items), "schedule"), why


def after(items: str, actions: str) -> list[str]:
    """The nest after the last of the actions."""
    told = story(items, f"schedule window for c {{\n{actions}\n}}\n")
    last = actions.splitlines()[-1]
    at = max(number for number, line in enumerate(told) if line == f"  {last}")
    return [line[4:] for line in told[at + 1 :]]


PEEL = "peel results into left, middle, right"


def test_peel_makes_no_part_in_front_of_what_passes_from_the_first_on() -> None:
    assert after(ROW, PEEL) == [
        "let x_middle_high: i64 = max_i64(min_i64(W, W - 2), 0)",
        "for 0 <= y < H:",
        "  for 0 <= x_middle < x_middle_high:",
        "    let largest: i32 = -2147483648",
        "    for 0 <= j < 3:",
        "      largest max= X@[y * W + (x_middle + j)]",
        "    Y@[y * W + x_middle] = largest",
        "  for x_middle_high <= x_right < W:",
        "    let largest: i32 = -2147483648",
        "    for 0 <= j < 3:",
        "      if x_right + j < W:",
        "        largest max= X@[y * W + (x_right + j)]",
        "    Y@[y * W + x_right] = largest",
    ]


def test_peel_takes_the_worst_of_each_guard() -> None:
    """The first element of the window decides where the middle begins, the last where it ends."""
    lines = after(POOL, PEEL)
    assert lines[:2] == [
        "let x_middle_low: i64 = min_i64(max_i64(0, ceildiv(Q, S)), W)",
        "let x_middle_high: i64 = "
        "max_i64(min_i64(W, ceildiv(-1 * P + Q + W + 1, S)), x_middle_low)",
    ]
    middle = lines.index("  for x_middle_low <= x_middle < x_middle_high:")
    assert lines[middle + 1 : middle + 8] == [
        "    let largest: i32 = -2147483648",
        "    for 0 <= i < P:",
        "      let place: i64 = y * S - Q + i",
        "      if 0 <= place and place < H:",
        "        for 0 <= j < P:",
        "          largest max= X@[place * W + (x_middle * S - Q + j)]",
        "    Y@[y * W + x_middle] = largest",
    ]


def test_peel_leaves_a_loop_whose_guards_go_down() -> None:
    assert after(BACK, PEEL) == ["changes nothing"]


LANES = f"{PEEL}\nsplit middle by 8 into block, lane\n"
EXPANDED = "expand totals over lane\ndistribute lane\nreorder taps, lane\n"


def test_a_guard_of_rows_goes_around_the_loop_along_a_row() -> None:
    lines = after(POOL, f"{LANES}{EXPANDED}hoist lane\nunswitch lane\nreorder taps, lane")
    first = lines.index("    array largest: 8 i32")
    assert lines[first + 3 : first + 9] == [
        "    for 0 <= i < P:",
        "      let place: i64 = y * S - Q + i",
        "      if 0 <= place and place < H:",
        "        for 0 <= j < P:",
        "          for 0 <= x_lane < x_lanes:",
        "            largest@[x_lane] = max_i32(largest@[x_lane], "
        "X@[place * W + ((x_block + x_lane) * S - Q + j)])",
    ]


def test_a_step_that_is_named_has_a_loop_of_its_own() -> None:
    lines = after(POOL, f"{LANES}specialise lane by 2")
    assert "    if S == 2:" in lines
    assert any("(x_block + x_lane) * 2 - Q + j" in line for line in lines)
    assert not any("if S == 0" in line for line in lines)


def test_a_step_that_is_never_0_has_no_loop_for_that() -> None:
    lines = after(POOL, f"{LANES}specialise lane")
    assert "    if S == 1:" in lines
    assert not any("if S == 0" in line for line in lines)


def test_quotients_are_made_once() -> None:
    items = CONVOLVED.replace("X[c, y", "X[c div G, y").replace(
        "input K", "attr G in [0, 9)\ninput K"
    )
    lines = after(items, "quotients outer")
    assert lines[:3] == [
        "for 0 <= c < C:",
        "  let c_quotient: i64 = c tdiv G if G != 0 else 0",
        "  for 0 <= y < H:",
    ]
