"""Why mutants that nothing refutes mean the same; and those that mean something else, with what
does not look there yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.verification.mutants.made import Mutant


@dataclass(frozen=True)
class Rule:
    """Mutants whose names have a pattern in them, and what is known of all these."""

    pattern: str
    why: str

    def explains(self, mutant: Mutant) -> bool:
        return re.search(self.pattern, mutant.name) is not None


EITHER_WAY = "the test says which way is worth it, and both compute the same"
EMPTY = "a block behind the last one has no iterations"
AS_IT_IS = "the operands have that type anyway, by the rules of C"
SMALL_WINDOWS = (
    "windows have at most 4 elements a side: there is one part, with no whole group of 4"
)
MAXIMUM = "a maximum stays what it is when an element comes twice"
FITS = (
    "elements within their precision do not leave the type; for others the obligation is open, so "
    "that a kernel with it counts as not proved"
)
EQUIVALENT: tuple[Rule, ...] = (
    Rule(r"CUDA, another type: const int64_t", "no call here has 128 vectors"),
    Rule(
        r"cvm.max_pool2d, CUDA, or for and: if \(0 <= place",
        "no call here has a window beyond the right edge of a box in shared memory",
    ),
    Rule(
        r"CUDA, no barrier: .*the next tile",
        "the next tile's box holds the same, or there is none, in these calls; the race itself is "
        "refuted in the kernels of which two threads are asked",
    ),
    Rule(r"no wrap: ", FITS),
    Rule(r"(< for <=|operands swapped): [^\n]*(>= 4|4 >=|> 4)", EITHER_WAY),
    Rule(r"C, another operator: cvmgen_share\(.* >= 4,", EITHER_WAY),
    Rule(r"(no guard|the other branch): (if )?\w+ >= 4", EITHER_WAY),
    Rule(r"C, or for and: if \(by == 1 && \w+ >= 4\)", EITHER_WAY),
    Rule(r"another start: .*worth|the other branch: parallel", EITHER_WAY),
    Rule(r"(pooled|mean), (kernel|schedule), .*(j_part|j_pieces|tdiv 4|j_piece )", SMALL_WINDOWS),
    Rule(r"(pooled|mean), C, .*(j_part|j_pieces|/ 4|j_piece\b)", SMALL_WINDOWS),
    Rule(r"(pooled|tallest), (kernel|schedule), (twice|step one off): ", MAXIMUM),
    Rule(r"(pooled|tallest), (kernel|schedule), .*largest max= .*largest max=", MAXIMUM),
    Rule(r"(kernel|schedule), end one off: .*_(group|block|piece) < .* by 16", EMPTY),
    Rule(r"C, < for <=: for \(int64_t (at = low; at < high|\w+_(group|block|piece) = )", EMPTY),
    Rule(r"(C|CUDA), no conversion: ", AS_IT_IS),
    Rule(r"too narrow: u32\(\d\)", "the constant fits"),
    Rule(
        r"(kernel|schedule), at once: ",
        "its iterations may run at once: each has elements of its own, or adds to a total that "
        "threads share",
    ),
    Rule(
        r"formula, another rounding: .*(j div k|oc div OPG|d\[i\] div repeats).* tdiv",
        "indices are not negative",
    ),
    Rule(r"convolved, kernel, no guard: [^\n]*> window_size", EITHER_WAY),
    Rule(r"convolved, (kernel|C), (no clamp|another rounding)", "more is laid out than is read"),
)
MISSED: tuple[Rule, ...] = (
    Rule(
        r"shifts, kernel, operands swapped",
        "a shift by any number is left open by values and by sizes: a kernel with it counts as not "
        "proved",
    ),
    Rule(r"systemml.conv2d, CUDA, .*tiling.along", "calls on terms have one tile a row"),
    Rule(
        r"CUDA, < for <=: for \(int32_t lane",
        "clang leaves out what lies beyond a local array, so the values are right; sanitizers tell",
    ),
    Rule(
        r"sums, threads, (another share|not shared): (share|by) team",
        "threads add elements twice, which is no race: values of CUDA kernels are not looked at",
    ),
)
