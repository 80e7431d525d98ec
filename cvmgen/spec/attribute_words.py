"""Checks the words of attributes: their declaration, defaults, and comparisons with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cvmgen.rules import needed
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.checker import Checker
from cvmgen.spec.scope import ROLE_WORDS, ScopedName
from cvmgen.spec.words import word_constant

WORD = re.compile(r"[A-Za-z0-9_]+")
MOST_CHARACTERS = 240  # of all words: refusals list them


def check_words(item: d.AttributeDecl) -> tuple[str, ...]:
    """The words of an attribute; empty where it takes none."""
    seen: set[str] = set()
    for word in item.words:
        if not WORD.fullmatch(word.text):
            message = f'"{word.text}" is no word that an attribute can be given'
            raise SpecError(word.span, message, "words are made of letters, digits and '_'")
        if word.text in seen:
            raise SpecError(word.span, f'the word "{word.text}" stands here twice', "remove it")
        seen.add(word.text)
    texts = tuple(word.text for word in item.words)
    if len(", ".join(texts)) > MOST_CHARACTERS:
        message = f"the words of '{item.name}' are longer than {MOST_CHARACTERS} characters"
        raise SpecError(item.words[0].span.to(item.words[-1].span), message)
    check_type(item)
    return texts


def check_type(item: d.AttributeDecl) -> None:
    """Refuse a type that does not go with the words and the range."""
    name, span = item.name, item.type_span
    if item.type_name == "word":
        if not item.words:
            hint = 'list them: in {"ALL", "NONE"}'
            raise SpecError(span, f"the words of '{name}' are missing", hint)
        if item.interval is not None:
            message = "an attribute of type word has no range of numbers"
            raise SpecError(item.interval.span, message, "remove it, or write int")
        if item.is_list or item.components:
            hint = f"give it a range too: in [0, 4) or {{{quoted_word(item.words[0].text)}}}"
            message = "an attribute that words alone are given is no list"
            raise SpecError(item.name_span, message, hint if item.components else "")
    elif item.words:
        where = item.words[0].span.to(item.words[-1].span)
        if item.type_name == "bool":
            raise SpecError(where, "a bool attribute has no words", "remove them, or the type")
        if item.interval is None:
            hint = "give it a range before them, or write word for the type"
            raise SpecError(where, f"'{name}' is {f.INT}, and it has words alone", hint)
        if item.optional:
            hint = "let one of the words say what an absent value would"
            message = "an attribute of numbers or words is not optional"
            raise SpecError(item.name_span, message, hint)


def default_word(item: d.AttributeDecl, default: n.Word) -> n.Word:
    """A word as the default of an attribute."""
    if not item.words:
        raise SpecError(default.span, f"'{item.name}' has no words", only_words(default))
    known_word(item.name, [each.text for each in item.words], default)
    return default


def known_word(name: str, words: Iterable[str], word: n.Word) -> None:
    """Refuse a word that the attribute does not have."""
    known = list(words)
    if word.text not in known:
        message = f"'{name}' has no word \"{word.text}\""
        hint = did_you_mean(word.text, known).replace("'", '"')
        raise SpecError(word.span, message, hint or f"its words are {words_joined(known)}")


def only_words(word: n.Word) -> str:
    return f"an attribute with words is declared so: attr name in {{{quoted_word(word.text)}, ...}}"


# ---------------------------------------------------------------- in formulas


def check_comparison(checker: Checker, expr: n.Compare) -> n.Expr:
    """A comparison in which a word stands: whether an attribute was given it."""
    word = next(each for each in expr.operands if isinstance(each, n.Word))
    others = [each for each in expr.operands if not isinstance(each, n.Word)]
    if len(expr.operands) != 2 or len(others) != 1:
        raise text_alone_error(word)
    (relation,), (other,) = expr.relations, others
    if relation not in ("==", "!="):
        raise SpecError(expr.span, "words have no order", "they compare with '==' and '!='")
    if not isinstance(other, n.Name):
        raise text_alone_error(word)
    symbol = checker.find(other.text, other.span)
    if symbol.role == "word":
        raise word_read_error(symbol, other.span)
    if not symbol.words:
        message = f"'{symbol.name}' has no words"
        if symbol.role != "attribute":
            message = f"'{symbol.name}' is {ROLE_WORDS[symbol.role]}; attributes alone have words"
        raise SpecError(other.span, message, only_words(word))
    known_word(symbol.name, symbol.words, word)
    test = n.IsWord(symbol.name, word.text, expr.span)
    return test if relation == "==" else n.Not(test, expr.span)


def text_alone_error(word: n.Word) -> SpecError:
    """The error for a text where no attribute is compared with it."""
    hint = f"write: attribute == {quoted_word(word.text)}" if WORD.fullmatch(word.text) else ""
    message = "a text stands beside '==' or '!=' only, for a word of an attribute"
    return SpecError(word.span, message, hint)


def word_read_error(symbol: ScopedName, span: Span) -> SpecError:
    """The error for reading an attribute whose value is a word."""
    attribute = symbol.name.removesuffix("_word") if symbol.role == "word" else symbol.name
    hint = f"compare it: {attribute} == {quoted_word(symbol.words[0])}"
    word = "the word of an attribute" if symbol.role == "word" else "a word"
    return SpecError(span, f"'{symbol.name}' is {word}, which only '==' and '!=' read", hint)


# ---------------------------------------------------------------- for those who call


def word_rule(attribute: f.Attribute) -> str:
    """How a refusal says what an attribute with words can be given."""
    if attribute.kind == "word":
        return needed("", attribute.words)
    whole = attribute.is_list or attribute.components
    return needed("a tuple of integers" if whole else "an integer", attribute.words)


def constant_clashes(operators: Iterable[f.Operator]) -> Iterator[SpecError]:
    """Words whose constants have one name in C."""
    seen: dict[str, tuple[str, f.Attribute]] = {}
    for operator in operators:
        for attribute in operator.attributes:
            for word in attribute.words:
                name = word_constant(f"{operator.full_name}.{attribute.name}", word)
                if name in seen:
                    other, first = seen[name]
                    place = "" if first == attribute else f" of '{first.name}'"
                    place += f" in line {first.span.line}" if place else ""
                    message = f'the words "{word}" and "{other}"{place} are both {name} in C'
                    yield SpecError(attribute.span, message, "choose another word")
                seen.setdefault(name, (word, attribute))


def quoted_word(word: str) -> str:
    return f'"{word}"'


def words_joined(words: Iterable[str]) -> str:
    """`"A", "B" and "C"`."""
    *before, last = map(quoted_word, words)
    return f"{', '.join(before)} and {last}" if before else last
