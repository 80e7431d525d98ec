"""Attribute texts: which are values, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvmgen.graph.values import Value, parse_value, render_value

READ = [
    ("1", 1),
    ("-7", -7),
    ("+7", 7),
    (" 22 ", 22),
    ("True", True),
    ("False", False),
    ("None", None),
    ("NCHW", "NCHW"),
    ("__undef__", "__undef__"),
    ("(1, 1)", (1, 1)),
    ("[3, 3]", (3, 3)),
    ("(2,)", (2,)),
    ("(2)", (2,)),
    ("[ -1,2 ,3]", (-1, 2, 3)),
    ("()", ()),
    ("[]", ()),
]
REFUSED = [
    ("", "neither an integer"),
    ("1.5", "neither an integer"),
    ("0x10", "neither an integer"),
    ("1_000", "neither an integer"),
    ("'a'", "neither an integer"),
    ("(1, 2", "neither an integer"),
    ("(1, 2]", "neither an integer"),
    ("((1, 2), 3)", "neither an integer"),
    ("(1, True)", "neither an integer"),
    ("(1,, 2)", "neither an integer"),
    ("(,)", "neither an integer"),
    ("1 + 1", "neither an integer"),
    ("(1).real", "neither an integer"),
    ("9" * 50, "neither an integer"),
    (str(2**63), "more than 64 bits"),
    ("\u0663", "neither an integer"),
    ("(" * 100_000, "'\\({40}...' is neither"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_texts_that_are_values(text: str, value: Value) -> None:
    read = parse_value(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(("text", "rule"), REFUSED)
def test_texts_that_are_none(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        parse_value(text)


INTEGERS = st.integers(-(2**63) + 1, 2**63 - 1)


@given(
    st.one_of(
        INTEGERS,
        st.booleans(),
        st.none(),
        st.lists(INTEGERS, max_size=4).map(tuple),
        st.sampled_from(["NCHW", "OIHW", "__undef__"]),
    )
)
def test_round_trip(value: Value) -> None:
    assert parse_value(render_value(value)) == value
