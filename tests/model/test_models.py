"""Models in C beside networks: the same integers for every input, on one thread and on several."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.build import c_compiler, write_changed
from cvmgen.errors import InternalError, ModelError
from cvmgen.graph import Network, load, load_model, write_parameters, write_symbol
from cvmgen.graph.limits import Array
from cvmgen.graph.symbol import SymbolGraph
from cvmgen.model.build import formulas_of, make_files
from cvmgen.spec import check
from cvmgen.spec.declarations import OperatorDecl
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Conformance
from tests.emulated import ARM, ARM_32, BIG_ENDIAN, Machine
from tests.model.invented import ALONE, MODELS, Sketch, for_small_models

ROOT = Path(__file__).resolve().parents[2]
RESNET = ROOT.parent / "shared" / "models" / "cifar10_resnet20_v2"
SANITIZERS = "-fsanitize=address,undefined"
Drawn = Mapping[str, tuple[SymbolGraph, dict[str, Array]]]


@dataclass(frozen=True, slots=True)
class Alone:
    """The sources of a program, and what it prints."""

    sources: Sequence[Path]
    expected: Sequence[int]


@pytest.fixture(scope="module")
def drawn(conformance: Conformance) -> Drawn:
    """Each invented model with its parameters."""
    found = {}
    for seed, (name, draw) in enumerate(MODELS.items()):
        sketch = Sketch(conformance.libraries["python"], seed)
        found[name] = draw(sketch), sketch.arrays
    return found


@pytest.fixture(scope="module")
def folder(
    drawn: Drawn, conformance: Conformance, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    files: dict[str, str] = {}
    for name, (symbol, arrays) in drawn.items():
        files |= made(symbol, arrays, name, conformance)
    place = tmp_path_factory.mktemp("models")
    write_changed(place, files)
    return place


def made(
    symbol: SymbolGraph, arrays: Mapping[str, Array], name: str, conformance: Conformance
) -> dict[str, str]:
    python = conformance.libraries["python"]
    return make_files(symbol, arrays, name, python, for_small_models()).all()


def inputs(network: Network, count: int) -> list[Array]:
    """All zeros, the ends of the precision and beyond, and values from all over it."""
    random = np.random.default_rng(5)
    limit = (1 << (network.input_precision - 1)) - 1
    shape = network.input_shape
    ends = random.choice([-limit - 9, -limit, limit, limit + 9], shape)
    return [
        np.zeros(shape, np.int32),
        ends,
        *(random.integers(-limit, limit, shape, np.int32, endpoint=True) for _ in range(count)),
    ]


def results(found: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_an_invented_model(
    drawn: Drawn, conformance: Conformance, folder: Path, name: str, threads: int
) -> None:
    symbol, arrays = drawn[name]
    network = load(symbol, arrays, operators=conformance.libraries["c"])
    model = load_model(folder, name, threads=threads)
    assert model.input_shape == network.input_shape
    assert model.output_shapes == network.output_shapes
    assert model.output_precisions == network.output_precisions
    for x in inputs(network, 6):
        for one, other in zip(results(model(x)), results(network(x)), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_runs_at_the_same_time(drawn: Drawn, conformance: Conformance, folder: Path) -> None:
    """One of them has the threads; with a workspace each they leave each other alone."""
    network = load(*drawn["blocks"], operators=conformance.libraries["c"])
    models = [load_model(folder, "blocks", threads=threads) for threads in (2, 3)]
    given = inputs(network, 6) * 4
    with ThreadPoolExecutor(len(models)) as pool:
        found = pool.map(lambda model: [results(model(x)) for x in given], models)
        expected = [results(network(x)) for x in given]
    for heads in found:
        for one, other in zip(heads, expected, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MODELS)
def test_exact_integers(drawn: Drawn, conformance: Conformance, folder: Path, name: str) -> None:
    """The python target computes in integers of any size."""
    symbol, arrays = drawn[name]
    network = load(symbol, arrays, operators=conformance.libraries["python"])
    x = inputs(network, 1)[-1]
    for one, other in zip(results(load_model(folder, name)(x)), results(network(x)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["chain", "residual", "pyramid", "classifier", "blocks"])
def test_every_variant_of_the_tile(
    drawn: Drawn, conformance: Conformance, folder: Path, name: str
) -> None:
    symbol, arrays = drawn[name]
    network = load(symbol, arrays, operators=conformance.libraries["c"])
    model = load_model(folder, name)
    library = ctypes.CDLL(str(model.library))
    library.cvmgen_variant_name.restype = ctypes.c_char_p
    variants = list(iter(map(library.cvmgen_variant_name, count()).__next__, None))
    assert variants[-1] == b"generic_plain"
    try:
        for variant in variants:
            assert library.cvmgen_use_variant(variant) == 0
            for x in inputs(network, 1):
                for one, other in zip(results(model(x)), results(network(x)), strict=True):
                    np.testing.assert_array_equal(one, other)
    finally:
        library.cvmgen_use_variant(None)


MAIN = """
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>

static int8_t data[{name}_data_size];
static int8_t head[{name}_head_size];

int main(void) {{
    for (int round = 0; round < 3; ++round) {{
        for (int i = 0; i < {name}_data_size; ++i) data[i] = (int8_t)(i * 37 + round * 11);
        void *const own = aligned_alloc(64, ({name}_workspace_size() + 63) / 64 * 64);
        if ({name}_run(data, head, round == 0 ? NULL : own)) return 1;
        free(own);
        for (int i = 0; i < {name}_head_size; ++i) printf("%d\\n", head[i]);
    }}
    return {name}_run(NULL, head, NULL) == 1 ? 0 : 1;
}}
"""


@pytest.fixture(scope="module", params=["residual", "classified"])
def alone(
    request: pytest.FixtureRequest,
    conformance: Conformance,
    tmp_path_factory: pytest.TempPathFactory,
) -> Alone:
    """A model as a program of its files and MAIN."""
    name, sketch = request.param, Sketch(conformance.libraries["python"], 7)
    symbol = ALONE[name](sketch)
    files = made(symbol, sketch.arrays, name, conformance)
    folder = tmp_path_factory.mktemp(name)
    write_changed(folder, {**files, "main.c": MAIN.format(name=name)})
    network = load(symbol, sketch.arrays, operators=conformance.libraries["c"])
    expected = []
    for turn in range(3):
        x = (np.arange(np.prod(network.input_shape)) * 37 + turn * 11).astype(np.int8)
        (found,) = results(network(x.reshape(network.input_shape)))
        expected += found.ravel().tolist()
    return Alone(sorted(folder.glob("*.c")), expected)


@pytest.mark.parametrize("flags", [("-pthread",), ("-O0",)])
def test_alone_and_sanitized(alone: Alone, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The files of a model need nothing else, and read and write where they may."""
    checks = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-g", SANITIZERS, "-fno-sanitize-recover")
    program = str(tmp_path / "main")
    line = [*c_compiler().command, *checks, *flags, *map(str, alone.sources), "-lm", "-o", program]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [int(word) for word in done.stdout.split()] == alone.expected


@pytest.mark.parametrize("machine", [ARM, ARM_32, BIG_ENDIAN], ids=str)
def test_on_another_machine(alone: Alone, tmp_path: Path, machine: Machine) -> None:
    """What was packed here is read there."""
    program = machine.found().compile(tmp_path / "main", alone.sources, "-O2")
    for processor in machine.processors:
        assert [int(word) for word in machine.run(program, processor)] == alone.expected


def test_chains_become_one_step(folder: Path) -> None:
    """A convolution goes with all that is done to each of its elements."""
    text = (folder / "chain.c").read_text()
    assert text.count("\nSTEP\n") == 7, "the data, four convolutions, a maximum and a sum"


def test_what_stands_between_steps_is_bytes(folder: Path) -> None:
    model = load_model(folder, "residual")
    assert model.workspace_bytes <= 4 * 16 * 10 * 12, "a few tensors of 16 channels, in int8"


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no model"):
        load_model(tmp_path)
    for text, reason in (
        ("{}", "it has no 'version'"),
        ("[1]", "it is no object"),
        ("{", "line 1"),
    ):
        (tmp_path / "model.json").write_text(text)
        with pytest.raises(ModelError, match=f"no description of a model: .*{reason}"):
            load_model(tmp_path)
    (tmp_path / "model.json").write_text('{"version": 0}')
    with pytest.raises(ModelError, match="another version"):
        load_model(tmp_path)


def test_bad_models(drawn: Drawn, conformance: Conformance, tmp_path: Path) -> None:
    symbol, arrays = drawn["chain"]
    with pytest.raises(ModelError, match="no name for C functions"):
        make_files(symbol, arrays, "1st", conformance.libraries["python"]).all()
    with pytest.raises(ModelError, match="and not 'cvmgen'"):
        make_files(symbol, arrays, "cvmgen_tile", conformance.libraries["python"]).all()
    with pytest.raises(ModelError, match=r"weight1.*the parameter is missing"):
        make_files(symbol, {}, "chain", conformance.libraries["python"]).all()
    (tmp_path / "symbol.json").write_text("{")
    (tmp_path / "params.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"symbol\.json"):
        make_files(tmp_path / "symbol.json", tmp_path / "params.bin", "bad").all()


def test_bad_inputs(folder: Path) -> None:
    model = load_model(folder, "chain")
    with pytest.raises(ModelError, match="must have shape"):
        model(np.zeros((1, 3, 13, 9), np.int8))
    with pytest.raises(ModelError, match="must hold integers"):
        model(np.zeros(model.input_shape))


def test_the_same_text_each_time(drawn: Drawn, conformance: Conformance, folder: Path) -> None:
    symbol, arrays = drawn["pyramid"]
    for name, text in made(symbol, arrays, "pyramid", conformance).items():
        assert (folder / name).read_text() == text


def test_names_that_c_has_already(conformance: Conformance, tmp_path: Path) -> None:
    """Nodes may be called what they like: keywords, our own locals, functions of C."""
    sketch = Sketch(conformance.libraries["python"], 3)
    symbol = MODELS["classifier"](sketch)
    names = ["tile", "totals", "STEP", "memset", "int", "memory", "x", "runs", "a b", "a_b", "7"]
    names += ["share", "call", "low", "head0_step_part"]
    given = {node.name: name for node, name in zip(symbol.nodes[1:], names, strict=False)}
    nodes = tuple(replace(node, name=given.get(node.name, node.name)) for node in symbol.nodes)
    arrays = {given.get(name, name): array for name, array in sketch.arrays.items()}
    renamed = replace(symbol, nodes=nodes)
    write_changed(tmp_path, made(renamed, arrays, "named", conformance))
    network = load(renamed, arrays, operators=conformance.libraries["c"])
    model = load_model(tmp_path)
    for x in inputs(network, 2):
        for one, other in zip(results(model(x)), results(network(x)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_from_files(drawn: Drawn, tmp_path: Path) -> None:
    symbol, arrays = drawn["residual"]
    write_symbol(tmp_path / "symbol.json", symbol)
    write_parameters(tmp_path / "params.bin", arrays)
    files = make_files(tmp_path / "symbol.json", tmp_path / "params.bin", "residual").all()
    assert {"residual.c", "residual.h", "residual_weights.c", "residual.json"} <= files.keys()


def test_a_published_network(conformance: Conformance, tmp_path: Path) -> None:
    if not (RESNET / "cases.npz").is_file():
        pytest.skip(f"the published model is not beside the repository: {RESNET} is missing")
    files = make_files(
        RESNET / "symbol.json", RESNET / "params.bin", "resnet", conformance.libraries["python"]
    ).all()
    write_changed(tmp_path, files)
    model = load_model(tmp_path)
    with np.load(RESNET / "cases.npz") as cases:
        for x, expected in zip(cases["inputs"], cases["outputs"], strict=True):
            np.testing.assert_array_equal(model(x[None]).ravel(), expected.ravel())


def test_a_fault_in_one_operator_leaves_models_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    check_operator = check.check_operator

    def fail(declaration: OperatorDecl, *rest: Any) -> Operator | None:
        if declaration.name == "conv2d":
            raise KeyError("lost")
        return check_operator(declaration, *rest)

    monkeypatch.setattr(check, "check_operator", fail)
    formulas = formulas_of.__wrapped__("cvm")  # what it remembers is not asked
    assert formulas["dense"].name == "dense"
    with pytest.raises(InternalError, match=r"cvm\.conv2d .*KeyError: 'lost'"):
        formulas["conv2d"]
