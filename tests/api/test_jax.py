"""Operators of JAX: compiled, batched, refused; results are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import cvmgen
from cvmgen.build import c_compiler
from cvmgen.errors import BuildError
from tests.docs.documents import ROOT, run_block

jax = pytest.importorskip("jax")
ops = pytest.importorskip("cvmgen.jax").ops
pytestmark = pytest.mark.filterwarnings("ignore")  # of a library that warns of itself


@pytest.fixture(autouse=True)
def compiler() -> None:
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))


def test_the_document() -> None:
    run_block(ROOT / "docs/clients.md", "import cvmgen.jax")


def test_programs_give_what_calls_give() -> None:
    cvm, tosa, plain = ops("cvm"), ops("tosa"), cvmgen.load("c")
    image = np.arange(50, dtype=np.int8).reshape(1, 2, 5, 5)
    kernel, bias = np.ones((3, 2, 3, 3), np.int8), np.arange(3, dtype=np.int32)
    rows = np.array([[1, 2], [-3, 4]], np.int32)
    of_conv = {"precisions": {"X": 8, "W": 8, "B": 8}, "padding": (1, 1)}
    calls = [
        (cvm.conv2d, plain.cvm.conv2d, (image, kernel, bias), of_conv, "all inputs"),
        (cvm.conv2d, plain.cvm.conv2d, (image, kernel), {"precisions": [8, 8]}, "one is left away"),
        (cvm.concatenate, plain.cvm.concatenate, ([rows, rows],), CONCATENATE, "several tensors"),
        (tosa.reduce_sum, plain.tosa.reduce_sum, (rows,), {"axes": (1,)}, "no precision"),
    ]
    for operator, own, inputs, keywords, why in calls:
        program = jax.jit(lambda *given, op=operator, more=keywords: op(*given, **more))
        wanted = own(*inputs, **keywords)
        for _ in range(2):
            found = program(*inputs)
            assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist()), why
    batch = np.stack([rows, rows + 1, rows + 2])
    found = jax.jit(jax.vmap(lambda x: tosa.reduce_sum(x, axes=[0])))(batch)
    assert found.tolist() == [plain.tosa.reduce_sum(x, axes=[0]).tolist() for x in batch]


CONCATENATE = {"axis": 0, "precisions": {"I": [8, 9]}}


def test_what_is_refused() -> None:
    cvm, tosa = ops("cvm"), ops("tosa")
    rows = np.array([[1, 2], [3, 4]], np.int32)
    with pytest.raises(cvmgen.OperatorError, match=r"dense: X: its precision must be declared"):
        jax.jit(cvm.dense)(rows, rows)
    with pytest.raises(cvmgen.OperatorError, match=r"concatenate: I: its precision must be decl"):
        cvm.concatenate([rows, rows], axis=0, precisions={"I": [8, None]})
    with pytest.raises(cvmgen.OperatorError, match="jax_enable_x64"):
        ops("mxnet").index_array(rows)
    with pytest.raises(cvmgen.OperatorError, match=r"tosa\.reduce_sum: gradient: it has none"):
        jax.grad(lambda x: tosa.reduce_sum(x, axes=[0]).sum())(np.ones((2, 2), np.float32))
    mixed = jax.grad(lambda x: (x * cvm.relu(x.astype(np.int8), precisions=[8])).sum())
    assert mixed(np.array([2.0, -2.0], np.float32)).tolist() == [2, 0], (
        "what is cut off is constant"
    )
    large = np.full(2, 2**31 - 1, np.int32)
    with pytest.raises(Exception, match=r"tosa.reduce_sum: output1: element \(0,\) does not fit"):
        jax.block_until_ready(tosa.reduce_sum(large, axes=[0]))
    program = jax.ffi.ffi_call("cvmgen_call", jax.ShapeDtypeStruct((2,), np.int32))
    for number in (np.int64(-1), np.int64(1 << 40), np.int64(0), np.int32(0)):
        with pytest.raises(Exception, match="a program of another process"):
            jax.block_until_ready(program(number=number))
