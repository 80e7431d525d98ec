"""Pieces of C files: the comment at the top, declarations, heads, broken to lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cvmgen.emit import interface
from cvmgen.emit.c_spelling import comment
from cvmgen.emit.lines import WIDTH
from cvmgen.emit.render import NOTICE
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.schedule.copies import is_vector
from cvmgen.spec.formula import Operator

VECTOR_SETS = ("avx2", "avx512")  # the later ones have the instructions of the earlier ones


def file_header(program: i.Program, more: Sequence[str] = ()) -> str:
    """The comment at the top of a generated file: the formula, where it stands, the memory, and
    `more` sentences about that."""
    operator = program.operator
    formula = "\n".join(f"   {line}" if line else "" for line in formula_lines(operator))
    said = textwrap.wrap(f"{operator.full_name}: {operator.doc}", 97)
    title = "\n   ".join((*said, f"{NOTICE} {operator.files}"))
    if program.scratch:
        kind = "Memory" if program.lets else "Memory of int64"
        memory = f"{kind} besides the tensors: {interface.scratch_text(program)}."
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
    """Items between a head and an end, one line or wrapped below the first item; below the head
    where one would not fit there."""
    single = f"{head}{', '.join(items)}{end}"
    if len(single) <= width:
        return [single]
    pad = " " * len(head)
    indent = len(head) - len(head.lstrip())
    widest = max(map(len, (*items[:-1], "".join((*items[-1:], end)))))
    if head.strip() and len(pad) + widest > WIDTH:
        return [head.rstrip(), *wrapped_list(" " * (indent + 4), items, end, width)]
    lines, current = [], head
    for at, item in enumerate(items):
        text = item + (", " if at < len(items) - 1 else end)
        if len(current) + len(text.rstrip()) > width and current.strip():
            lines.append(current.rstrip())
            current = pad
        current += text
    return [*lines, current.rstrip()]
