"""What a nest becomes on a GPU: kernels, and what the host does to start them, all of it IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cvmgen.dtypes import INT64, DType
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.schedule.forms import Settings
from cvmgen.source import Span

HOST = h.PLAN
# Whether the inputs of a call are int8, but for those read as int32.
NARROW = i.Var(f"{h.OURS}narrow")


@dataclass(frozen=True, slots=True)
class KnownNest:
    """What is said of a nest with constant extents beside its program: how many of its outermost
    loops run in `parallel` (None: all of a grid), the names that are `reserved`, the `lists` whose
    memory it fills."""

    parallel: int | None
    reserved: frozenset[str]
    lists: frozenset[str]


@dataclass(frozen=True, slots=True)
class MappingTask:
    """A typed nest for one choice of element types, and what the schedules say of mappings.

    It stays as it is: a mapping makes kernels of it, several of some nests. A `Subject`, of which
    classes are recognised, goes from one action to the next, and takes along what says whether
    each is legal.
    """

    program: i.Program
    nest: i.Nest
    body: i.Block
    name: str  # what its kernel is called besides the nest and the types
    dtypes: Mapping[str, DType]  # of the elements of its inputs and outputs
    settings: Mapping[str, Settings]  # of the mappings, by their names in schedules
    known: KnownNest | None = None  # of a model

    @property
    def outer(self) -> int | None:
        """How many loops stand around that in which a recurrence goes from element to element,
        or around what else is not to be divided; None of all other nests."""
        if self.known is not None:
            return self.known.parallel
        memory = self.program.lets.get(self.nest.tensor)
        if memory is None or memory.axis is None:
            return None
        return len(memory.shape) - 1 if memory.apart else 0

    @property
    def taken(self) -> set[str]:
        """The names that are not free for what a mapping makes."""
        tensors = {each.tensor for each in nodes_in(self.body, i.Load)}
        reserved = frozenset[str]() if self.known is None else self.known.reserved
        return set(names_in(self.body)) | assigned(self.body) | tensors | reserved

    @property
    def memory(self) -> frozenset[str]:
        """The memory of the list that the nest makes, if it makes one."""
        if self.known is not None:
            return self.known.lists
        return frozenset(each.name for each in self.program.lists_of(self.nest.tensor))

    @property
    def makes_list(self) -> bool:
        return self.nest.guarded is None and bool(self.memory)

    def element(self, tensor: str) -> DType:
        """The type of a tensor's elements; memory of the call holds 64-bit integers."""
        return self.dtypes.get(tensor, INT64)


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """What a kernel is given: a value, or a pointer to elements of a machine type. Nothing else
    points to those of a tensor, which stand `apart`."""

    name: str
    type: str
    elements: bool = False
    written: bool = False
    apart: bool = True

    @property
    def pointer(self) -> str:
        """The type of the pointer."""
        return f"{'' if self.written else 'const '}{self.type}*"


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function that threads of a GPU run; its `name` is what stands behind that of the nest and
    the types, and `leading` parameters stand in front of all others.

    Values of the call whose names are `short` are locals of 32 bits. One that does a part of the
    nest's work is given what its `own` statements need, not what those of the nest do.
    """

    name: str
    kind: str  # what gates for machine code know it by
    body: i.Block
    parameters: tuple[KernelParameter, ...] = ()
    leading: tuple[KernelParameter, ...] = ()
    bounds: str = ""
    short: frozenset[str] = frozenset()
    own: bool = False


@dataclass(frozen=True, slots=True)
class Mapped:
    """The kernels that the host can start for a nest, what it computes before, and how it chooses
    among them. Values of the call are members of HOST; other names are its own locals."""

    functions: tuple[DeviceFunction, ...]
    before: i.Block
    start: i.Block
    memory: str = ""  # what is said of memory that it takes


NextMapping = Callable[[MappingTask], Mapped]
"""The mapping of a task by those that come after one."""


def on_host(expr: i.Expr) -> i.Expr:
    """An expression over what the call fixes, as the host has it."""

    def change(node: i.Expr) -> i.Expr:
        return i.Member(HOST, node.name) if isinstance(node, i.Var) else node

    return rebuild(expr, change)


class Writer:
    """Makes statements for a line of the formula, with names that nothing else has."""

    def __init__(self, span: Span, taken: set[str]) -> None:
        self.span, self.taken = span, taken

    def fresh(self, name: str) -> i.Var:
        return i.Var(fresh(name, self.taken))

    def let(self, name: i.Var, type_name: str, value: i.Expr) -> i.Let:
        return i.Let(name.name, type_name, value, self.span)

    def add(self, name: i.Var, op: str, value: i.Expr) -> i.Accumulate:
        return i.Accumulate(name.name, op, value, self.span)

    def where(self, condition: i.Expr, *then: i.Stmt) -> i.If:
        return i.If(condition, then, (), self.span)

    def over(
        self,
        index: i.Var,
        high: i.Expr,
        body: i.Block,
        *,
        low: i.Expr | None = i.ZERO,
        share: i.Share | None = None,
        unroll: str = "",
        type_name: str = "i64",
    ) -> i.Loop:
        return i.Loop(
            *(index.name, low, high, body, 0, self.span),
            share=share,
            unroll=unroll,
            type=type_name,
        )


def plan_members_read(statements: object) -> set[str]:
    """The values of a call that the host's statements read."""
    return {each.name for each in nodes_in(statements, i.Member) if each.structure == HOST}


def domain(extents: Sequence[i.Expr]) -> i.Expr:
    """The size of an iteration domain, on the host; no extent counts below 0 where several do."""
    sizes = tuple(map(on_host, extents))
    return i.Call("domain", sizes) if len(sizes) > 1 else (*sizes, i.ONE)[0]


def host_local(name: str, value: i.Expr, task: MappingTask, type_name: str = "i64") -> i.Let:
    """A local of the host."""
    return i.Let(name, type_name, value, task.nest.span)


def launch(
    task: MappingTask, count: i.Expr, kernel: str, function: str = "launch", *arguments: i.Expr
) -> i.Launch:
    """The start of a kernel by one of the functions for it."""
    return i.Launch(i.Call(function, ()), count, kernel, arguments, task.nest.span)


def mapping_lines(mapped: Mapped) -> Iterator[str]:
    """The kernels of a nest and what the host does to start them, for people."""
    for each in mapped.functions:
        yield f"{each.kind} kernel{each.name}:"
        yield from (f"  {line}" for line in block_lines(each.body))
    yield "host:"
    yield from (f"  {line}" for line in block_lines((*mapped.before, *mapped.start)))
