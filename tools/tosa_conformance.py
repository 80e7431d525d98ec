"""Run the conformance tests of TOSA that Arm's generator makes, with the operators of the C target.

    .venv/bin/python tools/tosa_conformance.py ENV FOLDER [OPERATOR ...]

ENV is an environment that has the package tosa-tools; what FOLDER has is not generated again. A
test that is meant to fail passes here if the call is refused, no operator takes such arguments, or
the result has another type or shape than the test says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tosa_graphs import Tools, call_of, operator_of  # noqa: E402

import cvmgen  # noqa: E402
from cvmgen.errors import CvmgenError  # noqa: E402

EXTENSIONS = ("tosa-ext-int16", "tosa-ext-doubleround", "tosa-ext-inexactround")
INEXACT = "RESCALE_INEXACT"
"""How a test says that TOSA leaves the rounding to us; the model does it by float32."""
OF_REALS = {"EXP", "SIGMOID", "TANH", "REDUCE_PRODUCT"}


def main(environment: str, folder: str, *operators: str) -> int:
    tools, ops = Tools.of(Path(environment).resolve()), cvmgen.load("c")
    known = {operator_of(name) for name in dir(ops.tosa)} - OF_REALS
    faults = 0
    for name in operators or sorted(each.lower() for each in known):
        made = Path(folder).resolve() / name
        if not made.exists():
            generate(tools, name, made)
        counts = Counter[str]()
        for verdict, test in verdicts(tools, ops, made):
            counts[verdict] += 1
            if verdict not in ("equal", "close", "refused"):
                faults += 1
                print(f"{verdict}: {test}")
        print(f"{name}: {dict(counts)}", flush=True)
    return min(faults, 1)


def generate(tools: Tools, name: str, into: Path) -> None:
    binaries = tools.folder.parents[3] / "bin"
    command = [binaries / "tosa_verif_conformance_generator", "--profile", "tosa-pro-int"]
    command += ["--extension", *EXTENSIONS, "--tosa-version", "1.0.2", "--output-type", "binary"]
    command += ["--operators", name, "--build-directory", into.with_suffix(".build")]
    command += ["--output-directory", into, "--large-file-limit", "4"]
    command += ["--ref-model-path", tools.folder / "tosa_reference_model"]
    command += ["--flatc-path", tools.folder / "flatc", "--schema-path", tools.folder / "tosa.fbs"]
    path = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def verdicts(tools: Tools, ops: Any, folder: Path) -> Iterator[tuple[str, str]]:
    """What each test comes to, with its name."""
    for described in sorted(folder.glob("**/desc.json")):
        test = described.parent
        about = json.loads(described.read_text())
        yield verdict(tools, ops, test, about), test.name


def verdict(tools: Tools, ops: Any, test: Path, about: dict[str, Any]) -> str:
    files = {
        name: test / file
        for name, file in zip(about["ifm_name"], about["ifm_file"], strict=True)
        if (test / file).exists()
    }
    graph = tools.read(test / about["tosa_file"], test)
    ours = answer(ops, graph, files)
    if about["expected_failure"]:
        return "refused" if isinstance(ours, str) else "taken"
    if isinstance(ours, str):
        return f"refused ({ours})"
    theirs = tools.run(test / about["tosa_file"], files)
    if theirs is None:
        return "no result of the model"
    if np.array_equal(theirs.astype(ours.dtype), ours):
        return "equal"
    modes = {each["mode"] for each in about["meta"]["compliance"]["tensors"].values()}
    exact, other = ours.astype(np.int64), theirs.astype(np.int64)
    close = bool((np.abs(exact - other) <= 1 + np.abs(exact) * 2.0**-23).all())
    return "close" if modes == {INEXACT} and close else "different"


def answer(ops: Any, graph: Path, files: dict[str, Path]) -> Any:
    """Our result, or why there is none."""
    try:
        call = call_of(json.loads(graph.read_text()), {k: np.load(v) for k, v in files.items()})
        found = np.asarray(ops[call.name](*call.inputs, **call.attributes))
    except (CvmgenError, TypeError, ValueError, LookupError, AttributeError) as fault:
        return str(fault) or type(fault).__name__
    if call.result != (str(found.dtype), found.shape):
        return f"the result is {found.dtype}{found.shape}, not {call.result}"
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
