"""Imports: what comes from where, and what is said of those that cannot be."""

from __future__ import annotations

import pytest

from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Definition, Operator
from tests.spec.shown import show_item

USE = "operator f {{ input X : cvm[N] output Y : cvm[N] precision 32 Y[i] = {} }}"
HALVES = "const two = 2 def half(x) = quarter(x) * two def quarter(x) = x div (two * two)"


def opsets(**texts: str) -> list[SpecFile]:
    """A file for each opset; `common` is for all of them."""
    return [
        SpecFile(Source(f"{name}.cvm", text), "" if name == "common" else name)
        for name, text in texts.items()
    ]


def operator_of(opset: str, files: list[SpecFile]) -> Operator:
    return next(each for each in check_files(files) if each.opset == opset)


def definitions(operator: Operator) -> list[str]:
    return [show_item(each) for each in operator.items if isinstance(each, Definition)]


def test_what_comes_with_cvmgen_is_there_without_a_file() -> None:
    files = opsets(mine="import clip, bits from common " + USE.format("clip(X[i], 0, bits(3))"))
    first, second = sorted(definitions(operator_of("mine", files)))
    assert first.startswith("def bits(n int)")
    assert second.startswith("def clip(x int, low int, high int)")


def test_the_folder_at_hand_is_asked_first() -> None:
    own = "def clip(x, low, high) = low"
    files = opsets(common=own, mine="import clip from common " + USE.format("clip(X[i], 0, 3)"))
    (found,) = definitions(operator_of("mine", files))
    assert found.endswith("= parameter:low : int")


def test_what_is_imported_brings_what_it_uses() -> None:
    files = opsets(parts=HALVES, mine="import half from parts " + USE.format("half(X[i])"))
    found = definitions(operator_of("mine", files))
    assert [each.split("(")[0] for each in found] == ["def quarter", "def half"]


def test_imports_of_imports() -> None:
    files = opsets(
        parts=HALVES,
        more="import half from parts def both(x) = half(x) + half(x)",
        mine="import both from more " + USE.format("both(X[i])"),
    )
    assert len(definitions(operator_of("mine", files))) == 3


def test_what_all_share_may_import_what_all_know() -> None:
    files = opsets(common="import clip from common def top(x) = clip(x, 0, 7)")
    files += opsets(mine=USE.format("top(X[i])"))
    assert len(definitions(operator_of("mine", files))) == 2


def test_an_import_of_what_is_known_anyway_changes_nothing() -> None:
    files = opsets(common=HALVES, mine="import half from common " + USE.format("half(X[i])"))
    assert len(definitions(operator_of("mine", files))) == 2


@pytest.mark.parametrize("name", ["x", "low", "i"])
def test_what_is_imported_does_not_meet_the_names_of_constants(name: str) -> None:
    """Its parameters and indices are its own: the file that imports it may not know them."""
    files = opsets(
        parts="def cut(x, low) = max(x, low) + sum[i < 2](i)",
        mine=f"import cut from parts const {name} = 3 "
        + USE.replace("Y[i]", "Y[k]").format(f"cut(X[k], {name})"),
    )
    (found,) = definitions(operator_of("mine", files))
    assert found.endswith("(max(parameter:x, parameter:low) + sum[0 <= i < 2](index:i)) : int")


REFUSED = (
    ("import clip from comon", "18: error: there is no opset 'comon'", "did you mean 'common'?"),
    ("import clop from common", "8: error: 'common' declares no 'clop'", "did you mean 'clip'?"),
    ("import half from nothing", "18: error: there is no opset 'nothing'", "write common, cvm, "),
    ("import two, dense from cvm", "13: error: 'dense' is an operator of 'cvm'", "'const', 'def'"),
    ("import it from user", "17: error: 'mine' itself imports from here", "declare what both"),
    ("import clip", "error: ',' or 'from' is missing after this", ""),
    (
        "import clip bits from common",
        "13: error: 'bits' cannot stand here; expected ',' or",
        "",
    ),
    (
        "import from common",
        "13: error: 'common' cannot stand here",
        "",
    ),
    ("from common import clip", "1: error: 'from' begins no declaration", "begins with import, "),
    ("import bits from common def bits(x) = x", "two definitions are named 'bits'", "came with an"),
    (
        "import cut from mine def cut(x) = x",
        "8: error: 'cut' is declared in 'mine' itself",
        "remove",
    ),
    (
        "import reduce from cvm const K = 2 operator g = reduce(sum, K)",
        "61: error: the family 'reduce' has a 'K' of its own",
        "give the constant another name",
    ),
)


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(text: str, message: str, hint: str) -> None:
    files = opsets(mine=text + "\n" + USE.format("X[i]"))
    files += opsets(user="import two from mine def it(x) = x")
    with pytest.raises(SpecErrors) as caught:
        check_files(files)
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_a_name_that_could_not_be_imported_is_said_once() -> None:
    files = opsets(mine="import clop from common " + USE.format("clop(X[i])"))
    with pytest.raises(SpecErrors) as caught:
        check_files(files)
    assert len(caught.value.errors) == 1


def test_an_import_of_what_cannot_be_read_is_silent() -> None:
    files = opsets(mine="import b from parts " + USE.format("X[i] + b"), parts="const b =")
    with pytest.raises(SpecErrors) as caught:
        check_files(files)
    assert [each.span.source.name for each in caught.value.errors] == ["parts.cvm"]


def test_an_imported_family_does_not_meet_constants() -> None:
    """The files of the project know nothing of those of a user."""
    rule = "import reduce, sum_precision from cvm const N = 3 const i = 4 const d = 5 "
    files = opsets(mine=rule + "operator g = reduce(sum, sum_precision) { }")
    assert operator_of("mine", files).full_name == "mine.g"
    own = "family one() { input X : cvm[N] output Y : cvm[N] Y[k] = X[k] } const N = 3 "
    (given,) = operator_of("mine", opsets(mine=own + "operator g = one()")).inputs
    assert given.extents[0].new is None  # the extent of a family of its own is the constant
