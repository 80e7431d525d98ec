"""What helpers of CUDA give a thread, what they read and write of memory that threads share, and
where they wait: each as the kernel's own statements would do it.

The texts that are described stand in `templates/cuda`. That they do what is said here is trusted;
`threads_described.py` tells which of them have changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cvmgen.ir import nodes as i
from cvmgen.schedule.gpu.mapped import Mapped
from cvmgen.verification import terms as t
from cvmgen.verification.reading import PlaceScope
from cvmgen.verification.terms import Term
from cvmgen.verification.threads_epochs import Divided, Either, OffsetPart, Sequence
from cvmgen.verification.threads_symbols import THREAD
from cvmgen.verification.threads_tiles import contract, contraction, tile, tiles
from cvmgen.verification.threads_walk import WARP, Helpers, Structure, ThreadWalk


def _arguments(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> list[Term]:
    return [walk.reader.integer(each, scope) for each in call.arguments]


# ---------------------------------------------------------------- numbers


def vectors(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    elements, lanes = _arguments(walk, call, scope)
    return walk.symbols.extreme("max", t.ZERO, walk.symbols.ceildiv(elements, lanes))


def innermost(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """The index at a place among rows; the place becomes that of the row."""
    place, size = call.arguments
    assert isinstance(place, i.Address) and isinstance(place.place, i.Var)
    name = place.place.name
    at, extent = scope.names[name], walk.reader.integer(size, scope)
    assert isinstance(at, Term)
    scope.names[name] = walk.symbols.truncdiv(at, extent)
    found = walk.symbols.remainder("tdiv", at, extent)
    return walk.reader.digit(found) if walk.reader.digits else found


def _quotient(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    return walk.symbols.truncdiv(*_arguments(walk, call, scope))


def block_share(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """How many consecutive candidates a thread tests: as many as a word has bits, at most."""
    (candidates,) = _arguments(walk, call, scope)
    each = walk.symbols.ceildiv(candidates, walk.lanes)
    return walk.symbols.extreme("min", each, t.term(WARP))


def bits(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    return walk.bits_of(*_arguments(walk, call, scope))


def _bit(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    word, place = _arguments(walk, call, scope)
    found = walk.once("bit", 0, 1, word, place)
    if word in walk.kept:
        first, end = walk.kept[word]
        walk.symbols.know(found, t.implies(t.equal(found, 1), t.below(first + place, end)))
    return found


def bits_below(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """Up to as many as there are places below; see `rising` for two places."""
    word, place = _arguments(walk, call, scope)
    found = walk.once("below", 0, 64, word, place)
    walk.symbols.know(found, t.implies(t.at_most(0, place), t.at_most(found, place)))
    walk.places.append((place, found, walk.once("bit", 0, 1, word, place)))
    return found


def clipped_side(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Structure:
    """What of a side lies in the input; nothing of it has length, first and start 0."""
    first, length, extent = _arguments(walk, call, scope)
    symbols = walk.symbols
    low = symbols.extreme("max", first, t.ZERO)
    high = symbols.extreme("min", first + length, extent)
    none = t.at_most(high, low)
    return {
        "first": symbols.choice(none, t.ZERO, low),
        "length": symbols.choice(none, t.ZERO, high - low),
        "start": symbols.choice(none, t.ZERO, first - low),
    }


# ---------------------------------------------------------------- stores of vectors


def store_vector(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """Elements from a place on, so far apart, as many as there are lanes."""
    _, place, step, lanes = call.arguments
    assert isinstance(place, i.Address) and isinstance(place.place, i.Load)
    lane = walk.symbols.at(THREAD, lambda: walk.symbols.within("element", 0, None, ""))
    inner = scope.inner(t.below(lane, walk.reader.integer(lanes, scope)))
    inner.names["element"] = lane
    # of a step of 1 the place of an element says so, and is taken apart like any other
    moved: i.Expr = i.Var("element")
    if step != i.ONE:
        moved = i.Binary("*", moved, step)
    load = place.place
    walk.access(load.tensor, i.Binary("+", load.offset, moved), inner, written=True)
    return t.ZERO


# ---------------------------------------------------------------- votes of a block


def vote(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    _arguments(walk, call, scope)
    walk.wait(scope, call.function)
    return walk.of_block(call.function, 0, 1)


def block_rank(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """Of the bits that threads have: how many those in front of a thread set, and all. The counts
    of warps lie in shared memory."""
    word = walk.reader.integer(call.arguments[0], scope)
    place = call.arguments[1]
    assert isinstance(place, i.Address) and isinstance(place.place, i.Var)
    of_warp = walk.symbols.floordiv(walk.lane, t.term(WARP))
    lane = walk.lane - of_warp * WARP
    counts = "counts of block_rank"
    walk.event(counts, of_warp, scope.inner(t.equal(lane, 0)), counts, written=True, shared=True)
    walk.wait(scope, "block_rank")
    walk.event(counts, anything(walk), scope, counts, written=False, shared=True)
    walk.wait(scope, "block_rank")
    total = walk.of_block("passed", 0, None)
    rank = walk.symbols.within("rank", 0, None, "")
    own = walk.bits_of(word)
    walk.symbols.know(rank, t.at_most(rank + own, total))
    walk.ranks.append((walk.lane, rank, own))
    walk.most[place.place.name] = walk.lanes * WARP
    scope.names[place.place.name] = total
    return rank


def block_keep(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """Which of 64 candidates are kept, of those below the end. Threads write `rows`, each its own,
    and one of them `kept`."""
    column, first, end = call.arguments
    assert isinstance(column, i.Address)
    low, high = walk.reader.integer(first, scope), walk.reader.integer(end, scope)
    walk.event("kept", anything(walk), scope, "kept", written=False, shared=True)
    at = walk.symbols.within("row", 0, 63, "")
    number = walk.symbols.within("round", 0, None, "")
    inner = scope.inner(t.equal(at, walk.lane + number * walk.lanes))
    walk.divided.append(Divided(at, t.ZERO, walk.lane, walk.lanes, scope.path))
    walk.event("rows", at, inner, "rows", written=True, shared=True)
    voted(walk, scope)
    walk.event("rows", anything(walk), scope, "rows", written=False, shared=True)
    one = scope.inner(t.equal(walk.lane, 0))
    at = walk.symbols.floordiv(low, t.term(64))
    walk.event("kept", at, one, "kept", written=True, shared=True)
    walk.wait(scope, "block_keep")
    word = walk.of_block("kept", None, None)
    walk.kept[word] = low, high
    return word


def voted(walk: ThreadWalk, scope: PlaceScope) -> None:
    """`cvmgen_block_or`: each thread's word, then one of each warp, then all read."""
    warp = walk.symbols.floordiv(walk.lane, t.term(WARP))
    walk.event("own of block_or", walk.lane, scope, "own", written=True, shared=True)
    walk.wait(scope, "block_or")
    first = scope.inner(t.equal(walk.lane - warp * WARP, 0))
    walk.event("own of block_or", anything(walk), first, "own", written=False, shared=True)
    walk.event("joint of block_or", warp, first, "joint", written=True, shared=True)
    walk.wait(scope, "block_or")
    walk.event("joint of block_or", anything(walk), scope, "joint", written=False, shared=True)


def anything(walk: ThreadWalk) -> Term:
    return walk.symbols.at(THREAD, lambda: walk.symbols.within("any", 0, None, ""))


# ---------------------------------------------------------------- teams


def team_parts(walk: ThreadWalk) -> dict[str, Term]:
    """What a launch says of its teams. Results are made in parts, or parts are combined."""
    names = {"results": 0, "parts": 1, "combined": 0, "lanes": 1, "across": 0}
    found = {name: walk.reader.of_host(f"teams.{name}", low) for name, low in names.items()}
    found["lanes"] = walk.symbols.extreme("min", found["lanes"], walk.lanes)
    found["side"] = walk.symbols.floordiv(walk.lanes, found["lanes"])
    walk.symbols.know(
        found["side"], t.at_most(1, found["side"])
    )  # a team has a block's lanes at most
    return found


def items(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    of = team_parts(walk)
    return walk.symbols.ceildiv(of["results"], of["side"]) * of["parts"]


def team_of(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Structure:
    """The team of a thread for an item: whole results side by side, in each of the parts."""
    symbols, of = walk.symbols, team_parts(walk)
    item = walk.reader.integer(call.arguments[1], scope)
    across = t.equal(of["across"], 1)
    divisor = symbols.choice(across, of["side"], of["lanes"])
    high = symbols.floordiv(walk.lane, divisor)
    low = walk.lane - high * divisor
    place = symbols.choice(across, low, high)
    row = symbols.floordiv(item, of["parts"])
    result = row * of["side"] + place
    last = of["results"] - 1
    symbols.know(place, t.at_most(0, place))  # a quotient or a rest of numbers that are not below 0
    within = t.below(place, of["side"])
    lane = symbols.choice(within, symbols.choice(across, high, low), of["lanes"])
    return {
        **of,
        "lane": lane,
        "place": place,
        "row": row,
        "whole": result,
        "counts": symbols.choice(t.at_most(result, last), t.ONE, t.ZERO),
        "result": symbols.extreme("min", result, last),
        "part": item - row * of["parts"],
    }


def of_team(walk: ThreadWalk, call: i.Call) -> Structure:
    team = call.arguments[0]
    assert isinstance(team, i.Var)
    return walk.structures[team.name]


def leads(team: Structure) -> t.Formula:
    return t.every(t.equal(team["lane"], 0), t.equal(team["counts"], 1))


def stores(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    team = of_team(walk, call)
    alone = t.every(leads(team), t.equal(team["parts"], 1))
    return walk.symbols.choice(alone, t.ONE, t.ZERO)


def share_of(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Structure:
    """The share of a thread in a box; nothing that is written depends on it."""
    _arguments(walk, i.Call("", call.arguments[1:]), scope)
    names = {"row": 0, "column": 0, "rows": 1, "columns": 1}
    return {name: walk.symbols.within(name, low, None, "") for name, low in names.items()}


def _combine(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """All that a team has; parts of results lie in memory of the launch, that of warps is shared
    by the block. Teams of neighbouring lanes, none in two warps, do not wait for others."""
    team = of_team(walk, call)
    symbols = walk.symbols
    walk.look(call.arguments[1], scope)
    several = t.below(1, team["lanes"])
    by_block = t.every(several, t.some(t.equal(team["across"], 1), t.below(WARP, team["lanes"])))
    inner = scope.inner(by_block)
    before, walk.here = walk.here, Sequence()
    kept, side = "kept of combine", team["side"]
    warp = symbols.floordiv(walk.lane, t.term(WARP))
    lane = walk.lane - warp * WARP
    width = symbols.extreme("min", side, t.term(WARP))
    own = inner.inner(t.below(lane, width))
    walk.event(kept, warp * width + lane, own, kept, written=True, shared=True)
    walk.wait(inner, "combine")
    walk.event(kept, anything(walk), inner, kept, written=False, shared=True)
    walk.wait(inner, "combine")
    before.parts.append(Either(walk.here, Sequence()))
    walk.here = before
    keeps = scope.inner(leads(team), t.below(1, team["parts"]))
    at = team["result"] * team["parts"] + team["part"]
    number = walk.combined = walk.combined + 1
    made = OffsetPart(team["row"], team["place"], team["side"])
    walk.composed.append((team["whole"], made, keeps.path))
    splits = (OffsetPart(team["result"], team["part"], team["parts"]),)
    walk.event(f"parts {number}", at, keeps, "memory of parts", splits, written=True)
    found = symbols.once(
        ("combined", number, team["place"], *map(t.symbol, rounds(walk))),
        lambda: symbols.within("combined", None, None, ""),
    )
    return found


def rounds(walk: ThreadWalk) -> list[str]:
    """Symbols of the iterations around: what a team has is another in each."""
    return [walk.indices[number] for number in walk.symbols.home if number in walk.indices]


# ---------------------------------------------------------------- sorting


def block_sort(walk: ThreadWalk, statement: i.Sort, scope: PlaceScope) -> None:
    """A block merges runs, from one half of the spare memory to the other. A thread has a part of
    its own in each; in the end it makes every so many-th entry."""
    entries, spare = statement.entries, statement.spare
    assert isinstance(entries.first, i.Load) and isinstance(spare, i.Load)
    count = walk.reader.integer(entries.length, scope)
    row = walk.reader.integer(entries.first.offset, scope)
    room = walk.reader.integer(spare.offset, scope)

    def touch(array: str, base: Term, at: tuple[Term, PlaceScope], *, written: bool) -> None:
        walk.event(array, base + at[0], at[1], f"{array} while sorting", written=written)

    def anywhere() -> tuple[Term, PlaceScope]:
        at = walk.symbols.within("at", 0, None, "")
        return at, scope.inner(t.below(at, count))

    half = walk.of_block("half", 0, 1)
    first, second = room + half * count, room + count - half * count
    walk.wait(scope, "a sort")
    for base in (room, room + count):
        touch(spare.tensor, base, part_of(walk, count, scope), written=True)
    before, walk.here = walk.here, Sequence()
    walk.wait(scope, "a sort")  # in each round, of which all threads make as many
    touch(spare.tensor, first, anywhere(), written=False)
    touch(spare.tensor, second, part_of(walk, count, scope), written=True)
    before.parts.append(Either(walk.here, Sequence()))
    walk.here = before
    walk.wait(scope, "a sort")
    touch(spare.tensor, first, anywhere(), written=False)
    touch(entries.first.tensor, row, anywhere(), written=False)
    touch(spare.tensor, second, _strided(walk, count, scope), written=True)
    walk.wait(scope, "a sort")
    touch(spare.tensor, second, _strided(walk, count, scope), written=False)
    touch(entries.first.tensor, row, _strided(walk, count, scope), written=True)
    walk.wait(scope, "a sort")


def part_of(walk: ThreadWalk, count: Term, scope: PlaceScope) -> tuple[Term, PlaceScope]:
    """An entry of the part of a thread: parts are of one size, one behind the other."""
    size = walk.symbols.ceildiv(count, walk.lanes)
    at, low = walk.symbols.within("at", 0, None, ""), walk.lane * size
    return at, scope.inner(t.at_most(low, at), t.below(at, low + size), t.below(at, count))


def _strided(walk: ThreadWalk, count: Term, scope: PlaceScope) -> tuple[Term, PlaceScope]:
    """An entry of those that a thread makes of all."""
    at, number = (walk.symbols.within(name, 0, None, "") for name in ("at", "round"))
    walk.divided.append(Divided(at, t.ZERO, walk.lane, walk.lanes, scope.path))
    return at, scope.inner(t.equal(at, walk.lane + number * walk.lanes), t.below(at, count))


def launched(walk: ThreadWalk, mapped: Mapped, scope: PlaceScope) -> None:
    """What the host ensures of the structures that it gives to kernels."""
    scope = scope.inner()
    for each in mapped.before:
        match each:
            case i.Let(value=i.Call(function="tile_windows", arguments=(_, _, sides))):
                assert isinstance(sides, i.ListOf)
                tiled(walk, sides, scope)
            case i.Let(value=i.Call(function="choose_blocks" | "choose_teams" as by) as call):
                results = walk.reader.of_host("teams.results", 0)
                walk.symbols.know(
                    results, t.equal(results, walk.reader.integer(call.arguments[0], scope))
                )
                if by == "choose_blocks":
                    blocks_of_teams(walk)
            case i.Let(name=name, type="i64", value=value):
                scope.names[name] = walk.reader.integer(value, scope)
            case _:
                pass


def _domain(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """The size of a domain; 0 where an extent is not positive."""
    extents = _arguments(walk, call, scope)
    positive = t.every(*(t.below(0, each) for each in extents))
    return walk.symbols.choice(positive, t.product(extents), t.ZERO)


def tiled(walk: ThreadWalk, sides: i.ListOf, scope: PlaceScope) -> None:
    """Tiles along a side are as many as its results need, and no side is empty."""
    windows = [each for each, _ in sides.entries if isinstance(each, i.ListOf)]
    for at, each in enumerate(windows):
        results = walk.reader.integer(each.entries[0][0], scope)
        own = walk.reader.of_host(f"tiling.results[{at}]", 1)
        along = walk.reader.of_host(f"tiling.along[{at}]", 1)
        # along = (results + own - 1) / own
        walk.symbols.know(along, t.below((along - 1) * own, results), t.at_most(1, results))


def blocks_of_teams(walk: ThreadWalk) -> None:
    """A block makes one result, or each of its threads."""
    lanes = walk.reader.of_host("teams.lanes", 1)
    walk.symbols.know(lanes, t.some(t.equal(lanes, 1), t.equal(lanes, walk.lanes)))
    for name, value in (("parts", 1), ("across", 0)):
        found = walk.reader.of_host(f"teams.{name}", 0)
        walk.symbols.know(found, t.equal(found, value))


HELPERS: Mapping[str, Callable[[ThreadWalk, i.Call, PlaceScope], Term]] = {
    "thread": lambda walk, call, scope: walk.thread,
    "threads": lambda walk, call, scope: walk.threads,
    "block_number": lambda walk, call, scope: walk.block_number,
    "block_count": lambda walk, call, scope: walk.blocks,
    "lane": lambda walk, call, scope: walk.lane,
    "lane_count": lambda walk, call, scope: walk.lanes,
    "vectors": vectors,
    "domain": _domain,
    "innermost": innermost,
    "quotient": _quotient,
    ".store": store_vector,
    "block_share": block_share,
    "bits": bits,
    "bit": _bit,
    "bits_below": bits_below,
    "block_all": vote,
    "block_any": vote,
    "block_rank": block_rank,
    "block_keep": block_keep,
    "items": items,
    "stores": stores,
    "combine": _combine,
    ".tiles": tiles,
    "contract": contract,
}
STRUCTURES: Mapping[str, Callable[[ThreadWalk, i.Call, PlaceScope], Structure]] = {
    "clipped_side": clipped_side,
    "team_of": team_of,
    "share_of": share_of,
    "tile": tile,
}
WHOLE: Helpers = (HELPERS, STRUCTURES, contraction, block_sort)
