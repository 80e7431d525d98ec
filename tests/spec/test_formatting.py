"""Laid-out specs: a fixed point, and what they say as before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cvmgen.source import Source, SpecErrors, read_source
from cvmgen.spec.declarations import TopLevel
from cvmgen.spec.formatting import formatted, meaning
from cvmgen.spec.layout import LONGEST
from cvmgen.spec.lexemes import LexemeKind, comments, lexemes
from cvmgen.spec.parse import parse
from tests.docs.documents import LANGUAGE, blocks
from tests.fuzz import seeds

ROOT = Path(__file__).parents[2]
FILES = sorted(each for kind in ("*.cvm", "*.sched") for each in (ROOT / "spec").rglob(kind))
JOINED = {LexemeKind.WORD, LexemeKind.NUMBER}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_specs_are_laid_out(path: Path) -> None:
    source = read_source(path.name, path)
    assert formatted(source) == source.text


def test_the_formulas_of_the_language_reference_are_laid_out() -> None:
    shown = [each for each in blocks(LANGUAGE) if each.report is None]
    assert [each.place for each in shown if laid_out(each.formula) != each.formula] == []


def laid_out(text: str) -> str:
    return formatted(Source("some.cvm", text))


def scrambled(text: str, chance: random.Random) -> str:
    """The text with other blanks and line ends between its words, where these do not matter."""
    return "".join(pieces(text, chance))


def pieces(text: str, chance: random.Random) -> Iterator[str]:
    before = None
    for each in lexemes(text):
        if before is not None and (before.is_comment or (each.lines and not each.gap)):
            yield "\n" * chance.randint(1, 3)
        elif each.text != "..." and not (before and before.text in "<>=!" and each.text == "="):
            needed = before is not None and {before.kind, each.kind} <= JOINED
            blanks = [" ", "  ", "\n  ", "\n\n\t"]
            yield chance.choice(blanks if needed or each.is_comment else ["", *blanks])
        yield each.text
        before = each


@cache
def said_by(path: Path) -> list[TopLevel]:
    return meaning(parse(read_source(path.name, path)))


@pytest.mark.parametrize("seed", seeds(1))
def test_whatever_the_blanks_the_meaning_stays_and_a_second_time_changes_nothing(
    seed: int,
) -> None:
    chance = random.Random(seed)
    for path in FILES:
        if path.suffix == ".cvm":
            text = path.read_text(encoding="utf-8")
            mess = scrambled(text, chance)
            once = laid_out(mess)
            assert laid_out(once) == once
            assert meaning(parse(Source("some.cvm", once))) == said_by(path)
            assert [*comments(once)] == [*comments(text)]
            long = [line for line in once.splitlines() if len(line) > LONGEST]
            assert [line for line in long if "#" not in line] == []


CASES = {
    "blanks": (
        'operator  a{"Text."input X:cvm[ n... ]output Y : cvm[n...]precision p( X )+ 1\n'
        "Y[d...]=-X[d...]*2+1}",
        "operator a {\n"
        '  "Text."\n'
        "  input  X : cvm[n...]\n"
        "  output Y : cvm[n...] precision p(X) + 1\n"
        "  Y[d...] = -X[d...]*2 + 1\n"
        "}\n",
    ),
    "comments": (
        "# first\n\n\n\nconst a=1# beside\n# before the end",
        "# first\n\nconst a = 1  # beside\n# before the end\n",
    ),
    "comments above a text": (
        'operator a {  # of a\n  # one\n\n# two\n"Text." # behind\ninput X : int8[N]\n}',
        'operator a {  # of a\n  # one\n\n  # two\n  "Text."  # behind\n  input  X : int8[N]\n}\n',
    ),
    "columns of lets": (
        "operator a {\nlet  long[i]  = 1\nlet b[i] = 2\n\nlet c = 3\nlet de = 4\n}",
        "operator a {\n  let    long[i] = 1\n  let    b[i]    = 2\n\n"
        "  let    c = 3\n  let    de = 4\n}\n",
    ),
    "what is alone": (
        "operator a {\nlet  long[i]   = 1\nY[i]   = 2\n}",
        "operator a {\n  let    long[i] = 1\n  Y[i] = 2\n}\n",
    ),
    "signs": (
        "def a(x) = x  -2^ -1 if not-x<3 and x!=+1 else x [: 1]",
        "def a(x) = x - 2^-1 if not -x < 3 and x != +1 else x[:1]\n",
    ),
    "words as names": (
        "operator where{ alias  div , mod\nexample where( [ 1 ],axis = 1)==[ 2 ] }",
        "operator where {\n  alias  div, mod\n  example where([1], axis=1) == [2]\n}\n",
    ),
    "lines of an author": (
        "operator a {\n Y[i] = sum[k < K](\nX[k])\n+ 1\nforall i < N\nwhere b = 1,\n c = 2 }",
        "operator a {\n  Y[i] = sum[k < K](\n           X[k])\n       + 1\n    forall i < N\n"
        "    where b = 1,\n          c = 2\n}\n",
    ),
    "a tensor called output": (
        "operator a {\noutput output:int8[N]\noutput  [i]=X[ i ]\noutput[0] = 1\n }",
        "operator a {\n  output output : int8[N]\n  output[i] = X[i]\n  output[0] = 1\n}\n",
    ),
    "a long line": (
        f'operator a {{ require {" and ".join(f"extent{i} >= 1" for i in range(9))} : "b" }}',
        "operator a {\n"
        "  require extent0 >= 1 and extent1 >= 1 and extent2 >= 1 and extent3 >= 1 and extent4 >= 1"
        "\n                       and extent5 >= 1 and extent6 >= 1 and extent7 >= 1"
        ' and extent8 >= 1 : "b"\n}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_how_it_is_laid_out(name: str) -> None:
    before, after = CASES[name]
    assert laid_out(before) == after
    assert laid_out(after) == after


def test_schedules() -> None:
    text = (
        '# of "nests"\n\n\nschedule other for c {\n"Two\n   lines.  "\n  split   outer by 8 into '
        "a ,b  # why\n\n}\nschedule list for c {\nuse x with y  1\n}\n\n"
    )
    wanted = (
        '# of "nests"\n\nschedule other for c {\n  "Two\n   lines.  "\n  split outer by 8 into '
        "a, b  # why\n\n}\nschedule list for c {\n  use x with y 1\n}\n"
    )
    assert formatted(Source("some.sched", text)) == wanted
    assert formatted(Source("some.sched", wanted)) == wanted


def test_what_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(SpecErrors, match="is not closed"):
        laid_out("operator a {\n")


def test_intrinsics() -> None:
    """What they quote lies elsewhere then, and says the same."""
    path = ROOT / "spec/schedules/intrinsics.sched"
    text = path.read_text(encoding="utf-8")
    mess = text.replace("\n  ", "\n\t ").replace(" = ", "  =").rstrip("\n")
    assert formatted(Source(path.name, mess)) == text
