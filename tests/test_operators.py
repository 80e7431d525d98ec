"""The operators that stand for all have what all have."""

from collections.abc import Iterator

import pytest

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.emit import cuda
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import packaged
from tests.emit.cuda_texts import NAMES, kernels_of, operators
from tests.operators import constructs, extra, product, sample


def test_names_of_the_sample_are_operators() -> None:
    assert sample() < set(NAMES)


@pytest.mark.parametrize("formulas", [product(), product() + extra()])
def test_each_construct_is_in_the_sample(formulas) -> None:  # type: ignore[no-untyped-def]
    has = {each.full_name: set(constructs(each)) for each in formulas}
    assert set().union(*has.values()) == set().union(*(has[name] for name in has.keys() & sample()))


@pytest.mark.slow  # it lowers all operators
def test_each_statement_of_kernels_is_in_the_sample() -> None:
    has = {name: {*statements(name)} for name in NAMES}
    assert set().union(*has.values()) == set().union(*(has[name] for name in sample()))


def statements(name: str) -> Iterator[tuple[str, ...]]:
    """What scheduled nests of an operator are made of in C, and its classes of kernels in CUDA."""
    kernels = kernels_or_program(lower(operators()[name], C), "c", packaged())
    assert isinstance(kernels, Kernels)
    yield from constructs(kernels.kernels, words=False)
    for kind in cuda.kernel_classes(kernels_of(name)).values():
        yield "class", kind
