"""Derived precisions against the extremes of the formulas, and unsound rules."""

from itertools import product
from math import prod

import pytest

from cvmgen.reference import Reference, Tensor
from cvmgen.reference.soundness import unsound_rules
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator

COMMON = "def clip(x, low, high) = max(low, min(x, high))\n"


def operator(items: str, before: str = "") -> Operator:
    text = f"{COMMON}{before}operator f {{\n{items}\n}}\n"
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


X = "input X : cvm[N]\n"
Y = f"{X}output Y : cvm[N]\nY[i] = "
H = "def h(x) = x\ndef g(x) = h(20*x) if -5 < x and x < 5 else 0\n"
OPTIONAL = "input X : cvm[N]\ninput B : cvm[N] optional\noutput Y : cvm[N]\nY[i] = "
NEEDED = [
    (f"{Y}7 - (X[i] mod -3)", "", 5, "a remainder has the sign of its divisor"),
    (f"{Y}X[i] mod 4", "", 3, "and is not negative where that is not"),
    (f"{Y}225 - X[i]^2", "", 9, "a square is least at 0"),
    (f"{Y}16 - (0 - 2)^clip(X[i], 0, 4)", "", 7, "powers of negatives have both signs"),
    (f"{Y}flatten_index((X[i], X[i]), (3, 3))", "", 6, "a position of elements, 3*X + X"),
    (f"{Y}g(X[i])", H, 8, "of g and h each has an x of its own"),
    (
        f"{X}output Y : cvm[N]\nlet T[i] = 9*X[i]\n"
        "let U[i] = T[(i + 1) mod N] if -1 < X[i] and X[i] < 1 else 0\nY[i] = U[i]",
        "",
        7,
        "the index of a let is another one at each use",
    ),
    (f"{Y}X[i] if -2 < X[i] < 2 else 0", "", 2, "the very value is narrowed"),
    (f"{Y}h(X[i]) if -2 < X[i] < 2 else 0", "def h(x) = x\n", 2, "also by another name"),
    (f"{Y}sum[k < N](X[k] if X[k] > 6 else 0)", "", 5, "one value at each point of a sum"),
    (f"{Y}sum[k < N if X[k] < -6](X[k])", "", 5, "and what a range keeps"),
    (f"{Y}X[i]*X[i] if X[i] > 5 and X[i] < -5 else 0", "", 7, "what is never so has some range"),
    (f"{OPTIONAL}B[i] if present(B) and X[i] > 0 else 1", "", 2, "an input that is not there"),
    (f"{OPTIONAL}sum[k < N if present(B)](B[k])", "", 1, "nor in a range that has no point"),
    (f"{Y}1 if X[i] > 0 else 10 div (N - 2)", "", 5, "a quotient that has no value"),
    (f"{Y}sum[k < N - 5](X[k])", "", 1, "a sum of nothing"),
    (f"{Y}max(1, sum[k < N - 5](k - 9))", "", 2, "whose index has no range"),
    (f"{Y}int(all[k < X[i]](k < 3))", "", 2, "all of nothing is true"),
    (f"{Y}X[i] tdiv (i - 5)", "", 4, "a divisor of either sign, never 0"),
    (f"{Y}ceil(log2(i + i + 1))", "", 3, "a logarithm is taken from 1 on"),
]


@pytest.mark.parametrize(("items", "before", "needed", "_why"), NEEDED)
def test_a_derived_precision_is_what_the_values_need(
    items: str, before: str, needed: int, _why: str
) -> None:
    """For two elements of 4 bits."""
    reference = Reference(operator(items, before))
    inputs: dict[str, Tensor | None] = {"X": Tensor((2,), [0, 0], 4)}
    assert reference.infer(inputs).outputs["Y"].precision == needed


def test_a_negative_number_of_terms_is_none() -> None:
    reference = Reference(operator(f"{X}attr a\noutput Y : cvm[N]\nY[i] = sum[k < a](X[i])"))
    for a, precision in ((-20, 1), (0, 1), (1, 4), (20, 9)):
        found = reference.infer({"X": Tensor((1,), [7], 4)}, {"a": a}).outputs["Y"]
        assert found.precision == precision


def test_a_real_number_may_be_rounded_up() -> None:
    with pytest.raises(SpecErrors, match="bounds of this value are not known"):
        operator(f"{Y}int(float32(real(X[i])))")


SHORT = [
    ("(i for i < 2 * 4)", "a product of numbers"),
    ("(i for i < 9 - a)", "a difference with an attribute that has a range"),
    ("(i for i < 3 * a)", "a product with one"),
    ("(i for i < abs(a) div 2 + 8)", "what functions and quotients make of it"),
]


@pytest.mark.parametrize(("listed", "_why"), SHORT)
def test_lists_are_as_short_as_the_bounds_of_their_ranges_say(listed: str, _why: str) -> None:
    items = "input A : cvm[n]\nattr a = 1 in [0, 5]\noutput Y : cvm[n]\n"
    assert operator(f"{items}Y[d] = sum[j in {listed}](A[d])")
