"""The wording of refusals, as the reference evaluator and the emitters use it."""

from __future__ import annotations

from cvmgen.support import (
    ATTRIBUTE_MISSING,
    EXTENT_NEGATIVE,
    EXTENT_POSITIVE,
    FAR_PRECISION,
    INPUT,
    INPUT_MISSING,
    INPUT_OR_EMPTY,
    INPUTS_NEEDED,
    MAX_PRECISION,
    MOST_NAMED,
    MOST_SHOWN,
    NO_CASE,
    NOT_THERE,
    OUTPUT,
    OUTPUT_EXTENT,
    OUTPUT_NEGATIVE,
    OUTPUT_OR_EMPTY,
    PRECISION_RANGE,
    RANK_LIMIT,
    RANK_LIMIT_OR_EMPTY,
    SIZE_LIMIT,
    Limits,
    extent_text,
    needed,
    outside_rule,
    precision_text,
    shape_text,
    shapes_text,
)
from cvmgen.typed import overflow_rule, row_of

__all__ = [
    "ATTRIBUTE_MISSING",
    "EMPTY_REDUCTION",
    "EXTENT_NEGATIVE",
    "EXTENT_POSITIVE",
    "FAR_PRECISION",
    "INPUT",
    "INPUTS_NEEDED",
    "INPUT_MISSING",
    "INPUT_OR_EMPTY",
    "MOST_NAMED",
    "MOST_SHOWN",
    "NOT_THERE",
    "NO_CASE",
    "OUTPUT",
    "OUTPUT_EXTENT",
    "OUTPUT_NEGATIVE",
    "OUTPUT_OR_EMPTY",
    "PRECISION_RANGE",
    "RANK_LIMIT",
    "RANK_LIMIT_OR_EMPTY",
    "SIZE_LIMIT",
    "Limits",
    "extent_text",
    "needed",
    "outside_rule",
    "overflow_rule",
    "precision_text",
    "row_of",
    "shape_text",
    "shapes_text",
]

EMPTY_REDUCTION = "the maximum or minimum of no element has no value"


def rank_rule(rank: int) -> str:
    return f"{rank} dimension{'s' * (rank != 1)} needed"


def least_rank_rule(rank: int) -> str:
    return f"at least {rank} dimension{'s' * (rank != 1)} needed"


def range_rule(text: str) -> str:
    return f"must be in {text}"


def extent_rule(dimension: int, term: str) -> str:
    return f"extent {dimension} must be {term}"


def shape_rule(term: str) -> str:
    return f"the shape must be {term}"


def part_rule(dimension: int, term: str) -> str:
    return f"the extents from {dimension} on must be {term}"


def precision_rule(term: str) -> str:
    return f"its precision {term} must be in [1, {MAX_PRECISION}]"
