"""What elements of inputs and attributes can be behind what is required of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW, DType
from cvmgen.ir import nodes as i
from cvmgen.ranges import Range
from cvmgen.spec.demands import ElementLimit, limits
from cvmgen.spec.formula import Attribute, Operator
from cvmgen.spec.host_bounds import HostBounds
from cvmgen.spec.integer_bounds import BEYOND, Bounds
from cvmgen.typing.machine_types import INT64

UNLIMITED = Range(-BEYOND, BEYOND)


def required_ranges(operator: Operator, nest: i.Nest) -> Mapping[str, Range]:
    """The range of all elements of an input in each call in which a nest runs; that of its type
    holds beside it. A nest that tests a call may run before the requirements are known to hold."""
    found: dict[str, Range] = {}
    for each in () if nest.guarded is not None else limits(operator):
        bounds = HostBounds(operator).number(each.value)
        if not bounds.far:
            known = found.get(each.tensor, UNLIMITED)
            found[each.tensor] = both(known, admitted(each, bounds))
    return found


def admitted(limit: ElementLimit, ends: Bounds) -> Range:
    """What a limit admits, whatever its value is in a call."""
    match limit.relation:
        case "<" | "<=":
            return Range(-BEYOND, ends.high - (limit.relation == "<"))
        case ">" | ">=":
            return Range(ends.low + (limit.relation == ">"), BEYOND)
        case _:
            return Range(ends.low, ends.high)


def held_by(dtype: DType, *, tests: bool) -> Range:
    """The integers that an element can be: in a nest that tests a call all that memory holds."""
    if tests:
        dtype = replace(dtype, digits=0)
    return Range(dtype.low, dtype.high)


def both(one: Range, other: Range) -> Range:
    """What lies in both; where nothing does, no call is admitted, and any range will do."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Range(low, high) if low <= high else one


def attribute_ranges(
    attribute: Attribute, low: Range | None, high: Range | None
) -> Mapping[str, Range]:
    """What an attribute's integers and the codes of its words can be, by their names; `low` and
    `high` are what the ends of its declared range can be."""
    words = Range(0, len(attribute.words))
    if attribute.kind == "word":
        return {attribute.name: words}
    if attribute.kind != "int":
        return {}
    least = max(low.low, INT64.low) if low else ATTRIBUTE_LOW
    most = min(high.high - 1, INT64.high) if high else ATTRIBUTE_HIGH - 1
    found = Range(least, max(least, most))
    if not attribute.words:
        return dict.fromkeys((attribute.name, *attribute.components), found)
    numbers = dict.fromkeys((attribute.name, *attribute.components), found.join(Range(0, 0)))
    return numbers | {attribute.word_name: words}
