"""Texts from files stay texts: in C, CUDA, Python and JSON, and on a terminal."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import tokenize
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cvmgen import driver
from cvmgen.build import c_compiler, write_changed
from cvmgen.errors import ModelError
from cvmgen.escape import (
    in_c_comment,
    in_c_format,
    in_c_string,
    in_docstring,
    in_latex,
    json_text,
    lines_for_terminal,
    printable,
    python_string,
)
from cvmgen.graph import load_model
from cvmgen.graph.limits import INPUT
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode
from cvmgen.model.build import make_files
from cvmgen.source import Source, SpecError, SpecErrors, read_source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.fuzz import seeds
from tests.fuzz.texts import CANARY, HIDDEN, SEEN, hostile

TEXTS = [hostile(Random(seed)) for seed in seeds(400)]
C11 = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-trigraphs", "-O0")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def utf8(text: str) -> bytes:
    """What a C program has of a text: UTF-8, and the code of half a character."""
    return text.encode("utf-8", "backslashreplace")


def test_c_compilers_read_them_as_they_are(tmp_path: Path) -> None:
    lines = ["#include <stdio.h>", "int main(void) {", "    int comments = 0;"]
    for text in TEXTS:
        lines.append(f"    /* {in_c_comment(text)} */ ++comments; /* {in_c_comment(text)} */")
        lines.append(f'    fwrite("{in_c_string(text)}", 1, {len(utf8(text))}, stdout);')
        if "\0" not in text:
            lines.append(f'    printf("{in_c_format(text)}" "%s", "");')
    lines += ['    printf("%d", comments);', "    return 0;", "}"]
    source, program = tmp_path / "texts.c", tmp_path / "texts"
    source.write_text("\n".join(lines), encoding="utf-8")
    # A format of one line may be of any length.
    flags = (*C11, "-Wno-overlength-strings", "-Wno-format-zero-length")
    subprocess.run([*c_compiler().command, *flags, source, "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True).stdout
    expected = b"".join(utf8(text) * (1 if "\0" in text else 2) for text in TEXTS)
    assert said == expected + str(len(TEXTS)).encode()


@pytest.mark.parametrize("text", TEXTS[:100], ids=range(100))
def test_python_reads_them_as_they_are(text: str) -> None:
    assert ast.literal_eval(python_string(text)) == text
    (only,) = ast.parse(f'"""{in_docstring(text)}\n"""').body
    assert isinstance(only, ast.Expr)
    assert isinstance(only.value, ast.Constant)
    comment = f"# {printable(text)}\n"
    kinds = [each.type for each in tokenize.generate_tokens(io.StringIO(comment).readline)]
    assert kinds == [tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER]


@pytest.mark.parametrize("text", TEXTS[:100], ids=range(100))
def test_terminals_show_them_as_they_are(text: str) -> None:
    shown = lines_for_terminal(text)
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert shown.count("\n") == text.count("\n")
    assert json.loads(json_text({text: [text]})) == {text: [text]}
    assert json_text([text]).replace("\n", "").replace("\t", "").isprintable()
    assert str(ModelError(text, where=text)).replace("\t", "").isprintable()


def network(names: tuple[str, str, str]) -> tuple[SymbolGraph, dict[str, np.ndarray]]:
    """A dense layer and a clip whose nodes and weights have these names."""
    weights, dense, clip = names
    nodes = (
        SymbolNode(INPUT, (NodeOutput((1, 4), 8),)),
        SymbolNode(weights, (NodeOutput((3, 4), 8),)),
        SymbolNode(
            dense,
            (NodeOutput((1, 3)),),
            "dense",
            (OutputReference(0), OutputReference(1)),
            (("units", 3), ("use_bias", False)),
        ),
        SymbolNode(
            clip, (NodeOutput((1, 3)),), "cvm_clip", (OutputReference(2),), (("precision", 6),)
        ),
    )
    values = np.arange(12, dtype=np.int8).reshape(3, 4)
    return SymbolGraph(nodes, (OutputReference(3),)), {weights: values}


@pytest.mark.parametrize("seed", seeds(8))
def test_a_model_is_no_code(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    names = ["*/__asm__(`);//", *(f"{hostile(random)}{each}" for each in "ab")]
    random.shuffle(names)
    made = make_files(*network((names[0], names[1], names[2])), "net")
    files = made.all()
    for name, text in files.items():
        if name.endswith((".c", ".h")):
            assert CANARY not in code(text)
    for line in made.story():
        assert line.replace("\t", "").isprintable()
    if seed % 4 == 0:
        write_changed(tmp_path, files)
        found = load_model(tmp_path)(np.array([[1, 2, 3, 4]], np.int8))
        assert np.array_equal(found, [[20, 31, 31]])


SPEC = """
operator {name} {{
  "{doc}"
  input  X : cvm[N, # {comment}
    K]
  input  W : cvm[K # {comment}
    ]
  attr   a = 1 in [0, # {comment}
    9)
  require N < 9 : "{message}"
  output Y : cvm[N, K] precision 32
  Y[i, j] = X[i, j] * W[j] # {comment}
    + a
}}
"""


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    """The text of every target where nothing is hostile, without comments and strings."""
    texts = generated("plain", doc="plain", comment="plain", message="plain")
    return {name: bare(name, text) for name, text in texts.items()}


@pytest.mark.parametrize("seed", seeds(8))
def test_a_spec_is_no_code_but_its_formulas(seed: int, plain: dict[str, str]) -> None:
    random = Random(seed)
    said = {key: hostile(random, SEEN) for key in ("doc", "comment", "message")}
    texts = generated(hostile(random), **said)
    assert {name: bare(name, text) for name, text in texts.items()} == plain
    for target in ("python", "numpy"):
        assert said["message"] in strings(texts[f"{target}/x/f.py"])


def generated(place: str, **said: str) -> dict[str, str]:
    """The text of every target for an operator in a file of that name."""
    spec = SpecFile(Source(f"spec/{place}.cvm", SPEC.format(name="f", **said)), "x")
    texts = driver.generate(check_files([spec]))
    return {name: text for name, text in texts.items() if re.search(r"x(/f)?\.\w+$|x/__init", name)}


def bare(name: str, text: str) -> str:
    return skeleton(text) if name.endswith(".py") else code(text)


def code(text: str) -> str:
    """C without comments and what is wrapped by length, and with empty strings."""
    kept = "\n".join(line for line in text.split("\n") if not line.startswith("#include"))
    command = [*c_compiler().command, *["-E", "-P", "-std=c11", "-x", "c", "-"]]
    said = subprocess.run(command, input=kept.encode(), check=True, capture_output=True).stdout
    return "".join(STRING.sub('""', said.decode("utf-8")).split())


def skeleton(text: str) -> str:
    """Python with empty strings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def strings(text: str) -> set[str]:
    values = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


@pytest.mark.parametrize("char", [each for each in HIDDEN if len(each) == 1 and each not in "\n\t"])
def test_a_spec_holds_what_can_be_seen(char: str, tmp_path: Path) -> None:
    path = tmp_path / "f.cvm"
    path.write_bytes(f"# first\n# a{char}b\n".encode("utf-8", "surrogatepass"))
    if char in "\r\ud800":  # ends a line; is no UTF-8
        return
    with pytest.raises(SpecError) as caught:
        read_source("f.cvm", path)
    assert f"f.cvm:2:4: error: the character U+{ord(char):04X} cannot be seen" in str(caught.value)
    assert lines_for_terminal(str(caught.value)) == str(caught.value)


@pytest.mark.parametrize(
    ("name", "usual"), [("aｂ", "ab"), ("fｏr", "for"), ("x²", "x2"), ("xﬁ", "xfi")]
)
def test_names_are_the_same_in_all_languages(name: str, usual: str) -> None:
    text = f'operator {name} {{ "d" input X : cvm[N] output Y : cvm[N] Y[i] = X[i] }}'
    with pytest.raises(SpecErrors, match=f"cannot have the name '{name}'(.|\n)*write {usual}"):
        check_files([SpecFile(Source("f.cvm", text), "x")])


@pytest.mark.parametrize("text", TEXTS[:100], ids=range(100))
def test_formulas_in_latex_show_them_and_obey_none(text: str) -> None:
    shown = in_latex(text)
    commands = re.findall(r"\\([a-z]+|.)", shown)
    assert {*commands} <= {"backslash", "wedge", "sim", *"#$%&_{}"}
    plain = re.sub(r"\\([a-z]+\{\}|.)", "", shown).replace("{<}", "").replace("{>}", "")
    assert not {*plain} & {*"#$%&_{}^~<>\\`\n"}
