"""The operators of each target that Python calls."""

from __future__ import annotations

import pytest

from cvmgen.api import Operators
from tests.targets import TARGETS


@pytest.fixture(params=TARGETS)
def ops(request: pytest.FixtureRequest, libraries: dict[str, Operators]) -> Operators:
    return libraries[request.param]
