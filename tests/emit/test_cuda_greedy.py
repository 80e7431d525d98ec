"""Greedy selections as CUDA text: which are, and what they select by a mask and without one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from cvmgen import driver
from cvmgen.api.cuda_cpu_backend import ThreadOrder
from cvmgen.build import write_changed
from cvmgen.emit import cuda
from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec import formula as f
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.emit.on_cpu import OnCpu, quickly

NEAR = "abs(X[b, p] - X[b, q]) < distance"
FAR = "abs(X[b, p] - X[b, q]) >= distance"
HEAD = """operator s{number} {{
  "{why}."
  input  X : cvm[B, N]
  attr   distance = 2 in [0, 100]
  output Y : cvm[B, N] precision 20
  let    V[b] = select[i < N](X[b, i] != 1)
  let    U[b] = {value}
  Y[b, i] = U[b][i] if i < count(U[b]) else -1
}}
"""
# Selections, and whether the test of a candidate against an entry depends on no other entry.
FORMS = [
    (f"{{p for p < N if all[q in U[b] if q < p]({FAR})}}", True, "all"),
    (f"{{p for p < N if not any[q in U[b] if q < p]({NEAR})}}", True, "not any"),
    (
        f"{{p for p < N if X[b, p] > 0 and all[q in U[b] if q < p]({FAR}) and X[b, p] != 9}}",
        True,
        "conditions in front and behind",
    ),
    (
        f"{{p for p < N if X[b, p] > 5 or all[q in U[b] if q < p]({FAR})}}",
        True,
        "one that passes anyway",
    ),
    (
        f"{{p for 2 <= p < N - 1 if not any[q in U[b] if q < p and X[b, q] > 3]({NEAR})}}",
        True,
        "not from 0 on, and some entries do not matter",
    ),
    (
        f"select[p in V[b]](X[b, p] > -3 and all[q in U[b] if q < p]({FAR}))",
        True,
        "candidates from a list",
    ),
    (
        "{p for p < N if X[b, p] >= 0 and X[b, p] < N and all[q in U[b] if q < p]"
        "(X[b, X[b, p]] != X[b, X[b, q]] + distance)}",
        True,
        "elements that only candidates have",
    ),
    (
        "{p for p < N if sum[k < p](X[b, k]) > 0 and all[q in U[b] if q < p]"
        "(sum[q <= k < p](abs(X[b, k])) >= distance)}",
        True,
        "loops in both conditions",
    ),
    (
        f"{{p for p < N if all[q in U[b] if q < p]({FAR}) and all[q in U[b] if q < p](p > q + 3)}}",
        False,
        "two tests",
    ),
    (
        f"{{p for p < N if p == 0 or not all[q in U[b] if q < p]({FAR})}}",
        False,
        "an entry that lets pass",
    ),
    (
        "{p for p < N if count[q in U[b] if q < p and X[b, q] == X[b, p]](true) < 2}",
        False,
        "entries are counted",
    ),
    (
        "{p for p < N if all[q in U[b] if q < p](all[r in U[b] if r < p]"
        "(X[b, p] + X[b, q] != X[b, r]))}",
        False,
        "other entries matter",
    ),
    (
        f"{{p for p < N if all[q in U[b] if q < p]({FAR})}} if distance > 1 else {{p for p < N}}",
        False,
        "a choice of two lists",
    ),
]


# Lists, their elements, blocks and their threads.
ORDERS: tuple[ThreadOrder, ...] = ("forward", "reverse")
CALLS = ((2, 3, 1, 1), (3, 40, 2, 3), (2, 90, 3, 33), (1, 130, 1, 256))


@dataclass(frozen=True)
class Selections:
    """The operators of the forms, ready to be called with and without masks."""

    references: Conformance
    on_cpu: OnCpu


def formed() -> tuple[f.Operator, ...]:
    text = "".join(
        HEAD.format(number=number, value=value, why=why.capitalize())
        for number, (value, _, why) in enumerate(FORMS)
    )
    return check_files([SpecFile(Source("selections.cvm", text), "selections")])


@pytest.fixture(scope="module")
def operators() -> tuple[f.Operator, ...]:
    return formed()


@pytest.mark.parametrize("number", range(len(FORMS)), ids=[row[-1] for row in FORMS])
def test_which_are_greedy(number: int, operators: tuple[f.Operator, ...]) -> None:
    kernels = driver.mapped_kernels(operators[number])
    kinds = cuda.kernel_classes(kernels)
    assert any(name.endswith("_pairs") for name in kinds) == FORMS[number][1]


def test_the_mask_is_named_like_nothing_else() -> None:
    text = HEAD.format(number=0, value=FORMS[0][0], why="Named")
    text = text.replace("X", "U_mask").replace("distance", "words")
    (operator,) = check_files([SpecFile(Source("named.cvm", text), "named")])
    emitted = driver.emitted("cuda", operator)
    assert "int64_t *U_mask_2 = NULL;" in emitted
    assert "words_" in emitted


@pytest.fixture(scope="module", params=["mask", "votes"])
def selections(
    request: pytest.FixtureRequest,
    operators: tuple[f.Operator, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Selections:
    folder = tmp_path_factory.mktemp("selections")
    write_changed(folder, driver.generate(operators, ("cuda",)))
    on_cpu = quickly(folder)
    on_cpu.backends["selections"].state.always_votes = request.param == "votes"
    references = Conformance({each.full_name: Reference(each) for each in operators}, {})
    return Selections(references, on_cpu)


@pytest.mark.parametrize("number", range(len(FORMS)), ids=[row[-1] for row in FORMS])
def test_selections(number: int, selections: Selections) -> None:
    random = Random(number)
    for lists, length, blocks, threads in CALLS:
        values = [random.randint(-9, 9) for _ in range(lists * length)]
        X = np.array(values, np.int32).reshape(lists, length)
        distance = random.choice((0, 1, 2, 3))
        call = Call(f"selections.s{number}", (X,), {"distance": distance})
        (expected,) = selections.references.expected(call).outputs
        order = random.choice((*ORDERS, random.randrange(1000)))
        selections.on_cpu.fix(blocks, threads, order)
        found = selections.on_cpu.operators[f"selections.s{number}"](X, distance=distance)
        assert found.ravel().tolist() == list(expected.values), (lists, length, distance)
