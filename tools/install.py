"""Set up a virtual environment with this checkout: `python3 tools/install.py FOLDER SET ...`.

A SET is `core`, or the name of extras in pyproject.toml joined by commas, or a requirement. Tells
what is done, and is never silent for two seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
TOLD = ("Collecting ", "Downloading ", "Processing ", "Installing ", "Successfully ")
EVERY = 1.5  # seconds between words
# In front of all else, and used from there: with everything in place no step needs a network.
BACKEND = ("hatchling>=1.24", "editables>=0.5")


class Ticker:
    """Says every now and then that the last thing said still goes on."""

    def __init__(self) -> None:
        self.said = self.first = time.monotonic()
        threading.Thread(target=self.tick, daemon=True).start()

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.said = self.first = time.monotonic()

    def tick(self) -> None:
        while True:
            time.sleep(0.1)
            now = time.monotonic()
            if now - self.said > EVERY:
                print(f"    {now - self.first:.0f} s", flush=True)
                self.said = now


def run(ticker: Ticker, *command: str) -> None:
    """Run a command, with those lines of it that say what it does; all of them if it fails."""
    lines = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line.strip().startswith(TOLD):
            ticker.say(f"  {line.strip()}")
    if process.wait():
        sys.exit("".join(lines) + f"failed: {' '.join(command)}")


def wanted(name: str) -> tuple[str, ...]:
    """What pip is asked for: the checkout with extras, or the requirement as it is."""
    import tomllib  # which older Pythons lack

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if name == "core":
        return ("--editable", ".")
    if project["optional-dependencies"].keys() >= {*name.split(",")}:
        return ("--editable", f".[{name}]")
    return (name,)


def main(arguments: Sequence[str]) -> None:
    usage = argparse.ArgumentParser(
        description="Set up a virtual environment with this checkout, in editable form.",
        epilog="A SET is `core`, or the name of extras in pyproject.toml joined by commas "
        "(test,cuda), or a requirement (ruff==0.14.6).",
    )
    usage.add_argument("folder", metavar="FOLDER", help="the environment's; made if not there")
    usage.add_argument("sets", metavar="SET", nargs="+", help="what to install into it")
    asked = usage.parse_args(arguments)
    folder, sets = asked.folder, asked.sets
    if sys.version_info < OLDEST:
        sys.exit("cvmgen needs Python 3.11 or later; set PYTHON=")
    ticker = Ticker()
    python = Path(folder, "bin", "python").absolute()
    if not python.exists():
        ticker.say(f"setting up {folder} (once)")
        run(ticker, sys.executable, "-m", "venv", folder)
    pip = (str(python), "-m", "pip", "install", "--disable-pip-version-check")
    ticker.say(f"installing into {folder}: {', '.join(sets)}")
    run(ticker, *pip, *BACKEND)
    run(ticker, *pip, "--no-build-isolation", *(each for name in sets for each in wanted(name)))


if __name__ == "__main__":
    main(sys.argv[1:])
