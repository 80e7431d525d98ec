"""Kernels as C functions: names for people, loops that threads share, comments with the origin."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from operator import mul
from typing import Any

from cvmgen.emit.c_like import MACHINE_TYPES, CPrinter, identifier, indent
from cvmgen.emit.c_shares import OWN, Member, call_name, part_function, part_name, places
from cvmgen.emit.c_text import signature, word_in, wrapped, wrapped_list
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import changed
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.known.known_types import Elements, known_types
from cvmgen.known.linear import Linear, linear
from cvmgen.model.kernels import Kernel, Loops
from cvmgen.model.schedules import Decisions
from cvmgen.model.storage import Placement, Storage

ENOUGH = 32  # iterations for threads to share, so that they unravel few indices


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel as C; its parameters are tensors of the model in their order."""

    name: str
    tensors: tuple[str, ...]
    text: str
    told: tuple[str, ...]  # what its schedule decided, for people
    shared: bool = False  # by threads


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a kernel: what is constant, loops, what stands in them and, in parts, in front
    of the innermost one; threads share so many of the outermost loops."""

    loops: Loops
    inner: Sequence[str]
    shared: int
    constants: Sequence[str] = ()
    front: Sequence[str] = ()

    def alone(self) -> list[str]:
        """All of the kernel."""
        return [*self.constants, *loop_lines(self.loops, self.inner)]

    def part(self, low: str, high: str, at: str) -> list[str]:
        """The iterations of the shared loops from `low` on, below `high`."""
        shared, within = self.loops[: self.shared], self.loops[self.shared :]
        inner = loop_lines(within, self.inner, self.front)
        front = [] if within else self.front
        if len(shared) == 1:
            head = loop_head(shared[0][0], high, low)
            return [*self.constants, *front, *block_of(head, inner)]
        text = "\n".join(inner)
        counts = [str(extent) for _, extent in shared[1:]]
        indices = [
            f"{identifier(index)} = {place}"
            for (index, _), place in zip(shared, places(at, counts), strict=True)
            if word_in(identifier(index), text)
        ]
        inner = [*wrapped("const int64_t", indices), *inner]
        return [*self.constants, *block_of(loop_head(at, high, low), inner)]


class Names:
    """Short names for indices and locals, each once; those to be named have a dot in theirs."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.chosen: dict[str, str] = {}

    def of(self, name: str) -> str:
        if "." not in name:
            return name
        if name not in self.chosen:
            self.chosen[name] = fresh(name.split(".")[0], self.taken)
        return self.chosen[name]

    def loops(self, loops: Loops) -> Loops:
        return tuple((self.of(index), extent) for index, extent in loops)

    def within(self, node: Any) -> Any:
        """Expressions or statements with the short names."""
        return rebuild(node, self.change)

    def change(self, node: Any) -> Any:
        match node:
            case i.Var(name=name):
                return i.Var(self.of(name))
            case i.Let() | i.Assign() | i.Accumulate():
                return replace(node, name=self.of(node.name))
            case i.Loop():
                return replace(node, index=self.of(node.index))
            case _:
                return node


class ModelPrinter(CPrinter):
    """Prints the statements of a kernel."""

    def __init__(self, body: tuple[i.Stmt, ...] = ()) -> None:
        super().__init__(host=False)
        self.changing = frozenset(changed(body))
        self.accumulators = {each.name: each.type for each in walk(body) if isinstance(each, i.Let)}


def nest_lines(kernel: Kernel, storage: Storage, names: Names, decisions: Decisions) -> Lines:
    """A kernel with offsets, its loops shared by threads as its schedule says."""
    loops, body = names.loops(kernel.loops), names.within(kernel.body)
    body = known_types(kernel.operator, dict(loops), body, storage.elements).body
    outer = leading(kernel.loops[:-1] or kernel.loops, decisions.shared)
    whole = any(isinstance(each, i.Loop) for each in walk(body))
    front = () if whole or not outer else apart(kernel, decisions)
    return Lines(loops, ModelPrinter(body).block(body), outer, front=front)


def apart(kernel: Kernel, decisions: Decisions) -> Sequence[str]:
    """What stands in front of a loop for vector instructions in a part: the pointers are locals
    there, of which compilers do not see that they are restrict."""
    return ("CVMGEN_APART",) if decisions.vector and not kernel.read & kernel.written else ()


@dataclass(frozen=True, slots=True)
class StepText:
    """The text of a step's function, and what threads share of it.

    `tensors` are its parameters, of which it writes those that are `written`; `head` stands before
    the heads of functions with vector loops.
    """

    name: str
    tensors: Sequence[str]
    written: Collection[str]
    elements: Mapping[str, Elements]
    comments: Sequence[str]
    head: Sequence[str]

    def whole(self, borders: Sequence[str], lines: Lines) -> str:
        """One function."""
        body = [*self.comments, *borders, *lines.alone()]
        return "\n".join([*self.head, *self.signature(), *wrap_c(indent(body)), "}"])

    def shared(self, borders: Sequence[str], lines: Lines, parts: int, names: Names) -> str:
        """The function of a part of the iterations, and one that shares them all."""
        own = {each: names.of(f"{each}.own") for each in OWN}
        part = lines.part(own["low"], own["high"], own["at"])
        text = "\n".join(part)
        members = [self.member(each) for each in self.tensors if word_in(identifier(each), text)]
        name = part_name(self.name)
        body = [*self.comments, *part]
        count = math.prod(extent for _, extent in lines.loops[: lines.shared])
        values = [each.value for each in members]
        return "\n".join(
            [
                *part_function(name, own, members, self.head, body),
                "",
                *self.signature(),
                *indent(borders),
                *indent(
                    wrapped_list(f"const {call_name(name)} {own['call']} = {{", values, "};", 92)
                ),
                f"    share({count}, {parts}, {name}, &{own['call']});",
                "}",
            ]
        )

    def member(self, tensor: str) -> Member:
        kind = self.kind(tensor)
        return Member(identifier(tensor), kind, f"{kind}restrict ", identifier(tensor))

    def kind(self, tensor: str) -> str:
        """The type of a pointer to a tensor."""
        constant = "" if tensor in self.written else "const "
        return f"{constant}{element_type(self.elements[tensor])} *"

    def signature(self) -> list[str]:
        parameters = [f"{self.kind(each)}restrict {identifier(each)}" for each in self.tensors]
        return head_lines(f"static void {self.name}(", parameters)


def element_type(elements: Elements) -> str:
    return MACHINE_TYPES[elements.type]


def leading(loops: Loops, names: Collection[str]) -> int:
    """How many of the outermost loops threads share: as far as they have these names, and until
    there are enough iterations."""
    shared = tuple(takewhile(lambda loop: loop[0] in names, loops))
    counts = list(accumulate((extent for _, extent in shared), mul))
    return next((at for at, count in enumerate(counts, 1) if count >= ENOUGH), len(counts))


def loop_lines(loops: Loops, inner: Sequence[str], front: Sequence[str] = ()) -> list[str]:
    """Lines inside loops; `front` stands in front of the innermost one."""
    lines = list(inner)
    for index, extent in reversed(loops):
        lines = [*front, *block_of(loop_head(index, str(extent)), lines)]
        front = ()
    return lines


def loop_head(index: str, end: str, start: str = "0") -> str:
    name = identifier(index)
    return f"for (int64_t {name} = {start}; {name} < {end}; ++{name})"


def block_of(head: str, lines: Sequence[str]) -> list[str]:
    return [f"{head} {{", *indent(lines), "}"] if len(lines) > 1 else [head, *indent(lines)]


def border_lines(tensor: str, place: Placement, elements: Elements) -> list[str]:
    """Zeros around the bytes of a tensor."""
    name = identifier(tensor)
    lines: list[str] = []
    for at in place.bordered:
        outer = place.order[: place.order.index(at)]
        loops: Loops = tuple((f"i{each}", place.shape[each]) for each in outer)
        start = Linear(sum(place.pads[each][0] * place.strides[each] for each in outer))
        for (index, extent), each in zip(loops, outer, strict=True):
            if extent > 1:
                start = start.plus(Linear(0, {i.Var(index): place.strides[each]}))
        far = Linear((place.pads[at][0] + place.shape[at]) * place.strides[at])
        fills = [
            f"memset({name} + {ModelPrinter().expr(edge.expr())}, {elements.bias}, "
            f"{pad * place.strides[at]});".replace(" + 0,", ",")
            for edge, pad in zip((start, start.plus(far)), place.pads[at], strict=True)
            if pad
        ]
        kept = tuple(each for each in loops if each[1] > 1)
        lines += loop_lines(kept, fills)
    return lines


def merged(kernel: Kernel, names: Collection[str]) -> Kernel:
    """A kernel with offsets, neighbouring loops that all offsets walk as one made one, where they
    have these names."""
    loops = list(kernel.loops)
    body = kernel.body
    at = len(loops) - 2
    while at >= 0:
        (outer, _), (inner, extent) = loops[at], loops[at + 1]
        if {outer, inner} <= set(names) and alike(body, outer, inner, extent):
            body = substitute(body, {outer: i.Const(0)})
            body = rebuild(body, tidy_offset)
            loops[at : at + 2] = [(inner, loops[at][1] * extent)]
        at -= 1
    return replace(kernel, loops=tuple(loops), body=body)


def alike(body: tuple[i.Stmt, ...], outer: str, inner: str, extent: int) -> bool:
    """Whether each offset has the inner index `extent` times as often as the outer one."""
    count = 0
    for node in walk(body):
        if isinstance(node, i.Load):
            factors = linear(node.offset, {}).factors
            if not all(isinstance(term, i.Var) for term in factors):
                return False
            steps = factors.get(i.Var(outer), 0), factors.get(i.Var(inner), 0)
            if steps[0] != extent * steps[1]:
                return False
            count += sum(step != 0 for step in steps)
    read = [each.name for each in walk(body) if isinstance(each, i.Var)]
    return read.count(outer) + read.count(inner) == count


def tidy_offset(node: Any) -> Any:
    if isinstance(node, i.Load):
        return replace(node, offset=linear(node.offset, {}).expr())
    return node


def head_lines(head: str, parameters: Sequence[str]) -> list[str]:
    """A function head; where its name is long, its parameters begin on the next line."""
    if all(len(head) + len(each) < 96 for each in parameters):
        return signature(head, list(parameters))
    return [head, *wrapped_list(" " * 8, list(parameters), ") {")]
