"""What NVIDIA's compiler makes of the kernels: forms that the CPU cannot show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cvmgen.build import compile_cuda, cuda_compiler
from cvmgen.build.compilers import disassembler
from cvmgen.build.nvrtc import load_nvrtc
from cvmgen.build.process import run_command
from cvmgen.errors import BuildError
from tests.emit.cuda_texts import headers, text

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
STORES = """\
#include "cvmgen_kernel.h"
extern "C" __global__ void f32_of_f64(float *y, const double *x) {
    y[threadIdx.x] = cvmgen_stored_f32(x[threadIdx.x] + x[0]);
}
extern "C" __global__ void f32_of_f32(float *y, const float *x) {
    y[threadIdx.x] = cvmgen_stored_f32((double)x[threadIdx.x]);
}
extern "C" __global__ void f32_of_sum(float *y, const float *x) {
    y[threadIdx.x] = cvmgen_canonical_f32(x[threadIdx.x] + x[0]);
}
extern "C" __global__ void f32_of_max(float *y, const float *x) {
    y[threadIdx.x] = cvmgen_canonical_f32(cvmgen_max_f32(x[threadIdx.x], x[0]));
}
extern "C" __global__ void f64_of_sum(double *y, const double *x) {
    y[threadIdx.x] = cvmgen_stored_f64(x[threadIdx.x] + x[0]);
}
extern "C" __global__ void f64_of_max(double *y, const double *x) {
    y[threadIdx.x] = cvmgen_stored_f64(cvmgen_max_f64(x[threadIdx.x], x[0]));
}
"""
INSTRUCTION = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?:@\S+\s+)?(?P<code>[A-Z].*?)\s*;\s*/\* 0x(?P<word>[0-9a-f]{16}) \*/"
)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The machine code of STORES with its words."""
    reader, folder = disassembler(), tmp_path_factory.mktemp("code")
    if reader is None:
        pytest.skip("no nvdisasm here")
    try:
        made = compile_cuda(STORES, architecture=request.param, includes=headers())
    except BuildError as error:
        pytest.skip(str(error))
    (folder / "stores.cubin").write_bytes(made)
    return run_command((str(reader.path), "-c", "-hex", "stores.cubin"), folder=folder)[1]


def instructions(code: str, kernel: str) -> list[tuple[str, str]]:
    """The instructions of a kernel up to its first end, each with the word that it begins with."""
    _, part = code.split(f"\t.section\t.text.{kernel},", 1)
    found = [(each["code"], each["word"]) for each in INSTRUCTION.finditer(part)]
    return found[: next(at for at, (name, _) in enumerate(found) if name.startswith("EXIT")) + 1]


@pytest.mark.parametrize(
    ("kernel", "word", "high"),
    [
        ("f32_of_f64", "7fc00000", 0),
        ("f32_of_f32", "7fc00000", 0),
        ("f32_of_sum", "7fc00000", 0),
        ("f32_of_max", "7fc00000", 0),
        ("f64_of_sum", "7ff80000", 1),
        ("f64_of_max", "7ff80000", 1),
    ],
)
def test_nan_is_stored_in_its_one_form(code: str, kernel: str, word: str, high: int) -> None:
    """What is stored is chosen last, by bits; the hardware's own NaN are others."""
    *before, store = (
        each for each in instructions(code, kernel) if not re.match("EXIT|BRA|NOP|BSYNC", each[0])
    )
    source = re.search(r"R(\d+)$", store[0])
    assert store[0].startswith("STG"), store[0]
    assert source is not None, store[0]
    register = f"R{int(source[1]) + high}"
    made = [each for each in before if each[0].split()[1].startswith(f"{register},")]
    chosen, bits = made[-1]
    assert re.match(r"F?SEL ", chosen), chosen
    assert bits.startswith(word), (chosen, bits)


def test_lanes_of_a_warp_come_together_before_they_multiply() -> None:
    """`mma.sync.aligned` has no meaning for lanes that run apart."""
    try:
        compiler = cuda_compiler("nvrtc")
    except BuildError as error:
        pytest.skip(str(error))
    options = ("--std=c++17", "--gpu-architecture=compute_80", "--device-int128")
    ptx, log = load_nvrtc(Path(compiler.path)).compile(
        text("cvm.dense"), "dense.cu", headers(), options, ptx=True
    )
    assert ptx is not None, log
    # Between a place where lanes may part or meet and the next one.
    blocks = re.split(r"^\s*(?:@!?%p\d+\s+)?bra\b.*$|^\$?\w+:$", ptx.decode(), flags=re.MULTILINE)
    multiplying = [each for each in blocks if "mma.sync.aligned" in each]
    assert multiplying
    for each in multiplying:
        assert "bar.warp.sync" in each.split("mma.sync.aligned")[0]
