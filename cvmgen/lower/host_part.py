"""The host part of a call as checks, reads of extents, assignments and refusals, for printers.

What nothing reads is left out. Names that only some cases make are declared in front of them, where
the rest of the call reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cvmgen import rules
from cvmgen.analysis.plan import plan_fields
from cvmgen.dtypes import CVM, MAX_INPUTS, MAX_PRECISION
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.host import C_TYPES, host_types, shape_name
from cvmgen.ir.logic import opposite
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.lower.attribute_checks import attribute_checks, terms_of
from cvmgen.lower.live_names import live_names, names_read, without_unread
from cvmgen.lower.unfold import unfold_bindings
from cvmgen.lower.walks import strided
from cvmgen.source import Span
from cvmgen.spec.formula import Input

REALS = ("double", "cvmgen_reals")
"""The C types of real numbers of the host."""

ZEROS: Mapping[str, i.Expr] = {
    "list": i.ListOf(()),
    "reals": i.ListOf(()),
    "bool": i.Const(False),
    "int": i.ZERO,
    "f64": i.Real("0.0"),
}


def lower_host(program: i.Program, precision: str, fields: Sequence[str]) -> i.Program:
    """The program with its host part lowered; `fields` is what nests read of the plan. Operands are
    structures, of which a function gives the `precision`; without one, objects that tell it."""
    part = HostPart(program, precision, fields)
    prologues = tuple(part.prologue(nest) for nest in program.nests)
    nests = tuple(replace(n, prologue=p) for n, p in zip(program.nests, prologues, strict=True))
    return replace(program, prepare=part.prepare(), nests=nests)


def lower_for_c(program: i.Program, precision: str = "precision") -> i.Program:
    """The program with its host part lowered for C."""
    return lower_host(program, precision, [field.name for field in plan_fields(program)])


def lower_for_python(program: i.Program) -> i.Program:
    """The host part as checks, reads of extents, assignments and refusals.

    In Python, whose objects tell their shapes, what an expression binds needs no local."""
    nests = without_slots(unfold_bindings(program.nests))
    program = replace(program, prepare=unfold_bindings(program.prepare), nests=nests)
    return lower_host(program, "", python_fields(program))


def python_fields(program: i.Program) -> list[str]:
    """What nests read of the plan: an optional attribute tells by its own value whether it was
    given, and shapes of several tensors are values too."""
    nests = program.nests
    read = names_in(tuple((nest.prologue, nest.body) for nest in nests))
    read |= given_in(tuple(nest.body for nest in nests)) | {each.size for each in program.scratch}
    read |= {str(each.guarded.shape) for each in nests if each.guarded is not None}
    values = {f"has_{each.name}": each.name for each in program.operator.attributes}
    fields = dict.fromkeys(values.get(each.name, each.name) for each in plan_fields(program))
    variadic = (item for item in program.operator.inputs if item.variadic)
    shapes = (str(extent.new) for item in variadic for extent in item.extents)
    return [name for name in (*fields, *shapes) if name in read]


def given_in(nodes: object) -> frozenset[str]:
    """The optional operands of which statements ask whether they were given."""
    return frozenset(each.name for each in nodes_in(nodes, i.Given))


def without_slots(nests: Any) -> Any:
    """Nests without the slots of loops that only add up steps: nothing reads them."""

    def change(node: Any) -> Any:
        strides = isinstance(node, i.PackLoop) and node.slots is not None and strided(node)
        return replace(node, slots=None) if strides else node

    return rebuild(nests, change)


class HostPart:
    """Lowers the statements of the host in their order."""

    def __init__(self, program: i.Program, precision: str, fields: Sequence[str]) -> None:
        self.program, self.operator, self.fields = program, program.operator, fields
        self.precision, self.objects = precision, not precision
        self.types = host_types(program)
        used = {*fields}
        for nest in program.nests:
            used |= names_read(nest.prologue) | (names_in(nest.each[2]) if nest.each else set())
        self.used = live_names(program.prepare, used)
        self.taken = {*names_in(program.prepare), *assigned(program.prepare), *self.types}
        self.declared: set[str] = set()
        self.terms = partial(terms_of, self.operator, objects=self.objects)
        host = (program.prepare, tuple(nest.prologue for nest in program.nests))
        self.given = given_in(host)
        self.measured = {each.tensor for each in nodes_in(program.prepare, i.PrecisionOf)}
        self.shapes = {
            str(extent.new): item.name
            for item in self.operator.inputs
            if item.variadic and not self.objects
            for extent in item.extents
        }

    # -------------------------------------------------------- all of it

    def prepare(self) -> i.Block:
        return (*self.block(self.program.prepare), self.kept())

    def block(self, statements: i.Block) -> i.Block:
        found: list[i.Stmt] = []
        for statement in statements:
            lowered = self.statement(statement)
            found += lowered if isinstance(statement, i.Cases) else map(self.assigned, lowered)
        return tuple(map(self.of_structures, found))

    def prologue(self, nest: i.Nest) -> i.Block:
        """The host code for one tensor of several, without what nothing reads."""
        if self.objects or nest.each is None:
            return nest.prologue
        made = {each.name for each in nodes_in(nest.prologue, i.Let)}
        own = {*made, nest.each[0]}
        shapes = {*map(shape_name, self.operator.output_names)}
        read = (names_in(nest.prologue) - own) & self.types.keys() & {*self.fields, *shapes}
        alive = (s for s in nest.prologue if not isinstance(s, i.Let) or s.name in self.used)
        kept = tuple((name, i.Var(name)) for name in self.fields if name in own)
        return (
            *(self.local(name, i.Member(h.PLAN, name), nest.span) for name in sorted(read)),
            *map(self.of_structures, alive),
            h.FillPlan(kept, span=nest.span),
        )

    def local(self, name: str, value: i.Expr | None, span: Span) -> i.Let:
        """A local for a value of the host, without another one 0 or nothing."""
        kinds = {c_type: kind for kind, c_type in C_TYPES.items()}
        kind = kinds.get(self.types[name], "int")
        return i.Let(name, kind, ZEROS[kind] if value is None else value, span)

    def assigned(self, statement: i.Stmt) -> i.Stmt:
        """A local that is declared in front gets its value."""
        match statement:
            case i.Let(name=name, value=value, span=span) if name in self.declared:
                return i.Assign(name, value, span)
            case _:
                return statement

    def of_structures(self, statement: i.Stmt) -> Any:
        """Shapes of several tensors, which structures have one by one."""

        def change(node: Any) -> Any:
            match node:
                case i.Item(sequence=i.Var(name=name), index=which) if name in self.shapes:
                    several = i.Member(h.ARGUMENTS, self.shapes[name])
                    return i.Call("extents", (i.Item(several, which),))
                case _:
                    return node

        return rebuild(statement, change) if self.shapes else statement

    def statement(self, statement: i.Stmt) -> Iterable[i.Stmt]:
        match statement:
            case i.TakeInput():
                return self.take_input(statement)
            case i.TakeAttribute():
                return attribute_checks(statement, self.terms, self.objects, self.used, self.taken)
            case i.SetOutput():
                return self.set_output(statement)
            case i.Require(condition=condition, rule=rule, terms=terms, span=span):
                refuse = h.Refuse("", self.terms(terms), (rule,), span=span)
                return (i.If(self.fails(condition), (refuse,), (), span),)
            case i.Cases():
                return self.cases(statement)
            case i.Let(name=name) if name not in self.used:
                return ()
            case _:
                return (statement,)

    def fails(self, condition: i.Expr) -> i.Expr:
        """Where a requirement does not hold; one of NaN holds nowhere, and neither does its
        opposite."""
        real = any(self.types.get(each) in REALS for each in names_in(condition))
        return i.Not(condition) if real else opposite(condition)

    def kept(self) -> h.FillPlan:
        """What the rest of the call reads."""
        nests = self.program.nests
        inner = {name for nest in nests for name in assigned(nest.prologue)}
        inner |= {nest.each[0] for nest in nests if nest.each is not None}
        names = [name for name in self.fields if name not in inner]
        if any(isinstance(each, i.Cases) for each in self.program.prepare):
            names.append(h.CASE)
        for output in self.operator.output_names:
            names += [shape_name(output)] if shape_name(output) not in self.fields else []
            names += [f"{output}_precision"] if self.operator.type_of[output] == CVM else []
        return h.FillPlan(tuple((name, i.Var(name)) for name in names), span=self.operator.span)

    # -------------------------------------------------------- inputs

    def take_input(self, statement: i.TakeInput) -> Iterator[i.Stmt]:
        item, span = statement.input, statement.span
        given = i.Given(item.name) if self.objects else present(item.name)
        inner = (*self.check_input(item, statement), *self.shape(statement))
        if item.optional and not self.objects and item.name in self.given | self.measured:
            yield i.Let(f"has_{item.name}", "bool", given, span)
        if item.optional:
            yield i.If(given, inner, (), span)
        else:
            yield from inner
        if not self.objects and item.name in self.measured:
            yield from self.take_precision(item, statement)

    def check_input(self, item: Input, statement: i.TakeInput) -> Iterator[i.Stmt]:
        several = "s" * item.variadic
        operand, limits = i.Member(h.ARGUMENTS, item.name), "_or_empty" * item.empty
        arguments: tuple[h.CheckArgument, ...]
        if self.objects:
            arguments = (operand, *[h.Helper("INPUT_OR_EMPTY")] * item.empty)
            yield h.Check(f"check_input{several}", item.name, arguments, span=statement.span)
            return
        kind = "check_input" if item.dtype == CVM else "check_typed_input"
        if not item.variadic:
            yield h.Check(f"{kind}{limits}", item.name, (operand,), span=statement.span)
            return
        arguments = (operand, input_count(item), h.Helper(f"{kind}{limits}"))
        yield h.Check("check_inputs", item.name, arguments, span=statement.span)

    def take_precision(self, item: Input, statement: i.TakeInput) -> Iterator[i.Stmt]:
        """The precision of an input, or of each of several, that the host computes with."""
        name, span = f"{item.name}_precision", statement.span
        operand: i.Expr = i.Member(h.ARGUMENTS, item.name)
        if not item.variadic:
            yield i.Let(name, "int", i.Const(0), span)
            given = (operand, i.Address(i.Var(name)))
            yield h.Check(self.precision, item.name, given, span=span)
            return
        at = fresh("at", {*self.taken})
        yield i.Array(name, "i64", MAX_INPUTS, span)
        given = (i.Item(operand, i.Var(at)), i.Address(i.Load(name, None, i.Var(at))))
        check = h.Check(self.precision, item.name, given, span=span)
        yield i.Loop(at, i.ZERO, input_count(item), (check,), 0, span)

    def shape(self, statement: i.TakeInput) -> Iterator[i.Stmt]:
        """Check the rank and what is known of the shape; bind the new names."""
        item, span = statement.input, statement.span
        operand = i.Member(h.ARGUMENTS, item.name)
        extents = i.Call("extents", (operand,))
        if item.variadic:
            yield from self.bind(str(item.count), "int", input_count(item, self.objects), span)
            shapes = i.Call("shapes", (operand,))
            if self.objects:
                yield from self.bind(str(item.extents[0].new), "list", shapes, span)
            return
        seen = extents if self.objects else operand
        check = partial(h.Check, operand=item.name, span=span)
        if len(item.extents) == 1 and item.extents[0].pack:
            (extent,), (known,) = item.extents, statement.known
            if known is not None:
                yield check("check_same_shape", arguments=(seen, run_time_list(known)))
            else:
                yield from self.bind(str(extent.new), "list", extents, span)
            return
        slots = SlotPlaces(statement, i.Call("rank", (operand,)), from_end=self.objects)
        least = slots.least if isinstance(slots.least, i.Const) else i.Convert("i32", slots.least)
        is_open = i.Const(slots.open is not None)
        yield check("check_rank", arguments=(seen, least, is_open))
        if (
            self.objects
            and item.extents
            and all(each.new and not each.pack for each in item.extents)
        ):
            yield h.Unpack(tuple(str(each.new) for each in item.extents), extents, span=span)
            return
        for at, (extent, known) in enumerate(zip(item.extents, statement.known, strict=True)):
            place = slots.start(at) or i.ZERO
            if known is not None and extent.pack:
                yield check("check_part", arguments=(seen, place, run_time_list(known)))
            elif known is not None:
                term = extent.span.code
                yield check("check_extent", arguments=(seen, place, term, known))
            elif extent.pack:
                part = i.Part(extents, place, slots.start(at + 1))
                yield from self.bind(str(extent.new), "list", part, span)
            else:
                yield from self.bind(str(extent.new), "int", i.Item(extents, place), span)

    def bind(self, name: str, kind: str, value: i.Expr, span: Span) -> Iterator[i.Stmt]:
        if name in self.used:
            yield i.Let(name, kind, value, span)

    # -------------------------------------------------------- outputs, cases

    def set_output(self, statement: i.SetOutput) -> Iterator[i.Stmt]:
        tensor, span, precision = statement.tensor, statement.span, statement.precision
        shape, value = i.Var(shape_name(tensor)), i.Var(f"{tensor}_precision")
        yield i.Let(shape.name, "list", statement.extents, span)
        yield self.shape_check(statement, shape)
        if precision is None:
            return
        yield i.Let(value.name, "int", precision, span)
        if isinstance(precision, i.Const) and 1 <= precision.value <= MAX_PRECISION:
            return
        far = statement.far == rules.FAR_PRECISION
        terms = self.terms(statement.terms)
        if self.objects:
            beyond = (h.Helper("FAR_PRECISION"),) * far
            given: tuple[h.CheckArgument, ...] = (value, statement.rule, terms, *beyond)
            yield h.Check("check_precision", tensor, given, span=span)
            return
        shown = h.ShownValue(value, "far_precision" if far else "precision")
        text: h.Text = ("precision ", shown, *((" (", *terms, ")") if terms else ()))
        refuse = h.Refuse(tensor, text, (rules.precision_rule(statement.rule),), span=span)
        low, high = i.Const(1), i.Const(MAX_PRECISION)
        test = i.Logic("or", (i.Compare("<", value, low), i.Compare(">", value, high)))
        yield i.If(test, (refuse,), (), span)

    def shape_check(self, output: i.SetOutput, shape: i.Expr) -> h.Check:
        function, limits = "check_output_shape", [h.Helper("OUTPUT_OR_EMPTY")] * output.empty
        arguments: list[h.CheckArgument] = [shape, *limits]
        if not self.objects:
            function = f"check_shape{'_or_empty' * output.empty}"
            arguments = [run_time_list(shape), *[rules.OUTPUT_EXTENT] * (not output.empty)]
        return h.Check(function, output.tensor, tuple(arguments), span=output.span)

    def cases(self, statement: i.Cases) -> Iterator[i.Stmt]:
        """A chain of branches, with the names in front that are read behind them; in the end a
        refusal."""
        span = statement.span
        read = {name for name, _ in self.kept().members}
        bodies = [self.block(without_unread(body, read)) for _, body in statement.branches]
        made = [{each.name: each for each in b if isinstance(each, i.Let)} for b in bodies]
        self.declared |= {name for one in made for name in one if name in read}
        yield i.Let(h.CASE, "int", i.ZERO, span)
        for name in dict.fromkeys(name for one in made for name in one if name in self.declared):
            yield self.local(name, None, span)
        rest: i.Block = (h.Refuse("", (), (rules.NO_CASE,), span=span),)
        for number in reversed(range(len(bodies))):
            body = tuple(map(self.assigned, bodies[number]))
            own = i.Assign(h.CASE, i.Const(number), body[-1].span if body else span)
            body = (*body, own) if number or not body else body
            rest = (i.If(statement.branches[number][0], body, rest, span),)
        yield from rest


class SlotPlaces:
    """Where the slots of a shape begin, of which known lists may be some: counted from the front up
    to the one that takes what is left, and from the `rank` after it; `from_end`, a number counts
    back from the end by itself, and nothing is the end."""

    def __init__(self, statement: i.TakeInput, rank: i.Expr, *, from_end: bool) -> None:
        extents = statement.input.extents
        self.rank, self.from_end, self.number = rank, from_end, len(extents)
        self.lengths = {
            at: i.Call("len", (known,))
            for at, known in enumerate(statement.known)
            if extents[at].pack and known is not None
        }
        opens = [at for at, each in enumerate(extents) if each.pack and each.new is not None]
        self.open = opens[0] if opens else None

    @property
    def least(self) -> i.Expr:
        """The dimensions of all slots but the open one."""
        return self.count(at for at in range(self.number) if at != self.open)

    def start(self, at: int) -> i.Expr | None:
        if self.open is None or at <= self.open:
            return self.count(range(at))
        match self.count(range(at, self.number)):
            case i.Const(value=0):
                return None if self.from_end else self.rank
            case i.Const(value=after) if self.from_end:
                return i.Const(-after)
            case after:
                return i.Binary("-", self.rank, after)

    def count(self, slots: Iterable[int]) -> i.Expr:
        chosen = tuple(slots)
        single = sum(at not in self.lengths for at in chosen)
        parts: list[i.Expr] = [self.lengths[at] for at in chosen if at in self.lengths]
        parts += [i.Const(single)] if single or not parts else []
        total, *others = parts
        for each in others:
            total = i.Binary("+", total, each)
        return total


def present(name: str) -> i.Expr:
    """Whether a structure has an operand."""
    return i.Compare("!=", i.Member(h.ARGUMENTS, name), h.NULL)


def input_count(item: Input, objects: bool = False) -> i.Expr:
    """How many tensors an input has."""
    if objects:
        return i.Call("len", (i.Member(h.ARGUMENTS, item.name),))
    return i.Member(h.ARGUMENTS, f"{item.name}_count")


def run_time_list(sequence: i.Expr) -> i.Expr:
    """A list as what functions of the run time take."""
    return i.Call("list", (sequence,))
