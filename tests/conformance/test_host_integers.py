"""Integers of the call at the edges of 64 bits: one value, or one refusal, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.targets import TARGETS, load_own

MOST, LEAST = 2**31 - 1, -(2**31)
HEAD = "input X : cvm[N]\nattr a = 0\nattr b = 0\nattr L : int list = ()\n"
OUTPUT = "output Y : cvm[N] precision 32\n"
ENDS = "must be from -2^62 to 2^62"

# What stands behind the head, a call's attributes for X = [1, 2], and what becomes of it.
ROWS: dict[str, tuple[str, list[tuple[dict[str, Any], list[int] | str]]]] = {
    "a product of attributes": (
        f"let V = a*a*b\n{OUTPUT}Y[i] = X[i] + V div 2^60",
        [
            ({"a": MOST, "b": MOST}, f"V {ENDS} (a = {MOST}, b = {MOST})"),
            ({"a": MOST, "b": LEAST}, f"V {ENDS} (a = {MOST}, b = {LEAST})"),
            ({"a": LEAST, "b": 1}, [5, 6]),  # 2^62 itself
            ({"a": LEAST, "b": -1}, [-3, -2]),
        ],
    ),
    "a place far outside": (
        f"attr c = 1 in [-2^40, 2^40)\nattr d = 1 in [-2^40, 2^40)\n{OUTPUT}"
        "Y[i] = X[i + c*d] if 0 <= i + c*d < N else 7",
        [({"c": 2**32, "d": 2**32}, [7, 7]), ({"c": 0, "d": 2**39}, [1, 2])],
    ),
    "0 times what is beyond": (
        f"let V = a^5 * b\n{OUTPUT}Y[i] = X[i] + V",
        [({"a": MOST, "b": 0}, [1, 2]), ({"a": MOST, "b": 1}, f"V {ENDS} (a = {MOST}, b = 1)")],
    ),
    "lets of lets": (
        f"let V = a*b\nlet W = V*V\nlet U = W - V\n{OUTPUT}Y[i] = X[i] + U mod 7",
        [
            ({"a": MOST, "b": MOST}, f"W {ENDS} (V = {MOST * MOST})"),
            ({"a": 3, "b": 5}, [1, 2]),
        ],
    ),
    "entries of a list": (
        f"let V = (a*a, a*a*b)\n{OUTPUT}Y[i] = X[i] + V[1] mod 7",
        [
            ({"a": MOST, "b": 5}, f"the entries of V {ENDS} (a = {MOST}, b = 5)"),
            ({"a": 2, "b": 2}, [2, 3]),
        ],
    ),
    "a sum over a list": (
        f"let V = sum[k in L](k^4)\n{OUTPUT}Y[i] = X[i] + V",
        [({"L": (1, -2)}, [18, 19]), ({"L": (LEAST, 3)}, f"V {ENDS} (L = ({LEAST}, 3))")],
    ),
    "a set": (
        f"let V = {{k*k*a for k < N + b}}\n{OUTPUT}Y[i] = X[i] + count(V)",
        [
            ({"a": 1, "b": 0}, [3, 4]),
            (
                {"a": 1, "b": 20},
                "V has at most 16 entries, from -2^62 to 2^62 (a = 1, N = 2, b = 20)",
            ),
            ({"a": MOST, "b": 1}, [4, 5]),
        ],
    ),
    "a product of a list": (
        f'let V = size(L)\nrequire V != 5 : "not 5"\n{OUTPUT}Y[i] = X[i] + V',
        [
            ({"L": (2**30, 2**30, 2**4)}, f"V {ENDS} (L = (1073741824, 1073741824, 16))"),
            ({"L": (2**30, 2**30, 2**30, 0)}, [1, 2]),
            ({"L": (5,)}, "not 5 (V = 5)"),
        ],
    ),
    "a list that has far more elements": (
        f'require size(L) == 3 : "three"\n{OUTPUT}Y[i] = X[i]',
        # 2^65 + 3 in all, which is 3 modulo 2^64
        [({"L": (5, 7, 11239, 88801, 1056175639)}, "three (L = (5, 7, 11239, 88801, 1056175639))")],
    ),
    "an extent": (
        "output Y : cvm[a*a*a] precision 8\nY[i] = X[i mod N]",
        [
            ({"a": MOST}, "shape (more than 2^62,): a tensor has less than 2^40 elements"),
            ({"a": LEAST}, "shape (less than -2^62,): the result would be empty"),
        ],
    ),
    "a precision": (
        "output Y : cvm[N] precision a*a + b\nY[i] = X[i]",
        [
            ({"a": 8, "b": 1}, "Y = precision 65 (a = 8, b = 1)"),
            ({"a": MOST, "b": 0}, f"Y = precision {MOST * MOST} (a = {MOST}, b = 0)"),
            ({"a": 2, "b": 4}, [1, 2]),
        ],
    ),
    "a precision of a shape that is refused": (
        "output Y : cvm[a] precision 8 + 8 div a\nY[i] = X[i mod N]",
        [({"a": 0}, "Y = shape (0,): the result would be empty"), ({"a": 2}, [1, 2])],
    ),
    "a sum behind a condition": (
        f"{OUTPUT}Y[i] = sum[k < N](ceildiv(k, a)) if a != 0 else X[i]",
        [({"a": 0}, [1, 2]), ({"a": 1}, [1, 1])],
    ),
    "a sum that no element asks for": (
        f"{OUTPUT}Y[i] = sum[k < N](k div b) if X[i] > 7 else X[i]",
        [({"b": 0}, [1, 2])],
    ),
    "a sum of entries that are not there": (
        f"{OUTPUT}Y[i] = sum[k < 3](L[a]) if i == 7 else X[i]",
        [({"a": 10**6}, [1, 2])],
    ),
    "an entry that no element asks for": (
        f"{OUTPUT}Y[i] = L[b] if X[i] > 7 else X[i]",
        [({"b": 10**6}, [1, 2]), ({"b": -1, "L": (5,)}, [1, 2])],
    ),
    "the greatest of nothing, which no element asks for": (
        f"{OUTPUT}Y[i] = max[k < b](k) if i == 7 else X[i]",
        [({"b": 0}, [1, 2]), ({"b": -1}, [1, 2])],
    ),
    "a sum of wide terms": (
        f"{OUTPUT}Y[i] = X[i] + sum[k < 5](a*a) mod 10",
        [({"a": MOST}, [6, 7]), ({"a": 1}, [6, 7])],
    ),
    "a number of the call beside elements": (
        f"{OUTPUT}Y[i] = a*a if b > 0 else X[i]",
        [({"a": MOST, "b": 1}, [1, 1]), ({"a": MOST, "b": 0}, [1, 2])],
    ),
}


@pytest.fixture(scope="module")
def operators() -> dict[str, Operator]:
    blocks = [
        f'operator o{at} {{\n"{name}"\n{HEAD}{body}\n}}\n'
        for at, (name, (body, _)) in enumerate(ROWS.items())
    ]
    found = check_files([SpecFile(Source("z.cvm", "".join(blocks)), "z")])
    return dict(zip(ROWS, found, strict=True))


@pytest.fixture(scope="module")
def loaded(
    operators: dict[str, Operator], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Operators]:
    return load_own(tuple(operators.values()), tmp_path_factory.mktemp("integers"))


@pytest.mark.parametrize("name", ROWS)
def test_the_reference(operators: dict[str, Operator], name: str) -> None:
    for attributes, wanted in ROWS[name][1]:
        try:
            result = Reference(operators[name]).evaluate({"X": Tensor.of([1, 2])}, attributes)
            values = result.outputs["Y"].values
            found: Any = [(value + 2**31) % 2**32 - 2**31 for value in values]
        except OperatorError as error:
            found = refusal(error, wanted)
        assert found == wanted, attributes


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ROWS)
def test_every_target(
    operators: dict[str, Operator], loaded: dict[str, Operators], name: str, target: str
) -> None:
    call = loaded[target][operators[name].full_name]
    for attributes, wanted in ROWS[name][1]:
        try:
            found: Any = call(np.array([1, 2], np.int32), **attributes).tolist()
        except OperatorError as error:
            found = refusal(error, wanted)
        assert found == wanted, attributes


def refusal(error: OperatorError, wanted: list[int] | str) -> str:
    """The text that is wanted where the refusal has it."""
    return wanted if isinstance(wanted, str) and wanted in str(error) else str(error)
