"""Kernels as C functions: names for people, loops that threads share, comments with the origin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from cvmgen.emit.c_like import MACHINE_TYPES, CPrinter, comment, identifier, indent
from cvmgen.emit.c_text import signature, wrapped_list
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.lower.guards import changed
from cvmgen.lower.known_types import Elements, known_types
from cvmgen.lower.linear import Linear, linear
from cvmgen.model.kernels import Kernel, Loops
from cvmgen.model.schedules import Decisions
from cvmgen.model.storage import Placement, Storage

TEAM = 20 * 2048  # below so many steps of the loops of all kernels threads are not worth it


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel as C; its parameters are tensors of the model in their order."""

    name: str
    tensors: tuple[str, ...]
    text: str
    work: int  # in steps of its loops
    told: tuple[str, ...] = ()  # what its schedule decided, for people


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


def nest_lines(kernel: Kernel, storage: Storage, names: Names, decisions: Decisions) -> list[str]:
    """A kernel with offsets, its loops shared by threads as its schedule says."""
    outer = leading(kernel.loops[:-1] or kernel.loops, decisions.shared)
    loops, body = names.loops(kernel.loops), names.within(kernel.body)
    body = known_types(kernel.operator, dict(loops), body, storage.elements).body
    return [
        shared(outer),
        *loop_lines(loops, ModelPrinter(body).block(body)),
    ]


def function(
    name: str,
    kernel: Kernel,
    tensors: Sequence[str],
    storage: Storage,
    lines: Sequence[str],
    work: int,
    vector: bool,
) -> Function:
    """The lines inside a function that every thread of a team calls; one with `vector` is compiled
    for each level of vector instructions."""
    written = kernel.written
    parameters = [parameter(each, storage.elements[each], each in written) for each in tensors]
    comments = [comment(f"{each.node}: {each.operator}, {each.place}") for each in kernel.origins]
    head = head_lines(f"{'STEP ' if vector else ''}static void {name}(", parameters)
    return Function(
        name, tuple(tensors), "\n".join([*head, *wrap_c(indent([*comments, *lines])), "}"]), work
    )


def parameter(tensor: str, elements: Elements, written: bool) -> str:
    constant = "" if written else "const "
    return f"{constant}{element_type(elements)} *restrict {identifier(tensor)}"


def element_type(elements: Elements) -> str:
    return MACHINE_TYPES[elements.type]


def leading(loops: Loops, names: Collection[str]) -> Loops:
    """The outermost loops, as far as they have these names."""
    return tuple(takewhile(lambda loop: loop[0] in names, loops))


def shared(loops: Loops) -> str:
    """How the threads share these outermost loops; where there are none, one of them does all."""
    if not loops:
        return "#pragma omp single"
    collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
    return f"#pragma omp for{collapse} schedule(static)"


def work_of(kernel: Kernel) -> int:
    """About how many steps all iterations take."""
    return kernel.iterations * weight(kernel.body)


def weight(body: tuple[i.Stmt, ...]) -> int:
    """About how many steps an iteration takes."""
    total = 0
    for each in body:
        match each:
            case i.Loop(low=i.Const(value=low), high=i.Const(value=high), body=inner):
                total += (int(high) - int(low)) * weight(inner)
            case i.If(then=then, otherwise=otherwise):
                total += max(weight(then), weight(otherwise))
            case _:
                total += 1
    return max(total, 1)


def loop_lines(loops: Loops, inner: list[str]) -> list[str]:
    """Lines inside loops; a block of their own where there are none."""
    lines = inner
    for index, extent in reversed(loops):
        head = loop_head(index, str(extent))
        braces = len(lines) > 1
        lines = [f"{head} {{", *indent(lines), "}"] if braces else [head, *indent(lines)]
    return lines if loops else ["{", *indent(lines), "}"]


def loop_head(index: str, end: str) -> str:
    name = identifier(index)
    return f"for (int64_t {name} = 0; {name} < {end}; ++{name})"


def border_lines(tensor: str, place: Placement, elements: Elements) -> list[str]:
    """Zeros around the bytes of a tensor, written by one thread while the others go on."""
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
        lines += loop_lines(kept, fills) if kept else fills
    return ["#pragma omp single nowait", "{", *indent(lines), "}"] if lines else []


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
