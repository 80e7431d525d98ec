"""Reductions as array operations: along axes, as matrix products, or term by term."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.emit.numpy_printer import (
    HOST,
    INDEX,
    REDUCED,
    RUNNING,
    ArrayPrinter,
    Front,
    NotAnArray,
    OneByOne,
    inlined,
    seen,
)
from cvmgen.emit.python_names import identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.loops import distance
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk
from cvmgen.lower.unfold import ACCUMULATORS

# What a reduction reads beyond a tensor, where its condition leaves just those places out.
FILLS = {
    "sum": "0",
    "max": "vectors.lowest({0})",
    "min": "vectors.highest({0})",
    "any": "False",
    "all": "True",
}
Over = i.Over | i.OverPack


@dataclass(frozen=True, slots=True)
class Term:
    """What a reduction combines, where its condition holds."""

    element: i.Expr
    condition: tuple[i.Expr, ...]
    fill: str | None = None  # the access takes it beyond its tensor instead of the condition


class ReductionPrinter(ArrayPrinter):
    """Prints the reductions of a nest."""

    def reduction(self, fold: i.Fold) -> str:
        term = self.term(fold)
        if self.by_axes(fold):
            factors = self.factors(fold)
            names = self.reduced_axes(fold.over)
            with self.bound(dict.fromkeys(map(name_of, fold.over), INDEX)):
                self.shown |= {name: shown for name, shown, _ in names}
                self.box.append(total([count for _, _, count in names]))
                listed = ", ".join(self.listed(names))
                text = self.along_axes(fold.op, term, factors, listed)
                self.box.pop()
        else:
            text = self.term_by_term(fold, term)
        if fold.op == "count" and self.checked:
            return f"vectors.values({text}, {self.integer})"
        return text

    # -------------------------------------------------------- which way

    def by_axes(self, fold: i.Fold) -> bool:
        """Whether the reduced indices become axes of an array with all terms, or of a view."""
        for each in fold.over:
            ends = (each.high, each.low) if isinstance(each, i.Over) else (each.extents,)
            if any(end is not None and self.kind(end) != HOST for end in ends):
                return False
            if isinstance(each, i.Over) and each.low is None:
                return False
        if self.factors(fold):
            return True
        accesses = [each for each in walk(fold) if isinstance(each, i.Access)]
        if self.windows(fold, accesses) or any(
            isinstance(each, i.Fold) and self.kind(each) != HOST for each in walk(fold.element)
        ):
            return False
        free = {axis.name for axis in self.free}
        small = all(free <= names_in(each) for each in accesses)
        return isinstance(fold.element, i.Access) or small

    def windows(self, fold: i.Fold, accesses: list[i.Access]) -> bool:
        """Whether a reduced index makes a place together with another index."""
        reduced = set(map(name_of, fold.over))
        others = reduced | {name for name, kind in self.kinds.items() if kind != HOST}
        for access in accesses:
            for slot, spread in access.index:
                names = names_in(slot) & others
                if names & reduced and len(names) > 1 and not spread:
                    return True
        return False

    def factors(self, fold: i.Fold) -> tuple[i.Expr, i.Expr] | None:
        """The factors of a sum of products of integers that read elements, both of them."""
        element = inlined(fold.element)
        if fold.op != "sum" or self.has_reals or self.integer == "object":
            return None
        match element:
            case i.Binary(op="*", left=left, right=right) if has_access(left) and has_access(right):
                return left, right
            case _:
                return None

    # -------------------------------------------------------- terms

    def term(self, fold: i.Fold) -> Term:
        """The term, without the part of the condition that its access sees to by itself."""
        element = inlined(fold.element)
        tests: tuple[i.Expr, ...] = ()
        if fold.condition is not None:
            tests = tuple(conjuncts(inlined(fold.condition)))
        filled = fold.op in FILLS and isinstance(element, i.Access) and bool(tests)
        if filled and isinstance(element, i.Access) and self.tests_of(element, tests):
            return Term(element, (), FILLS[fold.op].format(identifier(element.tensor)))
        return Term(element, tests)

    def tests_of(self, access: i.Access, tests: tuple[i.Expr, ...]) -> bool:
        """Whether tests ask just whether slots of an access lie inside its tensor."""
        known = self.extents.of(access.tensor)
        if known is None or any(pack for _, pack in known) or access.which is not None:
            return False
        wanted: dict[i.Expr, i.Expr] = {}
        for (slot, _), (extent, _) in zip(access.index, known, strict=True):
            low, high = i.Compare("<=", i.Const(0), slot), i.Compare("<", slot, extent)
            wanted[low], wanted[high] = slot, slot
        if not all(test in wanted for test in tests):
            return False
        tested = {wanted[test] for test in tests}
        return all(sum(wanted[test] == slot for test in set(tests)) == 2 for slot in tested)

    def array_select(self, expr: i.Select) -> tuple[str, int]:
        """A choice between an element and a number, by whether the element is there, reads it."""
        match expr:
            case i.Select(then=i.Access() as access, otherwise=i.Const() as fill):
                if self.tests_of(access, tuple(conjuncts(expr.condition))):
                    return self.access(access, str(fill.value)), 12
            case _:
                pass
        return super().array_select(expr)

    def test(self, tests: list[i.Expr]) -> str:
        whole = tests[0] if len(tests) == 1 else i.Logic("and", tuple(tests))
        return self.expr(whole)

    # -------------------------------------------------------- axes

    def reduced_axes(self, over: tuple[Over, ...]) -> list[tuple[str, str, str]]:
        """Declares reduced indices as axes: their names, the names of locals, how many axes."""
        inside = total(self.box)
        found, declared, extents, later = [], [], [], []
        for each in over:
            local = self.new(name_of(each))
            declared.append(local)
            match each:
                case i.Over(index=index, low=low, high=high):
                    assert low is not None
                    extents.append(self.index(distance(low, high)))
                    if low != i.Const(0):
                        axis, local = local, self.new(index)
                        later.append(f"{local} = {self.expr(low, 9)} + {axis}")
                    found.append((index, local, "1"))
                case i.OverPack(pack=pack, extents=box, slots=slots):
                    extents.append(self.index(box))
                    count = f"len({local})"
                    if slots is not None:
                        axis, local = local, self.new(pack)
                        around = f", {self.shown.get(pack, pack)}" * (pack in self.kinds)
                        where = f"{self.expr(slots)}, {axis}{around}"
                        later.append(f"{local} = arrays.placed({where})")
                    found.append((pack, local, count))
        self.declared = declared
        self.emit(f"{', '.join(declared)} = arrays.axes({', '.join(extents)}, inside={inside})")
        for line in later:
            self.emit(line)
        return [(name, local, count) for name, local, count in found]

    def listed(self, names: list[tuple[str, str, str]]) -> list[str]:
        """The axes as arguments of a reduction."""
        pairs = zip(self.declared, names, strict=True)
        return [local if count == "1" else f"*{local}" for local, (_, _, count) in pairs]

    def along_axes(
        self, op: str, term: Term, factors: tuple[i.Expr, i.Expr] | None, listed: str
    ) -> str:
        where = ""
        if factors is not None:
            left, right = (self.local_array(each) for each in factors)
            if term.condition:
                left = f"vectors.where({self.test(list(term.condition))}, {left}, 0)"
            return f"vectors.dot({left}, {right}, {listed})"
        element = self.element(term, op)
        if term.condition:
            where = f", only={self.test(list(term.condition))}"
        return f"vectors.{REDUCED[op]}({element}, {listed}{where})"

    def local_array(self, factor: i.Expr) -> str:
        return self.expr(factor)

    def element(self, term: Term, op: str) -> str:
        if term.fill is not None:
            assert isinstance(term.element, i.Access)
            return self.access(term.element, term.fill)
        text = self.expr(term.element)
        if self.checked and op in ("sum", "prod", "max", "min"):
            return f"vectors.values({text}, {self.integer})"
        return text

    # -------------------------------------------------------- term by term

    def term_by_term(self, fold: i.Fold, term: Term) -> str:
        """Loops over the reduced indices in their order, each term a whole array."""
        outer = self.front, dict(self.spans), self.margin
        found = self.new(ACCUMULATORS[fold.op][0])
        self.front = self.here()
        self.emit(f"{found} = None")
        function, neutral = RUNNING[fold.op]
        with self.bound({}):
            tests = list(term.condition)
            for number, each in enumerate(fold.over):
                tests += self.open_loop(each, number)
            known = [each for each in tests if self.kind(each) == HOST]
            rest = [each for each in tests if self.kind(each) != HOST]
            given = self.given
            if known:
                self.emit(f"if {self.test(known)}:")
                self.margin += 1
                self.given |= frozenset().union(*map(seen, known))
            where = f", {self.test(rest)}" if rest else ""
            element = self.element(term, fold.op)
            self.emit(f"{found} = vectors.{function}({found}, {element}{where})")
            self.given = given
        self.front, self.spans, self.margin = outer
        if self.has_reals:
            neutral = {"max": "-typed.INFINITY", "min": "typed.INFINITY"}.get(fold.op, neutral)
        return f"vectors.done({found}, {neutral})"

    def here(self) -> Front:
        """The end of the lines so far."""
        names = dict(self.kinds), dict(self.shown)
        return Front(self.lines, len(self.lines), self.margin, *names, self.given)

    def open_loop(self, over: Over, number: int) -> list[i.Expr]:
        """The head of a loop over a reduced index, and the conditions that this leaves."""
        local = self.new(name_of(over))
        if isinstance(over, i.OverPack):
            box = self.index(over.extents)
            around = self.shown.get(over.pack, identifier(over.pack))
            self.emit(f"for {local} in support.indices({box}):")
            self.margin += 1
            if over.slots is not None:
                whole = self.new(over.pack)
                around = f", {around}" * (self.kinds.get(over.pack) == INDEX)
                self.emit(f"{whole} = arrays.placed({self.expr(over.slots)}, {local}{around})")
                local = whole
            else:
                self.kinds[over.pack] = HOST
            self.shown[over.pack] = local
            return []
        index, low, high = over.index, over.low, over.high
        if low is None:
            if self.kind(high) != HOST:
                raise self.one_by_one(high)
            self.emit(f"for {local} in {self.index(high)}:")
            tests: list[i.Expr] = []
        elif self.kind(low) == HOST and self.kind(high) == HOST:
            self.spans[index] = f"arrays.span({self.index(low)}, {self.index(high)}, {number})"
            self.emit(f"for {local} in {self.span(low, high)}:")
            tests = []
        else:
            return self.open_ragged(local, index, low, high)
        self.margin += 1
        self.kinds[index], self.shown[index] = HOST, local
        return tests

    def one_by_one(self, collection: i.Expr) -> Exception:
        names = self.axes_in(collection)
        return OneByOne(names) if names else NotAnArray("a list that depends on elements")

    def open_ragged(self, local: str, index: str, low: i.Expr, high: i.Expr) -> list[i.Expr]:
        """A range with ends of its own at each place of the box: all of them start together."""
        first = self.new(f"{index}_low")
        end = self.new(f"{index}_high")
        self.emit(f"{first} = {self.index(low)}")
        self.emit(f"{end} = {self.index(high)}")
        step = self.new("step")
        self.emit(f"for {step} in range(arrays.longest({first}, {end})):")
        self.margin += 1
        self.emit(f"{local} = {first} + {step}")
        self.kinds[index], self.shown[index] = self.kind(low), local
        if self.kinds[index] != HOST:
            self.kinds[index] = INDEX if self.kind(low) == INDEX else "array"
        self.kinds[end], self.shown[end] = "array", end
        return [i.Compare("<", i.Var(index), i.Var(end))]


def name_of(over: Over) -> str:
    return over.index if isinstance(over, i.Over) else over.pack


def total(counts: list[str]) -> str:
    """A sum of numbers of axes, the known ones in one."""
    parts = [part for each in counts for part in each.split(" + ")]
    known = sum(int(each) for each in parts if each.isdigit())
    rest = [each for each in parts if not each.isdigit()]
    return " + ".join([*rest, str(known)] if known or not rest else rest)


def has_access(expr: i.Expr) -> bool:
    return any(isinstance(each, i.Access) for each in walk(expr))
