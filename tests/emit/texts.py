"""Prints a digest of every generated text, in whatever process and folder this runs."""

from __future__ import annotations

import hashlib
import json

from cvmgen import driver
from tests.conftest import extra, product


def digests() -> dict[str, str]:
    texts = driver.generate([*product(), *extra()])
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


if __name__ == "__main__":
    print(json.dumps(digests()))
