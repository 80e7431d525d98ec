"""Models of TensorFlow Lite.

`file.py` reads a .tflite file, by the classes of the format's schema in the package `tflite`, into
frozen data; files are hostile, and nothing is allocated from an unchecked count. `model.py`
goes through the operators of such a graph: each becomes steps of the opset `tflite`, between
tensors that a `graph.plan.Plan` holds, with what the scales come to as constants (`scales.py`).
`convolutions.py`, `pointwise.py` and `moves.py` say how, a function for each operator of the
format; `operators.py` is the table of them. What cannot be translated is told of all operators at
once. Variables become states of the plan (`variables.py`).

Another format needs the same three parts: a reader that gives frozen data, translations of its
operators into steps of an opset of ours, and a `ModelSource` whose `plan` puts them together;
networks and C libraries of models take any plan.
"""

from __future__ import annotations

from cvmgen.graph.tflite.model import TfliteModel, read_tflite

__all__ = ["TfliteModel", "read_tflite"]
