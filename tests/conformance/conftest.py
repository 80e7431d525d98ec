"""What the conformance tests share."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cvmgen.api import Operators
from cvmgen.reference import Reference
from tests.conformance.calls import Conformance


@pytest.fixture(scope="session")
def conformance(
    references: Mapping[str, Reference], libraries: Mapping[str, Operators]
) -> Conformance:
    """The reference and every target, to be compared call by call."""
    return Conformance(references, libraries)
