"""Small specs for tests of the lowering."""

from cvmgen.ir import nodes as i
from cvmgen.lower.translate import operator_program
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator

COMMON = "def clip(x, low, high) = max(low, min(x, high))\n"


def operator(items: str, name: str = "f") -> Operator:
    """The checked operator with these items."""
    text = f"{COMMON}operator {name} {{\n{items}\n}}\n"
    (found,) = check_files([SpecFile(Source("test.cvm", text), "test")])
    return found


def program(items: str) -> i.Program:
    return operator_program(operator(items))
