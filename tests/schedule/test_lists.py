"""Actions on lists and on places that elements name: what they make, and where they do nothing."""

from __future__ import annotations

import pytest

from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError
from cvmgen.spec.schedules import parse_schedules
from tests.each_kernel import each_kernel
from tests.specs import operator

ROWS = (
    "input X : cvm[B, N, 2]\nattr least = 0\nlet V[b] = select[q < {end}]({test})\n"
    "output Y : cvm[B, N, 2] precision 32\n"
    "Y[b, i, k] = X[b, V[b][i], k] if i < count(V[b]) else -1"
)
# Something else reads the list, which is therefore made.
LISTED = f"{ROWS}\noutput Z : cvm[B] precision 32\nZ[b] = sum[q in V[b]](q)"
KEPT = (
    "input X : cvm[N, {width}]\nattr least = 1 in [1, 100)\n{more}"
    "let U = {{p for p < N if all[q in U if q < p](not ({test}))}}\n"
    "output Y : cvm[N] precision 32\nY[i] = U[i] if i < count(U) else -1"
)
TABLE = (
    "input X : cvm[N]\ninput T : cvm[M]\noutput Y : cvm[N] precision p(T)\n"
    "Y[i] = T[max(0, min(X[i], M - 1))]"
)


def schedules(text: str) -> Schedules:
    return checked_schedules(parse_schedules(Source("test.sched", text)))


def lines(items: str, schedule: Schedules | None = None) -> list[str]:
    text = each_kernel(operator(items), schedule)
    return [line.strip() for line in text.splitlines()]


def test_entries_are_stored_before_the_test() -> None:
    found = lines(LISTED.format(end="N", test="X[b, q, 1] > least"))
    at = found.index("V[b * N + count] = q;")
    assert found[at + 1] == "count += (int64_t)(X[(b * N + q) * 2 + 1] > (int32_t)least);"


def test_entries_that_stay_behind_their_test() -> None:
    found = lines(ROWS.format(end="N", test="any[k < 2](X[b, q, k] > least)"))
    at = found.index("V[b * N + count] = q;")
    assert found[at - 1].startswith("if ("), "a test that is a loop costs more than a branch"
    assert found[at + 1] == "count += 1;"


def test_rows_up_to_a_length_and_one_run_behind_them() -> None:
    found = lines(LISTED.format(end="N", test="X[b, q, 1] > least"))
    assert "const int64_t cut = cvmgen_max_i64(0, cvmgen_min_i64(V_length[b], N));" in found
    assert "for (int64_t i = 0; i < cut; ++i)" in found
    assert "cvmgen_fill_i32(&Y[(b * N + cut) * 2], -1, (N - cut) * 2);" in found


def test_rows_are_moved_before_the_test() -> None:
    found = lines(ROWS.format(end="N", test="X[b, q, 1] > least"))
    assert "const int64_t q_rows = cvmgen_max_i64(0, N - 4);" in found, "whose vectors stay inside"
    at = found.index("for (int64_t q_row = 1; q_row < q_row_pairs; ++q_row) {")
    assert found[at + 1 : at + 9] == [
        "X_at += 4;",
        "cvmgen_fetch(&X[X_at], 6144);",
        "int8_t q_row_third[32];",
        "cvmgen_copy_vector(q_row_third, &X[X_at]);",
        "const int64_t q_row_third_kept = (int64_t)(X[X_at + 1] > (int32_t)least);",
        "int8_t q_row_fourth[32];",
        "cvmgen_copy_vector(q_row_fourth, &X[X_at + 2]);",
        "const int64_t q_row_fourth_kept = (int64_t)(X[X_at + 3] > (int32_t)least);",
    ], "the next rows are read and asked"
    assert found[at + 9 : at + 13] == [
        "cvmgen_copy_vector(&Y[Y_at], q_row_first);",
        "Y_at += q_row_first_kept * 2;",
        "cvmgen_copy_vector(&Y[Y_at], q_row_second);",
        "Y_at += q_row_second_kept * 2;",
    ], "before those in front of them are stored"
    at = found.index("cvmgen_copy_i32(&Y[(b * N + count) * 2], &X[(b * N + q) * 2], 2);")
    assert found[at - 1] == "for (int64_t q = q_row_pairs * 2; q < N; ++q) {"
    assert "cvmgen_fill_i32(&Y[(b * N + count) * 2], -1, (N - count) * 2);" in found[at:]


def test_rows_that_are_too_long_for_a_vector() -> None:
    found = lines(ROWS.replace("N, 2]", "N, 9]").format(end="N", test="X[b, q, 1] > least"))
    assert "cvmgen_copy_i32(&Y[(b * N + count) * 9], &X[(b * N + q) * 9], 9);" in found
    assert not any("cvmgen_copy_vector" in each and "int32" in each for each in found)


STAGED = [
    ("abs(X[p, 0] - X[q, 0]) < 3", "", ["U_X"], "an element of each entry"),
    (
        "(X[q, 1] if X[p, 0] == X[q, 0] else 0) >= least",
        "",
        ["U_X"],
        "what an entry must be to rule anything out is asked once, when it is kept",
    ),
    (
        "a[p, q] >= least",
        "let a[p, q] = X[X[q, 0], 0] if 0 <= X[q, 0] < N and X[p, 0] > X[q, 1] else 0\n",
        [],
        "an element that lies in its tensor only where tests in front of it hold",
    ),
]


@pytest.mark.parametrize(("test", "more", "arrays", "why"), STAGED, ids=[r[-1] for r in STAGED])
def test_arrays_of_entries(test: str, more: str, arrays: list[str], why: str) -> None:
    text = each_kernel(operator(KEPT.format(width=2, test=test, more=more)))
    assert [name for name in ("U_X", "U_X_2") if f"*restrict {name}" in text] == arrays, why
    assert ("CVMGEN_FOR_AVX2\nstatic void f_U_" in text) == bool(arrays), "blocks by vectors"


def test_places_before_what_lies_there() -> None:
    found = lines(TABLE)
    at = found.index("Y[i_block + i_lane] = T[places[i_lane]];")
    assert found[at - 1] == "for (int64_t i_lane = 0; i_lane < i_lanes; ++i_lane)"
    assert found[at - 2] == "CVMGEN_APART", "threads do not know that Y is apart from T"
    assert found[:at].count("CVMGEN_APART") == 1, "places are in no other's memory"
    assert "_Alignas(64) int32_t places[256];" in found[:at]
    assert "CVMGEN_FOR_AVX2" in found[:at], "the last place does not vary: its type does not count"


def test_places_need_a_limit() -> None:
    with pytest.raises(SpecError, match="nothing limits how often the loop i runs"):
        lines(TABLE, schedules("schedule gather for c {\n  locate inner\n}\n"))
