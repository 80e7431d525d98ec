"""The formulas that a file belongs to: those of its folder, as they are in the editor."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cvmgen.errors import CvmgenError, Faults
from cvmgen.lsp.documents import Chunk, Document, DocumentFault
from cvmgen.lsp.symbols import FileSymbol, Names, Occurrence
from cvmgen.reference.probe import check_operators
from cvmgen.source import Span, SpecError, SpecErrors, read_source
from cvmgen.spec import declarations as d
from cvmgen.spec.check import check_parsed
from cvmgen.spec.formula import Operator
from cvmgen.spec.unread import unread

KEPT = 1000
"""Declarations of which it is remembered what is wrong with them."""
SPEC = "spec"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a declaration came to, with those that it may speak of; spans are of its chunks."""

    chunk: Chunk
    errors: tuple[tuple[Chunk, SpecError], ...]
    operators: tuple[Operator, ...]


class Project:
    """The documents of all folders that were asked about. `spec` is the folder with what files
    outside of any may speak of."""

    def __init__(self, spec: Path) -> None:
        self.spec = spec.resolve()
        self.documents: dict[Path, Document] = {}
        self.open: set[Path] = set()
        self.tried: set[str] = set()  # operators that were tried on small calls, or came so
        self.checked: OrderedDict[tuple[str, ...], Checked] = OrderedDict()

    # -------------------------------------------------------- files

    def opened(self, path: Path, text: str) -> Document:
        """Take the text of an editor for a file."""
        first = path not in self.open
        self.open.add(path)
        document = self.documents.get(path)
        if document is None:
            document = self.documents[path] = Document(path, self.opset(path), text)
        else:
            document.update(text)
        if first:
            self.tried.update(repr(each) for _, each in self.operators(path))
        return document

    def closed(self, path: Path) -> None:
        """What is on the disk counts again."""
        self.open.discard(path)
        self.documents.pop(path, None)

    def changed(self, paths: Iterable[Path]) -> None:
        """Files on the disk are others now."""
        for path in paths:
            if path not in self.open:
                self.documents.pop(path, None)

    def root(self, path: Path) -> Path | None:
        """The spec folder that a file lies in, if it does."""
        if path.is_relative_to(self.spec):
            return self.spec
        return next((each for each in path.parents if each.name == SPEC), None)

    def opset(self, path: Path) -> str:
        root = self.root(path)
        if root is None:
            return path.stem
        parts = path.relative_to(root).parts
        return parts[0] if len(parts) > 1 else ""

    def document(self, path: Path) -> Document | None:
        """A file of the disk or of an editor; None where it cannot be read."""
        if path not in self.documents:
            try:
                text = read_source(path.name, path).text
            except (OSError, CvmgenError):
                return None
            self.documents[path] = Document(path, self.opset(path), text)
        return self.documents[path]

    def beside(self, path: Path) -> list[Document]:
        """All documents of the folder that a file lies in; of one that lies in none, itself and
        what all formulas may speak of."""
        root = self.root(path)
        if root is None:
            paths = [*sorted(self.spec.glob("*.cvm")), path]
        else:
            paths = sorted(
                {*root.rglob("*.cvm"), *(each for each in self.open if self.root(each) == root)}
            )
        # A text that is not saved yet has a name without an ending.
        found = (
            self.document(each)
            for each in paths
            if each.suffix == ".cvm" or (each == path and each.suffix != ".sched")
        )
        return [each for each in found if each is not None]

    # -------------------------------------------------------- faults

    def faults(self, path: Path) -> list[DocumentFault]:
        """What is wrong in a file, as far as each declaration shows it."""
        document = self.document(path)
        if document is None:
            return []
        found: dict[tuple[int, int, str], DocumentFault] = {}
        for each in self.each_checked(document):
            for chunk, error in each.errors:
                place = self.place_in(document, each, chunk, error.span)
                if place is not None:
                    key = (place.start, place.end, error.message)
                    found[key] = DocumentFault(place, error.message, error.hint)
            for operator in each.operators:
                for warning in unread([operator]):
                    place = self.place_in(document, each, each.chunk, warning.span)
                    if place is not None:
                        key = (place.start, place.end, warning.message)
                        found[key] = DocumentFault(
                            place, warning.message, warning.hint, warning=True
                        )
        for fault in document.late:
            found[fault.span.start, fault.span.end, fault.message] = fault
        return [found[key] for key in sorted(found)]

    def closer_look(self, document: Document) -> Callable[[], list[DocumentFault]]:
        """What finds the faults that only all operators together show, and small calls of those in
        a file that are not as they were. Other threads may run it."""
        documents = self.beside(document.path)
        parts = [(each.opset, one.parsed) for each in documents for one in each.chunks]
        changed = [
            each for _, each in self.operators(document.path) if repr(each) not in self.tried
        ]

        def look() -> list[DocumentFault]:
            errors: list[SpecError] = []
            try:
                check_parsed(parts, Faults())
                check_operators(changed)
            except SpecErrors as found:
                errors += found.errors
            self.tried.update(map(repr, changed))
            placed = ((document.place(each.span), each) for each in errors)
            return [
                DocumentFault(place, each.message, each.hint) for place, each in placed if place
            ]

        return look

    def place_in(
        self, document: Document, checked: Checked, chunk: Chunk, span: Span
    ) -> Span | None:
        """A place in a chunk that was checked, where that text stands in a document now."""
        if span.source is not chunk.source:
            return None
        for now in document.chunks:
            if now.text == chunk.text:
                shift = now.start - chunk.lines
                return Span(document.source, span.start + shift, span.end + shift)
        return None

    def operators(self, path: Path) -> Iterator[tuple[Chunk, Operator]]:
        """The operators of a file that are right, each with the text that it was checked in."""
        document = self.document(path)
        for each in self.each_checked(document) if document else ():
            yield from ((each.chunk, operator) for operator in each.operators)

    def each_checked(self, document: Document) -> Iterator[Checked]:
        documents = self.beside(document.path)
        shared = [
            (each.opset, chunk)
            for each in documents
            for chunk in each.chunks
            if not chunk.is_operator and (each.opset in ("", document.opset) or imports(documents))
        ]
        alone = [chunk for _, chunk in shared if chunk in document.chunks]
        if alone:
            yield self.check(document.opset, shared, None, alone[0])
        for chunk in document.chunks:
            if chunk.is_operator:
                yield self.check(document.opset, shared, chunk, chunk)

    def check(
        self, opset: str, shared: Sequence[tuple[str, Chunk]], own: Chunk | None, shown: Chunk
    ) -> Checked:
        """What a declaration comes to, asked again only where it or those it may use changed."""
        texts = [each.text for _, each in shared]
        key = (opset, own.text if own else "", *texts)
        if key in self.checked:
            self.checked.move_to_end(key)
            return self.checked[key]
        parts = [*shared, *([(opset, own)] if own else ())]
        errors: Sequence[SpecError] = ()
        operators: tuple[Operator, ...] = ()
        try:
            given = [(name, each.parsed) for name, each in parts]
            operators = check_parsed(given, Faults(), whole=False)
        except SpecErrors as found:
            errors = found.errors
        owners = {id(each.source): each for _, each in parts}
        placed = [
            (owners[id(each.span.source)], each)
            for each in errors
            if id(each.span.source) in owners
        ]
        found_here = Checked(shown, tuple(placed), operators)
        self.checked[key] = found_here
        if len(self.checked) > KEPT:
            self.checked.popitem(last=False)
        return found_here

    # -------------------------------------------------------- names

    def names(self, path: Path) -> tuple[list[Document], list[Occurrence]]:
        """The documents that a file is checked with, and all occurrences of names in them."""
        documents = self.beside(path)
        found = Names([(each.opset, each.declared()) for each in documents]).found
        unique = {(id(each.span.source), each.span.start): each for each in found}
        return documents, list(unique.values())

    def symbol_at(self, path: Path, offset: int) -> FileSymbol | None:
        """What the name at a place of a file stands for."""
        document = self.document(path)
        if document is None:
            return None
        for each in self.names(path)[1]:
            place = document.place(each.span)
            if place is not None and place.start <= offset <= place.end:
                return each.symbol
        return None

    def places(self, path: Path, symbol: FileSymbol) -> Iterator[tuple[Document, Span]]:
        """Everywhere that a symbol is named, where it is bound first."""
        documents, found = self.names(path)
        spans = [each.span for each in found if each.symbol == symbol]
        for span in sorted(spans, key=lambda each: each != symbol.span):
            for document in documents:
                place = document.place(span)
                if place is not None:
                    yield document, place

    def unread_place(self, path: Path, symbol: FileSymbol) -> Document | None:
        """A document that may name a symbol in a declaration that cannot be read now."""
        word = re.compile(rf"\b{re.escape(symbol.name)}\b")
        everywhere = symbol.operator in ("", symbol.name)
        for document in self.beside(path):
            for each in document.chunks:
                near = everywhere or each.name == symbol.operator
                if each.parsed.errors and near and word.search(each.text):
                    return document
        return None

    def meaning_near(self, path: Path, symbol: FileSymbol, name: str) -> FileSymbol | None:
        """What another name means already, where a symbol could be given it: in the declarations
        that name the symbol, or everywhere."""
        found = self.names(path)[1]
        owners = {each.span.source for each in found if each.symbol == symbol}
        for each in found:
            near = each.span.source in owners or each.symbol.operator in ("", each.symbol.name)
            if each.symbol.name == name and near:
                return each.symbol
        return None


def imports(documents: Iterable[Document]) -> bool:
    """Whether any of them speaks of what another opset declares."""
    return any(isinstance(each, d.Import) for one in documents for each in one.declared())
