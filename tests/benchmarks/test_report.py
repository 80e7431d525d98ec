"""What a measurement looks like on the screen, in the docs and as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.plot import draw
from benchmarks.results import Change, Measurement, Row

ABS = Row("abs, 16 M", 1, 3000.0, {"numpy": 2900.0, "torch": 3100.0}, probe=2700.0)
SLOW = Row("abs, 16 M", 2, 3000.0, {"numpy": 2900.0}, probe=1500.0, spread=0.3)
POOL = Row("max_pool2d 3x3 by 2, 64 of 112x112", 1, 0.5, {"oneDNN, float32": 0.25})
WHOLE = Measurement(
    {"cpu": "a CPU", "cores": "2", "flags": "avx2", "compiler": "gcc 12"},
    {"numpy": "2.4"},
    {"1": {"copy GB/s": 12.3456}},
    {"numba": "No module named 'numba'"},
    [ABS, SLOW, POOL],
    {"ResNet-20": "no model"},
)


def test_a_line_has_a_column_for_each_library() -> None:
    head, text = report.header(), report.line(ABS)
    assert len(head) == len(text)
    assert text.split() == ["abs,", "16", "M", "1", "3,000", "2,900", "3,100", "2,700",
                            "0.97", "90%", "met"]  # fmt: skip
    start = head.index("torch") + len("torch")
    assert text[start - 5 : start] == "3,100", "numbers stand under the names of their columns"
    assert report.line(SLOW).split()[-1] == "missed"


def test_the_summary_says_what_is_not_there() -> None:
    rows = [
        Row("abs, 16 M", 1, 1.0, {"numpy": 1.0}, probe=1.0, wrong=("numpy",)),
        Row(
            "abs, 16 M",
            2,
            1.0,
            beside={"oneDNN, own layout": 2.0},
            spread=0.5,
            failed={"torch": "no such type"},
        ),
    ]
    lines = report.summary(Measurement({}, {}, {}, {"numba": "none"}, rows, {"ResNet-20": "none"}))
    assert lines == [
        "goals: 1 met, 0 missed",
        "absent: numba: none",
        "not measured: ResNet-20: none",
        "WRONG: abs, 16 M, 1 thread: numpy has other integers than ours",
        "beside: abs, 16 M, 2 threads: oneDNN, own layout 2.00",
        "unsteady: abs, 16 M, 2 threads: times differ by 50%",
        "failed: abs, 16 M, 2 threads: torch: no such type",
    ]
    assert report.rates(WHOLE) == ["1 thread: copy GB/s 12.35"]


def test_only_what_got_slower_is_listed() -> None:
    lines = report.changes([Change("a", 2, 0.5, "probe"), Change("b", 1, 0.8, "clock")])
    assert lines == [
        "slower: a, 2 threads: 0.50 of its speed (by probe)",
        "1 of 2 rows are below 0.8 of the baseline",
    ]


def test_the_table_has_columns_for_each_number_of_threads() -> None:
    lines = report.markdown(WHOLE).splitlines()
    assert [line.count("|") for line in lines] == [10] * 4
    assert lines[2] == (
        "| abs, 16 M | 3,000 | numpy 2,900 | 0.97 | 90% | ~3,000 | numpy 2,900 | 0.97 | 50% |"
    ), "what was disturbed is marked"
    assert lines[3].endswith("| 0.50 | oneDNN 0.25 | 0.50 |  |  |  |  |  |"), "not with two threads"


def test_the_section_goes_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.insert(page, report.section(WHOLE))
    text = page.read_text()
    assert text.startswith(
        f"before\n{report.BEGIN}\n\na CPU (2 cores; avx2), gcc 12; numpy 2.4; medians of 7 turns"
    )
    assert text.endswith(f"|\n\n{report.END}\nafter\n")
    assert "old" not in text
    report.insert(page, report.section(WHOLE))
    assert page.read_text() == text
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines"):
        report.insert(page, "text")


@pytest.mark.filterwarnings("ignore")  # matplotlib's own
def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(WHOLE, tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")
