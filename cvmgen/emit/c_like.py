"""Expressions and statements as C: shared by the C and the CUDA target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import assert_never

from cvmgen.emit.c_signs import has_sign, may_be_written_zero, negated
from cvmgen.emit.c_spelling import (
    BINARY,
    LIMITS,
    MACHINE_TYPES,
    OF_BITS,
    PRIMARY,
    REALS,
    TERNARY,
    UNARY,
    c_identifier,
    end_name,
    is_short_real,
    paren,
)
from cvmgen.emit.line_map import marked, unmarked
from cvmgen.emit.lines import Leaving, indented
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import entry_at
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh, walk
from cvmgen.schedule.copies import is_vector
from cvmgen.schedule.generic import TYPE_PARAMETERS
from cvmgen.spec.words import word_constant

CONSTANTS = ("max_rank", "exact_depth", "ok", "no_overflow", "int8", "int32")
OF_LISTS = (
    *("size", "saturating_size", "last", "rows", "strides"),
    *("flatten_index", "saturating_flatten_index", "dot", "split"),
)
UNROLL = {"": (), "all": ("CVMGEN_UNROLL",), "some": ("CVMGEN_OVERLAP",)}


class CPrinter:
    """Prints IR. `pointers` are lists reached through a pointer; the rest are values."""

    def __init__(self, pointers: Iterable[str] = (), *, host: bool) -> None:
        self.pointers = set(pointers)
        self.host = host
        self.doubles: frozenset[str] = frozenset()  # attributes that are real, of 64 bits

    def named(self, name: str) -> str:
        """A local, an index or a value of the host."""
        return c_identifier(name)

    # -------------------------------------------------------- expressions

    def expr(self, expr: i.Expr, least: int = 0) -> str:
        text, level = self.leveled(expr)
        return paren(text, level, least)

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Const(value=bool(truth)):
                return ("true" if truth else "false"), PRIMARY
            case i.Const(value=value):
                return self.number(value)
            case i.Real(text=written):
                return REALS.get(written, (written, UNARY if written[0] == "-" else PRIMARY))
            case i.Word():
                return self.word(expr), PRIMARY
            case i.Var(name=name):
                return self.named(name), PRIMARY
            case i.Binary(op="difference", left=left, right=right):
                return f"cvmgen_difference({self.expr(left)}, {self.expr(right)})", PRIMARY
            case i.Binary(op="-", left=i.Const(value=0), right=right):
                return self.minus(right), UNARY
            case i.Binary(op="-", left=left, right=right) if may_be_written_zero(left):
                return f"cvmgen_minus({self.expr(left)}, {self.expr(right)})", PRIMARY
            case i.Binary(op="bitxor", left=left, right=i.Const(value=-1)):
                return f"~{self.expr(left, UNARY)}", UNARY
            case i.Binary(op=op, left=left, right=right):
                level, sign = BINARY[op]
                # Shifts beside sums get parentheses, as compilers ask for.
                own = PRIMARY if op in OF_BITS else level
                first = self.expr(left, UNARY if own == PRIMARY else level)
                second = self.expr(right, UNARY if own == PRIMARY else level + 1)
                return f"{first} {sign} {second}", level
            case i.Compare(op=op, left=left, right=right):
                return f"{self.expr(left, 8)} {op} {self.expr(right, 8)}", 6
            case i.Logic(op="both" | "either" as op, operands=operands):
                level, sign = (5, "&") if op == "both" else (4, "|")
                return f" {sign} ".join(self.expr(each, UNARY) for each in operands), level
            case i.Logic(op=op, operands=operands):
                level, sign = (3, "&&") if op == "and" else (2, "||")
                return f" {sign} ".join(self.expr(each, 4) for each in operands), level
            case i.Not(operand=operand):
                return f"!{self.expr(operand, UNARY)}", UNARY
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.expr(condition, TERNARY + 1)
                yes, no = self.expr(then, TERNARY + 1), self.expr(otherwise, TERNARY + 1)
                return f"{test} ? {yes} : {no}", TERNARY
            case i.Call():
                return self.call(expr)
            case i.Item():
                return self.item(expr)
            case i.Part(sequence=sequence, low=low, high=high):
                whole = self.expr(sequence)
                first = "0" if low is None else self.expr(low)
                last = self.length(sequence) if high is None else self.expr(high)
                return f"cvmgen_part({whole}, {first}, {last})", PRIMARY
            case i.Contains(element=element, collection=i.Entries() as entries):
                first, length = self.stretch(entries)
                function = "cvmgen_among_ascending" if entries.ascending else "cvmgen_among"
                return f"{function}({self.expr(element)}, {first}, {length})", PRIMARY
            case i.Contains(element=element, collection=collection):
                member = self.expr(element)
                return f"cvmgen_contains({self.pointer(collection)}, {member})", PRIMARY
            case i.Load(tensor=tensor, offset=offset):
                return f"{c_identifier(tensor)}[{self.expr(offset)}]", PRIMARY
            case i.Given(name=name):
                test = self.given(name)
                return test, 6 if " " in test else PRIMARY
            case i.PrecisionOf(tensor=tensor, which=which):
                suffix = "" if which is None else f"[{self.expr(which)}]"
                return f"{tensor}_precision{suffix}", PRIMARY
            case i.Convert(
                "f64", (i.Var(name=name) | i.Item(sequence=i.Var(name=name))) as own
            ) if name in self.doubles:
                return self.leveled(own)
            case i.Convert(type=type_name, operand=operand):
                return self.convert(type_name, operand)
            case i.Member(structure=i.Var(name=pointer), name=name) if pointer in self.pointers:
                return f"{self.named(pointer)}->{name}", PRIMARY
            case i.Member(structure=structure, name=name):
                return f"{self.expr(structure, PRIMARY)}.{name}", PRIMARY
            case i.Address(place=place, guard=guard):
                if guard is None:
                    return self.address(place), UNARY
                return f"{self.expr(guard, TERNARY + 1)} ? {self.address(place)} : NULL", TERNARY
            case i.ListOf(entries=()):
                return "{0}", PRIMARY
            case i.Entries() | i.Access() | i.Dot() | i.Bind() | i.ArrayExpr() | i.Closure():
                raise InternalError(f"emit: {type(expr).__name__} is not for this place")
            case i.Limit(end=end, type_name=name) if name in TYPE_PARAMETERS:
                return end_name(end, name), PRIMARY
            case i.ListOf() | i.Gather() | i.Fold() | i.Limit() | i.Structure():
                name = type(expr).__name__
                raise InternalError(f"emit: {name} is left; a lowering pass is missing")
            case _:
                assert_never(expr)

    @staticmethod
    def number(value: int) -> tuple[str, int]:
        if value in LIMITS:
            return LIMITS[value], PRIMARY
        if -(1 << 31) < value < 1 << 31:
            return str(value), PRIMARY if value >= 0 else UNARY
        if -(1 << 63) < value < 1 << 63:
            return f"INT64_C({value})", PRIMARY
        high, low = divmod(value, 1 << 62)  # no constant of C is wider
        upper = CPrinter.number(high)[0]
        return f"((__int128){upper} * (INT64_C(1) << 62) + INT64_C({low}))", PRIMARY

    def word(self, expr: i.Word) -> str:
        """The constant of the opset's header."""
        return word_constant(expr.attribute, expr.text)

    def given(self, name: str) -> str:
        return f"has_{name}"

    def minus(self, operand: i.Expr) -> str:
        """Minus a value; two signs in a row would be a decrement."""
        return f"-{self.expr(operand, PRIMARY if has_sign(operand) else UNARY)}"

    def convert(self, type_name: str, operand: i.Expr) -> tuple[str, int]:
        match operand:
            case i.Const(value=value) if type_name == "u32" and not isinstance(value, bool):
                return f"{value % (1 << 32)}u", PRIMARY
            case i.Const(value=value) if type_name == "i64":
                return f"INT64_C({value})", PRIMARY
            case i.Const(value=value) if type_name == "i128" and not -(1 << 63) <= value < 1 << 63:
                return self.number(value)
            case i.Real(text=text) if type_name == "f32" and is_short_real(text):
                return f"{text}f", UNARY if text[0] == "-" else PRIMARY
            case _:
                return f"({MACHINE_TYPES[type_name]}){self.expr(operand, UNARY)}", UNARY

    def call(self, expr: i.Call) -> tuple[str, int]:
        function, arguments = expr.function, expr.arguments
        match function:
            case "len":
                return self.length(arguments[0]), PRIMARY
            case _ if function in CONSTANTS:
                return f"CVMGEN_{function.upper()}", PRIMARY
            case "null":
                return "NULL", PRIMARY
            case "negate_f64" | "negate_f32":
                return self.minus(arguments[0]), UNARY
            case _ if function.startswith("."):  # of what its first argument is
                whole, *others = (self.expr(argument) for argument in arguments)
                return f"{whole}{function}({', '.join(others)})", PRIMARY
            case _:
                given = ", ".join(self.arguments_of(expr))
                return f"cvmgen_{function}{made_for(expr)}({given})", PRIMARY

    def arguments_of(self, call: i.Call) -> list[str]:
        """What a helper is given: values, of lists the addresses."""
        match call.function:
            case "unflatten" | "walk_offset":
                first, *lists = call.arguments
                return [self.expr(first), *map(self.pointer, lists)]
            case function if function in OF_LISTS:
                return [*map(self.pointer, call.arguments)]
            case _:
                return [*map(self.expr, call.arguments)]

    def item(self, expr: i.Item) -> tuple[str, int]:
        index = self.expr(expr.index)
        match expr.sequence:
            case i.Var(name=name) if name in self.pointers:
                return f"{self.named(name)}->at[{index}]", PRIMARY
            case i.Var(name=name):
                return f"{self.named(name)}.at[{index}]", PRIMARY
            case i.Member() as several:
                return f"{self.expr(several)}[{index}]", PRIMARY
            case sequence:
                return f"{self.expr(sequence, PRIMARY)}.at[{index}]", PRIMARY

    def stretch(self, entries: i.Entries) -> tuple[str, str]:
        """The address of the first of some entries, and how many there are."""
        return f"&{self.expr(entries.first)}", self.expr(entries.length)

    def length(self, sequence: i.Expr) -> str:
        match sequence:
            case i.Entries(length=length):
                return self.expr(length, 8)
            case i.Var(name=name) if name in self.pointers:
                return f"{self.named(name)}->length"
            case _:
                return f"{self.expr(sequence, PRIMARY)}.length"

    def pointer(self, sequence: i.Expr) -> str:
        """The address of a list."""
        match sequence:
            case i.Var(name=name) if name in self.pointers:
                return self.named(name)
            case i.Var(name=name):
                return f"&{self.named(name)}"
            case _:
                return f"cvmgen_box({self.expr(sequence)}).list"

    # -------------------------------------------------------- statements

    def block(self, statements: Iterable[i.Stmt]) -> list[str]:
        pieces = (marked(each.span, self.statement(each)) for each in statements)
        return [line for lines in pieces for line in lines]

    def nested(self, body: i.Block) -> list[str]:
        """Statements that stand a level deeper."""
        return self.block(body)

    def array(self, array: i.Array) -> str:
        return f"{MACHINE_TYPES[array.type]} {self.named(array.name)}[{array.length}];"

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let():
                return self.let(statement)
            case i.Assign(name=name, value=value):
                return [f"{self.named(name)} = {self.expr(value)};"]
            case i.Accumulate():
                return [self.accumulate(statement)]
            case i.AddAt(name=name, index=index, value=value):
                place = f"{self.named(name)}.at[{self.expr(index)}]"
                if (minus := negated(value)) is not None:
                    return [f"{place} -= {self.expr(minus)};"]
                return [f"{place} += {self.expr(value)};"]
            case i.SetAt(name=name, index=index, value=value):
                return [f"{self.named(name)}.at[{self.expr(index)}] = {self.expr(value)};"]
            case i.Append():
                return self.append(statement)
            case i.Store(
                target=target, value=i.Binary(op="+" | "*" as op, left=left, right=right)
            ) if left == target:
                return [f"{self.expr(target)} {op}= {self.expr(right)};"]
            case i.Store(target=target, value=value):
                return [f"{self.expr(target)} = {self.expr(value)};"]
            case i.Array():
                return [self.array(statement)]
            case i.Overflow(offset=offset):
                return [f"cvmgen_note_overflow(overflow, {self.expr(offset)});"]
            case i.Sort():
                return [self.sort(statement)]
            case i.Break():
                return ["break;"]
            case i.Return(value=value):
                return ["return;" if value is None else f"return {self.expr(value)};"]
            case i.Copy() | i.Fill():
                return self.run(statement)
            case i.Move():
                return [self.move(statement)]
            case i.Turn():
                return [self.turn(statement)]
            case i.Slide():
                return [self.slide(statement)]
            case i.Apply(function=function, values=values, count=count):
                return [f"cvmgen_{function}_run({self.address(values)}, {self.expr(count)});"]
            case i.Products():
                return [self.products(statement)]
            case i.Fetch(place=place, ahead=ahead):
                return [f"cvmgen_fetch({self.address(place)}, {ahead});"]
            case i.Invoke(call=call):
                return [f"{self.expr(call)};"]
            case i.Loop():
                return self.loop(statement)
            case i.If():
                return self.branch(statement)
            case _:
                raise InternalError(f"emit: {type(statement).__name__} is not for this place")

    def sort(self, statement: i.Sort) -> str:
        entries, count = self.stretch(statement.entries)
        keys, spare = self.expr(statement.keys), self.expr(statement.spare)
        given = f"{entries}, &{keys}, {statement.width}, &{spare}, {count}"
        if statement.most is not None:
            return f"cvmgen_sort_first({given}, {self.expr(statement.most)});"
        return f"cvmgen_{'block_sort' if statement.among else 'sort'}({given});"

    def run(self, run: i.Copy | i.Fill) -> list[str]:
        """A copy or fill of a run, by steps where they are not known to be 1."""
        kind = "" if run.type in TYPE_PARAMETERS else f"_{run.type}"
        steps = [self.expr(run.step)]
        match run:
            case i.Copy(source=source, source_step=step):
                name, value = "copy", self.address(source)
                steps.append(self.expr(step))
            case i.Fill():
                name, value = "fill", self.expr(run.value)
        if steps == ["1"] * len(steps):
            steps = []
        else:
            name += "_steps"
        if is_vector(run):
            return [f"cvmgen_copy_vector({self.address(run.target)}, {value});"]
        last = ", ".join([self.expr(run.count), *steps])
        head = f"cvmgen_{name}{kind}({self.address(run.target)},"
        single = f"{head} {value}, {last});"
        # Below a loop or two; longer calls are easier to read line by line.
        return [single] if len(single) <= 76 else [head, *indented([f"{value},", f"{last});"])]

    def move(self, move: i.Move) -> str:
        to = f"{self.address(move.target)}, {self.pointer(move.steps)}"
        source = f"{self.address(move.source)}, {self.pointer(move.source_steps)}"
        if {move.type, move.source_type} & {*TYPE_PARAMETERS}:
            sizes = (f"sizeof *{c_identifier(each.tensor)}" for each in (move.target, move.source))
            return f"cvmgen_move({to}, {source}, {self.pointer(move.extents)}, {', '.join(sizes)});"
        kind = move.type if move.source_type == move.type else f"{move.type}_{move.source_type}"
        return f"cvmgen_move_{kind}({to}, {source}, {self.pointer(move.extents)});"

    def turn(self, turn: i.Turn) -> str:
        to, source = self.address(turn.target), self.address(turn.source)
        numbers = ", ".join(self.expr(each) for each in (turn.step, turn.runs, turn.count))
        size = f"sizeof *{c_identifier(turn.target.tensor)}"
        return f"cvmgen_turn_runs({to}, {source}, {numbers}, {turn.lanes}, {size});"

    def slide(self, slide: i.Slide) -> str:
        to, source = self.address(slide.target), self.address(slide.source)
        first = self.expr(slide.first)
        return f"cvmgen_slide_{slide.type}({to}, {source}, {first}, {slide.count});"

    def products(self, products: i.Products) -> str:
        x, w = map(self.lines, (products.x, products.w))
        rows, columns, *ends = map(
            self.expr, (products.rows, products.columns, products.depth, products.longer)
        )
        given = ", ".join([self.address(products.totals), x, rows, w, columns, *ends])
        return f"cvmgen_add_products({given});"

    def lines(self, lines: i.Lines) -> str:
        """A structure of its own."""
        wide = "true" if lines.type == "f64" else "false"
        parts = [self.address(lines.first), wide, self.expr(lines.line), self.expr(lines.term)]
        return f"(cvmgen_lines){{{', '.join(parts)}}}"

    def address(self, place: i.Load | i.Var | i.Member) -> str:
        if isinstance(place, i.Load) and place.offset == i.Const(0):
            return c_identifier(place.tensor)
        return f"&{self.expr(place)}"

    def let(self, statement: i.Let) -> list[str]:
        type_name, name = MACHINE_TYPES[statement.type], self.named(statement.name)
        constant = "" if statement.name in self.changing else "const "
        if statement.type in ("list", "reals"):
            return self.list_let(statement)
        return [f"{constant}{type_name} {name} = {self.expr(statement.value)};"]

    changing: frozenset[str] = frozenset()

    def list_let(self, statement: i.Let) -> list[str]:
        name, value = self.named(statement.name), statement.value
        kind = MACHINE_TYPES[statement.type]
        if isinstance(value, i.ListOf) and value.entries:
            values = ", ".join(self.expr(entry) for entry, _ in value.entries)
            return [f"const {kind} {name} = {{{len(value.entries)}, {{{values}}}}};"]
        return [f"{kind} {name} = {self.expr(value)};"]

    def accumulate(self, statement: i.Accumulate) -> str:
        name, value = self.named(statement.name), statement.value
        match statement.op:
            case "+" if self.host:
                return f"{name} = cvmgen_saturating_add({name}, {self.expr(value)});"
            case "*" if self.host:
                return f"{name} = cvmgen_saturating_mul({name}, {self.expr(value)});"
            case "+" | "*" | "truncdiv" as op:
                return f"{name} {BINARY[op][1]}= {self.expr(value)};"
            case "and":
                return f"{name} = {name} && {self.expr(value, 4)};"
            case "or":
                return f"{name} = {name} || {self.expr(value, 4)};"
            case "|":
                return f"{name} |= {self.expr(value)};"
            case _:
                return f"{name} = {self.extreme(statement)};"

    def extreme(self, statement: i.Accumulate) -> str:
        suffix = "i64" if self.host else self.accumulators.get(statement.name, "i64")
        name = self.named(statement.name)
        return f"cvmgen_{statement.op}_{suffix}({name}, {self.expr(statement.value)})"

    accumulators: Mapping[str, str] = MappingProxyType({})

    def append(self, statement: i.Append) -> list[str]:
        name, value = self.named(statement.name), self.expr(statement.value)
        if statement.kind == "set":
            return [f"cvmgen_include(&{name}, {value});"]
        return [f"{name}.at[{name}.length++] = {value};"]

    def loop(self, loop: i.Loop) -> list[str]:
        index = self.named(loop.index)
        if loop.low is None:
            at = f"{index}_at"
            head = self.loop_head(loop, at, i.ZERO, self.length(loop.high))
            entry = self.expr(entry_at(loop.high, i.Var(at)))
            body = self.nested(loop.body)
            if loop.index in names_in(loop.body):
                body.insert(0, f"const int64_t {index} = {entry};")
            return [f"{head} {{", *indented(body), "}"]
        head = self.loop_head(loop, index, loop.low, self.expr(loop.high, 8))
        if loop.share is None and any(map(calls_function, walk(loop.high))):
            end = fresh(f"{index}_end", set(names_in(loop)))
            head = self.loop_head(loop, index, loop.low, end, f", {end} = {self.expr(loop.high)}")
        body = self.nested(loop.body)
        if len(loop.body) == 1 and not isinstance(loop.body[0], i.If) and len(body) == 1:
            return [*UNROLL[loop.unroll], head, *indented(body)]
        return [*UNROLL[loop.unroll], f"{head} {{", *indented(body), "}"]

    def loop_head(self, loop: i.Loop, at: str, low: i.Expr, end: str, more: str = "") -> str:
        """The head of a loop that counts by `at` up to an end."""
        step = str(loop.step)
        if loop.share is not None:
            first, step = loop.share.first, self.expr(loop.share.step)
            low = first if low == i.ZERO else low if first == i.ZERO else i.Binary("+", low, first)
        on = f"++{at}" if step == "1" else f"{at} += {step}"
        start = f"{MACHINE_TYPES[loop.type]} {at} = {self.expr(low)}{more}"
        return f"for ({start}; {at} < {end}; {on})"

    def branch(self, statement: i.If) -> list[str]:
        head = f"if ({self.expr(statement.condition)})"
        body = self.nested(statement.then)
        if len(body) == 1 and not statement.otherwise:
            only = unmarked(body[0])
            leaves = isinstance(statement.then[-1], i.Return)
            single = Leaving(head, only) if leaves else f"{head} {only}"
            return [single] if len(single) <= 88 else [head, *indented(body)]
        lines = [f"{head} {{", *indented(body)]
        rest = statement.otherwise
        while len(rest) == 1 and isinstance(rest[0], i.If):
            lines.append(f"}} else if ({self.expr(rest[0].condition)}) {{")
            lines += indented(self.nested(rest[0].then))
            rest = rest[0].otherwise
        if rest:
            lines += ["} else {", *indented(self.nested(rest))]
        return [*lines, "}"]


def made_for(call: i.Call) -> str:
    """What a helper is made for while compiling, behind its name."""
    constants = ", ".join(map(helper_parameter, call.constants))
    return f"<{constants}>" if constants else ""


def helper_parameter(value: int | str) -> str:
    """What a helper is made for: a number, a type, or a class of the support headers."""
    return MACHINE_TYPES.get(value, f"cvmgen_{value}") if isinstance(value, str) else str(value)


def calls_function(node: object) -> bool:
    """Whether a function is called for a value; the length of a list is there already."""
    return isinstance(node, i.Call) and node.function not in ("len", "arguments", "plan")
