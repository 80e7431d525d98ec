"""The numbers of the headers for powers and for exp and the like, computed as they need them."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from cvmgen import quick_tables as quick
from cvmgen.elementary import two_over_root_pi
from cvmgen.powers import exp2_of, ln_of

WIDTH = 512  # bits that logarithms are computed with
WORDS = 5  # of 64 bits, behind the point of the longest numbers
LOG2_TERMS = 22  # (2^-6)^22 / 22 is below 2^-128
EXP2_TERMS = 16
PARTS = range(48, 96)  # 64ths from 3/4 to 3/2


@functools.cache
def power_tables() -> dict[str, object]:
    ln2 = ln_of(2, 1, WIDTH)
    one = 1 << WIDTH
    near = [mantissa_inverse(part) for part in PARTS]
    logs = [abs(ln_of(256, each, WIDTH)) * one // ln2 for each in near]
    factors, term = [], one
    for k in range(1, EXP2_TERMS + 1):
        term = term * ln2 // one // k
        factors.append(term)
    return {
        "log2_terms": LOG2_TERMS,
        "log2_factors": _pairs(one * one // (2 * ln2 * (k + 1)) for k in range(LOG2_TERMS)),
        "near": table_rows([str(each) for each in near], 12),
        "near_logs": _pairs(logs),
        "exp2_steps": _pairs(exp2_of(k << (WIDTH - 6), WIDTH) // 2 for k in range(64)),
        "exp2_terms": EXP2_TERMS,
        "exp2_factors": _pairs(factors),
        "one_over_ln2": _digits(one * one // ln2),
        "ln2": _digits(ln2),
    }


@functools.cache
def elementary_tables() -> dict[str, object]:
    ln2 = ln_of(2, 1, WIDTH)
    step, unit = quick.exp_step(), quick.log_unit()
    first, second = quick.erf_first()
    log_rows = zip(quick.log_inverses(), quick.log_table(), strict=True)
    erf_rows = [
        (row.value.high, row.value.low, row.slope.high, row.slope.low, *row.terms)
        for row in quick.erf_rows()
    ]
    return {
        "steps": quick.STEPS,
        "parts": quick.PARTS,
        "rows": quick.ROWS,
        "first_row": quick.FIRST_ROW,
        "erf_columns": len(erf_rows[0]),
        "log_halved": quick.LOG_HALVED,
        "one_over_ln2": _digits((1 << 2 * WIDTH) // ln2),
        "ln2": _digits(ln2),
        "erf_slope": _digits(two_over_root_pi(WIDTH)),
        "exp_table": braced((each.high, each.low) for each in quick.exp_table()),
        "exp_scale": (quick.STEPS / float(quick.ln2())).hex(),
        "exp_step_high": step.high.hex(),
        "exp_step_low": step.low.hex(),
        "exp_series": nested("r", quick.exp_terms()),
        "exp_slack": "0x1p-70",
        "log_table": braced((c, each.high, each.low) for c, each in log_rows),
        "log_unit_high": unit.high.hex(),
        "log_unit_low": unit.low.hex(),
        "log_series": nested("r", quick.log_terms()),
        "erf_a_high": first.high.hex(),
        "erf_a_low": first.low.hex(),
        "erf_b_high": second.high.hex(),
        "erf_b_low": second.low.hex(),
        "erf_series": nested("z", quick.erf_terms()),
        "erf_rows": braced(erf_rows),
    }


def braced(rows: Iterable[Iterable[float]]) -> str:
    """Rows of an array of doubles, as many as fit into a line."""
    lines = []
    for row in rows:
        line, entries = "        {", [each.hex() for each in row]
        for at, each in enumerate(entries):
            piece = each + ("}," if at == len(entries) - 1 else ", ")
            if len(line) + len(piece) > 100:
                lines.append(line.rstrip())
                line = "         "
            line += piece
        lines.append(line)
    return "\n".join(lines)


def nested(name: str, terms: Iterable[float]) -> str:
    """A polynomial by Horner's rule, in lines."""
    first, *others = terms
    if not others:
        return first.hex()
    return f"{first.hex()} +\n        {name} * ({nested(name, others)})"


def mantissa_inverse(part: int) -> int:
    """256 divided by the middle of a 64th part, and 256 for both that 1 lies between."""
    return 256 if part in (63, 64) else round(256 * 64 / (part + 0.5))


def _pairs(values: Iterable[int]) -> str:
    """Numbers below 1 in units of 2^-128, by their upper and their lower word."""
    words = [each >> (WIDTH - 128) for each in values]
    return table_rows([f"{{0x{each >> 64:016x}, 0x{each % (1 << 64):016x}}}" for each in words], 2)


def table_rows(entries: list[str], count: int) -> str:
    lines = [entries[at : at + count] for at in range(0, len(entries), count)]
    return "\n".join(f"        {', '.join(line)}," for line in lines)


def _digits(value: int) -> str:
    """The value of a cvmgen_fixed: its words, the lowest first."""
    number = value >> (WIDTH - 64 * WORDS)
    words = [number >> (64 * at) & ((1 << 64) - 1) for at in range(WORDS + 1)]
    return "{{\n" + table_rows([f"0x{each:016x}" for each in words], 3) + "\n    }}"
