"""Runs typed programs as C does: each operation in its type, and whatever C leaves open is a fault.

A second opinion on machine types: it knows the IR, and nothing of how types are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isqrt

from cvmgen.ir import nodes as i

BITS = {"bool": 1, "i8": 8, "i16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64, "i128": 128}
FAR = 1 << 126
Value = tuple[str, int]  # a type and what is in it


class Fault(Exception):
    """C gives no meaning to this, or another one than the formula has."""


class Stop(Exception):
    """A `break`."""


def wrapped(type_name: str, value: int) -> int:
    bits = BITS[type_name]
    low = 0 if type_name.startswith("u") else -(1 << (bits - 1))
    return (value - low) % (1 << bits) + low


def exactly(type_name: str, value: int, what: object) -> Value:
    """A result in its type; where it does not fit, unsigned types wrap and others are at fault."""
    found = wrapped(type_name, value)
    if found != value and not type_name.startswith("u"):
        raise Fault(f"{type_name} does not hold {value}: {what}")
    return type_name, found


def toward_zero(left: int, right: int) -> int:
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def common(*types: str) -> str:
    """The type of an operation on values of these types; smaller ones become int."""
    wide = max([*types, "i32"], key=lambda each: BITS[each])
    unsigned = [each for each in types if each.startswith("u") and BITS[each] == BITS[wide]]
    return unsigned[0] if unsigned else wide


@dataclass(slots=True)
class Machine:
    """The memory of a call: locals with their types, tensors as lists; `elements` are the types
    of those that are not of int32."""

    locals: dict[str, Value]
    tensors: dict[str, list[int]]
    host: bool = False  # where sums and products of loops keep within int64
    elements: dict[str, str] = field(default_factory=dict)

    # -------------------------------------------------------- statements

    def run(self, statements: Sequence[i.Stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: i.Stmt) -> None:
        match statement:
            case i.Let(name=name, type=type_name, value=value):
                self.locals[name] = self.into(type_name or "i64", value)
            case i.Assign(name=name, value=value):
                self.locals[name] = self.into(self.locals[name][0], value)
            case i.Accumulate():
                self.accumulate(statement)
            case i.Store(target=i.Load(tensor=tensor, offset=offset), value=value):
                found = self.value(value)[1]
                kind = self.elements.get(tensor, "i32")
                self.tensors[tensor][self.value(offset)[1]] = wrapped(kind, found)
            case i.Loop(index=index, low=low, high=high, body=body) if low is not None:
                self.loop(index, self.value(low)[1], high, body)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.run(then if self.value(condition)[1] else otherwise)
            case i.Break():
                raise Stop
            case i.TakeInput() | i.TakeAttribute() | i.SetOutput():
                pass
            case _:
                raise NotImplementedError(type(statement).__name__)

    def loop(self, index: str, low: int, high: i.Expr, body: Sequence[i.Stmt]) -> None:
        at = low
        try:
            while at < self.value(high)[1]:
                self.locals[index] = ("i64", at)
                self.run(body)
                at += 1
        except Stop:
            pass

    def accumulate(self, statement: i.Accumulate) -> None:
        name = statement.name
        type_name, before = self.locals[name]
        match statement.op:
            case "and" | "or":
                test = self.value(statement.value)[1]
                found = before and test if statement.op == "and" else before or test
                self.locals[name] = (type_name, int(bool(found)))
            case "max" | "min" as op:
                given = self.into(type_name, statement.value)[1]
                self.locals[name] = (type_name, (max if op == "max" else min)(before, given))
            case op:
                given = self.value(statement.value)
                if self.host:
                    found = self.far("add" if op == "+" else "mul", [before, given[1]])
                    self.locals[name] = type_name, min(max(found, -(1 << 63)), (1 << 63) - 1)
                    return
                found = self.operation(op, (type_name, before), given, statement)[1]
                self.locals[name] = type_name, wrapped(type_name, found)

    def into(self, type_name: str, expr: i.Expr) -> Value:
        """A value as a parameter or a local of another type."""
        value = self.value(expr)[1]
        if type_name == "bool":
            return "bool", int(value != 0)
        return exactly(type_name, value, expr)

    # -------------------------------------------------------- expressions

    def value(self, expr: i.Expr) -> Value:
        match expr:
            case i.Const(value=bool() as value):
                return "bool", int(value)
            case i.Const(value=value):
                return ("i32" if wrapped("i32", value) == value else "i64"), value
            case i.Var(name=name):
                return self.locals[name]
            case i.Load(tensor=tensor, offset=offset):
                at = self.value(offset)[1]
                if not 0 <= at < len(self.tensors[tensor]):
                    raise Fault(f"{tensor} has no element {at}")
                return self.elements.get(tensor, "i32"), self.tensors[tensor][at]
            case i.Convert(type="bool", operand=operand):
                return "bool", int(self.value(operand)[1] != 0)
            case i.Convert(type=type_name, operand=operand):
                return type_name, wrapped(type_name, self.value(operand)[1])
            case i.Binary(op=op, left=left, right=right):
                return self.operation(op, self.value(left), self.value(right), expr)
            case i.Compare(op=op, left=left, right=right):
                return "bool", int(self.compared(op, self.value(left), self.value(right)))
            case i.Logic(op=op, operands=operands):
                tests = (bool(self.value(each)[1]) for each in operands)
                return "bool", int(all(tests) if op == "and" else any(tests))
            case i.Not(operand=operand):
                return "bool", int(not self.value(operand)[1])
            case i.Select():
                return self.select(expr)
            case i.Call(function=function, arguments=arguments):
                return self.call(function, [self.value(each) for each in arguments], expr)
            case i.PrecisionOf():
                return "i64", self.locals["$p"][1]
            case _:
                raise NotImplementedError(type(expr).__name__)

    def select(self, expr: i.Select) -> Value:
        test = self.value(expr.condition)[1]
        types = [self.type_of(each) for each in (expr.then, expr.otherwise)]
        found = self.value(expr.then if test else expr.otherwise)
        return found if "bool" in types else exactly(common(*types), found[1], expr)

    def type_of(self, expr: i.Expr) -> str:
        """The type of what may not be evaluated."""
        try:
            return self.value(expr)[0]
        except (Fault, ZeroDivisionError):
            return "i32"

    def compared(self, op: str, left: Value, right: Value) -> bool:
        kind = common(left[0], right[0])
        a, b = (wrapped(kind, each[1]) for each in (left, right))
        if (a, b) != (left[1], right[1]):
            raise Fault(f"{left} and {right} change as they are compared")
        return bool(
            {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]
        )

    def operation(self, op: str, left: Value, right: Value, what: object) -> Value:
        a, b = left[1], right[1]
        if op in ("shl", "shr"):
            kind = common(left[0])
            if not 0 <= b < BITS[kind] or (op == "shl" and a < 0):
                raise Fault(f"{a} {op} {b} of {kind}: {what}")
            return exactly(kind, a << b if op == "shl" else a >> b, what)
        kind = common(left[0], right[0])
        a, b = wrapped(kind, a), wrapped(kind, b)
        match op:
            case "+":
                return exactly(kind, a + b, what)
            case "-":
                return exactly(kind, a - b, what)
            case "*":
                return exactly(kind, a * b, what)
            case "truncdiv" | "rem":
                quotient = toward_zero(a, b)
                return exactly(kind, quotient if op == "truncdiv" else a - b * quotient, what)
            case "bitand" | "bitor" | "bitxor":
                signs = {"bitand": a & b, "bitor": a | b, "bitxor": a ^ b}
                return exactly(kind, signs[op], what)
            case _:
                raise NotImplementedError(op)

    def call(self, function: str, given: list[Value], what: object) -> Value:
        name, _, suffix = function.rpartition("_")
        if suffix not in ("i32", "i64", "i128"):
            name, suffix = function, "i64"
        if name.startswith("saturating"):
            suffix = "i128"
        values = [each[1] for each in given]
        if name not in ("power", "saturating_power", "saturate"):
            for each in values:
                exactly(suffix, each, what)
        if name in ("floor_log2", "ceil_log2"):
            return "i32", self.logarithm(name, values[0])
        match name, values:
            case "max" | "min", _:
                return suffix, (max if name == "max" else min)(values)
            case "abs", [value]:
                return exactly(suffix, abs(value), what)
            case "isqrt", [value]:
                return suffix, isqrt(max(value, 0))
            case "trunc_div" | "floor_div" | "floor_mod" | "ceildiv", [_, 0]:
                return suffix, 0
            case "trunc_div", [a, b]:
                return exactly(suffix, toward_zero(a, b), what)
            case "floor_div", [a, b]:
                return exactly(suffix, a // b, what)
            case "floor_mod", [a, b]:
                return exactly(suffix, a % b, what)
            case "ceildiv", [a, b]:
                return exactly(suffix, -(-a // b), what)
            case "power", [a, b]:
                return suffix, wrapped(suffix, a ** max(b, 0))
            case "saturate", [a]:
                return "i64", min(max(a, -(1 << 63)), (1 << 63) - 1)
            case _ if name.startswith("saturating"):
                return "i128", self.far(name, values)
            case _:
                raise NotImplementedError(function)

    def far(self, name: str, values: list[int]) -> int:
        a, b = values
        match name.removeprefix("saturating_"):
            case "add":
                found = a + b
            case "sub":
                found = a - b
            case "mul":
                found = a * b
            case _:
                found = a ** min(max(b, 0), 128 + b % 2)
        return min(max(found, -FAR), FAR)

    def logarithm(self, name: str, value: int) -> int:
        if value < 1:
            return 0
        return value.bit_length() - 1 if name == "floor_log2" else (value - 1).bit_length()
