"""The story of an operator, told from the stages that made its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from cvmgen import driver
from cvmgen.emit.line_map import MappedText, Place
from cvmgen.inspection.changes import differences, kernel_changes, program_lines
from cvmgen.inspection.stages import programs
from cvmgen.inspection.story import Code, Story
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator

WHY = {
    "u32": "the result keeps the low 32 bits, which this sum modulo 2^32 has too",
    "u64": "a sum of int32 terms, exact below 2^31 of them",
    "i32": "the narrowest type that holds every value",
    "i64": "the narrowest type that holds every value",
    "i128": "what 64 bits may not hold",
    "f64": "real numbers are binary64, each operation rounded by itself",
    "bool": "a condition",
}
"""Of the machine type of a local, by what it was chosen."""

FIRST = driver.shared_passes()


def story_of(operator: Operator, schedules: Schedules, texts: Mapping[str, str]) -> Story:
    """How the operator became the `texts` of its files."""
    first = list(islice(programs(operator, "c"), FIRST))
    before = program_lines(first[-1][1])
    return Story(
        {target: code(operator, target, texts) for target in driver.TARGETS},
        tuple(differences(first, [])),
        {
            target: (
                *differences(islice(programs(operator, target), FIRST, None), before),
                *kernel_changes(operator, target, schedules),
            )
            for target in driver.TARGETS
        },
        tuple(machine_types(operator)),
    )


def code(operator: Operator, target: str, texts: Mapping[str, str]) -> Code:
    file = driver.operator_file(operator, target)
    text = texts[file]
    assert isinstance(text, MappedText)
    return Code(file, str(text), text.places)


def machine_types(operator: Operator) -> Iterator[tuple[Place, str]]:
    """The types of locals in kernels for C, of the widest elements, and why they hold."""
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    for nest in kernels.shown().nests:
        for each in nodes_in(nest.body, i.Let):
            if each.type in WHY:
                place = Place(each.span.source.name, each.span.start, each.span.end)
                yield place, f"{each.name}: {each.type}, {WHY[each.type]}"
