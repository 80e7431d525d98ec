"""Whether there is the clang by which text is run on terms."""

from __future__ import annotations

from functools import cache

import pytest

from cvmgen.errors import BuildError
from cvmgen.verification.values import program


@cache
def has_clang() -> bool:
    try:
        return bool(program.clang())
    except BuildError:
        return False


needs_clang = pytest.mark.skipif(not has_clang(), reason="no clang: cvmgen[zig] brings one")
