"""What the tests of laws share."""

from __future__ import annotations

import pytest

from cvmgen.api import Operators, Opset
from tests.targets import TARGETS


@pytest.fixture(scope="session", params=TARGETS)
def cvm(request: pytest.FixtureRequest, libraries: dict[str, Operators]) -> Opset:
    """The CVM operators on each target in turn."""
    return libraries[request.param].cvm
