"""The wake word example: a recording is heard, the same on two targets and in a C program.

Its model and what makes features of sound are in a package of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pymicro_wakeword", reason="pip install 'cvmgen[wake]' brings the model")
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "wake_word" / "wake_word.py"


def test_the_recording_is_heard() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "okay_nabu in okay_nabu.wav: heard 2.13 s from its beginning",
        "88 runs, the surest of them 251 of 255",
        "numpy: the same",
        "the C program: the same",
    ]


def test_another_word_is_not_heard() -> None:
    command = [sys.executable, SCRIPT, "--word", "alexa", "--targets"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *_, last = done.stdout.splitlines()
    assert (first, last) == ("alexa in okay_nabu.wav: not heard", "the C program: the same")
