"""What `cvmgen_contract` does with shared memory: tiles of totals from slices of both factors.

While one slice is multiplied, the next two are on their way: copies that a thread has begun land
at any time before it waits for them, so each is a write in the iteration that begins it and in the
one behind. Memory is counted in chunks of 16 bytes. Within a line they stand in an order that
depends on the line alone, so that two of them are at one place only if line and chunk are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.ir import nodes as i
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.schedules import packaged
from cvmgen.verification import terms as t
from cvmgen.verification.reading import PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads_epochs import Divided, Either, OffsetPart, Repeated, Sequence
from cvmgen.verification.threads_symbols import BLOCK
from cvmgen.verification.threads_walk import WARP, Structure, ThreadWalk

SLICES, SLICE, CHUNKS = 3, 64, 4  # slices in memory, bytes of a line, chunks of it
MEMORY = "memory"


def _sizes() -> tuple[int, int, int]:
    """Rows and columns of a tile, threads of a block."""
    found = all_settings(packaged())["tensor_tiles"]
    return found["rows"], found["columns"], found["threads"]


def contraction(walk: ThreadWalk, value: i.Expr, scope: PlaceScope) -> Structure:
    assert isinstance(value, i.ListOf)
    names = ("batches", "rows", "columns", "depth")
    parts = (walk.reader.integer(each, scope) for each, _ in value.entries)
    found = dict(zip(names, parts, strict=True))
    rows, columns, threads = _sizes()
    walk.symbols.know(walk.lanes, t.equal(walk.lanes, threads))  # as tiles are launched
    found["down"] = walk.symbols.ceildiv(found["rows"], t.term(rows))
    found["across"] = walk.symbols.ceildiv(found["columns"], t.term(columns))
    return found


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
    whole, place = whole_of(walk, call, 1), whole_of(walk, call, 2)
    kinds = tuple(
        walk.factors[each.name] for each in call.arguments[3:5] if isinstance(each, i.Var)
    )
    taking = call.arguments[5]
    assert isinstance(taking, i.Lambda)
    slices = walk.symbols.ceildiv(whole["depth"], t.term(SLICE))
    for first in range(SLICES - 1):
        _stage(walk, kinds, t.term(first), slices, scope)
    _multiply(walk, kinds, slices, scope)
    walk.wait(scope, "contract")
    before, ways = walk.here, []
    wide = t.equal(walk.of_block("wide", 0, 1), 1)
    for test, totals in (
        (wide, totals_alone(walk, scope)),
        (t.negation(wide), totals_of_warps(walk)),
    ):
        walk.here = Sequence()
        take(walk, taking, whole, place, totals, scope.inner(test))
        ways.append(walk.here)
    before.parts.append(Either(*ways))
    walk.here = before
    return t.ZERO


def _multiply(walk: ThreadWalk, kinds: tuple[str, ...], slices: Term, scope: PlaceScope) -> None:
    """The loop over slices, which all threads make together."""
    walk.loops += 1
    before, outer = walk.here, walk.symbols.home
    walk.symbols.home, walk.here = (*outer, walk.loops), Sequence()
    number = walk.symbols.at(BLOCK, lambda: walk.symbols.within("slice", 0, None, ""))
    (walk.indices[walk.loops],) = number.names
    inner = scope.inner(t.below(number, slices))
    walk.wait(inner, "contract")
    _stage(walk, kinds, number + (SLICES - 2), slices, inner)  # begun before, and on its way
    _stage(walk, kinds, number + (SLICES - 1), slices, inner)
    rows, columns, _ = _sizes()
    size = (rows + columns) * CHUNKS
    at = walk.symbols.within("chunk", 0, size - 1, "")
    walk.event(MEMORY, slot(walk, number) * size + at, inner, "a slice", written=False, shared=True)
    before.parts.append(Repeated(walk.symbols.home[-1], walk.here))
    walk.here, walk.symbols.home = before, outer


def slot(walk: ThreadWalk, number: Term) -> Term:
    """Where a slice lies among those in memory."""
    return number - walk.symbols.floordiv(number, t.term(SLICES)) * SLICES


def _stage(
    walk: ThreadWalk, kinds: tuple[str, ...], number: Term, slices: Term, scope: PlaceScope
) -> None:
    """A thread's chunks of a slice, of the lines of rows and behind them of those of columns."""
    rows, columns, threads = _sizes()
    inner = scope.inner(t.below(number, slices))
    first = slot(walk, number) * ((rows + columns) * CHUNKS)
    for kind, lines, base in zip(kinds, (rows, columns), (0, rows), strict=True):
        at, tests = chunks(walk, kind, lines, threads)
        shown = f"a slice by {kind}"
        where = inner.inner(*tests)
        walk.event(MEMORY, first + base * CHUNKS + at, where, shown, written=True, shared=True)


def chunks(
    walk: ThreadWalk, kind: str, lines: int, threads: int
) -> tuple[Term, tuple[Formula, ...]]:
    """A chunk of those that a thread stages of the lines of a side."""
    symbols, lane = walk.symbols, walk.lane
    count = lines * CHUNKS // threads
    number = symbols.within("number", 0, count - 1, "")
    if kind == "rows_of":  # one chunk of every so many-th line
        return lane + number * threads, ()
    column = symbols.floordiv(lane, t.term(lines))  # neighbouring chunks of one line
    line = lane - column * lines
    return line * CHUNKS + column * count + number, ()


Total = tuple[Term, Term, tuple[Formula, ...]]  # its row and column in the tile, and conditions


def totals_of_warps(walk: ThreadWalk) -> Total:
    """What a thread holds of its warp's part: warps stand in two rows of four."""
    rows, columns, _ = _sizes()
    symbols, lane = walk.symbols, walk.lane

    def split(value: Term, by: int) -> tuple[Term, Term]:
        high = symbols.floordiv(value, t.term(by))
        return high, value - high * by

    warp, own = split(lane, WARP)
    across, down = split(warp, 2)
    group, quad = split(own, 4)
    eighth = symbols.within("eighth", 0, rows // 2 // 8 - 1, "")
    pair = symbols.within("pair", 0, columns // 4 // 8 - 1, "")
    odd = symbols.within("odd", 0, 1, "")
    row = down * (rows // 2) + group + eighth * 8
    return row, across * (columns // 4) + quad * 2 + pair * 8 + odd, ()


def totals_alone(walk: ThreadWalk, scope: PlaceScope) -> Total:
    """The totals that a thread makes from the elements as they are."""
    rows, columns, _ = _sizes()
    at, number = (walk.symbols.within(name, 0, None, "") for name in ("total", "round"))
    walk.divided.append(Divided(at, t.ZERO, walk.lane, walk.lanes, scope.path))
    row = walk.symbols.floordiv(at, t.term(columns))
    tests = t.equal(at, walk.lane + number * walk.lanes), t.below(at, rows * columns)
    return row, at - row * columns, tests


def take(
    walk: ThreadWalk,
    taking: i.Lambda,
    whole: Structure,
    place: Structure,
    total: Total,
    scope: PlaceScope,
) -> None:
    """What becomes of a total, by the functions of its column and of its row."""
    rows, columns, _ = _sizes()
    row, column = place["row"] * rows + total[0], place["column"] * columns + total[1]
    scope = scope.inner(*total[2], t.below(row, whole["rows"]), t.below(column, whole["columns"]))
    walk.composed.append((row, OffsetPart(place["row"], total[0], t.term(rows)), scope.path))
    walk.composed.append(
        (column, OffsetPart(place["column"], total[1], t.term(columns)), scope.path)
    )
    for value, function in zip((column, row), _functions(taking), strict=True):
        for each in function.parameters:
            walk.reader.agreement.types[each.name] = each.type
        scope.names[function.parameters[0].name] = value
        scope = walk.block(tuple(e for e in function.body if not isinstance(e, i.Return)), scope)


def _functions(taking: i.Lambda) -> Iterator[i.Lambda]:
    """That of a column, and the one of a row that it gives."""
    yield taking
    last = taking.body[-1]
    assert isinstance(last, i.Return) and isinstance(last.value, i.Lambda)
    yield last.value
