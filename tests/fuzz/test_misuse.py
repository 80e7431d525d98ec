"""Misused structures of the C interface are refused: nothing is read or written outside."""

from __future__ import annotations

import pytest

from cvmgen.api.library import library_sources
from cvmgen.build import compile_library
from cvmgen.build.library import sanitizer_environment
from tests.emit.processes import python
from tests.emit.units import joined
from tests.fuzz import seeds
from tests.operators import FOLDERS


@pytest.mark.parametrize("operators", FOLDERS)
def test_misuse_is_refused(operators: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(operators)
    kinds = ("address", "undefined")
    environment = sanitizer_environment(kinds)
    if not environment:
        pytest.skip("the compiler has no sanitizers that Python can load")
    # The same library as that of other tests with sanitizers.
    sources = joined(library_sources(folder))
    library = compile_library(sources, name="cvmgen", sanitizers=kinds, flags=("-O0",))
    given = seeds(6)
    said = python(
        "-m", "tests.fuzz.run_misused", folder, library, str(given.start), str(len(given)),
        **environment,
    )  # fmt: skip
    accepted, refused = map(int, said.split()[-2:])
    assert refused > accepted > 0
