"""Generic functions: one body for the kernels of a nest that differ in element types alone.

The bodies are walked side by side. Where they agree they stay; where they name machine types that
differ as those of what is read, or of the result, do, a type parameter stands for these. Before,
two spellings become one. What is stored is converted to the type of its element, which a store
does anyway. And a product that a `Convert` to an unsigned type takes modulo its size is made of
operands so converted: products modulo 2^32 are those of the operands modulo 2^32, and the product
before the conversion fits its type, or it would not be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.gpu.mapped import Function
from cvmgen.schedule.kernels import Kernel
from cvmgen.source import Span

SOURCE, RESULT = "element_t", "result_t"


class DifferentError(Exception):
    """Bodies differ in more than types."""


@dataclass(frozen=True, slots=True)
class Generic:
    """A function for several kernels; `types` are the machine types of its parameters for each."""

    function: Function
    types: Mapping[str, tuple[str, ...]]


def generic(kernels: Sequence[Kernel], functions: Sequence[Function]) -> Generic | None:
    """The function that those of some kernels of a nest are for their types; None where they differ
    in more than types."""
    types = parameters_of(kernels)
    if len(kernels) < 2 or not types:
        return None
    patterns = {values: name for name, values in types.items()}
    plain = [
        replace(each, body=normal(each.body, kernel))
        for kernel, each in zip(kernels, functions, strict=True)
    ]
    try:
        function = unified(plain, patterns)
    except DifferentError:
        return None
    return Generic(function, types)


def parameters_of(kernels: Sequence[Kernel]) -> dict[str, tuple[str, ...]]:
    """The type parameters that tell kernels apart, with what each stands for in them."""
    found: dict[str, tuple[str, ...]] = {}
    sources = [each.variant.source for each in kernels]
    results = [each.variant.stored for each in kernels]
    for name, dtypes in ((SOURCE, sources), (RESULT, results)):
        if None not in dtypes and len(set(dtypes)) > 1:
            found[name] = tuple(each.machine for each in dtypes if each is not None)
    return found if len(set(found.values())) == len(found) else {}


def normal(body: i.Block, kernel: Kernel) -> i.Block:
    """A body in one of the spellings that mean the same."""
    stored = kernel.nest.tensor
    kind = kernel.subject.dtypes[stored].machine if stored in kernel.subject.dtypes else ""

    def change(node: Any) -> Any:
        match node:
            case i.Store(target=target, value=value) if kind and target.tensor == stored:
                if isinstance(value, i.Convert) and value.type == kind:
                    return node
                return replace(node, value=i.Convert(kind, value))
            case i.Convert(type=("u32" | "u64") as name, operand=i.Binary(op="*") as product):
                left, right = i.Convert(name, product.left), i.Convert(name, product.right)
                return replace(product, left=left, right=right)
            case _:
                return node

    return rebuild(body, change)


def unified(several: Sequence[Any], patterns: Mapping[tuple[str, ...], str]) -> Any:
    """What nodes have in common, with parameters for types that differ as these do."""
    first = several[0]
    if all(each == first for each in several[1:]):
        return first
    if any(each.__class__ is not first.__class__ for each in several):
        raise DifferentError
    match first:
        case str() if tuple(several) in patterns:
            return patterns[tuple(several)]
        case tuple() | list() if all(len(each) == len(first) for each in several):
            return tuple(unified(each, patterns) for each in zip(*several, strict=True))
        case _ if is_dataclass(first) and not isinstance(first, (Span, type)):
            names = [each.name for each in fields(first)]
            parts = {n: unified([getattr(e, n) for e in several], patterns) for n in names}
            return first.__class__(**parts)
        case _:
            raise DifferentError
