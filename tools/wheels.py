"""Wheels that need no compiler: `python tools/wheels.py FOLDER [MACHINE ...]`.

Writes one for each machine, its library compiled or at least linked by the zig of the extra `zig`
for the oldest C library that the wheel may meet, and one without a library for all other systems.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from cvmgen.api.library import deployed, library_sources
from cvmgen.api.packaged import ABOUT, NAME, SONAME, package_notes
from cvmgen.build import c_compiler, compile_library
from cvmgen.build.library import Linker
from cvmgen.build.process import run_command
from cvmgen.paths import generated_folder

ROOT = Path(__file__).resolve().parents[1]
GLIBC = (2, 17)
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
MACHINES = tuple(ELF_MACHINES)
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}
"""What manylinux allows to ask of a system, and of that what operators may need."""


def tag(machine: str) -> str:
    major, minor = GLIBC
    return f"manylinux_{major}_{minor}_{machine}"


def compiled(machine: str) -> Path:
    """The library of all committed operators for a machine."""
    target = f"{machine}-linux-gnu.{'.'.join(map(str, GLIBC))}"
    zig = (sys.executable, "-m", "ziglang", "cc", "-target", target)
    linker = of_this_machine(zig) if machine == platform.machine() else None
    chosen = os.environ.get("CC", "")
    os.environ["CC"] = chosen if linker else shlex.join(zig)
    flags = (*deployed(), "-Wl,--strip-all")
    sources = library_sources(generated_folder())
    library = compile_library(sources, name=f"cvmgen-{machine}", flags=flags, linker=linker)
    os.environ["CC"] = chosen
    check(library.read_bytes(), machine)
    return library


def of_this_machine(zig: tuple[str, ...]) -> Linker | None:
    """zig as the linker of what gcc compiles here, whose kernels are the faster ones; None where
    there is no gcc."""
    gcc = c_compiler()
    if "gcc" not in gcc.version.lower() and "free software foundation" not in gcc.version.lower():
        return None
    status, text = run_command((*gcc.command, "-print-libgcc-file-name"))
    return Linker((*zig, "-pthread"), (text.strip(),)) if status == 0 else None


def check(elf: bytes, machine: str) -> None:
    """Exit where a library is for another machine, or asks more of a system than the tag says."""
    is_elf = elf[:6] == b"\x7fELF\x02\x01"  # of 64 bits, little-endian
    if not is_elf or struct.unpack_from("<H", elf, 18)[0] != ELF_MACHINES[machine]:
        sys.exit(f"the library for {machine} is for another machine")
    versions = {tuple(map(int, each)) for each in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", elf)}
    needed = {each.decode() for each in re.findall(rb"\0(lib[\w+-]+\.so(?:\.\d+)*)(?=\0)", elf)}
    if not versions or max(versions) > GLIBC or not needed <= {SONAME, *LIBRARIES}:
        sys.exit(f"the library for {machine} needs {sorted(needed)}, GLIBC {sorted(versions)}")


def wheel(folder: Path, machine: str | None) -> None:
    """Build a wheel into a folder, with a library where a machine is named."""
    with tempfile.TemporaryDirectory() as place:
        environment = dict(os.environ)
        environment.pop("CVMGEN_WHEEL_LIBRARY", None)
        if machine is not None:
            print(f"compiling all operators for {machine}", flush=True)
            Path(place, NAME).write_bytes(compiled(machine).read_bytes())
            said = package_notes(library_sources(generated_folder()), machine)
            Path(place, ABOUT).write_text(json.dumps(said))
            Path(place, "tag").write_text(tag(machine))
            environment["CVMGEN_WHEEL_LIBRARY"] = place
        options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
        command = (sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder))
        subprocess.run((*command, str(ROOT)), env=environment, check=True)


def main(folder: str, *machines: str) -> None:
    for machine in (*(machines or MACHINES), None):
        wheel(Path(folder), machine)
    for path in sorted(Path(folder).glob("*.whl")):
        print(f"{path}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
