"""Puts a compiled library into a wheel that is built while $CVMGEN_WHEEL_LIBRARY names its folder.

The folder holds what cvmgen/api/packaged.py finds, and `tag`, the platform of the wheel.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        chosen = os.environ.get("CVMGEN_WHEEL_LIBRARY")
        if not chosen or version == "editable":
            return
        folder = Path(chosen)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{(folder / 'tag').read_text().strip()}"
        for name in ("libcvmgen.so", "libcvmgen.json"):
            build_data["force_include"][str(folder / name)] = f"cvmgen/_data/library/{name}"
