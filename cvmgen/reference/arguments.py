"""Takes what a call gives: inputs with their shapes, attributes in their ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from cvmgen import rules
from cvmgen.dtypes import (
    ATTRIBUTE_HIGH,
    ATTRIBUTE_LOW,
    CVM,
    MAX_LIST,
    MAX_PRECISION,
    MAX_RANK,
    MAX_SIZE,
)
from cvmgen.errors import OperatorError
from cvmgen.functions import number_text
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import (
    Budget,
    Env,
)
from cvmgen.reference.tensor import Tensor
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_words import word_rule
from cvmgen.spec.terms import TermFinder


class BoundArguments:
    """Binds what is given to the names of the formula; OperatorError for what it does not admit."""

    compiles: Callable[..., ExpressionCompiler] = ExpressionCompiler  # another for other numbers

    def __init__(self, operator: f.Operator, budget: Budget | None = None) -> None:
        self.operator = operator
        found = (item for item in f.all_items(operator.items) if isinstance(item, f.Definition))
        self.shown = TermFinder(operator)
        self.compiler = self.compiles({item.name: item for item in found}, budget)

    def refuse(self, argument: str, value: str, rule: str) -> OperatorError:
        return OperatorError(self.operator.full_name, argument, value, rule)

    # -------------------------------------------------------- inputs

    def input(self, item: f.Input, env: Env) -> None:
        operand = env["$inputs"].get(item.name)
        env["$tensor " + item.name] = operand
        env["$given " + item.name] = operand is not None
        if operand is None:
            if not item.optional:
                raise self.refuse(item.name, "", "this input is missing")
            return
        if item.variadic:
            assert item.count is not None
            if not operand:
                raise self.refuse(item.name, "", "at least one input is needed")
            env[item.count] = len(operand)
            for at, tensor in enumerate(operand):
                self.limits(f"{item.name}[{at}]", tensor, item)
            env[str(item.extents[0].new)] = tuple(tensor.shape for tensor in operand)
            return
        self.limits(item.name, operand, item)
        self.shape(item, operand.shape, env)

    def limits(self, name: str, tensor: Tensor, item: f.Input) -> None:
        text = f"shape {rules.shape_text(tensor.shape)}"
        self.within(rules.INPUT_OR_EMPTY if item.empty else rules.INPUT, name, tensor.shape, text)
        if item.dtype == CVM and not 1 <= tensor.precision <= MAX_PRECISION:
            raise self.refuse(name, f"precision {tensor.precision}", rules.PRECISION_RANGE)

    def within(self, limits: rules.Limits, name: str, shape: tuple[int, ...], text: str) -> None:
        """Refuse a shape, shown as `text`, beyond the limits of its tensor."""
        if not limits.rank <= len(shape) <= MAX_RANK:
            raise self.refuse(name, text, limits.rank_rule)
        if any(extent < limits.extent for extent in shape):
            raise self.refuse(name, text, limits.extent_rule)
        if prod(max(extent, 1) for extent in shape) >= MAX_SIZE:
            raise self.refuse(name, text, rules.SIZE_LIMIT)

    def shape(self, item: f.Input, shape: tuple[int, ...], env: Env) -> None:
        """Bind the names of the shape; compare the extents that are known already."""
        text = f"shape {rules.shape_text(shape)}"
        scalars = sum(not extent.pack for extent in item.extents)
        open_pack = [extent for extent in item.extents if extent.pack and extent.new]
        known = {
            at: sorted_set(self.compiler.value(extent.value, env))
            for at, extent in enumerate(item.extents)
            if extent.pack and not extent.new
        }
        least = scalars + sum(map(len, known.values()))
        if not open_pack and len(shape) != least:
            rule = rules.rank_rule(least)
            if len(item.extents) == 1 and 0 in known:
                rule = rules.shape_rule(rules.shape_text(known[0]))
            raise self.refuse(item.name, text, rule)
        if len(shape) < least:
            raise self.refuse(item.name, text, rules.rank_rule(least, "at least "))
        at = 0
        for number, extent in enumerate(item.extents):
            if extent.pack:
                length = len(known[number]) if number in known else len(shape) - least
                entries = shape[at : at + length]
                if extent.new:
                    env[extent.new] = entries
                elif entries != known[number]:
                    wanted = rules.shape_text(known[number])
                    alone = len(item.extents) == 1
                    rule = rules.shape_rule(wanted) if alone else rules.part_rule(at, wanted)
                    raise self.refuse(item.name, text, rule)
                at += length
                continue
            if extent.new:
                env[extent.new] = shape[at]
            else:
                wanted = self.compiler.value(extent.value, env)
                if shape[at] != wanted:
                    term = extent.span.code
                    term += "" if term == str(wanted) else f" = {rules.extent_text(wanted)}"
                    raise self.refuse(item.name, text, rules.extent_rule(at, term))
            at += 1

    # -------------------------------------------------------- attributes

    def attribute(self, item: f.Attribute, env: Env) -> None:
        given = env["$attributes"].get(item.name)
        env["$given " + item.name] = given is not None
        value = given
        if given is None:
            if item.required:
                raise self.refuse(item.name, "", "this attribute is missing")
            if item.default is not None:
                value = self.compiler.value(item.default, env)
        if item.words:
            env["$word " + item.name] = value if isinstance(value, str) else None
        is_word = item.kind == "word" or (item.numbers_or_word and isinstance(value, str))
        if is_word and value is not None:
            value = self.word(item, value)
        elif item.is_list or item.components:
            value = self.list_value(item, value, env)
        elif value is not None and item.kind == "real":
            value = self.real(item, float(value), env)
        elif value is not None and item.kind == "int":
            self.in_range(item, value, value, env)
        env[item.name] = value
        if item.components:
            env.update(zip(item.components, value, strict=True))

    def word(self, item: f.Attribute, value: Any) -> Any:
        """The value of an attribute that is given a word: beside it, its numbers are 0."""
        if value not in item.words:
            raise self.refuse(item.name, repr(value), word_rule(item))
        if item.kind == "word":
            return value
        return (0,) * len(item.components) if item.is_list or item.components else 0

    def real(self, item: f.Attribute, value: float, env: Env, whole: Any = None) -> float:
        env[item.number_name] = value
        if item.inside is not None and not self.compiler.value(item.inside, env):
            shown = rules.real_text(value) if whole is None else rules.reals_text(whole)
            raise self.refuse(item.name, shown, rules.range_rule(item.range_text))
        return value

    def list_value(self, item: f.Attribute, value: Any, env: Env) -> Any:
        value = tuple(value) if value is not None else None
        if item.components:
            self.length(item, value)
        elif value is not None and len(value) > MAX_LIST:
            raise self.refuse(item.name, f"{len(value)} entries", f"at most {MAX_LIST} entries")
        if item.kind == "real":
            return value and tuple(self.real(item, float(entry), env, value) for entry in value)
        for entry in value or ():
            self.in_range(item, entry, value, env)
        return value

    def length(self, item: f.Attribute, value: Any) -> None:
        if value is None or len(value) != len(item.components):
            rule = f"{len(item.components)} entries needed"
            text = rules.reals_text if item.kind == "real" else rules.shape_text
            raise self.refuse(item.name, text(value or ()), rule)

    def in_range(self, item: f.Attribute, entry: int, whole: Any, env: Env) -> None:
        text = rules.shape_text(whole) if isinstance(whole, tuple) else str(whole)
        low, high = self.ends(item, env)
        if not low <= entry < high:
            rule = rules.range_rule(item.range_text)
            terms = self.terms((item.low, item.high), env)
            raise self.refuse(item.name, text, f"{rule} ({terms})" if terms else rule)

    def ends(self, item: f.Attribute, env: Env) -> tuple[int, int]:
        """The declared range of an attribute: low <= value < high."""
        low = ATTRIBUTE_LOW if item.low is None else self.compiler.value(item.low, env)
        high = ATTRIBUTE_HIGH if item.high is None else self.compiler.value(item.high, env)
        return low, high

    def terms(self, about: n.Expr | tuple[n.Expr | None, ...], env: Env) -> str:
        """`C = 3, n = (2, 3)`: the named values that an expression speaks of."""
        shown: list[str] = []
        for term in self.shown.of(about):
            match term:
                case n.Ref(name=name) if env[name] is not None:
                    shown.append(f"{name} = {shown_term(env.get('$word ' + name) or env[name])}")
                case n.Precision(tensor=tensor) if env["$tensor " + tensor] is not None:
                    shown.append(f"p({tensor}) = {env['$tensor ' + tensor].precision}")
                case _:
                    pass
        return ", ".join(shown)


def sorted_set(entries: Iterable[int]) -> tuple[int, ...]:
    """A list as it is, a set ascending."""
    return tuple(sorted(entries)) if isinstance(entries, frozenset) else tuple(entries)


def shown_term(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return number_text(value)
        case float():
            return repr(value)
        case str():
            return f'"{value}"'
        case tuple() if all(isinstance(entry, int) for entry in value):
            return rules.shape_text(value)
        case tuple():
            return rules.shapes_text(value)
        case frozenset():
            return f"{{{', '.join(map(str, sorted(value)))}}}"
        case _:
            return ""
