"""Other libraries that do the same work: each a module with a table from kind to calls.

A library that is not installed is listed as absent, with the reason; it is never an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from benchmarks.cases import Call, Problem

Ways = Callable[[Problem], Iterable[Call]]

# The name of a library, the module here that calls it.
MODULES = {
    "numpy": "benchmarks.peers.of_numpy",
    "numba": "benchmarks.peers.of_numba",
    "torch": "benchmarks.peers.of_torch",
    "onnxruntime": "benchmarks.peers.of_onnxruntime",
    "oneDNN": "benchmarks.peers.of_onednn",
    "LiteRT": "benchmarks.peers.of_litert",
}


class Absent(Exception):
    """A library is not installed; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that is here: its name, its version, and its ways to do each kind of work."""

    name: str
    version: str
    ways: Mapping[str, Ways]

    def calls(self, problem: Problem) -> list[Call]:
        """Its ways to do a workload; none where it cannot."""
        ways = self.ways.get(problem.workload.kind)
        return [] if ways is None else list(ways(problem))


def find_peers(threads: int) -> tuple[list[Peer], dict[str, str]]:
    """The libraries that are here, set to so many threads; why the others are not."""
    found, absent = [], {}
    for name, module in MODULES.items():
        try:
            found.append(importlib.import_module(module).peer(threads))
        except (Absent, ImportError) as error:
            absent[name] = str(error)
    return found, absent
