"""What people know of mutants that nothing refutes: why the engines find them equal, and which are
wrong although no engine tells, with what does not look there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Mutants whose names have a pattern in them, and what is known of all these."""

    pattern: str
    why: str


WORTH = Rule(
    r"(< for <=|operands swapped|another operator|or for and): .*(>= 4|4 >=|> 4)|"
    r"(no guard|the other branch): (if )?\w+ >= 4|another start: .*worth|"
    r"no guard: [^\n]*> window_size",
    "the test says which way is worth it, and both compute the same",
)
WHY: Mapping[str, tuple[Rule, ...]] = {
    "equal": (
        WORTH,
        Rule(r"(step one off|twice): .*max= ", "a maximum stays when an element comes twice"),
        Rule(
            r"end one off: .*_(group|block|piece) < .* by 16|"
            r"< for <=: for \(int64_t (at = low; at < high|\w+_(group|block|piece) = )",
            "a block behind the last one has no iterations",
        ),
        Rule(r"no conversion: ", "the operands have that type anyway, by the rules of C"),
        Rule(
            r"(kernel|schedule), at once: ",
            "its iterations may run at once: each has elements of its own, or adds to a total that "
            "threads share",
        ),
        Rule(r"formula, another rounding: .* tdiv", "indices are not negative"),
        Rule(
            r"convolved, (kernel|C), (no clamp|another rounding)",
            "more is laid out than is read",
        ),
    ),
    "not reached": (
        WORTH,
        Rule(
            r"no barrier: .*the next tile",
            "no block has a second tile in the calls that are chosen; such races are refuted in "
            "the kernels of which two threads are asked",
        ),
    ),
    "missed": (Rule(r"cvm.max_pool2d, CUDA", "the calls that are chosen have one tile a row"),),
}


def known(name: str, verdict: str) -> str:
    """What is known of a mutant of which the engines say this."""
    return next((each.why for each in WHY.get(verdict, ()) if re.search(each.pattern, name)), "")
