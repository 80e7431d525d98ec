"""Expressions of the IR as terms, and what must hold where they are evaluated.

A value in a machine type is read as the exact one. That no operation leaves its type is a demand
of its own at each operation, so that where all demands up to a place are met, machine and integers
agree there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cvmgen.dtypes import MAX_PRECISION
from cvmgen.functions import BITWISE
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.visit import walk
from cvmgen.ranges import Range
from cvmgen.source import Span
from cvmgen.typing.agreement import NUMBER, REALS, Agreement
from cvmgen.typing.machine_types import unconverted
from cvmgen.verification import terms as t
from cvmgen.verification.lists import List, ListTerms
from cvmgen.verification.range_facts import RangeFacts
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term

LIMITS = {
    **{f"i{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64, 128)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
ELEMENT = "an element may be any of its type"
WRAPS = "unsigned arithmetic wraps"
REAL = "real numbers are not looked at"
ORDERS: Mapping[str, Callable[[Term, Term], Formula]] = {
    "<": t.below,
    "<=": t.at_most,
    ">": lambda left, right: t.below(right, left),
    ">=": lambda left, right: t.at_most(right, left),
    "==": t.equal,
    "!=": lambda left, right: t.negation(t.equal(left, right)),
}
Path = tuple[Formula, ...]


@dataclass
class PlaceScope:
    """What names stand for at a place, and what was tested on the way there."""

    names: dict[str, Term | Formula | List] = field(default_factory=dict)
    path: Path = ()

    def inner(self, *tests: Formula) -> PlaceScope:
        """A place inside, where these tests hold as well."""
        parts = (part for each in tests for part in t.conjuncts(each))
        return PlaceScope(dict(self.names), tuple(dict.fromkeys((*self.path, *parts))))


@dataclass(frozen=True)
class PlaceDemand:
    """What must hold at a place: `kind` is access, divisor or width.

    Of an access, `tensor` has an element at `operand`; of the others, `claim` holds.
    """

    kind: str
    path: Path
    shown: str
    span: Span | None
    operand: Term
    tensor: str = ""
    stored: bool = False
    claim: Formula = t.TRUE
    limits: tuple[int, int] | None = None  # of the type that a width is about
    length: Term | None = None  # of an array of the kernel's own: several may have one name


def symbols_of(demands: Sequence[PlaceDemand]) -> frozenset[str]:
    """The symbols that demands speak of."""
    paths = dict.fromkeys(each.path for each in demands)
    facts = dict.fromkeys(fact for path in paths for fact in path)
    found = (*facts, *(each.claim for each in demands))
    return frozenset().union(*map(t.names_of, found), *(each.operand.names for each in demands))


class FormulaReader:
    """Reads expressions; `demands` are those met so far, at the statement of `span`."""

    def __init__(self, symbols: Symbols, elements: Mapping[str, str]) -> None:
        self.symbols = symbols
        self.lists, self.facts = ListTerms(symbols), RangeFacts(symbols)
        self.elements = dict(elements)
        self.agreement = Agreement(elements, {})
        self.demands: list[PlaceDemand] = []
        self.span: Span | None = None
        self.constant: frozenset[str] = frozenset()  # tensors that the kernel does not store to
        self.standing: dict[str, list[Term]] = {}  # the symbols for what sums hold
        self.loads: dict[str, str] = {}  # of elements of arrays: the symbol, and which array
        self.known: Mapping[str, Range] = {}  # of elements, and of locals that loops change
        self.required: dict[str, Sequence[tuple[str, Term]]] = {}  # of elements of inputs
        self.arrays: dict[str, Term] = {}  # how long the arrays are that were declared last

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """What is read meanwhile demands nothing."""
        before = len(self.demands)
        yield
        del self.demands[before:]

    def demand(
        self, kind: str, scope: PlaceScope, shown: i.Expr, operand: Term, claim: Formula
    ) -> None:
        self.demands.append(
            PlaceDemand(kind, scope.path, text(shown), self.span, operand, claim=claim)
        )

    def access(self, load: i.Load, scope: PlaceScope, *, stored: bool = False) -> Term:
        """An element is touched; gives its offset."""
        offset = self.integer(load.offset, scope)
        self.touch(load.tensor, offset, scope, text(load), stored=stored)
        return offset

    def touch(
        self, tensor: str, offset: Term, scope: PlaceScope, shown: str, *, stored: bool = False
    ) -> None:
        made = PlaceDemand("access", scope.path, shown, self.span, offset, tensor, stored)
        self.demands.append(replace(made, length=self.arrays.get(tensor)))

    # ------------------------------------------------------------ integers

    def kind(self, expr: i.Expr) -> str:
        return self.agreement.type_of(expr)

    def integer(self, expr: i.Expr, scope: PlaceScope) -> Term:
        """The value of an expression; a condition is 0 or 1."""
        match expr:
            case i.Const(value=value):
                return t.term(int(value))
            case i.Var(name=name):
                return self.named(name, scope)
            case i.Binary():
                return self.operation(expr, scope)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.condition(condition, scope)
                one = self.integer(then, scope.inner(test))
                other = self.integer(otherwise, scope.inner(t.negation(test)))
                return self.symbols.choice(test, one, other)
            case i.Convert(type=kind, operand=operand):
                found = self.integer(operand, scope)
                signed = self.signed(operand, kind, found)
                return self.conversion(expr, kind, found, scope) if signed is None else signed
            case i.Load():
                return self.element(expr, scope)
            case i.Item(sequence=sequence, index=index):
                whole = self.sequence(sequence, scope)
                return self.lists.entry(whole, self.integer(index, scope))
            case i.Call():
                return self.call(expr, scope)
            case i.PrecisionOf(tensor=tensor):
                name = f"p({tensor})"
                return self.symbols.once(
                    name, lambda: self.symbols.within(name, 1, MAX_PRECISION, "")
                )
            case i.Word(code=code):
                return t.term(code)
            case i.Compare() | i.Logic() | i.Not() | i.Given() | i.Contains():
                test = self.condition(expr, scope)
                return self.symbols.choice(test, t.ONE, t.ZERO)
            case i.Real() | i.Limit():
                return self.unknown("real", REAL)
            case _:
                self.below(expr, scope)
                return self.unknown("value", f"{type(expr).__name__} is not looked at")

    def named(self, name: str, scope: PlaceScope) -> Term:
        found = scope.names.get(name)
        if isinstance(found, Term):
            return found
        if isinstance(found, List):
            return self.unknown(name, "a list is no integer")
        if found is not None:
            return self.symbols.choice(found, t.ONE, t.ZERO)
        made = self.symbols.within(name, *LIMITS["i64"], f"{name} comes from the host")
        scope.names[name] = made
        return made

    def unknown(self, name: str, why: str, kind: str = "", of: str = "") -> Term:
        """Any value of a type, or in the range that is known of an array or a local."""
        if (known := self.known.get(of)) is not None:
            return self.symbols.within(name, known.low, known.high, why)
        low, high = LIMITS.get(kind, (None, None))
        return self.symbols.within(name, low, high, why)

    def operation(self, expr: i.Binary, scope: PlaceScope) -> Term:
        left, right = self.integer(expr.left, scope), self.integer(expr.right, scope)
        kind = self.kind(expr)
        if kind in REALS:
            return self.unknown("real", REAL)
        if expr.op in ("truncdiv", "rem"):  # the others are helpers, which take any divisor
            claim = t.negation(t.equal(right, 0))
            if claim != t.TRUE:
                self.demand("divisor", scope, expr, right, claim)
        power = expr.op == "shl" and unconverted(expr.left) == i.ONE
        if kind in ("u32", "u64", "u16", "u8") and not power:
            return self.unknown("bits", WRAPS, kind)
        if expr.op in BITWISE:
            found = self.symbols.bits(expr.op, left, right, LIMITS.get(kind, LIMITS["i64"]))
            return self.facts.know(found, expr.op, (left, right), scope.path)
        if expr.op in ("shl", "shr"):
            return self.shift(expr, left, right, scope)
        result = self.exact(expr.op, left, right)
        if result is None:
            return self.unknown("value", f"{expr.op} is not looked at", kind)
        if expr.op == "*":
            self.facts.know_product(result, left, right, scope.path)
        self.fits(kind, expr, result, scope)
        return result

    def exact(self, op: str, left: Term, right: Term) -> Term | None:
        match op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                if left.value is None and right.value is None:
                    left, right = self.symbols.factor(left), self.symbols.factor(right)
                return left * right
            case "floordiv":
                return self.symbols.floordiv(left, right)
            case "truncdiv":
                return self.symbols.truncdiv(left, right)
            case "mod":
                return self.symbols.remainder("div", left, right)
            case "rem":
                return self.symbols.remainder("tdiv", left, right)
            case _:
                return None

    def shift(self, expr: i.Binary, left: Term, right: Term, scope: PlaceScope) -> Term:
        """Times a power of 2, or over one, rounded down; by fewer bits than the type has."""
        power, path = self.power_of_two(right, scope), scope.path
        if expr.op == "shl":
            found = left * power
        else:
            found = self.symbols.floordiv(left, power)
            self.facts.know(found, "div", (left, power), path)
        kind = self.kind(expr)
        low, high = LIMITS.get(kind, LIMITS["i64"])
        held = t.every(t.at_most(0, right), t.below(right, (high - low).bit_length()))
        self.fits(kind, expr, found, scope, held)
        return found

    def power_of_two(self, exponent: Term, scope: PlaceScope) -> Term:
        made = self.symbols.power_of_two(exponent)
        return self.facts.know(made, "power of two", (exponent,), scope.path)

    def fits(
        self,
        kind: str,
        expr: i.Expr,
        found: Term,
        scope: PlaceScope,
        held: Formula = t.TRUE,
    ) -> None:
        """The machine type of an operation holds its result, and whatever else it asks."""
        low, high = LIMITS[kind if kind in LIMITS else "i64"]
        claim = t.every(held, t.at_most(low, found), t.at_most(found, high))
        small = held == t.TRUE and found.value is not None and abs(found.value) < 1 << 31
        if kind == NUMBER or small or claim == t.TRUE:
            return
        made = PlaceDemand("width", scope.path, text(expr), self.span, found, claim=claim)
        self.demands.append(replace(made, limits=(low, high)))

    def conversion(self, expr: i.Expr, kind: str, found: Term, scope: PlaceScope) -> Term:
        if kind not in LIMITS:
            return self.unknown("real", REAL)
        return self.symbols.converted(found, *LIMITS[kind])

    def signed(self, operand: i.Expr, kind: str, found: Term) -> Term | None:
        """What the signed type makes of a sum that wraps: its exact value, where it holds that."""
        match operand:
            case i.Var(name=name) | i.Load(tensor=name) if name in self.standing:
                if self.kind(operand) != f"u{kind[1:]}":
                    return None
                made = self.symbols.once(
                    ("signed", found), lambda: self.symbols.within(name, *LIMITS[kind], WRAPS)
                )
                self.standing[name].append(made)
                return made
            case _:
                return None

    def stand(self, name: str, made: Term) -> Term:
        """A symbol for what a local or an element of an array holds."""
        kind = self.agreement.types.get(name) or self.elements.get(name, "")
        if name in self.standing and not kind.startswith("u"):
            self.standing[name].append(made)
        return made

    def element(self, load: i.Load, scope: PlaceScope) -> Term:
        offset = self.access(load, scope)
        tensor, kind = load.tensor, self.elements.get(load.tensor, "i64")

        def made() -> Term:
            why = ELEMENT if kind in LIMITS else REAL
            found = self.unknown(f"{tensor}[]", why, kind, tensor)
            (name,) = found.names
            self.loads[name] = tensor
            for op, value in self.required.get(tensor, ()):
                self.symbols.know(found, ORDERS[op](found, value))
            return found

        if tensor in self.constant:
            return self.symbols.once(("element", tensor, offset), made)
        return self.stand(tensor, made())

    def call(self, call: i.Call, scope: PlaceScope) -> Term:
        name, arguments = call.function, call.arguments
        if name in ("len", "size", "rows", "last"):
            return self.lists.measure(name, self.sequence(arguments[0], scope))
        if name == "walk_offset":
            row = self.integer(arguments[0], scope)
            box, steps = (self.sequence(each, scope) for each in arguments[1:3])
            return self.lists.walk_offset(row, box, steps)
        given = [self.integer(each, scope) for each in arguments]
        base, _, kind = name.rpartition("_")
        if kind in REALS or self.kind(call) in REALS:
            return self.unknown("real", REAL)
        found = self.function(base if kind in LIMITS else name, call, given, scope)
        if found is not None:
            return found
        return self.unknown(name, f"{name} is not looked at", self.kind(call))

    def function(
        self, name: str, call: i.Call, given: Sequence[Term], scope: PlaceScope
    ) -> Term | None:
        match name:
            case "max" | "min":
                return self.symbols.extreme(name, *given)
            case "abs":
                return self.symbols.magnitude(given[0])
            case "saturate":
                return self.symbols.saturated(given[0], *LIMITS["i64"])
            case "negate":
                return t.term(0) - given[0]
            case "ceildiv":
                return self.symbols.ceildiv(*given)
            case "floor_div":  # both are 0 where the divisor is
                return self.facts.know(self.symbols.floordiv(*given), "div", given, scope.path)
            case "floor_mod":
                return self.remainder(given[0], given[1], scope)
            case "quotient_or_0":
                there = t.negation(t.equal(given[1], 0))
                found = self.facts.know(self.symbols.truncdiv(*given), "tdiv", given, scope.path)
                return self.symbols.choice(there, found, t.ZERO)
            case "power" if given[0].value == 2:
                found = self.power_of_two(given[1], scope)
                self.fits(self.kind(call), call, found, scope)
                return found
            case "floor_log2" | "ceil_log2":
                found = self.symbols.within(name, 0, 127, f"{name} is not looked at")
                return self.facts.know(found, name, given, scope.path)
            case "isqrt":
                return self.symbols.square_root(given[0])
            case "of_int4":
                byte = given[0]
                unsigned = t.every(t.at_most(8, byte), t.at_most(byte, 15))
                return self.symbols.choice(unsigned, byte - t.term(16), byte)
            case "max_rank":
                return t.term(16)
            case _:
                return None

    def remainder(self, left: Term, right: Term, scope: PlaceScope) -> Term:
        """Of the quotient rounded down; 0 for a divisor of 0, as helpers have it."""
        rest = self.symbols.rest("div", left, right)
        self.facts.know(rest, "mod", (left, right), scope.path)
        return self.symbols.choice(t.negation(t.equal(right, 0)), rest, t.ZERO)

    def sequence(self, expr: i.Expr, scope: PlaceScope) -> List:
        match expr:
            case i.Var(name=name):
                found = scope.names.get(name)
                if isinstance(found, List):
                    return found
                scope.names[name] = made = self.lists.unknown(name)
                return made
            case i.ListOf(entries=entries):
                parts = tuple(
                    self.sequence(each, scope) if spread else self.integer(each, scope)
                    for each, spread in entries
                )
                return self.lists.listed(parts)
            case i.Part(sequence=whole, low=low, high=high):
                ends = [None if each is None else self.integer(each, scope) for each in (low, high)]
                return self.lists.part(self.sequence(whole, scope), *ends)
            case i.Item(sequence=whole, index=index):
                at = self.integer(index, scope)
                return self.lists.list_at(self.sequence(whole, scope), at)
            case i.Call(function="unflatten", arguments=(place, box)):
                at = self.integer(place, scope)
                return self.lists.unflattened(at, self.sequence(box, scope))
            case i.Call(function="strides", arguments=(box,)):
                return self.lists.strides(self.sequence(box, scope))
            case i.Call(function="zeros" | "ones" as function, arguments=(count,)):
                value = int(function == "ones")
                return self.lists.repeated(value, self.integer(count, scope))
            case i.Call(function="split", arguments=(box, factors)):
                return self.lists.divided(*(self.sequence(e, scope) for e in (box, factors)))
            case i.Binary(op="difference", left=left, right=right):
                return self.lists.difference(*(self.sequence(e, scope) for e in (left, right)))
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.condition(condition, scope)
                both = (self.sequence(each, scope) for each in (then, otherwise))
                return self.lists.choice(test, *both)
            case _:
                self.below(expr, scope)
                return self.lists.unknown(text(expr))

    def below(self, expr: object, scope: PlaceScope) -> None:
        """What stands somewhere below what is not looked at must be all right as well."""
        for each in walk(expr):
            if isinstance(each, i.Load):
                self.access(each, scope)

    # ------------------------------------------------------------ conditions

    def condition(self, expr: i.Expr, scope: PlaceScope) -> Formula:
        match expr:
            case i.Const(value=value):
                return t.TRUE if value else t.FALSE
            case i.Var(name=name):
                found = scope.names.get(name)
                if found is None or isinstance(found, List):
                    scope.names[name] = found = self.symbols.fresh_truth(name)
                return t.negation(t.equal(found, 0)) if isinstance(found, Term) else found
            case i.Not(operand=operand):
                return t.negation(self.condition(operand, scope))
            case i.Logic(op="and" | "or" as op, operands=operands):
                return self.in_turn(op, operands, scope)
            case i.Logic(op=op, operands=operands):
                parts = [self.condition(each, scope) for each in operands]
                return t.every(*parts) if op == "both" else t.some(*parts)
            case i.Compare(op=op, left=left, right=right):
                return self.comparison(op, left, right, scope)
            case i.Given(name=name):
                return t.TruthSymbol(f"present({name})")
            case i.Contains(element=element, collection=collection):
                sought = self.integer(element, scope)
                return self.lists.member(self.sequence(collection, scope), sought)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.condition(condition, scope)
                one = self.condition(then, scope.inner(test))
                other = self.condition(otherwise, scope.inner(t.negation(test)))
                return t.some(t.every(test, one), t.every(t.negation(test), other))
            case _:
                return t.negation(t.equal(self.integer(expr, scope), 0))

    def in_turn(self, op: str, operands: tuple[i.Expr, ...], scope: PlaceScope) -> Formula:
        """Operands from the left: each is evaluated only where those before do not decide."""
        found: list[Formula] = []
        for each in operands:
            so_far = found if op == "and" else [t.negation(test) for test in found]
            found.append(self.condition(each, scope.inner(*so_far)))
        return t.every(*found) if op == "and" else t.some(*found)

    def comparison(self, op: str, left: i.Expr, right: i.Expr, scope: PlaceScope) -> Formula:
        one, other = self.kind(left), self.kind(right)
        if "bool" in (one, other):
            first, second = (self.condition(each, scope) for each in (left, right))
            same = t.some(t.every(first, second), t.every(t.negation(first), t.negation(second)))
            return same if op == "==" else t.negation(same)
        low, high = self.integer(left, scope), self.integer(right, scope)
        if one in REALS or other in REALS:
            return self.symbols.fresh_truth("ordered", REAL)
        return ORDERS[op](low, high)
