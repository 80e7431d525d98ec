"""The CUDA target: which loops become the grid, the text, and its compilation to machine code."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from cvmgen.analysis.grid import grid
from cvmgen.build import (
    CudaCompiler,
    broken_gates,
    cuda_compiler,
    cuda_instructions,
    cuda_resources,
)
from cvmgen.build.gates import GATES
from cvmgen.emit import c_support, cuda, cuda_support
from cvmgen.errors import BuildError
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.gpu.mapped import MappingTask
from cvmgen.schedule.gpu.threads import threads
from cvmgen.schedule.schedules import packaged
from cvmgen.schedule.signatures import DeviceSignatures, mapping_of
from tests.emit.cuda_texts import (
    NAMES,
    TILED,
    WARNINGS,
    classes,
    compile_with,
    cplusplus,
    headers,
    kernels_of,
    operators,
    program,
    text,
    write,
    write_all,
)
from tests.operators import OWN, sampled, sweeps

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
PARAMETERS = 4096  # bytes that a kernel's parameters take at most
TILES = all_settings(packaged())["tensor_tiles"]
# Registers that a thread may take where kernels of a class keep what their bounds promise.
MOST = {
    "grid": 65536 // (cuda_support.BLOCK * cuda_support.RESIDENT),
    "powers": 65536 // (cuda_support.BLOCK * 2),
    "contraction": 65536 // (TILES["threads"] * TILES["resident"]),
}

# ---------------------------------------------------------------- the grid

N, M, D, X = i.Var("N"), i.Var("M"), i.Var("d"), i.Var("x")
SPAN = operators()[NAMES[0]].span
STORE = i.Store(i.Load("Y", None, D), X, SPAN)


ZERO = i.Const(0)


def loop(index: str, high: i.Expr, *body: i.Stmt, low: i.Expr | None = ZERO) -> i.Loop:
    return i.Loop(index, low, high, body, 0, SPAN)


def let(name: str, value: i.Expr) -> i.Let:
    return i.Let(name, "int", value, SPAN)


ADD = i.Accumulate("x", "+", i.Const(1), SPAN)
GRIDS = [
    ("d", (loop("d", N, STORE),), "one loop"),
    ("i d", (loop("i", N, loop("d", M, STORE)),), "a perfect nest"),
    ("i d", (loop("i", N, let("x", i.Var("i")), loop("d", M, STORE)),), "a local between"),
    ("d", (let("x", N), loop("d", M, STORE)), "a local in front"),
    ("i", (loop("i", N, loop("d", i.Var("i"), STORE)),), "the bound is an outer index"),
    ("i", (loop("i", N, let("x", N), loop("d", X, STORE)),), "the bound is a local"),
    ("i", (loop("i", N, let("x", N), loop("d", M, ADD), STORE),), "a reduction is serial"),
    ("i", (loop("i", N, let("x", N), loop("d", M, ADD, STORE)),), "a running sum is serial"),
    ("", (let("x", N), loop("d", N, ADD), STORE), "one result: one thread"),
    ("", (loop("d", N, STORE, low=None),), "over a list"),
]


@pytest.mark.parametrize(("indices", "body", "why"), GRIDS, ids=[row[-1] for row in GRIDS])
def test_which_loops_become_the_grid(indices: str, body: tuple[i.Stmt, ...], why: str) -> None:
    found = grid(body)
    assert [each.index for each in found.loops] == indices.split(), why
    left = sum(isinstance(each, i.Let) for each in body)
    assert len(found.body) >= left


def shared(body: tuple[i.Stmt, ...]) -> tuple[i.Stmt, ...]:
    """The statements of a kernel whose threads share the outermost loops."""
    whole = program(NAMES[0])
    task = MappingTask(whole, replace(whole.nests[0], body=body), body, "kernel", {}, {})
    (kernel,) = threads(task).functions
    return kernel.body


def test_without_a_grid_one_thread_runs() -> None:
    body = (let("x", N), STORE)
    first, *_ = block_lines(shared(body))
    assert first == "if thread() > 0:"


def test_a_loop_that_does_not_begin_at_zero() -> None:
    body = (loop("i", N, loop("d", M, STORE, low=i.Const(2)), low=i.Const(1)),)
    assert block_lines(shared(body)) == [
        "let elements: i64 = (N - 1) * (M - 2)",
        "by grid from thread() by threads() for 0 <= at < elements:",
        "  let d: i64 = 2 + at rem (M - 2)",
        "  Y@[d] = x",
    ]


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize("name", sampled(NAMES))
def test_the_kernels_of_an_operator(name: str) -> None:
    every_kernel_says_where_it_comes_from(name)
    every_kernel_has_a_class(name)
    recognisers_pick_what_mappings_pick(name)
    parameters_fit_a_launch(name)


def every_kernel_says_where_it_comes_from(name: str) -> None:
    """Or calls a function for several element types, which does."""
    found = kernels_of(name)
    quoted = {found.program.quoted(each.nest): 0 for each in found.kernels}
    for part in re.split(r'^(?=extern "C" __global__|template <)', text(name), flags=re.M)[1:]:
        own = [each for each in quoted if f" /* {each} */ " in " ".join(part.split())]
        assert len(own) == 1 or re.search(r"_body(_\d+)?<", part)
        quoted |= dict.fromkeys(own, 1)
    assert all(quoted.values())


def test_kernels_that_differ_in_types_alone_are_one_function() -> None:
    convolution = text("cvm.conv2d")
    assert convolution.count("template <typename element_t, typename result_t") == 3
    assert convolution.count('extern "C" __global__ ') == 12
    assert "conv2d_Y_body<int8_t, int32_t>(values, X, W, B, Y);" in convolution


def every_kernel_has_a_class(name: str) -> None:
    heads = text(name).split('extern "C" __global__ ')[1:]
    names = [re.match(r"void __launch_bounds__\([^)]*\)\s+(\w+)\(", head) for head in heads]
    assert {found and found[1] for found in names} == set(classes(name))
    assert len(names) == len(classes(name))


@pytest.mark.parametrize("names", sweeps(NAMES))
def test_which_nests_are_contractions(names: list[str]) -> None:
    found = [name for name in {*names, *TILED} if "contraction" in classes(name).values()]
    assert tuple(sorted(found)) == TILED


# By the class that recognisers find: the kernels that a nest may get. A mapping may decline what is
# of its class: then a general one takes it.
KINDS = {
    "selection": {"list"},
    "list": {"list"},
    "contraction": {"contraction", "grid"},  # tiles of operators take no zero points
    "window": {"window", "reduction", "grid"},
    "reduction": {"reduction", "grid"},
    "elementwise": {"streaming", "vector", "grid"},
    "other": {"reduction", "grid"},  # sweeps of several kinds, and those that look for an element
}
# Where a mapping takes what its recogniser does not know: maxima spread over the places they are
# of, which lie in windows too.
BEYOND = {"extra.spread_maxima": "window"}


def recognisers_pick_what_mappings_pick(name: str) -> None:
    for kernel in kernels_of(name).kernels:
        plan, _ = packaged().chosen("cuda", kernel.subject)
        assert plan is not None
        first, *_ = mapping_of(kernel).functions
        known = KINDS[plan.schedule.shape.text] | {BEYOND.get(name, "")}
        # What tests places has memory as lists have, but makes none.
        assert first.kind in known or kernel.nest.guarded is not None


def test_the_support_files_are_those_of_c() -> None:
    of_c, of_cuda = c_support.emit_support(), cuda_support.emit_support()
    names = ("", "_elementary", "_kernel", "_power", "_runtime")
    shared = {f"cvmgen{each}.h" for each in names}
    on_cpu = (f"cpu/{name}" for name in cuda_support.CPU_FILES)
    assert set(of_cuda) == {*shared, *cuda_support.HEADERS, cuda_support.STREAM, *on_cpu}
    assert all(of_cuda[name] == of_c[name] for name in shared)


def parameters_fit_a_launch(name: str) -> None:
    made = DeviceSignatures(kernels_of(name))
    for kernel in made.kernels.kernels:
        lists = [each.type == "cvmgen_list" for each in made.values[kernel.number]]
        values = sum(136 if is_list else 8 for is_list in lists)
        for function in mapping_of(kernel).functions:
            assert values + 8 * len(made.of(kernel, function)) <= PARAMETERS


# ---------------------------------------------------------------- compilation


def file(name: str) -> str:
    return f"{operators()[name].name}.cu"


def need(kind: str | None) -> CudaCompiler:
    try:
        return cuda_compiler(kind)
    except BuildError as error:
        pytest.skip(str(error))


# Those whose kernels have forms of their own, on one architecture after the other; the C++ compiler
# sees all kernels.
USUAL = dict(zip(NAMES, cycle(ARCHITECTURES)))
# What the first clips needs more than 64 bits: 96 bytes. Of the other one a kernel that fills its
# result and writes rows by indices keeps 28 on sm_80.
SPILLS = {"extra.unsigned_quantised", "tosa.scatter"}
COMPILED = [
    pytest.param(name, each, marks=pytest.mark.slow if seldom else ())
    for name, usual in USUAL.items()
    if name not in SPILLS
    for each in ARCHITECTURES
    for seldom in [each != usual or name not in {*OWN, *TILED}]
]


@pytest.mark.parametrize(("name", "architecture"), COMPILED)
def test_kernels_compile_without_spills(name: str, architecture: str) -> None:
    """And are made of what their classes ask for."""
    need(None)
    how = {"architecture": architecture, "includes": headers(), "name": file(name)}
    found, kinds = cuda_resources(text(name), **how), classes(name)
    assert set(found) == set(kinds)
    assert {kernel: each.spilled for kernel, each in found.items() if each.spilled} == {}
    for kernel, kind in kinds.items():
        powers = "__launch_bounds__(CVMGEN_BLOCK, 2)" in text(name)
        most = MOST["powers"] if powers else MOST.get(kind, MOST["grid"])
        assert found[kernel].registers <= most
    if {each for gate in GATES for each in gate.classes or ()}.isdisjoint(kinds.values()):
        return
    made = cuda_instructions(text(name), **how)
    broken = {
        kernel: broken_gates(kind, found[kernel], made[kernel]) for kernel, kind in kinds.items()
    }
    assert broken == dict.fromkeys(kinds, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["cvm.conv2d", "cvm.sum", "cvm.broadcast_add", "cvm.concatenate", "cvm.take"]
)
def test_the_whole_file_compiles_with_nvcc(name: str, tmp_path: Path) -> None:
    compiler = need("nvcc")
    write_all(tmp_path)
    warnings = ("-Werror", "all-warnings", "-Xcompiler", ",".join(WARNINGS))
    command = ("-c", "-I.", "-arch=sm_80", *warnings, f"{name.replace('.', '/')}.cu")
    output = ("-o", f"{name}.o")
    compile_with((str(compiler.path), *command, *output), tmp_path)


INCLUDERS = {
    "cuda then c": '#include "cuda/cvm.h"\n#include "c/cvm.h"\n',
    "c then cuda": '#include "c/cvm.h"\n#include "cuda/cvm.h"\n',
    "cuda alone": '#include "cuda/cvm.h"\n',
    "of one operator": '#include "c/cvm/relu.h"\n#include "cuda/cvm/relu.h"\n',
}
CALLER = """
int call(void);
int call(void) {
    cvm_relu_args args;
    cvmgen_error error;
    cvm_relu_defaults(&args);
    return cvm_relu_cuda(&args, NULL, &error);
}
"""


INTERFACE = {
    "c": lambda name: c_support.emit_interface(operators()[name]),
    "cuda": lambda name: cuda.emit_interface(kernels_of(name)),
}


@pytest.mark.parametrize("order", INCLUDERS)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_stands_beside_that_of_c(language: str, order: str, tmp_path: Path) -> None:
    own = [each for each in operators().values() if each.opset == "cvm"]
    for folder, emitter in (("c", c_support), ("cuda", cuda_support)):
        files = {f"cvm/{each.name}.h": INTERFACE[folder](each.full_name) for each in own}
        files |= emitter.emit_support() | {"cvm.h": emitter.emit_header("cvm", own)}
        write(files, tmp_path / folder)
    write({"caller": INCLUDERS[order] + CALLER}, tmp_path)
    standard = "c11" if language == "c" else "c++17"
    command = ("-Wall", "-Wextra", "-Werror", f"-std={standard}", "-fsyntax-only", "caller")
    compile_with((cplusplus(), "-x", language, *command), tmp_path)
