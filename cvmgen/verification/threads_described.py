"""The texts of CUDA whose helpers are described for threads, as they were when that was written.

What helpers do is said a second time, in `threads_helpers.py` and `threads_tiles.py`, and trusted.
A text that changes, in more than comments and blanks, makes what is said of it stale: read both
again, mend the description, and write the digest that `stale` gives here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from cvmgen.paths import runtime_folder, templates_folder

DESCRIBED: Mapping[str, str] = {
    "cvmgen_cuda.h.j2": "78fb612e86ae1a87",
    "cvmgen_block.h.j2": "18002a82fd74e0da",
    "cvmgen_reduce.h.j2": "a7144da5274a8f36",
    "cvmgen_tiles.h.j2": "869ab94e95b93bb3",
    "cvmgen_window.h.j2": "b8188555c5c68903",
    "cvmgen_vector.h": "3949bb13a3ced110",
}


def texts() -> dict[str, Path]:
    """Where the described texts are."""
    folders = {".j2": templates_folder(), ".h": runtime_folder()}
    return {name: folders[Path(name).suffix] / "cuda" / name for name in DESCRIBED}


def digest(text: str) -> str:
    """Of the code alone: without comments, and any blanks as one."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\{#.*?#\}", " ", text, flags=re.DOTALL)
    return sha256(" ".join(code.split()).encode()).hexdigest()[:16]


def stale() -> dict[str, str]:
    """The texts that are not what was described, with the digests that they have now."""
    found = {name: digest(path.read_text(encoding="utf-8")) for name, path in texts().items()}
    return {name: now for name, now in found.items() if now != DESCRIBED[name]}
