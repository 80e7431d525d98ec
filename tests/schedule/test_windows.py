"""Windows around each result: which nests are, and how their guards leave the middle."""

from __future__ import annotations

import pytest

from cvmgen.inspection.stages import stage_text
from tests.schedule.test_schedules import story
from tests.specs import operator

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
ALWAYS = (
    "input X : cvm[H, W]\noutput Y : cvm[H div 2, W div 2] precision p(X)\n"
    "Y[y, x] = max[i < 3, j < 3 if 0 <= y*2 + i - 1 < H and 0 <= x*2 + j - 1 < W]"
    "(X[y*2 + i - 1, x*2 + j - 1])"
)
SLANTED = POOL.replace("x*S - Q", "x*S + y - Q")
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
        "let x_middle_high: i64 = max_i64(min_i64(W, ceildiv(Q + W + 1 - P, S)), x_middle_low)",
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


STAGED = "stage taps over results by 64 into block, filled, flat, finished"
OF_INTEGERS = CONVOLVED.replace("int8[", "cvm[").replace(
    "output Y : int32[C, H, W]", "output Y : cvm[C, H, W] precision 32"
)
OF_REALS = CONVOLVED.replace("int8[", "float64[").replace("int32[", "float64[")


def between(lines: list[str], first: str, last: str) -> list[str]:
    """The lines from one to another, as far as they are inside of the first."""
    start = next(at for at, line in enumerate(lines) if line.strip() == first)
    end = next(at for at, line in enumerate(lines) if at >= start and line.strip() == last)
    margin = len(lines[start]) - len(first)
    return [line[margin:] for line in lines[start : end + 1]]


def test_a_copy_has_the_padding_and_a_run_for_each_tap() -> None:
    lines = after(OF_INTEGERS, STAGED)
    assert between(lines, "for 0 <= window_filled < window_size:", "else:")[:-1] == [
        "for 0 <= window_filled < window_size:",
        "  window@[window_filled] = 0",
        "for 0 <= x_flat < x_flats:",
        "  totals@[x_flat] = 0",
        "for 0 <= y_filled < y_count + y_reach:",
        "  let place: i64 = y_first + y_filled - 1",
        "  if 0 <= place and place < H:",
        "    let row: i64 = y_filled * x_pitch",
        "    for 0 <= x_filled < x_count + x_reach:",
        "      let place_2: i64 = x_first + x_filled - 1",
        "      if 0 <= place_2 and place_2 < W:",
        "        window@[row + x_filled] = u32(X@[(c * H + place) * W + place_2])",
        "for 0 <= tap < P * Q:",
        "  for 0 <= x_flat < x_flats:",
        "    totals@[x_flat] = totals@[x_flat] "
        "+ window@[x_flat + taps@[tap]] * u32(K@[c * P * Q + tap])",
        "for 0 <= y_finished < y_count:",
        "  for 0 <= x_finished < x_count:",
        "    Y@[(c * H + (y_first + y_finished)) * W + (x_first + x_finished)] = "
        "i32(totals@[y_finished * x_pitch + x_finished])",
    ]


def test_what_lies_between_two_steps_has_planes_of_its_own() -> None:
    lines = after(POOL, STAGED)
    assert between(lines, "if staged:", "let x_blocks: i64 = ceildiv(W, x_most)")[:-1] == [
        "if staged:",
        "  for 0 <= i < P:",
        "    for 0 <= j < P:",
        "      taps@[i * P + j] = i rem S * (x_phases * plane) + i tdiv S * x_pitch "
        "+ (j rem S * plane + j tdiv S)",
    ]
    row = "let row: i64 = ((y_phase * x_phases + x_phase) * y_held + y_filled) * x_pitch"
    assert row in map(str.strip, lines)


def test_taps_whose_factors_go_another_way_stay_two_loops() -> None:
    lines = after(OF_INTEGERS.replace("[C, P, Q]", "[C, Q, P]").replace("i, j])", "j, i])"), STAGED)
    read = "window@[x_flat + taps@[i * Q + j]] * u32(K@[(c * Q + j) * P + i])"
    assert f"totals@[x_flat] = totals@[x_flat] + {read}" in map(str.strip, lines)


PIECES = f"{STAGED}\nclip filled\npieces filled by 32 into part\npieces flat by 64 into side"


def test_pieces_that_may_run_twice_overlap_at_the_end() -> None:
    lines = after(CONVOLVED, PIECES)
    enough = "if x_filled_high - x_filled_low >= 32:"
    assert between(lines, enough, "for 0 <= tap < P * Q:")[:-1] == [
        enough,
        "  for x_filled_low <= x_filled_piece < x_filled_high by 32:",
        "    let x_filled_at: i64 = min_i64(x_filled_piece, x_filled_high - 32)",
        "    for 0 <= x_filled_part < 32:",
        "      window@[row + (x_filled_at + x_filled_part)] = "
        "X@[(c * H + place) * W + (x_first + (x_filled_at + x_filled_part) - 1)]",
        "else:",
        "  for x_filled_low <= x_filled < x_filled_high:",
        "    window@[row + x_filled] = X@[(c * H + place) * W + (x_first + x_filled - 1)]",
    ]
    assert "for 0 <= window_filled < window_size:" in map(str.strip, lines), "nothing is read"


def test_pieces_that_accumulate_leave_a_rest() -> None:
    lines = after(CONVOLVED, PIECES)
    place, value = "totals@[{0}]", "u64(window@[{0} + taps@[tap]] * K@[c * P * Q + tap])"
    first, one = "x_flat_piece + x_flat_side", "x_flat"
    assert between(lines, "for 0 <= tap < P * Q:", "for 0 <= y_finished < y_count:")[1:-1] == [
        "  let x_flat_whole: i64 = x_flats tdiv 64 * 64",
        "  for 0 <= x_flat_piece < x_flat_whole by 64:",
        "    for 0 <= x_flat_side < 64:",
        f"      {place} = {place} + {value}".format(first),
        "  for x_flat_whole <= x_flat < x_flats:",
        f"    {place} = {place} + {value}".format(one),
    ]


def test_padding_that_might_make_nan_is_not_added() -> None:
    assert after(OF_REALS, STAGED) == ["changes nothing"]


ROWS = (
    "split results by 8 into block, lane\nseparate taps over lane, outer by 64 into column, near\n"
)
LINES = (
    "split outer by 4 into band, line\nsplit results by 8 into block, lane\nreorder block, line\n"
    "separate taps over lane, line by 64 into column, near\n"
)


def test_columns_come_first_and_then_each_window() -> None:
    lines = after(POOL, f"{LINES}clip taps, column")
    assert between(lines, "let x_columns: i64 = (x_lanes - 1) * S + (P - 1) + 1", "else:")[:-1] == [
        "let x_columns: i64 = (x_lanes - 1) * S + (P - 1) + 1",
        "let x_column_low: i64 = min_i64(max_i64(0, Q - S * x_block), x_columns)",
        "let x_column_high: i64 = max_i64(min_i64(x_columns, Q - S * x_block + W), x_column_low)",
        "if x_columns <= 64:",
        "  array x_column_largest: 64 i32",
        "  for 0 <= x_column < x_column_low:",
        "    x_column_largest@[x_column] = -2147483648",
        "  for x_column_high <= x_column < x_columns:",
        "    x_column_largest@[x_column] = -2147483648",
        "  for 0 <= y_line < y_lines:",
        "    let i_low: i64 = max_i64(0, Q - S * y_band - S * y_line)",
        "    let i_high: i64 = min_i64(P, H + Q - S * y_band - S * y_line)",
        "    for x_column_low <= x_column < x_column_high:",
        "      let largest: i32 = -2147483648",
        "      for i_low <= i < i_high:",
        "        largest max= "
        "X@[((y_band + y_line) * S - Q + i) * W + (x_column + (x_block * S - Q))]",
        "      x_column_largest@[x_column] = largest",
        "    for 0 <= x_near < x_lanes:",
        "      let largest: i32 = -2147483648",
        "      for 0 <= j < P:",
        "        largest max= x_column_largest@[x_near * S + j]",
        "      Y@[(y_band + y_line) * W + (x_block + x_near)] = largest",
    ]


PAIRS = LINES.replace("into column, near", "into column, near, run, side")
FEW = "clip taps, side, run\nenumerate taps by 2 over run into short, few"


def test_windows_two_columns_apart_have_runs_for_which_all_is_in_registers() -> None:
    lines = after(POOL, f"{PAIRS}{FEW}")
    assert "if S == 2 and 2 <= P and P <= 3 and x_behind - x_first >= 32:" in map(str.strip, lines)
    place = "((y_band + y_line) * S - Q + i_low_2) * W + ({} + (x_block * S - Q))"
    below = place.replace("i_low_2", "(i_low_2 + 1)")
    side, ahead = "x_column_2 + x_side_few", "x_column_2 - 1"
    assert between(lines, "for x_first <= x_run_short < x_behind by 32:", "else:")[:-1] == [
        "for x_first <= x_run_short < x_behind by 32:",
        "  let x_at: i64 = min_i64(x_run_short, x_behind - 32)",
        "  let x_column_2: i64 = x_at * 2 + 1",
        "  array largest_beside: 64 i32",
        "  for 0 <= x_side_few < 64:",
        "    let largest: i32 = -2147483648",
        f"    largest max= X@[{place.format(side)}]",
        f"    largest max= X@[{below.format(side)}]",
        "    largest_beside@[x_side_few] = largest",
        "  array largest_first: 32 i32",
        "  array largest_second: 32 i32",
        "  for 0 <= pair < 32:",
        "    largest_first@[pair] = largest_beside@[pair * 2]",
        "    largest_second@[pair] = largest_beside@[pair * 2 + 1]",
        "  let largest_ahead: i32 = -2147483648",
        "  if x_column_low < x_column_2:",
        f"    largest_ahead max= X@[{place.format(ahead)}]",
        f"    largest_ahead max= X@[{below.format(ahead)}]",
        "  array largest_before: 32 i32",
        "  slide 32: largest_before@[0] = largest_ahead, largest_second@[0]",
        "  for 0 <= x_side_2 < 32:",
        "    let largest: i32 = max_i32(max_i32(largest_before@[x_side_2], "
        "largest_first@[x_side_2]), largest_second@[x_side_2])",
        "    Y@[(y_band + y_line) * W + (x_block + (x_at + x_side_2))] = largest",
    ]


def test_results_beside_the_runs_are_made_one_by_one() -> None:
    lines = after(POOL, f"{PAIRS}{FEW}")
    edge = between(lines, "for 0 <= x_edge < x_lanes - x_behind + x_first:", "if P == 3:")
    assert edge[1].strip() == (
        "let x_beside: i64 = x_edge if x_edge < x_first else x_edge + (x_behind - x_first)"
    )
    assert edge[-2].strip() == "Y@[(y_band + y_line) * W + (x_block + x_beside)] = largest"


@pytest.mark.parametrize(
    ("items", "runs"),
    [(ALWAYS.replace("j < 3", f"j < {taps}"), runs) for taps, runs in ((2, 1), (3, 1), (4, 0))],
    ids=["two", "three", "four"],
)
def test_windows_of_a_known_width_have_one_form(items: str, runs: int) -> None:
    lines = [*map(str.strip, after(items, PAIRS.strip()))]
    assert sum("x_run" in line and line.startswith("for") for line in lines) == runs
    assert sum(line.startswith("slide") for line in lines) == (runs if "j < 3" in items else 0)


def test_places_have_a_base_in_front_of_a_loop() -> None:
    lines = after(POOL, f"{LINES}base near")
    assert between(lines, "let Y_base: i64 = (y_band + y_line) * W + x_block", "else:")[:-1] == [
        "let Y_base: i64 = (y_band + y_line) * W + x_block",
        "for 0 <= x_near < x_lanes:",
        "  let largest: i32 = -2147483648",
        "  for 0 <= j < P:",
        "    largest max= x_column_largest@[x_near * S + j]",
        "  Y@[Y_base + x_near] = largest",
    ]


def test_lines_whose_columns_are_at_other_places_have_rows_of_their_own() -> None:
    lines = after(SLANTED, "separate taps over results, outer by 64 into column, near")
    assert lines.index("for 0 <= y < H:") < lines.index("    array x_column_largest: 64 i32")


GROWN = "expand totals over column\ndistribute column\nreorder taps, column\n"


def test_what_is_stored_in_an_array_grows_there_several_iterations_at_once() -> None:
    lines = after(POOL, f"{ROWS}clip taps, column\n{GROWN}jam taps by 2 over column")
    found = between(lines, "let i_whole: i64 = i_low + (i_high - i_low) tdiv 2 * 2", "else:")
    assert found[:9] == [
        "let i_whole: i64 = i_low + (i_high - i_low) tdiv 2 * 2",
        "for i_low <= i < i_whole by 2:",
        "  for x_column_low <= x_column < x_column_high:",
        "    let x_column_largest_so_far: i32 = x_column_largest@[x_column]",
        "    x_column_largest_so_far max= X@[(y * S - Q + i) * W + (x_column + (x_block * S - Q))]",
        "    x_column_largest_so_far max= "
        "X@[(y * S - Q + (i + 1)) * W + (x_column + (x_block * S - Q))]",
        "    x_column_largest@[x_column] = x_column_largest_so_far",
        "for i_whole <= i < i_high:",
        "  for x_column_low <= x_column < x_column_high:",
    ]


def test_few_iterations_have_copies() -> None:
    lines = after(POOL, f"{ROWS}enumerate taps by 3 over near into wide")
    assert between(lines, "if P == 2:", "else:")[1:-1] == [
        "  for 0 <= x_near_wide < x_lanes:",
        "    let largest: i32 = -2147483648",
        "    largest max= x_column_largest@[x_near_wide * S]",
        "    largest max= x_column_largest@[x_near_wide * S + 1]",
        "    Y@[y * W + (x_block + x_near_wide)] = largest",
    ]
    assert "if P == 3:" in map(str.strip, lines)
