"""What holds at a place of a formula, and the one form in which values are compared there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cvmgen import polynomials as p
from cvmgen.dtypes import MAX_RANK
from cvmgen.inside.binding import canonical, with_free_values
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import children, with_operands
from cvmgen.polynomials import Poly

RING = ("+", "-", "*")
LARGEST = (
    1 << 10
)  # parts of a value that a name is read as; a larger one is known by its name alone


@dataclass(frozen=True, slots=True)
class ForAll:
    """The condition holds (or not) for all values of the index that pass the test."""

    over: i.Over
    test: i.Expr | None
    condition: i.Expr
    truth: bool


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Facts at a place: polynomials of at least 0, conditions decided, alternatives, and more."""

    lets: Mapping[str, i.Expr] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)  # of the values of lets, written out
    facts: tuple[Poly, ...] = ()
    truths: Mapping[i.Expr, bool] = field(default_factory=dict)
    either: tuple[tuple[i.Expr, ...], ...] = ()  # one of these conditions holds, at least
    every: tuple[ForAll, ...] = ()
    packs: Mapping[str, tuple[tuple[i.Expr, i.Expr | None], ...]] = field(default_factory=dict)
    known: frozenset[object] = frozenset()  # what was assumed already
    impossible: bool = False

    def let(self, name: str, value: i.Expr) -> Knowledge:
        sizes = {**self.sizes, name: written_size(value, self.sizes)}
        return replace(self, lets={**self.lets, name: value}, sizes=sizes)

    def is_large(self, expr: i.Expr) -> bool:
        """Whether an expression that is written out has more parts than are looked at."""
        return written_size(expr, self.sizes) > LARGEST

    def pack(self, name: str, extents: i.Expr, slots: i.Expr | None) -> Knowledge:
        before = self.packs.get(name, ()) if slots is not None else ()
        return replace(self, packs={**self.packs, name: (*before, (extents, slots))})


def frozen(poly: Poly) -> frozenset[tuple[p.Monomial, int]]:
    return frozenset(poly.items())


def written_size(expr: i.Expr, sizes: Mapping[str, int]) -> int:
    """How many parts an expression has once values stand for the names that have `sizes`."""
    match expr:
        case i.Var(name=name):
            return sizes.get(name, 1)
        case i.Bind(name=name, value=value, body=body):
            return written_size(body, {**sizes, name: written_size(value, sizes)})
        case _:
            return 1 + sum(written_size(each, sizes) for each in children(expr))


class Forms:
    """Expressions as polynomials of atoms, entries of lists as what they are made of."""

    def __init__(self) -> None:
        self.atoms: list[i.Expr] = []
        self.numbers: dict[i.Expr, int] = {}
        self.names = 0
        self.base = Knowledge()  # what holds in the whole call
        self.made_polys: dict[tuple[int, int], tuple[Knowledge, dict[i.Expr, Poly]]] = {}

    def found(self, at: Knowledge) -> None:
        """From here on this is known of the call."""
        self.base = at
        self.made_polys.clear()

    def fresh(self, name: str) -> i.Var:
        self.names += 1
        return i.Var(f"{name} {self.names}")  # no name of a formula has a space

    # -------------------------------------------------------- integers

    def atom(self, expr: i.Expr) -> Poly:
        number = self.numbers.get(expr)
        if number is None:
            number = self.numbers[expr] = len(self.atoms)
            self.atoms.append(expr)
        return p.atom(number)

    def poly(self, expr: i.Expr, at: Knowledge) -> Poly:
        """A value in one form; it depends on what names stand for, and not on facts at hand."""
        names = (id(at.lets), id(at.packs))
        if names not in self.made_polys:
            self.made_polys[names] = (at, {})
        known = self.made_polys[names][1]
        if expr not in known:
            known[expr] = self.new_poly(expr, at)
        return known[expr]

    def new_poly(self, expr: i.Expr, at: Knowledge) -> Poly:
        match expr:
            case i.Const(value=value):
                return p.constant(int(value))
            case i.Binary(op="+", left=left, right=right):
                return p.plus(self.poly(left, at), self.poly(right, at))
            case i.Binary(op="-", left=left, right=right):
                return p.minus(self.poly(left, at), self.poly(right, at))
            case i.Binary(op="*", left=left, right=right):
                return p.times(self.poly(left, at), self.poly(right, at))
            case i.Call(function="negate", arguments=(operand,)):
                return p.minus({}, self.poly(operand, at))
            case i.Bind(name=name, value=value, body=body) if not at.is_large(expr):
                return self.poly(with_free_values(body, {name: value}), at)
            case i.Bind():
                return self.atom(canonical(expr))
            case i.Var(name=name) if name in at.lets and self.plain(at.lets[name]):
                return self.atom(expr) if at.sizes[name] > LARGEST else self.poly(at.lets[name], at)
            case i.Binary(op="floordiv" | "mod" as op, left=left, right=right):
                return self.divided(op, self.poly(left, at), self.poly(right, at))
            case i.Binary(op="shl", left=i.Const(value=one), right=i.Const(value=by)) if by >= 0:
                return p.constant(one << min(by, 1 << 12))
            case i.Item(sequence=sequence, index=index):
                return self.entry(sequence, index, at)
            case i.Call(function="len" | "count", arguments=(sequence,)):
                return self.length(sequence, at)
            case i.Call(function="size", arguments=(sequence,)):
                return self.size(sequence, at)
            case i.Call(function="max_rank"):
                return p.constant(MAX_RANK)
            case _:
                return self.atom(self.inner(expr, at))

    @staticmethod
    def plain(value: i.Expr) -> bool:
        """Whether a name is read as its value; a choice keeps its name until it is decided."""
        return isinstance(value, (i.Const, i.Var, i.Binary, i.Call, i.Item, i.Access, i.Bind))

    def divided(self, op: str, left: Poly, right: Poly) -> Poly:
        number, divisor = p.value_of(left), p.value_of(right)
        if divisor == 1:
            return left if op == "floordiv" else {}
        if number is not None and divisor:
            return p.constant(number // divisor if op == "floordiv" else number % divisor)
        return self.atom(i.Binary(op, self.expr(left), self.expr(right)))

    def inner(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        """An atom with the parts of it in one form."""
        match expr:
            case i.Fold() | i.Gather():
                return canonical(expr)
            case i.Var():
                return expr
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                parts = (self.normal(each, at) for each in (then, otherwise))
                return i.Select(condition, *parts)
            case i.Access(tensor=tensor, which=which, index=index):
                chosen = None if which is None else self.normal(which, at)
                return i.Access(tensor, chosen, tuple((self.normal(e, at), s) for e, s in index))
            case _:
                return with_operands(expr, lambda each: self.normal(each, at))

    def normal(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        """An integer in one form; of anything else its parts."""
        if is_list_value(expr, at):
            return canonical(self.listed(expr, at))
        if is_boolean(expr):
            return canonical(expr)
        return self.expr(self.poly(expr, at))

    def expr(self, poly: Poly) -> i.Expr:
        """A polynomial as an expression; equal ones are equal."""
        result: i.Expr | None = None
        for monomial, coefficient in sorted(poly.items()):
            term: i.Expr = i.Const(coefficient)
            for number in monomial:
                factor = self.atoms[number]
                term = factor if term == i.ONE else i.Binary("*", term, factor)
            result = term if result is None else i.Binary("+", result, term)
        return i.ZERO if result is None else result

    # -------------------------------------------------------- lists

    def listed(self, sequence: i.Expr, at: Knowledge) -> i.Expr:
        """A list by what it is made of."""
        while isinstance(sequence, i.Var) and sequence.name in at.lets:
            sequence = at.lets[sequence.name]
        return sequence

    def made(self, sequence: i.Expr, index: i.Expr, at: Knowledge) -> i.Expr | None:
        """What an entry of a list is made of, where all are made alike."""
        match self.listed(sequence, at):
            case i.Gather("list", element, (i.Over(name, None, members),), None):
                return with_free_values(element, {name: i.Item(members, index)})
            case i.Gather("list", element, (i.Over(name, low, _),), None):
                assert low is not None
                place = index if low == i.ZERO else i.Binary("+", low, index)
                return with_free_values(element, {name: place})
            case _:
                return None

    def is_made(self, poly: Poly) -> bool:
        """Whether a value is better known by its name: one that is chosen."""
        chosen = (i.Select, i.Call)
        return any(
            isinstance(self.atoms[number], chosen) and not self.is_length(self.atoms[number])
            for number in p.atoms_of(poly)
        )

    def entry(self, sequence: i.Expr, index: i.Expr, at: Knowledge) -> Poly:
        """An entry of a list at an index."""
        made = self.made(sequence, index, at)
        if made is not None:
            poly = self.poly(made, at)
            if not isinstance(sequence, i.Var) or not self.is_made(poly):
                return poly
            return self.atom(i.Item(sequence, self.expr(self.poly(index, at))))
        match self.listed(sequence, at):
            case i.ListOf(entries=entries):
                return self.written(entries, index, at)
            case i.Part(sequence=whole, low=low):
                place = index if low is None else i.Binary("+", low, index)
                return self.entry(whole, place, at)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                one, other = (self.entry(each, index, at) for each in (then, otherwise))
                return self.choice(condition, one, other)
            case other_list:
                place = self.expr(self.poly(index, at))
                return self.atom(i.Item(self.collection(sequence, other_list, at), place))

    def written(self, entries: Iterable[tuple[i.Expr, bool]], index: i.Expr, at: Knowledge) -> Poly:
        """An entry of a list that is written out: a choice between its parts."""
        place, start = self.poly(index, at), p.constant(0)
        parts: list[tuple[Poly, Poly]] = []  # the place just behind a part, and the entry of it
        for value, spread in entries:
            inside = p.minus(place, start)
            length = self.length(value, at) if spread else p.constant(1)
            if not spread and not inside:
                return self.poly(value, at)
            found = self.entry(value, self.expr(inside), at) if spread else self.poly(value, at)
            start = p.plus(start, length)
            parts.append((start, found))
        if not parts:
            return self.atom(i.Item(i.ListOf(()), self.expr(place)))
        result = parts[-1][1]
        for end, found in reversed(parts[:-1]):
            test = i.Compare("<", self.expr(place), self.expr(end))
            result = self.choice(test, found, result)
        return result

    def choice(self, condition: i.Expr, then: Poly, otherwise: Poly) -> Poly:
        if then == otherwise:
            return then
        return self.atom(i.Select(condition, self.expr(then), self.expr(otherwise)))

    def length(self, sequence: i.Expr, at: Knowledge) -> Poly:
        match self.listed(sequence, at):
            case i.ListOf(entries=entries):
                total = p.constant(0)
                for value, spread in entries:
                    total = p.plus(total, self.length(value, at) if spread else p.constant(1))
                return total
            case i.Gather("list", _, (i.Over(low=None, high=members),), None):
                return self.length(members, at)
            case i.Gather("list", _, (i.Over(low=low, high=high),), None):
                assert low is not None
                count = p.minus(self.poly(high, at), self.poly(low, at))
                known = p.value_of(count)
                if known is not None:
                    return p.constant(max(known, 0))
                if self.counts(count):
                    return count
                return self.atom(i.Call("max", (i.ZERO, self.expr(count))))
            case i.Part(sequence=whole, low=low, high=high):
                end = self.length(whole, at) if high is None else self.poly(high, at)
                return end if low is None else p.minus(end, self.poly(low, at))
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                return self.choice(condition, self.length(then, at), self.length(otherwise, at))
            case i.Call(function="unflatten", arguments=(_, extents)):
                return self.length(extents, at)
            case i.Call(function="strides", arguments=(extents,)):
                return self.length(extents, at)
            case i.Call(function="split", arguments=(extents, _)):
                return p.times(p.constant(2), self.length(extents, at))
            case i.Call(function="zeros" | "ones", arguments=(length,)):
                return self.poly(length, at)
            case i.Entries(length=length):
                return self.poly(length, at)
            case i.Var(name=name) if name in at.packs and at.packs[name][-1][1] is None:
                return self.length(at.packs[name][-1][0], at)
            case other:
                return self.atom(i.Call("len", (self.collection(sequence, other, at),)))

    def collection(self, sequence: i.Expr, value: i.Expr, at: Knowledge) -> i.Expr:
        """A set or a list of the call in one form: by its name, if it has one; by the first of
        several names."""
        named = isinstance(sequence, i.Var) and not isinstance(value, (i.Var, i.Item))
        return sequence if named else self.inner(value, at)

    def counts(self, poly: Poly) -> bool:
        """Whether a length plainly is at least 0: a sum of lengths."""
        return all(
            value > 0 and all(self.is_length(self.atoms[number]) for number in monomial)
            for monomial, value in poly.items()
        )

    def is_length(self, expr: i.Expr) -> bool:
        match expr:
            case i.Call(function="len"):
                return True
            case i.Call(function="max", arguments=arguments):
                return any(each == i.ZERO or self.is_length(each) for each in arguments)
            case _:
                return False

    def size(self, sequence: i.Expr, at: Knowledge) -> Poly:
        match self.listed(sequence, at):
            case i.ListOf(entries=entries):
                total = p.constant(1)
                for value, spread in entries:
                    factor = self.size(value, at) if spread else self.poly(value, at)
                    total = p.times(total, factor)
                return total
            case other:
                return self.atom(i.Call("size", (self.inner(other, at),)))


def is_list_value(expr: i.Expr, at: Knowledge) -> bool:
    match expr:
        case i.Var(name=name) if name in at.packs:
            return True
        case i.Var(name=name) if name in at.lets:
            return is_list_value(at.lets[name], at)
        case i.Gather() | i.ListOf() | i.Part() | i.Call(function="unflatten") | i.Entries():
            return True
        case i.Select(then=then, otherwise=otherwise):
            return is_list_value(then, at) or is_list_value(otherwise, at)
        case i.Binary(op="union" | "difference"):
            return True
        case _:
            return False


def is_boolean(expr: i.Expr) -> bool:
    match expr:
        case i.Compare() | i.Logic() | i.Not() | i.Contains() | i.Given() | i.Word():
            return True
        case i.Const(value=value):
            return isinstance(value, bool)
        case i.Fold(op=op):
            return op in ("any", "all")
        case _:
            return False


# ---------------------------------------------------------------- cases


@dataclass(frozen=True, slots=True)
class ProofCase:
    """Conditions of a case, and the value that an atom has in it."""

    conditions: tuple[i.Expr, ...]
    number: int | None = None
    value: Poly = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProofCases:
    """One of these holds, at least; `alternatives` are what says so, if that was assumed."""

    cases: tuple[ProofCase, ...]
    alternatives: tuple[i.Expr, ...] = ()


def wins(name: str, each: i.Expr, arguments: tuple[i.Expr, ...]) -> tuple[i.Expr, ...]:
    """The conditions under which an argument is the maximum, or the minimum."""
    relation = ">=" if name == "max" else "<="
    return tuple(i.Compare(relation, each, other) for other in arguments if other is not each)


def alternative_cases(alternatives: tuple[i.Expr, ...]) -> ProofCases:
    return ProofCases(tuple(ProofCase((each,)) for each in alternatives), alternatives)
