"""Expressions of a nest as arrays: an index is an axis, an element access a view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import PRIMARY, UNARY, PythonPrinter
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import LEAVES, fresh, substitute, walk
from cvmgen.known.known_extents import KnownExtents
from cvmgen.lower.lift import may_fail
from cvmgen.lower.share import certain

HOST, INDEX, ARRAY = "host", "index", "array"
MOST_INLINED = 40
FEW_NODES = 8
"""What is so small may be printed twice."""
RUNNING = {
    "sum": ("add", "0"),
    "prod": ("times", "1"),
    "max": ("larger", "support.BELOW_ALL"),
    "min": ("smaller", "support.ABOVE_ALL"),
    "any": ("either", "False"),
    "all": ("both", "True"),
    "count": ("counted", "0"),
}
REDUCED = {
    "sum": "total",
    "prod": "product",
    "max": "greatest",
    "min": "least",
    "any": "holds_any",
    "all": "holds_all",
    "count": "count",
}


class NotAnArray(Exception):
    """A nest, or a part of it, that array operations do not express."""


class OneByOne(Exception):
    """Indices that have to be Python's own loops, as something depends on each of their values."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(*sorted(names))
        self.names = names


@dataclass(slots=True)
class Front:
    """The place in front of the loops of a reduction, what names mean there, and the optional
    inputs that are known to be there."""

    lines: list[str]
    at: int
    margin: int
    kinds: dict[str, str]
    shown: dict[str, str]
    given: frozenset[str]

    def emit(self, line: str) -> None:
        self.lines.insert(self.at, "    " * self.margin + line)
        self.at += 1


@dataclass(frozen=True, slots=True)
class Axis:
    """A free index: its name, whether it is a multi-index, and the extents it runs over; whether
    it has two axes, of quotients and remainders."""

    name: str
    pack: bool
    extents: i.Expr
    split: bool = False


class ArrayPrinter(PythonPrinter, ABC):
    """Prints the values of one nest; reductions and shared values become statements in `lines`."""

    def __init__(self, program: i.Program, nest: i.Nest, integer: str) -> None:
        super().__init__(program)
        self.nest = nest
        self.integer = integer
        self.checked = integer not in ("np.int32", "np.int64")  # integers may be Python's own
        self.reals = self.has_reals = self.operator.has_reals
        self.extents = KnownExtents(program, nest.case)
        self.optional = {item.name for item in self.operator.inputs if item.optional}
        self.kinds: dict[str, str] = {}  # of names that are not the host's
        self.shown: dict[str, str] = {}  # names that are bound under another one
        self.taken: set[str] = set()
        self.lines: list[str] = []
        self.margin = 0
        self.box: list[str] = []  # the numbers of axes of the box so far
        self.free: list[Axis] = []
        self.front: Front | None = None  # where a reduction around this place begins
        self.spans: dict[str, str] = {}  # what the indices of those loops run over
        self.partial = False  # whether a free index is read other than to walk whole tensors
        self.walked: set[str] = set()  # tensors that the free indices go through as a whole
        self.looked_up: set[str] = set()  # tensors that are read in any other way
        self.computed: set[str] = set()  # tensors with elements that are computed with
        self.listing = 0  # how many comprehensions are around
        self.choices = 0  # how many choices are: what they do not take is computed too
        self.given: frozenset[str] = frozenset()  # optional inputs that a test has seen

    @abstractmethod
    def reduction(self, fold: i.Fold) -> str:
        """What a reduction is, after the statements that make it."""

    # -------------------------------------------------------- lines and names

    def emit(self, line: str) -> None:
        if self.listing:
            raise NotAnArray("a statement in a comprehension")
        self.lines.append("    " * self.margin + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.margin += 1
        yield
        self.margin -= 1

    def new(self, name: str) -> str:
        """A local that no other value of the nest has."""
        return fresh(identifier(name), self.taken)

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

    # -------------------------------------------------------- kinds

    def kind(self, expr: i.Expr) -> str:
        """Whether a value is one number of the call, an affine index, or an array."""
        names = names_in(expr)
        kinds = {self.kinds[name] for name in names if name in self.kinds}
        elements = any(isinstance(each, (i.Access, i.Entries)) for each in walk(expr))
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
                return not names_in(expr) & {n for n, kind in self.kinds.items() if kind != HOST}

    def axes_in(self, expr: i.Expr) -> frozenset[str]:
        """The free indices that a value depends on."""
        return names_in(expr) & {axis.name for axis in self.free}

    # -------------------------------------------------------- expressions

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        if self.choices and self.kind(expr) == HOST:
            return self.chosen(expr)
        match expr:
            case i.Var(name=name):
                self.partial |= self.kinds.get(name) == INDEX
                return self.shown.get(name, identifier(name)), PRIMARY
            case i.Bind(name=name, value=value, body=body):
                return self.bind(name, value, body)
            case i.Access():
                return self.access(expr), PRIMARY
            case i.Fold() if self.kind(expr) != HOST:
                with self.choosing():
                    return self.reduction(expr), PRIMARY
            case i.Gather() | i.Fold():
                self.listing += 1
                found = super().leveled(expr)
                self.listing -= 1
                return found
            case i.Item(index=index) if self.kind(index) != HOST:
                if self.axes_in(index):
                    raise OneByOne(self.axes_in(index))
                raise NotAnArray("an entry of a list that elements choose")
            case _ if self.kind(expr) == HOST:
                return super().leveled(expr)
            case i.Binary():
                return self.array_binary(expr)
            case i.Compare(op=op, left=left, right=right):
                return f"{self.number(left, 7)} {op} {self.number(right, 7)}", 6
            case i.Logic(op=op, operands=operands):
                with self.choosing():
                    return self.array_logic(op, operands)
            case i.Not(operand=operand):
                return f"np.logical_not({self.expr(operand)})", PRIMARY
            case i.Select():
                return self.array_select(expr)
            case i.Call(function="negate", arguments=(operand,)):
                return f"-{self.number(operand, UNARY)}", UNARY
            case i.Call():
                return self.array_call(expr), PRIMARY
            case i.Contains(element=element, collection=collection) if (
                self.kind(collection) == HOST
            ):
                return f"vectors.among({self.expr(element)}, {self.expr(collection)})", PRIMARY
            case i.ListOf():
                return super().leveled(expr)
            case i.Part() | i.Item() if not any(isinstance(e, i.Access) for e in walk(expr)):
                return super().leveled(expr)
            case _:
                raise NotAnArray(type(expr).__name__)

    def chosen(self, expr: i.Expr) -> tuple[str, int]:
        """A number of the call, computed whatever a choice between arrays takes."""
        if may_be_missing(expr):
            raise NotAnArray("a number of the call that may not be there")
        choices, self.choices = self.choices, 0
        found = self.leveled(expr)
        self.choices = choices
        return found

    def number(self, expr: i.Expr, least: int = 0) -> str:
        """A value beside elements; an index in their type where they may be Python's integers."""
        if self.checked and self.kind(expr) == INDEX:
            return f"vectors.values({self.expr(expr)}, {self.integer})"
        return self.expr(expr, least)

    def bind(self, name: str, value: i.Expr, body: i.Expr) -> tuple[str, int]:
        kind = self.kind(value)
        local = text = self.expr(value)
        if not text.isidentifier():
            local = self.new(name)
            self.emit(f"{local} = {text}")
        outer = self.kinds.get(name), self.shown.get(name)
        self.kinds[name], self.shown[name] = kind, local
        found = self.leveled(body)
        self.kinds[name] = outer[0] or HOST
        self.shown.pop(name)
        if outer[1] is not None:
            self.shown[name] = outer[1]
        return found

    def array_binary(self, expr: i.Binary) -> tuple[str, int]:
        left, right = expr.left, expr.right
        match expr.op:
            case "-" if left == i.Const(0):
                return f"-{self.number(right, UNARY)}", UNARY
            case "shl" if left == i.Const(1):
                return f"vectors.power_of_two({self.number(right)}, {self.integer})", PRIMARY
            case "floordiv" | "mod" if self.kind(right) != HOST:
                return f"vectors.{expr.op}({self.number(left)}, {self.number(right)})", PRIMARY
            case "truncdiv" | "over" as op:
                return f"vectors.{op}({self.number(left)}, {self.number(right)})", PRIMARY
            case "union" | "difference":
                raise NotAnArray("sets")
            case _ if self.kind(expr) == INDEX:
                return super().binary(expr)
            case _:
                level, sign = {"+": (9, "+"), "-": (9, "-"), "*": (10, "*")}.get(
                    expr.op, (10, {"floordiv": "//", "mod": "%"}.get(expr.op, ">>"))
                )
                level = 8 if expr.op in ("shr", "shl") else level
                sign = "<<" if expr.op == "shl" else sign
                return f"{self.number(left, level)} {sign} {self.number(right, level + 1)}", level

    def array_logic(self, op: str, operands: tuple[i.Expr, ...]) -> tuple[str, int]:
        """Conditions on elements; those on the call come first and decide alone where they can."""
        known = [each for each in operands if self.kind(each) == HOST]
        rest = [each for each in operands if self.kind(each) != HOST]
        sign, level = ("&", 7) if op == "and" else ("|", 7)
        text = f" {sign} ".join(self.expr(each, 8) for each in rest)
        if not known:
            return text, level
        host = f" {op} ".join(self.expr(each, 4) for each in known)
        if op == "and":
            return f"{text} if {host} else False", 1
        return f"True if {host} else {text}", 1

    def array_select(self, expr: i.Select) -> tuple[str, int]:
        if self.kind(expr.condition) == HOST:
            return self.branches(expr)
        tests = conjuncts(expr.condition)
        known = list(self.known_first(tests))
        if known and sum(1 for _ in walk(expr.otherwise)) <= FEW_NODES:
            rest = conjunction(each for each in tests if each not in known)
            inner = replace(expr, condition=rest)
            return self.branches(i.Select(conjunction(known), inner, expr.otherwise))
        with self.choosing():
            parts = [self.expr(expr.condition), *map(self.number, (expr.then, expr.otherwise))]
        if self.checked:
            return f"vectors.choose({', '.join(parts)}, {self.integer})", PRIMARY
        return f"vectors.where({', '.join(parts)})", PRIMARY

    def known_first(self, tests: tuple[i.Expr, ...]) -> Iterator[i.Expr]:
        """The tests of the call that can be asked before those of elements."""
        first = True
        for each in tests:
            first = first and self.kind(each) == HOST
            if first or (self.kind(each) == HOST and not may_be_missing(each)):
                yield each

    def branches(self, expr: i.Select) -> tuple[str, int]:
        """A choice by the call: only the branch taken is computed."""
        test = self.expr(expr.condition, 2)
        lines, self.lines = self.lines, []
        self.margin += 1
        given, self.given = self.given, self.given | seen(expr.condition)
        then, first = self.expr(expr.then, 2), self.lines
        self.lines, self.given = [], given | seen(i.Not(expr.condition))
        otherwise, second = self.expr(expr.otherwise, 1), self.lines
        self.margin -= 1
        self.lines, self.given = lines, given
        if not first and not second:
            return f"{then} if {test} else {otherwise}", 1
        local = self.new("value")
        self.emit(f"if {test}:")
        self.lines += [*first, "    " * (self.margin + 1) + f"{local} = {then}"]
        self.emit("else:")
        self.lines += [*second, "    " * (self.margin + 1) + f"{local} = {otherwise}"]
        return local, PRIMARY

    def array_call(self, expr: i.Call) -> str:
        of_lists = expr.function in ("flatten_index", "unflatten")
        arguments = [self.expr(e) if of_lists else self.number(e) for e in expr.arguments]
        listed = ", ".join(arguments)
        match expr.function:
            case "max" | "min" as name if self.reals or self.checked:
                return f"vectors.{name}imum({listed})"
            case "max" | "min" as name:
                text = arguments[0]
                for each in arguments[1:]:
                    text = f"np.{name}imum({text}, {each})"
                return text
            case "clip" if self.checked:
                value, low, high = arguments
                return f"vectors.minimum(vectors.maximum({value}, {low}), {high})"
            case "clip":
                return f"np.clip({listed})"
            case "abs":
                return f"{'' if self.checked else 'np.'}abs({listed})"
            case "floor" | "ceil" | "trunc" | "sqrt" as name:
                return f"np.{name}({listed})"
            case "real":
                return f"vectors.real({listed})"
            case "float32":
                return f"vectors.to_float32({listed})"
            case "int":
                return f"vectors.to_int({listed}, {self.integer})"
            case "isnan" | "power" | "floor_log2" | "ceil_log2" | "bit_length" | "ceildiv" as name:
                return f"vectors.{name}({listed})"
            case "unflatten":
                return f"vectors.unflattened({listed})"
            case "flatten_index":
                return f"support.flatten_index({listed})"
            case name:
                raise NotAnArray(name)

    # -------------------------------------------------------- accesses

    def slots(self, index: Sequence[tuple[i.Expr, bool]]) -> str:
        return ", ".join(self.spread(each) if spread else self.expr(each) for each, spread in index)

    def spread(self, listed: i.Expr) -> str:
        """A list as arguments; one that a comprehension makes is gone through just once."""
        outer, self.reals = self.reals, False
        text = f"*{self.expr(listed, 7)}"
        self.reals = outer
        whole = isinstance(listed, i.Gather) and listed.kind == "list"
        return text.replace("*tuple(", "*(", 1) if whole else text

    def access(self, access: i.Access, fill: str | None = None) -> str:
        """The elements at a multi-index: the tensor itself where the box is all of it."""
        self.computed.add(access.tensor)
        index = access.index
        single = all(self.kind(each) == HOST and not spread for each, spread in index)
        tensor, slots = self.place(access)
        if not slots:
            return tensor
        if single and fill is None and not self.free and not self.choices:
            return f"{tensor}[{slots}]"
        if fill is None:
            return f"arrays.read({tensor}, {slots})"
        if self.front is not None and self.settled(access, self.front):
            padded = self.hoisted(access, tensor, fill, self.front)
            return f"arrays.read({padded}, {slots})"
        return f"arrays.read({tensor}, {slots}, fill={fill})"

    def settled(self, access: i.Access, front: Front) -> bool:
        """Whether what loops read of a tensor can be told in front of them."""
        places = tuple(each for each, _ in access.index)
        looped = names_in(places) & set(self.spans)
        names = names_in(places) - looped | names_in(access.which)
        known = all(
            self.shown.get(each) == front.shown.get(each)
            and self.kinds.get(each) == front.kinds.get(each)
            for each in names
        )
        there = access.tensor not in self.optional - front.given
        with self.bound(dict.fromkeys(looped, INDEX)):
            plain = all(self.kind(each) != ARRAY for each in places)
        lists = any(isinstance(each, (i.Bind, i.Fold)) for each in walk(places))
        return bool(looped) and known and there and plain and not lists and not self.listing

    def moved(self, access: i.Access) -> str:
        """Elements that are stored as they are, whatever their type."""
        tensor, slots = self.place(access)
        return f"arrays.read({tensor}, {slots})" if slots else tensor

    def place(self, access: i.Access) -> tuple[str, str]:
        """The tensor of an access and the slots, none where the box is all of it."""
        tensor = identifier(access.tensor)
        if access.tensor in self.optional - self.given:
            raise NotAnArray("an input that may not be there, read whatever the elements")
        if access.which is not None:
            tensor = f"{tensor}[{self.expr(access.which)}]"
        if self.whole(access):
            self.walked.add(access.tensor)
            return tensor, ""
        self.looked_up.add(access.tensor)
        index = access.index
        position = self.extents.flattened(access)
        if position is not None:
            kept = len(index) - 1
            tensor = f"arrays.flat({tensor}{f', {kept}' * bool(kept)})"
            index = (*index[:-1], (position, False))
        return tensor, self.slots(index)

    def hoisted(self, access: i.Access, tensor: str, fill: str, front: Front) -> str:
        """The tensor with a border, made in front of the loops that walk beyond it."""
        local = self.new(f"{access.tensor}_padded")
        shown = dict(self.shown)
        self.shown |= self.spans
        slots = self.slots(access.index)
        self.shown = shown
        front.emit(f"{local} = arrays.padded({tensor}, {fill}, {slots})")
        return local

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


def inlined(expr: i.Expr) -> i.Expr:
    """The expression with bindings of index arithmetic put where they are used, unless it would
    grow by much: values that are made of each other would double with each."""
    found: i.Expr = without_places(expr, frozenset())
    return found


def without_places(node: Any, kept: frozenset[str]) -> Any:
    """A tree without the bindings that read no element, nor a binding that is `kept`."""
    if isinstance(node, i.Bind):
        value = without_places(node.value, kept)
        if not reads(value) and not names_in(value) & kept:
            uses = sum(each == i.Var(node.name) for each in walk(node.body))
            if uses > 1 and uses * sum(1 for _ in walk(value)) > MOST_INLINED:
                return i.Bind(node.name, value, without_places(node.body, kept))
            return without_places(substitute(node.body, {node.name: value}), kept)
        return i.Bind(node.name, value, without_places(node.body, kept | {node.name}))
    if isinstance(node, tuple):
        return tuple(without_places(each, kept) for each in node)
    if not is_dataclass(node) or isinstance(node, LEAVES):
        return node
    values = {each.name: without_places(getattr(node, each.name), kept) for each in fields(node)}
    return replace(node, **values)


def reads(expr: i.Expr) -> bool:
    return any(isinstance(each, (i.Access, i.Fold, i.Entries)) for each in walk(expr))


def may_be_missing(expr: i.Expr) -> bool:
    """Whether a number of the call has no value in some calls, be it a term of a reduction."""
    parts = tuple(certain(expr))
    terms = (walk(each) for each in parts if isinstance(each, i.Fold))
    return any(map(may_fail, parts)) or any(any(map(may_fail, each)) for each in terms)
