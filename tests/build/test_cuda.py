"""CUDA C++ to machine code; needs NVRTC or nvcc, no driver and no GPU."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from cvmgen.build import (
    Accesses,
    Disassembler,
    compile_cuda,
    cuda_assembly,
    cuda_compiler,
    cuda_instructions,
    cuda_resources,
    disassembler,
)
from cvmgen.build.cuda import Resources, _resources
from cvmgen.build.machine_code import sass_lines
from cvmgen.errors import BuildError

SOURCE = """\
#ifndef __CUDACC_RTC__
#include <stdint.h>
#endif
#include "cvm.cuh"
/* add line 7: Y[i] = X[i] + ONE */
extern "C" __global__ void add(const i32 *X, i32 *Y, i64 n) {
  for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (i64)blockDim.x)
    Y[i] = X[i] + ONE;
}
"""
INCLUDES = {"cvm.cuh": "typedef int i32;\ntypedef long long i64;\n#define ONE 1\n"}

ELF = b"\x7fELF"


@pytest.fixture(params=["nvrtc", "nvcc"])
def compiler(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    try:
        cuda_compiler(kind)
    except BuildError as error:
        pytest.skip(str(error))
    return kind


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_compiles_to_machine_code(compiler: str, architecture: str) -> None:
    cubin = compile_cuda(SOURCE, includes=INCLUDES, architecture=architecture, compiler=compiler)
    assert cubin.startswith(ELF)
    assert b"add" in cubin
    # The architecture stands in the ELF header's flags: in their lowest byte up to version 7 of
    # the format, in the next one since.
    flags = int.from_bytes(cubin[48:52], "little")
    assert int(architecture.removeprefix("sm_")) in (flags & 0xFF, flags >> 8 & 0xFF)


def test_the_second_time_comes_from_the_cache(
    compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler)
    monkeypatch.setattr("cvmgen.build.cuda._compile", lambda *_: pytest.fail("compiled again"))
    assert compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler) == first


def test_everything_counts(compiler: str, cache: Path) -> None:
    other = {"cvm.cuh": INCLUDES["cvm.cuh"].replace("ONE 1", "ONE 2")}
    compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler)
    compile_cuda(SOURCE, includes=other, compiler=compiler)
    compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler, flags=("-DUNUSED=1",))
    compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler, architecture="sm_90")
    compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler, name="add.cu")
    assert len(list(cache.rglob("*.cubin"))) == 5


SPILLING = """\
extern "C" __global__ void few(int *x) { x[threadIdx.x] += 1; }
extern "C" __global__ void __launch_bounds__(1024) many(float *x) {
  float a[256];
#pragma unroll
  for (int i = 0; i < 256; i++) a[i] = x[i * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 256; i++) x[(255 - i) * 32 + threadIdx.x] = a[i] * a[(i * 7) % 256];
}
"""


def test_resources_show_spills(compiler: str) -> None:
    found = cuda_resources(SPILLING, compiler=compiler)
    assert set(found) == {"few", "many"}
    assert found["few"].spilled == found["few"].stack == 0
    assert 0 < found["few"].registers < 32
    assert found["many"].spilled > 0


LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'plain' for 'sm_120'
ptxas info    : Function properties for plain
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers
ptxas info    : Compile time = 2.175 ms
ptxas info    : Compiling entry function 'calling' for 'sm_80'
ptxas info    : Function properties for calling
    160 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 176 bytes cumulative stack size, 512 bytes smem, 368 bytes cmem[0]
ptxas info    : Function properties for _Z1fPKii
    16 bytes stack frame, 20 bytes spill stores, 40 bytes spill loads
"""  # noqa: E501


def test_what_ptxas_says() -> None:
    assert dict(_resources(LOG)) == {
        "plain": Resources(registers=18, stack=0, spilled=0, shared=0),
        # With the spills of what it calls.
        "calling": Resources(registers=24, stack=176, spilled=72, shared=512),
    }
    assert dict(_resources("")) == {}


def test_ptxas_in_other_words() -> None:
    with pytest.raises(BuildError, match="usual words what plain takes:\nptxas info"):
        dict(_resources(LOG.replace("Used 18 registers", "18 registers are used")))


SHARED = """\
extern "C" __global__ void turn(int *x) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
"""


def test_resources_show_shared_memory(compiler: str) -> None:
    assert cuda_resources(SHARED, compiler=compiler)["turn"].shared == 256


MOVING = """\
extern "C" __global__ void wide(const int4 *__restrict__ x, int4 *y) {
  y[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void narrow(const int *x, int *y) {
  y[threadIdx.x] = __dp4a(x[threadIdx.x], y[threadIdx.x], 3);
}
"""


@pytest.fixture(params=["nvdisasm", "PTX"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What machine code is read with."""
    kind: str = request.param
    if kind == "nvdisasm" and disassembler() is None:
        pytest.skip("no nvdisasm here")
    if kind == "PTX":
        monkeypatch.setattr("cvmgen.build.cuda.disassembler", lambda: None)
    return kind


@pytest.mark.parametrize("architecture", ["sm_80", "sm_120"])
def test_instructions(compiler: str, reader: str, architecture: str) -> None:
    found = cuda_instructions(MOVING, compiler=compiler, architecture=architecture)
    assert set(found) == {"wide", "narrow"}
    assert found["wide"].loads == found["wide"].stores == Accesses(1, wide=1)
    assert found["narrow"].loads == Accesses(2, wide=0)
    assert found["narrow"].stores == Accesses(1, wide=0)
    assert (found["wide"].dot_products, found["narrow"].dot_products) == (0, 1)


INLINED = """\
	.section	.text.wide,"ax",@progbits
wide:
.text.wide:
	//## File "/x/own/wide.cu", line 9
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/x/help.h", line 27 inlined at "/x/own/wide.cu", line 3
	//## File "/x/own/wide.cu", line 3 inlined at "/x/own/wide.cu", line 7
	//## File "/x/own/wide.cu", line 7
.L_x_1:
        /*0010*/               @P0 BRA `(.L_x_1) ;
	//## File "/x/help.h", line 27
        /*0020*/                   EXIT ;
"""


def test_instructions_know_their_lines(compiler: str) -> None:
    assert [*sass_lines(INLINED, "own/wide.cu")] == [
        ("wide:", 0),
        ("  LDC R1, c[0x0][0x28]", 9),
        (".L_x_1:", 3),
        ("  @P0 BRA `(.L_x_1)", 3),
        ("  EXIT", 0),
    ]
    if disassembler() is None:
        pytest.skip("no nvdisasm here")
    found = cuda_assembly(MOVING, compiler=compiler, architecture="sm_80")
    (product,) = [line for text, line in found if "IDP" in text]
    assert product == 5


def test_instructions_and_resources_come_from_one_run(
    compiler: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cuda_instructions(MOVING, compiler=compiler)
    monkeypatch.setattr("cvmgen.build.cuda._compile", lambda *_: pytest.fail("compiled again"))
    assert cuda_instructions(MOVING, compiler=compiler) == first
    assert set(cuda_resources(MOVING, compiler=compiler)) == set(first)


def test_a_disassembler_that_cannot_read_it(
    compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin/nvdisasm"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho too new\nexit 1\n")
    program.chmod(0o755)
    found = Disassembler(program, "old")
    monkeypatch.setattr("cvmgen.build.cuda.disassembler", lambda: found)
    with pytest.raises(
        BuildError, match=r"nvdisasm cannot read .* made of kernel\.cu: too new; `pip"
    ):
        cuda_instructions(MOVING, compiler=compiler)


def test_a_refusal_of_the_last_stage_names_the_formula(compiler: str) -> None:
    large = SHARED.replace("64", "65536").replace("{", "{\n/* turn line 9: Y = X */", 1)
    with pytest.raises(BuildError, match="too much shared data") as caught:
        compile_cuda(large, compiler=compiler)
    first, second, last = str(caught.value).splitlines()
    assert first == f"{compiler} refuses kernel.cu, in code that comes from turn line 9:"
    assert second.strip().startswith("ptxas error")
    assert last.startswith("The sources are kept in ")


def test_a_refusal_names_the_formula_and_keeps_the_source(compiler: str) -> None:
    wrong = SOURCE.replace("Y[i] = X[i] + ONE;", "Y[i] = Z[i];")
    with pytest.raises(BuildError) as caught:
        compile_cuda(wrong, includes=INCLUDES, compiler=compiler, name="add.cu")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{compiler} refuses add.cu, in code that comes from add line 7:"
    assert lines[1] == '  add.cu(8): error: identifier "Z" is undefined'
    folder = Path(lines[-1].removeprefix("The sources are kept in "))
    assert (folder / "add.cu").read_text() == wrong


def test_an_architecture_that_the_compiler_does_not_know(compiler: str) -> None:
    rule = rf"^{compiler} compiles for no architecture sm_777; it knows sm_.*\bsm_80, .*\d$"
    with pytest.raises(BuildError, match=rule):
        compile_cuda(SOURCE, includes=INCLUDES, compiler=compiler, architecture="sm_777")
    with pytest.raises(ValueError, match="reads like sm_80"):
        compile_cuda(SOURCE, architecture="hopper", compiler=compiler)


@pytest.mark.parametrize("compiler", ["nvrtc"], indirect=True)  # nvcc's bytes vary from run to run
def test_products_and_sums_are_not_contracted(compiler: str) -> None:
    source = 'extern "C" __global__ void f(float *x) { x[0] = x[1] * x[2] + x[3]; }'
    ours = compile_cuda(source, compiler=compiler)
    assert ours == compile_cuda(source, compiler=compiler, flags=("--fmad=false",))
    assert ours != compile_cuda(source, compiler=compiler, flags=("--fmad=true",))


@pytest.mark.parametrize("kind", [None, "nvrtc", "nvcc"])
def test_no_compiler(kind: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("cvmgen.build.compilers._USUAL_TOOLKIT", tmp_path / "none")
    with pytest.raises(BuildError, match=r"found.*nvidia-cuda-nvrtc.*cvmgen\[cuda\]"):
        cuda_compiler(kind)
    assert disassembler() is None


def test_a_toolkit_brings_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder, name in itertools.product(
        [tmp_path / "toolkit"], ["lib64/libnvrtc.so.13", "bin/nvcc", "bin/nvdisasm"]
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#!/bin/sh\necho nvcc 13\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cuda_compiler().path == tmp_path / "toolkit/lib64/libnvrtc.so.13"
    assert cuda_compiler("nvcc").path == tmp_path / "toolkit/bin/nvcc"
    reader = disassembler()
    assert reader is not None
    assert reader.path == tmp_path / "toolkit/bin/nvdisasm"
    with pytest.raises(BuildError, match="cannot load NVRTC"):
        compile_cuda("", compiler="nvrtc")
