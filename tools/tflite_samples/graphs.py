"""Models of TensorFlow Lite in the making, by the classes of their schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

IDENTIFIER = b"TFL3"
VERSION = 3


class Graph:
    """The main graph of a model; tensors are told by their numbers."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version = VERSION
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.graph = self.empty()
        self.model.subgraphs = [self.graph]
        self.codes: dict[tuple[int, int], int] = {}

    def empty(self) -> Any:
        made = schema.SubGraphT()
        made.tensors, made.operators, made.inputs, made.outputs = [], [], [], []
        return made

    def another(self) -> Any:
        """A graph beside the main one, which what is added from now on belongs to."""
        self.graph = self.empty()
        self.model.subgraphs.append(self.graph)
        return self.graph

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: Any = None,
        zero: int = 0,
        data: Any = None,
        axis: int = 0,
        name: str | None = None,
        variable: bool = False,
    ) -> int:
        """A tensor; with `data` a constant, with `scale`, or one for each place of `axis`,
        quantized."""
        made = schema.TensorT()
        made.shape, made.type = list(shape), getattr(schema.TensorType, dtype.upper())
        made.name, made.hasRank = name or f"t{len(self.graph.tensors)}", True
        if scale is not None:
            quantized = schema.QuantizationParametersT()
            quantized.scale = [float(each) for each in np.atleast_1d(scale)]
            zeros = np.broadcast_to(zero, len(quantized.scale))
            quantized.zeroPoint, quantized.quantizedDimension = [int(z) for z in zeros], axis
            made.quantization = quantized
        made.isVariable = variable
        made.buffer = 0 if data is None else self.buffer(np.asarray(data, dtype))
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def buffer(self, values: Any) -> int:
        made = schema.BufferT()
        made.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
        self.model.buffers.append(made)
        return len(self.model.buffers) - 1

    def integers(self, *values: Any) -> int:
        """A constant of int32."""
        data = np.array(values[0] if len(values) == 1 else values)
        return self.tensor(np.atleast_1d(data).shape, "int32", data=np.atleast_1d(data))

    def handle(self) -> int:
        """What a variable is reached by."""
        made = schema.TensorT()
        made.shape, made.type = [], schema.TensorType.RESOURCE
        made.name, made.buffer, made.hasRank = "handle", 0, True
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        table: str | None = None,
        version: int = 1,
        **attributes: Any,
    ) -> None:
        """An operator with the attributes of its table."""
        made = schema.OperatorT()
        made.opcodeIndex = self.code(getattr(schema.BuiltinOperator, name), version)
        made.inputs, made.outputs = list(inputs), list(outputs)
        if table is not None:
            options = getattr(schema, f"{table}T")()
            for key, value in attributes.items():
                if not hasattr(options, key):
                    raise AttributeError(f"{table} has no {key}")
                setattr(options, key, value)
            made.builtinOptions = options
            made.builtinOptionsType = getattr(schema.BuiltinOptions, table)
        self.graph.operators.append(made)

    def code(self, number: int, version: int) -> int:
        if (number, version) not in self.codes:
            made = schema.OperatorCodeT()
            made.builtinCode, made.deprecatedBuiltinCode = number, min(number, 127)
            made.version = version
            self.model.operatorCodes.append(made)
            self.codes[number, version] = len(self.model.operatorCodes) - 1
        return self.codes[number, version]

    def file(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The bytes of the model, whose main graph has these ends."""
        main = self.model.subgraphs[0]
        main.inputs, main.outputs = list(inputs), list(outputs)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), IDENTIFIER)
        return bytes(builder.Output())
