"""Families on a GPU: which functions are one, and faults planted into them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import CUDA, kernels_or_program, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.gpu.families import unsound_device_families
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import packaged
from tests.specs import operator

GATHERED = """"Test."
input X : cvm[N, K]
output Y : cvm[N] precision p(X)
Y[i] = sum[k < K](X[i, k] * X[i, k]) - 1"""


@cache
def kernels() -> Kernels:
    found = kernels_or_program(lower(operator(GATHERED), CUDA), "cuda", packaged())
    assert isinstance(found, Kernels)
    return found


def test_each_function_of_each_kernel_is_in_one_family():
    made = kernels()
    grouped = [
        (kernel.name, function.name)
        for family in made.device_families
        for kernel, function in zip(family.kernels, family.functions, strict=True)
    ]
    each = [
        (kernel.name, function.name)
        for kernel in made.kernels
        if kernel.mapped
        for function in kernel.mapped.functions
    ]
    assert sorted(grouped) == sorted(each)
    assert any(family.types for family in made.device_families)


def other_number(node: Any) -> Any:
    return i.Const(7) if node == i.ONE else node


def other_type(node: Any) -> Any:
    match node:
        case i.Convert(type="wide_t"):
            return replace(node, type="result_t")
        case _:
            return node


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_number, "a number that no kernel has"),
        (other_type, "a type parameter in place of another one"),
    ],
)
def test_faults_in_bodies_are_found(change, why):
    made = kernels()
    assert not [*unsound_device_families(made)]
    wrong = [
        replace(each, body=replace(each.body, body=rebuild(each.body.body, change)))
        for each in made.device_families
    ]
    assert wrong != [*made.device_families], why
    assert [*unsound_device_families(replace(made, device_families=tuple(wrong)))], why


def test_parameters_that_are_not_those_of_kernels_are_found():
    made = kernels()
    wrong = [replace(each, given=each.given[:-1]) for each in made.device_families]
    faults = [*unsound_device_families(replace(made, device_families=tuple(wrong)))]
    assert len(faults) == sum(len(each.kernels) for each in wrong)
    assert "is not given what its family is" in faults[0]
