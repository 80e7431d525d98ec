"""The CUDA target: its text, its compilation, and its kernels run on the CPU, thread by thread."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api.c_backend import CBackend, ErrorStruct, TensorStruct
from cvmgen.api.manifest import Manifest, OperatorInfo, operator_info
from cvmgen.api.operator import Operator
from cvmgen.build import CudaCompiler, cuda_compiler, cuda_resources
from cvmgen.driver import C_LIKE, COMMON, lower
from cvmgen.dtypes import DTYPES, precision_bound
from cvmgen.emit import c, cuda, interface
from cvmgen.errors import BuildError, OperatorError
from cvmgen.ir import nodes as i
from cvmgen.paths import spec_folder
from cvmgen.reference import Reference, Tensor
from cvmgen.source import Source
from cvmgen.spec import formula as f
from cvmgen.spec.check import SpecFile, check_files, read_folder
from cvmgen.spec.examples import plain

HERE = Path(__file__).parent
EXTRA = HERE.parent / "data" / "extra"
ARCHITECTURES = ("sm_80", "sm_90")
PARAMETERS = 4096  # bytes that a kernel's parameters take at most


@functools.cache
def operators() -> dict[str, f.Operator]:
    """The operators of spec/ and those of tests/data/extra, by their full names."""
    extra = [
        SpecFile(Source(f"tests/data/extra/{path.name}", path.read_text(encoding="utf-8")), "extra")
        for path in sorted(EXTRA.glob("*.cvm"))
    ]
    return {each.full_name: each for each in check_files((*read_folder(spec_folder()), *extra))}


@functools.cache
def program(name: str) -> i.Program:
    return lower(operators()[name], (*COMMON, *C_LIKE))


@functools.cache
def text(name: str) -> str:
    return cuda.emit_operator(program(name))


@functools.cache
def headers() -> dict[str, str]:
    opsets: dict[str, list[f.Operator]] = {}
    for each in operators().values():
        opsets.setdefault(each.opset, []).append(each)
    own = {f"{opset}.h": cuda.emit_header(opset, each) for opset, each in opsets.items()}
    return cuda.emit_support() | own


NAMES = tuple(operators())


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
    found = cuda.grid(body)
    assert [each.index for each in found.loops] == indices.split(), why
    left = sum(isinstance(each, i.Let) for each in body)
    assert len(found.body) >= left


def test_a_loop_that_does_not_begin_at_zero() -> None:
    body = (loop("i", N, loop("d", M, STORE, low=i.Const(2)), low=i.Const(1)),)
    printer = cuda.CudaKernelPrinter(program(NAMES[0]), body)
    assert printer.threads(cuda.grid(body)) == [
        "const int64_t elements = (N - 1) * (M - 2);",
        "for (int64_t at = cvmgen_thread(); at < elements; at += cvmgen_threads()) {",
        "    const int64_t d = 2 + at % (M - 2);",
        "    Y[d] = x;",
        "}",
    ]


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_says_where_it_comes_from(name: str) -> None:
    kernels = text(name).split('extern "C" __global__ ')[1:]
    nests = program(name).nests
    variants = len(interface.variants(program(name)))
    assert len(kernels) == variants * len(nests)
    for number, kernel in enumerate(kernels):
        nest = nests[number // variants]
        assert f" /* {nest.span.place}: {nest.formula} */ " in " ".join(kernel.split())


def test_the_support_files_are_those_of_c() -> None:
    of_c, of_cuda = c.emit_support(), cuda.emit_support()
    assert set(of_cuda) == {"cvmgen.h", "cvmgen_runtime.h", "cvmgen_cuda.h"}
    assert all(of_cuda[name] == of_c[name] for name in ("cvmgen.h", "cvmgen_runtime.h"))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_fit_a_launch(name: str) -> None:
    emitter = cuda.CudaEmitter(program(name))
    for nest in program(name).nests:
        lists = [each.type == "cvmgen_list" for each in emitter.value_fields(nest)]
        values = sum(136 if is_list else 8 for is_list in lists)
        assert values + 8 * len(emitter.tensors(nest)) <= PARAMETERS


SHOW_HASH = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.emit.test_cuda import digest
print(digest())
"""


def digest() -> str:
    """What all emitted text hashes to."""
    files = [*headers().items(), *((name, text(name)) for name in NAMES)]
    return hashlib.sha256(repr(files).encode()).hexdigest()


@pytest.mark.parametrize("seed", ["1", "20"])
def test_the_text_does_not_depend_on_the_hash_seed(seed: str) -> None:
    root = str(HERE.parent.parent)
    command = (sys.executable, "-c", SHOW_HASH, root)
    environment = {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


# ---------------------------------------------------------------- compilation


def need(kind: str | None) -> CudaCompiler:
    try:
        return cuda_compiler(kind)
    except BuildError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_compile_without_spills(name: str, architecture: str) -> None:
    # nvcc has 128-bit integers as it is.
    flags = ("--device-int128",) if need(None).kind == "nvrtc" else ()
    found = cuda_resources(
        text(name),
        architecture=architecture,
        includes=headers(),
        name=f"{operators()[name].name}.cu",
        flags=flags,
    )
    assert len(found) == text(name).count("__global__")
    assert all(kernel.startswith(name.replace(".", "_")) for kernel in found)
    assert {kernel: each.spilled for kernel, each in found.items() if each.spilled} == {}
    most = 65536 // (cuda.BLOCK * cuda.RESIDENT)
    assert max(each.registers for each in found.values()) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["cvm.conv2d", "cvm.sum", "cvm.broadcast_add", "extra.concatenate", "extra.take"]
)
def test_the_whole_file_compiles_with_nvcc(name: str, folder: Path) -> None:
    need("nvcc")
    warnings = ("-Werror", "all-warnings", "-Xcompiler", ",".join(WARNINGS))
    command = ("-c", "-I.", "-arch=sm_80", *warnings, f"{name.replace('.', '/')}.cu")
    output = ("-o", f"{name}.o")
    compile_with((str(cuda_compiler("nvcc").path), *command, *output), folder)


# In C++ `= {0}` leaves members out; it means what it says all the same.
WARNINGS = ("-Wall", "-Wextra", "-Wno-missing-field-initializers")
INCLUDERS = {
    "cuda then c": '#include "cuda.h"\n#include "c.h"\n',
    "c then cuda": '#include "c.h"\n#include "cuda.h"\n',
    "cuda alone": '#include "cuda.h"\n',
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


@pytest.mark.parametrize("order", INCLUDERS)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_stands_beside_that_of_c(language: str, order: str, tmp_path: Path) -> None:
    own = [each for each in operators().values() if each.opset == "cvm"]
    files = {
        "cvmgen.h": headers()["cvmgen.h"],
        "cuda.h": headers()["cvm.h"],
        "c.h": c.emit_header("cvm", own),
        "caller": INCLUDERS[order] + CALLER,
    }
    write(files, tmp_path)
    standard = "c11" if language == "c" else "c++17"
    command = ("-Wall", "-Wextra", "-Werror", f"-std={standard}", "-fsyntax-only", "caller")
    compile_with((cplusplus(), "-x", language, *command), tmp_path)


def cplusplus() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++ here")
    return found


def write(files: dict[str, str], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def compile_with(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All emitted files, as they lie in generated/cuda."""
    made = tmp_path_factory.mktemp("cuda")
    write(headers() | {f"{name.replace('.', '/')}.cu": text(name) for name in NAMES}, made)
    return made


# ---------------------------------------------------------------- execution on the CPU


class State(ctypes.Structure):
    """cuda_on_cpu_state."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in ("most_blocks", "backwards", "fail", "launches", "pending_errors", "stream")
    )


class OnCpu(CBackend):
    """The operators of a library whose CUDA kernels run on the CPU."""

    stream: int | None = None

    def __init__(self, path: Path, manifest: Manifest, place: Path) -> None:
        super().__init__(path, manifest, place)
        self.state = State.in_dll(self.library, "cuda_on_cpu")

    def function(self, name: str) -> Any:
        if name.endswith("_infer"):
            return super().function(f"{name.removesuffix('_infer')}_cuda_infer")
        run = super().function(f"{name}_cuda")
        stream = ctypes.c_void_p(self.stream)
        return lambda args, error: run(args, stream, error)


@pytest.fixture(scope="session")
def library(folder: Path) -> OnCpu:
    (folder / "all.cc").write_text(
        "".join(f'#include "{name.replace(".", "/")}.cu"\n' for name in NAMES)
    )
    shim = ("-include", str(HERE / "cuda_on_cpu.h"), "-I.", "-std=c++17")
    command = (cplusplus(), *shim, *WARNINGS, "-Werror", "-shared", "-fPIC", "all.cc")
    compile_with((*command, "-o", "all.so"), folder)
    codes = {name: dtype.code for name, dtype in DTYPES.items()}
    return OnCpu(folder / "all.so", Manifest(tuple(map(info, NAMES)), codes), folder)


@pytest.fixture
def on_cpu(library: OnCpu) -> Iterator[OnCpu]:
    yield library
    library.state.most_blocks = library.state.backwards = library.state.fail = 0
    library.stream = None


@functools.cache
def info(name: str) -> OperatorInfo:
    return operator_info(interface.manifest_entry(program(name)))


@dataclass(frozen=True)
class Case:
    """A call: shapes of the inputs (None: not given, a list: several tensors), attributes."""

    name: str
    shapes: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    precision: int = 12  # of int32 inputs


WIDE, LONG = ((3, 2, 50),), ((2, 3, 5, 20),)
CASES = [
    *(
        Case(f"cvm.broadcast_{each}", shapes)
        for each in ("add", "sub", "mul", "div", "max", "greater")
        for shapes in (((2, 3, 4), (3, 1)), ((5,), (70, 5)), ((4, 1, 6), (5, 1)), ((1,), (1,)))
    ),
    Case("cvm.abs", WIDE, precision=32),
    Case("cvm.negative", WIDE, precision=32),
    Case("cvm.relu", WIDE, precision=32),
    Case("cvm.cvm_precision", WIDE, precision=32),
    Case("cvm.elemwise_add", WIDE * 2, precision=31),
    Case("cvm.elemwise_sub", WIDE * 2, precision=31),
    Case("cvm.clip", WIDE, {"a_min": -20, "a_max": 50}),
    Case("cvm.clip", WIDE, {"a_min": 3, "a_max": 2**31 - 2}, 32),
    Case("cvm.cvm_clip", WIDE, {"precision": 5}),
    Case("cvm.cvm_clip", WIDE, {"precision": 32}, 32),
    Case("cvm.cvm_right_shift", WIDE, {"precision": 8, "shift_bit": 3}),
    Case("cvm.cvm_right_shift", WIDE, {"precision": 32, "shift_bit": 32}, 32),
    Case("cvm.cvm_left_shift", WIDE, {"precision": 8, "shift_bit": 2}),
    Case("cvm.cvm_left_shift", WIDE, {"precision": 32, "shift_bit": 20}),
    Case("cvm.flatten", LONG),
    Case("cvm.batch_flatten", LONG),
    Case(
        "cvm.conv2d",
        ((2, 4, 7, 9), (6, 2, 3, 2), (6,)),
        {"padding": (1, 2), "stride": (2, 1), "dilation": (1, 2), "groups": 2},
    ),
    Case("cvm.conv2d", ((1, 3, 6, 6), (5, 3, 1, 1), None)),
    Case("cvm.conv2d", ((1, 1, 3, 3), (1, 1, 3, 3), None), {"padding": (3, 3)}),
    Case("cvm.dense", ((7, 20), (5, 20), (5,))),
    Case("cvm.dense", ((1, 40), (300, 40), None)),
    Case("cvm.max_pool2d", ((2, 3, 7, 8),), {"pool_size": (3, 2), "padding": (1, 1)}),
    Case(
        "cvm.max_pool2d",
        ((1, 2, 9, 9),),
        {"pool_size": (2, 2), "strides": (2, 2), "ceil_mode": True},
    ),
    Case("cvm.upsampling", ((2, 3, 4, 5),), {"scale": 3}),
    *(
        Case(f"cvm.{each}", LONG, attributes)
        for each in ("sum", "max")
        for attributes in (
            {},
            {"keepdims": True},
            {"axes": (1,)},
            {"axes": (0, -1)},
            {"axes": (2, 0), "keepdims": True},
            {"axes": (1, 3), "exclude": True},
            {"axes": (0, 1, 2, 3)},
        )
    ),
    Case("extra.concatenate", ([(2, 3, 4), (2, 1, 4), (2, 5, 4)],), {"axis": 1}),
    Case("extra.concatenate", ([(300,)],), {"axis": -1}),
    Case("extra.transpose", LONG),
    Case("extra.transpose", LONG, {"axes": (1, 3, -4, 2)}),
    Case("extra.repeat", ((3, 4, 5),), {"axis": 1, "repeats": 7}),
    Case("extra.take", ((3, 4, 5), (20, 2)), {}),
    Case("extra.take", ((3, 4, 5), (20, 2)), {"axis": 1}),
    Case("extra.take", ((3, 4, 5), (20, 2)), {"axis": -1}),
    Case("extra.reverse", LONG),
    Case("extra.tile", ((3, 4),), {"reps": (2, 3, 2)}),
    Case("extra.slice", ((9, 8, 7),), {"begin": (-2, 1), "end": (0, 99), "strides": (-3, 2)}),
    Case("extra.reshape", LONG, {"target_shape": (10, 1, 60)}),
    Case("extra.depth_to_space", ((2, 12, 3, 2),), {"block": 2}),
    Case("extra.interleave", ((300,), (300,))),
    Case("extra.swap_ends", LONG),
    Case("extra.choose", WIDE * 3),
    Case("extra.sign_and_size", WIDE),
    Case("extra.fourth_power", WIDE),
    Case("extra.fourth_power", WIDE, precision=32),
    Case("extra.scaled_product", ((5, 30), (30, 60)), {"shift": 4}),
    Case("extra.scaled_product", ((2, 3), (3, 2)), {"shift": 62}, 32),
    Case("extra.mean_of_squares", LONG),
    Case("extra.product", ((300, 2),)),
    Case("extra.least", ((100,),)),
    Case("extra.divided", WIDE, {"divisor": -7}, 32),
    Case("extra.signs", ((40, 9),), {"bound": 2}),
    Case("extra.running_sum", ((300,),)),
    Case("extra.smoothed", ((300,),), {"reach": 5}),
    Case("extra.local_maximum", ((20, 30),)),
    Case("extra.alternating", ((41, 7),)),
    Case("extra.histogram", WIDE, {"bins": 50}),
    Case("extra.batched_range", ((3, 100, 5),)),
    Case("extra.magnitude_steps", WIDE, precision=31),
    Case("extra.weighted_edges", LONG),
    Case("extra.truncated_mean", LONG, {"axes": (1, 2)}),
    Case("extra.truncated_mean", LONG),
    Case("extra.polynomial", (*WIDE, (3,)), precision=10),
]


@dataclass(frozen=True)
class Call:
    """A case with data: what the operator takes, and what the formula gives for it."""

    operator: Operator
    inputs: list[Any]
    precisions: list[Any]
    attributes: dict[str, Any]
    expected: list[Tensor]


def prepared(on_cpu: OnCpu, case: Case, narrow: bool) -> Call:
    source = random.Random(f"{case} {narrow}")
    wide = interface.int32_inputs(program(case.name))

    def tensor(dtype: str, shape: tuple[int, ...]) -> Tensor:
        precision = 8 if narrow else case.precision
        bound = precision_bound(precision)
        # Small numbers too: zeros, equal elements, valid indices.
        ends = [bound, 3, 40 if bound > 40 else bound]
        values = [source.randint(-end, end) for end in source.choices(ends, k=int(np.prod(shape)))]
        return Tensor(shape, values, precision, dtype)

    given: dict[str, Any] = {}
    for item, shape in zip(operators()[case.name].inputs, case.shapes, strict=True):
        dtype = "int8" if narrow and item.name not in wide else "int32"
        if shape is not None:
            given[item.name] = apply(functools.partial(tensor, dtype), shape)
    return call(on_cpu, case.name, given, case.attributes)


def call(on_cpu: OnCpu, name: str, given: dict[str, Any], attributes: dict[str, Any]) -> Call:
    operator = operators()[name]
    expected = Reference(operator).evaluate(given, attributes).outputs
    ordered = [given.get(item.name) for item in operator.inputs]
    return Call(
        Operator(info(name), on_cpu),
        [each and apply(array, each) for each in ordered],
        [each and apply(lambda tensor: tensor.precision, each) for each in ordered],
        attributes,
        [expected[each] for each in operator.output_names],
    )


def apply(function: Any, each: Any) -> Any:
    return [function(one) for one in each] if isinstance(each, list) else function(each)


def array(tensor: Tensor) -> Any:
    return np.array(tensor.values, tensor.dtype).reshape(tensor.shape)


MARGIN = 7


def check(made: Call, dtype: str) -> None:
    """Call the operator; compare every element, and what lies around the outputs."""
    around = [np.full(each.size + 2 * MARGIN, 99, dtype) for each in made.expected]
    outputs = tuple(
        each[MARGIN:-MARGIN].reshape(expected.shape)
        for each, expected in zip(around, made.expected, strict=True)
    )
    made.operator(
        *made.inputs,
        precisions=made.precisions,
        out=outputs if len(outputs) > 1 else outputs[0],
        **made.attributes,
    )
    for output, whole, expected in zip(outputs, around, made.expected, strict=True):
        assert output.ravel().tolist() == expected.values
        assert (whole[:MARGIN] == 99).all()
        assert (whole[-MARGIN:] == 99).all()


def result_dtypes(made: Call) -> list[str]:
    narrow = all(each.precision <= 8 for each in made.expected)
    return ["int8", "int32"] if narrow else ["int32"]


@pytest.mark.parametrize("source", ["int8", "int32"])
@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{each.name}" for n, each in enumerate(CASES)])
def test_kernels_compute_the_formula(case: Case, source: str, on_cpu: OnCpu) -> None:
    made = prepared(on_cpu, case, narrow=source == "int8")
    for dtype in result_dtypes(made):
        on_cpu.state.most_blocks, on_cpu.state.backwards = 0, 1
        check(made, dtype)
        on_cpu.state.most_blocks, on_cpu.state.backwards = 1, 0
        check(made, dtype)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_compute_the_examples(name: str, on_cpu: OnCpu) -> None:
    operator = operators()[name]
    inputs = {item.name: item for item in operator.inputs}
    for example in operator.examples:
        values = {given: plain(value) for given, value in example.given}
        tensors = {
            given: [Tensor.of(one) for one in value] if inputs[given].variadic else Tensor.of(value)
            for given, value in values.items()
            if given in inputs
        }
        attributes = {given: value for given, value in values.items() if given not in inputs}
        made = call(on_cpu, name, tensors, attributes)
        assert made.expected[0].nested() == plain(example.result)
        check(made, "int32")


# ---------------------------------------------------------------- refusals


def relu(on_cpu: OnCpu, **changes: Any) -> tuple[int, ErrorStruct]:
    """Call cvm_relu_cuda with X and Y of five int32 elements but for the changes."""
    x, y = np.arange(5, dtype=np.int32), np.empty(5, np.int32)
    args, kept = on_cpu.arguments(info("cvm.relu"), [x.shape], [8], {}, [x])
    args.X.contents.precision = changes.get("precision", 8)
    args.check_values = changes.get("check_values", 0)
    result: TensorStruct = on_cpu.tensor(y.shape, None, y)
    args.Y = ctypes.pointer(result)
    kept.append(result)
    error = ErrorStruct()
    status = on_cpu.function("cvm_relu")(ctypes.byref(args), ctypes.byref(error))
    if status == 0:
        assert y.tolist() == [0, 1, 2, 3, 4]
    return status, error


def test_an_undeclared_precision_is_refused(on_cpu: OnCpu) -> None:
    status, error = relu(on_cpu, precision=0)
    assert (status, error.status, error.argument) == (1, 1, b"X")
    assert error.rule == b"its precision must be declared: device memory is not measured"


def test_checking_values_is_refused(on_cpu: OnCpu) -> None:
    status, error = relu(on_cpu, check_values=1)
    assert (status, error.status, error.argument, error.value) == (1, 1, b"check_values", b"1")
    assert error.rule == b"must be 0: values in device memory are not checked"


def test_a_failed_launch_is_told_and_forgotten(on_cpu: OnCpu) -> None:
    on_cpu.state.fail = 1
    status, error = relu(on_cpu)
    assert (status, error.status) == (3, 3)
    assert error.rule == b"CUDA: unspecified launch failure"
    assert on_cpu.state.pending_errors == 0
    on_cpu.state.fail = 0
    assert relu(on_cpu)[0] == 0


def test_kernels_go_to_the_callers_stream(on_cpu: OnCpu) -> None:
    on_cpu.stream, before = 0x5000, on_cpu.state.launches
    assert relu(on_cpu)[0] == 0
    assert on_cpu.state.stream == 0x5000
    assert on_cpu.state.launches == before + 1


ONES8, ONES32 = np.ones((2, 2), np.int8), np.ones((2, 2), np.int32)
MIXED = [
    (
        "cvm.elemwise_add",
        (ONES8, ONES32),
        {},
        ("B", "int32", "on a device its element type must be that of A"),
    ),
    (
        "cvm.dense",
        (ONES8, ONES8, ONES8[0]),
        {},
        ("B", "int8", "on a device this input must be int32"),
    ),
    (
        "extra.concatenate",
        ([ONES32, ONES8],),
        {"axis": 0},
        ("I", "int8", "on a device all inputs must have one element type"),
    ),
]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "expected"), MIXED, ids=[row[0] for row in MIXED]
)
def test_mixed_element_types_are_refused(
    name: str, inputs: Any, attributes: Any, expected: tuple[str, str, str], on_cpu: OnCpu
) -> None:
    with pytest.raises(OperatorError) as caught:
        Operator(info(name), on_cpu)(*inputs, **attributes)
    error = caught.value
    assert (error.argument, error.value, error.rule) == expected


def test_a_refused_shape_is_that_of_c(on_cpu: OnCpu) -> None:
    with pytest.raises(OperatorError, match="the shapes do not broadcast"):
        Operator(info("cvm.broadcast_add"), on_cpu)(np.ones(2, np.int32), np.ones(3, np.int32))
