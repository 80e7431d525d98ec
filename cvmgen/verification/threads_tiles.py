"""What `cvmgen_contract` does with shared memory: tiles of totals from slices of both factors.

While one slice is multiplied, the next two are on their way: copies that a thread has begun land
at any time before it waits for them, so each is a write in the iteration that begins it and in the
one behind. Within a line chunks of 16 bytes stand in an order that depends on the line alone, so
that two of them are at one place only if line and chunk are the same. When totals are done they
pass through the same memory. It is counted in words of 4 bytes. What is done for a large tile and
for a small one stands beside each other: a launch has tiles of one side.
"""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.ir import nodes as i
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.schedules import packaged
from cvmgen.verification import terms as t
from cvmgen.verification.reading import PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads_epochs import Divided, Either, OffsetPart, Repeated, Sequence
from cvmgen.verification.threads_symbols import BLOCK, GRID
from cvmgen.verification.threads_walk import WARP, Structure, ThreadWalk

SLICES, SLICE, CHUNKS, WORDS = 3, 64, 4, 4  # slices in memory, bytes, chunks, words of a chunk
PASS = 64  # rows of a tile that pass through memory at once
MEMORY = "memory"


def _settings() -> Settings:
    return all_settings(packaged())["tensor_tiles"]


def contraction(walk: ThreadWalk, value: i.Expr, scope: PlaceScope) -> Structure:
    assert isinstance(value, i.ListOf)
    names = ("batches", "rows", "columns", "depth")
    parts = (walk.reader.integer(each, scope) for each, _ in value.entries)
    found, symbols = dict(zip(names, parts, strict=True)), walk.symbols
    settings = _settings()
    walk.symbols.know(walk.lanes, t.equal(walk.lanes, settings["threads"]))  # as tiles are launched
    found["large"] = symbols.at(GRID, lambda: symbols.within("large", 0, 1, ""))
    for name, lines in (("down", found["rows"]), ("across", found["columns"])):
        sides = (settings["large"], settings["small"])
        large, small = (symbols.ceildiv(lines, t.term(side)) for side in sides)
        found[name] = symbols.choice(is_large(found), large, small)
    return found


def is_large(whole: Structure) -> Formula:
    return t.equal(whole["large"], 1)


def whole_of(walk: ThreadWalk, call: i.Call, at: int) -> Structure:
    name = call.arguments[at]
    assert isinstance(name, i.Var)
    return walk.structures[name.name]


def tiles(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    return tiles_of(whole_of(walk, call, 0))


def tiles_of(whole: Structure) -> Term:
    return whole["batches"] * whole["down"] * whole["across"]


def tile(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Structure:
    whole, at = whole_of(walk, call, 0), walk.reader.integer(call.arguments[1], scope)
    symbols = walk.symbols
    rest = symbols.truncdiv(at, whole["down"])
    batch = symbols.truncdiv(rest, whole["across"])
    # at < batches * down * across gives at / down / across < batches: quotients are rounded down
    within = t.every(t.at_most(0, at), t.below(at, tiles_of(whole)))
    symbols.know(batch, t.implies(within, t.below(batch, whole["batches"])))
    down = walk.reader.digit(at - rest * whole["down"])
    across = walk.reader.digit(rest - batch * whole["across"])
    return {"batch": batch, "row": down, "column": across}


def contract(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    whole, settings = whole_of(walk, call, 1), _settings()
    before, ways = walk.here, []
    large = is_large(whole)
    for test, side in ((large, settings["large"]), (t.negation(large), settings["small"])):
        walk.here = Sequence()
        Square(walk, call, whole, side).walk_through(scope.inner(test))
        ways.append(walk.here)
    before.parts.append(Either(*ways))
    walk.here = before
    return t.ZERO


Total = tuple[Term, Term, tuple[Formula, ...]]  # its row and column in the tile, and conditions


class Square:
    """A tile of a known side, whose statements are walked through."""

    def __init__(self, walk: ThreadWalk, call: i.Call, whole: Structure, side: int) -> None:
        self.walk, self.symbols, self.whole, self.side = walk, walk.symbols, whole, side
        self.place, taking = whole_of(walk, call, 2), call.arguments[5]
        names = (each.name for each in call.arguments[3:5] if isinstance(each, i.Var))
        self.kinds = tuple(walk.factors[each] for each in names)
        assert isinstance(taking, i.Lambda)
        self.taking, self.threads = taking, _settings()["threads"]
        self.slices = walk.symbols.ceildiv(whole["depth"], t.term(SLICE))

    def walk_through(self, scope: PlaceScope) -> None:
        for first in range(SLICES - 1):
            self.stage(t.term(first), scope)
        self.multiply(scope)
        self.walk.wait(scope, "contract")
        before, ways = self.walk.here, []
        wide = t.equal(self.walk.of_block("wide", 0, 1), 1)
        for test, finish in ((wide, self.totals_alone), (t.negation(wide), self.hand_over)):
            self.walk.here = Sequence()
            finish(scope.inner(test))
            ways.append(self.walk.here)
        before.parts.append(Either(*ways))
        self.walk.here = before

    def touch(
        self,
        at: Term,
        scope: PlaceScope,
        shown: str,
        splits: tuple[OffsetPart, ...] = (),
        *,
        written: bool,
    ) -> None:
        self.walk.event(MEMORY, at, scope, shown, splits, written=written, shared=True)

    def split(self, value: Term, by: int) -> tuple[Term, Term]:
        high = self.symbols.floordiv(value, t.term(by))
        return high, value - high * by

    # -------------------------------------------------------- slices

    def multiply(self, scope: PlaceScope) -> None:
        """The loop over slices, which all threads make together."""
        walk, symbols = self.walk, self.symbols
        walk.loops += 1
        before, outer = walk.here, symbols.home
        symbols.home, walk.here = (*outer, walk.loops), Sequence()
        number = symbols.at(BLOCK, lambda: symbols.within("slice", 0, None, ""))
        (walk.indices[walk.loops],) = number.names
        inner = scope.inner(t.below(number, self.slices))
        walk.wait(inner, "contract")
        self.stage(number + (SLICES - 2), inner)  # begun before, and on its way
        self.stage(number + (SLICES - 1), inner)
        size = 2 * self.side * CHUNKS * WORDS
        at = symbols.within("word", 0, size - 1, "")
        self.touch(self.slot(number) * size + at, inner, "a slice", written=False)
        before.parts.append(Repeated(symbols.home[-1], walk.here))
        walk.here, symbols.home = before, outer

    def slot(self, number: Term) -> Term:
        """Where a slice lies among those in memory."""
        return number - self.symbols.floordiv(number, t.term(SLICES)) * SLICES

    def stage(self, number: Term, scope: PlaceScope) -> None:
        """A thread's chunks of a slice, of the lines of rows, behind them of columns."""
        inner = scope.inner(t.below(number, self.slices))
        lines = self.side * CHUNKS
        first = self.slot(number) * (2 * lines)
        for kind, base in zip(self.kinds, (0, lines), strict=True):
            word = self.symbols.within("word", 0, WORDS - 1, "")
            at = (first + base + self.chunk(kind)) * WORDS + word
            self.touch(at, inner, f"a slice by {kind}", written=True)

    def chunk(self, kind: str) -> Term:
        """A chunk of those that a thread stages of the lines of a side."""
        lane, count = self.walk.lane, self.side * CHUNKS // self.threads
        number = self.symbols.within("number", 0, count - 1, "")
        if kind == "rows_of":  # one chunk of every so many-th line
            return lane + number * self.threads
        column, line = self.split(lane, self.side)  # neighbouring chunks of one line
        return line * CHUNKS + column * count + number

    # -------------------------------------------------------- totals

    def hand_over(self, scope: PlaceScope) -> None:
        """Rows of both rows of warps pass through memory, so many at once."""
        half, part = PASS // 2, self.side // 2  # of a warp: rows in a pass, all rows
        for first in range(0, part, half):
            row, column = self.of_warp(half)
            at, splits = self.total(row, column)
            self.touch(at, scope, "totals", splits, written=True)
            self.walk.wait(scope, "contract")
            own, across = self.split(self.walk.lane, self.side)
            count = self.threads // self.side
            number = self.symbols.within("round", 0, PASS // count - 1, "")
            at, splits = self.total(own + number * count, across)
            self.touch(at, scope, "totals", splits, written=False)
            high, low = self.split(own + number * count, half)
            self.take((high * part + first + low, across, ()), scope)
            self.walk.wait(scope, "contract")

    def of_warp(self, rows: int) -> tuple[Term, Term]:
        """A total of those that a thread holds: warps stand in two rows of four, and have so many
        rows in a pass."""
        warp, own = self.split(self.walk.lane, WARP)
        across, down = self.split(warp, 2)
        group, quad = self.split(own, 4)
        eighth = self.symbols.within("eighth", 0, rows // 8 - 1, "")
        pair = self.symbols.within("pair", 0, self.side // 4 // 8 - 1, "")
        odd = self.symbols.within("odd", 0, 1, "")
        row = down * rows + group + eighth * 8
        return row, across * (self.side // 4) + quad * 2 + pair * 8 + odd

    def total(self, row: Term, column: Term) -> tuple[Term, tuple[OffsetPart, ...]]:
        """Where a total of a pass lies."""
        extent = self.side + 8
        return row * extent + column, (OffsetPart(row, column, t.term(extent)),)

    def totals_alone(self, scope: PlaceScope) -> None:
        """The totals that a thread makes from the elements as they are."""
        walk, side = self.walk, self.side
        at, number = (self.symbols.within(name, 0, None, "") for name in ("total", "round"))
        walk.divided.append(Divided(at, t.ZERO, walk.lane, walk.lanes, scope.path))
        row, column = self.split(at, side)
        tests = t.equal(at, walk.lane + number * walk.lanes), t.below(at, side * side)
        self.take((row, column, tests), scope)

    def take(self, total: Total, scope: PlaceScope) -> None:
        """What becomes of a total, by the functions of its column and of its row."""
        walk, whole, place, side = self.walk, self.whole, self.place, self.side
        row, column = place["row"] * side + total[0], place["column"] * side + total[1]
        within = t.below(row, whole["rows"]), t.below(column, whole["columns"])
        scope = scope.inner(*total[2], *within)
        for value, name, index in ((row, "row", total[0]), (column, "column", total[1])):
            walk.composed.append((value, OffsetPart(place[name], index, t.term(side)), scope.path))
        for value, function in zip((column, row), _functions(self.taking), strict=True):
            for each in function.parameters:
                walk.reader.agreement.types[each.name] = each.type
            scope.names[function.parameters[0].name] = value
            body = tuple(e for e in function.body if not isinstance(e, i.Return))
            scope = walk.block(body, scope)


def _functions(taking: i.Lambda) -> Iterator[i.Lambda]:
    """That of a column, and the one of a row that it gives."""
    yield taking
    last = taking.body[-1]
    assert isinstance(last, i.Return) and isinstance(last.value, i.Lambda)
    yield last.value
