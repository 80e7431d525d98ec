"""Formulas printed from their nodes are read as the same formulas."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from cvmgen.source import Source
from cvmgen.spec import nodes as n
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator
from cvmgen.spec.printing import real_text
from tests.operators import EXTRA, ROOT, extra, product, sampled
from tests.spec.printed import print_expression, print_operator

OPERATORS = {each.full_name: each for each in (*product(), *extra())}


@pytest.mark.parametrize("name", sampled(OPERATORS))
def test_every_operator_is_read_as_it_was(name: str) -> None:
    operator = OPERATORS[name]
    again = read_again(operator)
    assert meaning(again) == meaning(operator)
    assert print_operator(again) == print_operator(operator)


def read_again(operator: Operator) -> Operator:
    """The operator checked from its printed text, with the definitions of its opset around it."""
    macros = [item.span.text for item in operator.items if item.span.text.startswith("def ")]
    files = read_folder(ROOT / "spec")
    shared = [file for file in files if not file.opset]
    lines = [each for file in files for each in file.source.text.splitlines()]
    constants = {each for each in lines if each.startswith("const ")}
    known = {item for file in shared for item in file.source.text.splitlines()}
    own = "\n".join(each for each in (*sorted(constants), *macros) if each not in known)
    text = f"{own}\n{print_operator(operator)}"
    (again,) = check_files([*shared, SpecFile(Source("printed", text), operator.opset)])
    return again


def meaning(operator: Operator) -> Operator:
    """Without what is the text of the operator rather than its meaning."""
    return replace(operator, text="", holes=(), items=n.rebuild(operator.items, signed))


def signed(node: Any) -> Any:
    """A constant with a sign before it is printed as the negative number."""
    if isinstance(node, n.Negate) and isinstance(node.operand, n.Number):
        return replace(node.operand, value=-node.operand.value)
    return node


TYPES = (
    ("type   T in int8, float32", "one line"),
    ("type   T in int8, int16\n  type   S in float32, float64", "each by itself"),
    ("type   T, S in (int8, int32), (int16, int32), (int16, int64)", "chosen together"),
)


@pytest.mark.parametrize(("text", "why"), TYPES)
def test_types_that_are_chosen_together_stay_together(text: str, why: str) -> None:
    other = "S" if "S" in text else "T"
    operands = f"input  A : T[N]\n  input  B : {other}[N]\n  output Y : T[N]"
    source = f'operator f {{\n  ""\n  {text}\n  {operands}\n  Y[i] = A[i]\n}}\n'
    (operator,) = check_files([SpecFile(Source("typed", source), "toy")])
    assert print_operator(operator) == source, why


EXPRESSIONS = (
    ("a - (b - c)", "a - (b - c)", "signs of one level bind to the left"),
    ("(a - b) - c", "a - b - c", "and need no parentheses there"),
    ("a div (b * c)", "a div (b*c)", "so do products"),
    ("-(a + b)", "-(a + b)", "a sign takes a factor"),
    ("-a * b", "-a*b", "the sign belongs to the factor, not to the product"),
    ("(-1)^a", "(-1)^a", "the power binds tighter than a sign"),
    ("-(2^a)", "-2^a", "the sign in front of a power is outside it"),
    ("2^-a", "2^-a", "a power takes a factor on its right"),
    ("(a^b)^c", "(a^b)^c", "a power of a power keeps its parentheses"),
    ("a mod b * c", "(a mod b)*c", "products are read from the left"),
    ("a if b > 0 else (c if a > 0 else b)", "a if b > 0 else c if a > 0 else b", "to the right"),
    ("(a if b > 0 else c) + 1", "(a if b > 0 else c) + 1", "a choice inside a sum"),
    ("(1 if not (a < b and b < c or a == c) else 0)", None, "conditions by their levels"),
    ("(1 if 0 <= a < b and not a == c else 0)", None, "chains are one comparison"),
    ("sum[i < a if i != b](i * c) + 1", None, "reductions are atoms"),
    ("count[b <= i < c](i in {0 - j for j < 3})", None, "sets and their members"),
    ("size((i for i < 3)) + len((a,)) + len(())", None, "lists of any length"),
    ("flatten_index((a, b)..., (b, c)...)", None, "packs keep their dots"),
    ("floor(log2(a)) + ceil(log2(b))", None, "the two logarithms"),
)
TEMPLATE = """operator f {{
  "One expression."
  input  X : cvm[a, b, c]
  let    v = {expression}
  output Y : cvm[a] precision 1
  Y[i] = 0 * v
}}
"""


@pytest.mark.parametrize(("written", "printed", "why"), EXPRESSIONS)
def test_parentheses_stand_where_they_must(written: str, printed: str | None, why: str) -> None:
    first = value_of(written)
    text = print_expression(first)
    if printed is not None:
        assert text == printed, why
    assert value_of(text) == first, why


LONG = """operator f {
  "A long sum that begins with a choice."
  input  first : cvm[a]
  input  second : cvm[a]
  output Y : cvm[a] precision 9
  Y[i] = (first[i]*second[i]*first[i] if i < 1000000 else second[i]*first[i]*second[i])
         + (second[i] if i < 2000000 else first[i]*second[i])
}
"""


def test_a_choice_at_the_start_of_a_long_sum_keeps_its_parentheses() -> None:
    (operator,) = check_files([SpecFile(Source("long", LONG), "")])
    assert print_operator(operator) == LONG


@pytest.mark.parametrize("value", [0.1, 1e-300, 1e22, 2.0**53, inf])
def test_real_numbers_are_printed_exactly(value: float) -> None:
    text = real_text(value)
    assert float(text) == value
    assert len(text) <= 24


def value_of(expression: str) -> object:
    source = Source("printed", TEMPLATE.format(expression=expression))
    (operator,) = check_files([SpecFile(source, "")])
    (value,) = (item.value for item in operator.items if type(item).__name__ == "Let")
    return value


def test_the_extra_operators_are_among_them() -> None:
    assert EXTRA.is_dir()
    assert any(name.startswith("extra.") for name in OPERATORS)
