"""`cvmgen explore --model`: the steps of a model, its memory and its times, in a browser too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cvmgen.cli import explore
from cvmgen.cli.command import main
from tests.cli.conftest import needs_browser
from tests.graph.test_tflite import STORED, STREAM

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model")
    digits = ROOT / "examples" / "digits"
    files = [str(digits / name) for name in ("digits.json", "digits.bin")]
    assert main(["explore", "--model", *files, "--out", str(out), "--profile"]) == 0
    return out / "digits.html"


def test_a_model_shows_its_steps_its_memory_and_its_times(model_page: Path) -> None:
    text = model_page.read_text(encoding="utf-8")
    rows = re.findall(r'<tr id="step-\d+".*?</tr>', text, flags=re.S)
    assert len(rows) == 6
    assert all(re.search(r'<meter value="[\d.]+"></meter> [\d.,]+ µs', row) for row in rows)
    assert "conv2d" in rows[1]
    boxes = re.findall(r'data-first="(\d+)" data-last="(\d+)".*?aria-label="([^"]*)"', text)
    assert boxes
    for first, last, told in boxes:
        assert int(first) <= int(last) < len(rows)
        assert f"steps {first} to {last}" in told
    assert "clock" not in text  # what is shown is what ships


def test_a_stream_tells_what_it_keeps_from_run_to_run(tmp_path: Path) -> None:
    model = tmp_path / "0 ring.tflite"
    model.write_bytes(STORED[f"{STREAM}/model"].tobytes())
    assert main(["explore", "--model", str(model), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "ring.html").read_text(encoding="utf-8")
    assert re.search(r"\d+ bytes of parameters, \d+ bytes from one run to the next", text)
    assert "ring: " in text


def test_pages_of_two_graphs_of_one_folder(tmp_path: Path) -> None:
    digits = ROOT / "examples" / "digits"
    graphs = (digits / "digits.json", digits / "b-2.json")
    names = [explore.model_page_name(each, "digits") for each in graphs]
    assert names == ["digits.html", "digits-b_2.html"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--model", "a.json"], "behind a graph goes the file of its parameters"),
        (["--model", "a.json", "--profile"], "only .onnx and .tflite files have them"),
        (["--profile"], "--profile is for the steps of a model: give --model too"),
        (["cvm.relu", "--model", "a", "b"], "name no operators beside it"),
    ],
)
def test_what_does_not_go_together(
    given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *given]) == 2
    assert told in capsys.readouterr().err


@needs_browser
def test_a_tensor_of_a_model_is_pointed_at(
    in_browser: Callable[[str, str, str], str], model_page: Path
) -> None:
    over = "new MouseEvent('mouseover', {bubbles: true})"
    script = f"document.querySelector('.box rect').dispatchEvent({over})"
    found = in_browser(model_page.read_text(encoding="utf-8"), script, "")
    assert re.search(r'<g class="box colour0 hit"', found)
    assert re.search(r'<tr [^>]*class="hover"', found)
    assert re.search(r'id="fact">\w+: [\d,]+ bytes from', found)
