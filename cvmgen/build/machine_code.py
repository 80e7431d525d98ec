"""What kernels are made of: the instructions that matter for speed, counted in machine code.

Where nothing can print machine code, PTX is counted. It lies before the last optimizations, so
its numbers are near, not exact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cvmgen.build.product_loops import ProductLoop

Opcodes = Mapping[str, int]
"""How often each opcode, with its modifiers, stands in a kernel."""

_SECTION = re.compile(r"^\s*\.section\s+\.text\.(?P<kernel>[^,\s]+),", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_.]*)", re.MULTILINE
)

_KERNEL = re.compile(r"^([A-Za-z_$][\w$]*):$")
_LABEL = re.compile(r"^(\.L_\w+):$")
_CODE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?P<code>.*?)\s*;")
_NOTED = re.compile(r"^\s*//## File ")
_PLACE = re.compile(r'"([^"]*)", line (\d+)')

_PTX_FUNCTION = re.compile(
    r"^(?:\.(?:visible|weak|extern)\s+)*\.(?:entry\s+(?P<kernel>[\w$]+)|func\b)", re.MULTILINE
)
_PTX_INSTRUCTION = re.compile(
    r"^\s+(?:@!?%p\d+\s+)?(?P<opcode>[a-z]\w*(?:[.:]+\w+)*)(?P<operands>[^;\n]*);", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Accesses:
    """How many instructions access global memory, and how many of them 16 bytes or more each."""

    count: int
    wide: int


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of a kernel, each counted where it stands, not how often it runs.

    `loads` contains the asynchronous copies to shared memory. Accesses that may be to global
    memory or to another one count as global; `local` are those to the memory of a thread.
    `product_loop` is what the products of matrices cost, where machine code was read.
    """

    loads: Accesses
    stores: Accesses
    matrix_products: int
    dot_products: int
    async_copies: int
    local: int = 0
    product_loop: ProductLoop | None = None


@dataclass(frozen=True, slots=True)
class _Set:
    """An instruction set: opcodes of each sort, as patterns for the whole opcode."""

    loads: str
    stores: str
    wide: str
    matrix_products: str
    dot_products: str
    async_copies: str
    local: str


_SASS = _Set(
    loads=r"(LDG|LD|LDGSTS)(\..*)?",
    stores=r"(STG|ST)(\..*)?",
    wide=r".*\.(128|256)(\..*)?",
    matrix_products=r"[A-Z0-9]*MMA(\..*)?",
    dot_products=r"IDP(\..*)?",
    async_copies=r"(LDGSTS|UBLKCP|UTMALDG)(\..*)?",
    local=r"(LDL|STL)(\..*)?",
)
_PTX = _Set(
    loads=r"ld\.(?!.*\b(shared|local|const|param)\b).*|cp\.async\..*shared.*global.*",
    stores=r"st\.(?!.*\b(shared|local|param)\b).*",
    wide=r".*\.(v2\.[bsuf]64|v4\.[bsuf](32|64)|v8\.[bsuf]32|b128)|cp\.async\..*\.16",
    matrix_products=r"(mma|wmma\.mma|wgmma\.mma_async|tcgen05\.mma)\..*",
    dot_products=r"dp[24]a\..*",
    async_copies=r"cp\.async\..*shared.*global.*",
    local=r"(ld|st)\.(.*\.)?local\..*",
)


def sass_opcodes(text: str) -> dict[str, Opcodes]:
    """The opcodes of each kernel in what nvdisasm prints; a kernel's section holds its functions
    too."""
    _, *parts = _SECTION.split(text)
    return {
        kernel: Counter(found["opcode"] for found in _INSTRUCTION.finditer(code))
        for kernel, code in zip(parts[::2], parts[1::2], strict=True)
    }


def sass_lines(text: str, unit: str) -> Iterator[tuple[str, int]]:
    """The kernels, labels and instructions in what nvdisasm prints with the lines of sources, each
    with the line of the unit that it is of, or that called the header's function it is of; 0: of
    none."""
    line, noted = 0, False
    for each in text.splitlines():
        if _NOTED.match(each):
            # Of what is inlined the innermost place comes first, each in a note of its own.
            line, noted = (line if noted and line else _line_of(each, unit)), True
            continue
        noted = False
        if found := _KERNEL.match(each) or _LABEL.match(each):
            line = 0 if each[0] != "." else line
            yield f"{found[1]}:", line
        elif found := _CODE.match(each):
            yield f"  {found['code']}", line


def _line_of(note: str, unit: str) -> int:
    places = _PLACE.findall(note)
    return next((int(line) for path, line in places if f"/{path}".endswith(f"/{unit}")), 0)


def ptx_opcodes(text: str) -> dict[str, Opcodes]:
    """The opcodes of each kernel in PTX; functions that are called count for no kernel."""
    _, *parts = _PTX_FUNCTION.split(text)
    return {
        kernel: Counter(map(_ptx_opcode, _PTX_INSTRUCTION.finditer(code)))
        for kernel, code in zip(parts[::2], parts[1::2], strict=True)
        if kernel
    }


def instructions(
    opcodes: Opcodes, loop: ProductLoop | None = None, *, ptx: bool = False
) -> Instructions:
    """What the opcodes of a kernel amount to, and its loop of products."""
    known = _PTX if ptx else _SASS
    return Instructions(
        loads=_accesses(opcodes, known.loads, known.wide),
        stores=_accesses(opcodes, known.stores, known.wide),
        matrix_products=_count(opcodes, known.matrix_products),
        dot_products=_count(opcodes, known.dot_products),
        async_copies=_count(opcodes, known.async_copies),
        local=_count(opcodes, known.local),
        product_loop=loop,
    )


def _ptx_opcode(found: re.Match[str]) -> str:
    opcode = found["opcode"]
    # How much a copy takes along is an operand.
    operands = found["operands"].split(",")
    copies = opcode.startswith(("cp.async.ca.", "cp.async.cg.")) and len(operands) > 2
    return f"{opcode}.{operands[2].strip()}" if copies else opcode


def _accesses(opcodes: Opcodes, sort: str, wide: str) -> Accesses:
    found = {opcode: times for opcode, times in opcodes.items() if re.fullmatch(sort, opcode)}
    return Accesses(sum(found.values()), _count(found, wide))


def _count(opcodes: Opcodes, sort: str) -> int:
    return sum(times for opcode, times in opcodes.items() if re.fullmatch(sort, opcode))
