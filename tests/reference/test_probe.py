"""The probe finds what is wrong, passes what is right, and says the same in every run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cvmgen.reference.probe import Probe, check_operators, probe
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile, read_folder
from tests.reference.calls import SPEC, operators, written


@pytest.mark.parametrize("name", sorted(operators()))
def test_operators_of_spec_pass(name: str) -> None:
    checked = Probe(operators()[name])
    assert checked.errors() == []
    assert len(checked.tapes) >= 40, "few calls were accepted, so little was looked at"
    assert checked.reached == set(range(max(len(operators()[name].cases), 1)))


# A slip in an operator of spec/, and a part of what must be said of it.
SLIPS = [
    ("0 <= h < XH", "0 <= h <= XH", "index 2 of X"),
    ("0 <= w < XW", "-1 <= w < XW", "index 3 of X is -1"),
    ("(oc div OPG)*IC + ic", "oc*IC + ic", "index 1 of X"),
    (" and OC mod groups == 0", "", "division by 0"),
    ("C == IC * groups and ", "", "index 1 of X"),
    ("(B[oc] if present(B) else 0)", "B[oc]", "'B' is read though it may be left away"),
    ("bits(IC*KH*KW)", "bits(IC*KH*KW - 1)", "log2(0) is not defined"),
    ("W[j, k]", "W[k, j]", "index 0 of W"),
    (" if 0 <= y*SH - PH + i < H and 0 <= x*SW - PW + j < W", "", "index 2 of X is -1"),
    ("PSH > PH and", "PSH >= PH and", "the maximum or minimum of no element has no value"),
    ("h div scale, w div scale", "h div scale, w", "index 3 of X"),
    ("case keepdims {", "case exclude {", "no case of the operator applies"),
    ("keepdims and count(K) > 0", "keepdims", "both apply"),
    ("count(K) == 0 {", "count(K) == 0 and N > 2 {", "no case of the operator applies"),
    ("int list = () in [-N, N)", "int list = () in [-N, N]", "a list of 1 entry has no entry 1"),
    ("X[d...])\n  }\n}", "X[d...]) forall i < N\n  }\n}", "is written twice"),
    ("d[Q - M + j] if m[j] != 1 else 0", "d[Q - M + j]", "index 0 of"),
    ("d[Q - M + j]", "d[Q - N + j]", "has no entry"),
    ("a tdiv b if b != 0 else 0", "a tdiv b", "division by 0"),
    ("abs(x) + 1)) if x != 0 else 1", "x + 1)) if x != 0 else 1", "log2(0) is not defined"),
    ("precision in [1, 33)", "precision in [0, 33)", "2^-1 is not an integer"),
    ("require a_min < a_max", "require a_min < a_max < a_min", "no arguments satisfy"),
    ("Y[flatten_index(d..., n...)]", "Y[flatten_index(d..., n...) + 1]", "index 0 of Y"),
    ("cvm[size(n)]", "cvm[size(n) + 1]", "is never written"),
    ("Y[flatten_index(d..., n...)]", "Y[d[0]]", "is written twice"),
    ("unflatten(j, n[1:]...)", "unflatten(j, n...)", "X has rank 1, 2 indices are given"),
    ("[[37, 47], [67, 77]]", "[[37, 47], [67, 78]]", "the example gives"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), SLIPS, ids=[row[1] for row in SLIPS])
def test_slips_are_found(right: str, wrong: str, message: str) -> None:
    files = [
        each for each in read_folder(SPEC) if each.opset not in ("onnx", "tflite", "tosa")
    ]  # which share definitions
    changed = [each for each in files if right in each.source.text]
    assert changed, "the row speaks of a spec that has changed"
    shared = [each for each in files if not each.opset]
    for each in changed:
        text = each.source.text.replace(right, wrong)
        others = [other for other in shared if other is not each]
        found = check_files([*others, SpecFile(Source(each.source.name, text), each.opset)])
        reports = (str(error) for operator in found for error in probe(operator))
        assert any(message in report for report in reports)


# Requirements that few calls meet by chance.
DEMANDING = {
    "a product of others": "input A : cvm[C]\n input B : cvm[I, G]\n require C == I*G*2 : 'no'",
    "a large extent": "input A : cvm[C]\n require C >= 7 : 'no'",
    "a permutation": "input A : cvm[n...]\n attr axes : int list\n"
    "require len(axes) == len(n) : 'no'\n"
    "require count({a mod len(n) for a in axes}) == len(n) : 'no'\n"
    "require all[i < len(n)](-len(n) <= axes[i] < len(n)) : 'no'",
    "another shape of one size": "input A : cvm[n...]\n attr to : int list in [1, 4096)\n"
    "require size(to) == size(n) and len(to) > 0 : 'no'",
    "shapes alike but for one dimension": "input each i < M : A[i] : cvm[n[i]...]\n"
    "attr axis in [0, len(n[0]))\n require all[i < M](len(n[i]) == len(n[0])) : 'no'\n"
    "require all[i < M, j < len(n[0])](j == axis or n[i][j] == n[0][j]) : 'no'",
    "precisions": "input A : cvm[N]\n attr s in [1, 33)\n require p(A) + s == 9 : 'no'",
    "two attributes": "input A : cvm[N]\n attr a in [0, 4096)\n attr b in [0, 4096)\n"
    "require a < b < a + 3 : 'no'",
}


@pytest.mark.parametrize("block", DEMANDING.values(), ids=DEMANDING)
def test_demanding_requirements_are_met(block: str) -> None:
    quoted = block.replace("'", '"')
    operator = written(f"operator f {{ {quoted}\n output Y : cvm[1] precision 1\n Y[0] = 0 }}")
    checked = Probe(operator)
    assert checked.errors() == []
    assert len(checked.tapes) >= 40


RIGHT = {
    "a range that is far too long": "attr k in [10000000, 20000000)\n Y[i] = sum[j < k](j)",
    "an output that is far too large": "attr k in [10000000, 20000000)\n"
    "output Z : cvm[k] precision 1\n Z[j] = 0\n Y[i] = 0",
    "a branch that small calls never take": "Y[i] = X[i + 1] if i > 1000 else 0",
    "a rare case": "attr k in [0, 4096)\n case k != 77 { Y[i] = 0 }\n case k == 77 { Y[i] = 1 }",
    "a case of a default": "attr k = 77 in [0, 4096)\n"
    "case k < 77 { Y[i] = 0 }\n case k > 77 { Y[i] = 1 }\n case k == 77 { Y[i] = 2 }",
    "a power of a large attribute": "attr k in [0, inf)\n Y[i] = X[i] if k < 2^31 else 2^k",
}


@pytest.mark.parametrize("block", RIGHT.values(), ids=RIGHT)
def test_no_fault_is_made_up(block: str) -> None:
    head = "input X : cvm[N]\n output Y : cvm[N] precision 32\n"
    assert probe(written(f"operator f {{ {head} {block} }}")) == []


REAL_NUMBERS = (
    "int(real(X[i]) * 2.0)",
    "int(0.1 if X[i] > 0 else inf)",
    "max(-1, min(1, int(sum[j < N](0.1) if X[i] > 0 else 0.1^2)))",
    "int(max(nan, half(N) + real(X[i])))",
    "int(third + real(X[i]))",
)


@pytest.mark.parametrize("value", REAL_NUMBERS)
def test_a_declared_precision_may_speak_of_real_numbers(value: str) -> None:
    """Bounds that are no integers say nothing of the precision."""
    text = "operator f { input X : cvm[N]\n let third = 1.0 * 0.3\n output Y : cvm[N] precision 32"
    half = "def half(x) = real(x) * 0.5\n"
    check_operators([written(f"{half}{text}\n Y[i] = {value} + int(third) }}")])


WRONG = """
operator f {
  input  X : cvm[n...]
  attr   axes : int list = () in [-len(n), len(n)]
  let    S = {a + 1 for a in axes}
  output Y : cvm[n...] precision 32
  Y[d...] = X[d...] div (sum[a in S](n[a]) - 3) + max[a in S](a)
}
"""
REPORT = f"""
from cvmgen.reference.probe import probe
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
(operator,) = check_files([SpecFile(Source("f.cvm", {WRONG!r}), "")])
print(*probe(operator), sep="\\n\\n")
"""


def test_every_run_says_the_same() -> None:
    reports = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", REPORT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        reports.add(done.stdout)
    (report,) = reports
    errors = probe(written(WRONG))
    assert report.replace("f.cvm", "test.cvm").strip() == "\n\n".join(map(str, errors))
    assert len(errors) >= 2


def test_the_example_is_small() -> None:
    """What is shown is the smallest failing call, not the first that came up."""
    (error,) = probe(
        written(
            """operator f {
              input  X : cvm[n...]
              attr   k in [0, 4096)
              output Y : cvm[n...] precision 32
              Y[d...] = X[(d[i] + (1 if k > 2 else 0) for i < len(n))...]
            }"""
        )
    )
    assert error.message == "index 0 of X is 1, outside [0, 1)"
    assert error.hint == "for example when d = (0,), i = 0, k = 3"


def test_faults_of_a_family_are_reported_once() -> None:
    text = """
    family shift(BY) {
      input  X : cvm[N]
      output Y : cvm[N] precision 32
      Y[i] = X[i + BY]
    }
    operator one = shift(1)
    operator two = shift(1)
    """
    with pytest.raises(SpecErrors) as caught:
        check_operators(check_files([SpecFile(Source("f.cvm", text), "")]))
    assert len(caught.value.errors) == 1
