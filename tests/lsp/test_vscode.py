"""The extension for Visual Studio Code, in one that is served (code-server), seen in a browser.

It takes `code-server` on the path, Node.js that finds playwright-core (NODE_PATH), Chromium, and
the packages of the extension (`npm install --omit=dev` in editors/vscode), or is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("pygls")

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "editors" / "vscode"
SERVER, NODE, BROWSER = map(shutil.which, ("code-server", "node", "chromium"))
LONG = 120  # seconds, on a machine that has other things to do
WRONG = """operator double {
  "Twice each element."
  input  X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = 2 * X[e...]
  example double([[1, -2]]) == [[2, -4]]
}
"""
SETTINGS = {
    "cvmgen.command": str(Path(sys.executable).with_name("cvmgen")),
    "cvmgen.spec": "${workspaceFolder}/spec",
    "chat.disableAIFeatures": True,
    "workbench.startupEditor": "none",
}


def is_there() -> bool:
    if None in (SERVER, NODE, BROWSER) or not (EXTENSION / "node_modules").is_dir():
        return False
    asked = [str(NODE), "-e", "require('playwright-core')"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where the editor is served, whose extensions are a link to ours."""
    (tmp_path / "spec" / "own").mkdir(parents=True)
    (tmp_path / "spec" / "own" / "mine.cvm").write_text(WRONG, encoding="utf-8")
    user = tmp_path / "data" / "User"
    user.mkdir(parents=True)
    (user / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (tmp_path / "extensions").mkdir()
    (tmp_path / "extensions" / "cvmgen").symlink_to(EXTENSION)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(SERVER), "--auth", "none", "--bind-addr", found, "--disable-workspace-trust"]
    command += ["--disable-telemetry", "--disable-update-check"]
    command += ["--user-data-dir", str(tmp_path / "data")]
    command += ["--extensions-dir", str(tmp_path / "extensions")]
    home = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(command, env=home, stdout=subprocess.DEVNULL) as served:
        try:
            for _ in range(LONG):
                try:
                    urlopen(f"http://{found}/healthz").close()
                    break
                except OSError:
                    time.sleep(1)
            yield found
        finally:
            served.terminate()


@pytest.mark.slow
@pytest.mark.skipif(
    not is_there(), reason="needs code-server, Node.js with playwright-core, Chromium"
)
def test_a_formula_is_coloured_told_its_fault_and_laid_out(address: str, tmp_path: Path) -> None:
    script = Path(__file__).with_name("vscode.js")
    given = [str(tmp_path), "spec/own/mine.cvm", address, str(BROWSER)]
    done = subprocess.run(
        [str(NODE), str(script), *given],
        capture_output=True,
        text=True,
        timeout=5 * LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["faults"] == 1
    assert "index 'e' is not bound" in seen["hint"]
    assert "hint: put it on the left side" in seen["hint"]
    assert "  Y[d...] = 2*X[d...]" in seen["text"]
    assert seen["completed"] == 1
