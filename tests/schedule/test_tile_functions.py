"""The functions for the register tile: what is planted into them is found before they are text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.generic import unsound_family
from cvmgen.schedule.kernels import Kernel, Kernels, unsound_parts
from cvmgen.schedule.schedules import packaged
from tests.specs import operator

PRODUCT = """"Test."
input X : cvm[M, K]
input W : cvm[N, K]
input B : cvm[N] optional
output Y : cvm[M, N] precision 32
Y[i, j] = sum[k < K](X[i, k] * W[j, k]) + (B[j] if present(B) else 0)"""


@cache
def kernels() -> Kernels:
    found = kernels_or_program(lower(operator(PRODUCT), C), "c", packaged())
    assert isinstance(found, Kernels)
    return found


def tiled() -> Kernel:
    return next(each for each in kernels().kernels if each.tiles is not None)


def test_statements_behind_totals_use_what_they_are_given():
    tiles = tiled().tiles
    assert tiles is not None
    assert tiles.tensors == ("B", "Y")
    assert tiles.factors == ("X", "W")
    used = {each.tensor for each in walk(tiles.taking) if isinstance(each, i.Load)}
    assert used == {*tiles.tensors, tiles.own["totals"]}


def test_the_contraction_says_where_elements_stand():
    tiles = tiled().tiles
    assert tiles is not None
    (made,) = (dict(e.members) for e in walk(tiles.running) if isinstance(e, i.Structure))
    assert made["line_count"] == made["column_count"] == made["summed_count"] == i.ONE
    assert "batch_count" not in made


def renamed(old: str, new: str, node: Any) -> Any:
    match node:
        case i.Var(name=name) if name == old:
            return i.Var(new)
        case i.Load(tensor=name) if name == old:
            return replace(node, tensor=new)
        case _:
            return node


PLANTED = [
    ("taking", "block", "other", "other is read where nothing binds it"),
    ("taking", "Y", "Z", "elements of Z, which is no array there"),
    ("taking", "j", "jj", "jj is read where nothing binds it"),
    ("running", "K", "depth", "depth is read where nothing binds it"),
    ("running", "space", "room", "room is read where nothing binds it"),
    ("running", "nest", "nests", "nests is read where nothing binds it"),
]


@pytest.mark.parametrize(("part", "old", "new", "said"), PLANTED)
def test_faults_are_found(part, old, new, said):
    kernel, program = tiled(), kernels().program
    tiles = kernel.tiles
    assert tiles is not None
    assert not [*unsound_parts(program, kernel)]
    body = rebuild(getattr(tiles, part), lambda node: renamed(old, new, node))
    wrong = replace(kernel, tiles=replace(tiles, **{part: body}))
    (found,) = unsound_parts(program, wrong)
    assert said in found


def test_kernels_of_one_body_have_that_body():
    (family,) = kernels().tile_families
    assert family.types == {"result_t": ("i8", "i32")}
    assert family.tiles is not None
    assert not unsound_family(family)
    for part in ("taking", "running"):
        shorter = replace(family.tiles, **{part: getattr(family.tiles, part)[:-1]})
        assert len(unsound_family(replace(family, tiles=shorter))) == 2, "one for each kernel"


def test_they_are_shown_before_the_kernel():
    shown = [each.formula.split(":")[0] for each in kernels().shown().nests]
    types = "result_t = i8, i32"
    at = shown.index(f"f_Y_by_tiles_int8, f_Y_by_tiles_int32, {types}")
    assert shown[at - 1] == f"f_Y_totals_int8, f_Y_totals_int32, {types}"
