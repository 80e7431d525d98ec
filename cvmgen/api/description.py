"""What an operator says of itself: its signature and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping

from cvmgen.api.manifest import AttributeInfo, InputInfo, OperatorInfo

KEYWORDS = {
    "precisions": 'declared precision by input name, as {"X": 8}; the others are measured',
    "dtype": "of the result, int8 or int32 where it has a precision (default: what holds it)",
    "out": "array, or tuple of them, to write the result to",
    "check": '"values" refuses data beyond their declared precision',
}
"""What every call takes besides inputs and attributes."""


def signature_of(info: OperatorInfo, keywords: Iterable[str] = ()) -> inspect.Signature:
    """Inputs by place or name, attributes and keywords by name."""
    kinds = inspect.Parameter
    found, default = [], inspect.Parameter.empty
    for item in info.inputs:
        # Several tensors can stand by themselves where nothing else does, otherwise as a list.
        alone = item.variadic and len(info.inputs) == 1
        # Behind an input that may be left out the next ones can be given by name.
        default = None if item.optional else default  # type: ignore[assignment]
        kind = kinds.VAR_POSITIONAL if alone else kinds.POSITIONAL_OR_KEYWORD
        found.append(kinds(item.name, kind, default=kinds.empty if alone else default))
    for each in info.attributes:
        value = kinds.empty if each.required else each.default
        found.append(kinds(each.name, kinds.KEYWORD_ONLY, default=value))
    found += [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in keywords]
    return inspect.Signature(found)


def doc_of(info: OperatorInfo, call: str, keywords: Mapping[str, str]) -> str:
    """What the operator does, how it is called, what it takes, and its formula."""
    lines = [info.doc, "", call, ""]
    lines += [f"{each.name}: {input_text(info, each)}" for each in info.inputs]
    lines += [f"{each.name}: {attribute_words(each)}" for each in info.attributes]
    lines += [f"{name}: {text}" for name, text in keywords.items()]
    raises = "Raises cvmgen.OperatorError for a call that the formula does not admit."
    return "\n".join([*lines, raises, "", f"The formula, {info.place}:", "", info.formula])


def input_text(info: OperatorInfo, item: InputInfo) -> str:
    types = dict.fromkeys(str(row.get(item.name, "int8 or int32")) for row in info.types)
    what = "arrays" if item.variadic else "array"
    what = "list of arrays" if item.variadic and len(info.inputs) > 1 else what
    return f"{what} of {' or '.join(types)}{', may be left out' * item.optional}"


def attribute_words(item: AttributeInfo) -> str:
    return ", or ".join(allowed_values(item)) + ", may be left out" * item.optional


def allowed_values(item: AttributeInfo) -> Iterator[str]:
    """What an attribute can be given."""
    if item.kind == "bool":
        yield "truth value" if item.length is None and not item.is_list else "truth values"
    elif item.kind == "real":
        many = "" if item.length is None else f"{item.length} "
        what = f"{many}real numbers" if item.is_listed else "a real number"
        yield f"{what} in {item.range}" if item.range else what
    elif item.kind != "word":
        one = "integers" if item.is_list else "an integer"
        many = one if item.length is None else f"{item.length} integers"
        yield many if item.range in ("", "(-inf, inf)") else f"{many} in {item.range}"
    if item.words:
        yield " or ".join(f'"{word}"' for word in item.words)
