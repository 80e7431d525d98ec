"""`cvmgen explore`: what belongs together on a page, in a browser too."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cvmgen.build.assembly import assembly
from cvmgen.cli.command import main
from cvmgen.cli.pages import reloading
from cvmgen.inspection.facts import ranges
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.cli.conftest import needs_browser

ROOT = Path(__file__).parents[2]

CODE_OF_TARGET = re.compile(r'<pre data-code="(\w+)" data-parts="([^"]*)">\n([^<]*)</pre>')
PART = re.compile(r'<span data-at="(\d+)"(?: class="linked")?>([^<]*)</span>')
HOSTILE = """operator f {
  "</script><script>alert(1)</script> & 'quoted'"
  input  X : cvm[n]
  output Y : cvm[n] precision p(X)
  require n < 9 : "<b onclick='x'>"
  Y[i] = X[i]
}
"""


def code_lines(page: str) -> Iterator[tuple[str, int, list[int], str]]:
    """The lines of code on a page: of which target, which one, the part that it computes, text."""
    for target, runs, text in CODE_OF_TARGET.findall(page):
        lines = html.unescape(text).split("\n")
        parts = [
            [int(each) for each in part]
            for count, *part in (run.split(":") for run in runs.split(" "))
            for _ in range(int(count))
        ]
        for number, (part, line) in enumerate(zip(parts, lines, strict=True), 1):
            yield target, number, part, line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of two operators."""
    made = tmp_path_factory.mktemp("explore")
    assert main(["explore", "cvm.dense", "cvm.relu", "--out", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "cvm.relu.html").read_text(encoding="utf-8")


def test_lines_lead_to_what_they_compute(page: str) -> None:
    formula = "".join(html.unescape(text) for _, text in PART.findall(page))
    starts = [int(at) for at, _ in PART.findall(page)]
    assert starts == sorted(set(starts))
    found = {}
    for _, _, part, code in code_lines(page):
        if part:
            assert {*part} <= {*starts, len(formula)}
            found[code.strip()] = formula[slice(*part)]
    stores = {text for code, text in found.items() if code.startswith("Y[") and " = " in code}
    assert stores == {"Y[d...] = max(0, X[d...])"}


def test_each_target_and_its_stages_have_a_pane(page: str) -> None:
    panes = set(re.findall(r'data-pane="([\w-]+)"', page))
    targets = ("python", "numpy", "c", "cuda")
    stages = ("stages", *(f"stages-{each}" for each in targets))
    assert panes == {"formula", "data", *targets, *stages}
    assert set(re.findall(r'data-shows="([\w-]+)"', page)) == panes
    assert "cvmgen show cvm.relu --target cuda" in page
    assert "translate: a nest of loops" in page


def test_a_page_stands_alone(folder: Path) -> None:
    for each in folder.glob("*.html"):
        text = each.read_text(encoding="utf-8")
        assert len(text) < 1 << 20
        assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text)
        told = re.sub(r"<pre>.*?</pre>|xmlns=\S+", "", text, flags=re.S)
        assert "http" not in told


def test_the_index_names_all_that_were_asked_for(folder: Path) -> None:
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<li><a href="([^"]*)"', index) == ["cvm.dense.html", "cvm.relu.html"]


def test_an_operator_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "cvm.rulu", "--out", str(tmp_path / "pages")]) == 2
    assert "did you mean 'cvm.relu'" in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


FAULTY = """operator sound { "Is." input X : int32[n] output Y : int32[n] Y[i] = X[i] }
operator faulty { "Is not." input X : int32[n] output Y : int32[m] Y[i] = X[i] }
operator outside {
  "Reads what is not there."
  input  X : int32[n]
  output Y : int32[n]
  Y[i] = X[i + 1]
}
def broken(x) = x +
operator user { "Uses it." input X : int32[n] output Y : int32[n] Y[i] = broken(X[i]) }
"""


def test_faulty_formulas_leave_the_others_their_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/a.cvm").write_text(FAULTY)
    out = tmp_path / "out"

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["explore", *words, "--spec", str(tmp_path), "--out", str(out)])
        return (code, *capsys.readouterr())

    code, told, errors = run()
    assert (code, told) == (1, f"1 page in {out}; begin with {out}/toy.sound.html\n")
    assert "extent 'm' is never bound" in errors
    assert "index 0 of X is 1, outside [0, 1)" in errors
    assert sorted(each.name for each in out.glob("*.html")) == ["index.html", "toy.sound.html"]
    listed = (out / "index.html").read_text(encoding="utf-8")
    assert "is never bound" in listed
    assert "toy.sound" in listed
    assert "toy.outside" not in listed
    code, told, _ = run("sound", "--json")
    assert (code, json.loads(told)["error"]["kind"]) == (1, "spec")
    for name in ("faulty", "user"):
        assert run(name)[:2] == (1, "")


def test_a_spec_is_no_markup(tmp_path: Path) -> None:
    spec = tmp_path / "spec" / "x"
    spec.mkdir(parents=True)
    (spec / "f.cvm").write_text(HOSTILE, encoding="utf-8")
    out = tmp_path / "pages"
    assert main(["explore", "--spec", str(tmp_path / "spec"), "--out", str(out)]) == 0
    for name in ("x.f.html", "index.html"):
        text = (out / name).read_text(encoding="utf-8")
        assert (
            text.count("<script") == text.count("</script>") == (1 if name == "index.html" else 3)
        )
        assert "<b onclick" not in text
        assert "&lt;/script&gt;" in text


def data_of(text: str, name: str) -> Any:
    """What a page brings for its script."""
    pattern = rf'<script type="application/json" id="{name}">(.*?)</script>'
    found = re.search(pattern, text, flags=re.S)
    assert found is not None
    return json.loads(found[1])


def test_parts_of_the_formula_tell_their_ranges_and_types(folder: Path) -> None:
    text = (folder / "cvm.dense.html").read_text(encoding="utf-8")
    formula = "".join(html.unescape(part) for _, part in PART.findall(text))
    facts = {formula[a:b]: told for a, b, told in data_of(text, "facts")}
    assert facts["X[i, k]"] == ["from -(2^(p(X) - 1) - 1) to 2^(p(X) - 1) - 1"]
    assert any("total: u32" in each for told in facts.values() for each in told)
    assert "c: bounds proved" in text


def test_ends_of_ranges_do_not_grow_with_what_names_them_twice() -> None:
    text = """def twice(x) = x*x - x
operator f {
  "Nested."
  input  X : int8[n]
  attr   by = 1 in [0, 9)
  output Y : int8[n]
  Y[i] = min(by, max(0, {body}))
}"""
    body = "X[i] + by"
    for _ in range(9):
        body = f"min(99, twice({body}))"
    source = Source("t.cvm", text.replace("{body}", body))
    (operator,) = check_files([SpecFile(source, "t")])
    told = [each for _, each in ranges(operator)]
    assert "from 0 to by" in told
    assert max(map(len, told)) < 220


def test_elements_tell_what_they_read_and_their_numbers(folder: Path) -> None:
    first, *_ = data_of((folder / "cvm.dense.html").read_text(encoding="utf-8"), "pictures")
    assert [each["name"] for each in first["inputs"]] == ["X", "W", "B"]
    ((one, other),) = first["elements"]
    assert one == {"r": [0, 0, 1, 0, 0, 1, 1, 1, 2, 0], "t": "1 * 3 + 2 * 4 + 10"}
    assert other["t"] == "1 * 5 + 2 * 6 + 20"


def test_stages_and_actions_are_differences(folder: Path) -> None:
    text = (folder / "cvm.dense.html").read_text(encoding="utf-8")
    found = re.search(r'id="pane-stages-c".*?</section>', text, flags=re.S)
    assert found is not None
    assert "contraction, by" in found[0]
    assert "rows: i (" in found[0]
    assert re.search(r"<ins>\+.*parallel if", found[0])


# ---------------------------------------------------------------- in a browser


@pytest.fixture
def after(page: str, in_browser: Callable[[str, str, str], str]) -> Callable[..., str]:
    """The page of an operator after a script."""
    return lambda script, anchor="": in_browser(page, script, anchor)


def marked(page: str, sign: str) -> set[str]:
    """The panes in which something has a mark."""
    body = page[page.index("<main>") : page.index("</main>")]
    panes = [each for each in re.split(r'<section id="pane-', body)[1:] if each[:4] != "data"]
    return {each.split('"')[0] for each in panes if re.search(rf'class="[\w ]*\b{sign}\b', each)}


def line_that_stores(page: str, target: str) -> str:
    return next(
        f"{target}-{number}"
        for which, number, part, code in code_lines(page)
        if part and which == target and "Y[" in code
    )


CODE = {"formula", "python", "numpy", "c", "cuda"}


def test_mathematics_is_linked_as_the_text_is(folder: Path) -> None:
    text = (folder / "cvm.dense.html").read_text(encoding="utf-8")
    found = re.search(r'<div class="math"><math.*?</math></div>', text, flags=re.S)
    assert found is not None
    formula = "".join(html.unescape(part) for _, part in PART.findall(text))
    linked = {
        formula[int(a) : int(b)] for a, b in re.findall(r'data-a="(\d+)" data-b="(\d+)"', found[0])
    }
    assert "sum[k < K](X[i, k] * W[j, k])" in linked


def test_pages_of_others_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "index.html"
    page.write_text("mine", encoding="utf-8")
    assert main(["explore", "cvm.relu", "--out", str(tmp_path)]) == 1
    assert "index.html is no page of cvmgen" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [page]
    assert page.read_text(encoding="utf-8") == "mine"


def test_machine_code_of_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("CC", shlex.join([sys.executable, "-m", "ziglang", "cc"]))
    sources = {"c/f.c": "int f(int x);\nint f(int x) { return x + 1; }\n"}
    assert ("f:", 0) in assembly(sources, "c/f.c")


def test_machine_code_is_linked_by_the_lines_of_c(tmp_path: Path) -> None:
    assert main(["explore", "cvm.relu", "--assembly", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "cvm.relu.html").read_text(encoding="utf-8")
    found = re.search(r'id="pane-assembly".*?</section>', text, flags=re.S)
    assert found is not None
    linked = re.findall(
        r'<span class="line" data-a="\d+" data-b="\d+">(.*?)</span>', found[0], re.S
    )
    assert sum(len(each.splitlines()) for each in linked) > 50
    sass = re.search(r'id="pane-sass".*?</section>', text, flags=re.S)
    assert sass is not None
    assert re.search(r'data-a="\d+".*STG|pip install', sass[0], flags=re.S)
    assert len(text) < 1 << 20


def test_what_is_up_to_date_is_seen_without_what_makes_it(
    tmp_path: Path,
) -> None:
    spec, out = tmp_path / "spec" / "x", tmp_path / "pages"
    spec.mkdir(parents=True)
    (spec / "f.cvm").write_text(HOSTILE, encoding="utf-8")
    program = (
        "import sys; from cvmgen.cli import main; main(sys.argv[1:]);"
        "print({'sympy', 'lark', 'jinja2'} & sys.modules.keys() or 'nothing heavy')"
    )
    command = ["explore", "--spec", str(tmp_path / "spec"), "--out", str(out)]
    assert main(command) == 0

    def told() -> list[str]:
        arguments = [sys.executable, "-c", program, *command]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    first = f"1 page in {out}; begin with {out / 'x.f.html'}"
    assert told() == [first, "nothing heavy"]
    (out / "x.f.html").unlink()
    assert told()[0] == first
    assert told() == [first, "nothing heavy"]
    (spec / "f.cvm").write_text(HOSTILE.replace("n < 9", "n < 8"), encoding="utf-8")
    assert told()[1] != "nothing heavy"
    assert "n &lt; 8" in (out / "x.f.html").read_text(encoding="utf-8")


def test_what_a_build_knew_is_not_made_again(tmp_path: Path) -> None:
    spec = ("--spec", str(tmp_path / "spec"))
    (tmp_path / "spec/x").mkdir(parents=True)
    (tmp_path / "spec/x/f.cvm").write_text(HOSTILE.replace("n < 9", "n < 7"), encoding="utf-8")
    assert main(["build", *spec, "--out", str(tmp_path / "generated")]) == 0
    program = (
        "import sys; from cvmgen.cli import main; main(sys.argv[1:]);"
        "print({'sympy', 'cvmgen.driver'} & sys.modules.keys() or 'no compiler')"
    )
    command = (sys.executable, "-c", program, "explore", *spec, "--out", str(tmp_path / "pages"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["no compiler"]


def test_pages_are_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cvmgen.inspection.pages.OperatorPage.text", lambda *_: pytest.fail("again")
    )
    assert main(["explore", "cvm.relu", "--out", str(folder)]) == 0


@needs_browser
def test_a_click_marks_what_belongs_together(after: Callable[..., str], page: str) -> None:
    line = line_that_stores(page, "c")
    found = after(f"document.getElementById('{line}').click()")
    assert marked(found, "hit") == CODE
    assert marked(found, "chosen") == {"c"}
    found = after("[...document.querySelectorAll('[data-at].linked')].at(-1).click()")
    assert "formula" in marked(found, "hit")


@needs_browser
def test_a_link_to_a_line_shows_it(after: Callable[..., str], page: str) -> None:
    line = line_that_stores(page, "python")
    found = after("", f"#{line}")
    assert marked(found, "hit") == CODE
    assert re.search(r'<section id="pane-python" data-pane="python" aria-label', found)


@needs_browser
def test_keys(after: Callable[..., str], page: str) -> None:
    def press(*keys: str) -> str:
        events = (
            f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}));"
            for key in keys
        )
        return "".join(events)

    assert marked(after(press("ArrowDown", "ArrowDown")), "chosen") == {"c"}
    assert marked(after(press("ArrowDown", "Escape")), "hit") == set()
    found = after(press("5"))
    assert re.search(r'<section id="pane-cuda" data-pane="cuda" aria-label', found)
    assert re.search(r'data-shows="cuda" aria-pressed="true"', found)


@needs_browser
def test_the_key_of_the_search_is_none_of_its_letters(
    folder: Path, in_browser: Callable[[str, str, str], str]
) -> None:
    script = """
      const key = () => new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true});
      search.focus();
      const first = search.dispatchEvent(key());
      search.value = 'a';
      document.title = [first, search.dispatchEvent(key())];"""
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert "<title>false,true</title>" in in_browser(index, script, "")


@needs_browser
def test_a_page_that_is_watched_shows_what_was_saved_and_loads_itself_again(
    page: str, in_browser: Callable[[str, str, str], str], tmp_path: Path
) -> None:
    told = "told: performance.getEntriesByType('navigation')[0].type + '<b>'"
    for version, found in (("1", "reload"), ("2", "navigate")):
        # once it is loaded again it is the newer one
        last = f"saved({{{told}, versions: {{'page.html': again() ? '1' : '2'}}}})"
        again = (
            "const again = () => performance.getEntriesByType('navigation')[0].type === 'reload'"
        )
        (tmp_path / "watch.js").write_text(f"{{ {again}; {last}; }}", encoding="utf-8")
        shown = in_browser(reloading(page, "page.html", version), "", "")
        assert f'role="status">{found}&lt;b&gt;</pre>' in shown


@needs_browser
def test_panes_stay_as_they_were(after: Callable[..., str]) -> None:
    script = """
      const again = performance.getEntriesByType('navigation')[0].type === 'reload';
      if (!again) {
        document.querySelector('[data-shows=cuda]').click();
        location.reload();
      }"""
    found = after(script)
    assert re.search(r'<section id="pane-cuda" data-pane="cuda" aria-label', found)
    assert re.search(r'<section id="pane-numpy" data-pane="numpy" hidden', found)


@needs_browser
def test_elements_of_pictures_are_pointed_at(after: Callable[..., str]) -> None:
    over = "new MouseEvent('mouseover', {bubbles: true})"
    found = after(f"document.querySelectorAll('td.output')[1].dispatchEvent({over})")
    assert len(re.findall(r'<td [^>]*class="hit"', found)) == 1
    assert re.search(r'id="picture-text">Y\[[\d, ]+\] = max\(0, -?\d+\) = \d+</output>', found)
    key = "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})"
    found = after(
        "const cell = document.querySelector('td.output'); cell.focus();"
        f"cell.dispatchEvent({key}); document.title = document.activeElement.dataset.position"
    )
    assert "<title>1</title>" in found
