"""Where a term reads its input: the indices that reach a given element, in closed form.

Each slot gives an equation, `expression == target`. An equation that can be solved for an
index of the term removes its loop; what is left is a condition on those that remain.
"""

from __future__ import annotations

from typing import TypeAlias

from cvmgen.derive.entries import EntrySolver
from cvmgen.derive.polynomials import addends_of, all_equal, equation, solved_for
from cvmgen.derive.substitution import equals_number, free_names, fresh, substitute
from cvmgen.derive.unknowns import Unknowns
from cvmgen.spec import nodes as n


class Solver(Unknowns):
    """Solves equations for the unknowns."""

    # -------------------------------------------------------- single indices

    def equation(self, expr: n.Expr, target: n.Expr) -> None:
        """Let `expr` be `target`."""
        expr = substitute(expr, self.solved)
        if not self.depends(expr):
            if not self.facts.same(expr, target):
                self.filters.append(equation(expr, target))
        elif self.reads(target) or not self.solve(expr, target):
            self.filters.append(equation(expr, target))

    @staticmethod
    def reads(expr: n.Expr) -> bool:
        return any(isinstance(node, (n.Access, n.Apply)) for node in n.walk(expr))

    def solve(self, expr: n.Expr, target: n.Expr) -> bool:
        """Whether the equation is taken care of."""
        match expr:
            case n.Ref(name=name) if name in self.unknown:
                return self.index(name, target)
            case n.Negate(operand=operand, span=span):
                return self.solve(operand, n.Negate(target, span))
            case n.Arithmetic(sign="+" | "-"):
                return self.sum(expr, target)
            case n.Arithmetic(sign="*", left=left, right=right):
                for part, factor in ((left, right), (right, left)):
                    if not self.depends(factor) and self.depends(part):
                        return self.product(part, factor, target)
                return False
            case n.Arithmetic(sign="div", left=left, right=right):
                return not self.depends(right) and self.quotient(left, right, target)
            case n.Arithmetic(sign="mod", left=n.Ref(name=name), right=right):
                return name in self.unknown and self.remainder(name, right, target)
            case n.Function(name="flatten_index", arguments=(n.Ref(name=name), extents)):
                return name in self.unknown and self.position(name, extents, target)
            case _:
                return False

    def index(self, name: str, target: n.Expr) -> bool:
        """An index by itself: it is the target, if that is in its range."""
        binders = self.unknown[name]
        needed = set(self.depends(target))
        if len(binders) > 1 or name in needed or self.others_need(name, needed):
            return False
        match substitute(binders[0], self.solved):
            case n.IndexRange(low=low, high=high):
                self.settle(name, target)
                self.within(low, target, high)
                return True
            case n.IndexMember(collection=collection) if self.facts.is_set(collection):
                self.settle(name, target)
                self.tests.append(n.Contains(target, collection, target.span))
                return True
            case _:
                return False

    def others_need(self, name: str, needed: set[str]) -> bool:
        """Whether a range that the target needs depends on the index itself."""
        ranges = [self.unknown[each] for each in needed]
        return any(name in free_names(tuple(binders)) for binders in ranges)

    def within(self, low: n.Expr, value: n.Expr, high: n.Expr) -> None:
        """Test `low <= value < high`, but for what is known."""
        above = equals_number(low, 0) and self.facts.at_least(value, 0)
        below = self.facts.is_below(value, high)
        span = value.span
        match above, below:
            case False, False:
                self.tests.append(n.Compare(("<=", "<"), (low, value, high), span))
            case False, True:
                self.tests.append(n.Compare(("<=",), (low, value), span))
            case True, False:
                self.tests.append(n.Compare(("<",), (value, high), span))
            case _:
                pass

    def sum(self, expr: n.Expr, target: n.Expr) -> bool:
        """Solve for one addend: the others go to the other side."""
        addends = list(addends_of(expr))
        varying = [at for at, (_, part) in enumerate(addends) if self.depends(part)]
        if len(varying) == 2 and len(addends) == 2 and self.digits(addends, target):
            return True
        for at in sorted(varying, key=lambda at: self.preference(addends[at][1])):
            negative, part = addends[at]
            others = [each for place, each in enumerate(addends) if place != at]
            own = set(self.depends(part))
            if any(own & set(self.depends(each)) for _, each in others):
                continue
            if any(self.reads(each) for _, each in others):
                continue
            rest = solved_for(target, others, negative)
            if len(varying) > 1 and not self.alone(part):
                continue
            if self.solve(part, rest):
                return True
        return False

    def preference(self, part: n.Expr) -> tuple[bool, int]:
        """Indices without a factor first, then in the order of their loops."""
        first = list(self.unknown).index(self.depends(part)[0])
        return not isinstance(part, n.Ref), first

    def alone(self, part: n.Expr) -> bool:
        """Whether a part is an index, perhaps times a known factor."""
        match part:
            case n.Ref():
                return True
            case n.Arithmetic(sign="*", left=left, right=right):
                return isinstance(left, n.Ref) or isinstance(right, n.Ref)
            case _:
                return False

    def digits(self, addends: list[tuple[bool, n.Expr]], target: n.Expr) -> bool:
        """`high*s + low` with 0 <= low < s: quotient and remainder of the target."""
        for (first_sign, first), (second_sign, second) in (addends, addends[::-1]):
            if first_sign or second_sign:
                continue
            match first, second:
                case n.Arithmetic(sign="*", left=high, right=scale), n.Ref(name=low):
                    pass
                case _:
                    continue
            binders = self.unknown.get(low, [])
            if self.depends(scale) or low in self.depends(high) or len(binders) != 1:
                continue
            match binders[0]:
                case n.IndexRange(low=least, high=most) if equals_number(least, 0) and (
                    self.facts.same(most, scale) and self.facts.at_least(scale, 1)
                ):
                    pass
                case _:
                    continue
            if self.others_need(low, set(self.depends(high))):
                continue
            self.settle(low, n.Arithmetic("mod", target, scale, target.span))
            self.equation(high, n.Arithmetic("div", target, scale, target.span))
            return True
        return False

    def product(self, part: n.Expr, factor: n.Expr, target: n.Expr) -> bool:
        if equals_number(factor, 1):
            return self.solve(part, target)
        if not self.facts.not_zero(factor):
            return False
        span = target.span
        marks = len(self.tests)
        if not self.solve(part, n.Arithmetic("div", target, factor, span)):
            return False
        rest = n.Arithmetic("mod", target, factor, span)
        self.tests.insert(marks, equation(rest, n.Number(0, span)))
        return True

    def quotient(self, part: n.Expr, divisor: n.Expr, target: n.Expr) -> bool:
        """`part div s == t` where part is one of t*s to t*s + s - 1."""
        if not self.facts.at_least(divisor, 1):
            return False
        span = target.span
        name = fresh("i", self.taken)
        start = n.Arithmetic("*", target, divisor, span)
        whole = n.Arithmetic("+", start, n.Ref(name, "index", span), span)
        before = dict(self.unknown)
        self.bind([n.IndexRange(name, n.Number(0, span), divisor, span)])
        first = self.depends(part)[0]
        if self.solve(part, whole):
            self.unknown = in_place_of(first, name, before, self.unknown)
            return True
        del self.unknown[name], self.facts.below[name]
        self.taken.discard(name)
        return False

    def remainder(self, name: str, divisor: n.Expr, target: n.Expr) -> bool:
        """`i mod s == t` where i is t and every s-th index after it."""
        match self.unknown[name]:
            case [n.IndexRange(low=low, high=high)] if equals_number(low, 0):
                pass
            case _:
                return False
        if self.depends(divisor) or self.depends(high) or not self.facts.at_least(divisor, 1):
            return False
        span = target.span
        step = fresh("i", self.taken)
        often = n.Function("ceildiv", (high, divisor), span)
        start = n.Arithmetic("*", n.Ref(step, "index", span), divisor, span)
        self.bind([n.IndexRange(step, n.Number(0, span), often, span)])
        self.settle(name, n.Arithmetic("+", start, target, span))
        self.within(n.Number(0, span), target, divisor)
        self.within(n.Number(0, span), self.solved[name], high)
        return True

    # -------------------------------------------------------- multi-indices

    def position(self, name: str, extents: n.Expr, target: n.Expr) -> bool:
        """`flatten_index(d..., m...) == t`: d is what t unflattens to."""
        match self.unknown[name]:
            case [n.PackRange(extents=own, slots=None)] if own == extents:
                pass
            case _:
                return False
        if self.depends(extents):
            return False
        span = target.span
        size = n.Function("size", (extents,), span)
        self.settle(name, n.Function("unflatten", (target, extents), span))
        match target:
            case n.Function(name="flatten_index", arguments=(n.Ref(), box)) if self.facts.same(
                size, n.Function("size", (box,), span)
            ):
                pass
            case _:
                self.within(n.Number(0, span), target, size)
        return True

    def pack(self, expr: n.Expr, target: n.Ref, extents: n.Expr) -> None:
        """Let the list `expr` be the multi-index `target`, which runs over the box `extents`."""
        expr = substitute(expr, self.solved)
        match expr:
            case n.Ref(name=name) if name in self.unknown:
                if self.whole_pack(name, target, extents):
                    return
            case n.Function(name="unflatten", arguments=(position, box)) if box == extents:
                span = target.span
                self.equation(position, n.Function("flatten_index", (target, box), span))
                return
            case n.Listing():
                if EntrySolver(self, target, extents).solve(expr):
                    return
            case _:
                pass
        self.filters.append(all_equal(expr, target, self.taken))

    def whole_pack(self, name: str, target: n.Ref, extents: n.Expr) -> bool:
        """A multi-index by itself: it is the target, if that is in its box."""
        binders = self.unknown[name]
        if any(not isinstance(binder, n.PackRange) for binder in binders):
            return False
        if self.others_need(name, set(self.unknown) - {name}):
            return False
        tests = []
        for binder in binders:
            assert isinstance(binder, n.PackRange)
            if self.depends(binder.extents):
                return False
            if binder.extents != extents:
                tests += self.box_test(binder, target, extents)
        self.settle(name, target)
        self.tests += tests
        return True

    def box_test(self, binder: n.PackRange, target: n.Ref, extents: n.Expr) -> list[n.Expr]:
        """That entries of the target are below the extents of a box."""
        span = target.span
        inside: n.Expr = binder.extents
        match inside:
            case n.Listing(
                element=element,
                binders=n.Binders(
                    items=(n.IndexRange(index=index) | n.IndexMember(index=index),), condition=None
                ) as binders,
            ):
                pass
            case n.Part():
                return []  # of the same list: the index has had this box before
            case _:
                index = fresh("i", self.taken)
                length = n.Function("len", (inside,), span)
                element = n.Item(inside, n.Ref(index, "index", span), span)
                ranges = n.IndexRange(index, n.Number(0, span), length, span)
                binders = n.Binders((ranges,), None, None, span)
        at = n.Ref(index, "index", span)
        if self.facts.same(element, n.Item(extents, at, span)):
            return []
        below = n.Compare(("<",), (n.Item(target, at, span), element), span)
        return [n.Reduction("all", binders, below, span)]


Unknown: TypeAlias = dict[str, list[n.Binder]]


def in_place_of(old: str, new: str, before: Unknown, after: Unknown) -> Unknown:
    """The unknowns that are left in their order, `new` where `old` was."""
    names = [new if name == old else name for name in before]
    found = {name: after[name] for name in names if name in after}
    return {**found, **after}
