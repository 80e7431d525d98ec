"""Derived precisions against the extremes of the formulas, and unsound rules."""

from itertools import product
from math import prod

import pytest

from cvmgen.reference import Reference, Tensor
from cvmgen.reference.soundness import unsound_rules
from cvmgen.source import Source
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.formula import Operator

COMMON = "def clip(x, low, high) = max(low, min(x, high))\n"


def operator(items: str) -> Operator:
    text = f"{COMMON}operator f {{\n{items}\n}}\n"
    (found,) = check_files([SpecFile(Source("test.cvm", text), "test")])
    return found


PAIR = "input A : cvm[n...]\ninput B : cvm[n...]\noutput Y : cvm[n...]\n"
ATTAINED = [
    "Y[d...] = A[d...] + B[d...]",
    "Y[d...] = A[d...] - B[d...]",
    "Y[d...] = A[d...] * B[d...]",
    "Y[d...] = A[d...] * B[d...] + A[d...]",
    "Y[d...] = max(A[d...], B[d...])",
    "Y[d...] = max(0, A[d...])",
    "Y[d...] = abs(A[d...])",
    "Y[d...] = A[d...] div 2",
    "Y[d...] = A[d...] tdiv 3",
    "Y[d...] = clip(A[d...], -5, 3)",
    "Y[d...] = 1 if A[d...] > B[d...] else 0",
    "Y[d...] = -7",
]


@pytest.mark.parametrize("equation", ATTAINED)
def test_bound_holds_and_is_tight(equation: str) -> None:
    """Over all pairs of values within small precisions."""
    reference = Reference(operator(PAIR + equation))
    for p, q in product(range(1, 5), repeat=2):
        pairs = list(
            product(
                range(1 - (1 << (p - 1)), 1 << (p - 1)), range(1 - (1 << (q - 1)), 1 << (q - 1))
            )
        )
        a = Tensor((len(pairs),), [x for x, _ in pairs], p)
        b = Tensor((len(pairs),), [y for _, y in pairs], q)
        output = reference.evaluate({"A": a, "B": b}).outputs["Y"]
        most = max(map(abs, output.values))
        needed = most.bit_length() + 1
        assert output.precision >= needed
        loose = 1 if "A[d...] * B" in equation or "clip" in equation or "div" in equation else 0
        if min(p, q) > 1:
            assert output.precision <= needed + loose, (p, q)


def test_sum_counts_its_terms() -> None:
    reference = Reference(
        operator("input X : cvm[N, K]\noutput Y : cvm[N]\nY[i] = sum[k < K](X[i, k])")
    )
    for k in range(1, 20):
        tensor = Tensor((1, k), [7] * k, 4)
        output = reference.evaluate({"X": tensor}).outputs["Y"]
        assert output.precision == (7 * k).bit_length() + 1


@pytest.mark.parametrize(
    ("rule", "given", "needed"),
    [("p(A)", "precision rule gives", "can need"), ("max(p(A), p(B))", "gives", "can need")],
)
def test_unsound_rule_is_an_error(rule: str, given: str, needed: str) -> None:
    items = PAIR.replace("output Y : cvm[n...]", f"output Y : cvm[n...] precision {rule}")
    (error,) = unsound_rules(operator(items + "Y[d...] = A[d...] + B[d...]"))
    assert given in error.message
    assert needed in error.message
    assert error.span.text == rule
    assert "for example when p(A) = " in error.hint


def test_although_accepts_a_deployed_rule() -> None:
    items = PAIR.replace("output Y : cvm[n...]", "output Y : cvm[n...] precision 1")
    equation = 'although "deployed"\nY[d...] = 1 if A[d...] > B[d...] else 0'
    assert unsound_rules(operator(items + equation)) == []


def test_the_bound_of_several_inputs_is_that_of_the_widest() -> None:
    reference = Reference(
        operator(
            "input each i < M : I[i] : cvm[n[i]...]\nlet offset[i] = sum[j < i](n[j][0])\n"
            "output Y : cvm[offset[M]]\nY[offset[i] + d[0]] = I[i][d...]\n"
            "  forall i < M, d... < n[i]..."
        )
    )
    tensors = [Tensor((2,), [1, 1], 2), Tensor((1,), [9], 5), Tensor((1,), [0], 1)]
    output = reference.evaluate({"I": tensors}).outputs["Y"]
    assert output.precision == 5
    assert output.values == [1, 1, 9, 0]


def test_a_position_is_below_the_number_of_elements() -> None:
    equation = "Y[d...] = flatten_index(d..., n...) - 3"
    reference = Reference(operator(f"input X : cvm[n...]\noutput Y : cvm[n...]\n{equation}"))
    for shape, precision in (((2, 2), 3), ((2, 3, 2), 5), ((257,), 9), ((260,), 10)):
        output = reference.evaluate({"X": Tensor(shape, [0] * prod(shape), 1)}).outputs["Y"]
        assert (output.values[-1], output.precision) == (prod(shape) - 4, precision)


def test_an_output_of_all_cases_holds_the_values_of_each() -> None:
    reference = Reference(
        operator(
            "input X : cvm[N]\nattr big = 0 in [0, 2)\noutput Y : cvm[N]\n"
            "case big == 1 {\nY[i] = 9 * X[i]\n}\ncase big == 0 {\nY[i] = X[i]\n}"
        )
    )
    for big in (0, 1):
        output = reference.evaluate({"X": Tensor((1,), [7], 4)}, {"big": big}).outputs["Y"]
        assert (output.values, output.precision) == ([63 if big else 7], 7)


def test_a_rule_for_all_cases_is_compared_with_each() -> None:
    items = "input X : cvm[N]\nattr big = 0 in [0, 2)\noutput Y : cvm[N] precision p(X)\n"
    cases = "case big == 0 {\nY[i] = X[i]\n}\ncase big == 1 {\nY[i] = 9 * X[i]\n}"
    (error,) = unsound_rules(operator(items + cases))
    assert error.span.text == "p(X)"
