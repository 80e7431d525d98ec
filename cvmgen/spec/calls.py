"""Checks what is written like a call: functions, `def`, `where`, p(X), present(B)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from cvmgen.dtypes import CVM, DTYPES
from cvmgen.functions import FUNCTIONS, LOGARITHMS, SCALARS, SPECIAL, FunctionRow
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.brackets import BracketChecker
from cvmgen.spec.checker import Checked, Checker
from cvmgen.spec.formula import BOOL, INT, LIST, REAL, SET, Definition, Kind
from cvmgen.spec.imports import ready_to_import
from cvmgen.spec.own_names import names_behind, names_in, other_names, own_names, with_others
from cvmgen.spec.scope import ROLE_WORDS, PoisonedError, Scope, ScopedName
from cvmgen.spec.words import SELECTION_FORMS, plural

KINDS = {"int": INT, "real": REAL, "bool": BOOL}


@dataclass(frozen=True, slots=True)
class Shared:
    """What all operators of an opset share: constants, `def`s, and names that failed."""

    constants: Mapping[str, int]
    macros: Mapping[str, d.Definition]
    broken: frozenset[str] = frozenset()

    def scope(self, span: Span, hidden: Collection[str] = ()) -> Scope:
        """A scope of the constants, but for those that are hidden."""
        scope = Scope()
        for name, value in self.constants.items():
            scope.symbols[name] = ScopedName(name, "const", INT, span, value=value)
        for name in self.broken:
            scope.poison(name, span)
        for name in hidden:
            scope.symbols.pop(name, None)
        return scope

    def scope_of(self, macro: d.Definition) -> Scope:
        """That of the body of a `def`. Its own names hide constants: those that it is used beside
        may come from another file."""
        return Scope(self.scope(macro.span, own_names(macro)))


Written = frozenset[str]
"""The parameters for which integers that are written out are given, beside real numbers."""
Asked = tuple[str, tuple[Kind, ...], Written, frozenset[ScopedName]]
"""A `where` definition, the kinds of its arguments, which of them are written out, what it speaks
of that is bound at its use."""


class CallChecker:
    """Resolves calls of a checker; `definitions` gathers each `def` that is used."""

    def __init__(self, expressions: Checker, brackets: BracketChecker, shared: Shared) -> None:
        self.expressions = expressions
        self.brackets = brackets
        self.shared = shared
        self.definitions: dict[str, Definition] = {}
        self.written: dict[str, Written] = {}  # of each of these
        self.where_used: dict[str, Definition] = {}
        self.where_asked: dict[Asked, tuple[d.Definition, Definition]] = {}
        self.where_names: dict[str, set[str]] = {}  # that each speaks of, and those that it uses
        self.where_scope = expressions.scope  # of the indices of the equation itself
        self.open: list[str] = []  # definitions whose bodies are being checked

    @contextmanager
    def with_where(self, where: Mapping[str, d.Definition]) -> Iterator[dict[str, Definition]]:
        """Inside, the names of `where` have a meaning; those used are gathered."""
        self.expressions.where, self.where_used = dict(where), {}
        self.where_asked, self.where_names = {}, {}
        self.where_scope = self.expressions.scope
        try:
            yield self.where_used
        finally:
            self.expressions.where = {}

    def call(self, expr: n.Call) -> Checked:
        name, span = expr.function, expr.span
        if name in ("p", "present"):
            return self.about(expr)
        if name in ("least", "greatest"):
            return self.limit(expr)
        if name in LOGARITHMS:
            return self.logarithm(expr)
        if name == "log2":
            hint = f"write floor({span.code}) or ceil({span.code})"
            raise SpecError(span, "log2 alone is not an integer", hint)
        if name in self.expressions.where:
            return self.apply_where(name, expr.arguments, span)
        if name in self.shared.macros:
            return self.macro(expr)
        if name in FUNCTIONS and not (name == "count" and not expr.arguments):
            return self.function(expr)
        self.unknown(name, expr.name_span)

    def unknown(self, name: str, place: Span) -> NoReturn:
        if name in self.shared.broken:
            raise PoisonedError
        symbol = self.expressions.scope.find(name)
        if symbol is not None and symbol.role == "error":
            raise PoisonedError
        if symbol is not None:
            hint = f"indices stand in brackets: {name}[...]"
            if symbol.kind in (INT, BOOL) and not symbol.parameters:
                hint = "a product is written with '*'"
            raise SpecError(place, f"'{name}' is {ROLE_WORDS[symbol.role]}, no function", hint)
        if name in n.REDUCTIONS:
            hint = f"write {name}[i < N](...)"
            raise SpecError(place, f"the reduction '{name}' needs a range for its index", hint)
        if name in n.SELECTIONS:
            hint = f"write {SELECTION_FORMS[name]}"
            raise SpecError(place, f"'{name}' needs a range for its index", hint)
        known = [*FUNCTIONS, *SPECIAL, *self.shared.macros, *self.expressions.where]
        others = f"functions are {', '.join(FUNCTIONS)}; 'def' makes others"
        hint = ready_to_import(name) or did_you_mean(name, known) or others
        raise SpecError(place, f"unknown function '{name}'", hint)

    # -------------------------------------------------------- questions about an operand

    def about(self, expr: n.Call) -> Checked:
        """`p(X)` and `present(B)`."""
        name = expr.function
        if len(expr.arguments) != 1:
            hint = f"write {name}(X) with the name of an input"
            raise SpecError(expr.span, f"'{name}' takes one argument", hint)
        value = expr.arguments[0].value
        target, which = value, None
        if isinstance(value, n.Bracket):
            target = value.target
        if not isinstance(target, n.Name):
            raise SpecError(value.span, f"'{name}' takes the name of an input")
        symbol = self.expressions.scope.resolve(target.text, target.span)
        allowed = ("input",) if name == "p" else ("input", "attribute")
        if symbol.role not in allowed:
            takes = "an input" if name == "p" else "an input or an attribute"
            message = f"'{target.text}' is {ROLE_WORDS[symbol.role]}; '{name}' takes {takes}"
            raise SpecError(target.span, message)
        if isinstance(value, n.Bracket) and (name == "present" or not symbol.variadic):
            hint = f"write {name}({target.text})"
            raise SpecError(expr.span, f"'{name}' takes the name alone", hint)
        if name == "present" and not symbol.optional:
            hint = "only what is declared 'optional' may be missing"
            raise SpecError(target.span, f"'{target.text}' is always given", hint)
        if name == "present":
            return n.Present(target.text, expr.span), BOOL
        if isinstance(value, n.Bracket):
            (which,) = self.brackets.scalars(value, 1)
        elif symbol.variadic:
            hint = f"write p({target.text}[i])"
            raise SpecError(expr.span, f"'{target.text}' are several inputs", hint)
        if symbol.type_name != CVM:
            message = f"'{target.text}' has elements of type {symbol.type_name}, so no precision"
            raise SpecError(value.span, message, "only elements of type cvm have one")
        return n.Precision(target.text, which, expr.span), INT

    def limit(self, expr: n.Call) -> Checked:
        """`least(T)` and `greatest(T)`."""
        match expr.arguments:
            case (n.Argument(value=n.Name(text=text) as name, pack=False),):
                kind = self.expressions.element_kind(text)
            case _:
                message = f"'{expr.function}' takes the name of an element type"
                raise SpecError(expr.span, message, f"write {expr.function}(T)")
        if kind is None or text == CVM:
            known = [*self.expressions.types, *DTYPES]
            hint = did_you_mean(text, known) or f"storage types are {', '.join(known)}"
            raise SpecError(name.span, f"'{text}' is no storage type", hint)
        return n.Limit(expr.function, text, expr.span), kind

    # -------------------------------------------------------- functions of the language

    def logarithm(self, expr: n.Call) -> Checked:
        """`floor(log2(n))`, `ceil(log2(n))`: the only places of a logarithm; or of real numbers."""
        arguments = expr.arguments
        inner = arguments[0].value if len(arguments) == 1 else None
        if not isinstance(inner, n.Call) or inner.function != "log2" or len(inner.arguments) != 1:
            return self.function(expr)
        (argument,) = self.values(inner.arguments, (INT,))
        return n.Function(LOGARITHMS[expr.function], (argument,), expr.span), INT

    def numeric(self, row: FunctionRow, given: Sequence[n.Argument], span: Span) -> Checked:
        """A function of numbers: what kind it gives follows from what it is given."""
        expressions = self.expressions
        exprs = [argument.value for argument in given]
        checked = [expressions.check(value) for value in exprs]
        for argument in given:
            if argument.pack:
                self.no_pack(argument)
        values, kinds = [value for value, _ in checked], [kind for _, kind in checked]
        wanted = row.parameters[0]
        if wanted == "real" and len(exprs) > 1:
            reals = tuple(expressions.wanted(value, REAL) for value in exprs)
            return n.Function(row.name, reals, span), KINDS[row.result]
        if wanted == "scalar" and kinds == [BOOL]:
            kind = BOOL
        elif wanted == "scalar" and expressions.written(values[0]):
            expressions.take_as_integers(values[0])
            kind = INT
        elif wanted == "real" and not expressions.literal(values[0]):
            if kinds == [INT] and row.name in LOGARITHMS:
                hint = "of integers there is nothing to round"
                hint = f"{hint}; write floor(log2(n)) or ceil(log2(n))"
                message = f"'{row.name}' rounds real numbers, or a logarithm"
                raise SpecError(span, message, hint)
            if kinds != [REAL]:
                expressions.mismatch(exprs[0], REAL, kinds[0])
            kind = REAL
        else:
            kind = expressions.numbers(exprs, kinds, values)
        result = kind if row.result == "number" else KINDS[row.result]
        return n.Function(row.name, tuple(values), span), result

    def function(self, expr: n.Call) -> Checked:
        row = FUNCTIONS[expr.function]
        wanted = list(row.parameters)
        given = expr.arguments
        spread = [argument for argument in given if argument.pack]
        if spread and all(kind.removesuffix("*") in SCALARS for kind in wanted):
            self.no_pack(spread[0])
        if wanted[-1].endswith("*"):
            last = wanted.pop().removesuffix("*")
            wanted += [last] * max(1, len(given) - len(wanted))
        if len(given) != len(wanted):
            takes = plural(len(wanted), "argument")
            if row.parameters[-1].endswith("*"):
                takes = f"at least {takes}"
            hint = f"over a range: {row.name}[i < N](...)" if row.name in n.REDUCTIONS else ""
            raise SpecError(expr.span, f"'{row.name}' takes {takes}, {len(given)} given", hint)
        if wanted[0] in ("number", "real", "scalar"):
            return self.numeric(row, given, expr.span)
        if row.name in ("count", "len"):
            of_reals = row.name == "len"
            members = self.expressions.members(given[0].value, of_reals=of_reals)
            arguments: tuple[n.Expr, ...] = (members,)
        else:
            arguments = self.values(given, [INT if kind == "int" else LIST for kind in wanted])
        return n.Function(row.name, arguments, expr.span), INT if row.result == "int" else LIST

    def values(self, given: Sequence[n.Argument], kinds: Sequence[Kind]) -> tuple[n.Expr, ...]:
        """The arguments of a call; a pack or list may be written with or without `...`."""
        checked = []
        for argument, kind in zip(given, kinds, strict=True):
            if argument.pack and kind == INT:
                self.no_pack(argument)
            expressions = self.expressions
            value = argument.value
            checked.append(
                expressions.integer(value) if kind == INT else expressions.sequence(value)
            )
        return tuple(checked)

    def no_pack(self, argument: n.Argument) -> NoReturn:
        span = argument.value.span
        dots = Span(span.source, argument.span.end - len("..."), argument.span.end)
        _, kind = self.expressions.check(argument.value)
        hint = f"{span.text}[i] is one of its entries" if kind == LIST else "remove it"
        raise SpecError(dots, "'...' spreads a pack; a single integer is needed here", hint)

    # -------------------------------------------------------- where

    def apply_where(self, name: str, given: tuple[n.Argument, ...], span: Span) -> Checked:
        """A `where` definition, applied: a name inside it means what it means here. Where the same
        is bound it is asked once: one that uses others twice, which do so too, would be asked
        twice as often with each."""
        macro = self.beside(self.expressions.where[name])
        self.arity(macro, given, span)
        arguments, kinds, written = self.given(macro, given)
        known = self.where_used.get(name)
        if known is not None:
            before = tuple(kind for _, kind in known.parameters)
            kinds = before if REAL in before else kinds
        if name not in self.where_names:
            self.where_names[name] = names_behind(name, self.expressions.where)
        about = self.where_names[name]
        bound = frozenset(each for each in self.bound_inside() if each.name in about)
        asked = name, kinds, written, bound
        same, definition = self.where_asked.get(asked, (None, None))
        if same is not macro or definition is None:
            with self.expressions.nested() as scope:
                definition = self.body(macro, kinds, scope, span, written)
            self.where_asked[asked] = macro, definition
        self.where_used[name] = definition
        self.taken_as_integers(definition, arguments, kinds)
        return n.Apply(name, arguments, span), definition.kind

    def beside(self, macro: d.Definition) -> d.Definition:
        """A `where` definition that may stand here: neither what it binds nor what is bound around
        its use, inside of the equation, is around the other, so one name may be that of both."""
        taken = {each.name for each in self.bound_inside()} & own_names(macro)
        if taken and macro.name not in self.open:
            where = self.expressions.where
            known = {*self.expressions.scope.names(), *where, *names_in(tuple(where.values()))}
            known.update(*map(own_names, where.values()))
            macro = with_others(macro, other_names(sorted(taken), known))
            self.expressions.where = {**where, macro.name: macro}
        return macro

    def bound_inside(self) -> Iterator[ScopedName]:
        """What is bound here, but for those that are bound for the whole equation."""
        scope: Scope | None = self.expressions.scope
        while scope is not None and scope is not self.where_scope:
            yield from scope.symbols.values()
            scope = scope.outer

    def arity(self, macro: d.Definition, given: tuple[n.Argument, ...], span: Span) -> None:
        if len(given) == len(macro.parameters):
            return
        takes = plural(len(macro.parameters), "argument")
        hint = f"it is defined in line {macro.span.line}"
        if macro.span.source != span.source:
            hint = f"it is defined in {macro.span.location}"
        raise SpecError(span, f"'{macro.name}' takes {takes}, {len(given)} given", hint)

    def body(
        self,
        macro: d.Definition,
        kinds: tuple[Kind, ...],
        scope: Scope,
        span: Span,
        written: Written = frozenset(),
    ) -> Definition:
        """The definition with its body checked in `scope`, where its parameters are added. One of
        real numbers for which an integer is `written` is an integer where the body needs one."""
        if macro.name in self.open:
            hint = "put in what it stands for"
            raise SpecError(span, f"'{macro.name}' is defined by itself", hint)
        self.open.append(macro.name)
        symbols = [
            ScopedName(each.name, "parameter", kind, each.span, written=each.name in written)
            for each, kind in zip(macro.parameters, kinds, strict=True)
        ]
        try:
            for symbol in symbols:
                scope.add(symbol)
            body, kind = self.expressions.check(macro.body)
        finally:
            self.open.pop()
        integers = self.expressions.integers
        parameters = tuple(
            (each.name, INT if each in integers else kind)
            for each, kind in zip(symbols, kinds, strict=True)
        )
        integers.difference_update(symbols)
        return Definition(macro.name, parameters, body, kind, macro.span)

    def taken_as_integers(
        self, definition: Definition, values: tuple[n.Expr, ...], kinds: tuple[Kind, ...]
    ) -> None:
        """What is given for parameters that a body takes as integers is taken as such, too."""
        for (_, kind), value, given in zip(definition.parameters, values, kinds, strict=True):
            if (kind, given) == (INT, REAL):
                self.expressions.take_as_integers(value)

    # -------------------------------------------------------- def

    def macro(self, expr: n.Call) -> Checked:
        """A `def`, applied: its body is checked for the kinds that it is given here."""
        macro = self.shared.macros[expr.function]
        self.arity(macro, expr.arguments, expr.span)
        values, kinds, written = self.given(macro, expr.arguments)
        definition = self.define(macro, kinds, written, values, expr)
        self.taken_as_integers(definition, values, kinds)
        return n.Apply(definition.name, values, expr.span), definition.kind

    def given(
        self, macro: d.Definition, arguments: Sequence[n.Argument]
    ) -> tuple[tuple[n.Expr, ...], tuple[Kind, ...], Written]:
        """The arguments of a definition and their kinds; beside a real number, integers that are
        written out are real ones, but where the body needs integers."""
        values, kinds = [], []
        for argument, parameter in zip(arguments, macro.parameters, strict=True):
            value, kind = self.expressions.check(argument.value)
            if kind == SET and parameter.pack:
                kind = LIST
            if kind not in (INT, REAL, LIST, BOOL) or (parameter.pack and kind != LIST):
                self.expressions.mismatch(argument.value, LIST if parameter.pack else INT, kind)
            if argument.pack and kind != LIST:
                self.no_pack(argument)
            values.append(value)
            kinds.append(kind)
        written = set()
        if REAL in kinds:
            for at, value in enumerate(values):
                if self.expressions.literal(value):
                    kinds[at] = REAL
                    written.add(macro.parameters[at].name)
        return tuple(values), tuple(kinds), frozenset(written)

    def define(
        self,
        macro: d.Definition,
        kinds: tuple[Kind, ...],
        written: Written,
        values: tuple[n.Expr, ...],
        expr: n.Call,
    ) -> Definition:
        """The checked body of a `def` for parameters of these kinds."""
        known = self.definitions.get(macro.name)
        before = self.written.get(macro.name, written)
        if known is not None:
            pairs = zip(expr.arguments, values, known.parameters, kinds, strict=True)
            for argument, value, (name, kind), given in pairs:
                number = kind in (INT, REAL)
                if kind != given and not (number and self.expressions.literal(value)):
                    message = f"'{macro.name}' has been given {kind} for '{name}', here {given}"
                    hint = "in one operator a 'def' takes one kind of argument"
                    raise SpecError(argument.value.span, message, hint)
            if before <= written:
                return known
            # Some of what was written out before is not here: the body may have relied on it.
            written &= before
            kinds = tuple(kind for _, kind in known.parameters)
        expressions = self.expressions
        outer, expressions.scope = expressions.scope, self.shared.scope_of(macro)
        where, self.expressions.where = self.expressions.where, {}
        try:
            definition = self.body(macro, kinds, expressions.scope, expr.name_span, written)
        finally:
            expressions.scope = outer
            self.expressions.where = where
        self.definitions[macro.name] = definition
        self.written[macro.name] = written
        return definition
