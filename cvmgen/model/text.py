"""Kernels as C functions: names for people, loops that threads share, comments with the origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.emit.c_like import MACHINE_TYPES, CPrinter, comment, identifier, indent
from cvmgen.emit.c_text import signature
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.lower.guards import changed
from cvmgen.lower.known_types import Elements, known_types
from cvmgen.model.kernels import Kernel
from cvmgen.model.storage import Storage, located

ALONE = 2048  # below so many steps of its loops a kernel is not worth two threads


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel as C; its parameters are tensors of the model in their order."""

    name: str
    tensors: tuple[str, ...]
    text: str


class ModelPrinter(CPrinter):
    """Prints the statements of a kernel."""

    def __init__(self, body: tuple[i.Stmt, ...]) -> None:
        super().__init__(host=False)
        self.changing = frozenset(changed(body))
        self.accumulators = {each.name: each.type for each in walk(body) if isinstance(each, i.Let)}


def function(name: str, kernel: Kernel, storage: Storage) -> Function:
    """The kernel as a function that every thread of a team calls."""
    tensors = tuple(sorted(kernel.read - kernel.written)) + tuple(sorted(kernel.written))
    kernel = named(located(kernel, storage), {*map(identifier, tensors), name})
    body = known_types(kernel.operator, dict(kernel.loops), kernel.body, storage.elements).body
    lines = [comment(f"{each.node}: {each.operator}, {each.place}") for each in kernel.origins]
    lines += [shared(kernel), *loop_lines(kernel, ModelPrinter(body).block(body))]
    parameters = [
        parameter(tensor, storage.elements[tensor], tensor in kernel_writes(body))
        for tensor in tensors
    ]
    head = signature(f"static void {name}(", parameters)
    return Function(name, tensors, "\n".join([*head, *wrap_c(indent(lines)), "}"]))


def kernel_writes(body: tuple[i.Stmt, ...]) -> set[str]:
    found = {each.target.tensor for each in walk(body) if isinstance(each, i.Store)}
    for each in walk(body):
        if isinstance(each, i.Sort):
            found |= {each.entries.first.tensor, each.spare.tensor}
    return found


def parameter(tensor: str, elements: Elements, written: bool) -> str:
    constant = "" if written else "const "
    return f"{constant}{element_type(elements)} *restrict {identifier(tensor)}"


def element_type(elements: Elements) -> str:
    return MACHINE_TYPES[elements.type]


def shared(kernel: Kernel) -> str:
    """How the threads share the iterations."""
    if not kernel.loops or kernel.iterations * weight(kernel.body) < ALONE:
        return "#pragma omp single"
    outer = max(len(kernel.loops) - 1, 1)
    collapse = f" collapse({outer})" if outer > 1 else ""
    return f"#pragma omp for{collapse} schedule(static)"


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


def loop_lines(kernel: Kernel, inner: list[str]) -> list[str]:
    lines = inner
    for index, extent in reversed(kernel.loops):
        name = identifier(index)
        head = f"for (int64_t {name} = 0; {name} < {extent}; ++{name})"
        many = len(lines) > 1
        lines = [f"{head} {{", *indent(lines), "}"] if many else [head, *indent(lines)]
    if not kernel.loops:
        lines = ["{", *indent(lines), "}"]
    return lines


def named(kernel: Kernel, taken: set[str]) -> Kernel:
    """The kernel with short names for its indices and locals, each of them once."""
    names: dict[str, str] = {}

    def name_of(old: str) -> str:
        if "." not in old:
            return old
        if old not in names:
            names[old] = fresh(old.split(".")[0], taken)
        return names[old]

    loops = tuple((name_of(index), extent) for index, extent in kernel.loops)

    def change(node: object) -> object:
        match node:
            case i.Var(name=name):
                return i.Var(name_of(name))
            case i.Let() | i.Assign() | i.Accumulate():
                return renamed(node, "name", name_of(node.name))
            case i.Loop():
                return renamed(node, "index", name_of(node.index))
            case _:
                return node

    body = rebuild(kernel.body, change)
    return Kernel(loops, body, kernel.origins, kernel.operator)


def renamed(node: object, field: str, name: str) -> object:
    from dataclasses import replace

    return replace(node, **{field: name})  # type: ignore[type-var]


def calls(functions: list[Function], pointers: Mapping[str, str]) -> list[str]:
    """The calls of all functions in their order."""
    return [
        f"{each.name}({', '.join(pointers[tensor] for tensor in each.tensors)});"
        for each in functions
    ]
