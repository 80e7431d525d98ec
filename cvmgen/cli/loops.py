"""`cvmgen build --target c --report`: what the nests of the C files became, and what they cost."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cvmgen import driver
from cvmgen.api.library import library_sources
from cvmgen.build.process import workers
from cvmgen.build.progress import Progress
from cvmgen.build.source_map import spec_place
from cvmgen.build.vector_loops import InnerLoop, inner_loops
from cvmgen.dtypes import CVM
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import walk
from cvmgen.schedule.kernels import Kernel
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n

WIDTH = 100
COUNTED = (i.Binary, i.Call, i.Select, i.Compare, i.Logic, i.Not, i.Convert)


@dataclass(frozen=True, slots=True)
class ReportedNest:
    """A nest of an operator: where its formula stands, its classes, the actions that change it and
    those that give it to threads, the operations on elements and the memory of a call, and its
    inner loops in the C file."""

    operator: str
    place: str
    formula: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    threads: tuple[str, ...]
    work: str
    reads: Mapping[str, str]
    writes: Mapping[str, str]
    file: str
    loops: tuple[InnerLoop, ...]


def loops_report(
    folder: Path, operators: Sequence[f.Operator], schedules: Schedules, progress: Progress
) -> list[ReportedNest]:
    """All nests of the operators in a generated folder.

    Raises BuildError when there is no compiler or it refuses a file.
    """
    sources = library_sources(folder)
    units = [f"{each.opset}/{each.name}.c" for each in operators]
    progress.step("asking the compiler for vectors")
    with ThreadPoolExecutor(max_workers=workers()) as pool:
        loops = list(pool.map(lambda unit: inner_loops(sources, unit), units))
    found: list[ReportedNest] = []
    shown = progress.over(operators, lambda each: f"scheduling {each.full_name}")
    for operator, unit, inner in zip(shown, units, loops, strict=True):
        found += nests(operator, schedules, unit, sources[unit], inner)
    return found


def nests(
    operator: f.Operator,
    schedules: Schedules,
    unit: str,
    source: str,
    inner: Sequence[InnerLoop],
) -> Iterator[ReportedNest]:
    """The nests of an operator; equations of one place, such as cases, are told one by one."""
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    plain = driver.lower(operator, driver.STATEMENTS).nests
    at = {loop: spec_place(source, loop.line, {}) for loop in inner}
    for number, nest in enumerate(kernels.program.nests):
        place = operator.place(nest.span)
        classes, actions = classes_and_actions(kernels.of(number), schedules)
        original = next((each for each in plain if same_nest(each, nest)), nest)
        yield ReportedNest(
            operator.full_name,
            place,
            nest.formula,
            tuple(classes),
            tuple(text for text, name in actions.items() if name != "parallelise"),
            tuple(text for text, name in actions.items() if name == "parallelise"),
            _work(original),
            _sizes(operator, tensors_read(original)),
            _sizes(operator, [nest.tensor]),
            unit,
            tuple(loop for loop in inner if at[loop] == place),
        )


def same_nest(one: i.Nest, other: i.Nest) -> bool:
    return (one.tensor, one.case, one.formula) == (other.tensor, other.case, other.formula)


def classes_and_actions(
    kernels: Iterable[Kernel], schedules: Schedules
) -> tuple[dict[str, None], dict[str, str]]:
    """The classes of a nest and the actions that change it, as written, with their names; for all
    choices of element types."""
    classes: dict[str, None] = {}
    actions: dict[str, str] = {}
    for kernel in kernels:
        plan, subject = schedules.chosen("c", kernel.subject)
        if plan is None:
            continue
        classes[plan.schedule.shape.text] = None
        for place in sorted(schedules.changing(plan, subject)):
            action = plan.uses[place].action
            actions[action.span.text] = action.name
    return classes, actions


# ---------------------------------------------------------------- work


def _work(nest: i.Nest) -> str:
    """The operations on elements, at most: a choice counts both ways, a loop all its iterations."""
    counts = Counter(operations(nest.body, (), set()))
    if not counts:
        return "none: elements are only moved"
    terms = sorted(counts.items(), key=lambda pair: -len(pair[0]))
    return " + ".join("*".join(_factors(count, trips)) for trips, count in terms)


def _factors(count: int, trips: tuple[str, ...]) -> list[str]:
    return [str(count), *trips] if count > 1 or not trips else list(trips)


def operations(
    body: Iterable[i.Stmt], trips: tuple[str, ...], elements: set[str]
) -> Iterator[tuple[str, ...]]:
    """For each operation how often it is done; `elements` are the names of values of elements."""
    for statement in body:
        match statement:
            case i.Loop(low=low, high=high, body=inner):
                yield from operations(inner, (*trips, trip(low, high)), elements)
            case i.PackLoop(extents=extents, body=inner):
                yield from operations(inner, (*trips, f"size({text(extents)})"), elements)
            case i.If(condition=condition, then=then):
                yield from [trips] * element_operations(condition, elements)
                yield from operations(then, trips, elements)
            case i.Accumulate(name=name, value=value):
                elements.add(name)
                yield from [trips] * (element_operations(value, elements) + 1)
            case i.Let(name=name, value=value) | i.Assign(name=name, value=value):
                if of_elements(value, elements):
                    elements.add(name)
                yield from [trips] * element_operations(value, elements)
            case i.Store(value=value) | i.Append(value=value):
                yield from [trips] * element_operations(value, elements)
            case _:
                pass


def trip(low: i.Expr | None, high: i.Expr) -> str:
    """How many iterations a loop has."""
    if low is None:
        return f"size({text(high)})"
    shown = text(high) if low == i.Const(0) else f"{text(high)} - {text(low)}"
    return shown if shown.isidentifier() or shown.isdecimal() else f"({shown})"


def element_operations(value: object, elements: set[str]) -> int:
    """The operations that take elements; those on indices do not count."""
    return sum(isinstance(each, COUNTED) and of_elements(each, elements) for each in walk(value))


def of_elements(value: object, elements: set[str]) -> bool:
    return any(
        isinstance(each, (i.Access, i.Load)) or (isinstance(each, i.Var) and each.name in elements)
        for each in walk(value)
    )


# ---------------------------------------------------------------- memory


def tensors_read(nest: i.Nest) -> list[str]:
    """The tensors whose elements a nest reads."""
    found = (each.tensor for each in nodes_in(nest.body, i.Access))
    return [name for name in dict.fromkeys(found) if name != nest.tensor]


def _sizes(operator: f.Operator, tensors: Iterable[str]) -> dict[str, str]:
    """The bytes of each tensor: each element once, as if the caches held the rest."""
    shapes: dict[str, Sequence[f.Extent | n.Slot]] = {
        item.name: item.extents for item in operator.inputs
    }
    shapes |= {item.name: item.slots for item in operator.items if isinstance(item, f.Output)}
    return {
        name: f"{bytes_moved(operator, name)}*{size_text(operator, name, shapes[name])}"
        if name in shapes
        else "8 for each entry"
        for name in tensors
    }


def size_text(operator: f.Operator, name: str, shape: Sequence[f.Extent | n.Slot]) -> str:
    parts = []
    for slot in shape:
        shown = operator.quote(slot.span).removesuffix("...")
        if not shown.isidentifier() and (slot.pack or " for " in shown):
            return f"size({name})"
        whole = shown.isidentifier() or shown.isdecimal()
        parts.append(f"size({shown})" if slot.pack else shown if whole else f"({shown})")
    return "*".join(parts) or "1"


def bytes_moved(operator: f.Operator, name: str) -> str:
    if operator.type_of[name] == CVM:
        return "(1 or 4)"
    found = sorted({(row[name].bits + 7) // 8 for row in operator.choices})
    return str(found[0]) if len(found) == 1 else f"({' or '.join(map(str, found))})"


# ---------------------------------------------------------------- told


def lines(found: Sequence[ReportedNest]) -> Iterator[str]:
    """The report for people."""
    for nest in found:
        yield from textwrap.wrap(
            f"{nest.operator}, {nest.place}: {nest.formula}", WIDTH, subsequent_indent="    "
        )
        for what, told in loop_members(nest):
            yield from textwrap.wrap(f"  {what:<7}  {told}", WIDTH, subsequent_indent=" " * 11)
        yield from (f"  {line}" for line in nest_lines(nest))
    made = sum(bool(loop.vectors) for nest in found for loop in nest.loops)
    yield ""
    yield f"inner loops: {sum(len(nest.loops) for nest in found)}, of which {made} became vectors"
    yield (
        "work in operations on elements, at most; memory in bytes, each element once\n"
        "vectors as the compiler says: several widths where a loop has copies, for other "
        "processors or for what is left\ntiles run in cvmgen_tile_*.c"
    )


def loop_members(nest: ReportedNest) -> Iterator[tuple[str, str]]:
    yield "class", ", ".join(nest.classes) or "none: no schedule"
    yield "actions", "; ".join(nest.actions) or "none"
    yield "threads", "; ".join(nest.threads) or "one"
    yield "work", nest.work
    for what, sizes in (("reads", nest.reads), ("writes", nest.writes)):
        yield what, ", ".join(f"{name} {size}" for name, size in sizes.items()) or "nothing"


def nest_lines(nest: ReportedNest) -> Iterator[str]:
    function = ""
    for loop in nest.loops:
        if loop.function != function:
            function = loop.function
            yield function
        yield f"  {nest.file}:{loop.line}: {loop.head}: {' or '.join(loop.vectors) or 'no vectors'}"
