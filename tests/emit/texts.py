"""Prints a digest of the texts of operators, in whatever process and folder this runs."""

from __future__ import annotations

import hashlib
import json

from cvmgen import driver
from tests.operators import extra
from tests.targets import LANGUAGES

EVERY = 12
"""One operator of so many: sets and hashes are walked alike in all."""


def main() -> None:
    made = [driver.operator_texts(each, LANGUAGES).files for each in extra()[::EVERY]]
    print(json.dumps({name: digest(text) for files in made for name, text in files.items()}))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
