"""Pieces of C files: the comment at the top, declarations, heads, choices, broken to lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cvmgen.dtypes import INT8
from cvmgen.emit import interface
from cvmgen.emit.c_spelling import comment, indented
from cvmgen.emit.render import NOTICE
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.schedule.copies import is_vector
from cvmgen.spec.formula import Operator
from cvmgen.typing.choices import Variant

VECTOR_SETS = ("avx2", "avx512")  # the later ones have the instructions of the earlier ones


def file_header(program: i.Program, more: Sequence[str] = ()) -> str:
    """The comment at the top of a generated file: the formula, where it stands, the memory, and
    `more` sentences about that."""
    operator = program.operator
    formula = "\n".join(f"   {line}" if line else "" for line in formula_lines(operator))
    title = f"{operator.full_name}: {operator.doc}\n   {NOTICE} {operator.files}"
    if program.scratch:
        memory = f"Memory of int64 besides the tensors: {interface.scratch_text(program)}."
        memory = " ".join([memory, *more])
        title += "".join(f"\n   {line}" for line in textwrap.wrap(memory, 94))
    return comment(f"{title}\n\n{formula}")


def versions(body: tuple[i.Stmt, ...]) -> list[str]:
    """The macro for a function with loops for vector instructions, or copies of whole vectors."""
    sets = {each.vector for each in walk(body) if isinstance(each, i.Loop) and each.vector}
    sets |= {"avx2" for each in walk(body) if is_vector(each)}
    return [f"CVMGEN_FOR_{max(sets, key=VECTOR_SETS.index).upper()}"] if sets else []


def formula_lines(operator: Operator) -> list[str]:
    return [line.rstrip() for line in operator.text.splitlines()]


def type_tests(operator: Operator, variant: Variant, plan: str) -> tuple[str, ...]:
    """What must hold of a call whose element types are those of a variant; `plan` stands before
    members of the plan."""
    tests = []
    if variant.source is not None:
        tests.append("narrow" if variant.source == INT8 else "!narrow")
    if variant.stored is not None:
        tests.append("narrow_result" if variant.stored == INT8 else "!narrow_result")
    if variant.rows:
        names = interface.row_names(operator)
        text = " || ".join(f"{plan}types == {names[row]}" for row in variant.rows)
        tests.append(f"({text})" if tests and len(variant.rows) > 1 else text)
    return tuple(tests)


def typed_calls(tests: Sequence[Sequence[str]], calls: Sequence[list[str]]) -> list[str]:
    """The call for the element types at hand: the one whose tests hold, wrapped to lines."""
    if len(calls) == 1:
        return calls[0]
    lines: list[str] = []
    for at, (own, call) in enumerate(zip(tests, calls, strict=True)):
        word = "else if" if at else "if"
        test = " && ".join(still_open(own, tests[:at]))
        head = "else" if at == len(calls) - 1 else f"{word} ({test})"
        lines += (
            [head, *indented(call)]
            if fits_without_braces(call)
            else [f"{head} {{", *indented(call), "}"]
        )
    return joined_braces(lines)


def still_open(tests: Sequence[str], failed: Sequence[Sequence[str]]) -> Sequence[str]:
    """Those of some tests that must be made after others in front of them, each of several tests,
    have failed: `!a` need not be where `a` alone was left to fail."""
    for test in tests:
        others = [each for each in tests if each != test]
        opposite = test.removeprefix("!") if test.startswith("!") else f"!{test}"
        if any(opposite in each and {*each} <= {*others, opposite} for each in failed):
            return still_open(others, failed)
    return tests


def fits_without_braces(lines: Sequence[str]) -> bool:
    """Whether lines are one statement without braces."""
    return all(line.endswith(";") == (line is lines[-1]) for line in lines) and not any(
        line.endswith("{") or line.startswith("if (") for line in lines
    )


def joined_braces(lines: Sequence[str]) -> list[str]:
    """Lines with each `else` on the line of the brace in front of it."""
    found: list[str] = []
    for line in lines:
        if found and found[-1] == "}" and line.startswith("else"):
            found[-1] = f"}} {line}"
        else:
            found.append(line)
    return found


def wrapped_declarations(type_name: str, names: list[str]) -> list[str]:
    """Declarations of many names of a type, at most 96 columns wide."""
    lines: list[str] = []
    current = ""
    for name in names:
        longer = f"{current}, {name}" if current else f"{type_name} {name}"
        if current and len(longer) > 90:
            lines.append(f"{current};")
            longer = f"{type_name} {name}"
        current = longer
    return [*lines, f"{current};"] if current else lines


def signature(head: str, parameters: list[str]) -> list[str]:
    """A function head, one line or wrapped below the parenthesis."""
    return wrapped_list(head, parameters, ") {")


def wrapped_list(head: str, items: list[str], end: str, width: int = 96) -> list[str]:
    """Items between a head and an end, one line or wrapped below the first item."""
    single = f"{head}{', '.join(items)}{end}"
    if len(single) <= width:
        return [single]
    pad = " " * len(head)
    lines, current = [], head
    for at, item in enumerate(items):
        text = item + (", " if at < len(items) - 1 else end)
        if len(current) + len(text.rstrip()) > width and current.strip():
            lines.append(current.rstrip())
            current = pad
        current += text
    return [*lines, current.rstrip()]
