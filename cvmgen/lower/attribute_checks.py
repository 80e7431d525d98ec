"""Attributes of a call for the host part: what is read of them, tested and refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from cvmgen import rules
from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import opposite
from cvmgen.ir.visit import fresh, substitute
from cvmgen.spec.attribute_words import word_rule
from cvmgen.spec.formula import Operator

Terms = Sequence[tuple[str, i.Expr, str]]


def attribute_checks(
    statement: i.TakeAttribute,
    terms: Callable[[Terms], h.Text],
    objects: bool,
    used: Collection[str],
    taken: Collection[str],
) -> Iterator[i.Stmt]:
    """What is done about an attribute; `used` are the names that something reads later."""
    if objects:
        return OfObjects(statement, terms, taken).lowered()
    return OfStructures(statement, terms, used, taken).lowered()


class OfObjects:
    """Functions of the run time convert values of any kind, and refuse what is none."""

    def __init__(
        self,
        statement: i.TakeAttribute,
        terms: Callable[[Terms], h.Text],
        taken: Collection[str],
    ) -> None:
        self.statement, self.terms, self.taken = statement, terms(statement.terms), taken
        self.attribute, self.span = statement.attribute, statement.span

    def lowered(self) -> Iterator[i.Stmt]:
        attribute = self.attribute
        if attribute.required:
            refuse = h.Refuse(attribute.name, (), (rules.ATTRIBUTE_MISSING,), span=self.span)
            yield i.If(i.Not(i.Given(attribute.name)), (refuse,), (), self.span)
        convert = (self.converted(), *self.in_range())
        if attribute.optional:
            yield i.If(i.Given(attribute.name), convert, (), self.span)
        else:
            yield from convert
        if attribute.components:
            yield h.Unpack(attribute.components, i.Var(attribute.name), span=self.span)

    def converted(self) -> h.Check:
        attribute, listed = self.attribute, self.attribute.is_listed
        function = {"int": "integer", "real": "real", "bool": "boolean"}.get(
            attribute.kind, attribute.kind
        )
        function += "s" * listed + "_or_word" * attribute.numbers_or_word
        length = len(attribute.components)
        arguments: list[h.CheckArgument] = [i.Member(h.ARGUMENTS, attribute.name)]
        arguments += [i.Const(length) if length else None] * listed
        arguments += [h.AllowedWords(attribute.words)] * bool(attribute.words)
        gives = (attribute.name, *[attribute.word_name] * attribute.numbers_or_word)
        return h.Check(function, attribute.name, tuple(arguments), gives, span=self.span)

    def in_range(self) -> Iterator[i.Stmt]:
        attribute = self.attribute
        if self.statement.inside is not None:
            yield self.real_in_range(self.statement.inside)
        if attribute.kind != "int":
            return
        value, more = i.Var(attribute.name), (self.terms,) if self.terms else ()
        arguments = (value, *ends_of_range(self.statement), attribute.range_text, *more)
        check = h.Check("check_range", attribute.name, arguments, span=self.span)
        if attribute.numbers_or_word:
            yield i.If(i.Not(i.Given(attribute.word_name)), (check,), (), self.span)
        else:
            yield check

    def real_in_range(self, inside: i.Expr) -> i.Stmt:
        """The test of a real number, or of each of a list."""
        name, span = self.attribute.name, self.span
        shown = (h.ShownValue(i.Var(name), "reals" if self.attribute.is_listed else "real"),)
        rule = rules.range_rule(self.attribute.range_text)
        refuse = h.Refuse(name, shown, (rule,), span=span)
        if self.attribute.is_listed:
            whole, at = i.Var(name), fresh("at", {*self.taken})
            over = i.Over(at, i.ZERO, i.Call("len", (whole,)))
            number = self.attribute.number_name
            entry = substitute(inside, {number: i.Item(whole, i.Var(at))})
            inside = i.Fold("all", entry, (over,), None)
        return i.If(i.Not(inside), (refuse,), (), span)


class OfStructures:
    """Members of a structure have a type; what is against the rule is refused where it is found,
    and told only then."""

    def __init__(
        self,
        statement: i.TakeAttribute,
        terms: Callable[[Terms], h.Text],
        used: Collection[str],
        taken: Collection[str],
    ) -> None:
        self.statement, self.terms = statement, terms(statement.terms)
        self.attribute, self.span = statement.attribute, statement.span
        self.used, self.taken = frozenset(used), taken
        self.name = self.attribute.name
        self.member = i.Member(h.ARGUMENTS, self.name)

    def lowered(self) -> Iterator[i.Stmt]:
        attribute, name = self.attribute, self.name
        if attribute.words:
            yield from self.word()
        if attribute.kind == "word":
            return
        if attribute.components:
            yield from self.components()
        elif attribute.is_list:
            yield from self.listed()
        elif attribute.kind == "real":
            yield from self.real()
        elif attribute.kind == "bool":
            if name in self.used:
                yield self.let(name, i.Compare("!=", self.member, i.ZERO), "bool")
        elif attribute.optional:
            has = i.Var(f"has_{name}")
            yield self.let(has.name, i.Compare("!=", self.member, h.NULL), "bool")
            yield self.let(name, i.Select(has, i.Call("value_at", (self.member,)), i.ZERO))
            yield self.test(i.Logic("and", (has, self.outside(i.Var(name)))), self.number(name))
        else:
            yield self.let(name, self.or_zero(self.member))
            yield self.test(self.numbers_given(self.outside(i.Var(name))), self.number(name))

    def real(self) -> Iterator[i.Stmt]:
        """A number of 64 bits, 0 where there is none."""
        name, inside = self.name, self.statement.inside
        value: i.Expr = self.member
        outside: i.Expr | None = None if inside is None else i.Not(inside)
        has = i.Var(f"has_{name}")
        if self.attribute.optional and (self.used & {name, has.name} or outside):
            yield self.let(has.name, i.Compare("!=", self.member, h.NULL), "bool")
            value = i.Select(has, i.Call("value_at", (self.member,)), i.Real("0.0"))
            outside = outside and i.Logic("and", (has, outside))
        if outside or name in self.used:
            yield self.let(name, value, "f64")
        if outside:
            shown = (h.ShownValue(i.Var(name), "real"),)
            yield self.refuse(outside, shown, rules.range_rule(self.attribute.range_text))

    def let(self, name: str, value: i.Expr, kind: str = "int") -> i.Let:
        return i.Let(name, kind, value, self.span)

    @staticmethod
    def number(name: str) -> h.Text:
        return (h.ShownValue(i.Var(name), "int"),)

    # -------------------------------------------------------- words

    def word(self) -> Iterator[i.Stmt]:
        """What tells which word was given: its code, 0 for none."""
        attribute, code = self.attribute, i.Var(self.attribute.word_name)
        yield self.let(code.name, i.Member(h.ARGUMENTS, code.name))
        least = 0 if attribute.numbers_or_word else 1
        low = i.Compare("<", code, i.Const(least))
        high = i.Compare(">", code, i.Const(len(attribute.words)))
        test: i.Expr = i.Logic("or", (low, high))
        shown: h.Text = self.number(code.name)
        if attribute.numbers_or_word:
            shown = ("word ", *shown)
        elif attribute.optional:
            has = i.Var(f"has_{attribute.name}")
            yield self.let(has.name, i.Compare("!=", code, i.ZERO), "bool")
            test = i.Logic("and", (has, test))
        elif attribute.required:
            missing = i.Compare("==", code, i.ZERO)
            yield self.refuse(missing, (), rules.ATTRIBUTE_MISSING)
        yield self.refuse(test, shown, word_rule(attribute))

    def or_zero(self, value: i.Expr) -> i.Expr:
        """A number of an attribute, 0 where it was given a word."""
        if not self.attribute.numbers_or_word:
            return value
        return i.Select(self.no_word, value, i.ZERO)

    @property
    def no_word(self) -> i.Expr:
        return i.Compare("==", i.Var(self.attribute.word_name), i.ZERO)

    def numbers_given(self, test: i.Expr) -> i.Expr:
        """A test of numbers where there are some."""
        return i.Logic("and", (self.no_word, test)) if self.attribute.numbers_or_word else test

    # -------------------------------------------------------- ranges

    def outside(self, *values: i.Expr) -> i.Expr:
        """Whether one of some values is not in the range."""
        low, high = ends_of_range(self.statement)
        tests = ((i.Compare("<", each, low), i.Compare(">=", each, high)) for each in values)
        return i.Logic("or", tuple(test for pair in tests for test in pair))

    def test(self, condition: i.Expr, shown: h.Text) -> i.If:
        """The refusal of values that are not in the range."""
        rule = rules.range_rule(self.attribute.range_text)
        pieces = (f"{rule} (", *self.terms, ")") if self.terms else (rule,)
        return self.refuse(condition, shown, *pieces)

    def refuse(self, condition: i.Expr, shown: h.Text, *rule: h.Piece) -> i.If:
        refusal = h.Refuse(self.name, shown, rule, span=self.span)
        return i.If(condition, (refusal,), (), self.span)

    def components(self) -> Iterator[i.Stmt]:
        """The entries by their names, and the list where something reads it."""
        real = self.attribute.kind == "real"
        names = [i.Var(each) for each in self.attribute.components]
        for at, each in enumerate(names):
            value = self.or_zero(i.Item(self.member, i.Const(at)))
            yield self.let(each.name, value, "f64" if real else "int")
        if self.name in self.used:
            listed = i.ListOf(tuple((each, False) for each in names))
            yield self.let(self.name, listed, "reals" if real else "list")
        kind = "real" if real else "int"
        shown = [piece for each in names for piece in (", ", h.ShownValue(each, kind))]
        text = ("(", *shown[1:], *[","] * (len(names) == 1), ")")
        inside = self.statement.inside
        if not real:
            yield self.test(self.numbers_given(self.outside(*names)), text)
        elif inside is not None:
            tests = tuple(i.Not(substitute(inside, {names[0].name: each})) for each in names)
            yield self.test(i.Logic("or", tests), text)

    def listed(self) -> Iterator[i.Stmt]:
        attribute, whole = self.attribute, i.Var(self.name)
        length, at = i.Call("len", (whole,)), i.Var(fresh("at", {*self.taken}))
        empty = i.Assign(self.name, i.ListOf(()), self.span)
        if attribute.optional:
            given = i.Compare(">=", i.Call("len", (self.member,)), i.ZERO)
            yield self.let(f"has_{self.name}", given, "bool")
        real = attribute.kind == "real"
        yield self.let(self.name, self.member, "reals" if real else "list")
        if attribute.optional:
            yield i.If(i.Not(i.Var(f"has_{self.name}")), (empty,), (), self.span)
        if attribute.numbers_or_word:
            yield i.If(opposite(self.no_word), (empty,), (), self.span)
        most = i.Compare(">", length, i.Call("max_rank", ()))
        test = i.Logic("or", (i.Compare("<", length, i.ZERO), most))
        yield self.refuse(test, (h.ShownValue(length, "int"), " entries"), rules.LIST_LIMIT)
        inside = self.statement.inside
        if not real:
            each = self.test(self.outside(i.Item(whole, at)), (h.ShownValue(whole, "list"),))
            yield i.Loop(at.name, i.ZERO, length, (each,), 0, self.span)
        elif inside is not None:
            beyond = i.Not(substitute(inside, {self.name: i.Item(whole, at)}))
            each = self.refuse(
                beyond, (h.ShownValue(whole, "reals"),), rules.range_rule(attribute.range_text)
            )
            yield i.Loop(at.name, i.ZERO, length, (each,), 0, self.span)


def ends_of_range(statement: i.TakeAttribute) -> tuple[i.Expr, i.Expr]:
    """The lower end of a range, and the upper one, exclusive."""
    low, high = i.Const(ATTRIBUTE_LOW), i.Const(ATTRIBUTE_HIGH)
    return statement.low or low, statement.high or high


def terms_of(operator: Operator, terms: Terms, *, objects: bool = False) -> h.Text:
    """The named values that a refusal shows."""
    return tuple(named_term(operator, *each, objects) for each in terms)


def named_term(
    operator: Operator, name: str, value: i.Expr, kind: str, objects: bool
) -> h.NamedTerm:
    words = {each.name: each for each in operator.attributes if each.words}
    given: i.Expr | None = None
    match value:
        case i.PrecisionOf(tensor=tensor) if is_optional(operator, tensor):
            given = i.Given(tensor)
        case i.Var(name=named) if not objects and is_optional(operator, named):
            given = i.Given(named)
        case i.Var(name=named) if kind == "lists" and not objects:
            item = next(item for item in operator.inputs if item.extents[0].new == named)
            value = i.Member(h.ARGUMENTS, item.name)
    if name not in words:
        return h.NamedTerm(name, h.ShownValue(value, kind), given)
    attribute = words[name]
    numbers = h.ShownValue(value, "list" if attribute.is_listed else "int")
    shown = h.ShownWord(
        value, attribute.word_name, attribute.words, numbers if attribute.numbers_or_word else None
    )
    return h.NamedTerm(name, shown, given)


def is_optional(operator: Operator, name: str) -> bool:
    operands = {each.name: each.optional for each in operator.inputs}
    operands |= {each.name: each.optional for each in operator.attributes}
    return operands.get(name, False)
