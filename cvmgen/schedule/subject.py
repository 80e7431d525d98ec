"""What a schedule works on: a typed nest, what is known of it, and the roles of its loops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from cvmgen.analysis.contraction import factor_sizes
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.in_bounds import Inside
from cvmgen.analysis.tiling import Tiling
from cvmgen.analysis.windows import Windows, find_windows
from cvmgen.dtypes import UINT8, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import all_names, assigned, carried, names_in, nodes_in
from cvmgen.schedule.entries import KeptValue
from cvmgen.typing.real_extremes import integer_extremes

Roles = Mapping[str, tuple[str, ...]]
"""What schedules call the loops and accumulators of a nest, and the names that these have there."""


@dataclass(frozen=True, slots=True)
class OuterValues:
    """What a nest reads that is not its own: values of the host, and memory with the machine types
    of its elements."""

    names: frozenset[str]
    tensors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TileBlocks:
    """What the register tile makes of a nest for which its tensors were laid out, as models do.

    roles: those of the nest as it stands; body, made: the nest by blocks of totals, and what the
    roles are there; told: what was laid out, for people
    """

    roles: Roles
    body: tuple[i.Stmt, ...]
    made: Roles
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InModel:
    """What is known of a nest of a model, where all extents are constant and accumulators hold
    every partial sum: how much there is to do, before any action, and what a tile would make of
    it."""

    measures: Mapping[str, int]
    blocks: TileBlocks | None = None


def sequential_index(program: i.Program, nest: i.Nest) -> str:
    """The index along which a nest reads what it has stored, stores what it has so far, or stores
    to elements again: that of a recurrence."""
    memory = program.lets.get(nest.tensor)
    if memory is not None and memory.in_turn:
        return index_in_turn(nest.body)
    if memory is None or memory.axis is None:
        return next((each.index for each in nodes_in(nest.body, i.Loop) if stores_totals(each)), "")
    return program.operator.definition(nest.tensor).parameters[memory.axis][0]


def index_in_turn(body: i.Block) -> str:
    """The index of the loop that stands behind one that fills all."""
    while len(body) == 1 and isinstance(body[0], i.Loop):
        body = body[0].body
    return next((each.index for each in nodes_in(body[-1], i.Loop)), "")


def stores_totals(loop: i.Loop) -> bool:
    """Whether a loop stores what it goes on to accumulate."""
    totals = {each.name for each in nodes_in(loop.body, i.Accumulate)} & carried(loop)
    stores = (each for each in loop.body if isinstance(each, i.Store))
    return any(totals & names_in(each.value) for each in stores)


@dataclass(frozen=True, slots=True)
class Subject:
    """A nest for one choice of element types, as far as its schedule has come."""

    body: i.Block
    dtypes: Mapping[str, DType]
    facts: Facts
    memory: tuple[i.Expr, ...]  # the extents of the memory of a list, where the nest fills one
    own: tuple[str, ...]  # the names of that memory, the list first
    inside: Inside  # what is known of elements' places
    reserved: frozenset[str]  # names that mean something else where the kernel stands
    written: tuple[i.Expr, ...]  # how often each of its outermost loops runs before any action
    place: str  # the line of the formula
    roles: Roles
    sizes: Mapping[str, i.Expr]  # the elements of the inputs that may be factors of 8 bits
    outside: OuterValues
    tiling: Tiling | None = None  # how the register tile may do the nest's work, beside its body
    kept: tuple[KeptValue, ...] = ()  # arrays for what is kept of the entries of a list
    model: InModel | None = None
    in_part: bool = False  # whether it fills memory in which elements that it leaves out may be too
    sequential: str = ""  # the loop whose iterations read what those before it stored

    @classmethod
    def of(
        cls,
        program: i.Program,
        nest: i.Nest,
        body: i.Block,
        dtypes: Mapping[str, DType],
    ) -> Subject:
        """The nest with its typed body."""
        is_list = nest.tensor not in program.operator.output_names
        memory = program.lists_of(nest.tensor) if is_list else ()
        shape = memory[0].shape if memory else ()
        sizes = factor_sizes(program, dtypes, unsigned=True)
        own = tuple(each.name for each in memory)
        prepared = (*program.prepare, *nest.prologue)
        reserved = frozenset((*program.operator.type_of, *(each.name for each in program.scratch)))
        reserved |= names_in(prepared) | assigned(prepared)
        facts, inside = Facts.of(program, nest), Inside.of(program.operator)
        place, points = nest.span.location, tuple(loop_ends(body))
        outside = OuterValues(
            (names_in(body) | names_in((points, shape, tuple(sizes.values())))) - assigned(body),
            {
                **dict.fromkeys((each.name for each in program.scratch), "i64"),
                **{name: dtype.machine for name, dtype in dtypes.items()},
            },
        )
        body = integer_extremes(body, dtypes)
        return cls(
            *(body, dtypes, facts, shape, own, inside, reserved, points, place, {}, sizes, outside),
            in_part=nest.tensor in program.lets and program.lets[nest.tensor].filled is not None,
            sequential=sequential_index(program, nest),
        )

    @property
    def taken(self) -> set[str]:
        """The names that are not free for what an action makes."""
        arrays = {each.name for each in nodes_in(self.body, i.Array)}
        return arrays | all_names(self.body) | self.reserved

    @property
    def elements(self) -> Mapping[str, str]:
        """The machine types of the elements of tensors, and of arrays that outlive an entry."""
        return {**self.outside.tensors, **{each.array: each.type for each in self.kept}}

    @property
    def unsigned(self) -> frozenset[str]:
        """The tensors of bytes without a sign."""
        return frozenset(name for name, dtype in self.dtypes.items() if dtype == UINT8)

    def is_like(self, other: Subject) -> bool:
        """Whether the nests are the same, whatever schedules call their loops."""
        return replace(self, roles=other.roles) == other

    def windows(self, results: i.Loop, around: i.Loop | None = None) -> Windows | None:
        """The windows of the results of a loop, and of the loop around it where that is given."""
        return find_windows(results, around, self.facts, self.dtypes, assigned(self.body))

    def with_roles(self, more: Roles) -> Subject:
        return replace(self, roles={**self.roles, **more})

    def with_body(self, body: i.Block) -> Subject:
        return replace(self, body=body)

    def with_loops(
        self,
        names: Collection[str],
        change: Callable[[i.Loop], i.Block | None],
        *,
        inner_first: bool = False,
    ) -> Subject:
        """The nest with what `change` makes of the loops of these indices; where that is None, of
        those inside. Or of those inside first, and then of the loop around what came of them."""

        def changed(statement: i.Stmt) -> i.Block | None:
            if not isinstance(statement, i.Loop) or statement.index not in names:
                return None
            if not inner_first:
                return change(statement)
            loop = replace(statement, body=rewritten(statement.body, changed))
            done = change(loop)
            return (loop,) if done is None else done

        return self.with_body(rewritten(self.body, changed))


def loop_ends(body: i.Block, around: frozenset[str] = frozenset()) -> Iterator[i.Expr]:
    """The ends of loops that stand right in each other, from the outermost one on, as far as those
    around do not decide them."""
    match body:
        case (i.Loop(index=index, low=i.Const(value=0), high=high, body=inner),):
            if names_in(high) & around:
                return
            yield high
            yield from loop_ends(inner, around | {index})
        case _:
            pass
