"""Where things lie: in this checkout, in a wheel, in the user's home."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

from cvmgen import paths
from cvmgen.errors import CacheError

NUMPY_SITE = Path(numpy.__file__).parent.parent
ROOT = Path(__file__).resolve().parents[2]

CACHES = [
    ({"CVMGEN_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c", "chosen"),
    ({"XDG_CACHE_HOME": "/x"}, "/x/cvmgen", "the user's caches"),
    ({"XDG_CACHE_HOME": "x"}, "/h/.cache/cvmgen", "a relative path is to be ignored"),
    ({"CVMGEN_CACHE": ""}, "/h/.cache/cvmgen", "empty is as good as missing"),
    ({"CVMGEN_CACHE": "~/c"}, "/h/c", "home"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="paths as POSIX writes them")
@pytest.mark.parametrize(("variables", "folder", "why"), CACHES)
def test_cache_folder(
    variables: dict[str, str], folder: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CVMGEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/h")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(paths.cache_folder()) == folder, why


@pytest.mark.parametrize("chosen", ["", "~/c"])
def test_a_user_without_a_home(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CVMGEN_CACHE", chosen)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(CacheError, match="no home folder for the cache; set CVMGEN_CACHE"):
        paths.cache_folder()


def test_a_checkout_uses_its_own_folders() -> None:
    assert paths.checkout() == ROOT
    assert paths.spec_folder() == ROOT / "spec"
    assert paths.templates_folder() == ROOT / "templates"
    assert paths.runtime_folder() == ROOT / "cvmgen/runtime"
    assert paths.generated_folder() == ROOT / "generated"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel of this checkout holds."""
    if importlib.util.find_spec("hatchling") is None or importlib.util.find_spec("pip") is None:
        pytest.skip("hatchling and pip are needed to build the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *options,
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


ASK = """
from cvmgen import paths
print(paths.__file__)
for folder in ("spec", "templates", "generated", "runtime"):
    print(getattr(paths, f"{folder}_folder")())
assert paths.checkout() is None
"""


def test_a_wheel_brings_its_folders(site: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-B",
            "-c",
            ASK,
        ],  # -S: without the checkout that this Python has installed; -B: the folder stays as it is
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{NUMPY_SITE}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    module, *folders = done.stdout.split()
    assert Path(module) == site / "cvmgen/paths.py"
    for name, folder in zip(("spec", "templates", "generated", "runtime"), folders, strict=True):
        own = ROOT / name if name != "runtime" else ROOT / "cvmgen/runtime"
        assert Path(folder) == site / "cvmgen" / (
            "runtime" if own.parent != ROOT else f"_data/{name}"
        )
        wanted = {path.relative_to(own) for path in own.rglob("*") if good(path)}
        assert wanted
        found = {path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file()}
        assert found == wanted


def good(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc"


def test_a_wheel_is_typed_licensed_and_holds_nothing_else(site: Path) -> None:
    assert (site / "cvmgen/py.typed").is_file()
    assert {path.name.split("-")[0] for path in site.iterdir()} == {"cvmgen"}
    assert list(site.glob("*.dist-info/licenses/LICENSE"))
    assert not [path for path in site.rglob("*") if path.suffix == ".pyc"]
