"""Parameter files: every array survives, every damage is named with its byte."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from cvmgen.errors import ModelError
from cvmgen.graph import read_parameters, write_parameters
from cvmgen.graph.parameters import ARRAY_MAGIC, LIST_MAGIC, format_parameters, parse_parameters

SMALL = {
    "w": np.arange(-6, 6, dtype=np.int8).reshape(2, 3, 2),
    "bias": np.array([1, -(2**31) + 1], np.int32),
}
DATA = format_parameters(SMALL, None)

# Where the sections of DATA start.
NAMES, FIRST_NAME, SECOND_NAME, ARRAYS = 16, 24, 33, 45
W = ARRAYS + 8
SECTIONS = {
    "magic": 0,
    "reserved": 8,
    "number of names": NAMES,
    "length of first name": FIRST_NAME,
    "first name": FIRST_NAME + 8,
    "length of second name": SECOND_NAME,
    "second name": SECOND_NAME + 8,
    "number of arrays": ARRAYS,
    "magic of w": W,
    "reserved of w": W + 8,
    "device of w": W + 16,
    "rank of w": W + 24,
    "type of w": W + 28,
    "shape of w": W + 32,
    "byte count of w": W + 56,
    "data of w": W + 64,
    "bias": W + 76,
    "data of bias": len(DATA) - 8,
}


def patched(at: int, layout: str, *values: int) -> bytes:
    size = struct.calcsize(layout)
    return DATA[:at] + struct.pack(layout, *values) + DATA[at + size :]


DAMAGED = [
    (patched(0, "<Q", LIST_MAGIC + 1), 0, "magic number of a parameter file is 0xf7e58d4f05049cb8"),
    (patched(8, "<Q", 1), 8, "reserved field is 0x1"),
    (patched(NAMES, "<Q", 2**64 - 1), NAMES, f"{2**64 - 1} names do not fit"),
    (patched(NAMES, "<Q", 1000), NAMES, "1000 names do not fit in the"),
    (patched(FIRST_NAME, "<Q", 2**63), FIRST_NAME, f"a name of {2**63} bytes does not fit"),
    (patched(FIRST_NAME + 8, "<B", 0xFF), FIRST_NAME + 8, "not UTF-8"),
    (patched(ARRAYS, "<Q", 3), ARRAYS, "3 arrays do not fit in the"),
    (patched(ARRAYS, "<Q", 1), ARRAYS, "there are 2 names and 1 arrays"),
    (patched(ARRAYS, "<q", -1), ARRAYS, "arrays do not fit in the"),
    (patched(W, "<Q", ARRAY_MAGIC ^ 1), W, "magic number of the array of 'w'"),
    (patched(W + 8, "<Q", 7), W + 8, "reserved field of 'w' is 0x7"),
    (patched(W + 16, "<i", 2), W + 16, "device type of 'w' is 2"),
    (patched(W + 24, "<i", -1), W + 24, "rank of 'w' is -1"),
    (patched(W + 24, "<i", 0), W + 24, "rank of 'w' is 0"),
    (patched(W + 24, "<i", 2**31 - 1), W + 24, "rank of 'w' is 2147483647"),
    (patched(W + 28, "<BBH", 2, 32, 1), W + 28, "code 2, 32 bits, 1 lanes"),
    (patched(W + 28, "<BBH", 0, 16, 1), W + 28, "code 0, 16 bits, 1 lanes"),
    (patched(W + 28, "<BBH", 0, 8, 4), W + 28, "code 0, 8 bits, 4 lanes"),
    (patched(W + 32, "<q", -2), W + 32, "shape of 'w' is (-2, 3, 2): extent -2"),
    (patched(W + 32, "<q", 0), W + 32, "extent 0 of dimension 0"),
    (patched(W + 32, "<q", 2**40), W + 32, f"extent {2**40} of dimension 0"),
    (patched(W + 32, "<qqq", 2**20, 2**20, 2), W + 32, "elements are more than"),
    (patched(W + 56, "<q", 13), W + 56, "byte count of 'w' is 13, and shape (2, 3, 2) takes 12"),
    (patched(W + 56, "<q", -1), W + 56, "byte count of 'w' is -1"),
    (patched(W + 28, "<BBH", 0, 32, 1), W + 56, "is 12, and shape (2, 3, 2) takes 48"),
    (DATA + b"\0", len(DATA), "1 bytes are left over"),
    (b"", 0, "ends early: the magic number"),
]


@pytest.mark.parametrize(("data", "offset", "rule"), DAMAGED)
def test_damage_is_named_with_its_byte(data: bytes, offset: int, rule: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_parameters(data, "p.bin")
    assert caught.value.where == f"byte {offset}"
    assert rule in caught.value.rule
    assert str(caught.value).startswith(f"p.bin: byte {offset}: ")


def test_a_name_twice() -> None:
    data = format_parameters({"aa": SMALL["bias"], "ab": SMALL["bias"]}, None).replace(b"ab", b"aa")
    with pytest.raises(ModelError, match="'aa' is there twice") as caught:
        parse_parameters(data)
    assert caught.value.where == "byte 34"


def cuts() -> Iterator[tuple[str, int]]:
    """One byte before, at and after the start of every section, and offsets between."""
    for name, start in SECTIONS.items():
        for cut in (start - 1, start, start + 1):
            if 0 <= cut < len(DATA):
                yield name, cut
    yield from (("sample", cut) for cut in range(5, len(DATA), 17))


@pytest.mark.parametrize(("section", "cut"), list(cuts()))
def test_a_file_that_ends_early(section: str, cut: int) -> None:
    with pytest.raises(ModelError) as caught:
        parse_parameters(DATA[:cut])
    rule = caught.value.rule
    assert "ends early" in rule or "bytes left" in rule
    assert int(str(caught.value.where).removeprefix("byte ")) <= cut


def test_sections_are_where_the_table_says() -> None:
    assert DATA[FIRST_NAME + 8 : SECOND_NAME] == b"w"
    assert DATA[SECOND_NAME + 8 : ARRAYS] == b"bias"
    for start in (W, W + 76):
        assert struct.unpack_from("<Q", DATA, start) == (ARRAY_MAGIC,)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=8),
        stn.arrays(
            st.sampled_from([np.int8, np.int32]),
            stn.array_shapes(min_dims=1, max_dims=6, max_side=3),
        ),
        max_size=4,
    )
)
def test_round_trip(parameters: dict[str, np.ndarray]) -> None:
    data = format_parameters(parameters, None)
    back = parse_parameters(data)
    assert list(back) == list(parameters)
    for name, array in parameters.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert format_parameters(back, None) == data


def place_of_damage(data: bytes) -> str:
    try:
        parse_parameters(data)
    except ModelError as error:
        return str(error.where)
    return "byte none: the damage hit a value"


@given(st.integers(0, len(DATA) - 1), st.integers(0, 255))
def test_a_changed_byte_never_raises_anything_else(at: int, byte: int) -> None:
    damaged = DATA[:at] + bytes([byte]) + DATA[at + 1 :]
    assert place_of_damage(damaged).startswith("byte ")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "params.bin"
    write_parameters(path, SMALL)
    assert path.read_bytes() == DATA
    back = read_parameters(path)
    back["w"][0, 0, 0] = 99  # the arrays are the caller's own
    with pytest.raises(ModelError, match="cannot be read") as caught:
        read_parameters(tmp_path / "none.bin")
    assert caught.value.file == str(tmp_path / "none.bin")


def test_layout_and_byte_order_do_not_matter() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    for other in (np.asfortranarray(array), array.astype(">i4")):
        assert format_parameters({"a": other}) == format_parameters({"a": array})


REFUSED = [
    (np.zeros(2, np.float32), "element type float32"),
    (np.zeros(2, np.int64), "element type int64"),
    (np.zeros((), np.int8), "1 to 6 dimensions, not 0"),
    (np.zeros((2, 0), np.int8), "extent 0 of dimension 1"),
    (np.zeros((1,) * 7, np.int8), "1 to 6 dimensions, not 7"),
]


@pytest.mark.parametrize(("array", "rule"), REFUSED)
def test_arrays_that_the_format_cannot_hold(array: np.ndarray, rule: str) -> None:
    with pytest.raises(ModelError, match=rule) as caught:
        format_parameters({"a": array})
    assert caught.value.where == "parameter a"
