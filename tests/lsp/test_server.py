"""`cvmgen lsp` as a process, asked as editors ask it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import from_fs_path

from cvmgen.lsp.server import is_no_refusal
from cvmgen.lsp.words import help_of
from cvmgen.spec.words import RESERVED

from .editor import COMMON, NN, Editor


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec folder of two files."""
    folder = tmp_path_factory.mktemp("project") / "spec"
    (folder / "own").mkdir(parents=True)
    (folder / "common.cvm").write_text(COMMON, encoding="utf-8")
    (folder / "own/nn.cvm").write_text(NN, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def editor(spec: Path) -> Iterator[Editor]:
    editor = Editor(spec)
    yield editor
    editor.close()


def at(text: str, piece: str, inside: int = 0) -> t.Position:
    """Where a piece of a text begins, counted as UTF-16."""
    offset = text.index(piece) + inside
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return t.Position(line, len(before.encode("utf-16-le")) // 2)


def covered(text: str, found: t.Range) -> str:
    lines = [each.encode("utf-16-le") for each in text.split("\n")]
    assert found.start.line == found.end.line
    part = lines[found.start.line][2 * found.start.character : 2 * found.end.character]
    return part.decode("utf-16-le")


@pytest.fixture(scope="module")
def nn(editor: Editor, spec: Path) -> str:
    return editor.open(spec / "own/nn.cvm")


def place(uri: str) -> t.TextDocumentIdentifier:
    return t.TextDocumentIdentifier(uri)


def test_what_is_right_has_no_faults(editor: Editor, nn: str) -> None:
    assert editor.faults(nn) == []


@pytest.mark.parametrize(
    ("right", "wrong", "marked", "message"),
    [
        ("X[i, k]", "X[i, q]", "q", "index 'q' is not bound"),
        ("sum[k < K](", "sum[k < K(", "[", "this '[' is not closed"),
        ("bits(K)", "bitz(K)", "bitz", "unknown function 'bitz'\nhint: did you mean 'bits'?"),
        ("in [0, most)", "in [0, last)", "last", "unknown name 'last'"),
        ('"Each', '"\u200fEach', "\u200f", "the character U+200F cannot be seen\nhint: delete it"),
    ],
)
def test_faults_come_while_typing(
    editor: Editor, nn: str, right: str, wrong: str, marked: str, message: str
) -> None:
    text = NN.replace(right, wrong, 1)
    editor.change(nn, text)
    (fault,) = editor.faults(nn)
    assert fault.message.startswith(message)
    assert covered(text, fault.range) == marked
    assert fault.severity is t.DiagnosticSeverity.Error
    editor.change(nn, NN)
    assert editor.faults(nn) == []


def test_a_fault_in_one_declaration_hides_no_other(editor: Editor, nn: str) -> None:
    text = NN.replace("X[i, k]", "X[i, q]").replace("x + by", "x + bx")
    editor.change(nn, "\n\n" + text)
    assert [each.range.start.line for each in editor.faults(nn)] == [7, 16]
    editor.change(nn, NN)
    editor.faults(nn)


def test_what_nothing_reads_is_a_warning(editor: Editor, nn: str) -> None:
    editor.change(nn, NN.replace("  output Y", "  let    unused = 1\n  output Y", 1))
    (fault,) = editor.faults(nn)
    assert fault.severity is t.DiagnosticSeverity.Warning
    editor.change(nn, NN)
    editor.faults(nn)


def test_when_saved_small_calls_are_tried(editor: Editor, nn: str) -> None:
    editor.change(nn, NN.replace("== [4, 1]", "== [4, 2]"))
    assert editor.faults(nn) == []
    editor.save(nn)
    found = editor.faults(nn)
    while not found:
        editor.told.pop(nn)
        found = editor.faults(nn)
    assert "example" in found[0].message
    editor.change(nn, NN)
    assert editor.faults(nn) == []


HOVERS = {
    "sum[k": ("sum[k < K](X[k])", "The sum over the indices"),
    "bits(K)": ("**definition**", "def bits(n) = floor(log2(n)) + 1"),
    "W[j, k]": ("**input** of dense", "input  W : cvm[N, K]"),
    "by  where": ("**attribute** of shifted", "attr   by = 1 in [0, most)"),
    "Y : cvm[M": ("**output** of dense", "precision"),
    "* W": ("range of",),
    "cvm[n": ("int8 or int32",),
}


@pytest.mark.parametrize("piece", HOVERS)
def test_help(editor: Editor, nn: str, piece: str) -> None:
    params = t.HoverParams(place(nn), at(NN, piece))
    found = editor.wait(editor.client.text_document_hover_async(params))
    assert found is not None
    assert isinstance(found.contents, t.MarkupContent)
    for each in HOVERS[piece]:
        assert each in found.contents.value


def test_every_word_of_the_language_has_help() -> None:
    assert [each for each in RESERVED if help_of(each) is None] == []


def test_where_a_name_is_bound_and_used(editor: Editor, nn: str, spec: Path) -> None:
    params = t.DefinitionParams(place(nn), at(NN, "bits(K)", 2))
    found = editor.wait(editor.client.text_document_definition_async(params))
    assert isinstance(found, list)
    (only,) = found
    assert isinstance(only, t.Location)
    assert only.uri == from_fs_path(str(spec / "common.cvm"))
    assert covered(COMMON, only.range) == "bits"
    asked = t.ReferenceParams(
        t.ReferenceContext(include_declaration=True), place(nn), at(NN, "K](X")
    )
    places = editor.wait(editor.client.text_document_references_async(asked))
    assert places is not None
    assert [each.range.start.line for each in places] == [2, 3, 4, 5]


def rename(editor: Editor, nn: str, piece: str, new: str) -> t.WorkspaceEdit | None:
    params = t.RenameParams(text_document=place(nn), position=at(NN, piece), new_name=new)
    return editor.wait(editor.client.text_document_rename_async(params))


def edited(text: str, edits: list[t.TextEdit]) -> str:
    lines = text.split("\n")
    for each in sorted(edits, key=lambda one: -one.range.start.character):
        row, (low, high) = each.range.start.line, (each.range.start, each.range.end)
        units = lines[row].encode("utf-16-le")
        new = each.new_text.encode("utf-16-le")
        lines[row] = (units[: 2 * low.character] + new + units[2 * high.character :]).decode(
            "utf-16-le"
        )
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("piece", "new", "edits"),
    [
        ("by = 1", "step", [("by =", "step ="), ("+ by", "+ step"), ("by=3", "step=3")]),
        ("k < K", "q", [("k <", "q <"), (", k]", ", q]")]),
        ("x = X", "v", [("x = X", "v = X"), ("x + by", "v + by")]),
        ("dense", "linear", [("operator dense", "operator linear"), ("e dense", "e linear")]),
        ("sum {", "total", [("operator sum", "operator total"), ("e sum", "e total")]),
    ],
)
def test_renaming(
    editor: Editor, nn: str, piece: str, new: str, edits: list[tuple[str, str]]
) -> None:
    found = rename(editor, nn, piece, new)
    assert found is not None
    assert found.changes is not None
    assert [*found.changes] == [nn]
    wanted = NN
    for before, after in edits:
        wanted = wanted.replace(before, after)
    assert edited(NN, list(found.changes[nn])) == wanted


def test_what_can_be_renamed_is_known_before_a_name_is_typed(editor: Editor, nn: str) -> None:
    def prepared(piece: str, shift: int = 0) -> t.PrepareRenameResult | None:
        asked = t.PrepareRenameParams(place(nn), at(NN, piece, shift))
        return editor.wait(editor.client.text_document_prepare_rename_async(asked))

    found = prepared("x + by", 5)
    assert isinstance(found, t.PrepareRenamePlaceholder)
    start, end = found.range.start, found.range.end
    assert (found.placeholder, start) == ("by", at(NN, "by  where"))
    assert end.character - start.character == 2
    with pytest.raises(JsonRpcException, match="no name of a formula stands here"):
        prepared("precision")


def test_a_refusal_is_no_fault_of_the_server() -> None:
    def record(error: Exception) -> logging.LogRecord:
        told = (type(error), error, None)
        return logging.LogRecord("pygls", logging.ERROR, "", 0, "", None, told)

    assert not is_no_refusal(record(JsonRpcInvalidParams("'K' is the name of the extent already")))
    assert is_no_refusal(record(ValueError()))


@pytest.mark.parametrize("new", ["K", "sum of", "forall", "1a"])
def test_names_that_cannot_be_given(editor: Editor, nn: str, new: str) -> None:
    with pytest.raises(JsonRpcException, match=r"cannot be a name|is the name of"):
        rename(editor, nn, "k < K", new)


def test_a_definition_gets_no_name_of_a_function(editor: Editor, spec: Path) -> None:
    uri = editor.open(spec / "common.cvm")
    params = t.RenameParams(place(uri), at(COMMON, "bits"), "max")
    with pytest.raises(JsonRpcException, match="'max' is a function of the language"):
        editor.wait(editor.client.text_document_rename_async(params))


def test_nothing_is_renamed_by_halves(editor: Editor, nn: str, spec: Path) -> None:
    """A place in what cannot be read is no place that is known."""
    text = NN.replace("bits(K)\n", "bits(K\n")
    editor.change(nn, text)
    assert editor.faults(nn)
    uri = editor.open(spec / "common.cvm")
    params = t.RenameParams(place(uri), at(COMMON, "bits"), "width")
    try:
        with pytest.raises(JsonRpcException, match=r"mend nn\.cvm first: 'bits' stands where"):
            editor.wait(editor.client.text_document_rename_async(params))
        local = t.RenameParams(place(nn), at(text, "by = 1"), "step")
        assert editor.wait(editor.client.text_document_rename_async(local)) is not None
    finally:
        editor.change(nn, NN)


def test_completion_in_the_middle_of_a_line(editor: Editor, nn: str) -> None:
    text = NN.replace("x + by", "x + b")
    editor.change(nn, text)
    params = t.CompletionParams(place(nn), at(text, "x + b", 5))
    found = editor.wait(editor.client.text_document_completion_async(params))
    assert isinstance(found, list)
    kinds = {each.label: each.detail for each in found}
    wanted = {"by": "attribute", "bits": "definition", "forall": "keyword", "isnan": "function"}
    assert wanted.items() <= kinds.items()
    assert "b" not in kinds
    editor.change(nn, NN)


def test_the_outline(editor: Editor, nn: str) -> None:
    params = t.DocumentSymbolParams(place(nn))
    found = editor.wait(editor.client.text_document_document_symbol_async(params))
    assert found is not None
    told = {
        each.name: [below.name for below in each.children or ()]
        for each in found
        if isinstance(each, t.DocumentSymbol)
    }
    assert told == {"dense": ["X", "W", "Y"], "shifted": ["X", "by", "Y"], "sum": ["X", "Y"]}


def test_layout(editor: Editor, nn: str) -> None:
    editor.change(nn, NN.replace("  output Y", "output  Y"))
    options = t.FormattingOptions(tab_size=2, insert_spaces=True)
    params = t.DocumentFormattingParams(place(nn), options)
    found = editor.wait(editor.client.text_document_formatting_async(params))
    assert found is not None
    assert [each.new_text for each in found] == [NN]
    editor.change(nn, NN)


def test_schedules(editor: Editor, tmp_path: Path) -> None:
    text = "schedule elementwise for c {\n  vectorize inner\n}\n"
    uri = editor.open(tmp_path / "own.sched", text)
    (fault,) = editor.faults(uri)
    assert "did you mean 'vectorise'?" in fault.message
    assert covered(text, fault.range) == "vectorize"
    right = text.replace("ize", "ise")
    editor.change(uri, right)
    assert editor.faults(uri) == []
    params = t.HoverParams(place(uri), at(right, "vectorise"))
    found = editor.wait(editor.client.text_document_hover_async(params))
    assert found is not None


def test_a_file_outside_of_any_folder(editor: Editor, tmp_path: Path) -> None:
    """It may speak of what all formulas of the project may."""
    text = NN.split("\n\n")[0] + "\n"
    uri = editor.open(tmp_path / "mine.cvm", text)
    assert editor.faults(uri) == []


def test_a_text_that_is_not_saved_yet(editor: Editor) -> None:
    """It speaks of what it declares itself."""
    text = "def twice(x) = 2 * x\n" + NN.split("\n\n")[1].replace("x + by", "twice(x) + by")
    uri = "untitled:Untitled-1"
    editor.client.text_document_did_open(
        t.DidOpenTextDocumentParams(t.TextDocumentItem(uri, "cvm", 1, text))
    )
    editor.versions[uri] = 1
    assert editor.faults(uri) == []


def test_the_server_ends_well(spec: Path) -> None:
    editor = Editor(spec)
    process = editor.client._server
    assert process is not None
    editor.wait(editor.client.shutdown_async(None))
    editor.client.exit(None)
    assert editor.wait(process.wait()) == 0
    editor.wait(editor.client.stop())
    editor.loop.close()
