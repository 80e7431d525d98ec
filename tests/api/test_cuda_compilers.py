"""Compilers and drivers that do not fit each other, or are not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cvmgen
from cvmgen.api import driver
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_for_device, cuda_compiler
from cvmgen.errors import BuildError
from tests.api.refusals import refusal
from tests.fake_gpu import State, fake_backend, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")

X = np.array([[1, 2], [-3, 4]], np.int8)


@pytest.fixture
def compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A toolkit with two releases of NVRTC that cannot be loaded."""
    for number in (12, 14):
        path = tmp_path / "toolkit" / "lib64" / f"libnvrtc.so.{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("cvmgen.build.compilers._USUAL_TOOLKIT", tmp_path / "none")
    return tmp_path / "toolkit" / "lib64"


@pytest.mark.parametrize(
    ("version", "chosen"), [(None, 14), ((14, 1), 14), ((13, 0), 12), ((12, 4), 12)]
)
def test_the_newest_compiler_that_a_driver_knows(
    compilers: Path, version: tuple[int, int] | None, chosen: int
) -> None:
    assert cuda_compiler(driver=version).path == compilers / f"libnvrtc.so.{chosen}"


def test_compilers_that_are_all_too_new(compilers: Path) -> None:
    with pytest.raises(BuildError) as caught:
        cuda_compiler(driver=(11, 8))
    text = str(caught.value)
    assert text.startswith("the driver is of CUDA 11.8 and runs nothing that a newer CUDA compiles")
    assert "libnvrtc.so.14 of CUDA 14" in text
    assert "pip install 'nvidia-cuda-nvrtc-cu11'" in text


def test_a_device_that_the_compiler_does_not_know(
    generated: Path, state: State, stream: int
) -> None:
    """The driver compiles PTX for it."""
    state.architecture = 999
    fresh = fake_backend(generated)
    assert fresh.device.architecture == "sm_999"
    info = next(each for each in read_manifest(generated).operators if each.name == "relu")
    assert b".target sm_" in fresh.code(info).code
    ops = load_on_device(read_manifest(generated), fresh)
    x = DeviceArray.of(fresh.device, X)
    assert ops.cvm.relu(x, precisions=[8]).to_numpy().tolist() == [[1, 2], [0, 4]]


def test_no_architecture_before_that_of_the_device() -> None:
    with pytest.raises(BuildError, match="compiles for no architecture sm_10; it knows sm_"):
        compile_for_device("", architecture="sm_10", driver=(99, 0), includes={}, name="f.cu")


def test_code_that_the_driver_refuses(generated: Path, state: State) -> None:
    fresh = fake_backend(generated)
    state.fail_images = 1
    text = refusal(load_on_device(read_manifest(generated), fresh, transfer=True).cvm.relu, X)
    assert text.startswith("cvm.relu: CUDA: CUDA_ERROR_INVALID_IMAGE: device kernel image is inv")
    assert "this driver, of CUDA 13.0, cannot run what NVRTC 1" in text
    assert "for a device of fibers" in text


def test_no_compiler_for_the_host_code(
    monkeypatch: pytest.MonkeyPatch, generated: Path, library: Path, state: State
) -> None:
    monkeypatch.setattr(driver, "LIBRARY", str(library))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError) as caught:
        cvmgen.load("cuda", folder=generated)
    assert "no C++ compiler" in str(caught.value)
    assert "load('cuda', library=PATH) takes" in str(caught.value)
