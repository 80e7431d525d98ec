"""`cvmgen build --report`: what the kernels of the CUDA files became as machine code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from cvmgen.build import (
    Accesses,
    Instructions,
    Resources,
    broken_gates,
    cuda_compiler,
    cuda_instructions,
    cuda_resources,
    disassembler,
)
from cvmgen.build.process import workers
from cvmgen.cli.exits import Exit
from cvmgen.cli.progress import Progress
from cvmgen.spec.formula import Operator

Asked = TypeVar("Asked")

HEADS = (
    "operator",
    "kernel",
    "class",
    "architecture",
    "registers",
    "spilled",
    "stack",
    "shared",
    "16-byte loads",
    "16-byte stores",
    "special",
    "breaks",
)
NUMBERS = frozenset(HEADS[4:10])
PTX_NOTE = (
    "no nvdisasm found (looked for the nvidia-cuda-nvdisasm wheel, and for a toolkit in $CUDA_HOME "
    "and on $PATH): the instructions are those of PTX, and machine code may differ; "
    "`pip install 'cvmgen[cuda]'` brings it"
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel on one architecture."""

    operator: str
    kernel: str
    kernel_class: str
    architecture: str
    resources: Resources
    instructions: Instructions

    @property
    def breaks(self) -> tuple[str, ...]:
        return broken_gates(self.kernel_class, self.resources, self.instructions)


@dataclass(frozen=True, slots=True)
class Report:
    """All kernels that were asked about, and what they were compiled and read with."""

    compiler: str
    disassembler: str | None
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A CUDA file of an operator, with the class of each of its kernels."""

    operator: str
    name: str
    source: str
    headers: Mapping[str, str]
    classes: Mapping[str, str]


def report(
    folder: Path, operators: Sequence[Operator], architectures: Sequence[str], progress: Progress
) -> Report:
    """What the CUDA files of `operators` in a generated folder become.

    Raises BuildError when there is no compiler or it refuses a file.
    """
    compiler = cuda_compiler().kind
    reader = disassembler()
    jobs = [(file, each) for file in files(folder, operators, progress) for each in architectures]

    def measure(job: tuple[File, str]) -> list[Kernel]:
        file, architecture = job
        progress.step(f"compiling {file.name} for {architecture}")
        return measured(file, architecture, compiler)

    with ThreadPoolExecutor(max_workers=workers()) as pool:
        kernels = [each for found in pool.map(measure, jobs) for each in found]
    # Each kernel's architectures side by side.
    places = {each.kernel: place for place, each in reversed(list(enumerate(kernels)))}
    kernels.sort(key=lambda each: places[each.kernel])
    return Report(compiler, None if reader is None else str(reader.path), tuple(kernels))


def files(folder: Path, operators: Iterable[Operator], progress: Progress) -> Iterator[File]:
    # Imported here: they need sympy, and what is wrong with the command line is told without.
    from cvmgen.driver import kernel_classes, operator_files

    headers = {path.name: read(path) for path in sorted((folder / "cuda").glob("*.h"))}
    for operator in operators:
        progress.step(f"lowering {operator.full_name}")
        (path,) = operator_files(operator, ["cuda"])
        source, classes = read(folder / path), kernel_classes(operator)
        yield File(operator.full_name, path.removeprefix("cuda/"), source, headers, classes)


def measured(file: File, architecture: str, compiler: str) -> list[Kernel]:
    """The kernels of a file, in its order."""

    def of(ask: Callable[..., Mapping[str, Asked]]) -> Mapping[str, Asked]:
        return ask(
            file.source,
            architecture=architecture,
            includes=file.headers,
            name=file.name,
            compiler=compiler,
        )

    # The instructions first: they need the machine code, and the log comes with it.
    instructions, resources = of(cuda_instructions), of(cuda_resources)
    return [
        Kernel(file.operator, name, kind, architecture, resources[name], instructions[name])
        for name, kind in file.classes.items()
    ]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- told


def description(found: Report) -> dict[str, Any]:
    """The report for programs."""
    return {
        "compiler": found.compiler,
        "disassembler": found.disassembler,
        "instructions": "PTX" if found.disassembler is None else "machine code",
        "kernels": [
            {
                "operator": each.operator,
                "kernel": each.kernel,
                "class": each.kernel_class,
                "architecture": each.architecture,
                **asdict(each.resources),
                **asdict(each.instructions),
                "breaks": list(each.breaks),
            }
            for each in found.kernels
        ],
    }


def table(found: Report) -> str:
    """The report for people: a line for each kernel and architecture, and what they add up to."""
    rows = [HEADS, *(row(each) for each in found.kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [aligned(each, widths) for each in rows]
    return "\n".join([*lines, *summary(found)])


def row(kernel: Kernel) -> tuple[str, ...]:
    resources, instructions = kernel.resources, kernel.instructions
    sizes = (resources.registers, resources.spilled, resources.stack, resources.shared)
    return (
        kernel.operator,
        kernel.kernel,
        kernel.kernel_class,
        kernel.architecture,
        *map(str, sizes),
        share(instructions.loads),
        share(instructions.stores),
        special(instructions),
        ", ".join(kernel.breaks),
    )


def share(accesses: Accesses) -> str:
    return f"{accesses.wide}/{accesses.count}" if accesses.count else "-"


def special(instructions: Instructions) -> str:
    """Instructions that only some kernels have."""
    counts = {
        "mma": instructions.matrix_products,
        "dp4a": instructions.dot_products,
        "async": instructions.async_copies,
    }
    return " ".join(f"{name}:{count}" for name, count in counts.items() if count)


def aligned(cells: Sequence[str], widths: Iterable[int]) -> str:
    padded = (
        cell.rjust(width) if head in NUMBERS else cell.ljust(width)
        for head, cell, width in zip(HEADS, cells, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def summary(found: Report) -> list[str]:
    kernels = {(each.operator, each.kernel) for each in found.kernels}
    architectures = dict.fromkeys(each.architecture for each in found.kernels)
    source = "PTX" if found.disassembler is None else "machine code"
    return [
        "",
        f"kernels: {len(kernels)}, for {', '.join(architectures)}; compiled by {found.compiler}, "
        f"instructions counted in {source}",
        "registers of a thread; spilled, stack, shared in bytes; accesses to global memory: "
        "16 bytes or more / all",
    ]


def verdict(found: Report | None) -> Exit:
    """Whether all gates hold, where there is a report; what is to be said of it, on stderr."""
    if found is None:
        return Exit.OK
    if found.disassembler is None:
        print(f"note: {PTX_NOTE}", file=sys.stderr)
    broken = sum(bool(each.breaks) for each in found.kernels)
    if not broken:
        return Exit.OK
    print(f"gates are broken in {broken} of {len(found.kernels)} rows", file=sys.stderr)
    return Exit.WRONG
