"""CVM model files, and networks that run them.

`symbol_file.py` reads a graph into a `symbol.Symbol` and `parameters.py` its arrays; `plan.py`
finds the shape and the precision of every tensor, makes the graph's attributes those of our
operators, now that shapes are known, and refuses what these do not admit;
`memory.py` says where tensors lie, those that live at other times in one place. `network.py` runs a
graph by the operators of any target, `compiled.py` a model that `cvmgen build --model` made a
library, `device_model.py` one for CUDA. Files are hostile: `limits.py`, `json_value.py`.
"""

from __future__ import annotations

from cvmgen.graph.compiled import CompiledModel, load_model
from cvmgen.graph.network import Network, load
from cvmgen.graph.parameters import read_parameters, write_parameters
from cvmgen.graph.symbol_file import read_symbol, write_symbol

__all__ = [
    "CompiledModel",
    "Network",
    "load",
    "load_model",
    "read_parameters",
    "read_symbol",
    "write_parameters",
    "write_symbol",
]
