"""What a caller sees of an operator: the argument structure, element types, the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from cvmgen.analysis.moved import moved_inputs
from cvmgen.dtypes import (
    ATTRIBUTE_HIGH,
    ATTRIBUTE_LOW,
    CVM,
    CVM_TYPES,
    DTYPES,
    MAX_RANK,
    DType,
)
from cvmgen.escape import in_c_comment
from cvmgen.ir import nodes as i
from cvmgen.ir.host import C_TYPES
from cvmgen.ir.text import text
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import Attribute, Operator
from cvmgen.spec.words import alternatives, word_constant
from cvmgen.typing.choices import int32_inputs


def c_name(operator: Operator) -> str:
    return f"{operator.opset}_{operator.name}"


def row_names(operator: Operator) -> list[str]:
    """What the choices of the type parameters are called in C, in order."""
    rows = ("_".join(dtype.name for dtype in row) for row in operator.types.rows)
    return [f"{operator.name}_of_{row}" for row in rows]


def typed_operand_names(operator: Operator) -> tuple[str, ...]:
    """The operands with a storage type of their own: inputs, then outputs."""
    return tuple(operator.choices[0])


def types_text(operator: Operator, name: str) -> str:
    """The element types that an operand may have, for people."""
    kind = operator.type_of[name]
    dtypes: tuple[DType, ...] = CVM_TYPES
    if kind != CVM:
        dtypes = tuple(dict.fromkeys(choice[name] for choice in operator.choices))
    return alternatives(dtype.name for dtype in dtypes)


def scratch_text(program: i.Program) -> str:
    """The memory that a call takes besides its tensors, as `V[B, N], V_length[B]`."""
    parts = []
    for each in program.scratch:
        shape = ", ".join(f"2*{text(e.right)}" if twice(e) else text(e) for e in each.shape)
        parts.append(f"{each.name}[{shape}]")
    return ", ".join(parts)


def twice(extent: i.Expr) -> TypeGuard[i.Binary]:
    return isinstance(extent, i.Binary) and extent.op == "*" and extent.left == i.Const(2)


def default_value(expr: n.Expr | None) -> Any:
    """The Python value of a default: int, bool, word or tuple; None when there is none."""
    match expr:
        case None:
            return None
        case (
            n.Number(value=value) | n.Truth(value=value) | n.Word(text=value) | n.Real(value=value)
        ):
            return value
        case n.TupleOf(elements=elements):
            return tuple(default_value(element) for element in elements)
        case n.Negate(operand=operand):
            return -default_value(operand)
        case _:
            raise AssertionError("the checker admits only constant defaults")


# ---------------------------------------------------------------- the argument structure


def struct_members(operator: Operator) -> list[str]:
    """The members of `<operator>_args`, each with its meaning."""
    members = []
    for item in operator.inputs:
        note = "" if item.dtype == CVM else types_text(operator, item.name)
        if item.variadic:
            members.append(f"const cvmgen_tensor *const *{item.name};{remark(note)}")
            members.append(f"int64_t {item.name}_count;")
            continue
        absent = "NULL: not given" if item.optional else ""
        note = "; ".join(each for each in (note, absent) if each)
        members.append(f"const cvmgen_tensor *{item.name};{remark(note)}")
    for name in operator.output_names:
        note = "" if operator.type_of[name] == CVM else types_text(operator, name)
        members.append(f"cvmgen_tensor *{name};{remark(note)}")
    for attribute in operator.attributes:
        members += attribute_members(operator, attribute)
    members.append("int32_t check_values; /* not 0: refuse data beyond their precision */")
    return members


def remark(text: str) -> str:
    return f" /* {text} */" if text else ""


def attribute_members(operator: Operator, attribute: Attribute) -> list[str]:
    """The member of an attribute; beside numbers that a word may stand for, one for the word."""
    if not attribute.words:
        return [attribute_member(attribute)]
    note = f"{c_name(operator)}_{attribute.name}".upper() + "_..."
    if attribute.kind == "word":
        note += ", or 0: not given" if attribute.optional else ""
        return [f"int32_t {attribute.name}; /* {note} */"]
    note += f", or 0: {attribute.name} has numbers"
    return [attribute_member(attribute), f"int32_t {attribute.word_name}; /* {note} */"]


def attribute_member(attribute: Attribute) -> str:
    name = attribute.name
    number = "double" if attribute.kind == "real" else "int64_t"
    note = f" /* in {in_c_comment(attribute.interval_text)} */" if attribute.interval_text else ""
    if attribute.components:
        names = ", ".join(attribute.components)
        text = f"({names})" + (f" in {attribute.interval_text}" if attribute.interval_text else "")
        return f"{number} {name}[{len(attribute.components)}]; /* {in_c_comment(text)} */"
    if attribute.is_list:
        absent = " /* length -1: not given */" if attribute.optional else note
        return f"{C_TYPES['reals' if attribute.kind == 'real' else 'list']} {name};{absent}"
    if attribute.optional:
        return f"const {number} *{name}; /* NULL: not given */"
    return f"{number} {name};{note}"


def default_lines(operator: Operator) -> list[str]:
    """Statements that set the defaults in a zeroed structure."""
    lines = []
    for attribute in operator.attributes:
        value = default_value(attribute.default)
        name = f"args->{attribute.name}"
        if isinstance(value, str):
            full_name = f"{operator.full_name}.{attribute.name}"
            lines.append(f"args->{attribute.word_name} = {word_constant(full_name, value)};")
        elif attribute.is_list:
            if attribute.optional:
                lines.append(f"{name}.length = -1;")
            elif value:
                lines += [f"{name}.at[{at}] = {entry};" for at, entry in enumerate(value)]
                lines.append(f"{name}.length = {len(value)};")
        elif attribute.components and value is not None:
            lines += [f"{name}[{at}] = {entry};" for at, entry in enumerate(value) if entry]
        elif attribute.kind == "real" and value is not None:
            lines.append(f"{name} = {value!r};")
        elif value:
            lines.append(f"{name} = {int(value)};")
    return lines


# ---------------------------------------------------------------- the manifest

MANIFEST_VERSION = 4  # counts the changes of the manifest's layout


def source_places(operator: Operator) -> dict[str, Any]:
    """Where an operator stands, and each block that its generated code names lines of."""
    blocks = {title: span.place for title, span in operator.blocks}
    return {"place": operator.span.place, "blocks": blocks}


def manifest_entry(program: i.Program) -> dict[str, Any]:
    """What loading needs of an operator, as JSON values."""
    operator = program.operator
    wide = int32_inputs(program)
    return {
        "name": operator.name,
        "opset": operator.opset,
        "doc": operator.doc,
        "aliases": list(operator.aliases),
        "formula": operator.text,
        **source_places(operator),
        "function": c_name(operator),
        "moves": list(moved_inputs(program)),
        "inputs": [
            {
                "name": item.name,
                "empty": item.empty,
                "optional": item.optional,
                "variadic": item.variadic,
                "int32": item.name in wide,
            }
            for item in operator.inputs
        ],
        "outputs": list(operator.output_names),
        "types": [
            {name: dtype.name for name, dtype in choice.items()} for choice in operator.choices
        ],
        "attributes": [
            {
                "name": attribute.name,
                "kind": attribute.kind,
                "length": len(attribute.components) or None,
                "list": attribute.is_list,
                "optional": attribute.optional,
                "required": attribute.required,
                "default": default_value(attribute.default),
                "range": attribute.interval_text,
                "words": list(attribute.words),
            }
            for attribute in operator.attributes
        ],
    }


def interface_limits() -> dict[str, Any]:
    """Constants of the interface that loading needs."""
    return {
        "max_rank": MAX_RANK,
        "dtypes": {name: dtype.code for name, dtype in DTYPES.items()},
        "attribute_low": ATTRIBUTE_LOW,
        "attribute_high": ATTRIBUTE_HIGH,
    }


def manifest_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """The manifest: a line for each member of an operator, so that differences stay small."""
    operators = ",\n".join(f"    {{\n{json_members(entry, 6)}\n    }}" for entry in entries)
    head = json_members({"version": MANIFEST_VERSION, "limits": interface_limits()}, 2)
    return f'{{\n{head},\n  "operators": [\n{operators}\n  ]\n}}\n'


def json_members(entry: Mapping[str, Any], margin: int) -> str:
    """The members of an object, each on a line; objects in a list on lines of their own."""
    pad = " " * margin
    lines = []
    for name, value in entry.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            items = (f"{pad}  {json.dumps(item, ensure_ascii=False)}" for item in value)
            text = "[\n" + ",\n".join(items) + f"\n{pad}]"
        lines.append(f"{pad}{json.dumps(name)}: {text}")
    return ",\n".join(lines)
