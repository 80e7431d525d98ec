"""Places of kernels of a GPU: those of right ones are proved, and none of a kernel with a fault."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.verification.obligations import Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.threads_places import places_of
from tests.verification.test_bounds import mutants, plus_one
from tests.verification.test_threads import PRODUCT, RELU, ROWS, TURNED, kernels

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()
FORMULAS = {"relu": RELU, "rows": ROWS, "product": PRODUCT, "turned": TURNED}


def places(
    name: str, number: int, change: Callable[[i.Block], i.Block] = tuple
) -> list[Obligation]:
    made = kernels(FORMULAS[name])
    kernel = made.kernels[0]
    assert kernel.mapped is not None
    function = kernel.mapped.functions[number]
    changed = replace(function, body=change(function.body))
    return list(places_of(made, kernel, changed, PROVER))


@pytest.mark.parametrize("name", FORMULAS)
def test_right_kernels_are_proved(name: str) -> None:
    mapped = kernels(FORMULAS[name]).kernels[0].mapped
    assert mapped is not None
    for number, _ in enumerate(mapped.functions):
        found = places(name, number)
        assert found
        assert {(e.about, e.shown, e.status) for e in found if e.status != "proved"} == set()


def one_more(node: object) -> Iterator[object]:
    if isinstance(node, i.Loop) and node.low is not None:
        yield replace(node, high=i.Binary("+", node.high, i.ONE))


def no_rest(node: object) -> Iterator[object]:
    """The last vector is as long as the others."""
    match node:
        case i.Call(function="min_i64", arguments=(_, i.Const() as most)):
            yield most
        case _:
            pass


FAULTS = [
    ("relu", 0, no_rest),
    ("relu", 0, plus_one),
    pytest.param("product", 0, plus_one, marks=pytest.mark.slow),
    pytest.param("product", 1, plus_one, marks=pytest.mark.slow),
    ("product", 1, one_more),
    ("turned", 0, plus_one),
]


@pytest.mark.parametrize(("name", "number", "change"), FAULTS)
def test_faults_are_not_proved(
    name: str, number: int, change: Callable[[object], Iterator[object]]
) -> None:
    mapped = kernels(FORMULAS[name]).kernels[0].mapped
    assert mapped is not None
    found = list(mutants(mapped.functions[number].body, change))
    assert found
    for body in found:
        left = places(name, number, lambda _, body=body: body)
        assert any(each.status != "proved" for each in left), block_lines(body)
