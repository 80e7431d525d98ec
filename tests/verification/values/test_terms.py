"""Terms mean what machine numbers do: instructions on both agree for numbers put in."""

import random

import pytest

from cvmgen.verification.values import choices, extremes, modular, pieces, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.arithmetic import binary, comparison, conversion
from cvmgen.verification.values.compare import Comparison
from cvmgen.verification.values.coverage import covering
from cvmgen.verification.values.evaluate import Evaluation
from cvmgen.verification.values.solver import possible
from cvmgen.verification.values.table import forget_all


def _element(name, low=-127, high=127):
    return t.element(name, 0, low, high)


@pytest.fixture(autouse=True)
def _afresh():
    forget_all()


# How instructions are called, and the second operand where it is not an element.
TERM_BY_TERM = ["add", "sub", "mul"]
TERM_BY_NUMBER = [
    ("shl", 3), ("ashr", 2), ("lshr", 1), ("and", 15), ("and", -8), ("xor", -1), ("xor", -128),
    ("sdiv", 3), ("srem", 5), ("udiv", 3), ("urem", 7), ("or", 0),
]  # fmt: skip


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize(
    ("opcode", "other"), [*((each, None) for each in TERM_BY_TERM), *TERM_BY_NUMBER]
)
def test_an_instruction_on_terms_is_that_on_numbers(opcode, other, bits):
    if opcode == "xor" and other == -128:
        other = -(1 << (bits - 1))
    operate = binary(opcode, bits, frozenset())
    x, y = _element("x"), _element("y") if other is None else other
    made = modular.signed(operate(operate(x, y), y), bits)
    pick = random.Random(bits)
    for _ in range(60):
        a, b = pick.randint(-127, 127), pick.randint(-127, 127)
        second = b if other is None else other
        wanted = operate(operate(a, second), second)
        assert Evaluation({("x", 0): a, ("y", 0): b}).value(made) == wanted, (a, b, made)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge"])
def test_a_comparison_of_terms_is_that_of_numbers(predicate):
    compare = comparison(predicate, 8)
    test = compare(_element("x"), _element("y"))
    pick = random.Random(1)
    for _ in range(60):
        a, b = pick.randint(-9, 9), pick.randint(-9, 9)
        assert Evaluation({("x", 0): a, ("y", 0): b}).value(test) == compare(a, b)


def _clamped(x):
    return extremes.maximum([-3, extremes.minimum([5, x])])


def _clamped_late(x):
    return extremes.minimum([5, extremes.maximum([-3, x])])


def _greater_by_choice(x):
    return choices.choose(t.at_least(x, 1), x, 0)


def _magnitude_by_choice(x):
    return choices.choose(t.at_least(t.negated(x), 1), t.negated(x), x)


def _through_bytes(x):
    return conversion("trunc", 32, 8)(conversion("zext", 8, 32)(x))


SAME = [
    (lambda x: t.multiply(t.add(x, 1), t.add(x, -1)),
     lambda x: t.add(t.multiply(x, x), -1), "products"),
    (_clamped, _clamped_late, "the order of clamps"),
    (_greater_by_choice, lambda x: extremes.maximum([x, 0]), "a choice of the greater"),
    (_magnitude_by_choice, lambda x: extremes.maximum([x, t.negated(x)]), "a magnitude"),
    (_through_bytes, lambda x: x, "a byte without its sign, cut again"),
    (lambda x: quotients.floor_quotient(t.multiply(x, 6), 4),
     lambda x: quotients.floor_quotient(t.multiply(x, 3), 2), "a common divisor"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "why"), SAME)
def test_forms_of_one_value_are_one_term(one, other, why):
    x = _element("x")
    assert one(x).same(other(x)), why


def test_values_that_differ_in_one_case_are_not_equal():
    x = _element("x")
    late = choices.choose(t.at_least(x, 2), x, 0)
    with pytest.raises(Exception, match="against"):
        Comparison().equal(late, extremes.maximum([x, 0]), 32)


def test_the_solver_knows_quotients_by_terms_and_signs_of_products():
    pytest.importorskip("z3")
    a, b, c = (t.element("X", at, -15, 15) for at in range(3))
    positive = [t.at_least(each, 1) for each in (b, c)]
    quotient = quotients.floor_quotient(100 * a, b)
    reached, short = t.at_least(quotient, 50), t.at_least(50 * b - 100 * a, 1)
    assert not possible([*positive, reached, short], exact=False)
    assert possible([reached, short]), "where b is negative both hold"
    assert not possible([*positive, t.at_least(-b * c, 0)], exact=False)
    assert not possible([*positive, t.at_least(b - b * c, 1)], exact=False)
    assert possible([*positive, t.at_least(b * c - 14, 0)])


def test_cases_are_chosen_that_come_to_blocks_of_their_own():
    trials = [
        ("small", {("f", 0, 1)}, 10),
        ("large", {("f", 0, 3), ("f", 1, 3)}, 5000),
        ("other", {("f", 0, 1), ("f", 2, 1)}, 20),
        ("again", {("f", 0, 2), ("f", 2, 2)}, 30),
        ("not run", set(), 0),
    ]
    assert covering(trials, 5) == ["other", "large", "again"]
    assert covering(trials, 5, {("f", 0, 1), ("f", 2, 1)}) == ["large", "again"]
    assert covering(trials, 1) == ["other"]


def test_bytes_that_are_put_together_are_taken_apart():
    bytes_ = [t.element("x", at, -128, 127) for at in range(4)]
    whole = 0
    for at, byte in enumerate(bytes_):
        part = binary("shl", 32, frozenset())(modular.unsigned(byte, 8), 8 * at)
        whole = binary("or", 32, frozenset())(whole, part)
    for at, byte in enumerate(bytes_):
        up = binary("shl", 32, frozenset())(whole, 24 - 8 * at)
        assert binary("ashr", 32, frozenset())(up, 24).same(byte), at


def test_two_bytes_that_were_stored_apart_are_taken_apart():
    low, high = (t.element("x", at, -128, 127) for at in range(2))
    both, plain = pieces.joined([low, high]), frozenset()
    assert binary("lshr", 16, plain)(both, 8).same(modular.unsigned(high, 8))
    up = binary("shl", 32, plain)(both, 24)  # as vectors take bytes out of wider entries
    assert binary("ashr", 32, plain)(up, 24).same(low)


def test_an_exclusive_or_with_itself_is_nothing():
    x = _element("x")
    assert binary("xor", 32, frozenset())(x, x) == 0


def test_a_number_that_a_storage_type_holds_stays_itself() -> None:
    single, half = rt.element("X", 0, "float32"), rt.element("H", 0, "float16")
    magnitude = rt.real("abs", single)
    chosen = choices.choose(rt.real_test("<", single, half), half, magnitude)
    for held in (single, half, magnitude, chosen):
        assert rt.real("float32", held) is held
    for name, other in (
        ("float16", single),
        ("bfloat16", half),
        ("float32", rt.real("*", single, single)),
        ("float32", rt.element("D", 0, "float64")),
        ("float32", rt.real("if", rt.real_test("<", single, half), single, 0.1)),
    ):
        assert rt.real(name, other) is not other
