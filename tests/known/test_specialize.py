"""Programs for one call: list arithmetic is worked out, ranks are known, nests are plain."""

from __future__ import annotations

from itertools import count

import pytest

from cvmgen import driver
from cvmgen.errors import InternalError
from cvmgen.ir.text import statement_lines
from cvmgen.known.constant_loops import plain_loops
from cvmgen.known.specialize import CallTensor, KnownCall, Plain, Specialized, specialize
from cvmgen.spec.formula import Operator

Shapes = list[list[tuple[int, ...]]]


def made(operator: Operator, shapes: Shapes, **attributes: Plain) -> Specialized:
    """The operator for inputs of 8 bits named X0, X1 ... (Y1_0 for those of a second input)."""
    inputs = [
        [CallTensor(f"{'XYZ'[at]}{number}", shape, 8) for number, shape in enumerate(each)]
        for at, each in enumerate(shapes)
    ]
    outputs = {name: f"{name}_out" for name in operator.output_names}
    program = driver.lower(operator, driver.STATEMENTS)
    return specialize(program, KnownCall(inputs, attributes, outputs), "list", count(1))


def text(found: Specialized) -> str:
    """The nests without the numbers of their names, each statement on a line."""
    lines = []
    for nest in found.nests:
        for statement in plain_loops(nest.body):
            lines += statement_lines(statement)
    words = " | ".join(line.strip() for line in lines).replace(".", "_")
    return "".join(words)


ROWS: list[tuple[str, Shapes, dict[str, Plain], tuple[tuple[int, ...], int], list[str]]] = [
    (
        "broadcast_mul",
        [[(1, 4, 5)], [(4, 1)]],
        {},
        ((1, 4, 5), 16),
        ["X0[0, d1_1, d2_2] * Y0[d1_1, 0]"],
    ),
    (
        "clip",
        [[(3,)]],
        {"a_min": -3, "a_max": 7},
        ((3,), 5),
        ["min(max(-3, x_2), 7)"],
    ),
    (
        "concatenate",
        [[(2, 3), (2, 1)]],
        {"axis": 1},
        ((2, 4), 8),
        ["Y_out[d0_1, d1_2] = X0[d0_1, d1_2]", "Y_out[d0_3, 3] = X1[d0_3, 0]"],
    ),
    (
        "sum",
        [[(2, 3, 4)]],
        {"axes": (0, 2)},
        ((3,), 12),
        ["total_2 += X0[d0_3, d1_1, d2_4]", "Y_out[d1_1] = total_2"],
    ),
    ("batch_flatten", [[(2, 3, 4)]], {}, ((2, 12), 8), ["Y_out[i_1, 4 * j_2_1 + j_2_0]"]),
    ("upsampling", [[(1, 1, 2, 1)]], {"scale": 2}, ((1, 1, 4, 2), 8), ["= X0[0, 0, h_1_1, 0]"]),
    (
        "slice",
        [[(5, 4)]],
        {"begin": (4,), "end": (0,), "strides": (-2,)},
        ((2, 4), 8),
        ["X0[4 - 2 * d0_1, d1_2]"],
    ),
    ("tile", [[(2,)]], {"reps": (3,)}, ((6,), 8), ["Y_out[2 * k0_1_1 + k0_1_0] = X0[k0_1_0]"]),
    ("take", [[(6,)], [(2,)]], {"axis": None}, ((2,), 8), ["X0[max(0, min(Y0[d0_1], 5))]"]),
    (
        "conv2d",
        [[(1, 4, 3, 3)], [(6, 2, 1, 1)], []],
        {"groups": 2},
        ((1, 6, 3, 3), 18),
        ["X0[0, 2 * oc_1_1 + ic_5, y_2, x_3] * Y0[3 * oc_1_1 + oc_1_0, ic_5, 0, 0]"],
    ),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "output", "parts"), ROWS)
def test_nests(
    formulas: dict[str, Operator],
    name: str,
    shapes: Shapes,
    attributes: dict[str, Plain],
    output: tuple[tuple[int, ...], int],
    parts: list[str],
) -> None:
    found = made(formulas[f"cvm.{name}"], shapes, **attributes)
    assert next(iter(found.outputs.values())) == output
    for part in parts:
        assert part in text(found)


def test_a_total_of_one_term_is_a_value(formulas: dict[str, Operator]) -> None:
    found = made(formulas["cvm.conv2d"], [[(1, 5, 2, 2)], [(5, 1, 1, 1)], [(5,)]], groups=5)
    assert "let total_4: int = X0[0, oc_1, y_2, x_3] * Y0[oc_1, 0, 0, 0]" in text(found)


def test_memory_of_lists(formulas: dict[str, Operator]) -> None:
    found = made(formulas["cvm.get_valid_count"], [[(2, 7, 6)]], score_threshold=3)
    shapes = {name: each.shape for name, each in found.memory.items()}
    assert shapes == {"list_V": (2, 7), "list_V_length": (2,)}
    assert [nest.tensor for nest in found.nests] == ["list_V", "valid_count_out", "Y_out"]


def test_a_call_that_is_refused(formulas: dict[str, Operator]) -> None:
    with pytest.raises(InternalError, match="the shapes do not broadcast"):
        made(formulas["cvm.broadcast_add"], [[(2,)], [(3,)]])
