"""`cvmgen build --report`: what CUDA kernels become, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cvmgen.build import cuda_compiler, cuda_resources, disassembler
from cvmgen.build.gates import GATES, Gate
from cvmgen.cli.options import ARCHITECTURES
from cvmgen.cli.report import HEADS, File, measured_kernels
from cvmgen.errors import BuildError

from .conftest import Outcome

Build = Callable[..., Outcome]

KERNELS = [
    f"toy_{name}_Y_{x}_{y}"
    for name in ("double", "shifted")
    for x in ("int8", "int32")
    for y in ("int8", "int32")
]
REPORT = ("--target", "cuda", "--report")
FOLDER = ("folder", "changes", "stale", "warnings", "faults")


@pytest.fixture(autouse=True)
def compiler() -> str:
    try:
        return cuda_compiler().kind
    except BuildError as error:
        pytest.skip(str(error))


def headers(folder: Path) -> dict[str, str]:
    """What `double` includes."""
    own = folder / "toy/double.h"
    found = {path.name: path.read_text() for path in folder.glob("cvmgen*.h")}
    return {**found, "toy/double.h": own.read_text()}


@pytest.fixture
def machine_code() -> None:
    if disassembler() is None:
        pytest.skip("no nvdisasm here")


def test_a_line_for_each_kernel_and_architecture(build: Build, machine_code: None) -> None:
    outcome = build(*REPORT)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("operator "))
    assert lines[start].replace("16-byte ", "16-byte_").split() == [
        head.replace(" ", "_") for head in HEADS
    ]
    rows = [line.split() for line in lines[start + 1 : start + 1 + 24]]
    assert [(row[1], row[3]) for row in rows] == [
        (kernel, architecture) for kernel in KERNELS for architecture in ARCHITECTURES
    ]
    assert {row[0] for row in rows} == {"toy.double", "toy.shifted"}
    assert lines[start + 25] == ""
    assert lines[start + 26].startswith("kernels: 8, for sm_80, sm_90, sm_120; compiled by ")
    assert lines[start + 26].endswith("instructions counted in machine code")


def test_for_programs(build: Build, tmp_path: Path, compiler: str, machine_code: None) -> None:
    outcome = build(*REPORT, "--architecture", "sm_90", "toy.double", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert set(outcome.json) == {*FOLDER, "library", "cuda"}
    found = outcome.json["cuda"]
    assert (found["compiler"], found["instructions"]) == (compiler, "machine code")
    assert Path(found["disassembler"]).stem == "nvdisasm"
    assert [each["kernel"] for each in found["kernels"]] == KERNELS[:4]
    first = found["kernels"][0]
    folder = tmp_path / "generated/cuda"
    resources = cuda_resources(
        (folder / "toy/double.cu").read_text(),
        architecture="sm_90",
        includes=headers(folder),
    )[first["kernel"]]
    assert first == {
        "operator": "toy.double",
        "kernel": "toy_double_Y_int8_int8",
        "class": first["class"],
        "architecture": "sm_90",
        "registers": resources.registers,
        "spilled": 0,
        "stack": 0,
        "shared": 0,
        "loads": first["loads"],
        "stores": first["stores"],
        "matrix_products": 0,
        "dot_products": 0,
        "async_copies": 0,
        "local": 0,
        "product_loop": None,
        "breaks": [],
    }
    for side in ("loads", "stores"):
        assert first[side]["count"] >= max(1, first[side]["wide"])


def test_a_report_of_what_was_built_before(build: Build, machine_code: None) -> None:
    build("--target", "cuda", "shifted")
    outcome = build(*REPORT, "shifted", "--architecture", "sm_80", "--architecture", "sm_80")
    assert outcome.out.startswith("operator ")
    assert sum(line.startswith("toy.shifted ") for line in outcome.out.splitlines()) == 4


def test_without_a_disassembler_ptx_is_counted(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("cvmgen.build.cuda", "cvmgen.cli.report"):
        monkeypatch.setattr(f"{module}.disassembler", lambda: None)
    outcome = build(*REPORT, "--architecture", "sm_80", "--json")
    assert outcome.code == 0
    found = outcome.json["cuda"]
    assert (found["disassembler"], found["instructions"]) == (None, "PTX")
    assert all(each["stores"]["count"] for each in found["kernels"])
    assert outcome.err.startswith("note: no nvdisasm found")
    assert build(*REPORT).out.splitlines()[-2].endswith("instructions counted in PTX")


def test_a_broken_gate_fails(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    strict = Gate("8 registers", None, lambda resources, _: resources.registers <= 8)
    monkeypatch.setattr("cvmgen.build.gates.GATES", (*GATES, strict))
    outcome = build(*REPORT, "--architecture", "sm_80")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == "gates are broken in 8 of 8 rows"
    rows = [line for line in outcome.out.splitlines() if line.startswith("toy.")]
    assert all(line.endswith("  8 registers") for line in rows)
    breaks = [each["breaks"] for each in build(*REPORT, "--json").json["cuda"]["kernels"]]
    assert breaks == [["8 registers"]] * 24


REFUSED = [
    (
        ("--report", "--target", "python"),
        "error: --report is about C and CUDA: it needs --target c or --target cuda",
    ),
    (("--report", "--check"), "error: --report does not go with --check"),
    (("--architecture", "sm_90"), "error: --architecture goes with --report"),
    (
        ("--report", "--architecture", "hopper"),
        "cvmgen build: error: argument --architecture: an architecture reads like sm_80, not "
        "'hopper'",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_the_command_line_refuses(
    build: Build, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    outcome = build(*arguments)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == message
    assert not (tmp_path / "generated").exists()


def test_an_architecture_that_the_compiler_does_not_know(build: Build, compiler: str) -> None:
    outcome = build(*REPORT, "--architecture", "sm_777", "--json")
    assert outcome.code == 3
    assert outcome.json["error"]["kind"] == "compiler"
    assert f"{compiler} compiles for no architecture sm_777; it knows sm_" in outcome.err


def test_without_a_compiler(build: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("cvmgen.build.compilers._wheels", lambda: iter(()))
    monkeypatch.setattr("cvmgen.build.compilers._USUAL_TOOLKIT", tmp_path)
    outcome = build(*REPORT)
    assert outcome.code == 3
    assert outcome.err.startswith("error: no CUDA compiler found")
    assert "cvmgen[cuda]" in outcome.err


def test_a_file_that_the_compiler_refuses(build: Build, tmp_path: Path, compiler: str) -> None:
    build("--target", "cuda")
    folder = tmp_path / "generated/cuda"
    manifest = tmp_path / "generated/manifest.json"
    place = "spec/toy/numbers.cvm:6"
    nest = r"( +/\* double line 6: .*\*/\n)"
    source = re.sub(nest, r"\1    Z = 0;\n", (folder / "toy/double.cu").read_text(), count=1)
    line = source[: source.index("Z = 0")].count("\n") + 1
    with pytest.raises(BuildError) as caught:
        measured_kernels(
            File("toy.double", "toy/double.cu", source, headers(folder), manifest, {}),
            "sm_80",
            compiler,
        )
    first, second, *_ = str(caught.value).splitlines()
    assert first == f"{compiler} refuses toy/double.cu, in code that comes from {place}:"
    assert second == f'  toy/double.cu({line}): error: identifier "Z" is undefined'
