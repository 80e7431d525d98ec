"""Operators of PyTorch: what it is told of them is true, and results are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import cvmgen
from cvmgen.api.manifest import read_manifest
from cvmgen.paths import generated_folder
from tests.docs.documents import ROOT, run_block

torch = pytest.importorskip("torch")
module = pytest.importorskip("cvmgen.torch")
ops = module.ops
pytestmark = pytest.mark.filterwarnings("ignore")  # of a library that warns of itself


def test_the_document() -> None:
    run_block(ROOT / "docs/clients.md", "import cvmgen.torch")


def test_pytorch_takes_every_operator() -> None:
    infos = read_manifest(generated_folder()).operators
    for info in infos:
        made = getattr(ops(info.opset), info.name)
        assert getattr(torch.ops.cvmgen, info.function) is made
        for key in ("CPU", "CUDA", "Meta"):
            assert torch._C._dispatch_has_kernel_for_dispatch_key(made.default.name(), key)
        names = {each.name for each in made.default._schema.arguments}
        assert {each.name for each in info.inputs} <= names


def test_what_pytorch_is_told_is_true() -> None:
    cvm, tosa = ops("cvm"), ops("tosa")
    image = torch.arange(50, dtype=torch.int8).reshape(1, 5, 5, 2).permute(0, 3, 1, 2)
    kernel = torch.ones(3, 2, 3, 3, dtype=torch.int8)
    rows = torch.tensor([[1, 2], [-3, 4]], dtype=torch.int32)
    boxes = torch.ones(1, 2, 6, dtype=torch.int32)
    calls = [
        (cvm.conv2d, (image, kernel), {"padding": [1, 1]}, "strides, an optional input"),
        (cvm.conv2d, (image, kernel, rows[0, :1].repeat(3)), {"dtype": torch.int32}, "all inputs"),
        (cvm.concatenate, ([rows, rows.t()],), {"axis": -1, "precisions": [9]}, "several tensors"),
        (cvm.get_valid_count, (boxes,), {"score_threshold": 0}, "several results"),
        (cvm.transpose, (image,), {"axes": [0, 2, 3, 1]}, "elements are only moved: int8"),
        (tosa.reduce_sum, (rows.to(torch.float32),), {"axes": [0]}, "a list, a number left away"),
        (tosa.rescale, scaled(), {"scale32": 1, "per_channel": 0}, "a word"),
    ]
    for operator, inputs, keywords, why in calls:
        found = torch.library.opcheck(operator.default, inputs, keywords)
        assert set(found.values()) == {"SUCCESS"}, why
        of_numpy = [
            [each.numpy() for each in one] if isinstance(one, list) else one.numpy()
            for one in inputs
        ]
        rest = {name: each for name, each in keywords.items() if name not in ("dtype",)}
        name = operator.default._schema.name.removeprefix("cvmgen::").replace("_", ".", 1)
        wanted = cvmgen.load("c")[name](*of_numpy, **rest)
        given = operator(*inputs, **keywords)
        pairs = zip(given, wanted, strict=True) if isinstance(wanted, tuple) else [(given, wanted)]
        for one, other in pairs:
            assert np.array_equal(one.numpy(), other), why
    with pytest.raises(cvmgen.OperatorError, match=r"dense: W = shape .*dimensions needed"):
        cvm.dense(rows, rows[0])


def test_programs() -> None:
    """Whole graphs without a break; on a GPU too, which a traced program needs not to be there."""
    cvm = ops("cvm")

    class Layer(torch.nn.Module):
        def __init__(self, weights: object) -> None:
            super().__init__()
            self.register_buffer("weights", weights)

        def forward(self, x: object) -> object:
            return cvm.relu(cvm.dense(x, self.weights, precisions=[8, 8]), precisions=[24])

    x, w = torch.tensor([[1, -2]], dtype=torch.int8), torch.tensor([[3, 4]], dtype=torch.int8)
    layer = Layer(w)
    wanted = layer(x)
    assert torch.compile(layer, fullgraph=True, backend="aot_eager")(x).tolist() == wanted.tolist()
    program = torch.export.export(layer, (x,))
    assert program.module()(x).tolist() == wanted.tolist()
    with torch._subclasses.FakeTensorMode():
        there = x.shape, torch.int8, "cuda:1"
        x, w = (torch.empty(there[0], dtype=there[1], device=there[2]) for _ in range(2))
        program = torch.export.export(Layer(w), (x,))
        (result,) = (each for each in program.graph.nodes if each.op == "output")
        told = result.args[0][0].meta["val"]
        assert (told.shape, told.dtype, str(told.device)) == ((1, 1), torch.int32, "cuda:1")
        with pytest.raises(cvmgen.OperatorError, match="dense: W: its precision must be declared"):
            cvm.dense(x, w, precisions=[8])


def test_nothing_has_a_gradient() -> None:
    rows = torch.ones(2, 2, requires_grad=True)
    found = ops("tosa").reduce_sum(rows, axes=[0])
    with pytest.raises(cvmgen.OperatorError, match=r"tosa\.reduce_sum: gradient: it has none"):
        found.sum().backward()
    with pytest.raises(cvmgen.OperatorError, match=r"cvm\.relu: X = dtype float32: "):
        ops("cvm").relu(rows)


def test_a_gpu_gets_tensors_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def operator(*inputs: object, **keywords: object) -> object:
        given.append((inputs, keywords))
        return inputs[0]

    plain = cvmgen.load("c")
    monkeypatch.setattr(module, "library", lambda *place: {"cvm.conv2d": operator})
    kernels, x = module.Kernels(plain.cvm.conv2d), torch.zeros(2, dtype=torch.int8)
    weights = torch.zeros(2, requires_grad=True)
    assert kernels.on_gpu(x, None, precisions=[8, 0], dtype=torch.int8) is x
    assert given == [((x, None), {"precisions": [8, None], "dtype": np.dtype(np.int8)})]
    assert not kernels.on_gpu(weights).requires_grad


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that PyTorch can use")
def test_on_a_gpu() -> None:
    x = torch.arange(6, dtype=torch.int8).reshape(2, 3)
    wanted = ops("cvm").dense(x, x, precisions=[8, 8]).tolist()
    program = torch.compile(lambda x: ops("cvm").dense(x, x, precisions=[8, 8]), fullgraph=True)
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            there = x.cuda()
            assert program(there).tolist() == wanted
            assert ops("cvm").dense(there.t().t(), there, precisions=[8, 8]).tolist() == wanted


def scaled() -> tuple[object, ...]:
    data = torch.tensor([100, -100], dtype=torch.int32)
    factor = torch.tensor([1 << 30], dtype=torch.int32), torch.tensor([31], dtype=torch.int8)
    zero = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int8)
    return (data, *factor, *zero)
