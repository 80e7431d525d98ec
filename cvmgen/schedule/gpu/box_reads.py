"""Reading windows of an input from a copy of the box that a block of results touches."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from cvmgen import algebra
from cvmgen.analysis.boxes import BoxRead, as_i32, plain_locals
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import renamed, without_dead
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import fresh, rebuild


@dataclass(frozen=True, slots=True)
class Box:
    """A copy of what a block of results reads: an array of 32-bit places, row-major.

    By the names of the sides: the place of a result's first tap in the copy (of a side without
    results there is none), and how many places the side has.
    """

    tensor: str
    first: Mapping[str, i.Expr]
    length: Mapping[str, i.Expr]


@dataclass(frozen=True, slots=True)
class Near:
    """The body of a nest that reads the box; `places` are the tested ones by their sides."""

    body: i.Block
    places: dict[str, str]


def read_near(body: i.Block, window: BoxRead, box: Box, taken: set[str]) -> Near:
    """The body with the copy in place of the input; the window's indices have 32 bits."""
    places = {
        side.name: fresh(f"{side.name}_place", taken)
        for _, side, end in window.tests
        if end == "high"
    }
    near = with_tests(body, window, box, places)
    near = _widened(near, frozenset(tap.index for tap in window.taps))
    near = _with_places(near, window, box, places)
    old = plain_locals(body).keys()
    return with_box_places(without_dead(near), window, places, old)


def with_tests(body: i.Block, window: BoxRead, box: Box, places: dict[str, str]) -> i.Block:
    """Tests of places are tests of places in the box; the element is its first, for now."""
    tests: dict[i.Expr, i.Expr] = {}
    for condition, side, end in window.tests:
        place = i.Var(places[side.name])
        low, high = i.Compare("<=", i.ZERO, place), i.Compare("<", place, box.length[side.name])
        tests[condition] = low if end == "low" else high

    def change(node: Any) -> Any:
        if node == window.load:
            return i.Load(box.tensor, None, i.ZERO)
        return tests.get(node, node) if isinstance(node, i.Compare) else node

    result: i.Block = rebuild(body, change)
    return result


def _widened(body: i.Block, indices: frozenset[str]) -> i.Block:
    """The body with conversions of 32-bit indices, where nothing else makes 64 bits of them."""
    short = indices | {each.name for each in nodes_in(body, i.Let) if each.type != "i64"}

    def is_wide(expr: i.Expr) -> bool:
        match expr:
            case i.Var(name=name):
                return name not in short
            case i.Binary(op="+" | "-" | "*", left=left, right=right):
                return is_wide(left) or is_wide(right)
            case _:
                return False

    def index(expr: i.Expr) -> i.Expr:
        match expr:
            case i.Convert(type="i64", operand=i.Var(name=name)) if name in indices:
                return expr.operand
            case _:
                return expr

    def change(node: Any) -> Any:
        match node:
            case i.Var(name=name) if name in indices:
                return i.Convert("i64", node)
            case i.Binary(op="+" | "-" | "*", left=left, right=right) if is_wide(left):
                return replace(node, right=index(right))
            case i.Binary(op="+" | "-" | "*", left=left, right=right) if is_wide(right):
                return replace(node, left=index(left))
            case _:
                return node

    result: i.Block = rebuild(body, change)
    return result


def _with_places(body: i.Block, window: BoxRead, box: Box, places: dict[str, str]) -> i.Block:
    """The places of elements in the box: tested ones are locals of their innermost loop."""
    offset: i.Expr = i.ZERO
    locals_: dict[str, tuple[str, i.Expr]] = {}
    for side in window.sides:
        place = side.place(box.first.get(side.name, i.ZERO))
        if side.name in places:
            locals_[side.taps[-1].index] = places[side.name], place
            place = i.Var(places[side.name])
        row = i.ZERO if offset == i.ZERO else i.Binary("*", offset, box.length[side.name])
        offset = algebra.total([row, place])
    ends = {tap.index: as_i32(tap.extent) for tap in window.taps}

    def change(node: Any) -> Any:
        match node:
            case i.Load(tensor=box.tensor):
                return replace(node, offset=offset)
            case i.Loop(index=index) if index in locals_:
                name, place = locals_[index]
                local = i.Let(name, "i32", place, node.span)
                return replace(node, high=ends[index], body=(local, *node.body), type="i32")
            case i.Loop(index=index) if index in ends:
                return replace(node, high=ends[index], type="i32")
            case _:
                return node

    result: i.Block = rebuild(body, change)
    return result


def with_box_places(body: i.Block, window: BoxRead, places: dict[str, str], old: Set[str]) -> Near:
    """Places in the box under the names that places in the input had, where these are free."""
    free = old - {each.name for each in nodes_in(body, i.Let)}
    names: dict[str, str] = {}
    for condition, side, end in window.tests:
        match condition:
            case i.Compare(left=i.Var(name=name)) | i.Compare(right=i.Var(name=name)) if (
                end == "high" and name in free and name not in names.values()
            ):
                names[places[side.name]] = name
            case _:
                pass

    final = {side: names.get(place, place) for side, place in places.items()}
    return Near(renamed(body, names), final)
