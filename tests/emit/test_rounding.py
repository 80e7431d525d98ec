"""Real numbers are rounded as the formula says, and a compiler that rounds otherwise would show."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cvmgen.api.library import library_sources
from cvmgen.api.on_demand import on_demand
from cvmgen.build import c_compiler, compile_library
from cvmgen.errors import BuildError
from tests.conformance.calls import Call, Conformance, bits
from tests.emit import rounding
from tests.emit.processes import python

ADDING = {name for name, _ in rounding.CALLS.values()}
# The header refuses this flag; so far nobody can come without knowing it.
FAST = ("-ffast-math", "-U__FAST_MATH__")
# Sums in vectors have their products apart, and some machines are tuned not to fuse in sums.
FUSED = ("-ffp-contract=fast", "-march=native", "-mtune=generic", "-fno-tree-vectorize")
CHANGED_BY_ORDER = {"exact_totals float64", "dot_products float64", "distances float64"}
CHANGED_BY_FUSING = {"dot_products float64", "distances float64", "product_and_sum float64"}


@pytest.fixture(scope="module")
def sources(extra_generated: Path) -> dict[str, str]:
    """The C text of the operators that add up, and what they include and call."""
    wanted = {f"{name.replace('.', '/')}.c" for name in ADDING}
    found = library_sources(extra_generated)
    return {
        path: text
        for path, text in found.items()
        if path.endswith(".h") or path in wanted or path.startswith("cvmgen")
    }


@pytest.fixture(scope="module")
def expected(conformance: Conformance) -> dict[str, str]:
    """The bits of the reference."""
    return {
        key: bits(conformance.expected(Call(name, tuple(inputs))).outputs[0]).tobytes().hex()
        for key, (name, inputs) in rounding.CALLS.items()
    }


def compiled_with(folder: Path, sources: Mapping[str, str], *flags: str) -> dict[str, str]:
    """The bits of the same text compiled with other flags, from a process of its own: fast
    arithmetic may change how a whole process rounds. Nothing is summed in what all libraries
    share, which is compiled as it always is."""
    headers = {path: text for path, text in sources.items() if path.endswith(".h")}
    own = {path: text for path, text in sources.items() if not path.startswith("cvmgen")}
    shared = {path: text for path, text in sources.items() if "/" not in path and path != "extra.h"}
    separate = ((headers | own), shared) if on_demand() else (sources, None)
    library = compile_library(separate[0], name="rounding", flags=flags, shared=separate[1])
    found: dict[str, str] = json.loads(python("-m", "tests.emit.rounding", folder, library))
    return found


def changed(found: Mapping[str, str], expected: Mapping[str, str]) -> set[str]:
    assert found.keys() == expected.keys()
    return {key.removeprefix("extra.") for key in expected if found[key] != expected[key]}


@pytest.mark.parametrize("flags", [(), ("-O0",), ("-O2", "-march=native")], ids=" ".join)
def test_our_flags_round_as_the_reference(
    extra_generated: Path,
    sources: dict[str, str],
    expected: dict[str, str],
    flags: tuple[str, ...],
) -> None:
    """-march=native too: a machine that can fuse does not, unless it is asked."""
    assert changed(compiled_with(extra_generated, sources, *flags), expected) == set()


def test_every_target_rounds_as_the_reference(conformance: Conformance) -> None:
    for name, inputs in rounding.CALLS.values():
        conformance.check(Call(name, tuple(inputs)))


@pytest.mark.slow
def test_another_order_of_sums_would_show(
    extra_generated: Path, sources: dict[str, str], expected: dict[str, str]
) -> None:
    found = changed(compiled_with(extra_generated, sources, *FAST), expected)
    assert found >= CHANGED_BY_ORDER


@pytest.mark.slow
def test_fused_operations_would_show(
    extra_generated: Path, sources: dict[str, str], expected: dict[str, str]
) -> None:
    if "__FP_FAST_FMA " not in macros("-march=native"):
        pytest.skip("this machine has no fused multiply-add")
    found = changed(compiled_with(extra_generated, sources, *FUSED), expected)
    assert found >= CHANGED_BY_FUSING
    assert "exact_totals float64" not in found


def macros(*flags: str) -> str:
    """What the compiler defines."""
    command = (*c_compiler().command, *flags, "-dM", "-E", "-x", "c", "-")
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    return done.stdout


def test_fast_arithmetic_is_refused(sources: dict[str, str]) -> None:
    with pytest.raises(BuildError, match="compile without -ffast-math"):
        compile_library(sources, name="rounding", flags=("-ffast-math",))
