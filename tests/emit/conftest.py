"""The CUDA target beside the others: its text runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cvmgen.api import Operator, Operators, Opset
from cvmgen.api.manifest import Manifest
from cvmgen.dtypes import DTYPES
from tests.conformance.calls import Conformance
from tests.emit.cuda_texts import NAMES, compile_for_cpu, write, write_all
from tests.emit.on_cpu import OnCpu, info


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> OnCpu:
    folder = tmp_path_factory.mktemp("cuda")
    write_all(folder)
    # Operators of different opsets may have one name.
    units: dict[str, str] = {}
    for name in NAMES:
        opset, _, short = name.partition(".")
        unit = f"{opset}.cc"
        units[unit] = units.get(unit, "") + f'#include "{opset}/{short}.cu"\n'
    write(units, folder)
    codes = {name: dtype.code for name, dtype in DTYPES.items()}
    manifest = Manifest(tuple(map(info, NAMES)), codes)
    return OnCpu(compile_for_cpu(folder, *units), manifest, folder)


@pytest.fixture
def on_cpu(library: OnCpu) -> Iterator[OnCpu]:
    yield library
    library.free()
    assert library.state.allocated == 0


@pytest.fixture
def everywhere(conformance: Conformance, on_cpu: OnCpu) -> Conformance:
    """The reference beside every target, kernels for CUDA too."""
    opsets: dict[str, dict[str, Operator]] = {}
    for name in NAMES:
        opset, _, short = name.partition(".")
        opsets.setdefault(opset, {})[short] = Operator(info(name), on_cpu)
    cuda = Operators("cuda", {name: Opset(name, each, {}) for name, each in opsets.items()})
    return Conformance(conformance.references, {**conformance.libraries, "cuda": cuda})
