"""Which schedule a nest takes, and what `show` tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cvmgen.build.progress import Progress
from cvmgen.cli.specs import apply_all
from cvmgen.driver import C, emitted, lower
from cvmgen.errors import Strict
from cvmgen.inspection.stages import stage_text
from cvmgen.paths import spec_folder
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.schedule.schedules import Schedules, checked_schedules, packaged, read_schedules
from cvmgen.source import Source
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules
from tests.operators import sample
from tests.specs import operator

ADD = "input X : cvm[M, N]\noutput Y : cvm[M, N] precision 32\nY[i, j] = X[i, j] + 1"
TOTAL = "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\nY[i] = sum[j < N](X[i, j])"
CHOSEN = (
    "input X : cvm[M]\nattr least in [0, 9)\n"
    "let kept = select[i < M](X[i] > least)\n"
    "output Y : cvm[M] precision 32\nY[k] = kept[k] if k < len(kept) else -1"
)
TWICE = f"{CHOSEN}\noutput Z : cvm[M] precision 32\nZ[k] = X[kept[k]] if k < len(kept) else 0"


def schedules(text: str) -> Schedules:
    return checked_schedules(parse_schedules(Source("test.sched", text)))


def story(items: str, text: str) -> list[str]:
    """What `show` tells of the C target."""
    lines = stage_text(operator(items), "schedule", schedules(text)).splitlines()
    return lines[: lines.index("kernels for cuda:")]


CLASSES_OF = [
    (ADD, ["elementwise"], "nothing is carried from one element to the next"),
    (CHOSEN, ["compaction"], "a list that only one output reads, in its order"),
    (TWICE, ["filtered_list", "listed", "listed"], "a nest that makes a list, others that read it"),
]


@pytest.mark.parametrize(("items", "expected", "why"), CLASSES_OF, ids=[r[-1] for r in CLASSES_OF])
def test_class(items: str, expected: list[str], why: str) -> None:
    lines = stage_text(operator(items), "schedule").splitlines()
    assert [line.split(",")[0].strip() for line in lines if ", by " in line] == expected, why


def test_show_tells_each_action() -> None:
    text = "schedule other for c {\n  copy\n  parallelise outer when results >= 7\n}\n"
    assert story(ADD, text) == [
        "program test.f",
        "nest Y: Y[i, j] = X[i, j] + 1",
        "  other, by test.sched:1",
        "    outer: i, j",
        "  copy",
        "    changes nothing",
        "  parallelise outer when results >= 7",
        "    parallel if M * N >= 7: for 0 <= i < M:",
        "      for 0 <= j < N:",
        "        Y@[i * N + j] = i32(u32(X@[i * N + j]) + u32(1))",
    ]


def test_no_schedule_leaves_a_nest_as_it_is() -> None:
    text = stage_text(operator(ADD), "schedule", schedules(""))
    assert "  no schedule\n" in text
    assert "cvmgen_share" not in emitted("c", operator(ADD), lower(operator(ADD), C), schedules(""))


def test_the_first_class_with_a_schedule_counts() -> None:
    general = "schedule other for c {\n  parallelise outer when results >= 1\n}\n"
    particular = "schedule elementwise for c {\n  parallelise outer when results >= 2\n}\n"
    found = emitted("c", operator(ADD), schedules=schedules(general + particular))
    assert "cvmgen_share(M * N, M * N >= 2, " in found
    found = emitted("c", operator(TOTAL), schedules=schedules(general + particular))
    assert "cvmgen_share(M, M >= 1, " in found


def test_a_folder_without_schedules_has_those_of_cvmgen() -> None:
    assert read_schedules(spec_folder() / "cvm").plans.keys() == packaged().plans.keys()


def test_every_class_of_c_has_a_schedule_that_a_nest_falls_back_to() -> None:
    assert ("c", list(CLASSES)[-1]) in packaged().plans


def test_every_action_for_c_changes_some_nest_of_its_class(formulas: dict[str, Operator]) -> None:
    own = [formulas[name] for name in sorted(sample()) if not name.startswith("extra.")]
    own.append(formulas["tflite.depthwise_conv_2d"])
    faults, warnings = apply_all(own, packaged(), Progress(), Strict())
    assert faults == []
    # Depthwise and transposed convolutions, what is asked of their results, and products of sums
    # with zero points on both sides are no tiles.
    files = ("tflite/convolution", "onnx/product", "tosa/tensor")
    names = {each.span.source.name for each in warnings}
    assert names <= {f"spec/{each}.cvm" for each in files}


def test_the_mappings_of_cuda_in_their_order() -> None:
    names = [name for name, _ in packaged().mappings("cuda")]
    assert names == [
        "pair_mask",
        "blocks",
        "tensor_tiles",
        "shared_boxes",
        "teams",
        "vectors",
        "threads",
    ]
    assert dict(packaged().mappings("cuda")).keys() == MAPPINGS.keys()


def test_a_schedule_for_cuda_decides_the_mapping() -> None:
    usual = stage_text(operator(TOTAL), "schedule")
    assert "kernels for cuda:" in usual
    assert "  test_f_Y_int8_int8: reduction\n" in usual
    own = schedules("schedule other for cuda { use threads }")
    plain = stage_text(operator(TOTAL), "schedule", own)
    assert "  test_f_Y_int8_int8: grid\n" in plain


def test_a_target_without_schedules_of_its_own_has_those_of_cvmgen(tmp_path: Path) -> None:
    own = tmp_path / "schedules"
    own.mkdir()
    (own / "c.sched").write_text("schedule other for c { copy }\n")
    found = read_schedules(tmp_path)
    assert [key for key in found.plans if key[0] == "c"] == [("c", "other")]
    assert found.mappings("cuda") == packaged().mappings("cuda")
