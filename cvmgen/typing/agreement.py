"""Whether the machine types of a nest agree: what C makes of each value is what its place holds.

C converts operands by itself. That is harmless where the type that comes out holds every value of
the one that went in, or where unsigned types are meant to wrap. All else must stand in the nest as
a `Convert`, and is at fault where it does not: a value that is stored in a narrower local, integers
beside real numbers, a signed value that is compared with an unsigned one or divided by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import assert_never

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text

BITS = {f"{sign}{bits}": bits for bits in (8, 16, 32, 64) for sign in "ui"} | {"i128": 128}
REALS = ("f32", "f64")
KINDS = (*BITS, *REALS, "bool", "list", "int")  # of values
NUMBER = "number"  # that is written out: it takes the type of what stands around it
# An integer that the host makes or a loop counts, of 64 bits, or a condition: what is made of it
# has the type that holds all its values, which may be narrower.
HOST = "host"
WRAPPING = ("+", "-", "*", "|")
# What helpers take and give, where their names do not end with the type of both.
HELPERS = {
    "to_int": ("f64", "i64"),
    "cut_to_int_f32": ("f32", "i32"),
    "order": ("f64", "i64"),
    "stored_f32": ("f64", "f32"),
    "stored_float16": ("f64", "u16"),
    "of_float16": ("u16", "f64"),
    "stored_bfloat16": ("f64", "u16"),
    "of_bfloat16": ("u16", "f64"),
    "of_int4": ("i8", "i32"),
    "isnan": ("f64", "bool"),
    "floor_log2": ("i64", "i32"),
    "ceil_log2": ("i64", "i32"),
    "floor_log2_i128": ("i128", "i32"),
    "ceil_log2_i128": ("i128", "i32"),
    "max_key_f32": ("f32", "i32"),
    "min_key_f32": ("f32", "i32"),
    "max_key_f64": ("f64", "i64"),
    "min_key_f64": ("f64", "i64"),
    "of_max_key_f32": ("i32", "f32"),
    "of_min_key_f32": ("i32", "f32"),
    "of_max_key_f64": ("i64", "f64"),
    "of_min_key_f64": ("i64", "f64"),
}


class DisagreementError(Exception):
    """A value that its place does not hold."""


def type_fault(
    body: i.Block, elements: Mapping[str, str], given: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Where types of a nest do not agree, for people; empty where all do. `elements` are the
    machine types of those of tensors; all other memory that it does not declare has int64.
    `given` are those of values that it has from outside, where they are not HOST."""
    try:
        Agreement(elements, given).block(body)
    except DisagreementError as fault:
        return str(fault)
    return ""


class Agreement:
    """Walks a typed nest in order, in which each name stands for one thing; `elements` are the
    types of what it reads, `types` those of locals so far."""

    def __init__(self, elements: Mapping[str, str], given: Mapping[str, str]) -> None:
        self.types, self.elements = dict(given), dict(elements)

    # -------------------------------------------------------- statements

    def block(self, body: i.Block) -> None:
        for each in body:
            self.statement(each)

    def statement(self, statement: i.Stmt) -> None:
        match statement:
            case i.Let(name=name, type="list"):
                self.types[name] = "list"
            case i.Array(name=name, type=type_name):
                self.elements[name] = type_name
            case i.Let(
                name=name, type="vector", value=i.Call(arguments=(i.Address(place=place), *_))
            ):
                self.elements[name] = self.type_of(place)
            case i.Let(name=name, type=type_name, value=value) if type_name not in KINDS:
                self.type_of(value)  # a structure of the run time
            case i.Let(name=name, type=type_name, value=value):
                self.holds(type_name, value, f"the local {name}")
                self.types[name] = type_name
            case i.Assign(name=name, value=value):
                self.holds(self.types.get(name, "i64"), value, f"the local {name}")
            case i.Accumulate(name=name, op=op, value=value):
                kind = self.types.get(name, "i64")
                self.holds(kind, value, f"the accumulator {name}", wraps=op in WRAPPING)
            case i.Store(target=i.Load(tensor=tensor, offset=offset), value=value):
                self.index(offset)
                self.stores(tensor, value)
            case i.Loop(index=index, type=kind, low=low, high=high, body=body):
                for each in (low, high) if low is not None else ():
                    self.index(each)
                self.types[index] = HOST if kind == "i64" else kind
                self.block(body)
            case i.SetAt(name=name, index=index, value=value):
                self.index(index)
                self.stores(name, value)
            case i.Return(value=value) if value is not None:
                self.type_of(value)
            case i.Invoke(call=call):
                self.type_of(call)
            case i.Borrow(entries=entries, body=body):
                self.index(entries)
                self.block(body)
            case i.Launch(count=count, arguments=arguments):
                self.index(count)
                for each in arguments:
                    self.type_of(each)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.truth(condition)
                self.block(then)
                self.block(otherwise)
            case _:  # of places and counts, or of the host
                pass

    def parameter(self, parameter: i.Typed) -> None:
        """What a helper gives to a function: a value, or a place, which has an entry for each
        index."""
        if parameter.type == "place":
            self.elements[parameter.name] = "i32"
        elif parameter.type in KINDS:
            self.types[parameter.name] = parameter.type

    def holds(self, kind: str, value: i.Expr, what: str, *, wraps: bool = False) -> None:
        """A local of a type must hold every value of that of an expression."""
        found = self.type_of(value)
        if isinstance(value, i.Const) and kind in BITS and not holds_number(kind, value.value):
            raise DisagreementError(f"{what} of {kind} is given {value.value}")
        if not type_fits(found, kind, wraps=wraps):
            raise DisagreementError(f"{what} of {kind} is given {found}: {text(value)}")

    def stores(self, tensor: str, value: i.Expr) -> None:
        """An element takes integers of any width, which are proved or tested to fit."""
        kind, found = self.elements.get(tensor, "i64"), self.type_of(value)
        if (kind in REALS) != (found in REALS) and found != NUMBER:
            raise DisagreementError(f"an element of {tensor} of {kind} is given {found}")

    def index(self, expr: i.Expr) -> None:
        found = self.type_of(expr)
        if found in (*REALS, "bool", "list"):
            raise DisagreementError(f"an index is {found}: {text(expr)}")

    def truth(self, expr: i.Expr) -> None:
        if (found := self.type_of(expr)) not in ("bool", HOST):
            raise DisagreementError(f"a condition is {found}: {text(expr)}")

    # -------------------------------------------------------- expressions

    def type_of(self, expr: i.Expr) -> str:
        """The type that C gives a value; `number` of one that is written out."""
        match expr:
            case i.Const(value=value):
                return "bool" if isinstance(value, bool) else NUMBER
            case i.Real():
                return "f64"
            case i.Word():
                return "i32"
            case i.Var(name=name):
                return self.types.get(name, HOST)
            case i.Load(tensor=tensor, offset=offset):
                self.index(offset)
                return self.elements.get(tensor, "i64")
            case i.Item(sequence=sequence, index=index):
                self.index(index)
                own = isinstance(sequence, i.Var) and self.elements.get(sequence.name)
                return own or HOST  # of a vector, or of a list
            case i.Binary(op="shl" | "shr", left=left, right=right):
                self.index(right)
                return promoted(self.type_of(left))
            case i.Binary(op=op, left=left, right=right):
                return self.common(expr, left, right, wraps=op in WRAPPING)
            case i.Compare(left=left, right=right):
                self.common(expr, left, right, wraps=False)
                return "bool"
            case i.Logic(operands=operands):
                for each in operands:
                    self.truth(each)
                return "bool"
            case i.Not(operand=operand):
                self.truth(operand)
                return "bool"
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                self.truth(condition)
                return self.common(expr, then, otherwise, wraps=False)
            case i.Convert(type=type_name, operand=operand):
                self.type_of(operand)
                return type_name
            case i.Call():
                return self.call(expr)
            case i.Contains() | i.Given():
                return "bool"
            case i.PrecisionOf() | i.Dot() | i.Fold():
                return HOST
            case i.Part() | i.ListOf() | i.Gather() | i.Entries():
                return "list"
            case i.Lambda(parameters=parameters, body=body):
                for parameter in parameters:
                    self.parameter(parameter)
                self.block(body)
                return HOST
            case (
                i.Member() | i.Structure() | i.Address() | i.Closure()
            ):  # what the host gives, places, functions
                return HOST
            case i.Limit() | i.Access() | i.Bind() | i.ArrayExpr():
                raise DisagreementError(f"{type(expr).__name__} is left: {text(expr)}")
            case _:
                assert_never(expr)

    def common(self, expr: i.Expr, left: i.Expr, right: i.Expr, *, wraps: bool) -> str:
        """The type of an operation on two values."""
        one, other = self.type_of(left), self.type_of(right)
        found = operation_type(one, other, wraps)
        if found is None:
            raise DisagreementError(f"{one} meets {other}: {text(expr)}")
        return found

    def call(self, call: i.Call) -> str:
        """The type of what a helper gives; most say in their names what they take and give."""
        given = [self.type_of(each) for each in call.arguments]
        _, _, suffix = call.function.rpartition("_")
        takes, gives = HELPERS.get(call.function, (suffix, suffix))
        if takes not in (*BITS, *REALS):
            return "f64" if any(each in REALS for each in given) else HOST
        for kind, each in zip(given, call.arguments, strict=True):
            if kind != "list" and not type_fits(kind, takes, wraps=False):
                raise DisagreementError(f"{call.function} is given {kind}: {text(each)}")
        return gives


def promoted(kind: str) -> str:
    """What C makes of a small integer before it calculates."""
    return "i32" if kind in ("i8", "u8", "i16", "u16", "bool") else kind


def holds_number(kind: str, value: int) -> bool:
    """Whether an integer type holds a number."""
    return end_of(kind, "least") <= value <= end_of(kind, "greatest")


def end_of(kind: str, end: str) -> int:
    """The least or the greatest value of an integer type."""
    bits, signed = BITS[kind], kind[0] != "u"
    if end == "least":
        return -(1 << bits - 1) if signed else 0
    return (1 << bits - signed) - 1


def type_fits(kind: str, place: str, *, wraps: bool) -> bool:
    """Whether a place holds every value of a type as it is, or, if it `wraps`, modulo its own."""
    if kind in (place, NUMBER):
        return kind == place or place != "bool"
    if HOST in (kind, place):
        return "list" not in (kind, place) and kind not in REALS and place not in REALS
    if kind in REALS or place in REALS:
        return (kind, place) == ("f32", "f64")
    if kind == "bool":  # 0 or 1
        return place in BITS
    if place == "bool" or "list" in (kind, place):
        return False
    if place.startswith("u"):
        return BITS[kind] <= BITS[place] and (wraps or kind.startswith("u"))
    return BITS[kind] < BITS[place] or (BITS[kind] == BITS[place] and not kind.startswith("u"))


@cache  # of few types
def operation_type(one: str, other: str, wraps: bool) -> str | None:
    """The type of an operation on two values; None where it does not hold each of them."""
    found = common_type(one, other)
    fits = found and all(type_fits(each, found, wraps=wraps) for each in (one, other))
    return found if fits else None


def common_type(one: str, other: str) -> str | None:
    """The type in which C calculates with two values; None of what it must not mix."""
    if NUMBER in (one, other):
        return promoted(other if one == NUMBER else one)
    if one == other:
        return one if one == "bool" else promoted(one)
    if {"bool", HOST} == {one, other}:
        return "bool"
    if HOST in (one, other) and not {one, other} & {*REALS, "list"}:
        # With any integer of 64 bits C calculates in these.
        return next((each for each in (one, other) if each in ("i128", "u64")), HOST)
    if "bool" in (one, other) or (one in REALS) != (other in REALS):
        return None
    if one in REALS:
        return "f64"
    wide = max(promoted(one), promoted(other), key=BITS.__getitem__)
    unsigned = [e for e in (one, other) if e.startswith("u") and BITS[e] == BITS[wide]]
    return unsigned[0] if unsigned else wide
