"""The formulas that documents show: blocks marked `cvm`, and what stands behind them.

A block that a block of text follows is refused, with that text; a block marked `pycon` holds calls
of the operators of its document. After a change of wording, `python -m tests.docs.documents` writes
all reports anew; read the difference before it goes in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cvmgen.reference.probe import check_operators
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE = ROOT / "docs" / "language.md"
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"  # has a test of its own, which goes through it
DOCUMENTS = [README, *sorted(each for each in ROOT.glob("docs/*.md") if each != TUTORIAL)]
OPSET = "doc"
FORMULA = re.compile(r"^```cvm\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
CALLS = re.compile(r"^```pycon\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


ANY = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fenced(document: Path) -> list[tuple[str, str]]:
    """All blocks of a document, each behind its language."""
    return ANY.findall(document.read_text(encoding="utf-8"))


def run_block(document: Path, part: str) -> None:
    """Run the block of Python of a document that has this part; what stands behind a call as a
    comment, up to a semicolon, is what it gives."""
    (text,) = (text for kind, text in fenced(document) if kind == "python" and part in text)
    given = r"assert repr(\1) == '''\2''', repr(\1)"
    said, count = re.subn(r"^(\w[\w.]*\(.*?)  # ([^;\n]*).*$", given, text, flags=re.M)
    assert count, text
    exec(compile(said, document.name, "exec"), {})


@dataclass(frozen=True, slots=True)
class Block:
    """A formula of a document, with the report that refuses it, or None."""

    document: Path
    line: int
    formula: str
    report: str | None

    @property
    def place(self) -> str:
        return f"{self.document.name}:{self.line}"

    def operators(self) -> tuple[Operator, ...]:
        """Its checked operators. Formulas of the project see what all of its opsets share."""
        source = Source(self.document.with_suffix(".cvm").name, self.formula)
        shared = [each for each in read_folder(ROOT / "spec") if not each.opset]
        files = [*(shared if self.document != LANGUAGE else ()), SpecFile(source, OPSET)]
        return check_files(files)


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in FORMULA.finditer(text)
    ]


def calls(document: Path) -> list[str]:
    return CALLS.findall(document.read_text(encoding="utf-8"))


def report_of(block: Block) -> str:
    """What `cvmgen check` says of a formula."""
    try:
        check_operators(block.operators())
    except SpecErrors as errors:
        return f"{errors}\n"
    return "nothing is wrong\n"


def write_reports() -> None:
    text = LANGUAGE.read_text(encoding="utf-8")
    for block in blocks(LANGUAGE):
        if block.report is not None:
            shown = f"```cvm\n{block.formula}```\n```text\n"
            text = text.replace(shown + block.report, shown + report_of(block))
    LANGUAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_reports()
