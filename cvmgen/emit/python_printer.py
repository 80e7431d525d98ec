"""Expressions and statements as Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from cvmgen.dtypes import DTYPES
from cvmgen.emit.line_map import marked
from cvmgen.emit.lines import Valued, indented
from cvmgen.emit.python_text import Imports, literal
from cvmgen.errors import InternalError
from cvmgen.functions import BITWISE, ELEMENTARY, REAL_FUNCTIONS
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier
from cvmgen.ir.uses import may_be_real
from cvmgen.ir.visit import walk
from cvmgen.lower.walks import strided

BINARY = {
    "+": (9, "+"),
    "-": (9, "-"),
    "*": (10, "*"),
    "floordiv": (10, "//"),
    "mod": (10, "%"),
    "shl": (8, "<<"),
    "shr": (8, ">>"),
    "bitand": (7, "&"),
    "bitxor": (7, "^"),
    "bitor": (7, "|"),
}
SUPPORT_CALLS = {
    "size": "size",
    "strides": "strides",
    "flatten_index": "flatten_index",
    "unflatten": "unflatten",
    "floor_log2": "floor_log2",
    "ceil_log2": "ceil_log2",
    "ceildiv": "ceildiv",
    "isqrt": "isqrt",
}
# What functions of real numbers are called in `reals`; they take integers too.
REAL_CALLS = {
    "max": "maximum",
    "min": "minimum",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "sqrt": "sqrt",
    "fma": "fma",
    "round": "round_away",
    "roundeven": "round_even",
    **{name: name for name in ELEMENTARY},
    "isnan": "isnan",
    "int": "to_int",
    "order": "order",
    "float32": "to_float32",
    "power": "number_power",
}
FOLDS = {"sum": "sum", "max": "max", "min": "min", "any": "any", "all": "all"}
PRIMARY, UNARY = 12, 11


class PythonPrinter(Imports):
    """Expressions and statements as Python."""

    def __init__(self, program: i.Program) -> None:
        super().__init__()
        self.program = program
        self.operator = program.operator
        self.tensors = {item.name for item in self.operator.inputs}
        self.reals = False  # whether numbers can be real; on the host they are integers
        self.guarded = True  # whether a divisor of 0 is behind the test that excludes it
        self.open_packs: frozenset[str] = frozenset()  # bound in part by what is around

    def type_of(self, type_name: str) -> str:
        """The element type that a type of the formula stands for in a call."""
        if type_name in DTYPES:
            return f'"{type_name}"'
        return f'plan.types["{self.operator.operand_of(type_name)}"]'

    def builtin(self, name: str) -> str:
        """A builtin that the operator's own name may hide."""
        return self.helper(f"builtins.{name}") if name == self.operator.name else name

    # -------------------------------------------------------- expressions

    def index(self, expr: i.Expr, least: int = 0) -> str:
        """A place or an end of a range: an integer; what it compares or rounds may be real."""
        return self.of_integers(expr, lambda: self.expr(expr, least))

    def of_integers(self, expr: i.Expr, printed: Callable[[], str]) -> str:
        """What is printed of an integer, in which only what may be real is."""
        outer = self.reals
        self.reals = outer and any(map(may_be_real, walk(expr)))
        text = printed()
        self.reals = outer
        return text

    def expr(self, expr: i.Expr, least: int = 0) -> str:
        text, level = self.leveled(expr)
        return f"({text})" if level < least else text

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Const(value=value):
                negative = not isinstance(value, bool) and value < 0
                return str(value), UNARY if negative else PRIMARY
            case i.Real(text="inf"):
                return self.helper("typed.INFINITY"), PRIMARY
            case i.Real(text="-inf"):
                return f"-{self.helper('typed.INFINITY')}", UNARY
            case i.Real(text="nan"):
                return self.helper("typed.NAN"), PRIMARY
            case i.Real(text=real):
                return real, UNARY if real[0] == "-" else PRIMARY
            case i.Limit(end="type", type_name=type_name):
                return self.type_of(type_name), PRIMARY
            case i.Limit(end=side, type_name=type_name):
                return self.called(f"typed.{side}", self.type_of(type_name)), PRIMARY
            case i.Word(text=text):
                return literal(text), PRIMARY
            case i.Var(name=name):
                return python_identifier(name), PRIMARY
            case i.Binary():
                return self.binary(expr)
            case i.Compare(op=op, left=left, right=right):
                return f"{self.expr(left, 7)} {op} {self.expr(right, 7)}", 6
            case i.Logic(op=op, operands=operands):
                return self.logic(op, operands)
            case i.Not(operand=i.Contains(element=element, collection=collection)):
                return f"{self.expr(element, 7)} not in {self.expr(collection, 7)}", 6
            case i.Not(operand=i.Given(name=name)):
                return f"{python_identifier(name)} is None", 6
            case i.Not(operand=operand):
                return f"not {self.expr(operand, 5)}", 4
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test, yes = self.expr(condition, 2), self.expr(then, 2)
                return f"{yes} if {test} else {self.expr(otherwise, 1)}", 1
            case i.Call():
                return self.call(expr)
            case i.Item(sequence=sequence, index=index):
                return f"{self.expr(sequence, PRIMARY)}[{self.expr(index)}]", PRIMARY
            case i.Part(sequence=sequence, low=low, high=high):
                ends = ("" if end is None else self.expr(end) for end in (low, high))
                return f"{self.expr(sequence, PRIMARY)}[{':'.join(ends)}]", PRIMARY
            case i.ListOf(entries=entries):
                parts = [("*" if pack else "") + self.expr(each, 7) for each, pack in entries]
                return f"({', '.join(parts)}{',' * (len(parts) == 1)})", PRIMARY
            case i.Contains(element=element, collection=i.Entries(ascending=True) as entries):
                member = self.expr(element)
                return f"support.among({member}, {self.stretch(entries)})", PRIMARY
            case i.Contains(element=element, collection=collection):
                return f"{self.expr(element, 7)} in {self.expr(collection, 7)}", 6
            case i.Gather(kind=kind):
                function = "tuple" if kind == "list" else "support.ascending"
                return f"{function}({self.generated(expr)})", PRIMARY
            case i.Fold():
                return self.fold(expr), PRIMARY
            case i.Load(tensor=tensor, which=which, offset=offset):
                one = "" if which is None else f"[{self.index(which)}]"
                return f"{python_identifier(tensor)}{one}[{self.index(offset)}]", PRIMARY
            case i.Dot(pack=pack, steps=None):
                return f"{pack}_at", PRIMARY
            case i.Dot(pack=pack, steps=steps):
                assert steps is not None
                return f"support.dot({self.expr(steps)}, {python_identifier(pack)})", PRIMARY
            case i.Entries(first=i.Load(tensor=tensor, offset=offset), length=length):
                end = length if offset == i.Const(0) else i.Binary("+", offset, length)
                start = "" if offset == i.Const(0) else self.expr(offset)
                return f"{python_identifier(tensor)}[{start}:{self.expr(end)}]", PRIMARY
            case i.Given(name=name):
                return f"{python_identifier(name)} is not None", 6
            case i.PrecisionOf(tensor=tensor, which=which):
                one = "" if which is None else f"[{self.expr(which)}]"
                return f"{python_identifier(tensor)}{one}.precision", PRIMARY
            case i.Convert(operand=operand):
                return self.leveled(operand)
            case i.Bind() | i.Access() | i.Entries() | i.ArrayExpr():
                raise InternalError(f"emit: {type(expr).__name__} is left")
            case i.Member(structure=h.ARGUMENTS, name=name):
                return python_identifier(name), PRIMARY
            case i.Member() | i.Structure() | i.Address() | i.Closure():
                raise InternalError(f"emit: {type(expr).__name__} is left")
            case _:
                assert_never(expr)

    def binary(self, expr: i.Binary) -> tuple[str, int]:
        left, right = expr.left, expr.right
        match expr.op:
            case "-" if left == i.Const(0):
                return f"-{self.expr(right, UNARY)}", UNARY
            case "bitxor" if right == i.Const(-1):
                return f"~{self.expr(left, UNARY)}", UNARY
            case op if op in BITWISE:
                level, sign = BINARY[op]
                return f"{self.expr(left, level + 1)} {sign} {self.expr(right, level + 1)}", level
            case "over":
                given = f"{self.expr(left)}, {self.expr(right)}"
                return self.called("reals.over", given), PRIMARY
            case "truncdiv":
                return f"support.truncdiv({self.expr(left)}, {self.expr(right)})", PRIMARY
            case "floordiv" | "mod" as op if not self.guarded and not isinstance(right, i.Const):
                return f"support.{op}({self.expr(left)}, {self.expr(right)})", PRIMARY
            case "union" | "difference" as op:
                return f"support.{op}({self.expr(left)}, {self.expr(right)})", PRIMARY
            case op:
                level, sign = BINARY[op]
                return f"{self.expr(left, level)} {sign} {self.expr(right, level + 1)}", level

    def logic(self, op: str, operands: tuple[i.Expr, ...]) -> tuple[str, int]:
        level = 3 if op == "and" else 2
        chain = self.chained(operands) if op == "and" else None
        if chain is not None:
            return chain, 6
        return f" {op} ".join(self.expr(each, level + 1) for each in operands), level

    def chained(self, operands: tuple[i.Expr, ...]) -> str | None:
        """`0 <= h and h < H` as 0 <= h < H."""
        match operands:
            case (
                i.Compare(op="<" | "<=" as first, left=low, right=i.Var() as middle),
                i.Compare(op="<" | "<=" as second, left=again, right=high),
            ) if middle == again:
                parts = (self.expr(each, 7) for each in (low, middle, high))
                a, b, c = parts
                return f"{a} {first} {b} {second} {c}"
            case _:
                return None

    def is_real(self, value: i.Expr) -> bool:
        """Whether a value is a real attribute, or an entry of one."""
        own = value.sequence if isinstance(value, i.Item) else value
        return isinstance(own, i.Var) and own.name in self.operator.real_attributes

    def call(self, expr: i.Call) -> tuple[str, int]:
        arguments = ", ".join(self.expr(argument) for argument in expr.arguments)
        if expr.function in (REAL_CALLS if self.reals else REAL_FUNCTIONS - {"real"}):
            return self.called(f"reals.{REAL_CALLS[expr.function]}", arguments), PRIMARY
        match expr.function:
            case "negate":
                return f"-{self.expr(expr.arguments[0], UNARY)}", UNARY
            case "real" if self.is_real(expr.arguments[0]):
                return arguments, PRIMARY
            case "real":
                return f"{self.builtin('float')}({arguments})", PRIMARY
            case "lowest" if self.reals:
                return self.leveled(i.Real("-inf"))
            case "highest" if self.reals:
                return self.leveled(i.Real("inf"))
            case "max" | "min" | "abs" | "len" as name:
                return f"{self.builtin(name)}({arguments})", PRIMARY
            case "clip":  # of the host's numbers, where elements elsewhere have the same names
                value, low, high = expr.arguments
                return self.leveled(i.Call("max", (low, i.Call("min", (value, high)))))
            case "lowest":
                return "support.BELOW_ALL", PRIMARY
            case "highest":
                return "support.ABOVE_ALL", PRIMARY
            case "bit_length":
                number = self.expr(expr.arguments[0], PRIMARY)
                number = f"({number})" if number.isdigit() else number  # 1.b reads as a fraction
                return f"{number}.bit_length()", PRIMARY
            case "max_rank":
                return "support.MAX_RANK", PRIMARY
            case "extents":
                return f"{arguments}.shape", PRIMARY
            case "rank":
                return f"{self.builtin('len')}({arguments}.shape)", PRIMARY
            case "shapes":
                return f"{self.builtin('tuple')}(each.shape for each in {arguments})", PRIMARY
            case "list":
                return self.leveled(expr.arguments[0])
            case "zeros":
                return f"[0] * {self.expr(expr.arguments[0], 11)}", 10
            case "power":
                base, exponent = expr.arguments
                return f"{self.expr(base, PRIMARY)} ** {self.expr(exponent, UNARY)}", UNARY
            case name if name in SUPPORT_CALLS:
                return f"support.{SUPPORT_CALLS[name]}({arguments})", PRIMARY
            case name:
                raise InternalError(f"emit: python has no spelling for {name}")

    def generated(self, gather: i.Gather) -> str:
        """The entries of a list or a set, one after the other."""
        entry = self.inside(gather.over, gather.element)
        return f"{entry} {self.clauses(gather.over, gather.condition)}"

    def clauses(self, over: tuple[i.Over | i.OverPack, ...], condition: i.Expr | None) -> str:
        parts = []
        for each in over:
            match each:
                case i.Over(index=index, low=None, high=high):
                    parts.append(f"for {python_identifier(index)} in {self.expr(high, 2)}")
                case i.Over(index=index, low=low, high=high):
                    assert low is not None
                    parts.append(f"for {python_identifier(index)} in {self.span(low, high)}")
                case i.OverPack(pack=pack, extents=extents, slots=None):
                    parts.append(f"for {pack} in support.indices({self.expr(extents)})")
                case i.OverPack(pack=pack, extents=extents, slots=slots):
                    assert slots is not None
                    around = f", {pack}" if pack in self.open_packs else ""
                    box = f"{self.expr(slots)}, {self.expr(extents)}{around}"
                    parts.append(f"for {pack} in support.placed({box})")
        if condition is not None:
            parts.append(f"if {self.inside(over, condition, 2)}")
        return " ".join(parts)

    def inside(self, over: tuple[i.Over | i.OverPack, ...], expr: i.Expr, least: int = 0) -> str:
        """An expression where these indices are bound."""
        around = self.open_packs
        self.open_packs |= {each.pack for each in over if isinstance(each, i.OverPack)}
        text = self.expr(expr, least)
        self.open_packs = around
        return text

    def span(self, low: i.Expr, high: i.Expr) -> str:
        if low == i.Const(0):
            return f"range({self.index(high)})"
        return f"range({self.index(low)}, {self.index(high)})"

    def fold(self, expr: i.Fold) -> str:
        clauses = self.clauses(expr.over, expr.condition)
        if expr.op == "count":
            whole = expr.element == i.Const(True)
            test = "" if whole else f" if {self.inside(expr.over, expr.element, 2)}"
            return f"{self.builtin('sum')}(1 {clauses}{test})"
        body = f"{self.inside(expr.over, expr.element)} {clauses}"
        if expr.op == "prod":
            return f"support.size([{body}])"
        if expr.op in ("max", "min") and self.reals:
            return self.called(f"reals.{REAL_CALLS[expr.op]}", f"*({body})")
        return f"{self.builtin(FOLDS[expr.op])}({body})"

    # -------------------------------------------------------- statements

    def block(self, statements: Iterable[i.Stmt]) -> list[str]:
        return [
            line
            for statement in statements
            for line in marked(statement.span, self.statement(statement))
        ]

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(name=name, value=value) | i.Assign(name=name, value=value):
                return [Valued(f"{python_identifier(name)} =", self.expr(value))]
            case i.Accumulate(name=name, op=op, value=value):
                return [self.accumulate(python_identifier(name), op, value)]
            case i.AddAt(name=name, index=index, value=value):
                place = f"{python_identifier(name)}[{self.expr(index)}]"
                match value:
                    case i.Binary(op="*", left=i.Const(value=-1), right=right):
                        return [Valued(f"{place} -=", self.expr(right))]
                    case _:
                        return [Valued(f"{place} +=", self.expr(value))]
            case i.Store(target=target, value=value):
                return [Valued(f"{self.expr(target)} =", self.expr(value))]
            case i.Sort(entries=entries, keys=keys, width=width):
                keys_name = python_identifier(keys.tensor)
                return [f"support.sort({self.stretch(entries)}, {keys_name}, {width})"]
            case i.Break():
                return ["break"]
            case i.Loop(index=index, low=low, high=high, body=body):
                over = self.expr(high) if low is None else self.span(low, high)
                return [f"for {python_identifier(index)} in {over}:", *indented(self.block(body))]
            case i.PackLoop():
                return self.pack_loop(statement)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                lines = [Valued("if", self.expr(condition), ":"), *indented(self.block(then))]
                if otherwise:
                    lines += ["else:", *indented(self.block(otherwise))]
                return lines
            case _:
                raise InternalError(f"emit: {type(statement).__name__} is not for this place")

    def stretch(self, entries: i.Entries) -> str:
        """The list that holds some entries, where they begin, and how many there are."""
        first = entries.first
        assert isinstance(first, i.Load)
        parts = self.expr(first.offset), self.expr(entries.length)
        return f"{python_identifier(first.tensor)}, {', '.join(parts)}"

    def accumulate(self, name: str, op: str, value: i.Expr) -> Valued:
        match op:
            case "max" | "min" if self.reals:
                given = f"{name}, {self.expr(value)}"
                return Valued(f"{name} =", self.called(f"reals.{REAL_CALLS[op]}", given))
            case "max" | "min":
                return Valued(f"{name} =", f"{self.builtin(op)}({name}, {self.expr(value)})")
            case "and" | "or":
                return Valued(f"{name} =", f"{name} {op} {self.expr(value, 4)}")
            case _:
                return Valued(f"{name} {BINARY[op][1] if op in BINARY else op}=", self.expr(value))

    def pack_loop(self, loop: i.PackLoop) -> list[str]:
        pack = python_identifier(loop.pack)
        walked = f"support.indices({self.expr(loop.extents)})"
        positions = i.Dot(loop.pack, None) in walk(loop.body)
        body = self.block(loop.body)
        kept = loop.slots is not None and not strided(loop)
        if loop.slots is not None and kept:
            whole = python_identifier(loop.whole)
            body = [
                f"for slot, entry in zip({self.expr(loop.slots)}, {pack}):",
                f"    {whole}[slot] = entry",
                *body,
            ]
        if positions:
            head = f"for {loop.pack}_at, {pack} in enumerate({walked}):"
            if not kept and not reads_index(loop):
                size = f"support.size({self.expr(loop.extents)})"
                head = f"for {loop.pack}_at in range({size}):"
            return [head, *indented(body)]
        return [f"for {pack} in {walked}:", *indented(body)]


def reads_index(loop: i.PackLoop) -> bool:
    """Whether a loop over multi-indices asks for more of them than their position."""

    def asks(node: object) -> bool:
        match node:
            case i.Var(name=name) | i.OverPack(pack=name):
                return name == loop.pack
            case i.Dot(pack=pack, steps=steps):
                return pack == loop.pack and steps is not None
            case _:
                return False

    return any(map(asks, walk(loop.body)))
