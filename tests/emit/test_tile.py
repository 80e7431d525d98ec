"""The register tile: every variant that a processor has gives what the definition says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cvmgen.build import c_compiler
from cvmgen.emit.c_support import emit_support
from tests.emulated import ARM

PROGRAM = Path(__file__).with_name("tiles.c")
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


def written(folder: Path) -> list[Path]:
    """The sources of the register tile, which are put into a folder with all that they include."""
    for name, text in emit_support().items():
        (folder / name).write_text(text)
    return [*sorted(folder.glob("cvmgen_tile*.c")), folder / "cvmgen_x86.c"]


def compiled(folder: Path, compiler: Sequence[str], *flags: str, program: Path = PROGRAM) -> Path:
    names, made = map(str, (program, *written(folder))), folder / "made"
    line = (*compiler, *FLAGS, *flags, f"-I{folder}", *names, "-lm", "-o", str(made))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def variants(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_every_variant_here(tmp_path: Path) -> None:
    found = variants(str(compiled(tmp_path, c_compiler().command)))
    assert found[-1] == "generic_plain"


def test_no_variant_reads_or_writes_beyond_what_it_is_given(tmp_path: Path) -> None:
    flags = ("-O1", "-g", "-fsanitize=address", "-fno-sanitize-recover=all")
    try:
        program = compiled(tmp_path, c_compiler().command, *flags)
    except AssertionError as error:
        pytest.skip(f"no sanitizers here: {error}")
    assert variants(str(program))[-1] == "generic_plain"


def test_the_variant_for_arm(tmp_path: Path) -> None:
    sources = (PROGRAM, *written(tmp_path))
    ARM.check_variants(ARM.found().compile(tmp_path / "tiles", sources, "-O2", f"-I{tmp_path}"))


SHOWN = """\
#include "cvmgen_tile.h"
#include <stdio.h>
int main(void) { puts(cvmgen_variant()); puts(cvmgen_variant_name(0)); return 0; }
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program that prints which variant is chosen, and the best one."""
    folder = tmp_path_factory.mktemp("shown")
    (folder / "shown.c").write_text(SHOWN)
    return str(compiled(folder, c_compiler().command, "-O0", program=folder / "shown.c"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("generic_plain", "generic_plain"), ("generic", "generic_"), ("none such", "")],
)
def test_the_environment_names_a_variant(
    shown: str, monkeypatch: pytest.MonkeyPatch, name: str, wanted: str
) -> None:
    monkeypatch.setenv("CVMGEN_VARIANT", name)
    chosen, best = variants(shown)
    assert chosen.startswith(wanted) if wanted else chosen == best


CROWDED = """\
#define _DEFAULT_SOURCE
#include "cvmgen_tile.h"
#include <signal.h>
#include <stdio.h>
static char small[8192]; /* has room for all registers but those that are matrices */
int main(void) {
    const stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
    if (sigaltstack(&stack, NULL)) return 1;
    puts(cvmgen_variant());
    return 0;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux gives matrices to those who ask")
def test_a_refusal_of_matrices_leaves_the_next_variant(tmp_path: Path) -> None:
    (tmp_path / "crowded.c").write_text(CROWDED)
    crowded = compiled(tmp_path, c_compiler().command, "-O0", program=tmp_path / "crowded.c")
    assert variants(str(crowded)) != ["avx512amx"]
