"""What is known of an operator's integers: which are equal, not negative, below a bound.

Nothing here guesses: what is not proved counts as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from cvmgen.derive.polynomials import (
    Monomial,
    Polynomial,
    multiplied,
    normal_atom,
    over_atom,
    polynomial,
    put,
    scaled,
)
from cvmgen.derive.substitution import entry_of, equals_number, free_names, substitute
from cvmgen.functions import FUNCTIONS, OPPOSITE
from cvmgen.polynomials import plus, without
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.logic import conjuncts
from cvmgen.spec.printing import macros_of

MOST_EXPANSIONS = 8
MOST_MONOMIALS = 64


class DeclaredFacts:
    """What the declarations and the requirements of an operator say of its integers."""

    def __init__(self, items: Iterable[f.Item]) -> None:
        self.lets: dict[str, n.Expr] = {}
        self.least: dict[str, int] = {}  # attributes, entries of lists, extents that may be 0
        self.extents: set[str] = set()
        self.macros: dict[str, f.Definition] = {}
        self.equal: dict[n.Expr, tuple[n.Expr, f.Require]] = {}
        self.divided: list[tuple[Polynomial, Polynomial, f.Require]] = []
        self.nonzero: dict[str, f.Require] = {}  # lists without an entry 0
        self.below: dict[str, n.Expr] = {}  # indices from 0 to just before
        self.assumed: list[n.Expr] = []  # conditions under which proofs are asked for
        self.used: set[str] = set()  # names of lets and of requirements that proofs looked at
        for item in items:
            self.learn(item)

    def learn(self, item: f.Item) -> None:
        match item:
            case f.Let(name=name, value=value):
                self.lets[name] = value
            case f.Definition(name=name) if macros_of((item,)):
                self.macros[name] = item
            case f.Input(extents=extents, empty=True):
                self.least.update((each.new, 0) for each in extents if each.new)
            case f.Input(extents=extents):
                self.extents |= {each.new for each in extents if each.new}
            case f.Attribute(name=name, components=components, low=low, words=words):
                if isinstance(low, n.Number):
                    # With a word its numbers are 0.
                    least = min(low.value, 0) if words else low.value
                    self.least.update(dict.fromkeys((name, *components), least))
            case f.Require(condition=condition):
                for each in conjuncts(condition):
                    self.required(each, item)
            case _:
                pass

    def required(self, condition: n.Expr, item: f.Require) -> None:
        match condition:
            case n.Compare(
                relations=("==",),
                operands=(n.Arithmetic(sign="mod", left=left, right=right), n.Number(value=0)),
            ):
                self.divided.append((polynomial(left), polynomial(right), item))
            case n.Compare(relations=("==",), operands=(n.Ref() | n.Function() as left, right)):
                self.equal.setdefault(left, (right, item))
            case n.Reduction(function="all", binders=n.Binders(condition=None), body=body):
                for each in conjuncts(body):
                    match each:
                        case n.Compare(
                            relations=("!=",),
                            operands=(n.Item(sequence=n.Ref(name=name), index=n.Ref()), zero),
                        ) if equals_number(zero, 0) and speaks_of_all(condition, self.lets, name):
                            self.nonzero[name] = item
                        case _:
                            pass
            case _:
                pass

    # -------------------------------------------------------- equality

    def same(self, left: n.Expr, right: n.Expr) -> bool:
        gap = plus(polynomial(left), polynomial(right), -1)
        return any(not terms for terms in self.forms(gap))

    def forms(self, terms: Polynomial) -> Iterator[Polynomial]:
        """The polynomial, and what becomes of it as names are put for their values."""
        for _ in range(MOST_EXPANSIONS):
            terms = self.cancelled(terms)
            yield terms
            expanded = self.expanded(terms)
            if expanded == terms or len(expanded) > MOST_MONOMIALS:
                return
            terms = expanded

    def cancelled(self, terms: Polynomial) -> Polynomial:
        """`(a div b) * b` is `a` where b divides a."""
        total: Polynomial = {}
        for factors, coefficient in terms.items():
            total = plus(total, self.cancelled_in(factors), coefficient)
        return total

    def cancelled_in(self, factors: Monomial) -> Polynomial:
        for factor in factors:
            match factor:
                case n.Arithmetic(sign="div", left=left, right=right) if self.divides(right, left):
                    others = over_atom({without(factors, factor): 1}, right)
                    if others is not None:
                        return multiplied(polynomial(left), others)
                case _:
                    pass
        return {factors: 1}

    def divides(self, divisor: n.Expr, whole: n.Expr) -> bool:
        for left, right, item in self.divided:
            if (left, right) == (polynomial(whole), polynomial(divisor)):
                self.used |= free_names(item.condition)
                return True
        return False

    def expanded(self, terms: Polynomial) -> Polynomial:
        atoms = {factor for factors in terms for factor in factors}
        return put(terms, {each: self.value(each) for each in atoms})

    def value(self, factor: n.Expr) -> n.Expr:
        """What an atom stands for, one step further."""
        if factor in self.equal:
            value, item = self.equal[factor]
            self.used |= free_names(item.condition)
            return value
        match factor:
            case n.Ref(name=name) if name in self.lets:
                self.used.add(name)
                return self.lets[name]
            case n.Item(sequence=n.Ref(name=name), index=index, span=span) if name in self.lets:
                self.used.add(name)
                value = self.lets[name]
                return entry_of(value, index, span) if isinstance(value, n.Listing) else factor
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                known = self.decided(condition)
                return factor if known is None else then if known else otherwise
            case n.Function(name="len", arguments=(n.Ref(name=name),)) if name in self.lets:
                return self.length(self.lets[name]) or factor
            case n.Function(name="len", arguments=(n.Listing() as listing,)):
                return self.length(listing) or factor
            case _:
                return factor

    def length(self, sequence: n.Expr) -> n.Expr | None:
        """How many entries a list has, where that is written."""
        match sequence:
            case n.Listing(
                binders=n.Binders(items=(n.IndexRange(low=low, high=high),), condition=None)
            ) if equals_number(low, 0):
                return high
            case n.Ref(span=span):
                return n.Function("len", (sequence,), span)
            case _:
                return None

    def is_set(self, expr: n.Expr) -> bool:
        """Whether a collection has each of its elements once."""
        match expr:
            case n.SetOf():
                return True
            case n.Ref(name=name) if name in self.lets:
                return self.is_set(self.lets[name])
            case n.Arithmetic(left=left):
                return self.is_set(left)
            case n.Conditional(then=then, otherwise=otherwise):
                return self.is_set(then) and self.is_set(otherwise)
            case _:
                return False

    # -------------------------------------------------------- signs and bounds

    def at_least(self, expr: n.Expr, least: int) -> bool:
        """Whether an expression is proved to be `least` (0 or 1) or more."""
        found = self.lower(expr)
        if found is not None and found >= least:
            return True
        match expr:
            case n.Arithmetic(sign="+" | "-", span=span):
                return self.is_below(n.Negate(expr, span), n.Number(1 - least, span))
            case _:
                return False

    def lower(self, expr: n.Expr) -> int | None:
        """A number that the expression is proved not to be below: 0, 1, or more for numbers."""
        match expr:
            case n.Number(value=value):
                return value if value >= 0 else None
            case n.Ref(name=name) if name in self.below:
                return 0
            case n.Ref(name=name) | n.Item(sequence=n.Ref(name=name)) if name in self.extents:
                return 1
            case n.Item(sequence=n.Part(sequence=n.Ref(name=name))) if name in self.extents:
                return 1
            case n.Item(sequence=n.Ref(name=name)) if name in self.below:
                return 0
            case n.Ref(name=name) | n.Item(sequence=n.Ref(name=name)) if name in self.least:
                return self.least[name] if self.least[name] >= 0 else None
            case n.Ref(name=name) | n.Item(sequence=n.Ref(name=name)) if name in self.lets:
                known = self.value(expr)
                return None if known == expr else self.lower(known)
            case n.Arithmetic(sign="+" | "*" | "div" | "mod" as sign, left=left, right=right):
                ends = self.lower(left), self.lower(right)
                if sign == "div" and None not in ends and all(ends) and self.divides(right, left):
                    return 1
                return least_of(sign, *ends)
            case n.Conditional(then=then, otherwise=otherwise):
                both = (self.lower(then), self.lower(otherwise))
                return None if None in both else min(each for each in both if each is not None)
            case n.Function(name="len" | "size" | "count" | "flatten_index"):
                return 0
            case n.Apply(name=name) if name in self.macros:
                return self.lower(self.applied(expr))
            case n.Function(name="max", arguments=arguments):
                return max(
                    (each for each in map(self.lower, arguments) if each is not None), default=None
                )
            case _:
                return None

    def applied(self, expr: n.Apply) -> n.Expr:
        """What a definition gives for its arguments."""
        macro = self.macros[expr.name]
        names = (name for name, _ in macro.parameters)
        given = dict(zip(names, expr.arguments, strict=True))
        return substitute(macro.body, given)  # type: ignore[no-any-return]

    def cap(self, high: n.Expr) -> n.Expr:
        """The end of a range, or of several ends, all of which it observes, a simple one."""
        match high:
            case n.Apply(name=name) if name in self.macros:
                found = self.cap(self.applied(high))
                return found if isinstance(found, n.Ref) else high
            case n.Function(name="min", arguments=arguments):
                return next((each for each in arguments if isinstance(each, n.Ref)), high)
            case _:
                return high

    def not_zero(self, expr: n.Expr) -> bool:
        match expr:
            case n.Number(value=value):
                return value != 0
            case n.Item(sequence=n.Ref(name=name)) if name in self.nonzero:
                self.used |= free_names(self.nonzero[name].condition)
                return True
            case _:
                return self.at_least(expr, 1)

    def is_below(self, expr: n.Expr, high: n.Expr) -> bool:
        """Whether `expr < high` is proved."""
        match expr, high:
            case _, n.Function(name="max", arguments=arguments):
                return any(self.is_below(expr, each) for each in arguments)
            case (
                n.Function(name="flatten_index", arguments=(n.Ref(name=name), box)),
                n.Function(name="size") as size,
            ) if self.below.get(name) == box and self.same(replace(size, arguments=(box,)), size):
                return True
            case _:
                pass
        most = self.upper(polynomial(expr))
        if most is None:
            return False
        one: Polynomial = {(): -1}
        room = plus(plus(polynomial(high), most, -1), one)
        return any(self.all_nonnegative(terms) for terms in self.forms(room))

    def all_nonnegative(self, terms: Polynomial) -> bool:
        return all(
            coefficient > 0 and all(self.at_least(each, 0) for each in factors)
            for factors, coefficient in terms.items()
        )

    def upper(self, terms: Polynomial) -> Polynomial | None:
        """An upper bound without the indices whose range is known."""
        total: Polynomial = {}
        for factors, coefficient in terms.items():
            most = self.upper_of(factors, coefficient)
            if most is None:
                return None
            total = plus(total, most)
        return total

    def upper_of(self, factors: Monomial, coefficient: int) -> Polynomial | None:
        ends = [self.most(factor) for factor in factors]
        if not any(end is not None for end in ends):
            return {factors: coefficient}
        if not all(self.at_least(factor, 0) for factor in factors):
            return None
        product: Polynomial = {(): coefficient} if coefficient > 0 else {}
        for factor, end in zip(factors, ends, strict=True):
            product = multiplied(product, {(factor,): 1} if end is None else end)
        return product

    def most(self, factor: n.Expr) -> Polynomial | None:
        """The greatest value of an index, of one divided, of a remainder; None for others."""
        minus_one: Polynomial = {(): -1}
        match factor:
            case n.Ref(name=name) if name in self.below:
                return plus(polynomial(self.below[name]), minus_one)
            case n.Item(sequence=n.Ref(name=name), index=index) if name in self.below:
                extent = entry_of(self.below[name], index, factor.span)
                return plus(polynomial(extent), minus_one)
            case n.Arithmetic(sign="div", left=n.Ref(name=name), right=right) if (
                name in self.below and self.at_least(right, 1)
            ):
                parts = self.split_evenly(self.below[name], right)
                return None if parts is None else plus(parts, minus_one)
            case n.Arithmetic(sign="mod", right=right) if self.at_least(right, 1):
                return plus(polynomial(right), minus_one)
            case _:
                return None

    def split_evenly(self, whole: n.Expr, by: n.Expr) -> Polynomial | None:
        """`whole div by` where `by` is a factor of `whole`, with as few names put as needed."""
        tried = [polynomial(whole)]
        for terms in tried:
            parts = over_atom(self.cancelled(terms), normal_atom(by))
            if parts is not None:
                return parts
            if len(tried) < MOST_MONOMIALS:
                tried += (each for each in self.steps(terms) if each not in tried)
        return None

    def simplest(self, expr: n.Expr) -> n.Expr:
        """The expression under what is assumed: branches taken, factors of 1 left out."""
        match expr:
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                known = self.decided(condition)
                if known is None:
                    return expr
                return self.simplest(then if known else otherwise)
            case n.Arithmetic(sign="*", left=left, right=right):
                left, right = self.simplest(left), self.simplest(right)
                if self.same(left, n.Number(1, expr.span)):
                    return right
                if self.same(right, n.Number(1, expr.span)):
                    return left
                return replace(expr, left=left, right=right)
            case _:
                return expr

    def steps(self, terms: Polynomial) -> Iterator[Polynomial]:
        """The polynomial with one of its atoms put for what it stands for."""
        for one in {factor for factors in terms for factor in factors}:
            value = self.value(one)
            if value != one:
                yield put(terms, {one: value})

    # -------------------------------------------------------- conditions

    @contextmanager
    def assuming(self, condition: n.Expr) -> Iterator[None]:
        self.assumed.append(condition)
        try:
            yield
        finally:
            self.assumed.pop()

    def decided(self, condition: n.Expr) -> bool | None:
        """Whether a condition holds under what is assumed, if that tells."""
        assumed = [normal_comparison(each) for each in self.assumed]
        if normal_comparison(condition) in assumed:
            return True
        return False if normal_comparison(opposite(condition)) in assumed else None


def speaks_of_elements(condition: n.Expr) -> bool:
    """Whether a condition may be one of real numbers, where nan compares with nothing."""
    for each in n.walk(condition):
        match each:
            case n.Access() | n.Apply() | n.Real() | n.Limit():
                return True
            case n.Function(name=name) if FUNCTIONS[name].result == "real":
                return True
            case _:
                pass
    return False


def opposite(condition: n.Expr) -> n.Expr:
    """The condition that holds where this one does not."""
    match condition:
        case n.Not(operand=operand):
            return operand
        case n.Compare(relations=(relation,)) if relation in ("==", "!=") or not speaks_of_elements(
            condition
        ):
            return replace(condition, relations=(OPPOSITE[relation],))
        case _:
            return n.Not(condition, condition.span)


def normal_comparison(condition: n.Expr) -> object:
    """Comparisons of indices in a form in which equal ones are equal."""
    match condition:
        case n.Compare(relations=(relation,), operands=(left, right)) if not speaks_of_elements(
            condition
        ):
            pass
        case _:
            return condition
    if relation in ("<", "<="):
        left, right = right, left
    terms = plus(polynomial(left), polynomial(right), -1)
    if relation in ("<", ">"):
        terms = plus(terms, {(): -1})
    if relation in ("==", "!="):
        return relation, frozenset({frozenset(terms.items()), frozenset(scaled(terms, -1).items())})
    return ">=", frozenset(terms.items())


def speaks_of_all(condition: n.Reduction, lets: Mapping[str, n.Expr], name: str) -> bool:
    """Whether `all[i < N](...)` speaks of every entry of the list `name`, made for i < N."""
    made = lets.get(name)
    match condition.binders.items, made:
        case (
            (n.IndexRange(low=low, high=high),),
            n.Listing(binders=n.Binders(items=(n.IndexRange(low=first, high=last),))),
        ):
            return equals_number(low, 0) and equals_number(first, 0) and high == last
        case _:
            return False


def least_of(sign: str, left: int | None, right: int | None) -> int | None:
    """The least value of a sum, product, quotient or remainder of values that are not below."""
    if left is None or right is None:
        return 0 if sign == "mod" and right else None
    match sign:
        case "+":
            return left + right
        case "*":
            return left * right
        case _:
            return 0 if right >= 1 else None
