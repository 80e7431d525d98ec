"""What follows from a condition that holds, and from where a value comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from cvmgen import polynomials as p
from cvmgen.dtypes import CVM, MAX_RANK, DType
from cvmgen.functions import OPPOSITE, REAL_FUNCTIONS
from cvmgen.inside.binding import canonical, with_free_values
from cvmgen.inside.knowledge import ForAll, Forms, Knowledge, frozen, is_boolean
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.polynomials import Poly
from cvmgen.spec.formula import Operator

MOST_UNFOLDED = 6  # sets of sets of ...: what each one asks twice doubles with each


def range_test(value: i.Expr, low: i.Expr, high: i.Expr) -> i.Expr:
    """low <= value < high, as far as it is not to be seen."""
    match low, value:
        case i.Const(value=least), i.Const(value=number) if least <= number:
            return i.Compare("<", value, high)
        case _:
            pass
    return i.Logic("and", (i.Compare("<=", low, value), i.Compare("<", value, high)))


def in_range(value: i.Expr, low: i.Expr | None, high: i.Expr) -> i.Expr:
    """That a value is one of what a loop or a range goes through: of a list, without `low`."""
    return i.Contains(value, high) if low is None else range_test(value, low, high)


def order_test(low: i.Expr, high: i.Expr, length: i.Expr) -> i.Expr:
    """0 <= low <= high <= length, as far as it is not to be seen."""
    pairs = ((i.ZERO, low), (low, high), (high, length))
    wanted = tuple(i.Compare("<=", one, other) for one, other in pairs if one != other)
    return i.Logic("and", wanted) if wanted else i.Const(True)


class Assumptions(Forms):
    """Takes conditions apart into facts."""

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.operator = operator
        self.reals = operator.has_reals
        self.witnesses: dict[object, i.Var] = {}
        self.unfolded = 0  # memberships of which it is being looked at what they mean

    def assume(self, at: Knowledge, condition: i.Expr, truth: bool = True) -> Knowledge:
        """What is known where a condition holds, or does not."""
        key = canonical(condition)
        at = replace(at, truths={**at.truths, key: truth})
        match condition:
            case i.Const(value=value):
                return at if bool(value) == truth else replace(at, impossible=True)
            case i.Not(operand=operand):
                return self.assume(at, operand, not truth)
            case i.Bind(name=name, value=value, body=body):
                written = with_free_values(body, {name: value})
                return at if at.is_large(condition) else self.assume(at, written, truth)
            case i.Logic(op="and" | "or" as op, operands=operands):
                if (op == "and") == truth:
                    for each in operands:
                        at = self.assume(at, each, truth)
                    return at
                other = tuple(self.opposite(each, at) for each in operands)
                return self.one_of(at, operands if truth else other)
            case i.Select(condition=test, then=then, otherwise=otherwise):
                chosen = [each if truth else self.opposite(each, at) for each in (then, otherwise)]
                first = i.Logic("and", (test, chosen[0]))
                second = i.Logic("and", (self.opposite(test, at), chosen[1]))
                return self.one_of(at, (first, second))
            case i.Compare(op="==" | "!=" as op, left=left, right=right) if is_boolean(
                left
            ) or is_boolean(right):
                same = (op == "==") == truth
                both = i.Logic("and", (left, right if same else i.Not(right)))
                neither = i.Logic("and", (i.Not(left), i.Not(right) if same else right))
                return self.one_of(at, (both, neither))
            case i.Compare(op=op) if self.of_integers(condition, at):
                return self.compared(at, condition, truth)
            case i.Contains(element=element, collection=collection):
                return self.contained(at, element, collection, truth)
            case i.Fold(op="all" | "any" as op) if (op == "all") == truth:
                return self.quantified(at, condition, condition.element, truth)
            case _:
                return at

    def one_of(self, at: Knowledge, conditions: tuple[i.Expr, ...]) -> Knowledge:
        return replace(at, either=(*at.either, conditions))

    def of_integers(self, test: i.Compare, at: Knowledge) -> bool:
        sides = (test.left, test.right)
        if any(is_boolean(each) for each in sides):
            return False
        return not (self.reals and any(self.is_real(each, at) for each in sides))

    def is_real(self, expr: i.Expr, at: Knowledge) -> bool:
        """Whether a value may be a real number, of which the negation of < is not >=."""
        match expr:
            case i.Real() | i.Limit() | i.Binary(op="over"):
                return True
            case i.Var(name=name):
                return name in at.lets and self.is_real(at.lets[name], at)
            case i.Access(tensor=tensor):
                rows = self.operator.choices
                return any(row[tensor].kind == "real" for row in rows if tensor in row)
            case i.Call(function=function):
                if function in REAL_FUNCTIONS:
                    return function not in ("int", "isnan", "order")
                return any(self.is_real(each, at) for each in expr.arguments)
            case i.Bind(name=name, value=value, body=body):
                return self.is_real(body, at.let(name, value))
            case i.Select(then=then, otherwise=otherwise):
                return self.is_real(then, at) or self.is_real(otherwise, at)
            case i.Binary(left=left, right=right):
                return self.is_real(left, at) or self.is_real(right, at)
            case i.Fold(op=op, element=element):
                return op != "count" and self.is_real(element, at)
            case _:
                return False

    def opposite(self, condition: i.Expr, at: Knowledge) -> i.Expr:
        """The negation; of a comparison of reals, which NaN may be, not by another relation."""
        match condition:
            case i.Compare(op=op, left=left, right=right) if self.of_integers(condition, at):
                return i.Compare(OPPOSITE[op], left, right)
            case i.Not(operand=operand):
                return operand
            case _:
                return i.Not(condition)

    def named(self, name: str, what: object) -> i.Var:
        """A name of its own for a value that is known to exist, the same one each time."""
        if what not in self.witnesses:
            self.witnesses[what] = self.fresh(name)
        return self.witnesses[what]

    # -------------------------------------------------------- comparisons

    def compared(self, at: Knowledge, test: i.Compare, truth: bool) -> Knowledge:
        left, right = self.poly(test.left, at), self.poly(test.right, at)
        match test.op if truth else OPPOSITE[test.op]:
            case "<":
                return self.fact(at, p.shifted(p.minus(right, left), -1))
            case "<=":
                return self.fact(at, p.minus(right, left))
            case ">":
                return self.fact(at, p.shifted(p.minus(left, right), -1))
            case ">=":
                return self.fact(at, p.minus(left, right))
            case "==":
                at = self.fact(at, p.minus(left, right))
                return self.fact(at, p.minus(right, left))
            case _:
                one, other = self.expr(left), self.expr(right)
                apart = (i.Compare("<", one, other), i.Compare(">", one, other))
                return self.one_of(at, apart)

    def fact(self, at: Knowledge, poly: Poly) -> Knowledge:
        """A polynomial that is at least 0."""
        poly = p.tightened(poly)
        value, key = p.value_of(poly), frozen(poly)
        if value is not None:
            return at if value >= 0 else replace(at, impossible=True)
        if key in at.known:
            return at
        at = replace(at, facts=(*at.facts, poly), known=at.known | {key})
        return self.none_counted(at, poly)

    def none_counted(self, at: Knowledge, poly: Poly) -> Knowledge:
        """Of a count that is at most 0, nothing that is counted is there."""
        rest = {each: value for each, value in poly.items() if each != p.ONE}
        match list(rest.items()):
            case [((number,), value)] if value < 0 and poly.get(p.ONE, 0) < -value:
                match self.atoms[number]:
                    case i.Fold(op="count") as fold:
                        return self.quantified(at, fold, fold.element, False)
                    case i.Call(function="len", arguments=(i.Var() as collection,)):
                        each = self.named("each", collection).name
                        over = i.Over(each, None, collection)
                        never = ForAll(over, None, i.Const(False), True)
                        return replace(at, every=(*at.every, never))
                    case _:
                        pass
        return at

    def quantified(self, at: Knowledge, fold: i.Fold, body: i.Expr, truth: bool) -> Knowledge:
        """A condition for all values of an index; of several, one after the other."""
        match fold.over:
            case (i.Over() as over,):
                return replace(at, every=(*at.every, ForAll(over, fold.condition, body, truth)))
            case (i.Over() as over, *more):
                inner = replace(fold, op="all" if truth else "any", over=tuple(more), element=body)
                return replace(at, every=(*at.every, ForAll(over, None, inner, truth)))
            case _:
                return at

    # -------------------------------------------------------- members

    def contained(
        self, at: Knowledge, element: i.Expr, collection: i.Expr, truth: bool
    ) -> Knowledge:
        member = self.member(element, collection, at)
        at = replace(at, truths={**at.truths, member: truth})
        if self.unfolded == MOST_UNFOLDED:
            return at
        self.unfolded += 1
        found = self.membership(element, collection, at, given=truth)
        at = at if found is None else self.assume(at, found, truth)
        self.unfolded -= 1
        return at

    def member(self, element: i.Expr, collection: i.Expr, at: Knowledge) -> i.Contains:
        """`element in collection` in one form."""
        named = self.collection(collection, self.listed(collection, at), at)
        return i.Contains(self.expr(self.poly(element, at)), named)

    def membership(
        self, element: i.Expr, collection: i.Expr, at: Knowledge, *, given: bool
    ) -> i.Expr | None:
        """What membership means; None where it is not told.

        Where it is `given`, a member that is made of an index is made of one value of it: a name
        of its own. Otherwise only what says exactly the same will do.
        """
        match self.listed(collection, at):
            case i.Gather(element=made, over=(i.Over() as over,), condition=condition):
                index = i.Var(over.index)
                if made != index and not given:
                    return None
                value: i.Expr = element
                if made != index:
                    value = self.named(over.index, (element, self.listed(collection, at)))
                tests = [in_range(value, over.low, over.high)]
                if condition is not None:
                    tests.append(with_free_values(condition, {over.index: value}))
                if made != index:
                    tests.append(
                        i.Compare("==", element, with_free_values(made, {over.index: value}))
                    )
                return i.Logic("and", tuple(tests))
            case i.Binary(op="union", left=left, right=right):
                return i.Logic("or", (i.Contains(element, left), i.Contains(element, right)))
            case i.Binary(op="difference", left=left, right=right):
                kept = i.Contains(element, left), i.Not(i.Contains(element, right))
                return i.Logic("and", kept)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                parts = (i.Contains(element, each) for each in (then, otherwise))
                return i.Select(condition, *parts)
            case i.ListOf(entries=entries) if not any(spread for _, spread in entries):
                tests = [i.Compare("==", element, value) for value, _ in entries]
                return i.Logic("or", tuple(tests)) if tests else i.Const(False)
            case i.Var(name=name) if given:
                return self.of_attribute(element, name)
            case i.Entries() as entries if given:
                return self.listed_entry(element, entries)
            case _:
                return None

    def of_attribute(self, value: i.Expr, name: str) -> i.Expr | None:
        """The declared range of the entries of an attribute."""
        return None

    def listed_entry(self, value: i.Expr, entries: i.Entries) -> i.Expr | None:
        """What is known of the entries of a selected list."""
        first = entries.first
        assert isinstance(first, i.Access)
        place = self.named("place", (value, entries))
        index = (*first.index[:-1], (place, False))
        access = i.Access(first.tensor, first.which, index)
        inside = range_test(place, i.ZERO, entries.length)
        known = (inside, i.Compare("==", value, access))
        origin = self.of_stored(access, value)
        return i.Logic("and", known if origin is None else (*known, origin))

    def of_stored(self, access: i.Access, value: i.Expr) -> i.Expr | None:
        """Where an element of a selected list, with this value, comes from."""
        return None

    # -------------------------------------------------------- indices

    def enter(self, at: Knowledge, over: i.Over | i.OverPack) -> Knowledge:
        """What is known below a binder; its name must be new there."""
        match over:
            case i.Over(index=index, low=None, high=members):
                return self.contained(at, i.Var(index), members, True)
            case i.Over(index=index, low=low, high=high):
                assert low is not None
                return self.assume(at, range_test(i.Var(index), low, high))
            case i.OverPack(pack=pack, extents=extents, slots=slots):
                return at.pack(pack, extents, slots)

    # -------------------------------------------------------- what atoms say of themselves

    def told(self, number: int, at: Knowledge) -> Iterator[Poly | i.Expr]:
        """Facts that hold for an atom wherever it has a value: polynomials, or conditions."""
        atom, expr = p.atom(number), self.atoms[number]
        low = self.least(expr, at)
        if low is not None:
            yield p.shifted(atom, -low)
        match expr:
            case i.Call(function="max", arguments=arguments):
                yield from (p.minus(atom, self.poly(each, at)) for each in arguments)
            case i.Call(function="min", arguments=arguments):
                yield from (p.minus(self.poly(each, at), atom) for each in arguments)
            case i.Call(function="abs", arguments=(operand,)):
                value = self.poly(operand, at)
                yield p.minus(atom, value)
                yield p.plus(atom, value)
            case i.Call(function="isqrt", arguments=(operand,)):
                yield p.minus(self.poly(operand, at), atom)
            case i.Binary(op="bitand", left=left, right=right):
                for each in (left, right):
                    if self.is_natural(each, at):
                        yield atom
                        yield p.minus(self.poly(each, at), atom)
            case i.Call(function="len", arguments=(i.Var(name=name),)) if name in self.ranks:
                yield p.shifted(p.minus({}, atom), MAX_RANK)
            case i.Item(sequence=i.Var(name=name), index=index) if name in at.packs:
                yield from self.of_pack(expr, at.packs[name], index, at)
            case i.Item(sequence=i.Var(name=name) as sequence):
                found = self.of_attribute(expr, name)
                if found is not None:
                    yield found
                elif (made := self.made(sequence, expr.index, at)) is not None:
                    if not isinstance(made, i.Select):
                        yield p.minus(atom, self.poly(made, at))
                        yield p.minus(self.poly(made, at), atom)
                elif name in at.lets:
                    yield i.Contains(expr, sequence)
            case i.Item(sequence=i.Binary() | i.Gather() as sequence):
                yield i.Contains(expr, sequence)
            case i.Access():
                found = self.of_stored(expr, expr)
                if found is not None:
                    yield found
                yield from self.of_element(expr, at)
            case i.Fold():
                yield from self.of_chosen(expr, expr)
            case i.Var(name=name) if isinstance(fold := at.lets.get(name), i.Fold):
                yield from self.of_chosen(expr, fold)
            case _:
                pass

    @staticmethod
    def of_chosen(value: i.Expr, fold: i.Fold) -> Iterator[i.Expr]:
        """The greatest or the least index of which a test holds, or what stands for none."""
        match fold:
            case i.Fold(
                op="max" | "min",
                element=i.Select(condition=test, then=i.Var(name=name), otherwise=none),
                over=(i.Over(index=index, low=low, high=high),),
                condition=None,
            ) if name == index and low is not None and index not in names_in(none):
                is_none = i.Compare("==", value, none)
                for each in (range_test(value, low, high), with_free_values(test, {index: value})):
                    yield i.Logic("or", (is_none, each))
            case _:
                pass

    def is_natural(self, expr: i.Expr, at: Knowledge) -> bool:
        """Whether a value is plainly not negative: a sum of what is not below its ends."""
        total = 0
        for monomial, times in self.poly(expr, at).items():
            ends = [self.least(self.atoms[number], at) for number in monomial]
            if (times < 0 and monomial) or any(end is None or end < 0 for end in ends):
                return False
            total += times * prod(end for end in ends if end is not None)
        return total >= 0

    def of_pack(
        self,
        entry: i.Expr,
        binders: Iterable[tuple[i.Expr, i.Expr | None]],
        index: i.Expr,
        at: Knowledge,
    ) -> Iterator[Poly | i.Expr]:
        """An entry of a multi-index is below its extent, wherever it was bound."""
        cases: list[i.Expr] = []
        for extents, slots in binders:
            if slots is None:
                cases.append(i.Compare("<", entry, self.expr(self.entry(extents, index, at))))
                continue
            match self.listed(extents, at):
                case i.Gather("list", element, (i.Over(name, None, members),), None) if (
                    members == slots
                ):
                    below = i.Compare("<", entry, with_free_values(element, {name: index}))
                    cases.append(i.Logic("and", (i.Contains(index, slots), below)))
                case _:
                    cases.append(i.Const(True))
        yield cases[0] if len(cases) == 1 else i.Logic("or", tuple(cases))

    def of_element(self, access: i.Access, at: Knowledge) -> Iterator[Poly | i.Expr]:
        """The values that the type of a tensor holds."""
        kind = self.operator.type_of.get(access.tensor)
        if kind is None:
            return
        if kind == CVM:
            low, high = -(1 << 31), (1 << 31) - 1
        else:
            rows = self.operator.choices
            types: list[DType] = [row[access.tensor] for row in rows if access.tensor in row]
            if not types or any(each.kind == "real" for each in types):
                return
            ends = [(each.low, each.high) for each in types]
            low, high = min(low for low, _ in ends), max(high for _, high in ends)
        value = self.poly(access, at)
        yield p.shifted(value, -low)
        yield p.shifted(p.minus({}, value), high)

    def least(self, expr: i.Expr, at: Knowledge) -> int | None:
        """A constant below a value that its form alone tells."""
        match expr:
            case i.Var(name=name):
                return self.down_to.get(name)
            case i.Item(sequence=i.Var(name=name)) if name in self.down_to:
                return self.down_to[name]
            case i.Item(sequence=i.Var(name=name)) if name in at.packs:
                return 0
            case i.Item(sequence=i.Item(sequence=i.Var(name=name))) if name in self.down_to:
                return self.down_to[name]
            case i.Call(function="len", arguments=(i.Var(name=name),)):
                return self.ranks.get(name, 0)
            case i.Call(function="len", arguments=(i.Item(sequence=i.Var(name=name)),)):
                return self.ranks.get(name, 0)
            case i.Call(function="size", arguments=(sequence,)):
                return self.least_of_list(sequence)
            case i.Call(function="len" | "abs" | "floor_log2" | "ceil_log2" | "isqrt"):
                return 0
            case i.Call(function="flatten_index" | "count"):
                return None
            case i.Binary(op="shl", left=i.Const(value=1)):
                return 1
            case i.Fold(op="count"):
                return 0
            case i.Fold(op="sum" | "prod", element=element):
                low = self.least(element, at)
                return 0 if low is not None and low >= 0 else None
            case _:
                return None

    def least_of_list(self, sequence: i.Expr) -> int | None:
        """A constant below every entry of a list of extents, and so below their product."""
        match sequence:
            case i.Var(name=name):
                return self.down_to.get(name)
            case i.Item(sequence=i.Var(name=name)):
                return self.down_to.get(name)
            case i.Part(sequence=whole):
                return self.least_of_list(whole)
            case _:
                return None

    down_to: dict[str, int]  # extents and lists of them, counts, words: their least values
    ranks: dict[str, int]  # lists of extents: how many there are at least
