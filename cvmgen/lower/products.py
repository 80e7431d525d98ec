"""C: sums of products of two inputs, each by itself, as the register tile makes them.

    sum[k < K]((X[n, k] - z) * (W[j, k] - v[j])) + sum[k < H](h[n, k] * R[j, k])

is the sum of products of X - z and W, less v times the sum of X - z, plus that of products of h and
R: over the integers a sum of sums of products is the sum of the sums, whatever the condition on its
indices, and what does not depend on these is a factor of all of it. A zero point that is the same
for all results stays with one of the factors, as the tile takes it. One sum of products stays with
the result. Each other sum is memory of the call, filled in front by a nest of its own, with an
element for each value of those indices of the result that it depends on; what has elements of one
input alone has to depend on fewer of these than the result, so that it costs little beside the
products. Nothing is summed where it is multiplied with a number that is 0 for all results, as most
zero points of weights are.

Sums of products of real numbers, each in its order, become memory as they are where a result has
several of them, or gives one to a function that is made of many numbers at once.

The terms are those of a formula whose places are proved to be inside, and each is evaluated for
the same indices as before, in integers that hold all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from cvmgen import algebra
from cvmgen.dtypes import CVM, INT8, UINT8
from cvmgen.functions import ELEMENTARY
from cvmgen.ir import nodes as i
from cvmgen.ir.host import insert
from cvmgen.ir.loops import bound_name
from cvmgen.ir.uses import has, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, replaced, substitute
from cvmgen.lower.list_nests import box_size
from cvmgen.lower.scans import perfect
from cvmgen.lower.widths import Widths, host_ranges

Factors = tuple[i.Expr, ...]
REALS = ("float32", "float64")
MOST_TERMS = 8
WIDEST = 104  # bits of an integer that a kernel computes


def part_products(program: i.Program) -> i.Program:
    """Of several sums of products in a result all but one become memory of the call.

    So do products of more than two elements, but for two of them.
    """
    factors, reals = factor_names(program), real_names(program)
    if len(factors) < 2 and len(reals) < 2:
        return program
    parts = Parts(program, factors, reals)
    nests = [each for nest in program.nests for each in parts.nest(nest)]
    if not parts.memory:
        return replace(program, nests=tuple(nests))
    prepare = insert(program.prepare, parts.sizes)
    memory = (*program.scratch, *parts.memory)
    found = replace(program, prepare=prepare, nests=tuple(nests), scratch=memory)
    return program if _too_wide(found) else found


def _too_wide(program: i.Program) -> bool:
    """Whether a kernel could not compute a sum of sums, which may need some bits more."""
    host, reals = host_ranges(program), dict.fromkeys(program.operator.real_attributes)
    for nest in program.nests:
        if not has(nest.body, i.Sort):
            widths = Widths(program, nest, host)
            widths.names.update(reals)
            if not widths.largest().fits(WIDEST):
                return True
    return False


def factor_names(program: i.Program) -> frozenset[str]:
    """The inputs whose elements may have 8 bits, of known ranks."""
    return frozenset(
        each.name
        for each in program.operator.inputs
        if may_have_8_bits(program, each.dtype)
        and not (each.optional or each.variadic or any(extent.pack for extent in each.extents))
    )


def may_have_8_bits(program: i.Program, type_name: str) -> bool:
    """Whether elements of a type, or of one that a type parameter stands for, may have 8 bits."""
    types = program.operator.types
    rows = range(len(types.rows)) if type_name in types.names else ()
    found = {types.dtype(type_name, row) for row in rows}
    return type_name in (CVM, INT8.name, UINT8.name) or not found.isdisjoint((INT8, UINT8))


def real_names(program: i.Program) -> frozenset[str]:
    """The inputs of real numbers, of known ranks, and the lets in memory that have some."""
    inputs = {
        each.name
        for each in program.operator.inputs
        if each.dtype in REALS
        and not (each.optional or each.variadic or any(extent.pack for extent in each.extents))
    }
    return frozenset(inputs | {name for name, each in program.lets.items() if each.kind == "real"})


@dataclass(frozen=True, slots=True)
class ProductTerm:
    """A product in a sum: what depends on the indices of the sum, and what does not."""

    summed: Factors
    others: Factors


class Parts:
    """The nests with their sums apart, and the memory of those that are."""

    def __init__(self, program: i.Program, factors: frozenset[str], reals: frozenset[str]) -> None:
        self.program, self.factors, self.reals = program, factors, reals
        self.host = host_ranges(program)
        self.memory: list[i.Scratch] = []
        self.sizes: dict[int | None, list[i.Stmt]] = {}
        self.taken = {name for each in program.nests for name in names_in(each.body)}
        self.taken |= set(names_in(program.prepare)) | set(program.operator.type_of)
        self.taken |= {each.name for each in program.scratch}

    def nest(self, nest: i.Nest) -> Iterator[i.Nest]:
        """The nests that fill memory for a nest, and that nest."""
        loops, store = perfect(nest.body)
        if store is None or nest.each is not None or not loops or nest.guarded is not None:
            yield nest
            return
        own = Results(self, nest, loops, store)
        value = own.value()
        yield from own.nests
        if value == store.value:
            yield nest
            return
        body: i.Block = (replace(store, value=value),)
        for loop in reversed(loops):
            body = (replace(loop, body=body),)
        yield replace(nest, body=body)


class Results:
    """One nest: `kept` is the sum of products that stays."""

    def __init__(
        self, parts: Parts, nest: i.Nest, loops: tuple[i.Loop, ...], store: i.Store
    ) -> None:
        self.parts, self.of, self.loops, self.store = parts, nest, loops, store
        self.nests: list[i.Nest] = []
        self.kept: i.Expr | None = None
        self.names: dict[i.Expr, i.Expr] = {}

    def value(self) -> i.Expr:
        """What is stored, with its sums apart; as it is, where one sum of products is all."""
        value = _with_places(self.store.value)
        folds = outer_sums(value)
        if ordered := [each for each in folds if self.is_ordered(each)]:
            alone = len(ordered) == 1 and not any(map(is_of_many, nodes_in(value, i.Call)))
            places = {} if alone else {each: self.in_memory(each, "real") for each in ordered}
            return (
                replaced(value, lambda node: places.get(node, node)) if places else self.store.value
            )
        terms = {fold: self.terms(fold) for fold in folds}
        terms = {fold: found for fold, found in terms.items() if found}
        products = [*terms]
        if not products:
            return self.store.value
        if len(products) == 1 and is_plain(products[0], terms):
            return value if self.divides_for_all(products[0]) else self.store.value
        return replaced(value, lambda node: self.sum(node, terms))

    def divides_for_all(self, fold: i.Fold) -> bool:
        """Whether a condition has a quotient that is the same for all results: a place named with
        one would be found only where the tests in front of it hold."""
        indices = {loop.index for loop in self.loops} | {bound_name(each) for each in fold.over}
        quotients = (each for each in nodes_in(fold.condition, i.Binary) if each.op == "floordiv")
        return any(not names_in(each) & indices for each in quotients)

    def sum(self, node: Any, terms: Mapping[i.Fold, list[ProductTerm] | None]) -> Any:
        found = terms.get(node) if isinstance(node, i.Fold) else None
        if not found:
            return node
        return algebra.total([self.part(node, term) for term in found])

    def part(self, fold: i.Fold, term: ProductTerm) -> i.Expr:
        """The sum of one term: a product of sums, or how many there are."""
        if not term.summed:
            return algebra.product([*term.others, *(_distance(each) for each in fold.over)])
        part = replace(fold, element=_joined(term.summed))
        if self.kept is None and len(term.summed) == 2:
            self.kept = part
        if len(term.summed) == 1:
            part = self.unless_zero(part, term.others)
        value: i.Expr = part if part == self.kept else self.in_memory(part)
        return _joined((*term.others, value))

    def unless_zero(self, fold: i.Fold, others: Factors) -> i.Fold:
        """A sum that is 0 where it is multiplied with 0 for all results."""
        _, factors = number_and_others(others)
        if not factors or self.free(factors):
            return fold
        test: i.Expr = i.Compare("!=", _joined(factors), i.ZERO)
        if fold.condition is not None:
            test = i.Logic("and", (test, fold.condition))
        return replace(fold, condition=test)

    def is_product(self, term: ProductTerm) -> bool:
        """Whether two inputs are multiplied, whose elements different indices of the result lead
        to."""
        match _elements_of(term.summed):
            case (i.Access(tensor=first) as one, i.Access(tensor=second) as other):
                mine, others = self.whole(one), self.whole(other)
                return first != second and bool(mine - others and others - mine)
            case _:
                return False

    def is_ordered(self, fold: i.Fold) -> bool:
        """Whether a sum is one of products of real numbers, of as many for each result."""
        match fold:
            case i.Fold(element=i.Binary("*", i.Access() as one, i.Access() as other)):
                real = {one.tensor, other.tensor} <= self.parts.reals
            case _:
                return False
        over = [each for each in fold.over if isinstance(each, i.Over) and each.low == i.ZERO]
        ends = names_in(tuple(each.high for each in over))
        whole = len(over) == len(fold.over) and fold.condition is None
        whole = whole and not ends & {each.index for each in self.loops}
        return real and whole and self.is_product(ProductTerm((one, other), ()))

    def free(self, node: object) -> frozenset[str]:
        """The indices of the result that something depends on."""
        return frozenset({each.index for each in self.loops} & names_in(node))

    def whole(self, node: object) -> frozenset[str]:
        """Those indices of the result but for the ones that it depends on the quotients of alone,
        as a group of channels."""
        return self.free(replaced(node, lambda each: i.ZERO if self.is_quotient(each) else each))

    def is_quotient(self, node: object) -> bool:
        """Whether a node is an index of the result by a number that, as it divides, is above 0."""
        match node:
            case i.Binary(op="floordiv", left=i.Var(name=name), right=i.Var(name=divisor)):
                known = self.parts.host.get(divisor)
                own = any(each.index == name for each in self.loops)
                return own and known is not None and known.low >= 0
            case _:
                return False

    def divided(self, part: i.Fold) -> tuple[i.Fold, tuple[i.Loop, ...], tuple[i.Expr, ...]]:
        """A sum by the indices that it depends on, with one of its own in the place of a quotient;
        the loops over these, and what they are for the result at hand."""
        whole, places = self.whole(part), dict[i.Expr, i.Loop]()
        quotients = [each for each in nodes_in(part, i.Binary) if self.is_quotient(each)]
        for loop in self.loops:
            if loop.index in whole:
                places[i.Var(loop.index)] = loop
                continue
            for each in dict.fromkeys(e for e in quotients if e.left == i.Var(loop.index)):
                outer = fresh(f"{loop.index}_outer", self.parts.taken)
                last = i.Binary("floordiv", i.Binary("-", loop.high, i.ONE), each.right)
                places[each] = replace(loop, index=outer, high=i.Binary("+", last, i.ONE))
        names = {each: i.Var(loop.index) for each, loop in places.items()}
        own = replaced(part, lambda node: names.get(node, node))
        return own, tuple(places.values()), tuple(places)

    def terms(self, fold: i.Fold) -> list[ProductTerm] | None:
        """The terms of a sum, of which at least one is a product; None if it is no such sum, or
        more would be added for a result than its products."""
        over = [each for each in fold.over if isinstance(each, i.Over) and each.low == i.ZERO]
        if len(over) != len(fold.over):
            return None
        summed = {each.index for each in over}
        ends = names_in(tuple(each.high for each in over))
        monomials = _expanded(fold.element)
        if monomials is None or ends & {*summed, *(each.index for each in self.loops)}:
            return None
        found = [_parted(factors, summed) for factors in monomials]
        found = self.with_zero_point(found, self.free(fold.condition))
        good = all(map(self.is_good, found)) and any(map(self.is_product, found))
        counted = fold.condition is None or all(each.summed for each in found)
        return found if good and counted else None

    def with_zero_point(
        self, terms: list[ProductTerm], tested: frozenset[str]
    ) -> list[ProductTerm]:
        """Terms of which x * w - z * w is (x - z) * w, for a z that is the same for all results,
        and x - z a factor of others too; conditions on indices that are `tested` are ones on x."""
        for term in terms:
            if not self.is_product(term):
                continue
            for x, w in (term.summed, term.summed[::-1]):
                alone = next((each for each in terms if each.summed == (w,)), None)
                ratio = None if alone is None else quotient_of(alone.others, term.others)
                if alone is None or ratio is None or self.free(ratio) or tested - self.free(x):
                    continue
                above = i.Binary("-", x, _negated(ratio))
                rest = [each for each in terms if each not in (term, alone)]
                return [ProductTerm((above, w), term.others), *with_factor(rest, x, above, ratio)]
        return terms

    def is_good(self, term: ProductTerm) -> bool:
        """Whether a term is a product, or one that is worth a sum of its own."""
        elements = _elements_of(term.summed)
        if len(elements) != len(term.summed):
            return False
        if any(each.tensor not in self.parts.factors for each in elements):
            return False
        return (
            len(elements) == 0
            or self.is_product(term)
            or (len(elements) == 1 and len(self.whole(elements[0])) < len(self.loops))
        )

    def in_memory(self, part: i.Fold, kind: str = "int") -> i.Expr:
        """The element of memory that holds a sum, for the indices of the result at hand."""
        if part in self.names:
            return self.names[part]
        parts, span = self.parts, self.store.span
        name = fresh(f"{self.of.tensor}_sums", parts.taken)
        own, loops, places = self.divided(part)
        shape = tuple(loop.high for loop in loops) or (i.ONE,)
        why = "a sum by itself, which is made in front of all results"
        memory = i.Scratch(name, name, shape, self.of.case, kind, why)
        parts.memory.append(memory)
        size = i.Let(memory.size, "int", box_size(shape), span)
        parts.sizes.setdefault(self.of.case, []).append(size)
        place: i.Access = i.Access(
            name, None, tuple((i.Var(loop.index), False) for loop in loops) or ((i.ZERO, False),)
        )
        body: i.Block = (i.Store(place, own, span),)
        for loop in reversed(loops):
            body = (replace(loop, body=body),)
        self.nests.append(i.Nest(name, self.of.case, None, (), body, self.of.formula, span))
        found = replace(place, index=tuple((each, False) for each in places) or place.index)
        self.names[part] = found
        return found


def _parted(factors: Factors, summed: set[str]) -> ProductTerm:
    """A product by what depends on the indices of the sum, and what does not."""
    varying = tuple(each for each in factors if names_in(each) & summed)
    return ProductTerm(
        varying, numbers_first(each for each in factors if not names_in(each) & summed)
    )


def _with_places(value: i.Expr) -> i.Expr:
    """An expression with the names of places and of host values put in."""

    def change(node: Any) -> Any:
        match node:
            case i.Bind(name=name, value=bound, body=body) if not has(bound, i.Fold, i.Access):
                return substitute(body, {name: bound})
            case _:
                return node

    return rebuild(value, change)


def numbers_first(factors: Iterable[i.Expr]) -> Factors:
    """Factors with one number in front, unless that is 1."""
    number, others = 1, []
    for each in factors:
        if isinstance(each, i.Const):
            number *= each.value
        else:
            others.append(each)
    return tuple(others) if number == 1 else (i.Const(number), *others)


def number_and_others(factors: Factors) -> tuple[int, Factors]:
    """The number in front of a product, and its other factors."""
    match numbers_first(factors):
        case (i.Const(value=number), *others):
            return int(number), tuple(others)
        case others:
            return 1, others


def quotient_of(factors: Factors, divisors: Factors) -> Factors | None:
    """A product by another one whose factors it has; None where it has not."""
    (number, others), (divisor, fewer) = map(number_and_others, (factors, divisors))
    left = [*others]
    for each in fewer:
        if each not in left:
            return None
        left.remove(each)
    if divisor == 0 or number % divisor:
        return None
    return numbers_first((i.Const(number // divisor), *left))


def with_factor(
    terms: list[ProductTerm], x: i.Expr, above: i.Expr, ratio: Factors
) -> list[ProductTerm]:
    """Terms in which x and its zero point, by that `ratio`, are `above` wherever both stand."""
    alone = next((each for each in terms if each.summed == (x,)), None)
    count = next((each for each in terms if not each.summed), None)
    if alone is None or count is None or quotient_of(count.others, alone.others) != ratio:
        return terms
    kept = [each for each in terms if each not in (alone, count)]
    return [*kept, ProductTerm((above,), alone.others)]


def _elements_of(factors: Factors) -> tuple[i.Access, ...]:
    """The elements among factors, without what is subtracted from them."""
    values = (each.left if isinstance(each, i.Binary) else each for each in factors)
    return tuple(each for each in values if isinstance(each, i.Access))


def _negated(factors: Factors) -> i.Expr:
    """Less the product of some factors."""
    match factors:
        case (i.Const(value=-1), *others) if others:
            return _joined(tuple(others))
        case (i.Const(value=number), *others):
            return _joined((i.Const(-number), *others))
        case _:
            return _joined((i.Const(-1), *factors))


def outer_sums(value: i.Expr) -> list[i.Fold]:
    """The sums in an expression that are evaluated whatever its conditions are, outside of other
    reductions."""
    found: list[i.Fold] = []

    def visit(node: i.Expr) -> None:
        match node:
            case i.Fold(op="sum"):
                found.append(node)
            case i.Binary(left=left, right=right):
                visit(left)
                visit(right)
            case i.Call(arguments=arguments):
                for each in arguments:
                    visit(each)
            case _:
                pass

    visit(value)
    return list(dict.fromkeys(found))


def is_of_many(call: i.Call) -> bool:
    """Whether a function is made of many numbers at once."""
    return call.function in ELEMENTARY


def is_plain(fold: i.Fold, terms: Mapping[i.Fold, list[ProductTerm] | None]) -> bool:
    """Whether a sum is one of products of two elements already."""
    match fold.element:
        case i.Binary(op="*"):
            found = terms[fold] or []
            return len(found) == 1 and not found[0].others
        case _:
            return False


def _distance(over: i.Over | i.OverPack) -> i.Expr:
    assert isinstance(over, i.Over)
    return over.high


def _joined(factors: Factors) -> i.Expr:
    result = factors[0]
    for each in factors[1:]:
        result = i.Binary("*", result, each)
    return result


def _expanded(value: i.Expr) -> list[Factors] | None:
    """An expression as a sum of products of what is no sum, difference or product."""
    match value:
        case i.Binary(op="+" | "-" as op, left=left, right=right):
            first, second = _expanded(left), _expanded(right)
            if first is None or second is None:
                return None
            return [*first, *(second if op == "+" else [(i.Const(-1), *e) for e in second])]
        case i.Binary(op="*", left=left, right=right):
            first, second = _expanded(left), _expanded(right)
            if first is None or second is None:
                return None
            found = [(*one, *other) for one, other in product(first, second)]
            return found if len(found) <= MOST_TERMS else None
        case i.Const() | i.Var() | i.Access():
            return [(value,)]
        case _:
            return None if has(value, i.Fold) else [(value,)]
