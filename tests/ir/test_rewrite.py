"""Clean-ups of blocks."""

import pytest

from cvmgen.ir.rewrite import identity_element

NUMBERS = {"i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1), "i64": (-(1 << 63), 7)}


@pytest.mark.parametrize("type_name", NUMBERS)
@pytest.mark.parametrize(
    ("op", "combine"),
    [("+", int.__add__), ("*", int.__mul__), ("|", int.__or__), ("max", max), ("min", min)],
)
def test_identity_elements_leave_every_value_as_it_is(op, combine, type_name):
    neutral = identity_element(op, type_name).value
    for value in (*NUMBERS[type_name], 0, 1):
        assert combine(value, neutral) == value
