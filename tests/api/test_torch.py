"""Operators of PyTorch: what it is told of them is true, and results are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import cvmgen
from cvmgen.api.manifest import read_manifest
from cvmgen.paths import generated_folder
from tests.docs.documents import ROOT, run_block

torch = pytest.importorskip("torch")
ops = pytest.importorskip("cvmgen.torch").ops
pytestmark = pytest.mark.filterwarnings("ignore")  # of a library that warns of itself


def test_the_document() -> None:
    run_block(ROOT / "docs/clients.md", "import cvmgen.torch")


def test_pytorch_takes_every_operator() -> None:
    infos = read_manifest(generated_folder()).operators
    for info in infos:
        made = getattr(ops(info.opset), info.name)
        assert getattr(torch.ops.cvmgen, info.function).default is made._opoverload
        names = {each.name for each in made._opoverload._schema.arguments}
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
        found = torch.library.opcheck(operator, inputs, keywords)
        assert set(found.values()) == {"SUCCESS"}, why
        of_numpy = [
            [each.numpy() for each in one] if isinstance(one, list) else one.numpy()
            for one in inputs
        ]
        rest = {name: each for name, each in keywords.items() if name not in ("dtype",)}
        name = operator._opoverload._schema.name.removeprefix("cvmgen::").replace("_", ".", 1)
        wanted = cvmgen.load("c")[name](*of_numpy, **rest)
        given = operator(*inputs, **keywords)
        pairs = zip(given, wanted, strict=True) if isinstance(wanted, tuple) else [(given, wanted)]
        for one, other in pairs:
            assert np.array_equal(one.numpy(), other), why
    with pytest.raises(cvmgen.OperatorError, match=r"dense: W = shape .*dimensions needed"):
        cvm.dense(rows, rows[0])


def scaled() -> tuple[object, ...]:
    data = torch.tensor([100, -100], dtype=torch.int32)
    factor = torch.tensor([1 << 30], dtype=torch.int32), torch.tensor([31], dtype=torch.int8)
    zero = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int8)
    return (data, *factor, *zero)
