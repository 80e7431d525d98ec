"""Fresh Python processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str | Path, folder: Path = ROOT, **environment: str) -> str:
    """What a fresh Python prints; the test fails with its errors when it does not end well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-4000:]}"
    return done.stdout
