"""Attacks by invented formulas, schedules, files and calls.

Short in every test run, long by `make fuzz`.
Generators here share no code with the compiler. A module `test_TOPIC.py` says what is attacked and
draws from `seeds`: the same ones in every test run, others in each long one, which names them.
"""

from __future__ import annotations

import os

# How many times as long as in a test run.
EFFORT = int(os.environ.get("CVMGEN_FUZZ", "1"))
FIRST = int(os.environ.get("CVMGEN_FUZZ_SEED", "0"))


def seeds(count: int) -> range:
    """Seeds for a test that draws `count` times in a test run."""
    return range(FIRST, FIRST + count * EFFORT)
