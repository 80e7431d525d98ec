"""Calls as C text: what this machine's library was given, and what it answered."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.api import Operator
from cvmgen.api.c_backend import CBackend, ListStruct, TensorStruct
from cvmgen.api.calls import Described, Inferred
from cvmgen.api.library import compiled_operators, operators_of_manifest
from cvmgen.api.manifest import OperatorInfo, read_manifest
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array, Call


class Recorder(CBackend):
    """The backend of the operators of a folder. Calls that it records become a program in C,
    which makes them on another machine: see replay.h."""

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        super().__init__(compiled_operators(folder), manifest, folder)
        self.sizes = {code: dtype.itemsize for dtype, code in self.dtypes.items()}
        self.operators = operators_of_manifest("c", manifest, partial(Operator, backend=self))
        self.names = {info.full_name for info in manifest.operators}
        self.given: Any = None  # the structure of the last call, and what it points to
        self.inferred: Inferred | None = None
        self.measured = False
        self.used: dict[str, str] = {}  # the opset of a function
        self.variables: list[str] = []
        self.rows: list[str] = []

    def infer(self, info: OperatorInfo, described: Described) -> Inferred:
        self.given = self.arguments(info, described, [None] * len(described.shapes))
        self.inferred = super().infer(info, described)
        return self.inferred

    def call_arguments(self, *given: Any) -> tuple[Any, list[Any]]:
        self.given = super().call_arguments(*given)
        return self.given

    def record(self, call: Call) -> tuple[Array, ...]:
        """Make a call and put it down; its results, or () for a refusal."""
        operator = self.operators[call.operator]
        self.measured = call.precisions is None
        self.given, results, refusal = None, (), ("NULL",) * 3
        try:
            found = operator(*call.inputs, precisions=call.precisions, **call.attributes)
            results = found if isinstance(found, tuple) else (found,)
        except OperatorError as error:
            refusal = tuple(map(json.dumps, (error.argument, error.value, error.rule)))
        if self.given is not None:  # not refused before the library was asked
            self.put_down(str(call), operator._info, results, refusal)
        return results

    def put_down(
        self, call: str, info: OperatorInfo, results: Sequence[Array], refusal: Sequence[str]
    ) -> None:
        """The variables of a call, and its row in the table of all."""
        args, number = self.given[0], len(self.rows)
        outputs = [pointer.contents for name in info.outputs if (pointer := getattr(args, name))]
        memory = [self.initial(each, zeros=True) for each in outputs]
        answers = []
        if results and self.inferred is not None:
            for each, precision in zip(outputs, self.inferred.precisions, strict=True):
                each.precision = precision or 0
                answers.append(self.initial(each))
        members = {
            name: f"&results_{number}[{at}]" for at, name in enumerate(info.outputs) if outputs
        }
        members |= {
            name: self.value(args, name) for name, _ in args._fields_ if name not in members
        }
        given = (f".{name} = {value}" for name, value in members.items() if value)
        self.used[info.function] = info.opset
        self.variables += [
            f"static cvmgen_tensor results_{number}[] = {braced(memory or ['{0}'])};",
            f"static const cvmgen_tensor answers_{number}[] = {braced(answers or ['{0}'])};",
            f"static const {info.function}_args args_{number} = {braced(given)};",
        ]
        row = (json.dumps(call), f"&{info.function}_functions", f"&args_{number}")
        rest = (f"results_{number}", f"answers_{number}", str(len(outputs)), *refusal)
        self.rows.append(braced((*row, *rest)))

    def program(self) -> str:
        """What is put down, as a file of C."""
        return "\n".join(
            [
                '#include "replay.h"',
                *(f'#include "{opset}.h"' for opset in sorted(set(self.used.values()))),
                *(f"REPLAYED({function})" for function in sorted(self.used)),
                *self.variables,
                "const replayed_call replayed_calls[] = {",
                *(f"    {row}," for row in self.rows),
                "};",
                f"const int replayed_count = {len(self.rows)};",
                "",
            ]
        )

    # -------------------------------------------------------- initializers

    def value(self, args: Any, name: str) -> str:
        """A member of a structure; empty for what is 0."""
        value = getattr(args, name)
        match value:
            case int():
                return integer(value) if value else ""
            case ListStruct():
                entries = braced(map(integer, value.at[: max(value.length, 1)]))
                return braced((str(value.length), entries))
            case ctypes.Array():
                return braced(map(integer, value))
        if not value:
            return ""
        if isinstance(value.contents, TensorStruct):
            return self.pointer(value)
        if isinstance(value.contents, ctypes.c_int64):
            return f"(int64_t[]){braced([integer(value.contents.value)])}"
        pointers = value[: getattr(args, f"{name}_count")]
        return f"(const cvmgen_tensor *const[]){braced(map(self.pointer, pointers))}"

    def pointer(self, given: Any) -> str:
        """An input; precisions that were measured here are measured there."""
        if self.measured and given.contents.data:
            given.contents.precision = 0
        return f"&(cvmgen_tensor){self.initial(given.contents)}"

    def initial(self, given: TensorStruct, zeros: bool = False) -> str:
        """A tensor; one of `zeros` has memory, and a shape only when it is inferred."""
        extents = list(given.extents[: given.rank])
        members = [f".dtype = {given.dtype}"]
        if given.data:
            members.append(f".data = {self.elements(given, prod(extents), zeros)}")
        if not zeros:
            members.append(f".rank = {given.rank}, .precision = {given.precision}")
            members.append(f".extents = {braced(map(str, extents or [0]))}")
        return braced(members)

    def elements(self, given: TensorStruct, count: int, zeros: bool) -> str:
        """The bits of elements, as numbers: their bytes lie in another order on other machines."""
        size = self.sizes[given.dtype]
        if zeros:
            return f"(uint{8 * size}_t[{count}]){{0}}"
        found = np.frombuffer(ctypes.string_at(given.data, count * size), f"u{size}")
        return f"(uint{8 * size}_t[]){braced(f'{each}u' for each in found.tolist())}"


def braced(entries: Iterable[str]) -> str:
    return f"{{{', '.join(entries)}}}"


def integer(value: int) -> str:
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
