"""The C target: used from C and C++, given wrong pointers."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.build import c_compiler, cpp_compiler
from cvmgen.emit.c_support import HEADERS
from cvmgen.errors import BuildError, OperatorError
from cvmgen.spec import formula as f
from tests.conformance.calls import Call
from tests.conformance.random_calls import DRAW, call
from tests.emit.raw import Raw
from tests.operators import sampled
from tests.targets import quickly, whole

HERE = Path(__file__).resolve().parent
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


# ---------------------------------------------------------------- C and C++ programs

PRINTED = """\
defaults: padding 0 0 stride 1 1 dilation 1 1 groups 1
Y (1, 1, 4, 4) precision 11: 99 98 97 100 96 96 96 103 93 96 96 106 100 107 108 109
1 cvm.conv2d | groups | 2 | must be in [1, C] (C = 1)
1 cvm.conv2d | X | 16 at (0, 0, 1, 1) | precision 5 holds [-15, 15]
Y (2, 2) precision 4: 1 -2 3 -4
1 cvmgen_from_dlpack | strides | 2 | the tensor must be row-major without gaps
1 cvmgen_from_dlpack | dtype | code 1 of 32 bits | {types}
1 cvmgen_from_dlpack | dtype | code 5 of 64 bits | {types}
1 cvmgen_from_dlpack | ndim | 17 | this tensor has 0 to 16 dimensions
1 cvmgen_from_dlpack | device_type | 2 | the tensor must be in host memory
rank 0, rank 2 of extents 2 0
"""
TYPES = (
    "elements must be bool, int8, uint8, int16, uint16, int32, int64, float16, bfloat16, float32"
    " or float64"
)


def test_a_program_in_c(generated: Path, tmp_path: Path) -> None:
    library = whole(generated)
    expected = PRINTED.format(types=TYPES)
    assert printed_by(HERE / "use_from_c.c", generated, library, tmp_path) == expected


WORDS_PRINTED = """\
0
10
10
 | padding = "same", KH = 2, KW = 2 | same padding needs a middle
1 3 2 4 10 6 3 7 4
padding | word 4 | a tuple of integers, "valid", "same" or "full" is needed
1
1 0
"""


def test_words_in_c(extra_generated: Path, tmp_path: Path) -> None:
    library = quickly(extra_generated, "c")
    assert library is not None
    assert printed_by(HERE / "words_from_c.c", extra_generated, library, tmp_path) == WORDS_PRINTED


BOUND_PRINTED = """\
1 | X | its data are missing
0: 0 wrong
0: 0 wrong
0: 0 wrong
1 | W | shape (40, 3) | 1
"""


def test_a_bound_call_in_c(generated: Path, tmp_path: Path) -> None:
    library = whole(generated)
    assert printed_by(HERE / "bind_from_c.c", generated, library, tmp_path) == BOUND_PRINTED


CPP_PRINTED = """\
2 dimensions, 2 of 2, precision 18
11 17
1
1
10
1 2
cvmgen::tensor: more elements than the memory holds
cvmgen::tensor: more elements than the memory holds
cvmgen::tensor: more elements than the memory holds
cvmgen::list: at most 16 entries
tosa.reduce_sum: keep_dims = 7: must be in [0, 1]
cvm.dense: W: this input is missing
cvm.dense: W: this input is missing
"""


def test_a_program_in_c_plus_plus(generated: Path, tmp_path: Path) -> None:
    try:
        compiler = cpp_compiler().command
    except BuildError as error:
        pytest.skip(str(error))
    library, program = whole(generated), tmp_path / "program"
    build = (*compiler, "-std=c++17", *WARNINGS, "-I", generated / "c", HERE / "use_from_cpp.cc")
    subprocess.run([*build, library, f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    assert done.stdout == CPP_PRINTED


def printed_by(source: Path, folder: Path, library: Path, build_folder: Path) -> str:
    """What a C program prints that is linked with the operators of a generated folder."""
    program = build_folder / "program"
    build = (*c_compiler().command, "-std=c11", *WARNINGS, "-I", folder / "c")
    link = (source, library, f"-Wl,-rpath,{library.parent}", "-o", program)
    subprocess.run([*build, *link], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def test_the_headers_are_c_plus_plus_too(generated: Path, tmp_path: Path) -> None:
    command = (*c_compiler().command, "-x", "c++", "-std=c++17", "-fsyntax-only", *WARNINGS)
    empty, user = tmp_path / "empty.cc", tmp_path / "user.cc"
    empty.write_text("int main() { return 0; }\n")
    if subprocess.run([*command, empty], capture_output=True, check=False).returncode:
        pytest.skip("the C compiler does not compile C++")
    user.write_text(
        '#include "cvm.h"\n'
        "int use(const cvm_conv2d_args *args, cvmgen_error *error) {\n"
        "    cvm_conv2d_args own;\n"
        "    cvm_conv2d_defaults(&own);\n"
        "    return cvm_conv2d_infer(args, error) || cvm_conv2d(&own, error);\n"
        "}\n"
    )
    subprocess.run([*command, "-I", generated / "c", user], check=True)


def test_each_header_stands_alone(generated: Path, tmp_path: Path) -> None:
    for header in (*HEADERS, "cvm.h", "cvm/relu.h"):
        user = tmp_path / "user.c"
        user.write_text(f'#include "{header}"\n#include "{header}"\nint unused;\n')
        flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", generated / "c")
        subprocess.run([*c_compiler().command, *flags, user], check=True)


# ---------------------------------------------------------------- pointers


def accepted(operators: Operators, name: str) -> Call:
    """A call that gives every input and is accepted; all tensors have elements."""
    random = Random(f"pointers {name}")
    while True:
        drawn = call(name, random)
        if any(each is None for each in drawn.inputs):
            continue
        try:
            result = operators[name](*drawn.inputs, **drawn.attributes)
        except OperatorError:
            continue
        if not any(map(is_empty, (*drawn.inputs, result))):
            return drawn


def is_empty(operand: Any) -> bool:
    """Whether an array has no elements, or one of several."""
    return any(each.size == 0 for each in (operand if isinstance(operand, Sequence) else [operand]))


@pytest.mark.parametrize("name", sampled(DRAW))
def test_missing_pointers(
    libraries: dict[str, Operators], formulas: dict[str, f.Operator], name: str
) -> None:
    drawn = accepted(libraries["c"], name)
    formula = formulas[name]

    def spoilt() -> Raw:
        raw = Raw(libraries["c"][name], drawn)
        assert raw.run()[0] == 0
        return raw

    for item in formula.inputs:
        if item.variadic:
            continue
        raw = spoilt()
        getattr(raw.args, item.name).contents.data = None
        assert raw.run() == (1, item.name, "its data are missing")
        raw = spoilt()
        setattr(raw.args, item.name, None)
        assert raw.run() == (
            (0, "", "") if item.optional else (1, item.name, "this input is missing")
        )
    for output in formula.output_names:
        raw = spoilt()
        getattr(raw.args, output).contents.data = None
        assert raw.run() == (1, output, "its data are missing")
        raw = spoilt()
        setattr(raw.args, output, None)
        assert raw.run() == (1, output, "this output is missing")
        assert raw.infer(ctypes.byref(raw.args), None) == 0


def test_missing_tensors_of_a_list(libraries: dict[str, Operators]) -> None:
    operator = libraries["c"].cvm.concatenate
    X = np.ones((2, 3), np.int32)
    drawn = Call("cvm.concatenate", ([X, X.astype(np.int8)],), {"axis": 0})
    spoil = {
        (1, "I[1]", "this input is missing"): lambda args: args.I.__setitem__(1, None),
        (1, "I", "at least one input is needed"): lambda args: setattr(args, "I_count", 0),
        (1, "I", "at most 64 inputs"): lambda args: setattr(args, "I_count", 65),
    }
    for expected, change in spoil.items():
        raw = Raw(operator, drawn)
        assert raw.run()[0] == 0
        change(raw.args)
        assert raw.run() == expected
    raw = Raw(operator, drawn)
    raw.args.I = None
    assert raw.run() == (1, "I", "this input is missing")
    raw = Raw(operator, drawn)
    raw.args.I_count = -1
    assert raw.run()[0] == 1
    raw = Raw(operator, drawn)
    raw.args.I[1].contents.data = None
    assert raw.run()[0] == 1


# What is written into the structure of an input X or of the output Y, and the refusal.
WRONG = [
    ("X", {"rank": 0}, "a tensor has 1 to 16 dimensions"),
    ("X", {"rank": -1}, "a tensor has 1 to 16 dimensions"),
    ("X", {"rank": 17}, "a tensor has 1 to 16 dimensions"),
    ("X", {"rank": 2**31 - 1}, "a tensor has 1 to 16 dimensions"),
    ("X", {"dtype": 0}, "elements must be int8 or int32"),
    ("X", {"dtype": 77}, "elements must be int8 or int32"),
    ("X", {"precision": 33}, "a precision is in [1, 32]"),
    ("X", {"precision": -1}, "a precision is in [1, 32]"),
    ("X", {"extent": 0}, "every extent must be at least 1"),
    ("X", {"extent": -(2**63)}, "every extent must be at least 1"),
    ("X", {"extent": 2**40}, "a tensor has less than 2^40 elements"),
    ("X", {"extent": 2**63 - 1}, "a tensor has less than 2^40 elements"),
    ("X", {"extent": 3}, "the shape must be (3,)"),
    ("X", {"shift": 1}, "its data are not aligned to its element type"),
    ("Y", {"rank": 0}, "the shape must be (4,)"),
    ("Y", {"rank": 17}, "this tensor has 0 to 16 dimensions"),
    ("Y", {"rank": 2}, "the shape must be (4,)"),
    ("Y", {"extent": 5}, "the shape must be (4,)"),
    ("Y", {"dtype": 0}, "elements must be int8 or int32"),
    ("Y", {"dtype": 1}, "int8 does not hold precision 11"),
    ("Y", {"shift": 2}, "its data are not aligned to its element type"),
]


@pytest.mark.parametrize("undeclared", [False, True])
@pytest.mark.parametrize(("name", "fields", "rule"), WRONG, ids=lambda each: None)
def test_wrong_structures(
    libraries: dict[str, Operators], name: str, fields: dict[str, int], rule: str, undeclared: bool
) -> None:
    X = np.array([1000, -2, 3, -4], np.int32)
    raw = Raw(libraries["c"].cvm.negative, Call("cvm.negative", (X,)))
    if undeclared:
        raw.args.X.contents.precision = 0
    assert raw.run()[0] == 0
    tensor = getattr(raw.args, name).contents
    for field, value in fields.items():
        if field == "extent":
            tensor.extents[0] = value
        elif field == "shift":
            tensor.data += value
        else:
            setattr(tensor, field, value)
    argument = "Y" if rule == "the shape must be (3,)" else name
    assert raw.run() == (1, argument, rule)


# Operator, inputs, and which of these and of the outputs have elements.
NO_ELEMENTS = [
    ("extra.indices_of", [(2, 0)], []),
    ("extra.indices_of", [()], ["X"]),
    ("extra.total", [(0, 3)], ["Y"]),
    ("extra.axis_sums", [(3, 0, 2)], []),
    ("extra.row_tests", [(3, 0)], ["Y", "number"]),
    ("extra.largest_first", [(0, 4)], []),
    ("extra.turned_round", [(4, 0, 3)], []),
    ("extra.stretched", [(2, 0)], []),
    ("extra.shifted", [(2, 0), (2, 0)], []),
]


@pytest.mark.parametrize("undeclared", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize(("name", "shapes", "full"), NO_ELEMENTS, ids=lambda each: None)
def test_tensors_without_elements_need_no_data(
    libraries: dict[str, Operators],
    formulas: dict[str, f.Operator],
    name: str,
    shapes: list[tuple[int, ...]],
    full: list[str],
    dtype: Any,
    undeclared: bool,
) -> None:
    formula = formulas[name]
    inputs = [np.ones(shape, dtype) for shape in shapes]
    inputs += [None] * (len(formula.inputs) - len(inputs))
    attributes = {"times": 2} if name == "extra.stretched" else {}
    raw = Raw(libraries["c"][name], Call(name, tuple(inputs), attributes))
    names = [
        item.name for item, each in zip(formula.inputs, inputs, strict=True) if each is not None
    ]
    for tensor in (*names, *formula.output_names):
        if tensor not in full:
            getattr(raw.args, tensor).contents.data = None
    if undeclared:
        raw.args.X.contents.precision = 0
    for check_values in (0, 1):
        raw.args.check_values = check_values
        assert raw.run() == (0, "", "")


def test_an_empty_input_is_given(libraries: dict[str, Operators]) -> None:
    """Its data may be NULL, and so may the place of one that is not given."""
    operator = libraries["c"].extra.weighted_rows
    X, W = np.full((2, 1), 5, np.int32), np.ones((2, 0), np.int32)
    for Z, expected in ((None, [[5], [5]]), (W, [[4], [4]])):
        raw = Raw(operator, Call("extra.weighted_rows", (X, W, Z)))
        if Z is not None:
            raw.args.Z.contents.data = None
        assert raw.run() == (0, "", "")
        assert raw.kept[-1].tolist() == expected


# What is written into the structure of an input X of extra.total, and the refusal.
WRONG_EMPTY = [
    ({"rank": -1}, "this tensor has 0 to 16 dimensions"),
    ({"rank": 17}, "this tensor has 0 to 16 dimensions"),
    ({"extent": -1}, "no extent may be negative"),
    ({"extent": -(2**63)}, "no extent may be negative"),
    ({"extent": 2**40}, "a tensor has less than 2^40 elements"),
]


@pytest.mark.parametrize(("fields", "rule"), WRONG_EMPTY, ids=lambda each: None)
def test_wrong_structures_that_may_be_empty(
    libraries: dict[str, Operators], fields: dict[str, int], rule: str
) -> None:
    raw = Raw(libraries["c"].extra.total, Call("extra.total", (np.zeros((3, 0), np.int32),)))
    assert raw.run()[0] == 0
    tensor = raw.args.X.contents
    tensor.rank = fields.get("rank", 2)
    tensor.extents[0] = fields.get("extent", 3)
    assert raw.run() == (1, "X", rule)


def test_shared_memory_seen_from_c(libraries: dict[str, Operators]) -> None:
    X = np.array([1, -2, 3, -4], np.int32)
    raw = Raw(libraries["c"].cvm.negative, Call("cvm.negative", (X,)))
    for shift, status in ((-16, 0), (-15, 1), (0, 1), (15, 1), (16, 0)):
        memory = np.zeros(12, np.int32)
        raw.args.X.contents.data = memory.ctypes.data + 16
        raw.args.Y.contents.data = memory.ctypes.data + 16 + shift
        if shift % 4 == 0:
            assert raw.run()[0] == status


def test_undeclared_precisions_are_measured_in_c(libraries: dict[str, Operators]) -> None:
    X = np.array([[1000, -2], [3, -2048]], np.int32)
    raw = Raw(libraries["c"].cvm.negative, Call("cvm.negative", (X,)))
    raw.args.X.contents.precision = 0
    assert raw.infer(ctypes.byref(raw.args), None) == 0
    assert raw.args.Y.contents.precision == 13
    X[1, 1] = -(2**31)
    assert raw.run() == (1, "X", "no precision up to 32 holds this value")
