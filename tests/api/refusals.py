"""What an operator says of a call that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from cvmgen.errors import OperatorError


def refusal(function: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(OperatorError) as caught:
        function(*arguments, **more)
    return str(caught.value)
