"""CVM model files, and networks that run them."""

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
