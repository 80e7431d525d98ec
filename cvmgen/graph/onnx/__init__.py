"""Models of ONNX.

`file.py` reads a .onnx file, by the package `onnx`, into frozen data; files are hostile: no array
is made before its bytes are counted, and data beside the file is read from its folder alone.
`model.py` goes through the nodes of such a graph: each becomes steps of the opset `onnx`. What is
known beforehand, such as arithmetic on shapes, is computed at once (`folding.py`).
`products.py`, `pointwise.py` and `moves.py` say how nodes become steps, a function for each
operator, and `operators.py` is the table of them. Nodes between DequantizeLinear and
QuantizeLinear become quantized operators (`fusion.py`), as ONNX Runtime makes them.
"""

from __future__ import annotations

from cvmgen.graph.onnx.model import OnnxModel, read_onnx

__all__ = ["OnnxModel", "read_onnx"]
