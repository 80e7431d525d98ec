"""The C of models, and CUDA of a few, as committed beside this; `make golden` writes them anew.

What a change to the back end does to models is seen in its diff, as in generated/ for operators.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from cvmgen.api import Operators, load
from cvmgen.build import write_changed
from cvmgen.model.build import make_files
from tests.graph.test_tflite import SMALL, STREAM, model_of
from tests.model.invented import ALONE, MODELS, Sketch, for_small_models

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("golden")
DIGITS = ROOT / "examples" / "digits"
RESNET = ROOT.parent / "shared" / "models" / "cifar10_resnet20_v2"
DIGESTS = "weights.sha256"
DRAWN = MODELS | ALONE


def texts() -> Mapping[str, str]:
    """The code of every model by the name of its file, and digests of their weights; without the
    published model where it is not beside the repository."""
    found, digests = {}, []
    for name, files in models(load(target="python")):
        found[f"{name}.c"] = files[f"{name}.c"]
        weights = files.get(f"{name}_weights.c", "")
        digests += [f"{sha256(weights.encode()).hexdigest()}  {name}\n"]
    return {**found, **dict(for_gpus(load(target="python"))), DIGESTS: "".join(digests)}


def for_gpus(python: Operators) -> Iterator[tuple[str, str]]:
    """Tiles and threads, lists, zero points."""
    for name in ("chain", "boxes"):
        sketch = Sketch(python, list(DRAWN).index(name))
        symbol = DRAWN[name](sketch)
        made = make_files(symbol, sketch.arrays, name, python, target="cuda").all()
        yield f"{name}.cu", made[f"{name}.cu"]
    name = SMALL.replace(" ", "_")
    made = make_files(model_of(SMALL), None, name, python, target="cuda").all()
    yield f"{name}.cu", made[f"{name}.cu"]


def models(python: Operators) -> Iterator[tuple[str, Mapping[str, str]]]:
    digits = DIGITS / "digits.json", DIGITS / "digits.bin"
    yield "digits", make_files(*digits, "digits", python).all()
    for seed, (name, draw) in enumerate(DRAWN.items()):
        sketch = Sketch(python, seed)
        symbol = draw(sketch)
        yield name, make_files(symbol, sketch.arrays, name, python, for_small_models()).all()
    for sample in (SMALL, STREAM):
        name = sample.replace(" ", "_")
        yield name, make_files(model_of(sample), None, name, python).all()
    if RESNET.is_dir():
        resnet = RESNET / "symbol.json", RESNET / "params.bin"
        yield "resnet", make_files(*resnet, "resnet", python).all()


if __name__ == "__main__":
    for each in write_changed(FOLDER, texts()):
        sys.stdout.write(f"{each.kind:<8} {each.path}\n")
