"""An editor: a client of the protocol, which talks to the real server as a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as t
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

Answer = TypeVar("Answer")
PATIENCE = 60


class Editor:
    """Opens files and asks about them; waits for each answer."""

    def __init__(self, spec: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("editor", "1")
        self.told: dict[str, t.PublishDiagnosticsParams] = {}
        self.versions: dict[str, int] = {}

        @self.client.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def told(params: t.PublishDiagnosticsParams) -> None:
            self.told[params.uri] = params

        command = ("-m", "cvmgen", "lsp", "--spec", str(spec))
        self.wait(self.client.start_io(sys.executable, *command))
        encodings = [t.PositionEncodingKind.Utf16]
        capabilities = t.ClientCapabilities(
            general=t.GeneralClientCapabilities(position_encodings=encodings)
        )
        self.server = self.wait(
            self.client.initialize_async(t.InitializeParams(capabilities=capabilities))
        )
        self.client.initialized(t.InitializedParams())

    def wait(self, asked: Coroutine[Any, Any, Answer]) -> Answer:
        return self.loop.run_until_complete(asyncio.wait_for(asked, PATIENCE))

    def close(self) -> None:
        self.wait(self.client.shutdown_async(None))
        self.client.exit(None)
        self.wait(self.client.stop())
        self.loop.close()

    # -------------------------------------------------------- files

    def open(self, path: Path, text: str | None = None) -> str:
        uri = from_fs_path(str(path)) or ""
        text = path.read_text(encoding="utf-8") if text is None else text
        language = "cvm-schedule" if path.suffix == ".sched" else "cvm"
        item = t.TextDocumentItem(uri, language, 1, text)
        self.versions[uri] = 1
        self.client.text_document_did_open(t.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        change = t.TextDocumentContentChangeWholeDocument(text)
        item = t.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(t.DidChangeTextDocumentParams(item, [change]))

    def save(self, uri: str) -> None:
        item = t.TextDocumentIdentifier(uri)
        self.told.pop(uri, None)
        self.client.text_document_did_save(t.DidSaveTextDocumentParams(item))

    def faults(self, uri: str) -> list[t.Diagnostic]:
        """What the server says of the text that the file has now."""

        async def told() -> list[t.Diagnostic]:
            while uri not in self.told or self.told[uri].version != self.versions[uri]:
                await asyncio.sleep(0.005)
            return list(self.told[uri].diagnostics)

        return self.wait(told())


COMMON = """\
const most = 16
def bits(n) = floor(log2(n)) + 1
"""
NN = """\
operator dense {
  "Fully connected: 𝑌 = X W^T."
  input  X : cvm[M, K]
  input  W : cvm[N, K]
  output Y : cvm[M, N] precision p(X) + p(W) + bits(K)
  Y[i, j] = sum[k < K](X[i, k] * W[j, k])
  example dense([[1, 2]], [[3, 4]]) == [[11]]
}

operator shifted {
  "Each element and a number."
  input  X : cvm[n...]
  attr   by = 1 in [0, most)
  output Y : cvm[n...] precision p(X) + 5
  Y[d...] = x + by  where x = X[d...]
  example shifted([1, -2], by=3) == [4, 1]
}
operator sum {
  "As a sum is called."
  input  X : cvm[M]
  output Y : cvm[1]
  Y[0] = sum[m < M](X[m]) + max(X[0], 0)
  example sum([3]) == [6]
}
"""
