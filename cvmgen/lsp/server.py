"""The server: what an editor asks, and what it is told, over standard input and output."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as t
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

import cvmgen
from cvmgen.errors import CvmgenError
from cvmgen.functions import FUNCTIONS, SPECIAL
from cvmgen.lsp import answers
from cvmgen.lsp.documents import Document, DocumentFault, unseen
from cvmgen.lsp.project import Project
from cvmgen.lsp.symbols import FileSymbol
from cvmgen.source import Source, Span, SpecError, SpecErrors
from cvmgen.spec.formatting import ended_alike, formatted
from cvmgen.spec.lexemes import LEXEME
from cvmgen.spec.schedules import parse_schedules
from cvmgen.spec.words import RESERVED

KINDS = {
    "operator": (t.SymbolKind.Class, t.CompletionItemKind.Class),
    "family": (t.SymbolKind.Interface, t.CompletionItemKind.Interface),
    "definition": (t.SymbolKind.Function, t.CompletionItemKind.Function),
    "constant": (t.SymbolKind.Constant, t.CompletionItemKind.Constant),
    "input": (t.SymbolKind.Field, t.CompletionItemKind.Field),
    "output": (t.SymbolKind.Field, t.CompletionItemKind.Field),
    "attribute": (t.SymbolKind.Property, t.CompletionItemKind.Property),
    "let": (t.SymbolKind.Variable, t.CompletionItemKind.Variable),
    "function": (t.SymbolKind.Function, t.CompletionItemKind.Function),
    "reduction": (t.SymbolKind.Function, t.CompletionItemKind.Function),
    "type": (t.SymbolKind.TypeParameter, t.CompletionItemKind.TypeParameter),
    "keyword": (t.SymbolKind.Key, t.CompletionItemKind.Keyword),
}
OTHER = (t.SymbolKind.Variable, t.CompletionItemKind.Variable)
NAME = "cvmgen"
PAUSE = 0.02
"""Seconds after a change in which another may come, before a file is checked."""


class FormulaServer(LanguageServer):
    """Speaks for a project of formulas."""

    def __init__(self, spec: Path) -> None:
        super().__init__(NAME, cvmgen.__version__)
        self.project = Project(spec)

    def path(self, uri: str) -> Path:
        return Path(to_fs_path(uri) or uri).resolve()

    def offset(self, document: Document, uri: str, position: t.Position) -> int:
        """A place that the editor names, in characters from the start of the file."""
        shown = self.workspace.get_text_document(uri)
        codec = self.workspace.position_codec
        here = codec.position_from_client_units(shown.lines, position)
        starts = document.source.line_starts
        if here.line >= len(starts):
            return len(document.text)
        return min(int(starts[here.line] + here.character), len(document.text))

    def range(self, document: Document, span: Span) -> t.Range:
        """A part of a file, as the editor counts."""
        lines = document.text.splitlines(keepends=True)
        found = t.Range(self.position(document, span.start), self.position(document, span.end))
        return self.workspace.position_codec.range_to_client_units(lines, found)

    def position(self, document: Document, offset: int) -> t.Position:
        line = document.source.line_of(offset) - 1
        return t.Position(line, offset - document.source.line_starts[line])

    # -------------------------------------------------------- faults

    def take(self, uri: str) -> Document:
        """The text of the editor for a file."""
        return self.project.opened(self.path(uri), self.workspace.get_text_document(uri).source)

    def publish(self, uri: str) -> None:
        """Tell what is wrong in a file."""
        document = self.project.document(self.path(uri))
        if document is None:
            return
        found = [self.diagnostic(document, each) for each in self.faults(document)]
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(t.PublishDiagnosticsParams(uri, found, version))

    def faults(self, document: Document) -> Sequence[DocumentFault]:
        hidden = [fault_of(each, document) for each in unseen(document.text)]
        if hidden:
            return hidden
        if not answers.is_schedule(document.path):
            return self.project.faults(document.path)
        return schedule_faults(document)

    def diagnostic(self, document: Document, fault: DocumentFault) -> t.Diagnostic:
        hint = f"\nhint: {fault.hint}" if fault.hint else ""
        kinds = t.DiagnosticSeverity
        return t.Diagnostic(
            range=self.range(document, fault.span),
            message=fault.message + hint,
            severity=kinds.Warning if fault.warning else kinds.Error,
            source=NAME,
        )

    def others_again(self, uri: str) -> None:
        """What a file declares for others may be used in those that are open too."""
        changed = self.path(uri)
        for path in sorted(self.project.open - {changed}):
            if self.project.root(path) == self.project.root(changed):
                self.publish(from_fs_path(str(path)) or "")

    async def look_closer(self, uri: str) -> None:
        """Tell too what only all operators together show, and small calls of those that changed."""
        document = self.project.document(self.path(uri))
        if document is None or answers.is_schedule(document.path):
            return
        version = self.workspace.get_text_document(uri).version
        found = await asyncio.to_thread(self.project.closer_look(document))
        if self.workspace.get_text_document(uri).version == version:
            document.late = [each for each in found if each.span.source is document.source]
            self.publish(uri)

    # -------------------------------------------------------- answers

    def location(self, document: Document, span: Span) -> t.Location:
        return t.Location(from_fs_path(str(document.path)) or "", self.range(document, span))

    def symbol(self, uri: str, position: t.Position) -> FileSymbol | None:
        path = self.path(uri)
        document = self.project.document(path)
        if document is None or answers.is_schedule(path):
            return None
        return self.project.symbol_at(path, self.offset(document, uri, position))

    def places(self, uri: str, position: t.Position) -> list[t.Location]:
        """All places of the symbol at a place, that where it is bound first."""
        symbol = self.symbol(uri, position)
        if symbol is None:
            return []
        found = self.project.places(self.path(uri), symbol)
        return [self.location(document, span) for document, span in found]

    def entry(self, document: Document, each: answers.OutlineEntry) -> t.DocumentSymbol:
        return t.DocumentSymbol(
            name=each.name,
            kind=KINDS.get(each.kind, OTHER)[0],
            detail=each.about or None,
            range=self.range(document, each.whole),
            selection_range=self.range(document, each.named),
            children=[self.entry(document, below) for below in each.below],
        )


def fault_of(error: SpecError, document: Document) -> DocumentFault:
    """A fault in a text that is that of a document."""
    span = Span(document.source, error.span.start, error.span.end)
    return DocumentFault(span, error.message, error.hint)


def schedule_faults(document: Document) -> list[DocumentFault]:
    """What is wrong in a file of schedules."""
    from cvmgen.schedule.schedules import checked_schedules

    try:
        checked_schedules(parse_schedules(document.source))
    except SpecErrors as several:
        return [fault_of(each, document) for each in several.errors]
    except SpecError as error:
        return [fault_of(error, document)]
    return []


def laid_out(document: Document) -> str | None:
    """The text of a document laid out; None where it cannot be parsed."""
    text = document.text.replace("\r\n", "\n")
    try:
        return ended_alike(formatted(Source(document.path.name, text)), document.text)
    except CvmgenError:
        return None


def made_server(spec: Path) -> FormulaServer:
    """The server with all that it answers."""
    server = FormulaServer(spec)
    feature = server.feature

    @feature(t.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: FormulaServer, params: t.DidOpenTextDocumentParams) -> None:
        ls.take(params.text_document.uri)
        ls.publish(params.text_document.uri)

    @feature(t.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: FormulaServer, params: t.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.take(uri)
        await asyncio.sleep(PAUSE)  # who types on is waited for: the last change is what counts
        if ls.workspace.get_text_document(uri).version == params.text_document.version:
            ls.publish(uri)

    @feature(t.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: FormulaServer, params: t.DidSaveTextDocumentParams) -> None:
        ls.others_again(params.text_document.uri)
        await ls.look_closer(params.text_document.uri)

    @feature(t.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: FormulaServer, params: t.DidCloseTextDocumentParams) -> None:
        ls.project.closed(ls.path(params.text_document.uri))
        uri = params.text_document.uri
        ls.text_document_publish_diagnostics(t.PublishDiagnosticsParams(uri, []))

    @feature(t.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(ls: FormulaServer, params: t.DidChangeWatchedFilesParams) -> None:
        ls.project.changed(ls.path(each.uri) for each in params.changes)

    @feature(t.TEXT_DOCUMENT_HOVER)
    def hover(ls: FormulaServer, params: t.HoverParams) -> t.Hover | None:
        uri = params.text_document.uri
        document = ls.project.document(ls.path(uri))
        if document is None:
            return None
        at = ls.offset(document, uri, params.position)
        text = answers.hover(ls.project, document.path, at)
        return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, text)) if text else None

    @feature(t.TEXT_DOCUMENT_DEFINITION)
    def definition(ls: FormulaServer, params: t.DefinitionParams) -> list[t.Location]:
        return ls.places(params.text_document.uri, params.position)[:1]

    @feature(t.TEXT_DOCUMENT_REFERENCES)
    def references(ls: FormulaServer, params: t.ReferenceParams) -> list[t.Location]:
        found = ls.places(params.text_document.uri, params.position)
        return found if params.context.include_declaration else found[1:]

    @feature(t.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(ls: FormulaServer, params: t.PrepareRenameParams) -> t.PrepareRenamePlaceholder:
        return _to_rename(ls, params)

    @feature(t.TEXT_DOCUMENT_RENAME)
    def rename(ls: FormulaServer, params: t.RenameParams) -> t.WorkspaceEdit:
        return _renamed(ls, params)

    @feature(t.TEXT_DOCUMENT_COMPLETION, t.CompletionOptions(trigger_characters=[]))
    def completion(ls: FormulaServer, params: t.CompletionParams) -> list[t.CompletionItem]:
        uri = params.text_document.uri
        document = ls.project.document(ls.path(uri))
        if document is None:
            return []
        at = ls.offset(document, uri, params.position)
        return [
            t.CompletionItem(
                label=each.word,
                kind=KINDS.get(each.kind, OTHER)[1],
                detail=each.kind,
                documentation=each.about or None,
            )
            for each in answers.candidates(ls.project, document.path, at)
        ]

    @feature(t.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(ls: FormulaServer, params: t.DocumentSymbolParams) -> list[t.DocumentSymbol]:
        document = ls.project.document(ls.path(params.text_document.uri))
        if document is None:
            return []
        return [ls.entry(document, each) for each in answers.outline(document)]

    @feature(t.TEXT_DOCUMENT_FORMATTING)
    def formatting(ls: FormulaServer, params: t.DocumentFormattingParams) -> list[t.TextEdit]:
        document = ls.project.document(ls.path(params.text_document.uri))
        text = laid_out(document) if document else None
        if document is None or text is None or text == document.text:
            return []
        whole = Span(document.source, 0, len(document.text))
        return [t.TextEdit(ls.range(document, whole), text)]

    return server


def _named_there(ls: FormulaServer, uri: str, position: t.Position) -> FileSymbol:
    """What is to be renamed; refused where nothing is, or where it also stands in what cannot be
    read."""
    symbol = ls.symbol(uri, position)
    if symbol is None:
        raise JsonRpcInvalidParams(message="no name of a formula stands here")
    broken = ls.project.unread_place(ls.path(uri), symbol)
    if broken is not None:
        message = f"mend {broken.path.name} first: '{symbol.name}' stands where it cannot be read"
        raise JsonRpcInvalidParams(message=message)
    return symbol


def _to_rename(ls: FormulaServer, params: t.PrepareRenameParams) -> t.PrepareRenamePlaceholder:
    """The name that an editor asks another one for, before anything is typed."""
    uri = params.text_document.uri
    symbol = _named_there(ls, uri, params.position)
    document = ls.project.document(ls.path(uri))
    assert document is not None
    word = answers.word_at(document.text, ls.offset(document, uri, params.position))
    assert word is not None
    place = ls.range(document, Span(document.source, word.start(), word.end()))
    return t.PrepareRenamePlaceholder(place, symbol.name)


def _renamed(ls: FormulaServer, params: t.RenameParams) -> t.WorkspaceEdit:
    """The edit that gives a name another one everywhere; refused with a reason where the new one
    is none, or means something there already."""
    uri, new = params.text_document.uri, params.new_name
    symbol = _named_there(ls, uri, params.position)
    found = LEXEME.fullmatch(new)
    if found is None or found.lastgroup != "word" or new in RESERVED:
        raise JsonRpcInvalidParams(message=f"'{new}' cannot be a name")
    if symbol.kind == "definition" and (new in FUNCTIONS or new in SPECIAL):
        raise JsonRpcInvalidParams(message=f"'{new}' is a function of the language")
    clash = ls.project.meaning_near(ls.path(uri), symbol, new)
    if clash is not None:
        raise JsonRpcInvalidParams(message=f"'{new}' is the name of the {clash.kind} already")
    changes: dict[str, list[t.TextEdit]] = {}
    for document, span in ls.project.places(ls.path(uri), symbol):
        place = from_fs_path(str(document.path)) or ""
        changes.setdefault(place, []).append(t.TextEdit(ls.range(document, span), new))
    return t.WorkspaceEdit(changes=changes)


def is_no_refusal(record: logging.LogRecord) -> bool:
    """Whether a record tells of anything but an answer that refuses what was asked: people read
    that one in their editor, and took its traceback for a fault."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


def serve(spec: Path) -> None:
    """Answer an editor until it ends the talk."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(is_no_refusal)
    made_server(spec).start_io()
