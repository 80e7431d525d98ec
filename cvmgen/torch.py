"""Operators for PyTorch, on the CPU: eager, under `torch.compile`, and in exported programs.

cvm = cvmgen.torch.ops("cvm")
Y = cvm.dense(X, W, B)  # the same as torch.ops.cvmgen.cvm_dense
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from cvmgen.api.library import load
from cvmgen.api.manifest import AttributeInfo, OperatorInfo
from cvmgen.api.operator import Operator
from cvmgen.typed import element_type

NAMESPACE = "cvmgen"


@cache
def ops(opset: str) -> SimpleNamespace:
    """The operators of an opset on tensors, registered as `torch.ops.cvmgen.<opset>_<operator>`.

    They take inputs by place and attributes by name. A list of words and numbers is two arguments,
    as in C: `padding` and `padding_word`. `precisions` are those of the inputs in their order, 0
    where one is measured; `dtype` is that of a result with a precision. Tensors are read where they
    lie, whatever their strides. Results are new. Shapes and types of results are known without
    data; shapes that stay open when a program is traced are fixed to what they are. Nothing has a
    gradient. Raises OperatorError for what a formula does not admit, and for an unknown opset
    AttributeError.
    """
    found = getattr(library(), opset)
    return SimpleNamespace(**{each.__name__: registered(each) for each in found})


@cache
def library() -> Any:
    return load("c")


def registered(operator: Operator) -> Any:
    """An operator as one of PyTorch."""

    def call(*inputs: Any, **keywords: Any) -> Any:
        given = [in_numpy(each) for each in inputs]
        result = operator(*given, **arguments(operator.info, keywords))
        several = isinstance(result, tuple)
        return tuple(map(tensor_of, result)) if several else tensor_of(result)

    def fake(*inputs: Any, **keywords: Any) -> Any:
        given = [without_data(each) for each in inputs]
        rest = arguments(operator.info, keywords)
        precisions, dtype = rest.pop("precisions"), rest.pop("dtype")
        call = operator.without_data(given, precisions, dtype, rest)
        made = [torch.empty(each.shape, dtype=torch_type(each.dtype)) for each in call.targets]
        return tuple(made) if len(made) > 1 else made[0]

    made = torch.library.custom_op(
        f"{NAMESPACE}::{operator.info.function}",
        call,
        mutates_args=(),
        device_types="cpu",
        schema=schema(operator.info),
    )
    made.register_fake(fake)
    return made


# ---------------------------------------------------------------- schemas


def schema(info: OperatorInfo) -> str:
    """How PyTorch is told what an operator takes and gives."""
    inputs: list[str] = []
    may_end = True  # everything behind it may be left out
    for item in reversed(info.inputs):
        may_end = may_end and item.optional
        kind = "Tensor[]" if item.variadic else "Tensor?" if item.optional else "Tensor"
        inputs.insert(0, f"{kind} {item.name}{'=None' * may_end}")
    named = [part for each in info.attributes for part in attribute_schema(each)]
    named += ["int[]? precisions=None", "ScalarType? dtype=None"]
    results = ", ".join(["Tensor"] * len(info.outputs))
    result = f"({results})" if len(info.outputs) > 1 else results
    return f"({', '.join([*inputs, '*', *named])}) -> {result}"


KINDS = {"int": "int", "real": "float", "bool": "bool"}


def attribute_schema(item: AttributeInfo) -> Iterator[str]:
    """An attribute, and beside numbers that a word may stand for one for the word."""
    if item.kind != "word":
        absent = bool(item.words) or item.optional
        kind = KINDS[item.kind]
        if item.is_list or item.length is not None:
            kind += f"[{'' if item.is_list else item.length}]"
        default = None if isinstance(item.default, str) else item.default
        known = not item.required or item.words
        yield f"{kind}{'?' * absent} {item.name}{f'={shown(default)}' * bool(known)}"
    if item.words:
        default = item.default if isinstance(item.default, str) else None
        needed = item.kind == "word" and item.required
        optional = "?" * (not needed and default is None)
        yield f"str{optional} {item.word_member}{'' if needed else f'={shown(default)}'}"


def shown(default: Any) -> str:
    if isinstance(default, (tuple, list)):
        return f"[{', '.join(map(shown, default))}]"
    return f'"{default}"' if isinstance(default, str) else str(default)


# ---------------------------------------------------------------- arguments


def arguments(info: OperatorInfo, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call of ours."""
    rest = dict(given)
    precisions, dtype = rest.pop("precisions", None), rest.pop("dtype", None)
    for item in info.attributes:
        if item.words and item.word_member != item.name:
            word = rest.pop(item.word_member, None)
            rest[item.name] = rest.get(item.name) if word is None else word
    rest["precisions"] = precisions and [each or None for each in precisions]
    rest["dtype"] = dtype and numpy_type(dtype)
    return rest


def in_numpy(given: Any) -> Any:
    """Tensors as arrays in the same memory."""
    return each_tensor(given, array_of)


def array_of(tensor: Any) -> Any:
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # which numpy has of another package alone
        return tensor.view(torch.int16).numpy().view(numpy_type(tensor.dtype))
    return tensor.numpy()


def tensor_of(array: Any) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def without_data(given: Any) -> Any:
    return each_tensor(given, Unknown)


def each_tensor(given: Any, change: Callable[[Any], Any]) -> Any:
    if given is None:
        return None
    return [*map(change, given)] if isinstance(given, (list, tuple)) else change(given)


class Unknown:
    """The shape and the element type of a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.shape = tuple(map(int, tensor.shape))
        self.dtype = numpy_type(tensor.dtype)


def torch_type(dtype: np.dtype[Any]) -> Any:
    return getattr(torch, dtype.name)


@cache
def numpy_type(dtype: Any) -> np.dtype[Any]:
    return element_type(str(dtype).removeprefix("torch."))
