"""The C of an operator with each of its kernels by itself, however many are like it."""

from dataclasses import replace

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.emit import c
from cvmgen.schedule.generic import family_of_one
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.formula import Operator


def each_kernel(operator: Operator, schedules: Schedules | None = None) -> str:
    chosen = packaged() if schedules is None else schedules
    kernels = kernels_or_program(lower(operator, C), "c", chosen)
    assert isinstance(kernels, Kernels)
    return c.emit_operator(replace(kernels, families=tuple(map(family_of_one, kernels.kernels))))
