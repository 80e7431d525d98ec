"""Checked formulas back to text in the language; what it prints is read as the same formula."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from enum import IntEnum

from cvmgen.dtypes import DType
from cvmgen.functions import FUNCTIONS
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_words import quoted_word
from cvmgen.spec.formula import LIST, SELECTED

WIDTH = 100
LONGEST_NUMBER = 20  # characters that a number has without an exponent
LOGARITHMS = {"floor_log2": "floor", "ceil_log2": "ceil"}
WITHOUT_DOTS = ("len", "size", "count")


class Level(IntEnum):
    """How tightly a construct holds together, as the grammar has it."""

    EXPRESSION = 0
    EITHER = 1
    BOTH = 2
    INVERSE = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    FACTOR = 7
    POWER = 8
    ATOM = 9


SIGNS = {"+": Level.SUM, "-": Level.SUM, "^": Level.POWER}  # the others make products


def macros_of(items: tuple[f.Item, ...]) -> frozenset[str]:
    """The names of the definitions that stand outside the operator, as `def`."""
    definitions = (item for item in items if isinstance(item, f.Definition))
    return frozenset(each.name for each in definitions if each.span.text.startswith("def"))


def type_lines(table: f.TypeTable) -> Iterator[str]:
    """A `type` item for each group of type parameters that are chosen together."""
    names, rows = table.names, table.rows
    while names:
        count = chosen_together(rows)
        first = dict.fromkeys(row[:count] for row in rows)
        yield f"type   {', '.join(names[:count])} in {', '.join(map(type_row, first))}"
        names, rows = names[count:], tuple(dict.fromkeys(row[count:] for row in rows))


def chosen_together(rows: Sequence[tuple[DType, ...]]) -> int:
    """How many of the first columns the others do not depend on: every row is joined of both."""
    for count in range(1, len(rows[0])):
        first = dict.fromkeys(row[:count] for row in rows)
        second = dict.fromkeys(row[count:] for row in rows)
        if rows == tuple((*one, *other) for one in first for other in second):
            return count
    return len(rows[0])


def type_row(row: tuple[DType, ...]) -> str:
    names = ", ".join(each.name for each in row)
    return names if len(row) == 1 else f"({names})"


class Printer:
    """Prints nodes; how a definition is applied follows from the kind of its declaration."""

    def __init__(self, items: tuple[f.Item, ...]) -> None:
        self.macros = macros_of(items)
        found = (item for item in f.all_items(items) if isinstance(item, f.Definition))
        self.lets = {item.name: item for item in found if item.name not in self.macros}

    # -------------------------------------------------------- items

    def block(self, items: Iterable[f.Item], margin: str) -> Iterator[str]:
        for item in items:
            match item:
                case f.Case(condition=condition, items=inner):
                    yield f"{margin}case {self.text(condition)} {{"
                    yield from self.block(inner, f"{margin}  ")
                    yield f"{margin}}}"
                case f.Equation():
                    yield from (f"{margin}{line}" for line in self.equation(item, len(margin)))
                case f.Definition(name=name) if name in self.macros:
                    pass
                case _:
                    yield f"{margin}{self.item(item)}"

    def item(
        self,
        item: f.Input | f.Attribute | f.Let | f.Definition | f.Require | f.Demand | f.Output,
    ) -> str:
        match item:
            case f.Input():
                return f"input  {self.input(item)}"
            case f.Attribute():
                return f"attr   {self.attribute(item)}"
            case f.Let(name=name, value=value):
                return f"let    {name} = {self.text(value)}"
            case f.Definition():
                return f"let    {self.head(item, '[]')} = {self.body(item)}"
            case f.Require(condition=condition, message=message):
                return f'require {self.text(condition)} : "{message}"'
            case f.Demand(condition=condition, domain=domain, message=message):
                ranges = f" forall {self.binders(domain)}" if domain.items else ""
                return f'require {self.text(condition)}{ranges} : "{message}"'
            case f.Output(name=name, dtype=dtype, slots=slots, precision=precision):
                rule = "" if precision is None else f" precision {self.text(precision)}"
                return f"output {name} : {dtype}[{self.slots(slots)}]{or_empty(item)}{rule}"

    def input(self, item: f.Input) -> str:
        each, index = "", ""
        if item.variadic:
            each, index = f"each {item.index} < {item.count} : ", f"[{item.index}]"
        slots = (
            f"{each.new}{index}{dots(each.pack)}" if each.new else self.slot(each.value, each.pack)
            for each in item.extents
        )
        words = or_empty(item) + " optional" * item.optional
        return f"{each}{item.name}{index} : {item.dtype}[{', '.join(slots)}]{words}"

    def attribute(self, item: f.Attribute) -> str:
        parts = [item.name]
        if item.components:
            parts.append(f"({', '.join(item.components)})")
        words = ["type" if item.decides else item.kind]
        words += [*["list"] * item.is_list, *["optional"] * item.optional]
        if words not in (["int"], ["word"]):
            parts.append(f": {' '.join(words)}")
        if item.decides:
            default = [f"= {item.default.text}"] if isinstance(item.default, n.Word) else []
            return " ".join((*parts, *default, f"in {item.decides}"))
        if item.default is not None:
            parts.append(f"= {self.text(item.default, Level.SUM)}")
        if item.interval_text:
            parts.append(f"in {item.interval_text}")
        if item.words:
            parts.append("or" if item.interval_text else "in")
            parts.append(f"{{{', '.join(map(quoted_word, item.words))}}}")
        return " ".join(parts)

    def head(self, item: f.Definition, brackets: str) -> str:
        """The name of a definition with its parameters."""
        if not item.parameters:
            return item.name
        names = (f"{name}{dots(kind == LIST)}" for name, kind in item.parameters)
        return f"{item.name}{brackets[0]}{', '.join(names)}{brackets[1]}"

    def body(self, item: f.Definition) -> str:
        return self.selection(item.body) if item.kind == SELECTED else self.text(item.body)

    def selection(self, body: n.Expr) -> str:
        match body:
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                test = self.text(condition, Level.EITHER)
                return f"({self.selection(then)}) if {test} else {self.selection(otherwise)}"
            case n.Listing(element=element, binders=n.Binders(condition=None) as binders):
                return f"{{{self.text(element)} for {self.binders(binders)}}}"
            case n.Listing(binders=n.Binders(items=items, condition=test)):
                assert test is not None
                return f"select[{self.ranges(items)}]({self.text(test)})"
            case _:
                return self.text(body)

    def equation(self, item: f.Equation, margin: int) -> Iterator[str]:
        """An equation; where it is long, its parts on lines of their own."""
        head = f"{item.tensor}[{self.slots(item.slots)}] = "
        tail = []
        if not item.gather and item.domain.items:
            tail.append(f"forall {self.binders(item.domain)}")
        tail += self.where(item.where)
        whole = "  ".join([head + self.text(item.value), *tail])
        if len(whole) + margin <= WIDTH and len(item.where) <= 1:
            yield whole
            return
        first, *rest = self.broken(item.value, len(head), margin)
        yield head + first
        yield from (" " * len(head) + line for line in rest)
        yield from (f"  {line}" for line in tail)

    def broken(self, value: n.Expr, column: int, margin: int) -> Iterator[str]:
        """A value as lines: the terms of a sum, and the body of a reduction below its ranges."""
        text = self.text(value)
        match value:
            case _ if column + margin + len(text) <= WIDTH:
                yield text
            case n.Negate(operand=n.Reduction() as operand):
                first, *rest = self.broken(operand, column + 1, margin)
                yield f"-{first}"
                yield from (f" {line}" for line in rest)
            case n.Access(
                tensor=tensor,
                which=None,
                slots=(n.Slot(value=n.Listing(element=element, binders=binders), pack=True),),
            ):
                yield f"{tensor}[({self.text(element)}"
                yield f"{' ' * len(tensor)}  for {self.binders(binders)})...]"
            case n.Arithmetic(sign="+" | "-" as sign, left=left, right=right):
                _, level = self.leveled(left)
                if level < Level.SUM:
                    yield self.text(left, Level.SUM)
                else:
                    yield from self.broken(left, column, margin)
                yield f"{sign} {self.text(right, Level.PRODUCT)}"
            case n.Reduction(function=function, binders=binders, body=body):
                first = f"{function}[{self.binders(binders)}]("
                if column + margin + len(first) <= WIDTH:
                    yield first
                else:
                    *lines, last = self.split_binders(binders, WIDTH - column - margin - 6)
                    first, *lines = [*lines, f"{last}]("]
                    yield f"{function}[{first}"
                    yield from (f"    {line}" for line in lines)
                yield f"  {self.text(body)})"
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                yield self.text(then, Level.EITHER)
                yield from self.filled(condition, WIDTH - column - margin)
                yield f"else {self.text(otherwise)}"
            case _:
                yield text

    def split_binders(self, binders: n.Binders, room: int) -> Iterator[str]:
        """Ranges on as many lines as it takes, and the condition below them."""
        line = ""
        for at, binder in enumerate(binders.items):
            text = self.binder(binder) + "," * (at + 1 < len(binders.items))
            if line and len(line) + len(text) + 1 > room:
                yield line
                line = text
            else:
                line = f"{line} {text}" if line else text
        yield line
        if binders.condition is not None:
            yield from self.filled(binders.condition, room)

    def filled(self, condition: n.Expr, room: int) -> Iterator[str]:
        """`if ...` on as many lines as it takes, each beginning with `if` or `and`."""
        if not isinstance(condition, n.Logic) or condition.word != "and":
            yield f"if {self.text(condition, Level.EITHER)}"
            return
        line = ""
        for test in condition.operands:
            text = self.text(test, Level.INVERSE)
            if line and len(line) + len(text) + len(" and ") > room:
                yield line
                line = f"   and {text}"
            else:
                line = f"{line} and {text}" if line else f"if {text}"
        yield line

    def where(self, definitions: tuple[f.Definition, ...]) -> Iterator[str]:
        """`where a = ...,` and the others below it."""
        for at, each in enumerate(definitions):
            word = "where" if at == 0 else "     "
            comma = "," if at + 1 < len(definitions) else ""
            yield f"{word} {self.head(each, '()')} = {self.text(each.body)}{comma}"

    # -------------------------------------------------------- binders and slots

    def binders(self, binders: n.Binders) -> str:
        ranges = self.ranges(binders.items)
        if binders.condition is None:
            return ranges
        return f"{ranges} if {self.text(binders.condition)}"

    def ranges(self, items: tuple[n.Binder, ...]) -> str:
        return ", ".join(map(self.binder, items))

    def binder(self, binder: n.Binder) -> str:
        match binder:
            case n.IndexRange(index=index, low=low, high=high):
                least = "" if low == n.Number(0, low.span) else f"{self.text(low, Level.SUM)} <= "
                return f"{least}{index} < {self.text(high, Level.SUM)}"
            case n.IndexMember(index=index, collection=collection):
                return f"{index} in {self.text(collection, Level.SUM)}"
            case n.PackRange(pack=pack, extents=extents, slots=None):
                return f"{pack}... < {self.text(extents, Level.SUM)}..."
            case n.PackRange(
                pack=pack,
                extents=n.Listing(element=extent),
                slots=n.Listing(element=n.Ref(name=index), binders=n.Binders(items=(each,))),
            ):
                limit = self.text(extent, Level.SUM)
                return f"{pack}[{index}] < {limit} for {self.binder(each)}"
            case _:
                raise AssertionError(f"{type(binder).__name__} is not checked")

    def slots(self, slots: Iterable[n.Slot]) -> str:
        return ", ".join(self.slot(each.value, each.pack) for each in slots)

    def slot(self, value: n.Expr, pack: bool) -> str:
        return f"{self.text(value, Level.SUM)}{dots(pack)}"

    # -------------------------------------------------------- expressions

    def text(self, expr: n.Expr, level: Level = Level.EXPRESSION) -> str:
        """The expression, in parentheses where it holds less tightly than `level`."""
        text, own = self.leveled(expr)
        return text if own >= level else f"({text})"

    def leveled(self, expr: n.Expr) -> tuple[str, Level]:
        match expr:
            case n.Number(value=value):
                return str(value), Level.ATOM if value >= 0 else Level.FACTOR
            case n.Arithmetic(sign=sign, left=left, right=right):
                return self.arithmetic(sign, left, right)
            case n.Negate(operand=operand):
                return f"-{self.text(operand, Level.FACTOR)}", Level.FACTOR
            case n.Compare(relations=relations, operands=(first, *others)):
                text = self.text(first, Level.SUM)
                for relation, operand in zip(relations, others, strict=True):
                    text += f" {relation} {self.text(operand, Level.SUM)}"
                return text, Level.COMPARISON
            case n.Logic(word=word, operands=operands):
                own = Level.EITHER if word == "or" else Level.BOTH
                parts = (self.text(each, Level(own + 1)) for each in operands)
                return f" {word} ".join(parts), own
            case n.IsWord(name=name, word=word):
                return f"{name} == {quoted_word(word)}", Level.COMPARISON
            case n.Not(operand=n.IsWord(name=name, word=word)):
                return f"{name} != {quoted_word(word)}", Level.COMPARISON
            case n.Not(operand=operand):
                return f"not {self.text(operand, Level.INVERSE)}", Level.INVERSE
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                yes, test = (self.text(each, Level.EITHER) for each in (then, condition))
                return f"{yes} if {test} else {self.text(otherwise)}", Level.EXPRESSION
            case n.Contains(element=element, collection=collection):
                parts = (self.text(each, Level.SUM) for each in (element, collection))
                return " in ".join(parts), Level.COMPARISON
            case _:
                return self.atom(expr), Level.ATOM

    def arithmetic(self, sign: str, left: n.Expr, right: n.Expr) -> tuple[str, Level]:
        """Signs of one level bind to the left; the power takes a factor on its right."""
        own = SIGNS.get(sign, Level.PRODUCT)
        if sign == "^":
            return f"{self.text(left, Level.ATOM)}^{self.text(right, Level.FACTOR)}", own
        apart = isinstance(left, n.Arithmetic) and own == Level.PRODUCT and left.sign != sign
        first = self.text(left, Level.POWER if apart else own)
        parts = first, self.text(right, Level(own + 1))
        # Products of names stand close together beside other signs, as in y*SH - PH.
        return f" {sign} ".join(parts) if sign != "*" else "*".join(parts), own

    def atom(self, expr: n.Expr) -> str:
        match expr:
            case n.Truth(value=value):
                return "true" if value else "false"
            case n.Real(value=value):
                return real_text(value)
            case n.Word(text=text):
                return quoted_word(text)
            case n.Refuse(message=message):
                return f'refuse "{message}"'
            case n.Ref(name=name) | n.Name(text=name):  # of an example `inf` or `nan`
                return name
            case n.TupleOf(elements=elements):
                comma = "," if len(elements) == 1 else ""
                return f"({', '.join(map(self.text, elements))}{comma})"
            case n.Listing(element=element, binders=binders):
                return f"({self.text(element)} for {self.binders(binders)})"
            case n.SetOf(element=element, binders=binders):
                return f"{{{self.text(element)} for {self.binders(binders)}}}"
            case n.Reduction(function=function, binders=binders, body=body):
                return f"{function}[{self.binders(binders)}]({self.text(body)})"
            case n.Sorted(binders=binders, keys=keys):
                return f"sort[{self.binders(binders)}] by ({', '.join(map(self.text, keys))})"
            case n.Item(sequence=sequence, index=index):
                return f"{self.text(sequence)}[{self.text(index, Level.SUM)}]"
            case n.Part(sequence=sequence, low=low, high=high):
                ends = ("" if each is None else self.text(each, Level.SUM) for each in (low, high))
                return f"{self.text(sequence)}[{':'.join(ends)}]"
            case n.Access(tensor=tensor, which=which, slots=slots):
                return f"{self.tensor(tensor, which)}[{self.slots(slots)}]"
            case n.Precision(tensor=tensor, which=which):
                return f"p({self.tensor(tensor, which)})"
            case n.Present(name=name):
                return f"present({name})"
            case n.Limit(end="type", type_name=name):
                return name
            case n.Limit(end=end, type_name=name):
                return f"{end}({name})"
            case (
                n.Apply(name=name, arguments=arguments) | n.Earlier(name=name, arguments=arguments)
            ):
                return self.apply(name, arguments)
            case n.Function(name=name, arguments=arguments):
                return self.function(name, arguments)
            case _:
                raise AssertionError(f"{type(expr).__name__} is not written in a formula")

    def tensor(self, name: str, which: n.Expr | None) -> str:
        return name if which is None else f"{name}[{self.text(which, Level.SUM)}]"

    def apply(self, name: str, arguments: tuple[n.Expr, ...]) -> str:
        if name in self.lets:
            kinds = (kind for _, kind in self.lets[name].parameters)
            pairs = zip(arguments, kinds, strict=True)
            slots = ", ".join(self.slot(value, kind == LIST) for value, kind in pairs)
            return f"{name}[{slots}]" if slots else name
        given = ", ".join(map(self.text, arguments))
        return f"{name}({given})" if given or name in self.macros else name

    def function(self, name: str, arguments: tuple[n.Expr, ...]) -> str:
        if name in LOGARITHMS:
            return f"{LOGARITHMS[name]}(log2({self.text(arguments[0])}))"
        kinds: Collection[str] = FUNCTIONS[name].parameters
        spread = "list" in kinds and name not in WITHOUT_DOTS
        shown = []
        for at, argument in enumerate(arguments):
            is_list = spread and FUNCTIONS[name].parameters[at] == "list"
            shown.append(f"{self.text(argument)}{dots(is_list)}")
        return f"{name}({', '.join(shown)})"


def real_text(value: float) -> str:
    """A real number as it is written: digits on both sides of a point, or with an exponent."""
    if not math.isfinite(value):
        return str(value)
    digits = f"{Decimal(repr(value)):f}"
    if len(digits) > LONGEST_NUMBER:
        return repr(value)
    return digits if "." in digits else f"{digits}.0"


def or_empty(operand: f.Input | f.Output) -> str:
    shape = operand.extents if isinstance(operand, f.Input) else operand.slots
    return " or empty" if operand.empty and shape else ""


def dots(pack: bool) -> str:
    return "..." if pack else ""
