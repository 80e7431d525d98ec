"""Operators that have adjoints: those of the project, and those of linear.cvm."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator
from tests.operators import ROOT, product

SHARED = tuple(read_folder(ROOT / "spec"))
OWN = Path(__file__).with_name("linear.cvm")


@cache
def operators() -> dict[str, Operator]:
    """Those of the project and those of linear.cvm, by their full names."""
    own = SpecFile(Source("linear.cvm", OWN.read_text(encoding="utf-8")), "linear")
    shared = [file for file in SHARED if not file.opset]
    return {each.full_name: each for each in (*product(), *check_files([*shared, own]))}


def taken_apart(name: str) -> tuple[Operator, str]:
    full_name, wrt = name.rsplit(".", 1)
    return operators()[full_name], wrt
