"""A program for one call: shapes, attributes and precisions are constants, ranks are known.

Multi-indices become loops of their own, loops that run once and guards that are decided go, and
list arithmetic leaves plain indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cvmgen.dtypes import DType
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.uses import has, names_in, nodes_in, reassigned
from cvmgen.ir.visit import rebuild
from cvmgen.known.choices import one_after_another, with_choices
from cvmgen.known.partial import (
    KnownScope,
    Value,
    evaluate,
    known_access,
    known_integer,
    known_integers,
    known_list,
    scalar,
)
from cvmgen.spec.formula import Attribute, Input

Shape = tuple[int, ...]
Plain = int | bool | float | str | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class CallTensor:
    """A tensor of a call: what it is called where the nests are put to use.

    One whose elements have a type of their own has no precision.
    """

    name: str
    shape: Shape
    precision: int | None


@dataclass(frozen=True, slots=True)
class KnownCall:
    """What a call gives: for each input its tensors (none of one left out), and attributes.

    `types` are the element types that the operator's type parameters stand for.
    """

    inputs: Sequence[Sequence[CallTensor]]
    attributes: Mapping[str, Plain]
    outputs: Mapping[str, str]  # the name of the tensor that each output is
    types: Mapping[str, DType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """Memory of a call: for what, as `Scratch` says it, with this shape."""

    kind: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Specialized:
    """The nests of a call that run, with the names of its tensors; those that only test what
    others do, apart; memory of lists and of lets by name."""

    outputs: Mapping[str, tuple[Shape, int | None]]
    nests: tuple[i.Nest, ...]
    tests: tuple[i.Nest, ...]
    memory: Mapping[str, KnownMemory]


def specialize(
    program: i.Program, call: KnownCall, prefix: str, numbers: Iterator[int]
) -> Specialized:
    """The program for `call`; `prefix` begins the names of memory for selected lists.

    Each index and local has a number of its own behind a dot, from `numbers`: nests of several
    programs that share them can become one.
    """
    return Specializer(program, call, prefix, numbers).run()


class Specializer:
    """Evaluates the host code in order, then rewrites the nests of the case that holds."""

    def __init__(
        self, program: i.Program, call: KnownCall, prefix: str, numbers: Iterator[int]
    ) -> None:
        operator = program.operator
        self.program, self.call = program, call
        self.operands = dict(zip((each.name for each in operator.inputs), call.inputs, strict=True))
        self.names = dict(call.outputs)
        self.names |= {each.name: f"{prefix}_{each.name}" for each in program.scratch}
        given = {name for name, tensors in self.operands.items() if tensors}
        given |= {name for name, value in call.attributes.items() if value is not None}
        precisions = {
            (name, at): tensor.precision
            for name, tensors in self.operands.items()
            for at, tensor in enumerate(tensors)
            if tensor.precision is not None
        }
        self.scope = KnownScope({}, frozenset(given), precisions, call.types)
        self.outputs: dict[str, tuple[Shape, int | None]] = {}
        self.case: int | None = None
        self.numbers = numbers

    def run(self) -> Specialized:
        self.prepare(self.program.prepare)
        self.scope = replace(self.scope, reals=self.program.operator.has_reals)
        nests = [nest for nest in self.program.nests if nest.case in (None, self.case)]
        done = [(nest, each) for nest in nests for each in self.nest(nest)]
        return Specialized(
            self.outputs,
            tuple(each for nest, each in done if nest.guarded is None),
            tuple(each for nest, each in done if nest.guarded is not None),
            self.memory({nest.tensor for nest in nests}),
        )

    def memory(self, written: set[str]) -> dict[str, KnownMemory]:
        """The memory of lists and lets that nests fill."""
        found = {}
        for each in self.program.scratch:
            if each.owner in written:
                shape = tuple(known_integer(evaluate(n, self.scope.of_indices)) for n in each.shape)
                found[self.names[each.name]] = KnownMemory(each.kind, shape)
        return found

    # -------------------------------------------------------- host code

    def bind(self, **values: Value) -> None:
        self.scope = self.scope.bound(**values)

    def prepare(self, statements: Sequence[i.Stmt]) -> None:
        for statement in statements:
            match statement:
                case i.Let(name=name, value=value):
                    self.bind(**{name: evaluate(value, self.scope)})
                case i.TakeInput(input=item):
                    self.take_input(item)
                case i.TakeAttribute(attribute=attribute, default=default):
                    self.take_attribute(attribute, default)
                case i.Require(condition=condition, rule=rule):
                    if not known_integer(evaluate(condition, self.scope)):
                        raise InternalError(f"specialize: a call that is refused: {rule}")
                case i.SetOutput():
                    self.set_output(statement)
                case i.Cases(branches=branches):
                    self.choose(branches)
                case _:
                    kind = type(statement).__name__
                    raise InternalError(f"specialize: {kind} is not known in host code")

    def take_input(self, item: Input) -> None:
        shapes = [tensor.shape for tensor in self.operands[item.name]]
        if item.variadic and item.count is not None:
            (pack,) = (extent.new for extent in item.extents)
            assert pack is not None
            lists: Value = tuple(map(known_list, shapes))
            self.bind(**{pack: lists, item.count: i.Const(len(shapes))})
            return
        for shape in shapes:
            free = len(shape) - sum(not extent.pack for extent in item.extents)
            at = 0
            for extent in item.extents:
                here = shape[at : at + free] if extent.pack else shape[at : at + 1]
                at += len(here)
                if extent.new is not None:
                    whole = known_list(here)
                    self.bind(**{extent.new: whole if extent.pack else i.Const(here[0])})

    def take_attribute(self, attribute: Attribute, default: i.Expr | None) -> None:
        value = self.call.attributes.get(attribute.name)
        if value is None and isinstance(default, i.Word):
            value = default.text
        if isinstance(value, str):
            self.take_word(attribute, value)
            return
        if attribute.numbers_or_word:
            self.bind(**{attribute.word_name: i.ZERO})
        found: Value
        if isinstance(value, tuple) and attribute.kind == "real":
            found = tuple(i.Real(repr(float(entry))) for entry in value)
        elif isinstance(value, tuple):
            found = known_list(value)
        elif isinstance(value, float) or (attribute.kind == "real" and value is not None):
            found = i.Real(repr(float(value)))
        elif isinstance(value, int):
            found = i.Const(value)
        elif default is not None:
            found = evaluate(default, self.scope)
        else:
            return
        self.bind(**{attribute.name: found})
        if attribute.components:
            assert isinstance(found, tuple)
            self.bind(**dict(zip(attribute.components, found, strict=True)))

    def take_word(self, attribute: Attribute, word: str) -> None:
        """A word is its code; numbers that could stand in its place are 0."""
        known: dict[str, Value] = {attribute.word_name: i.Const(1 + attribute.words.index(word))}
        if attribute.numbers_or_word:
            numbers: dict[str, Value] = dict.fromkeys(attribute.components, i.ZERO)
            whole: Value = () if attribute.is_list else tuple(numbers.values()) or i.ZERO
            known |= {attribute.name: whole, **numbers}
        self.bind(**known)

    def set_output(self, statement: i.SetOutput) -> None:
        shape = known_integers(evaluate(statement.extents, self.scope))
        precision = None
        if statement.precision is not None:
            precision = known_integer(evaluate(statement.precision, self.scope))
        self.outputs[statement.tensor] = shape, precision
        self.bind(**{f"{statement.tensor}_shape": known_list(shape)})

    def choose(self, branches: Sequence[tuple[i.Expr, i.Block]]) -> None:
        for number, (condition, body) in enumerate(branches):
            if known_integer(evaluate(condition, self.scope)):
                self.case = number
                self.prepare(body)
                return
        raise InternalError("specialize: no case holds")

    # -------------------------------------------------------- nests

    def nest(self, nest: i.Nest) -> list[i.Nest]:
        """The nest, or with `each` one for each tensor of the variadic input."""
        if nest.each is None:
            return [self.plain(nest, self.scope)]
        index, _, number = nest.each
        scopes = [
            self.scope.bound(**{index: i.Const(at)})
            for at in range(known_integer(evaluate(number, self.scope)))
        ]
        return [self.plain(replace(nest, each=None), scope) for scope in scopes]

    def plain(self, nest: i.Nest, scope: KnownScope) -> i.Nest:
        for statement in nest.prologue:
            assert isinstance(statement, i.Let)
            scope = scope.bound(**{statement.name: evaluate(statement.value, scope)})
        self.changed = frozenset(reassigned(nest.body))
        body = with_choices(rebuild(self.block(nest.body, scope), self.named))
        return replace(nest, tensor=self.names[nest.tensor], prologue=(), body=body, case=None)

    def named(self, node: object) -> object:
        """An access with the name of its tensor in the call."""
        match node:
            case i.Access(tensor=tensor, which=which, index=index):
                if tensor in self.names:
                    return i.Access(self.names[tensor], None, index)
                at = 0 if which is None else known_integer(which)
                return i.Access(self.operands[tensor][at].name, None, index)
            case _:
                return node

    def fresh(self, name: str) -> str:
        return f"{name}.{next(self.numbers)}"

    def block(self, statements: Sequence[i.Stmt], scope: KnownScope) -> i.Block:
        done: list[i.Stmt] = []
        for statement in statements:
            match statement:
                case i.Let(name=name, value=value):
                    left = evaluate(value, scope)
                    if isinstance(left, tuple) or (
                        name not in self.changed and is_index_arithmetic(left)
                    ):
                        scope = scope.bound(**{name: left})
                        continue
                    local = self.fresh(name)
                    scope = scope.bound(**{name: i.Var(local)})
                    done.append(replace(statement, name=local, value=left))
                case _:
                    done += self.statement(statement, scope)
        return tuple(done)

    def statement(self, statement: i.Stmt, scope: KnownScope) -> Sequence[i.Stmt]:
        match statement:
            case i.Assign(name=name, value=value) | i.Accumulate(name=name, value=value):
                local = scope.values[name]
                assert isinstance(local, i.Var)
                return [replace(statement, name=local.name, value=scalar(value, scope))]
            case i.Store(target=i.Access() as target, value=value):
                return [
                    replace(
                        statement, target=target_in_call(target, scope), value=scalar(value, scope)
                    )
                ]
            case i.Sort(entries=run, keys=i.Access() as keys, spare=i.Access() as spare):
                stretch = known_access(run, scope)
                assert isinstance(stretch, i.Entries)
                key, memory = target_in_call(keys, scope), target_in_call(spare, scope)
                return [replace(statement, entries=stretch, keys=key, spare=memory)]
            case i.Break():
                return [statement]
            case i.If(condition=condition, then=then, otherwise=otherwise):
                test = scalar(condition, scope)
                if isinstance(test, i.Const):
                    return self.block(then if test.value else otherwise, scope)
                both = self.block(then, scope), self.block(otherwise, scope)
                return [i.If(test, *both, statement.span)]
            case i.Loop():
                return self.loop(statement, scope)
            case i.PackLoop():
                return self.box(statement, scope)
            case _:
                kind = type(statement).__name__
                raise InternalError(f"specialize: {kind} is not known in a nest")

    def loop(self, loop: i.Loop, scope: KnownScope) -> Sequence[i.Stmt]:
        if loop.low is None:
            members = evaluate(loop.high, scope)
            if isinstance(members, tuple):
                rounds = [scope.bound(**{loop.index: each}) for each in members]
                return one_after_another([self.block(loop.body, inner) for inner in rounds])
            low, high = None, members
        else:
            low, high = scalar(loop.low, scope.of_indices), scalar(loop.high, scope.of_indices)
        match low, high:
            case i.Const(value=first), i.Const(value=end) if end <= first:
                return ()
            case i.Const(value=first), i.Const(value=end) if end == first + 1 and not leaves_loop(
                loop.body
            ):
                return self.block(loop.body, scope.bound(**{loop.index: low}))
            case i.Const(value=first), i.Const(value=end) if indexes_list(loop.body, loop.index):
                rounds = [scope.bound(**{loop.index: i.Const(at)}) for at in range(first, end)]
                return one_after_another([self.block(loop.body, inner) for inner in rounds])
            case _:
                pass
        index = self.fresh(loop.index)
        body = self.block(loop.body, scope.bound(**{loop.index: i.Var(index)}))
        assert not isinstance(high, tuple)
        return [replace(loop, index=index, low=low, high=high, body=body)] if body else ()

    def box(self, loop: i.PackLoop, scope: KnownScope) -> Sequence[i.Stmt]:
        """A loop for each dimension of more than one index, named after the multi-index."""
        extents = known_integers(evaluate(loop.extents, scope.of_indices))
        slots: Sequence[int] = range(len(extents))
        if loop.slots is not None:
            slots = known_integers(evaluate(loop.slots, scope))
        known = scope.values.get(loop.pack, ()) if loop.slots is not None else ()
        assert isinstance(known, tuple)
        missing = max(slots, default=-1) + 1 - len(known)
        values = [*known, *[i.Const(0)] * max(missing, 0)]
        loops: list[tuple[str, int]] = []
        for slot, extent in zip(slots, extents, strict=True):
            if extent != 1:
                loops.append((self.fresh(f"{loop.pack}{slot}"), extent))
            values[slot] = i.Const(0) if extent == 1 else i.Var(loops[-1][0])
        body = self.block(loop.body, scope.bound(**{loop.pack: tuple(values)}))
        if loop.slots is not None and len(body) == 0:
            return ()
        for index, extent in reversed(loops):
            body = (i.Loop(index, i.Const(0), i.Const(extent), body, 0, loop.span),)
        return body


def target_in_call(target: i.Access, scope: KnownScope) -> i.Access:
    found = known_access(target, scope)
    assert isinstance(found, i.Access)
    return found


def indexes_list(body: i.Block, index: str) -> bool:
    """Whether a loop goes through the entries of lists, which have no index when a kernel runs."""
    places = (each.index for each in nodes_in(body, i.Item))
    ends = ((each.low, each.high) for each in nodes_in(body, i.Part))
    return any(index in names_in(each) for each in (*places, *ends))


def is_index_arithmetic(value: i.Expr) -> bool:
    """Whether a value is made of indices alone: no element, so nothing is computed twice."""
    return not has(value, i.Access, i.Entries, i.Call, i.Select, i.Compare, i.Logic, i.Not)
