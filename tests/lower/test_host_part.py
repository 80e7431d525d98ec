"""The host part, lowered: what C and Python check of a call, and what is kept of it."""

import pytest

from cvmgen.driver import C_LIKE, COMMON, emitted, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.ir.verify import verify
from cvmgen.ir.visit import walk
from cvmgen.lower.host_part import lower_for_c, lower_for_python
from tests.specs import operator

OUTPUT = "output Y : cvm[N] precision 8\nY[i] = "
CASES = """
  attr   u : bool
  case u { let a = N + 1 output Y : cvm[a] precision 8 Y[i] = X[0] }
  case not u { output Y : cvm[N] precision 8 Y[i] = X[i] }
"""
ROWS = [
    (
        "input X : cvm[N, 3]\n" + OUTPUT + "X[i, 0]",
        [
            "check_input X",
            "check_rank X",
            "let N: int = extents(arguments().X)[0]",
            "check_extent X",
            "let Y_shape: list = (N)",
            "check_shape Y",
            "let Y_precision: int = 8",
            "keep N, Y_shape, Y_precision",
        ],
        "what is known of a shape is checked, the rest is bound; a precision of 8 is in range",
    ),
    (
        "input X : cvm[N]\nattr k = 1 in [0, N)\nlet unread = N + 1\n" + OUTPUT + "X[i] + k",
        [
            "check_input X",
            "check_rank X",
            "let N: int = extents(arguments().X)[0]",
            "let k: int = arguments().k",
            "if k < 0 or k >= N:",
            "  refuse k: 'must be in [0, N) (N)'",
            "let Y_shape: list = (N)",
            "check_shape Y",
            "let Y_precision: int = 8",
            "keep N, k, Y_shape, Y_precision",
        ],
        "an attribute is read, then tested; what nothing reads is not computed",
    ),
    (
        "input X : cvm[N]\n" + CASES,
        [
            "check_input X",
            "check_rank X",
            "let N: int = extents(arguments().X)[0]",
            "let u: bool = arguments().u != 0",
            "let @which_case: int = 0",
            "let a: int = 0",
            "let Y_shape: list = ()",
            "let Y_precision: int = 0",
            "if u:",
            "  a = N + 1",
            "  Y_shape = (a)",
            "  check_shape Y",
            "  Y_precision = 8",
            "else:",
            "  if not u:",
            "    Y_shape = (N)",
            "    check_shape Y",
            "    Y_precision = 8",
            "    @which_case = 1",
            "  else:",
            "    refuse : 'no case of the operator applies'",
            "keep N, a, @which_case, Y_shape, Y_precision",
        ],
        "names of cases are declared in front of them, and what none of them takes is refused",
    ),
]


@pytest.mark.parametrize(("items", "expected", "why"), ROWS, ids=[why for *_, why in ROWS])
def test_host_part(items: str, expected: list[str], why: str) -> None:
    program = lower_for_c(lower(operator(f'"Test."\n{items}'), C_LIKE))
    verify(program, ["host"])
    assert block_lines(program.prepare) == expected, why


def test_nothing_is_left_to_expand() -> None:
    items = (
        '"Test."\ninput X : cvm[N]\ninput B : cvm[N] optional\nattr w = 1 in [0, 9) or {"all"}\n'
    )
    items += OUTPUT + "X[i] + (B[i] if present(B) else w)"
    left = (i.TakeInput, i.TakeAttribute, i.SetOutput, i.Require, i.Cases)
    for lowered in (
        lower_for_c(lower(operator(items), C_LIKE)),
        lower_for_python(lower(operator(items), COMMON)),
    ):
        assert not any(isinstance(each, left) for each in walk(lowered.prepare))


def test_names_of_formulas_are_not_ours() -> None:
    """A formula may call something as the host part calls its own."""
    items = '"Test."\ninput X : cvm[at]\nattr axes : int list = () in [0, at)\n'
    items += "let which_case = at + len(axes)\noutput Y : cvm[at] precision 32\n"
    items += "Y[i] = X[i] + which_case"
    assert "axes.at[at_2] >= at" in emitted("c", operator(items))
    assert "which_case_ = at + len(axes)" in emitted("python", operator(items))
