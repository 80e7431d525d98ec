"""Reductions as array operations: along axes, as matrix products, or term by term."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.loops import Over, bound_name, range_ends
from cvmgen.ir.uses import has, names_in, nodes_in
from cvmgen.ir.visit import walk
from cvmgen.lower.array_scope import (
    ARRAY,
    HOST,
    INDEX,
    NestScope,
    seen,
    tensor_itself,
)
from cvmgen.lower.array_values import Values, with_index_bindings
from cvmgen.lower.unfold import ACCUMULATORS

# Functions that combine a term with what was found before, and what no term at all gives.
RUNNING: dict[str, tuple[str, i.Expr]] = {
    "sum": ("vectors.add", i.ZERO),
    "prod": ("vectors.times", i.ONE),
    "max": ("vectors.larger", i.Call("lowest", ())),
    "min": ("vectors.smaller", i.Call("highest", ())),
    "any": ("vectors.either", i.Const(False)),
    "all": ("vectors.both", i.Const(True)),
    "count": ("vectors.counted", i.ZERO),
}
OF_NUMBERS = ("sum", "prod", "max", "min")


@dataclass(frozen=True, slots=True)
class ReducedTerm:
    """What a reduction combines, where its condition holds."""

    element: i.Expr
    condition: tuple[i.Expr, ...]
    fill: i.Expr | None = None  # the access takes it beyond its tensor instead of the condition


class Reductions:
    """Makes the reductions of a nest."""

    def __init__(self, scope: NestScope) -> None:
        self.scope = scope
        self.values = Values(scope, self.reduction)

    def reduction(self, fold: i.Fold) -> i.Expr:
        """What a reduction is, after the statements that make it."""
        term = self.term(fold)
        made = (self.along_axes if self.by_axes(fold) else self.term_by_term)(fold, term)
        return self.typed(made) if fold.op == "count" else made

    def typed(self, value: i.Expr) -> i.Expr:
        """An integer in the type of elements, where this may be Python's own."""
        scope = self.scope
        return i.Call("vectors.values", (value, scope.integer)) if scope.checked else value

    # -------------------------------------------------------- which way

    def by_axes(self, fold: i.Fold) -> bool:
        """Whether the reduced indices become axes of an array with all terms, or of a view."""
        own = set(map(bound_name, fold.over))
        for each in fold.over:
            listed = isinstance(each, i.Over) and each.low is None
            ends = range_ends(each)
            if listed or any(self.scope.kind(end) != HOST or names_in(end) & own for end in ends):
                return False
        if self.factors(fold):
            return True
        accesses = [*nodes_in(fold, i.Access)]
        if self.windows(fold, accesses) or any(
            isinstance(each, i.Fold) and self.scope.kind(each) != HOST
            for each in walk(fold.element)
        ):
            return False
        free = {axis.name for axis in self.scope.free}
        small = all(free <= names_in(each) for each in accesses)
        return isinstance(fold.element, i.Access) or small

    def windows(self, fold: i.Fold, accesses: list[i.Access]) -> bool:
        """Whether a reduced index makes a place together with another index."""
        reduced = set(map(bound_name, fold.over))
        others = reduced | {name for name, kind in self.scope.kinds.items() if kind != HOST}
        for access in accesses:
            for slot, spread in access.index:
                names = names_in(slot) & others
                if names & reduced and len(names) > 1 and not spread:
                    return True
        return False

    def factors(self, fold: i.Fold) -> tuple[i.Expr, i.Expr] | None:
        """The factors of a sum of products of integers that read elements, both of them."""
        element = with_index_bindings(fold.element)
        scope = self.scope
        if fold.op != "sum" or scope.operator.has_reals or scope.integer.name == "object":
            return None
        match element:
            case i.Binary(op="*", left=left, right=right) if has(left, i.Access) and has(
                right, i.Access
            ):
                return left, right
            case _:
                return None

    # -------------------------------------------------------- terms

    def term(self, fold: i.Fold) -> ReducedTerm:
        """The term, without the part of the condition that its access sees to by itself."""
        element = with_index_bindings(fold.element)
        tests: tuple[i.Expr, ...] = ()
        if fold.condition is not None:
            tests = tuple(conjuncts(with_index_bindings(fold.condition)))
        if tests and isinstance(element, i.Access) and self.values.asks_inside(element, tests):
            fill = fill_of(fold.op, element.tensor)
            if fill is not None:
                return ReducedTerm(element, (), fill)
        return ReducedTerm(element, tests)

    def test(self, tests: list[i.Expr]) -> i.Expr:
        return self.values.value(conjunction(tests))

    def element(self, term: ReducedTerm, op: str) -> i.Expr:
        if term.fill is not None:
            assert isinstance(term.element, i.Access)
            return self.values.access(term.element, term.fill)
        made = self.values.value(term.element)
        return self.typed(made) if op in OF_NUMBERS else made

    # -------------------------------------------------------- axes

    def along_axes(self, fold: i.Fold, term: ReducedTerm) -> i.Expr:
        scope, values = self.scope, self.values
        axes = values.axes(fold.over, axes_sum(scope.box))
        factors = self.factors(fold)
        with scope.bound(dict.fromkeys(map(bound_name, fold.over), INDEX)):
            scope.shown |= {bound_name(each.over): each.index for each in axes}
            scope.box += [each.count for each in axes]
            if factors is None:
                op, operands = fold.op, [self.element(term, fold.op)]
                only = self.test(list(term.condition)) if term.condition else None
            else:
                left, right = map(values.value, factors)
                if term.condition:
                    held = self.test(list(term.condition))
                    left = i.Call("vectors.where", (held, left, i.ZERO))
                op, operands, only = "dot", [left, right], None
            del scope.box[len(scope.box) - len(axes) :]
        listed = tuple((each.axis, isinstance(each.over, i.OverPack)) for each in axes)
        return a.Reduce(op, tuple(operands), listed, only)

    # -------------------------------------------------------- term by term

    def term_by_term(self, fold: i.Fold, term: ReducedTerm) -> i.Expr:
        """Loops over the reduced indices in their order, each term a whole array."""
        scope = self.scope
        outer, depth, given = (scope.front, dict(scope.spans)), len(scope.around), scope.given
        found = scope.new(ACCUMULATORS[fold.op][0])
        scope.front = scope.here()
        scope.let(found, a.Nothing())
        function, neutral = RUNNING[fold.op]
        with scope.bound({}):
            tests = list(term.condition)
            for number, each in enumerate(fold.over):
                tests += self.open_loop(each, number)
            known = [each for each in tests if scope.kind(each) == HOST]
            rest = [each for each in tests if scope.kind(each) != HOST]
            if known:
                test = self.test(known)
                scope.open(lambda body: i.If(test, body, (), scope.span))
                scope.given |= frozenset().union(*map(seen, known))
            where = (self.test(rest),) if rest else ()
            element = self.element(term, fold.op)
            step = i.Call(function, (i.Var(found), element, *where))
            scope.emit(i.Assign(found, step, scope.span))
        scope.close(depth)
        scope.given = given
        scope.front, scope.spans = outer
        return i.Call("vectors.done", (i.Var(found), neutral))

    def open_loop(self, over: Over, number: int) -> list[i.Expr]:
        """Opens a loop over a reduced index; the conditions that this leaves."""
        scope, values = self.scope, self.values
        if isinstance(over, i.Over) and over.low is not None:
            if not all(scope.kind(each) == HOST for each in range_ends(over)):
                return self.open_ragged(over.index, over.low, over.high)
            span = (values.place(over.low), values.place(over.high), i.Const(number))
            scope.spans[over.index] = i.Call("arrays.span", span)
        values.open_loop(over)
        return []

    def open_ragged(self, index: str, low: i.Expr, high: i.Expr) -> list[i.Expr]:
        """A range with ends of its own at each place of the box: all of them start together."""
        scope = self.scope
        local = scope.new(index)
        first, end = scope.new(f"{index}_low"), scope.new(f"{index}_high")
        pairs = ((first, self.values.place(low)), (end, self.values.place(high)))
        trips = i.Call("arrays.longest", tuple(scope.let(*each) for each in pairs))
        step = scope.new("step")
        scope.open(lambda body: i.Loop(step, i.ZERO, trips, body, 0, scope.span))
        whole = scope.let(local, i.Binary("+", i.Var(first), i.Var(step)))
        scope.bind(index, scope.kind(low), whole)
        scope.bind(end, ARRAY, i.Var(end))
        return [i.Compare("<", i.Var(index), i.Var(end))]


def fill_of(op: str, tensor: str) -> i.Expr | None:
    """What a reduction reads beyond a tensor, where its condition leaves just those places out."""
    match op:
        case "sum":
            return i.ZERO
        case "any" | "all":
            return i.Const(op == "all")
        case "max" | "min":
            end = "lowest" if op == "max" else "highest"
            return i.Call(f"vectors.{end}", (tensor_itself(tensor),))
        case _:
            return None


def axes_sum(counts: list[i.Expr]) -> i.Expr:
    """A sum of numbers of axes, the known ones in one."""
    known = sum(each.value for each in counts if isinstance(each, i.Const))
    parts = [each for each in counts if not isinstance(each, i.Const)]
    result, *others = [*parts, i.Const(known)] if known or not parts else parts
    for each in others:
        result = i.Binary("+", result, each)
    return result
