"""Formulas that grow beyond all bounds when they are written out are refused at once."""

from __future__ import annotations

import pytest

from cvmgen.reference.probe import check_operators
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator

HEAD = 'operator f {\n  "d"\n  input X : cvm[N]\n  output Y : cvm[N] precision 32\n'


def checked(text: str) -> tuple[Operator, ...]:
    return check_files([SpecFile(Source("f.cvm", text), "x")])


def doubled(levels: int) -> str:
    lets = "".join(
        f"  let T{at}[i] = T{at - 1}[i] mod 9 + T{at - 1}[N - 1 - i] mod 9\n"
        for at in range(1, levels)
    )
    return f"{HEAD}  let T0[i] = X[i]\n{lets}  Y[i] = T{levels - 1}[i]\n}}\n"


def refusing(levels: int) -> str:
    return doubled(levels).replace("= X[i]\n", '= X[i] if X[i] > 3 else refuse "small"\n')


def refusing_where(levels: int) -> str:
    parts = (f"w{at} = w{at - 1} mod 9 + w{at - 1} mod 8" for at in range(levels - 1, 0, -1))
    first = 'w0 = X[i] if X[i] > 3 else refuse "small"'
    return f"{HEAD}  Y[i] = w{levels - 1}\n    where {', '.join((*parts, first))}\n}}\n"


def bound_where(levels: int) -> str:
    """Each is used twice, where other indices are bound."""
    parts = (
        f"w{at} = sum[k{at} < 2](w{at - 1} mod 9) + max[m{at} < 2](w{at - 1})"
        for at in range(levels - 1, 0, -1)
    )
    return f"{HEAD}  Y[i] = w{levels - 1} mod 7\n    where {', '.join((*parts, 'w0 = X[i]'))}\n}}\n"


def nested(levels: int) -> str:
    functions = "".join(f"def h{at}(x) = h{at - 1}(h{at - 1}(x))\n" for at in range(1, levels))
    return f"def h0(x) = x + 1\n{functions}{HEAD}  Y[i] = h{levels - 1}(X[i]) mod 7\n}}\n"


def summed(terms: int) -> str:
    return f"{HEAD}  Y[i] = ({' + '.join(['X[i]'] * terms)}) mod 7\n}}\n"


def chosen(cases: int) -> str:
    return f"{HEAD}  Y[i] = {''.join(f'{at} if X[i] == {at} else ' for at in range(cases))}0\n}}\n"


DEEP = "a formula is at most 200 levels deep"
LARGE = [
    (doubled(20), r"this is [\d,]{9} terms with its definitions put in; at most 10,000"),
    (doubled(60), r"'\w+' is written out [\d,]{20,} times"),
    (refusing(60), r"'\w+' is written out [\d,]{20,} times"),
    (refusing_where(60), r"this is [\d,]{20,} terms with its definitions put in; at most 10,000"),
    (bound_where(60), r"this is [\d,]{20,} terms with its definitions put in; at most 10,000"),
    (nested(12), DEEP),
    (nested(9), DEEP),
    (summed(1000), DEEP),
    (summed(5000), f"{DEEP}|nested too deeply"),
    (chosen(300), DEEP),
]


@pytest.mark.parametrize(("text", "message"), LARGE, ids=range(len(LARGE)))
def test_what_grows_without_end_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecErrors, match=message):
        checked(text)


@pytest.mark.parametrize(
    "text",
    [
        doubled(5),
        refusing(5),
        refusing_where(5),
        bound_where(5),
        nested(5),
        summed(100),
        chosen(100),
    ],
)
def test_what_people_write_is_not(text: str) -> None:
    (found,) = checked(text)
    assert found.name == "f"


def test_many_inputs_are_tried_with_some_of_their_precisions() -> None:
    """Of sixteen there are 5 10^16 combinations."""
    inputs = "".join(f"  input X{at} : cvm[N]\n" for at in range(16))
    total = " + ".join(f"X{at}[i]" for at in range(16))
    text = f'operator f {{\n  "d"\n{inputs}  output Y : cvm[N]\n  Y[i] = clip({total}, -9, 9)\n}}\n'
    check_operators(checked(f"def clip(x, low, high) = max(low, min(x, high))\n{text}"))
