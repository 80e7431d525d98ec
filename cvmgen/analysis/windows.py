"""Windows of a nest: what results side by side combine, and what of it can be computed before it
is known which of them needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.guards import condition_bounds
from cvmgen.analysis.paths import path
from cvmgen.analysis.reductions import ANY_ORDER
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import index_values, rewritten
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import substitute, walk


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """A dimension of windows: a result combines the elements at index * step + tap * apart + start
    for all taps, as far as 0 <= place < extent."""

    index: str
    tap: i.Loop
    place: str  # the local that says where the element is
    step: i.Expr
    apart: i.Expr
    start: i.Expr
    extent: i.Expr
    formula: i.Expr  # the place, as it is written

    def first(self, index: i.Expr) -> i.Expr:
        """The place of the first tap of a result."""
        values = {self.index: index, self.tap.index: i.ZERO}
        found: i.Expr = substitute(self.formula, values)
        return algebra.simplify(found)

    @property
    def reach(self) -> i.Expr:
        """How far the last tap is from the first."""
        return simplified_product(simplified_sum(self.tap.high, i.Const(-1)), self.apart)

    @property
    def guard(self) -> i.Expr:
        place = i.Var(self.place)
        tests = i.Compare("<=", i.ZERO, place), i.Compare("<", place, self.extent)
        return i.Logic("and", tests)


@dataclass(frozen=True, slots=True)
class Windows:
    """A loop over results, each of which begins a total, combines elements and stores.

    `element` is the part of `value` that depends on nothing but the place of what it reads.
    """

    results: i.Loop
    total: i.Let
    sweep: i.Loop
    after: i.Block  # what becomes of the total
    columns: WindowDimension
    rows: WindowDimension | None  # where the loop around the results is one over windows too
    value: i.Expr
    element: i.Expr
    accumulate: i.Accumulate
    kind: str  # the machine type that holds elements

    @property
    def op(self) -> str:
        return self.accumulate.op

    @property
    def empty(self) -> i.Expr | None:
        """An element that leaves every total as it is; None where there is none.

        Sums that begin with 0 are never -0, so that 0 changes none of them; but 0 times what is
        read may be NaN.
        """
        begun, alone = self.total.value, self.value == self.element
        match self.op:
            case "+" if self.total.type != "f64":
                return i.ZERO
            case "+" if alone and begun in (i.ZERO, i.Real("0.0")):
                return begun
            case "max" | "min" if alone and not names_in(begun):
                return begun
            case _:
                return None

    @property
    def separable(self) -> bool:
        """Whether the columns of a window may be combined first, one by one, and then the row
        of what came out."""
        alone = self.value == self.element and self.empty is not None
        return alone and self.total.type in ANY_ORDER[self.op]


def find_windows(
    results: i.Loop,
    around: i.Loop | None,
    facts: Facts,
    dtypes: Mapping[str, DType],
    varying: Set[str],
) -> Windows | None:
    """The windows of the results of a loop, and of the loop around it where that is given; names
    are `varying` that the nest sets."""
    match results.body:
        case (i.Let() as total, i.Loop() as sweep, *after):
            way = path(sweep)
        case _:
            return None
    match way.last:
        case i.Accumulate(name=total.name) if not any(isinstance(each, i.Loop) for each in after):
            pass
        case _:
            return None
    whole = all(each.step == 1 and each.low == i.ZERO for each in (results, *way.loops))
    columns = window_dimension(way.loops[-1], results.index, facts, varying) if whole else None
    if columns is None or names_in(columns.start) & assigned((sweep,)):
        return None
    rows = None
    if around is not None and around.body == (results,) and len(way.loops) > 1:
        rows = window_dimension(way.loops[-2], around.index, facts, varying)
        steady = rows is not None and not names_in(rows.start) & assigned((around,))
        rows = rows if steady and around.low == i.ZERO and around.step == 1 else None
    for each in (rows, None) if rows is not None else (None,):
        element = element_of(sweep, columns, each)
        if element is not None:
            kind = element_machine_type(element[1], way.last, total, dtypes)
            block = tuple(after)
            return Windows(results, total, sweep, block, columns, each, *element, way.last, kind)
    return None


def element_of(
    sweep: i.Loop, columns: WindowDimension, rows: WindowDimension | None
) -> tuple[i.Expr, i.Expr] | None:
    """What windows with these sides accumulate, and the part of it that speaks of places alone;
    None where there is no such part."""
    sides = [each for each in (columns, rows) if each is not None]
    places = {each.place for each in sides}
    inner = path(sides[-1].tap)
    values = index_values(each for each in inner.lets if each.name not in places)
    moving = {name for each in sides for name in (each.index, each.tap.index)}
    around = rewritten((sweep,), lambda each: () if each is sides[-1].tap else None)
    if len(values) + len(places) < len(inner.lets) or moving & names_in(around):
        return None
    assert isinstance(inner.last, i.Accumulate)
    value: i.Expr = substitute(inner.last.value, values)
    element = only_by_place(value, moving, places)
    return (
        None if element is None or not reads_whole_dimensions(element, sides) else (value, element)
    )


def element_machine_type(
    element: i.Expr, accumulate: i.Accumulate, total: i.Let, dtypes: Mapping[str, DType]
) -> str:
    """The machine type for elements: integers of at most 32 bits are multiplied as such."""
    dtype = dtypes[element.tensor] if isinstance(element, i.Load) else None
    narrow = dtype is not None and dtype.kind == "int" and dtype.bits <= 32
    return "i32" if narrow and accumulate.op == "+" else total.type


def window_dimension(
    tap: i.Loop, index: str, facts: Facts, varying: Set[str]
) -> WindowDimension | None:
    """The dimension of windows along an index, whose taps are a loop of the sweep."""
    match tap.body:
        case (*locals_, i.If(condition=condition, otherwise=())):
            tested = tested_range(condition)
        case _:
            return None
    values = index_values(each for each in locals_ if isinstance(each, i.Let))
    if tested is None or tested[0] not in values:
        return None
    place, extent = tested
    found = algebra.plane(values[place], [index, tap.index])
    if found is None or len(found.steps) < 2:
        return None
    step, apart = found.step(index), found.step(tap.index)
    if names_in((step, apart, tap.high, extent)) & varying:
        return None
    if not all(map(facts.positive, (step, apart, tap.high))):
        return None
    return WindowDimension(index, tap, place, step, apart, found.rest, extent, values[place])


def tested_range(condition: i.Expr) -> tuple[str, i.Expr] | None:
    """The local and the extent of a test like 0 <= place < extent."""
    match condition_bounds(condition):
        case [one, other]:
            low, high = (one, other) if one.high is None else (other, one)
        case _:
            return None
    if low.place != high.place or low.low != i.ZERO or high.high is None:
        return None
    return (low.place.name, high.high) if isinstance(low.place, i.Var) else None


def only_by_place(value: i.Expr, moving: set[str], places: set[str]) -> i.Expr | None:
    """The part of a value that speaks of places alone, if the rest are factors that do not."""
    while names_in(value) & moving:
        match value:
            case i.Convert(operand=operand):
                value = operand
            case i.Binary(op="*", left=left, right=right):
                parts = [each for each in (left, right) if names_in(each) & places]
                if len(parts) != 1:
                    return None
                (value,) = parts
            case _:
                return None
    return value if places <= names_in(value) else None


def reads_whole_dimensions(element: i.Expr, sides: Sequence[WindowDimension]) -> bool:
    """Whether places that pass the guards are those of rows and columns of tensors: what no
    window reads may be read too."""
    columns, *others = sides
    for each in walk(element):
        if not isinstance(each, i.Load) or not names_in(each) & {side.place for side in sides}:
            continue
        rest: i.Expr | None = each.offset
        for own in (columns, *others):
            rest = None if rest is None else row_offset(rest, own)
        if rest is None:
            return False
    return True


def row_offset(offset: i.Expr, own: WindowDimension) -> i.Expr | None:
    """The offset without its last dimension, which a side is along."""
    line = algebra.line(offset, own.place)
    if line is None or line.step != i.ONE:
        return None
    return i.ZERO if line.rest == i.ZERO else algebra.quotient(line.rest, own.extent)


def simplified_sum(left: i.Expr, right: i.Expr) -> i.Expr:
    match right:
        case i.Binary(op="-", left=i.Const(value=0), right=less):
            return i.Binary("-", left, less)
        case _:
            return algebra.simplify(algebra.total((left, right)))


def simplified_difference(left: i.Expr, right: i.Expr) -> i.Expr:
    return algebra.simplify(algebra.normal(i.Binary("-", left, right)))


def simplified_product(left: i.Expr, right: i.Expr) -> i.Expr:
    return algebra.simplify(i.Binary("*", left, right))
