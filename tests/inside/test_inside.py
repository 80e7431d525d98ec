"""What is proved to stay inside of tensors, and what is tested instead."""

from __future__ import annotations

import pytest

from cvmgen.build.progress import Progress
from cvmgen.cli.specs import unproved_places
from cvmgen.driver import C_LIKE, WHOLE_ARRAYS, lower
from cvmgen.errors import Strict
from cvmgen.inside.checks import open_places
from cvmgen.ir.text import program_text
from cvmgen.lower.translate import operator_program
from cvmgen.source import SpecError
from tests.operators import product
from tests.specs import operator

INPUTS = "input X : cvm[N]\ninput Z : cvm[n...]\nattr a = 0 in [0, 4)\nattr b = 0\n"
OUTPUT = "output Y : cvm[N] precision 32\n"
PROVED = [
    ("Y[i] = X[N - 1 - i]", "affine"),
    ("Y[i] = X[(i + b) mod N]", "a remainder by an extent"),
    ("Y[i] = X[max(0, min(X[i], N - 1))]", "an element that is cut"),
    ("Y[i] = X[i * a + b] if 0 <= i * a + b < N else 0", "a guard"),
    ("Y[i] = X[i div (a + 1)]", "a quotient"),
    ("Y[i] = Z[unflatten(X[i] mod size(n), n...)...]", "a position in a box"),
    ("Y[i * 1] = X[i]  forall i < N", "a store by an expression"),
]
WHOLE = [
    (
        "input X : cvm[n...]\ninput Z : cvm[n[0], size(n[1:])]\noutput Y : cvm[n...] precision 32\n"
        "Y[i, d...] = Z[i, flatten_index(d..., n[1:]...)]  forall i < n[0], d... < n[1:]...",
        "an output of the shape of an input, and a position in a part of it",
    ),
    (
        "attr A in [1, 99)\nattr B in [1, 99)\nattr K in [1, 9)\nrequire K <= B : 'it fits'\n"
        "input X : cvm[A * B]\noutput Y : cvm[A * (B - K + 1)] precision 32\n"
        "Y[a * (B - K + 1) + b] = X[a * B + b + K - 1]  forall a < A, b < B - K + 1",
        "digits, of which one is a difference",
    ),
    (
        "input X : cvm[n...]\nlet N = len(n)\nattr a in [0, N + 1)\nattr k in [0, 9)\n"
        "input Z : cvm[m...]\nrequire len(m) == N + k : 'the rank'\n"
        "require all[j < a](m[j] == n[j]) : 'the front'\n"
        "require all[j < N - a](m[a + k + j] == n[a + j]) : 'the back'\n"
        "output Y : cvm[n...] precision 32\n"
        "Y[d...] = Z[(d[j] if j < a else 0 if j < a + k else d[j - k] for j < N + k)...]",
        "what is required of entries beside an index",
    ),
    (
        f"input X : cvm[N]\n{OUTPUT}"
        "let V = {p for p < N if 0 <= X[p] < N and all[q in V if q < p](X[X[p]] != X[X[q]])}\n"
        "Y[i] = V[i] if i < count(V) else -1",
        "what a list under construction asked of its entries",
    ),
]
OPEN = [
    ("Y[i] = X[(i + 1000000 if N == 1237 else i)]", 1, "one extent among all"),
    ("Y[i] = X[X[i]]", 1, "an element is the index"),
    ("Y[i] = X[i mod (0 - N)]", 1, "a remainder by a negative is none of an index"),
    ("Y[i] = Z[unflatten(i * 3, n...)...]", 1, "a position beyond the box"),
    ("Y[i] = X[i + 1] if i < N else 0", 1, "a guard one off"),
    ("Y[(i + 1 if N == 1237 else i)] = X[i]  forall i < N", 1, "a store outside"),
    ("Y[i] = X[i * 2^40 * 2^30]", 1, "an index beyond 64 bits"),
]
LIST = f"{INPUTS}{OUTPUT}let V = sort[q < N] by (-X[q])\n"
REFUSED = [
    (
        f"{INPUTS}{OUTPUT}let V = {{p for p < N if all[q in V if q < p](X[p] != X[q + X[q]])}}\n"
        "Y[i] = V[i] if i < count(V) else -1",
        "this index stays inside while the list is made",
        "X[q + X[q]]",
    ),
    (
        f"{INPUTS}{OUTPUT}Y[i] = Z[unflatten(i mod 4, (2, 2))...]",
        "this index stays inside",
        "Z[unflatten(i mod 4, (2, 2))...]",
    ),
    (
        f"{INPUTS}{OUTPUT}Y[i] = Z[(a for k < len(n) if k != a)..., 0]",
        "this index stays inside",
        "Z[(a for k < len(n) if k != a)..., 0]",
    ),
]


def text(equation: str) -> str:
    return f"{INPUTS}{OUTPUT}{equation}"


@pytest.mark.parametrize(("equation", "why"), PROVED, ids=[why for _, why in PROVED])
def test_proved(equation: str, why: str) -> None:
    assert open_places(operator_program(operator(text(equation)))) == (), why


@pytest.mark.parametrize(("items", "why"), WHOLE, ids=[why for _, why in WHOLE])
def test_whole_operators_are_proved(items: str, why: str) -> None:
    assert open_places(operator_program(operator(items.replace("'", '"')))) == (), why


@pytest.mark.parametrize(("equation", "count", "why"), OPEN, ids=[why for *_, why in OPEN])
def test_open(equation: str, count: int, why: str) -> None:
    found = operator(text(equation))
    assert len(open_places(operator_program(found))) == count, why
    assert lower(found, C_LIKE).nests[0].guarded is not None, why


def test_a_sorted_list_is_in_an_order_of_its_own() -> None:
    found = operator(f"{LIST}Y[i] = X[(i if V[i] == i else i + 1000000)]")
    assert len(open_places(operator_program(found))) == 1


@pytest.mark.parametrize(("items", "what", "place"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_what_calls_cannot_test_is_refused(items: str, what: str, place: str) -> None:
    with pytest.raises(SpecError) as refused:
        open_places(operator_program(operator(items)))
    assert refused.value.message == f"it is not proved that {what}, and calls cannot test it"
    assert refused.value.span.code == place
    assert "add a `require`" in refused.value.hint


# What the host computes for a nest, as it stands before and behind the pass that shelters it.
HOST = [
    ("Y[i] = X[i] + L[1]", "L[1] if 1 < len(L) else 0", "an entry"),
    ("Y[i] = X[i] + n[0]", "= n[0]\n", "an entry that is there"),
    (
        "Y[i] = X[i] + sum[d... < n[c:]...](1)",
        "n[max(0, min(c, len(n))):]",
        "a part",
    ),
    ("Y[i] = X[i] + sum[d... < n[1:]...](1)", "size(n[1:])", "a part that is there"),
]


@pytest.mark.parametrize(("equation", "shown", "why"), HOST, ids=[row[-1] for row in HOST])
def test_the_host_reads_what_is_there(equation: str, shown: str, why: str) -> None:
    items = f"{INPUTS}attr L : int list = ()\nattr c = 0\n{OUTPUT}{equation}"
    assert shown in program_text(lower(operator(items), C_LIKE)), why


def test_whole_arrays_read_what_is_there() -> None:
    """A condition of the call around an entry does not keep numpy from reading it."""
    items = (
        f"{INPUTS}attr L : int list = ()\nattr c = 0\n{OUTPUT}Y[i] = X[i] + L[1] if c > 0 else 0"
    )
    found = program_text(lower(operator(items), WHOLE_ARRAYS))
    assert "(L[1] if 1 < len(L) else 0)" in found
    assert "0 <= 1" not in found


def test_one_tensor_of_several_at_a_time() -> None:
    """Of another tensor neither the shape nor the elements are at hand."""
    spec = (
        "input each i < Q : X[i] : cvm[n[i]...]\noutput Y : cvm[Q] precision 32\n"
        "Y[i] = X[0][unflatten(1 mod size(n[0]), n[0])...]\n"
        "  - X[i][unflatten(i mod size(n[i]), n[i])...]"
    )
    with pytest.raises(SpecError, match="not walked one after the other"):
        lower(operator(spec), C_LIKE)


def test_the_operators_are_proved() -> None:
    """So that no call of them takes longer for a test."""
    assert unproved_places(product(), Progress(), Strict()) == []


@pytest.mark.parametrize(
    "made",
    [
        "{i for i in S if i in S}",
        "{i for i in S if i in S or i > 3}",
        "{i + 1 for i in S if i > 3} + {i for i in S}",
        "S - {i for i in S if any[j in S](j > i)}",
    ],
)
def test_sets_of_sets_are_looked_into_a_few_times(made: str) -> None:
    """What each one asks twice would double with each."""
    lets = "".join(f"let S{at} = {made.replace('S', f'S{at - 1}')}\n" for at in range(1, 40))
    text = (
        f"{INPUTS}attr axes : int list = () in [0, 9)\nlet S0 = {{i for i in axes}}\n{lets}{OUTPUT}"
    )
    assert lower(operator(f"{text}Y[i] = X[i] if i in S39 else 0"), C_LIKE)
