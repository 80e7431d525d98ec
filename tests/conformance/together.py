"""Operators of a test's own beside their references: written and compiled at once, as that takes
longer of each by itself than what is asked of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Conformance
from tests.targets import load_own


def together(folder: Path, texts: Iterable[str]) -> Conformance:
    """The operators of these texts, which have names of their own, in the opset `tried`."""
    operators = check_files([SpecFile(Source("tried.cvm", "\n".join(texts)), "tried")])
    references = {each.full_name: Reference(each) for each in operators}
    return Conformance(references, load_own(operators, folder))
