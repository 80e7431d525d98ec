"""Operators for PyTorch: eager, under `torch.compile`, and in exported programs.

cvm = cvmgen.torch.ops("cvm")
Y = cvm.dense(X, W, B)  # the same as torch.ops.cvmgen.cvm_dense

Tensors on the CPU go to the target "c". Those on a GPU go to "cuda", in PyTorch's current stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
DEFINITIONS = torch.library.Library(NAMESPACE, "FRAGMENT")


@cache
def ops(opset: str) -> SimpleNamespace:
    """The operators of an opset on tensors, registered as `torch.ops.cvmgen.<opset>_<operator>`.

    They take inputs by place and attributes by name. A list of words and numbers is two arguments,
    as in C: `padding` and `padding_word`. `precisions` are those of the inputs in their order, 0
    where one is measured, which tensors on a GPU are not; `dtype` is that of a result with a
    precision. Tensors may have any strides. Results are new. Shapes and types of results are known
    without data; shapes that stay open when a program is traced are fixed to what they are. Nothing
    has a gradient. Raises OperatorError for what a formula does not admit, and for an unknown opset
    AttributeError.
    """
    found = getattr(library("cpu"), opset)
    return SimpleNamespace(**{each.__name__: registered(each) for each in found})


@cache
def library(kind: str, ordinal: int = 0) -> Any:
    """The operators for a kind of device."""
    return load("cuda", device=ordinal) if kind == "cuda" else load("c")


def registered(operator: Operator) -> Any:
    """An operator as one of PyTorch."""
    info, kernels = operator.info, Kernels(operator)
    name = f"{NAMESPACE}::{info.function}"
    DEFINITIONS.define(f"{info.function}{schema(info)}", tags=(torch.Tag.pt2_compliant_tag,))
    DEFINITIONS.impl(info.function, kernels.on_cpu, "CPU")
    DEFINITIONS.impl(info.function, kernels.on_gpu, "CUDA")
    torch.library.register_fake(name, kernels.without_data, lib=DEFINITIONS)
    if takes_reals(info):  # of integers PyTorch itself knows no gradient
        torch.library.register_autograd(name, operator.refuse_gradient, lib=DEFINITIONS)
    made = getattr(getattr(torch.ops, NAMESPACE), info.function)
    made.__doc__ = operator.__doc__
    return made


class Kernels:
    """What PyTorch calls for an operator."""

    def __init__(self, operator: Operator) -> None:
        self._operator, self._info = operator, operator.info
        self._words = [
            (each.name, each.word_member)
            for each in operator.info.attributes
            if each.words and each.word_member != each.name
        ]

    def on_cpu(self, *inputs: Any, **keywords: Any) -> Any:
        result = self._operator(*map(in_numpy, inputs), **arguments(self._words, keywords))
        several = isinstance(result, tuple)
        return tuple(map(tensor_of, result)) if several else tensor_of(result)

    def on_gpu(self, *inputs: Any, **keywords: Any) -> Any:
        """Tensors of the device that is told by the first of them, which the operator itself takes
        and gives."""
        there = library("cuda", place_of(inputs).index)[self._info.full_name]
        given = [each_tensor(each, detached) for each in inputs]
        result = there(*given, **arguments(self._words, keywords))
        return tuple(result) if isinstance(result, tuple) else result

    def without_data(self, *inputs: Any, **keywords: Any) -> Any:
        """Tensors like the results, on the device of the inputs; what is refused is told now."""
        rest, place = arguments(self._words, keywords), place_of(inputs)
        precisions, dtype = rest.pop("precisions", None), rest.pop("dtype", None)
        given = [each_tensor(each, Unknown) for each in inputs]
        measured = place.type != "cuda"
        call = self._operator.without_data(given, precisions, dtype, rest, is_measured=measured)
        made = [
            torch.empty(each.shape, dtype=torch_type(each.dtype), device=place)
            for each in call.targets
        ]
        return tuple(made) if len(made) > 1 else made[0]


def takes_reals(info: OperatorInfo) -> bool:
    types = (row.get(item.name, "") for row in info.types for item in info.inputs)
    return any(each.startswith(("float", "bfloat")) for each in types)


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


def arguments(words: list[tuple[str, str]], given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call of ours; `words` are attributes with an argument beside them."""
    for name, member in words:
        word = given.pop(member, None)
        if word is not None:
            given[name] = word
    if given.get("precisions") is not None:
        given["precisions"] = [each or None for each in given["precisions"]]
    if given.get("dtype") is not None:
        given["dtype"] = numpy_type(given["dtype"])
    return given


def in_numpy(given: Any) -> Any:
    """Tensors as arrays: in the same memory, if that has no gaps."""
    return array_of(given) if isinstance(given, torch.Tensor) else each_tensor(given, array_of)


def detached(tensor: Any) -> Any:
    """A tensor that others may see the memory of."""
    return tensor.detach() if tensor.requires_grad else tensor


def array_of(tensor: Any) -> Any:
    tensor = detached(tensor).contiguous()
    if tensor.dtype == torch.bfloat16:  # which numpy has of another package alone
        return tensor.view(torch.int16).numpy().view(numpy_type(tensor.dtype))
    return tensor.numpy()


def tensor_of(array: Any) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def each_tensor(given: Any, change: Callable[[Any], Any]) -> Any:
    if given is None:
        return None
    return [*map(change, given)] if isinstance(given, (list, tuple)) else change(given)


def place_of(inputs: Iterable[Any]) -> Any:
    """The device of the inputs: a GPU if one of them is there."""
    flat = [one for each in inputs for one in (each if isinstance(each, (list, tuple)) else [each])]
    devices = [each.device for each in flat if each is not None]
    return next((each for each in devices if each.type == "cuda"), devices[0])


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
