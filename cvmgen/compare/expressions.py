"""Expressions of a checked formula as values of a table, which hold for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cvmgen.compare.binders import BinderReader, Env, Lazy, Unread
from cvmgen.compare.table import INDEX, ListingValue, ListValue, RealValue, Value
from cvmgen.dtypes import DTYPES, MAX_PRECISION
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.verification import terms as t
from cvmgen.verification.terms import FALSE, TRUE, Formula, Term

MOST_STEPS = 20_000
MOST_POWER = 64  # an exponent up to which a power is multiplied out, or may have any base
LESS = {"<": (False, True), ">": (True, True), "<=": (False, False), ">=": (True, False)}


class ExpressionReader(BinderReader):
    """Reads the expressions of one formula."""

    # -------------------------------------------------------- expressions

    def value(self, expr: n.Expr, env: Env) -> Value:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unread
        match expr:
            case n.Number(value=value):
                return t.term(value)
            case n.Real(value=value):
                return self.table.real("number", value.hex())
            case n.Truth(value=value):
                return TRUE if value else FALSE
            case n.Ref(name=name):
                return self.name(name, env)
            case n.Arithmetic(sign=sign, left=left, right=right):
                return self.arithmetic(sign, self.value(left, env), self.value(right, env))
            case n.Negate(operand=operand):
                inner = self.value(operand, env)
                return (
                    self.table.real("neg", inner)
                    if isinstance(inner, RealValue)
                    else self.number(inner) * -1
                )
            case n.Compare(relations=relations, operands=operands):
                return self.comparison(relations, operands, env)
            case n.Logic(word=word, operands=operands):
                return self.logic(word, operands, env)
            case n.Not(operand=operand):
                return t.negation(self.condition(operand, env))
            case n.Conditional():
                return self.conditional(expr, env)
            case n.Reduction():
                return self.reduction(expr, env)
            case n.Access():
                return self.access(expr, env)
            case n.Apply(name=name, arguments=arguments):
                return self.apply(name, arguments, env)
            case n.Function(name=name, arguments=arguments):
                return self.function(name, [self.value(each, env) for each in arguments])
            case n.Precision(tensor=tensor, which=which):
                given = () if which is None else (self.integer(which, env),)
                return self.table.apply(("precision", tensor), *given, low=1, high=MAX_PRECISION)
            case n.Present(name=name):
                return self.present(name)
            case n.IsWord(name=name, word=word):
                return self.word(name, word)
            case n.Limit(end=end, type_name=name):
                return self.limit(end, name)
            case _:
                return self.of_lists(expr, env)

    def of_lists(self, expr: n.Expr, env: Env) -> Value:
        table = self.table
        match expr:
            case n.TupleOf(elements=elements):
                return table.tuple_of(tuple(self.value(each, env) for each in elements))
            case (
                n.Listing(element=element, binders=binders)
                | n.SetOf(element=element, binders=binders)
            ):
                kind = type(expr).__name__
                with (
                    self.bound(binders, env) as (inner, ranges, inside, condition),
                    self.where(*inside, condition),
                ):
                    found = self.value(element, inner)
                return table.listing(kind, ListingValue(ranges, inside, condition, found))
            case n.Sorted(binders=binders, keys=keys):
                with (
                    self.bound(binders, env) as (inner, ranges, inside, condition),
                    self.where(*inside, condition),
                ):
                    values = tuple(self.value(each, inner) for each in keys)
                return table.listed("sort", ranges, condition, values)
            case n.Contains(element=element, collection=collection):
                item, members = self.integer(element, env), self.listed(collection, env)
                if members.entries is not None:
                    return t.some(*(t.equal(item, self.number(each)) for each in members.entries))
                return table.truth("in", item, members)
            case n.Item(sequence=sequence, index=index):
                return self.item(self.listed(sequence, env), self.integer(index, env))
            case n.Part(sequence=sequence, low=low, high=high):
                ends = [None if each is None else self.integer(each, env) for each in (low, high)]
                return table.listed("part", self.listed(sequence, env), *ends)
            case n.Earlier(arguments=arguments):
                at = tuple(self.integer(each, env) for each in arguments)
                return self.element(("earlier", len(self.defining)), at)
            case n.ShapeOf(tensor=tensor):
                return table.listed("shape", tensor)
            case _:
                raise Unread

    @staticmethod
    def number(value: Value) -> Term:
        if not isinstance(value, Term):
            raise Unread
        return value

    def name(self, name: str, env: Env) -> Value:
        if name not in env:
            raise Unread
        found = env[name]
        if isinstance(found, Lazy):
            return self.value(found.expr, found.env)
        return found  # type: ignore[no-any-return]

    def item(self, sequence: ListValue, index: Term) -> Value:
        entries, at = sequence.entries, index.value
        if entries is not None and at is not None and 0 <= at < len(entries):
            return entries[at]
        if sequence.nested:
            return self.table.listed("item", sequence, index)
        least = self.table.floors.get(sequence.number)
        return self.table.apply(("item", sequence), index, low=least)

    # -------------------------------------------------------- operations

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        if isinstance(left, ListValue) and isinstance(right, ListValue):
            return self.table.listed(sign, left, right)
        if isinstance(left, RealValue) or isinstance(right, RealValue) or sign == "over":
            return self.table.real(sign, *map(self.real, (left, right)))
        a, b = self.number(left), self.number(right)
        match sign:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "^":
                return self.power(a, b)
            case "div":
                return self.quotient(a, b)
            case "mod":
                return a - b * self.quotient(a, b)
            case "tdiv":
                self.need(t.negation(t.equal(b, 0)))
                return self.table.toward_zero(a, b)
            case _:
                raise Unread

    def real(self, value: Value) -> RealValue:
        if not isinstance(value, (Term, RealValue)):
            raise Unread
        return self.table.as_real(value)

    def quotient(self, a: Term, b: Term) -> Term:
        self.need(t.negation(t.equal(b, 0)))
        return self.table.quotient(a, b)

    def power(self, base: Term, exponent: Term) -> Term:
        if exponent.value is not None:
            if not 0 <= exponent.value <= MOST_POWER:
                raise Unread
        else:
            if base.value is None or not 1 <= base.value <= MOST_POWER:
                raise Unread
            # so far 64^n is a number of less digits than a formula may have
            self.need(t.every(t.at_most(0, exponent), t.at_most(exponent, 1 << 10)))
        return self.table.power(base, exponent)

    def comparison(self, relations: Sequence[str], operands: Sequence[n.Expr], env: Env) -> Formula:
        """One after the other: a later operand is asked for where the earlier ones allow it."""
        left = self.value(operands[0], env)
        found: Formula = TRUE
        for relation, operand in zip(relations, operands[1:], strict=True):
            with self.where(found):
                right = self.value(operand, env)
            found = t.every(found, self.related(relation, left, right))
            left = right
        return found

    def related(self, relation: str, left: Value, right: Value) -> Formula:
        if relation in ("==", "!="):
            same = self.same(left, right)
            return same if relation == "==" else t.negation(same)
        turned, strict = LESS[relation]
        one, other = (right, left) if turned else (left, right)
        if isinstance(one, RealValue) or isinstance(other, RealValue):
            return self.table.truth("<" if strict else "<=", self.real(one), self.real(other))
        test = t.below if strict else t.at_most
        return test(self.number(one), self.number(other))

    def same(self, left: Value, right: Value) -> Formula:
        if isinstance(left, RealValue) or isinstance(right, RealValue):
            return self.table.truth("==", *map(self.real, (left, right)))
        if isinstance(left, Term) and isinstance(right, Term):
            return t.equal(left, right)
        if isinstance(left, ListValue) and isinstance(right, ListValue):
            return TRUE if left == right else self.table.truth("==", left, right)
        if isinstance(left, (Term, ListValue)) or isinstance(right, (Term, ListValue)):
            raise Unread
        return t.every(t.implies(left, right), t.implies(right, left))

    def logic(self, word: str, operands: Sequence[n.Expr], env: Env) -> Formula:
        """A later operand is asked for where the earlier ones have not decided."""
        join = t.every if word == "and" else t.some
        found: Formula = TRUE if word == "and" else FALSE
        for operand in operands:
            with self.where(found if word == "and" else t.negation(found)):
                found = join(found, self.condition(operand, env))
        return found

    def conditional(self, expr: n.Conditional, env: Env) -> Value:
        test = self.condition(expr.condition, env)
        if test in (TRUE, FALSE):
            return self.value(expr.then if test == TRUE else expr.otherwise, env)
        with self.where(test):
            yes = self.value(expr.then, env)
        with self.where(t.negation(test)):
            no = self.value(expr.otherwise, env)
        if any(isinstance(each, (Term, RealValue)) for each in (yes, no)):
            if not all(isinstance(each, (Term, RealValue)) for each in (yes, no)):
                raise Unread
        elif isinstance(yes, ListValue) != isinstance(no, ListValue):
            raise Unread
        return self.table.choice(test, yes, no)

    # -------------------------------------------------------- functions and definitions

    def function(self, name: str, given: Sequence[Value]) -> Value:
        if any(isinstance(each, ListValue) for each in given):
            return self.of_list(name, given)
        match name, given:
            case (("max" | "min"), _):
                if any(isinstance(each, RealValue) for each in given):
                    return self.table.real(name, *map(self.real, given))
                return self.table.extreme(name, map(self.number, given))
            case "abs", [Term() as value]:
                return self.table.extreme("max", (value, value * -1))
            case "ceildiv", [Term() as a, Term() as b]:
                return self.quotient(a * -1, b) * -1
            case (("floor_log2" | "ceil_log2"), [Term() as value]):
                self.need(t.at_most(1, value))
                return self.table.apply(name, value, low=0)
            case "int", [Term() as value]:
                return value
            case "int", [RealValue() as value]:
                return self.table.apply(("int", value))
            case "real", [Term() | RealValue() as value]:
                return self.table.as_real(value)
            case "isnan", [value]:
                return FALSE if isinstance(value, Term) else self.table.truth("nan", value)
            case (("int" | "real"), [value]):
                one = self.table.chosen(value, t.ONE, t.ZERO)  # type: ignore[arg-type]
                return one if name == "int" else self.table.as_real(one)
            case _:
                return self.table.real(name, *map(self.real, given))

    def of_list(self, name: str, given: Sequence[Value]) -> Value:
        """A function of lists: what of it may not be there is told by the places that are open."""
        key = (name, *(each for each in given if isinstance(each, ListValue)))
        numbers = [each for each in given if isinstance(each, Term)]
        if name == "unflatten":
            return self.table.listed(*key, *numbers)
        return self.table.apply(key, *numbers, low=0 if name in ("len", "count") else None)

    def apply(self, name: str, arguments: Sequence[n.Expr], env: Env) -> Value:
        definition = self.definitions[name]
        if name in self.defining:  # a list may speak of its own entries
            at = tuple(self.integer(each, env) for each in arguments)
            return self.table.listed("itself", self.defining.index(name), *at)
        if definition.kind == f.SELECTED:
            at = tuple(self.integer(each, env) for each in arguments)
            return self.table.listed("selected", self.of_definition(definition, env), *at)
        if definition.axis is not None:
            at = tuple(self.integer(each, env) for each in arguments)
            return self.element(("recurrence", self.of_definition(definition, env)), at)
        names = (each for each, _ in definition.parameters)
        given = {each: Lazy(value, env) for each, value in zip(names, arguments, strict=True)}
        return self.value(definition.body, {**env, **given})

    def of_definition(self, definition: f.Definition, env: Env) -> Value:
        """What a list or a recurrence is made of, for indices of its own."""
        names = [each for each, _ in definition.parameters]
        indices = [t.symbol(f"{INDEX}{self.depth + at}") for at in range(len(names))]
        inner = {**env, **dict(zip(names, indices, strict=True))}
        ranges = tuple(self.integer(each, env) for each in definition.ranges or ())
        inside = [
            t.every(t.at_most(0, at), t.below(at, extent))
            for at, extent in zip(indices, ranges, strict=False)
        ]
        around = self.around
        self.depth += len(indices)
        self.defining.append(definition.name)
        self.around = (*around, *inside)
        try:
            with self.where(*inside):
                body = self.value(definition.body, inner)
            kind, depth = definition.kind.name, self.depth
        finally:
            self.around = around
            self.depth -= len(indices)
            self.defining.pop()
        key = (kind, definition.axis, len(indices), depth)
        return self.table.listed("definition", *key, ranges, body)

    def element(self, key: Any, at: tuple[Term, ...]) -> Value:
        return self.table.apply(key, *at)

    # -------------------------------------------------------- what a call gives

    def present(self, name: str) -> Formula:
        return self.table.truth("present", name)

    def word(self, name: str, word: str) -> Formula:
        return self.table.truth("word", name, word)

    def limit(self, end: str, name: str) -> Value:
        names, rows = self.operator.types.names, self.operator.types.rows
        kinds = (DTYPES[name],) if name in DTYPES else tuple(row[names.index(name)] for row in rows)
        if end == "type":
            codes = tuple(each.code for each in kinds)
            return t.term(codes[0]) if len({*codes}) == 1 else self.table.apply((end, codes))
        if any(each.kind == "real" for each in kinds):
            return self.table.real("limit", end, kinds)
        if len(set(kinds)) == 1:
            return t.term(kinds[0].low if end == "least" else kinds[0].high)
        return self.table.apply(("limit", end, kinds))

    def access(self, expr: n.Access, env: Env) -> Value:
        """An element, by the numbers among its indices; what of it is lists says which function of
        these it is."""
        numbers = [] if expr.which is None else [self.integer(expr.which, env)]
        kept: list[Any] = []
        for slot in expr.slots:
            found = self.value(slot.value, env)
            parts: tuple[Value, ...] = (found,)
            if slot.pack:
                if not isinstance(found, ListValue):
                    raise Unread
                parts = (found,) if found.entries is None else found.entries
            for part in parts:
                kept.append(part if isinstance(part, ListValue) else None)
                numbers += [] if isinstance(part, ListValue) else [self.number(part)]
        kinds = self.dtypes(expr.tensor)
        key = ("element", expr.tensor, *kept)
        if any(each.kind == "real" for each in kinds):
            return self.table.real(*key, *numbers)
        if any(each.kind == "bool" for each in kinds):
            return self.table.truth(*key, *numbers)
        low = min((each.low for each in kinds), default=None)
        high = max((each.high for each in kinds), default=None)
        return self.table.apply(key, *numbers, low=low, high=high)
