"""What each action makes of a nest, as text, and what it leaves as it is."""

from __future__ import annotations

import pytest

from tests.schedule.test_schedules import story

ADD = "input X : cvm[M, N]\noutput Y : cvm[M, N] precision 32\nY[i, j] = X[i, j] + 1"
TOTAL = "input X : cvm[M, N]\noutput Y : cvm[N] precision 32\nY[i] = sum[j < M](X[j, i])"
LARGEST = "input X : cvm[M, N]\noutput Y : cvm[M] precision p(X)\nY[i] = max[j < N](X[i, j])"
REAL = "input X : float64[M, N]\noutput Y : float64[N]\nY[i] = sum[j < M](X[j, i])"
SCALED = (
    "input X : cvm[n...]\ninput Z : cvm[m...]\nlet M = len(m)\noutput Y : cvm[n...] precision 32\n"
    "Y[d...] = X[d...] + Z[(d[j] if m[j] != 1 else 0 for j < M)...]"
)
ROW_PRODUCTS = (
    "input X : float32[M, N]\ninput W : float64[N]\noutput Y : float64[M]\n"
    "Y[i] = sum[j < N](X[i, j] * W[j])"
)
TWICE_PRODUCTS = (
    "input X : float32[M, N]\ninput W : float64[L, N]\noutput Y : float64[M, L]\n"
    "Y[i, j] = 2.0 * sum[k < N](X[i, k] * W[j, k])"
)
GATES = (
    "input X : float32[N]\ninput Z : float32[N]\noutput Y : float64[N]\nlet a[i] = X[i] * Z[i]\n"
    "Y[i] = sigmoid(a[i]) * tanh(exp(a[i])) + (exp(Z[i]) if Z[i] > 0.0 else 0.0)"
)
HALF = "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i] div 2"
DIGITS = "input X : cvm[N]\noutput Y : cvm[N] precision 6\nY[i] = ceil(log2(abs(X[i]) + 1))"
SQUARES = "input X : cvm[N]\noutput Y : cvm[N] precision 32\nY[i] = t * t where t = X[i] div 2 + 1"
BOXES = (
    "input X : cvm[N, 3]\noutput Y : cvm[N, 3] precision 32\nlet top[i] = X[i, 0]\n"
    "Y[i, j] = X[i, j] * top[i]"
)
QUOTIENT = (
    "input X : cvm[N]\ninput Z : cvm[N]\noutput Y : cvm[N] precision 32\n"
    "Y[i] = X[i] tdiv Z[i] if Z[i] != 0 else 0"
)
EXPANDED = "split results by 8 into block, lane\nexpand totals over lane\ndistribute lane\n"
REORDERED = EXPANDED + "reorder summed, lane\n"

ROWS = [
    (
        "elementwise",
        "merge outer, inner",
        ADD,
        ["for 0 <= j < M * N:", "  Y@[j] = i32(u32(X@[j]) + u32(1))"],
        "what walks memory without a gap is one loop",
    ),
    (
        "elementwise",
        "specialise inner",
        SCALED,
        [
            "for 0 <= d_row < d_rows:",
            "  let Z_row: i64 = walk_offset(d_row, d_box, Z_steps)",
            "  if Z_step == 1:",
            "    for 0 <= d < d_run:",
            "      Y@[d_row * d_run + d] = i32(u32(X@[d_row * d_run + d]) + u32(Z@[Z_row + d]))",
            "  else:",
            "    if Z_step == 0:",
            "      for 0 <= d < d_run:",
            "        Y@[d_row * d_run + d] = i32(u32(X@[d_row * d_run + d]) + u32(Z@[Z_row]))",
            "    else:",
            "      for 0 <= d < d_run:",
            "        Y@[d_row * d_run + d] = "
            "i32(u32(X@[d_row * d_run + d]) + u32(Z@[Z_row + d * Z_step]))",
        ],
        "a step that only a call knows is 1 or 0 in the loops that matter",
    ),
    (
        "elementwise",
        "divide inner",
        QUOTIENT,
        ["for 0 <= i < N:", "  Y@[i] = i32(quotient_or_0(X@[i], Z@[i]))"],
        "quotients of 32 bits are exact as real numbers",
    ),
    (
        "elementwise",
        "vectorise inner",
        HALF,
        ["avx2 for 0 <= i < N:", "  Y@[i] = X@[i] >> 1"],
        "vectors as wide as most loops can use",
    ),
    (
        "elementwise",
        "vectorise inner",
        DIGITS,
        ["avx512 for 0 <= i < N:", "  Y@[i] = ceil_log2(abs_i64(i64(X@[i])) + 1)"],
        "a logarithm has an instruction in AVX-512 alone",
    ),
    (
        "elementwise",
        "vectorise inner by 64",
        HALF,
        ["avx512 for 0 <= i < N:", "  Y@[i] = X@[i] >> 1"],
        "vectors of a size that is given",
    ),
    (
        "reduction",
        "split results by 8 into block, lane",
        TOTAL,
        [
            "for 0 <= i_block < N by 8:",
            "  let i_lanes: i64 = min_i64(8, N - i_block)",
            "  for 0 <= i_lane < i_lanes:",
            "    let total: u32 = 0",
            "    for 0 <= j < M:",
            "      total += u32(X@[j * N + (i_block + i_lane)])",
            "    Y@[i_block + i_lane] = i32(total)",
        ],
        "the last block may have fewer iterations",
    ),
    (
        "reduction",
        REORDERED,
        TOTAL,
        [
            "for 0 <= i_block < N by 8:",
            "  let i_lanes: i64 = min_i64(8, N - i_block)",
            "  array total: 8 u32",
            "  for 0 <= i_lane < i_lanes:",
            "    total@[i_lane] = 0",
            "  for 0 <= j < M:",
            "    for 0 <= i_lane < i_lanes:",
            "      total@[i_lane] = total@[i_lane] + u32(X@[j * N + (i_block + i_lane)])",
            "  for 0 <= i_lane < i_lanes:",
            "    Y@[i_block + i_lane] = i32(total@[i_lane])",
        ],
        "totals side by side, each of them in its order",
    ),
    (
        "ordered_reduction",
        REORDERED + "jam summed by 2 over lane",
        REAL,
        [
            "for 0 <= i_block < N by 8:",
            "  let i_lanes: i64 = min_i64(8, N - i_block)",
            "  array total: 8 f64",
            "  for 0 <= i_lane < i_lanes:",
            "    total@[i_lane] = 0.0",
            "  let j_whole: i64 = M tdiv 2 * 2",
            "  for 0 <= j < j_whole by 2:",
            "    for 0 <= i_lane < i_lanes:",
            "      let total_so_far: f64 = total@[i_lane]",
            "      total_so_far += X@[j * N + (i_block + i_lane)]",
            "      total_so_far += X@[(j + 1) * N + (i_block + i_lane)]",
            "      total@[i_lane] = total_so_far",
            "  for j_whole <= j < M:",
            "    for 0 <= i_lane < i_lanes:",
            "      total@[i_lane] = total@[i_lane] + X@[j * N + (i_block + i_lane)]",
            "  for 0 <= i_lane < i_lanes:",
            "    Y@[i_block + i_lane] = stored_f64(total@[i_lane])",
        ],
        "several terms at once are added one after the other",
    ),
    (
        "ordered_reduction",
        "split results by 16 into group, result\nabreast result into side when iterations >= 4\n"
        "expand totals over side\ndistribute side\nreorder summed, side\n"
        "turn summed over side by 64 into part, piece",
        ROW_PRODUCTS,
        [
            "for 0 <= i_group < M by 16:",
            "  let i_results: i64 = min_i64(16, M - i_group)",
            "  if i_results >= 4:",
            "    array total: 16 f64",
            "    for 0 <= i_result_side < 16:",
            "      total@[i_result_side] = 0.0",
            "    for 0 <= j_part < N by 64:",
            "      let j_pieces: i64 = min_i64(64, N - j_part)",
            "      array X_turned: 1024 f32",
            "      turn j_pieces: X_turned@[0] by 16 = i_results of X@[i_group * N + j_part] by N",
            "      for 0 <= j_piece < j_pieces:",
            "        for 0 <= i_result_side < 16:",
            "          total@[i_result_side] = total@[i_result_side] "
            "+ f64(X_turned@[j_piece * 16 + i_result_side]) * W@[j_part + j_piece]",
            "    for 0 <= i_result_side < i_results:",
            "      Y@[i_group + i_result_side] = stored_f64(total@[i_result_side])",
            "  else:",
            "    for 0 <= i_result < i_results:",
            "      let total: f64 = 0.0",
            "      for 0 <= j < N:",
            "        total += f64(X@[(i_group + i_result) * N + j]) * W@[j]",
            "      Y@[i_group + i_result] = stored_f64(total)",
        ],
        "runs of results lie side by side, and the totals that there is room for meet them",
    ),
    (
        "elementwise",
        "batch inner by 8 into piece, filled, lane\nvectorise filled, lane",
        GATES,
        [
            "for 0 <= i_piece < N by 8:",
            "  let i_lanes: i64 = min_i64(8, N - i_piece)",
            "  array sigmoids: 8 f64",
            "  array exps: 8 f64",
            "  avx512 for 0 <= i_filled < i_lanes:",
            "    let a: f64 = f64(X@[i_piece + i_filled]) * f64(Z@[i_piece + i_filled])",
            "    sigmoids@[i_filled] = a",
            "    exps@[i_filled] = a",
            "  apply sigmoid, i_lanes: sigmoids@[0]",
            "  apply exp, i_lanes: exps@[0]",
            "  array tanhs: 8 f64",
            "  avx2 for 0 <= i_filled < i_lanes:",
            "    tanhs@[i_filled] = exps@[i_filled]",
            "  apply tanh, i_lanes: tanhs@[0]",
            "  avx512 for 0 <= i_lane < i_lanes:",
            "    Y@[i_piece + i_lane] = stored_f64(sigmoids@[i_lane] * tanhs@[i_lane] "
            "+ (exp_f64(f64(Z@[i_piece + i_lane])) if Z@[i_piece + i_lane] > f32(0.0) else 0.0))",
        ],
        "functions of many numbers, those that need others behind them; not what may be left out",
    ),
    (
        "ordered_contraction",
        "multiply rows, columns into row_block, column_block, line when points >= 16\n"
        "vectorise line",
        TWICE_PRODUCTS,
        [
            "if M * L >= 16:",
            "  for 0 <= i_row_block < M by 64:",
            "    let i_lines: i64 = min_i64(64, M - i_row_block)",
            "    for 0 <= j_column_block < L by 32:",
            "      let j_lines: i64 = min_i64(32, L - j_column_block)",
            "      array totals: 2048 f64",
            "      for 0 <= total_place < i_lines * 32:",
            "        totals@[total_place] = 0.0",
            "      products of N: totals@[0] += i_lines of X@[i_row_block * N] by N, 1 "
            "times j_lines of W@[j_column_block * N] by N, 1",
            "      for 0 <= i_line < i_lines:",
            "        avx2 for 0 <= j_line < j_lines:",
            "          let total: f64 = totals@[i_line * 32 + j_line]",
            "          Y@[(i_row_block + i_line) * L + (j_column_block + j_line)] = "
            "stored_f64(2.0 * total)",
            "else:",
            "  for 0 <= i < M:",
            "    for 0 <= j < L:",
            "      let total: f64 = 0.0",
            "      for 0 <= k < N:",
            "        total += f64(X@[i * N + k]) * W@[j * N + k]",
            "      Y@[i * L + j] = stored_f64(2.0 * total)",
        ],
        "blocks of sums of products grow side by side, where there are enough",
    ),
    (
        "reduction",
        "version summed into long when work >= 99\nsplit long by 10 into part, piece\n"
        "vectorise piece\nparallelise part",
        LARGEST,
        [
            "for 0 <= i < M:",
            "  let largest: i32 = -2147483648",
            "  if N >= 99:",
            "    parallel for 0 <= j_part < N by 10:",
            "      let j_pieces: i64 = min_i64(10, N - j_part)",
            "      avx2 for 0 <= j_piece < j_pieces:",
            "        largest max= X@[i * N + (j_part + j_piece)]",
            "  else:",
            "    for 0 <= j < N:",
            "      largest max= X@[i * N + j]",
            "  Y@[i] = largest",
        ],
        "one result of many elements is shared by threads",
    ),
    (
        "reduction",
        "streams summed by 2 into stream\nvectorise stream",
        LARGEST,
        [
            "for 0 <= i < M:",
            "  let largest: i32 = -2147483648",
            "  let j_share: i64 = N tdiv 2",
            "  avx2 for 0 <= j_stream < j_share:",
            "    let together: i32 = X@[i * N + j_stream]",
            "    together max= X@[i * N + (j_stream + j_share)]",
            "    largest max= together",
            "  for 2 * j_share <= j < N:",
            "    largest max= X@[i * N + j]",
            "  Y@[i] = largest",
        ],
        "a sum in any order reads at two places; what is left over follows",
    ),
    (
        "reduction",
        "beside results into near when iterations >= 16",
        LARGEST,
        ["changes nothing"],
        "results that read elements apart are not neighbours",
    ),
    (
        "reduction",
        "jam summed by 2 over results",
        TOTAL,
        ["changes nothing"],
        "the totals are not in memory yet",
    ),
    (
        "elementwise",
        "unroll inner by 2",
        SQUARES,
        [
            "let i_whole: i64 = N tdiv 2 * 2",
            "for 0 <= i < i_whole by 2:",
            "  let t: i32 = X@[i] >> 1 + 1",
            "  Y@[i] = i32(u32(t) * u32(t))",
            "  let t_2: i32 = X@[i + 1] >> 1 + 1",
            "  Y@[i + 1] = i32(u32(t_2) * u32(t_2))",
            "for i_whole <= i < N:",
            "  let t: i32 = X@[i] >> 1 + 1",
            "  Y@[i] = i32(u32(t) * u32(t))",
        ],
        "pairs, and the one that is left over",
    ),
    (
        "elementwise",
        "unroll inner by 3",
        BOXES,
        [
            "for 0 <= i < N:",
            "  Y@[i * 3] = i32(u32(X@[i * 3]) * u32(X@[i * 3]))",
            "  Y@[i * 3 + 1] = i32(u32(X@[i * 3 + 1]) * u32(X@[i * 3]))",
            "  Y@[i * 3 + 2] = i32(u32(X@[i * 3 + 2]) * u32(X@[i * 3]))",
        ],
        "what is known to run no more often is no loop",
    ),
]


@pytest.mark.parametrize(
    ("shape", "actions", "items", "expected", "why"), ROWS, ids=[row[-1] for row in ROWS]
)
def test_action(shape: str, actions: str, items: str, expected: list[str], why: str) -> None:
    text = f"schedule {shape} for c {{\n{actions}\n}}\n"
    lines = story(items, text)
    last = [line for line in actions.splitlines() if line][-1]
    told = lines[lines.index(f"  {last}") + 1 :]
    assert [line[4:] for line in told] == expected, why
