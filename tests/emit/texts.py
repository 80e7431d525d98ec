"""Prints a digest of every generated text, in whatever process and folder this runs."""

from __future__ import annotations

import hashlib
import json

from cvmgen import driver
from tests.conftest import extra
from tests.targets import LANGUAGES


def main() -> None:
    found = driver.generate(extra(), LANGUAGES)
    print(json.dumps({name: digest(text) for name, text in found.items()}))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
