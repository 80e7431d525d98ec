"""What every program keeps between passes; a pass that breaks it fails here, by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn, assert_never

from cvmgen.errors import InternalError
from cvmgen.ir import arrays as a
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.ir.text import statement_lines, text
from cvmgen.ir.uses import has, nodes_in, stored_tensors, uses
from cvmgen.ir.visit import children, walk


@dataclass(frozen=True, slots=True)
class Removed:
    """Nodes that a pass removes; from host code and from comprehensions too, or not."""

    kinds: tuple[type, ...]
    from_host: bool = True
    from_lists: bool = True


REMOVED: Mapping[str, Removed] = {
    "unfold": Removed((i.Fold, i.Bind), from_host=False, from_lists=False),
    "offsets": Removed((i.Access,)),
    "walks": Removed((i.PackLoop, i.Dot)),
    "unfold_all": Removed((i.Fold, i.Bind, i.Gather)),
}


# Expressions that bind no names, and whose tensors are inputs or local.
PLAIN = frozenset(
    (
        *(i.Const, i.Word, i.Var, i.Given, i.Real, i.Binary, i.Compare, i.Logic, i.Call, i.Not),
        *(i.Convert, i.Select, i.Item, i.Part, i.ListOf, i.Contains, i.Load, i.Dot, i.Entries),
    )
)


def verify(program: i.Program, passes: Sequence[str]) -> None:
    """Raise InternalError, naming the last of `passes`, unless the program holds together.

    Every name is bound before it is read, only locals change, only outputs are stored to and
    only inputs loaded, each nest writes to what it is for, and what any of `passes` removes has not
    come back.
    """
    removed = [REMOVED[name] for name in passes if name in REMOVED]
    back = chain.from_iterable(come_back(program, each) for each in removed)
    if fault := program_fault(program) or next(back, ""):
        name = program.operator.full_name
        raise InternalError(f"the pass '{passes[-1]}' left {name} with {fault}")


@remembered
def program_fault(program: i.Program) -> str:
    """What in a program does not hold together, for people; empty where all does. Asked behind each
    pass, of which most leave it as it is."""
    try:
        Verifier(program).run()
    except ProgramFaultError as fault:
        return str(fault)
    return ""


def come_back(program: i.Program, rule: Removed) -> Iterator[str]:
    """The nodes that a pass removes."""
    tree: tuple[object, ...] = tuple(nest.body for nest in program.nests)
    if rule.from_host:
        tree += (program.prepare, *(nest.prologue for nest in program.nests))
    if not has(tree, *rule.kinds):
        return
    exempt: set[int] = set()
    for node in walk(tree):
        if isinstance(node, i.Gather) and not rule.from_lists:
            exempt |= {id(each) for each in walk(node)}
        if isinstance(node, rule.kinds) and id(node) not in exempt:
            yield f"{type(node).__name__} `{shown_node(node)}`, which a pass before removes"


class ProgramFaultError(Exception):
    """What does not hold together."""


class Verifier:
    """Walks blocks in order with the names that are bound there."""

    def __init__(self, program: i.Program) -> None:
        operator = program.operator
        self.program = program
        self.inputs = {item.name for item in operator.inputs}
        self.outputs = set(operator.output_names)
        self.scratch = {each.name for each in program.scratch}
        self.written: set[str] = set()  # by the nest at hand
        self.optional = {item.name for item in operator.inputs if item.optional}
        # A call may lack a required attribute, until that is refused, and one of its words.
        for item in operator.attributes:
            self.optional |= {item.name} if item.optional or item.required else set()
            self.optional |= {item.word_name} if item.words else set()
        self.cases: dict[int | None, set[str]] = {}

    def run(self) -> None:
        host: set[str] = set()
        if any(isinstance(each, h.FillPlan) for each in self.program.prepare):
            # What is asked of an attribute of Python, which may be left out, is its own name.
            host = {each.name for each in self.program.operator.attributes if each.optional}
        self.block(self.program.prepare, host, set())
        self.cases[None] = host
        for nest in self.program.nests:
            self.nest(nest)

    def fail(self, what: str) -> NoReturn:
        raise ProgramFaultError(what)

    def nest(self, nest: i.Nest) -> None:
        scope = set(self.cases.get(nest.case, self.cases[None]))
        if nest.tensor not in self.outputs | self.scratch:
            self.fail(f"a nest for {nest.tensor}, which is no output")
        self.written = {nest.tensor, *(each.name for each in self.program.scratch_of(nest.tensor))}
        if nest.each is not None:
            index, tensor, count = nest.each
            self.tensor(tensor, self.inputs, "an input")
            self.expr(count, scope)
            scope.add(index)
        self.block(nest.prologue, scope, set())
        # Kernels read what the host computed; they cannot change it.
        self.block(nest.body, scope, set())
        written = stored_tensors(nest.body)
        if any(issubclass(each, i.ArrayStmt) for each in uses(nest.body).kinds):
            # Statements on whole arrays name the array that they fill.
            written |= {each.tensor for each in nodes_in(nest.body, i.Access)}
        if nest.tensor not in written:
            self.fail(f"a nest that writes nothing to {nest.tensor}")

    # -------------------------------------------------------- statements

    def block(self, statements: i.Block, scope: set[str], changing: set[str]) -> None:
        """Check a block; what it binds is added to `scope`, its locals to `changing`."""
        own: set[str] = set()
        for statement in statements:
            if isinstance(statement, i.Let):
                if statement.name in own:
                    self.fail(f"two locals '{statement.name}' in one block")
                own.add(statement.name)
            self.statement(statement, scope, changing)

    def inner(self, body: i.Block, scope: set[str], changing: set[str], *bound: str) -> set[str]:
        """Check a block of its own; returns the names bound at its end."""
        inside = scope | set(bound)
        self.block(body, inside, set(changing))
        return inside

    def statement(self, statement: i.Stmt, scope: set[str], changing: set[str]) -> None:
        match statement:
            case i.Let(name=name, value=value):
                self.expr(value, scope)
                scope.add(name)
                changing.add(name)
            case i.Assign(name=name, value=value) | i.Accumulate(name=name, value=value):
                self.change(name, changing, (value,), scope)
            case i.AddAt(name=name, index=index, value=value):
                self.change(name, changing, (index, value), scope)
            case i.SetAt(name=name, index=index, value=value):
                self.change(name, changing, (index, value), scope)
            case i.Append(name=name, value=value):
                self.change(name, changing, (value,), scope)
            case i.Merge(extents=extents, steps=steps):
                for name in (extents, *steps):
                    self.change(name, changing, (), scope)
            case i.Store(target=target, value=value):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.expr(value, scope)
            case i.Overflow(tensor=tensor, offset=offset):
                self.tensor(tensor, self.written, "an output")
                self.expr(offset, scope)
            case i.Sort(entries=entries, keys=keys, spare=spare, most=most):
                for place in (entries.first, keys, spare):
                    self.tensor(place.tensor, self.written, "an output")
                self.expressions((entries, keys, spare, most), scope)
            case i.Array(name=name):
                self.scratch.add(name)
            case i.Break():
                pass
            case i.Copy(target=target, source=source):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.expressions((statement.step, source, statement.source_step), scope)
                self.expr(statement.count, scope)
            case i.Move(target=target, source=source):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.operands(source, scope)
                lists = (statement.steps, statement.source_steps, statement.extents)
                self.expressions(lists, scope)
            case i.Turn(target=target, source=source):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.expressions((source, statement.step, statement.runs, statement.count), scope)
            case i.Slide(target=target, source=source, first=first):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.expressions((source, first), scope)
            case i.Apply(values=values, count=count):
                self.tensor(values.tensor, self.written, "an output")
                self.expressions((values, count), scope)
            case i.Products(totals=totals, x=x, w=w):
                self.tensor(totals.tensor, self.written, "an output")
                ends = (statement.rows, statement.columns, statement.depth, statement.longer)
                places = (part for each in (x, w) for part in (each.first, each.line, each.term))
                self.expressions((totals, *places, *ends), scope)
            case i.Fetch(place=place):
                self.expr(place, scope)
            case i.Fill(target=target, step=step, value=value, count=count):
                self.tensor(target.tensor, self.written, "an output")
                self.operands(target, scope)
                self.expressions((step, value, count), scope)
            case i.Tile(data=data, rows=rows, panels=panels):
                self.operands(statement.totals, scope)
                self.expressions((data, rows, panels), scope)
                self.expressions((statement.row_count, statement.panel_count), scope)
            case i.Loop(index=index, low=low, high=high, body=body):
                self.expressions((low, high), scope)
                self.inner(body, scope, changing, index)
            case i.Return() | i.Barrier() | i.Invoke() | i.Launch() | i.Borrow():
                self.fail(f"{type(statement).__name__}, which mappings to threads make")
            case i.Fork() | i.CallInline():
                self.fail(f"{type(statement).__name__}, which functions of kernels make")
            case i.PackLoop(pack=pack, extents=extents, slots=slots, body=body):
                self.expressions((extents, slots), scope)
                self.inner(body, scope, changing, pack, statement.whole)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.expr(condition, scope)
                self.inner(then, scope, changing)
                self.inner(otherwise, scope, changing)
            case i.Cases(branches=branches):
                for number, (condition, body) in enumerate(branches):
                    self.expr(condition, scope)
                    self.cases[number] = self.inner(body, scope, changing)
            case i.Require() | i.TakeInput() | i.TakeAttribute() | i.SetOutput():
                self.host(statement, scope)
            case i.HostStmt():
                self.lowered_host(statement, scope)
            case i.ArrayStmt():
                self.arrays(statement, scope, changing)
            case _:
                assert_never(statement)

    def arrays(self, statement: i.ArrayStmt, scope: set[str], changing: set[str]) -> None:
        """Check what is made of whole arrays."""
        match statement:
            case a.Blocks(names=names, computed=computed, kept=kept, body=body):
                self.expressions((*computed, *kept), scope)
                self.inner(body, scope, changing | set(names), *names)
            case a.Choose(name=name, condition=condition, then=then, otherwise=otherwise):
                self.expr(condition, scope)
                for block in (then, otherwise):
                    if name not in self.inner(block, scope, changing):
                        self.fail(f"a choice that does not make '{name}'")
                scope.add(name)
            case _:
                self.below(statement, scope)
                scope.update(statement.names if isinstance(statement, a.Axes) else ())

    def lowered_host(self, statement: i.HostStmt, scope: set[str]) -> None:
        """Check what a lowered statement of the host reads; it may bind names."""
        self.within(statement, scope)
        match statement:
            case h.Check(gives=names) | h.Unpack(names=names):
                scope.update(names)
            case _:
                pass

    def host(
        self, statement: i.Require | i.TakeInput | i.TakeAttribute | i.SetOutput, scope: set[str]
    ) -> None:
        match statement:
            case i.Require(condition=condition, terms=terms):
                self.expressions((condition, *(value for _, value, _ in terms)), scope)
            case i.TakeInput(input=item, known=known):
                scope |= {extent.new for extent in item.extents if extent.new}
                self.expressions(known, scope)
                scope |= {item.count} if item.count else set()
            case i.TakeAttribute(attribute=attribute):
                ends = (statement.default, statement.low, statement.high, statement.inside)
                scope.update(attribute.bound_names)
                self.expressions((*ends, *(value for _, value, _ in statement.terms)), scope)
            case i.SetOutput(tensor=tensor, extents=extents, precision=precision, terms=terms):
                self.tensor(tensor, self.outputs, "an output")
                shown_values = (value for _, value, _ in terms)
                self.expressions((extents, precision, *shown_values), scope)
                scope.add(f"{tensor}_shape")
            case _:
                assert_never(statement)

    def change(
        self, name: str, changing: set[str], values: tuple[i.Expr, ...], scope: set[str]
    ) -> None:
        if name not in changing:
            self.fail(f"a change of '{name}', which is no local")
        self.expressions(values, scope)

    # -------------------------------------------------------- expressions

    def expressions(self, values: Iterable[i.Expr | None], scope: set[str]) -> None:
        for value in values:
            if value is not None:
                self.expr(value, scope)

    def expr(self, expr: i.Expr, scope: set[str]) -> None:
        if isinstance(expr, i.Const):
            return
        # What is known of it from other stages tells most at once.
        found = uses(expr)
        named = found.read <= scope and found.named <= self.optional
        if named and found.kinds <= PLAIN and found.loaded <= self.inputs | self.scratch:
            return
        match expr:
            case i.Var(name=name) | i.Dot(pack=name):
                if name not in scope:
                    self.fail(f"the name '{name}', which nothing binds")
            case i.Access(tensor=tensor, index=()):  # all of it, which may be stored to
                self.tensor(tensor, self.inputs | self.scratch | self.written, "there")
            case i.Access(tensor=tensor) | i.Load(tensor=tensor):
                self.tensor(tensor, self.inputs | self.scratch, "an input")
            case i.PrecisionOf(tensor=tensor):
                self.tensor(tensor, self.inputs, "an input")
            case i.Given(name=name):
                self.tensor(name, self.optional, "optional")
            case _:
                pass
        match expr:
            case i.Gather(element=element) | i.Fold(element=element):
                inside = self.over(expr.over, scope)
                self.expressions((element, expr.condition), inside)
            case i.Bind(name=name, value=value, body=body):
                self.expr(value, scope)
                self.expr(body, scope | {name})
            case _:
                self.operands(expr, scope)

    def over(self, binders: tuple[i.Over | i.OverPack, ...], scope: set[str]) -> set[str]:
        inside = set(scope)
        for binder in binders:
            match binder:
                case i.Over(index=index, low=low, high=high):
                    self.expressions((low, high), inside)
                    inside.add(index)
                case i.OverPack(pack=pack, extents=extents, slots=slots):
                    self.expressions((extents, slots), inside)
                    inside.add(pack)
                case _:
                    assert_never(binder)
        return inside

    def operands(self, expr: i.Expr, scope: set[str]) -> None:
        """Check the expressions directly below one that binds nothing."""
        match expr:
            case i.Const() | i.Word() | i.Var() | i.Given() | i.Real() | i.Limit():
                pass
            case i.Binary(left=left, right=right) | i.Compare(left=left, right=right):
                self.expressions((left, right), scope)
            case i.Logic(operands=operands) | i.Call(arguments=operands):
                self.expressions(operands, scope)
            case i.Not(operand=operand) | i.Convert(operand=operand):
                self.expr(operand, scope)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                self.expressions((condition, then, otherwise), scope)
            case i.Item(sequence=sequence, index=index):
                self.expressions((sequence, index), scope)
            case i.Part(sequence=sequence, low=low, high=high):
                self.expressions((sequence, low, high), scope)
            case i.ListOf(entries=entries):
                self.expressions((entry for entry, _ in entries), scope)
            case i.Contains(element=element, collection=collection):
                self.expressions((element, collection), scope)
            case i.Access(which=which, index=slots):
                self.expressions((which, *(value for value, _ in slots)), scope)
            case i.Load(which=which, offset=offset):
                self.expressions((which, offset), scope)
            case i.Dot(steps=steps):
                self.expressions((steps,), scope)
            case i.Entries(first=first, length=length):
                self.expressions((first, length), scope)
            case i.PrecisionOf(which=which):
                self.expressions((which,), scope)
            case i.Member(structure=structure):
                self.expr(structure, scope)
            case i.Address(place=place, guard=guard):
                self.expressions((place, guard), scope)
            case i.Gather() | i.Fold() | i.Bind():
                self.expr(expr, scope)
            case i.ArrayExpr():
                self.below(expr, scope)
            case i.Structure():
                self.fail("a structure, which the register tile takes")
            case i.Closure():
                self.fail("a function, which mappings to threads make")
            case _:
                assert_never(expr)

    def below(self, node: Any, scope: set[str]) -> None:
        """Check the expressions right below a node."""
        for each in children(node):
            if isinstance(each, tuple):
                self.below(each, scope)
            elif isinstance(each, i.Expr):
                self.expr(each, scope)

    def within(self, node: Any, scope: set[str]) -> None:
        """Check the expressions in a node and in what it holds that is none."""
        for each in children(node):
            if isinstance(each, i.Expr):
                self.expr(each, scope)
            else:
                self.within(each, scope)

    def tensor(self, name: str, known: set[str], what: str) -> None:
        if name not in known:
            self.fail(f"'{name}', which is not {what}")


def shown_node(node: object) -> str:
    """A node as text, an expression or the head of a statement."""
    if isinstance(node, i.Expr):
        return text(node)
    if isinstance(node, i.Stmt):
        return statement_lines(node)[0]
    return repr(node)
