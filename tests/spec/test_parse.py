"""Text to syntax tree: what binds to what, what each declaration holds, where everything is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cvmgen.source import Source, SpecErrors
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.grammar import grammar, spelling
from cvmgen.spec.parse import declaration_spans, parse, parse_all
from cvmgen.spec.schedules import schedule_grammar
from cvmgen.spec.words import RESERVED
from tests.spec.shown import show, show_binders, show_slot

SPEC = Path(__file__).parents[2] / "spec"
FILES = sorted(SPEC.rglob("*.cvm"))


def expression(text: str) -> n.Expr:
    (declaration,) = parse(Source("test.cvm", f"def f() = {text}"))
    assert isinstance(declaration, d.Definition)
    return declaration.body


def items(text: str) -> tuple[d.ItemDecl, ...]:
    (declaration,) = parse(Source("test.cvm", f"operator f {{ {text} }}"))
    assert isinstance(declaration, d.OperatorDecl)
    return declaration.block.items


EXPRESSIONS = [
    ("1 + 2*x - 3", "((1 + (2 * x)) - 3)"),
    ("a - b - c", "((a - b) - c)"),
    ("a div b * c mod d", "(((a div b) * c) mod d)"),
    ("-a^2", "(-(a ^ 2))"),
    ("2^-a", "(2 ^ (-a))"),
    ("2^a^b", "(2 ^ (a ^ b))"),
    ("-3", "-3"),
    ("- -3", "3"),
    ("+a - +b", "(a - b)"),
    ("a < b", "(a < b)"),
    ("0 <= h < H", "(0 <= h < H)"),
    ("a + 1 == b * 2 != c", "((a + 1) == (b * 2) != c)"),
    ("not a == b", "(not (a == b))"),
    ("a == b or c and not d", "((a == b) or (c and (not d)))"),
    ("a and b and c or d", "((a and b and c) or d)"),
    ("1 if a else 2 if b else 3", "(1 if a else (2 if b else 3))"),
    ("1 if a or b else 2", "(1 if (a or b) else 2)"),
    ("(1 if a else 2) + 3", "((1 if a else 2) + 3)"),
    ("x in U - T", "(x in (U - T))"),
    ("true", "true"),
    ("()", "list()"),
    ("(a,)", "list(a)"),
    ("(a, b)", "list(a, b)"),
    ("(a, b,)", "list(a, b)"),
    ("(a)", "a"),
    ("(n[i] for i < N)", "list(n[i] for i < N)"),
    ("(i for i < N if i != 2)", "list(i for i < N if (i != 2))"),
    ("(i + j for i < N, j in S)", "list((i + j) for i < N, j in S)"),
    ("{a mod N for a in axes}", "set((a mod N) for a in axes)"),
    ("sum[k < K](X[i, k])", "sum[k < K](X[i, k])"),
    ("max[1 <= k < K if k != 3](k)", "max[1 <= k < K if (k != 3)](k)"),
    ("all[d... < n...](X[d...] > 0)", "all[d... < n...]((X[d...] > 0))"),
    ("sum[d[j] < n[j] for j in R](X[d...])", "sum[d[j] < n[j] for j in R](X[d...])"),
    ("sum[d[j] < n[j] for j in R if j > 0](1)", "sum[d[j] < n[j] for j in R if (j > 0)](1)"),
    ("f()", "f()"),
    ("f(a, b..., c + 1)", "f(a, b..., (c + 1))"),
    ("floor(log2(n)) + 1", "(floor(log2(n)) + 1)"),
    ("X[d..., i + 1, n[:2]...]", "X[d..., (i + 1), n[:2]...]"),
    ("n[a + 1:]", "n[(a + 1):]"),
    ("I[i][d...]", "I[i][d...]"),
    ("a*b[c]^2", "(a * (b[c] ^ 2))"),
    ("1 # a comment\n + 2", "(1 + 2)"),
]


@pytest.mark.parametrize(("text", "tree"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS])
def test_expression(text: str, tree: str) -> None:
    assert show(expression(text)) == tree


def test_items_of_a_block() -> None:
    (
        first,
        second,
        third,
        attribute,
        plain,
        let,
        definition,
        require,
        alias,
        output,
        although,
        equation,
        example,
    ) = items(
        """
        input  X : cvm[N, 2*N, n...]
        input  B : cvm[N] optional
        input  each i < M : I[i] : cvm[m[i]...]
        attr   padding (PH, PW) = (0, 1) in [0, 9)
        attr   axes : int list optional in (-inf, N]
        let    a = 1
        let    T[i, d...] = X[i, d...]
        require a > 0 : "a text"
        alias  g, h
        output Y : cvm[N] precision p(X) + 1
        although "a reason"
        Y[i] = x + y(i)  forall i < N, j in S if i != j  where x = 1, y(k) = k
        example f([[1, -2]], B=[3], axes=(1, 2), flag=true) == [[4]]
        """
    )
    match first, second, third:
        case d.OperandDecl() as wide, d.OperandDecl() as optional, d.OperandDecl() as several:
            assert [show_slot(slot) for slot in wide.slots] == ["N", "(2 * N)", "n..."]
            assert (wide.type_name, wide.output, wide.optional, wide.each) == (
                "cvm",
                False,
                False,
                None,
            )
            assert optional.optional
            assert (show(several.place), several.each) == (
                "I[i]",
                n.Below(n.Name("i", several.span), None, n.Name("M", several.span), several.span),
            )
        case _:
            raise AssertionError
    match attribute, plain:
        case d.AttributeDecl() as named, d.AttributeDecl() as listed:
            assert [name.text for name in named.components] == ["PH", "PW"]
            assert show(named.default) == "list(0, 1)"
            assert (named.type_name, named.is_list, named.optional) == ("int", False, False)
            interval = listed.interval
            assert interval is not None
            assert (show(interval.low), interval.low_open) == ("(-inf)", True)
            assert (show(interval.high), interval.high_open) == ("N", False)
            assert (listed.is_list, listed.optional) == (True, True)
        case _:
            raise AssertionError
    match let, definition:
        case d.LetDecl(parameters=None), d.LetDecl(parameters=(one, two)):
            assert (one.name, one.pack, two.name, two.pack) == ("i", False, "d", True)
        case _:
            raise AssertionError
    match require, alias, output, although:
        case (
            d.RequireDecl(message="a text"),
            d.AliasDecl(names=(n.Name("g"), n.Name("h"))),
            d.OperandDecl(output=True, precision=precision),
            d.AlthoughDecl(reason="a reason"),
        ):
            assert show(precision) == "(p(X) + 1)"
        case _:
            raise AssertionError
    match equation:
        case d.EquationDecl(
            target=target, value=value, binders=n.Binders() as binders, where=where
        ):
            assert (show(target), show(value)) == ("Y[i]", "(x + y(i))")
            assert show_binders(binders) == "i < N, j in S if (i != j)"
            assert [(each.name, len(each.parameters)) for each in where] == [("x", 0), ("y", 1)]
        case _:
            raise AssertionError
    match example:
        case d.ExampleDecl(operator="f", given=given, result=n.ArrayValue()):
            names = [None if keyword is None else keyword.text for keyword, _ in given]
            assert names == [None, "B", "axes", "flag"]
        case _:
            raise AssertionError


def test_blocks_in_blocks() -> None:
    case, within = items("case a > 0 { let b = 1 } within i < N, j < M { Y[i, j] = 0 }")
    assert isinstance(case, d.CaseDecl)
    assert isinstance(within, d.WithinDecl)
    assert show(case.condition) == "(a > 0)"
    assert show_binders(within.binders) == "i < N, j < M"
    assert [type(item) for item in within.block.items] == [d.EquationDecl]


def test_declarations() -> None:
    text = """
    const most = 4096
    def bits(n, l...) = n
    family g(OP, RULE) { "of the family" input X : cvm[N] }
    operator a = g(+, max)
    operator b = g(-, p + 1) { "its own" }
    operator c { "A text, with # in it." }
    """
    const, definition, family, first, second, third = parse(Source("test.cvm", text))
    assert isinstance(const, d.Const)
    assert isinstance(definition, d.Definition)
    assert [(each.name, each.pack) for each in definition.parameters] == [("n", False), ("l", True)]
    assert isinstance(family, d.FamilyDecl)
    assert [name.text for name in family.parameters] == ["OP", "RULE"]
    assert isinstance(first, d.InstanceDecl)
    assert isinstance(second, d.InstanceDecl)
    assert first.block is None
    sign, rule = first.actuals
    assert isinstance(sign, d.Sign)
    assert (sign.text, show(rule)) == ("+", "max")
    assert second.block is not None
    assert second.block.doc == "its own"
    assert isinstance(third, d.OperatorDecl)
    assert third.block.doc == "A text, with # in it."


SPANS = [
    ("let a = n[1:] - 2", "n[1:]", n.Bracket),
    ("let a = n[1:] - 2", "1:", n.PartSlot),
    ("let a = (x + 1) * 2", "(x + 1) * 2", n.Arithmetic),
    ("let a = f(x, y...)", "y...", n.Argument),
    ("let a = sum[i < N if i > 0](i)", "i < N if i > 0", n.Binders),
    ("let a = sum[i < N](i)", "sum[i < N](i)", n.Reduction),
    ("let a = 1 if b else 2", "1 if b else 2", n.Conditional),
    ("let a = -5", "-5", n.Number),
    ("let a = (1, 2)", "(1, 2)", n.TupleOf),
    ("attr a in [0, 4)", "in [0, 4)", d.IntervalDecl),
    ("Y[i] = 1 where x = 2", "x = 2", d.Definition),
]


@pytest.mark.parametrize(("text", "piece", "kind"), SPANS, ids=[row[1] for row in SPANS])
def test_spans(text: str, piece: str, kind: type) -> None:
    found = [node.span.text for node in n.walk(items(text)) if isinstance(node, kind)]
    assert piece in found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spans_of_spec_lie_in_their_parents(path: Path) -> None:
    """Each node's span is a piece of the text, and holds those of its parts."""
    source = Source(path.name, path.read_text(encoding="utf-8"))
    for declaration in parse(source):
        for node in n.walk(declaration):
            assert declaration.span.start <= node.span.start < node.span.end <= declaration.span.end
            if isinstance(node, n.Name):
                assert node.span.text == node.text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_layout_means_nothing(path: Path) -> None:
    """The same tree from one token a line, with a comment after each."""
    text = path.read_text(encoding="utf-8")
    tokens = re.findall(r'"[^"\n]*"|#[^\n]*|\.\.\.|[<>=!]=|[A-Za-z_]\w*|\d+(?:\.\d+)?|\S', text)
    spread = "  # why\n ".join(token for token in tokens if token[0] != "#")
    trees = [without_text(parse(Source("test.cvm", each))) for each in (spread, text)]
    assert trees[0] == trees[1]


def without_text(declarations: tuple[d.Declaration, ...]) -> list[d.Declaration]:
    """The declarations without the text that an operator keeps of itself."""
    return [
        replace(each, text="") if isinstance(each, d.OperatorDecl) else each
        for each in declarations
    ]


def test_damage_stays_in_its_declaration() -> None:
    text = "const a = 1\ndef b(x) = )\nconst c = 3\noperator d {\nconst e = 5\n"
    parsed = parse_all(Source("test.cvm", text))
    assert [declaration.name for declaration in parsed.declarations] == ["a", "c", "e"]
    assert parsed.broken == {"b", "d"}
    assert [error.span.line for error in parsed.errors] == [2, 4]
    with pytest.raises(SpecErrors):
        parse(Source("test.cvm", text))


def test_where_declarations_begin() -> None:
    text = "# comment\nconst a = 1\n  def inner\noperator b {\n}\n"
    parts = [text[start:end] for start, end in declaration_spans(text)]
    assert parts == ["# comment\n", "const a = 1\n  def inner\n", "operator b {\n}\n"]
    assert parse(Source("empty.cvm", "")) == ()
    assert parse(Source("comment.cvm", "# nothing\n")) == ()


def test_words_that_cannot_be_names() -> None:
    """The grammar says so, and the messages speak of the same words."""
    pattern = grammar().get_terminal("NAME").pattern.value
    words = re.search(r"\(\?!\(\?:(.*?)\)", pattern)
    assert words is not None
    assert set(words[1].split("|")) == RESERVED


@pytest.mark.parametrize("word", ["where", "div", "mod"])
def test_words_that_name_operators(word: str) -> None:
    text = f"""
    operator {word} {{
      alias  {word}, f
      Y[i] = a mod 2 div 3  where a = X[i]
      example {word}([1]) == [1]
    }}
    operator {word} = g(mod)
    """
    operator, instance = parse(Source("test.cvm", text))
    assert isinstance(operator, d.OperatorDecl)
    assert isinstance(instance, d.InstanceDecl)
    assert (operator.name, operator.name_span.text, instance.name) == (word, word, word)
    assert [sign.text for sign in instance.actuals if isinstance(sign, d.Sign)] == ["mod"]
    alias, equation, example = operator.block.items
    assert isinstance(alias, d.AliasDecl)
    assert [each.text for each in alias.names] == [word, "f"]
    assert isinstance(equation, d.EquationDecl)
    assert [each.name for each in equation.where] == ["a"]
    assert isinstance(example, d.ExampleDecl)
    assert example.operator == word


def test_every_terminal_has_a_spelling() -> None:
    for terminal in grammar().terminals:
        if terminal.name != "COMMENT" and not terminal.name.startswith("__IGNORE"):
            assert spelling(terminal.name)


def test_grammars_have_no_conflicts() -> None:
    """Builds do not ask again: that would take longer than to make the parsers."""
    grammar(strict=True)
    schedule_grammar(strict=True)
