"""What the names of a nest are on the way to whole arrays, and the statements made so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types, outputs
from cvmgen.ir.python_names import python_identifier
from cvmgen.ir.uses import has, names_in
from cvmgen.ir.visit import fresh
from cvmgen.source import Span

HOST, INDEX, ARRAY = "host", "index", "array"


class NotAnArray(Exception):
    """A nest that operations on arrays do not express, and why."""


class OneByOne(Exception):
    """Indices that have to be Python's own loops, as something depends on each of their values."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(*sorted(names))
        self.names = names


@dataclass(slots=True)
class Front:
    """The place in front of the loops of a reduction, what names mean there, and the optional
    inputs that are known to be there."""

    statements: list[i.Stmt]
    at: int
    kinds: dict[str, str]
    shown: dict[str, i.Expr]
    given: frozenset[str]

    def emit(self, statement: i.Stmt) -> None:
        self.statements.insert(self.at, statement)
        self.at += 1


@dataclass(frozen=True, slots=True)
class FreeAxis:
    """A free index: its name, whether it is a multi-index, and the extents it runs over; whether
    it has two axes, of quotients and remainders."""

    name: str
    pack: bool
    extents: i.Expr
    split: bool = False


class NestScope:
    """The state in which one nest is made. `single` are the indices that stay Python's loops."""

    def __init__(
        self, program: i.Program, nest: i.Nest, integer: str, single: frozenset[str]
    ) -> None:
        self.program = program
        self.operator = program.operator
        self.nest = nest
        self.span: Span = nest.span
        self.checked = integer not in ("int32", "int64")  # integers may be Python's own
        self.integer = a.Integer("" if integer == "checked" else integer)
        self.single = single
        self.extents = KnownExtents(program, nest.case)
        self.optional = {item.name for item in self.operator.inputs if item.optional}
        self.kinds: dict[str, str] = {}  # of names that are not the host's
        self.shown: dict[str, i.Expr] = {}  # what names stand for that are bound here
        scratch = (each.name for each in program.scratch)
        operands = (*(each.name for each in self.operator.inputs), *self.operator.output_names)
        self.taken = {*map(python_identifier, (*operands, *host_types(program))), *scratch}
        self.statements: list[i.Stmt] = []
        self.around: list[tuple[list[i.Stmt], Callable[[i.Block], i.Stmt]]] = []
        self.box: list[i.Expr] = []  # the numbers of axes of the box so far
        self.free: list[FreeAxis] = []
        self.front: Front | None = None  # where a reduction around this place begins
        self.spans: dict[str, i.Expr] = {}  # what the indices of those loops run over
        self.partial = False  # whether a free index is read other than to walk whole tensors
        self.walked: set[str] = set()  # tensors that the free indices go through as a whole
        self.looked_up: set[str] = set()  # tensors that are read in any other way
        self.computed: set[str] = set()  # tensors with elements that are computed with
        self.listing = 0  # how many comprehensions are around
        self.choices = 0  # how many choices are: what they do not take is computed too
        self.given: frozenset[str] = frozenset()  # optional inputs that a test has seen

    # -------------------------------------------------------- statements and names

    def emit(self, statement: i.Stmt) -> None:
        if self.listing:
            raise NotAnArray("a statement in a comprehension")
        self.statements.append(statement)

    def let(self, name: str, value: i.Expr) -> i.Var:
        """A local of this very name."""
        self.emit(i.Let(name, "int", value, self.span))
        return i.Var(name)

    def new(self, name: str) -> str:
        """A local that no other value of the nest has."""
        return fresh(python_identifier(name), self.taken)

    def open(self, make: Callable[[i.Block], i.Stmt]) -> None:
        """What comes is the body of a statement, until it is closed."""
        if self.listing:
            raise NotAnArray("a statement in a comprehension")
        self.around.append((self.statements, make))
        self.statements = []

    def close(self, depth: int) -> None:
        """Close statements until so many are open."""
        while len(self.around) > depth:
            outer, make = self.around.pop()
            outer.append(make(tuple(self.statements)))
            self.statements = outer

    @contextmanager
    def inside(self, make: Callable[[i.Block], i.Stmt]) -> Iterator[None]:
        depth = len(self.around)
        self.open(make)
        yield
        self.close(depth)

    @contextmanager
    def apart(self, given: frozenset[str]) -> Iterator[list[i.Stmt]]:
        """Statements of their own, where optional inputs are known to be there."""
        outer, self.statements = (self.statements, self.given), []
        self.given = outer[1] | given
        yield self.statements
        self.statements, self.given = outer

    @contextmanager
    def choosing(self) -> Iterator[None]:
        self.choices += 1
        yield
        self.choices -= 1

    @contextmanager
    def bound(self, names: dict[str, str]) -> Iterator[None]:
        """Names of these kinds, for a while."""
        kinds, shown = dict(self.kinds), dict(self.shown)
        self.kinds |= names
        yield
        self.kinds, self.shown = kinds, shown

    def bind(self, name: str, kind: str, value: i.Expr) -> None:
        self.kinds[name], self.shown[name] = kind, value

    def here(self) -> Front:
        """The end of the statements so far."""
        names = dict(self.kinds), dict(self.shown)
        return Front(self.statements, len(self.statements), *names, self.given)

    # -------------------------------------------------------- kinds

    def kind(self, expr: i.Expr) -> str:
        """Whether a value is one number of the call, an affine index, or an array."""
        kinds = {self.kinds[name] for name in names_in(expr) if name in self.kinds}
        elements = has(expr, i.Access, i.Entries)
        if not kinds - {HOST} and not elements:
            return HOST
        if elements or ARRAY in kinds:
            return ARRAY
        return INDEX if self.affine(expr) else ARRAY

    def affine(self, expr: i.Expr) -> bool:
        """Whether index arithmetic keeps an index what it is, as far as its form tells."""
        match expr:
            case i.Var() | i.Const() | i.Item():
                return True
            case i.Binary(op="+" | "-", left=left, right=right):
                return self.affine(left) and self.affine(right)
            case i.Binary(op="*", left=left, right=right):
                one_host = HOST in (self.kind(left), self.kind(right))
                return one_host and self.affine(left) and self.affine(right)
            case i.Binary(op="floordiv" | "mod", left=left, right=right):
                return self.affine(left) and self.kind(right) == HOST
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                whole = self.affine(then) and self.affine(otherwise)
                return self.kind(condition) == HOST and whole
            case i.Call(function="flatten_index"):
                return True
            case _:
                return not self.depends(expr)

    def depends(self, expr: i.Expr) -> bool:
        """Whether a value reads a name that has axes."""
        return any(self.kinds.get(name, HOST) != HOST for name in names_in(expr))

    def axes_in(self, expr: i.Expr) -> frozenset[str]:
        """The free indices that a value depends on."""
        return names_in(expr) & {axis.name for axis in self.free}

    # -------------------------------------------------------- tensors

    def whole(self, access: i.Access) -> bool:
        """Whether an access goes through all of a tensor, whose dimensions are those of the box."""
        return self.covers(access) and not any(axis.split for axis in self.free)

    def covers(self, access: i.Access) -> bool:
        """Whether an access goes through all of a tensor in the order of the free indices."""
        wanted = tuple((i.Var(axis.name), axis.pack) for axis in self.free)
        if access.which is not None or not wanted or access.index != wanted:
            return False
        known = self.extents.of(access.tensor)
        return known == tuple((axis.extents, axis.pack) for axis in self.free)


def tensor_itself(name: str, which: i.Expr | None = None) -> i.Access:
    """All of a tensor."""
    return i.Access(name, which, ())


def seen(condition: i.Expr) -> frozenset[str]:
    """The optional inputs that are there where a condition holds."""
    match condition:
        case i.Given(name=name):
            return frozenset({name})
        case i.Logic(op="and", operands=operands):
            return frozenset().union(*map(seen, operands))
        case i.Not(operand=i.Not(operand=operand)):
            return seen(operand)
        case i.Not(operand=i.Logic(op="or", operands=operands)):
            return frozenset().union(*(seen(i.Not(each)) for each in operands))
        case _:
            return frozenset()


# ---------------------------------------------------------------- extents


Slots = tuple[tuple[i.Expr, bool], ...]  # an extent, or True: a list of them


class KnownExtents:
    """The extents of inputs, outputs and the memory of lists, as expressions of the host."""

    def __init__(self, program: i.Program, case: int | None) -> None:
        self.known: dict[str, Slots] = {}
        for statement in program.prepare:
            if isinstance(statement, i.TakeInput) and not statement.input.variadic:
                self.known[statement.input.name] = slots_of(statement)
        for output in outputs(program.prepare, case):
            self.known[output.tensor] = flat_slots(output.extents)
        for each in program.scratch:
            self.known[each.name] = tuple((extent, False) for extent in each.shape)

    def of(self, tensor: str) -> Slots | None:
        return self.known.get(tensor)

    def flattened(self, access: i.Access) -> i.Expr | None:
        """Where the last slots of an access are the multi-index at a position in row-major order:
        the position, if it is one in just the dimensions that are left."""
        match access.index:
            case (*front, (i.Call(function="unflatten", arguments=(position, extents)), True)):
                if any(spread for _, spread in front):
                    return None
            case _:
                return None
        match self.of(access.tensor):
            case ((whole, True),):
                part: i.Expr = i.Part(whole, i.Const(len(front)), None)
                if extents == part or (not front and extents == whole):
                    return position
            case _:
                pass
        return None


def slots_of(statement: i.TakeInput) -> Slots:
    """The extents of an input: what it must equal, or the names that it gives."""
    pairs = zip(statement.known, statement.input.extents, strict=True)
    return tuple((known or i.Var(str(extent.new)), extent.pack) for known, extent in pairs)


def flat_slots(extents: i.Expr) -> Slots:
    return extents.entries if isinstance(extents, i.ListOf) else ((extents, True),)
