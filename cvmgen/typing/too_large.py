"""The refusal of a formula whose values no machine type of a kernel holds."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ranges import Range
from cvmgen.source import Span, SpecError
from cvmgen.typing.machine_types import BITS

TOO_LARGE = "can be larger than a kernel can compute"
MOST_BITS = BITS["i128"] - 1  # of a magnitude
MOST_SHOWN = 60  # characters of a value in a message


def too_large(span: Span, what: str, which: str, bits: int, limit: int) -> SpecError:
    """The error for a magnitude of so many bits, where a type has `limit`."""
    hint = f"{which} can come to 2^{bits}, and 2^{limit} is the limit"
    message = f"a {what} of this formula {TOO_LARGE}"
    return SpecError(span, message, f"{hint}: cut what it is made of, clip(..., low, high)")


def shown(expr: i.Expr) -> str:
    """A value as messages show it."""
    found = text(expr).replace("@[", "[")
    return found if len(found) <= MOST_SHOWN else "it"


def most_bits(found: Range) -> int:
    """The power of two that no magnitude is above."""
    return (found.size - 1).bit_length()
