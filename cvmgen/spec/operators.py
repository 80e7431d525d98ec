"""Checks one operator block item by item, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from cvmgen.dtypes import CVM
from cvmgen.source import Span, SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_types import as_words
from cvmgen.spec.attributes import check_attribute
from cvmgen.spec.binders import check_binder
from cvmgen.spec.calls import Shared
from cvmgen.spec.demands import accesses, check_domain, checked_demand, types_in
from cvmgen.spec.equations import check_equation, free_name
from cvmgen.spec.examples import checked_example
from cvmgen.spec.expressions import ExpressionChecker
from cvmgen.spec.formula import INT, LIST, REAL, SELECTED, Kind
from cvmgen.spec.item_names import bound_names, declared_names, mutual
from cvmgen.spec.narrow import range_requirements
from cvmgen.spec.operands import checked_input, checked_output
from cvmgen.spec.own_names import names_in, other_names, renamed
from cvmgen.spec.recurrences import (
    checked_recurrence,
    refuse_recursion,
    speaks_of_itself,
    with_range,
)
from cvmgen.spec.refusals import Refusal, Refusals, refuse_elsewhere, without_refused
from cvmgen.spec.scope import LIST_PARTS, MEMORY_PARTS, PoisonedError, ScopedName
from cvmgen.spec.selections import Sizes, check_order, check_selection, from_set, is_selection
from cvmgen.spec.types import in_some_rows, type_table
from cvmgen.spec.whole import whole_errors


def check_operator(
    declaration: d.OperatorDecl, opset: str, shared: Shared, errors: list[SpecError]
) -> f.Operator | None:
    """The checked operator; None after adding to `errors` what is wrong with it.

    A formula with type parameters is checked for each choice of them; its nodes are the same for
    all, and what differs - the kind of a named value - no later stage asks for.
    """
    try:
        table = type_table(declaration.block)
    except SpecError as error:
        errors.append(error)
        return None
    found: list[list[SpecError]] = []
    operators = []
    for number in range(len(table.rows)):
        checker = OperatorChecker(declaration, shared, table, number)
        items = checker.block(declaration.block)
        if not checker.errors and not checker.poisoned:
            checker.errors.extend(whole_errors(declaration, table, items))
        found.append(checker.errors)
        if checker.errors or checker.poisoned:
            continue
        operators.append(checked_operator(declaration, opset, checker, items))
    errors.extend(in_some_rows(table, found))
    return operators[0] if len(operators) == len(table.rows) else None


def checked_operator(
    declaration: d.OperatorDecl, opset: str, checker: OperatorChecker, items: tuple[f.Item, ...]
) -> f.Operator:
    definitions = tuple(checker.expressions.calls.definitions.values())
    defs = tuple((f"def {each.name}", each.span) for each in definitions)
    operator = f.Operator(
        opset,
        declaration.name,
        declaration.block.doc,
        tuple(name.text for name in aliases(declaration.block)),
        tuple(checker.refusals.with_companions((*definitions, *items))),
        tuple(checker.examples),
        checker.although,
        declaration.holes,
        declaration.text,
        checker.table,
        span=declaration.span,
        blocks=(*declaration.blocks, *defs),
    )
    return replace(operator, has_reals=holds_reals(operator))


def holds_reals(operator: f.Operator) -> bool:
    """Whether elements can be real numbers, or the formula makes some."""
    if any(dtype.kind == "real" for row in operator.choices for dtype in row.values()):
        return True
    return f.speaks_of_reals(operator.items)


def aliases(block: d.BlockDecl) -> Iterator[n.Name]:
    for item in block.items:
        if isinstance(item, d.AliasDecl):
            yield from item.names


Checked = TypeVar("Checked")


class OperatorChecker:
    """Goes through the items, gathering every error."""

    def __init__(
        self, declaration: d.OperatorDecl, shared: Shared, table: f.TypeTable, row: int
    ) -> None:
        self.declaration = declaration
        self.table = table
        types = dict(zip(table.names, table.rows[row], strict=True))
        scope = shared.scope(declaration.name_span)
        self.expressions = ExpressionChecker(scope, shared, types)
        for item in declaration.block.items:
            for name in item.names if isinstance(item, d.TypeChoice) else ():
                scope.symbols[name.text] = ScopedName(name.text, "type", None, name.span)
        self.errors: list[SpecError] = []
        self.poisoned = False
        self.incomplete = False  # an input or attribute is wrong, so examples cannot be judged
        self.examples: list[f.Example] = []
        self.although = ""
        self.outputs: dict[str, f.Output] = {}
        self.operands: list[f.Input | f.Attribute] = []
        self.definitions: dict[str, f.Definition] = {}
        self.reading: set[str] = set()  # definitions that read elements of inputs
        self.refusals = Refusals()
        self.within: tuple[n.IndexRange, ...] = ()
        self.block_name = ""  # 'case' or 'within', inside one

    # -------------------------------------------------------- blocks

    def block(self, block: d.BlockDecl) -> tuple[f.Item, ...]:
        items: list[f.Item] = []
        outer = self.expressions.later
        for at, item in enumerate(block.items):
            self.expressions.later = {**outer, **declared_names(block.items[at + 1 :])}
            self.expressions.mutual = set(mutual(item, block.items[at + 1 :]))
            try:
                items.extend(self.with_refusals(self.item(item)))
            except SpecError as error:
                self.errors.append(error)
                self.poison(item)
            except PoisonedError:
                self.poisoned = True
                self.poison(item)
        self.expressions.later = outer
        if self.block_name:
            inside = {
                name: (self.block_name, line) for name, line in declared_names(block.items).items()
            }
            self.expressions.inside.update(inside)
        return tuple(items)

    def poison(self, item: d.ItemDecl) -> None:
        """After an error: the names that the item would have bound are known but useless."""
        names = list(bound_names(item))
        match item:
            case d.AttributeDecl() | d.OperandDecl(output=False):
                self.incomplete = True
            case d.EquationDecl(target=n.Bracket(target=n.Name() as name)):
                names.append(name)
            case _:
                pass
        for name in names:
            self.expressions.scope.poison(name.text, name.span)

    def item(self, item: d.ItemDecl) -> Iterable[f.Item]:
        self.stands_here(item)
        match item:
            case d.TypeChoice() | d.AliasDecl():
                return []  # they are known already
            case d.OperandDecl(output=True):
                return [self.output(item)]
            case d.OperandDecl():
                found = self.operand(self.of_the_call(checked_input(self.expressions, item)))
                needed = range_requirements(item, self.table, self.expressions.scope)
                return [found, *map(self.require, needed)]
            case d.AttributeDecl():
                return [self.operand(self.attribute(item))]
            case d.LetDecl():
                return [self.let(item)]
            case d.RequireDecl():
                return [self.require(item)]
            case d.AlthoughDecl(reason=reason):
                self.although = reason
                return []
            case d.ExampleDecl() if self.incomplete:
                return []
            case d.ExampleDecl():
                names = [self.declaration.name, *self.aliases()]
                empty = self.may_be_empty()
                self.examples.append(checked_example(item, names, self.operands, empty=empty))
                return []
            case d.EquationDecl():
                return [check_equation(self.expressions, item, self.outputs, self.within)]
            case d.CaseDecl():
                return [self.case(item)]
            case d.WithinDecl():
                return self.repeated(item)

    def stands_here(self, item: d.ItemDecl) -> None:
        """Refuse what belongs to the whole operator inside `case` and `within`."""
        inside = self.block_name
        if not inside:
            return
        match item:
            case d.LetDecl() | d.RequireDecl() | d.EquationDecl():
                return
            case d.WithinDecl() | d.OperandDecl(output=True) if inside == "case":
                return
            case d.WithinDecl():
                hint = "give the outer 'within' both ranges: within a < A, b < B { ... }"
            case d.CaseDecl() if inside == "case":
                hint = "join the two conditions with 'and'"
            case _:
                hint = f"move it out of the '{inside}'"
        word = item.span.text.split()[0]
        span = Span(item.span.source, item.span.start, item.span.start + len(word))
        raise SpecError(span, f"'{word}' cannot stand inside '{inside}'", hint)

    def attribute(self, item: d.AttributeDecl) -> f.Attribute:
        found = check_attribute(self.expressions, as_words(item, self.table))
        if item.column is not None:
            return replace(found, decides=item.column.text)
        return found if found.kind == "real" else self.of_the_call(found)

    def operand(self, operand: f.Input | f.Attribute) -> f.Input | f.Attribute:
        self.operands.append(operand)
        return operand

    def output(self, item: d.OperandDecl) -> f.Output:
        output = checked_output(self.expressions, item)
        self.outputs[output.name] = output
        self.of_the_call(output.slots)
        # After the shape, so that a fault in the rule does not hide those in the equations.
        rule = item.precision
        if rule is not None and output.dtype != CVM:
            hint = f"every value of {output.dtype} is admitted; remove the rule"
            raise SpecError(rule.span, "only elements of type cvm have a precision", hint)
        precision = None if rule is None else self.of_the_call(self.expressions.integer(rule))
        return replace(output, precision=precision)

    def may_be_empty(self) -> bool:
        """Whether any output is declared so, or without dimensions, anywhere in the block."""
        found = (each for each in n.walk(self.declaration.block) if isinstance(each, d.OperandDecl))
        return any(each.output and (each.empty or not each.slots) for each in found)

    def aliases(self) -> Iterator[str]:
        return (name.text for name in aliases(self.declaration.block))

    def require(self, item: d.RequireDecl) -> f.Require | f.Demand:
        inputs = {each.name: each for each in self.operands if isinstance(each, f.Input)}
        with self.expressions.nested():
            domain = check_domain(self.expressions, item, inputs, self.within)
            condition = self.expressions.condition(item.condition)
        macros = {**self.expressions.calls.definitions, **self.definitions}
        if self.element(condition) is not None or any(types_in(condition, macros)):
            return self.demand(item, domain, condition)
        if not f.compares_attributes(condition):
            condition = self.of_the_call(condition)
        if domain.items:
            condition = n.Reduction("all", domain, condition, item.condition.span)
        return f.Require(condition, item.message, item.span)

    def demand(self, item: d.RequireDecl, domain: n.Binders, condition: n.Expr) -> f.Demand:
        """A requirement on elements, or on their types. What it ranges over is known before any."""
        self.of_the_call(tuple(domain.items))
        macros = self.expressions.calls.definitions
        given = ((each.name, f.typed_by(each)) for each in self.operands)
        typed = {name: kind for name, kind in given if kind not in ("", CVM)}
        return checked_demand(item, domain, condition, self.definitions, macros, typed)

    def with_refusals(self, items: Iterable[f.Item]) -> Iterator[f.Item]:
        """Items behind the requirements that what they refuse amounts to."""
        known = {**self.expressions.calls.definitions, **self.definitions}
        for item in items:
            match item:
                case f.Equation():
                    for each in self.refusals.of_equation(item, known):
                        yield self.refused(item, each)
                    yield item
                case f.Let(value=value):
                    for each in self.refusals.of(value, known):
                        holds = n.Not(each.condition, each.span)
                        yield f.Require(self.of_the_call(holds), each.message, each.span)
                    yield replace(item, value=without_refused(value))
                case f.Definition():
                    self.refusals.of_definition(item, {**known, item.name: item})
                    yield item
                case f.Case():
                    yield item
                case _:
                    refuse_elsewhere(item, self.refusals.refuses(item, known))
                    yield item

    def refused(self, item: f.Equation, refusal: Refusal) -> f.Require | f.Demand:
        """The requirement that an equation asks for a refusal at no point of its domain."""
        holds, domain = n.Not(refusal.condition, refusal.span), item.domain
        for name, made in self.refusals.companions.items():
            if self.element(made.body) is not None:
                self.reading.add(name)
        if self.element((holds, domain)) is None and self.real(holds) is None:
            every = n.Reduction("all", domain, holds, refusal.span)
            return f.Require(every, refusal.message, refusal.span)
        known = {**self.expressions.calls.definitions, **self.definitions}
        read = tuple(accesses(holds, {**known, **self.refusals.companions}))
        placed = n.is_box(domain) and all(each.which is None for each in read)
        applied = {each.name for each in n.walk(holds) if isinstance(each, n.Apply)}
        first = not self.refusals.behind(applied, known) & self.definitions.keys()
        return f.Demand(holds, domain, item.tensor, refusal.message, placed, first, refusal.span)

    def case(self, item: d.CaseDecl) -> f.Case:
        condition = self.of_the_call(self.expressions.condition(item.condition))
        outputs = dict(self.outputs)
        self.block_name = "case"
        try:
            with self.expressions.nested():
                items = self.block(self.apart(item.block))
        finally:
            self.outputs = outputs
            self.block_name = ""
        return f.Case(condition, items, item.span)

    def repeated(self, item: d.WithinDecl) -> tuple[f.Item, ...]:
        """`within b < B { … }`: the block's lets and equations all have the index b."""
        binders = item.binders
        if binders.condition is not None:
            hint = "put the condition after the equation: forall ... if ..."
            raise SpecError(binders.condition.span, "'within' takes ranges only", hint)
        outer, outer_name = self.within, self.block_name
        self.block_name = "within"
        try:
            with self.expressions.nested():
                for each in (*binders.items, *([binders.over] if binders.over else [])):
                    binder = check_binder(self.expressions, each)
                    if not isinstance(binder, n.IndexRange) or binders.over is not None:
                        raise SpecError(each.span, "'within' takes ranges such as b < B")
                    self.within = (*self.within, binder)
                return self.block(self.apart(item.block))
        finally:
            self.within, self.block_name = outer, outer_name

    def apart(self, block: d.BlockDecl) -> d.BlockDecl:
        """A block with other names for lets that one beside it has too: those with indices stand
        for their formulas by their names alone."""
        lets = {each.name for each in block.items if isinstance(each, d.LetDecl)}
        taken = {each for each in lets & self.definitions.keys() if self.closed(each)}
        known = {*self.definitions, *self.expressions.scope.names()}
        known.update(names_in(self.declaration.block), declared_names(block.items))
        return renamed(block, other_names(sorted(taken), known))

    def closed(self, name: str) -> bool:
        return self.expressions.scope.find(name) is None

    # -------------------------------------------------------- lets

    def let(self, item: d.LetDecl) -> f.Let | f.Definition:
        free_name(self.expressions, item.name, item.name_span)
        if item.name in self.definitions:
            first = self.definitions[item.name].span.line
            message = f"'{item.name}' is already a let with indices, declared in line {first}"
            raise SpecError(item.name_span, message, "choose another name")
        selected = is_selection(item.value, item.name)
        if not selected and not (item.parameters and speaks_of_itself(item.value, item.name)):
            refuse_recursion(item)
        if item.parameters is not None or self.within or selected:
            return self.definition(item, item.parameters or (), selected=selected)
        value, kind = self.expressions.check(item.value)
        if self.element(value) is not None or self.real(value) is not None:
            value, kind = from_set(value, kind)
        else:
            self.expressions.scope.add(ScopedName(item.name, "let", kind, item.name_span))
            return f.Let(item.name, value, kind, item.span)
        # What depends on elements, or is made of real numbers, is no value of the call: it stands
        # for its formula.
        found = self.defined(item, f.Definition(item.name, (), value, kind, item.span, ()))
        self.expressions.scope.add(ScopedName(item.name, "definition", kind, item.name_span))
        return found

    def definition(
        self, item: d.LetDecl, parameters: tuple[d.Parameter, ...], *, selected: bool
    ) -> f.Definition:
        """A `let` with indices, or a selected list; inside `within` its indices come first."""
        around = tuple(binder.index for binder in self.within)
        kinds = tuple((each.name, LIST if each.pack else INT) for each in parameters)
        outer = self.expressions.scope
        with self.expressions.nested() as scope:
            for index in around:
                scope.symbols[index] = ScopedName(index, "parameter", INT, item.name_span)
            for parameter, (_, kind) in zip(parameters, kinds, strict=True):
                if parameter.name == item.name:
                    message = f"'{item.name}' is the name of the let itself"
                    raise SpecError(parameter.span, message, "choose another name")
                scope.add(ScopedName(parameter.name, "parameter", kind, parameter.span))
            symbol = ScopedName(
                item.name, "definition", SELECTED, item.name_span, kinds, within=around
            )
            if selected:
                names = (*around, *(name for name, _ in kinds))
                scope.symbols[item.name] = symbol
                value, kind = check_selection(self.expressions, item.value, item.name, names)
            elif speaks_of_itself(item.value, item.name):
                return self.recurrence(item, symbol, (*((each, INT) for each in around), *kinds))
            else:
                value, kind = self.expressions.check(item.value)
                if self.element(value) is not None:
                    value, kind = from_set(value, kind)
        every = (*((index, INT) for index in around), *kinds)
        found = self.defined(item, f.Definition(item.name, every, value, kind, item.span))
        outer.add(replace(symbol, kind=kind))
        if kind == SELECTED:
            outer.keep(item.name, LIST_PARTS, item.name_span)
        return found

    def recurrence(
        self, item: d.LetDecl, symbol: ScopedName, parameters: tuple[tuple[str, Kind], ...]
    ) -> f.Definition:
        """A `let` that reads elements of its own."""
        found = self.defined(item, checked_recurrence(self.expressions, item, symbol, parameters))
        with_range(found)
        outer = self.expressions.scope.outer
        assert outer is not None
        outer.add(replace(symbol, kind=found.kind))
        outer.keep(item.name, MEMORY_PARTS, item.name_span)
        return found

    def defined(self, item: d.LetDecl, definition: f.Definition) -> f.Definition:
        if definition.kind == SELECTED:
            definition = self.sized(item, definition)
        elif definition.kind in (INT, REAL):
            around = {binder.index: binder.high for binder in self.within}
            definition = replace(definition, ranges=self.sizes({}).known(definition, around))
        self.definitions[item.name] = definition
        if definition.kind == SELECTED or self.element(definition.body) is not None:
            self.reading.add(item.name)
        return definition

    def sizes(self, more: Mapping[str, f.Definition]) -> Sizes:
        """What the shapes of the inputs so far tell."""
        inputs = {each.name: each for each in self.operands if isinstance(each, f.Input)}
        return Sizes(inputs, {**self.expressions.calls.definitions, **self.definitions, **more})

    def sized(self, item: d.LetDecl, definition: f.Definition) -> f.Definition:
        """A selected list with the ranges of its indices and the most entries it can have."""
        sizes = self.sizes({item.name: definition})
        check_order(definition.body, item.name, sizes.definitions)
        around = {binder.index: binder.high for binder in self.within}
        for parameter in item.parameters or ():
            if parameter.pack:
                message = "a selected list is made for single indices, not for packs"
                raise SpecError(parameter.span, message)
        names = [name for name, _ in definition.parameters]
        ranges = tuple(around.get(name) or sizes.range(definition, name) for name in names)
        return replace(definition, ranges=ranges, capacity=sizes.capacity(definition.body))

    def element(self, checked: object) -> n.Access | n.Apply | None:
        """Where a checked part of the formula reads an element of an input, if it does."""
        for node in n.walk(checked):
            if isinstance(node, n.Access):
                return node
            if isinstance(node, n.Apply) and node.name in self.reading:
                return node
        return None

    def real(self, checked: object) -> n.Expr | None:
        """Where a checked part of the formula makes a real number, or an integer of one."""
        known = {**self.expressions.calls.definitions, **self.definitions}
        known |= self.refusals.companions
        for node in n.walk(checked):
            if f.makes_real(node):
                found: n.Expr = node
                return found
            if (
                isinstance(node, n.Apply)
                and node.name in known
                and self.real(known[node.name].body)
            ):
                return node
        return None

    def of_the_call(self, checked: Checked) -> Checked:
        """Refuse elements where only shapes, precisions and attributes are known."""
        real = self.real(checked)
        if isinstance(real, n.Limit):
            hint = "formulas of elements and requirements may speak of types"
            raise SpecError(real.span, "an element type has no meaning here", hint)
        if real is not None:
            hint = "this decides which calls are accepted, by integers alone"
            if isinstance(real, n.Ref):
                hint = "a requirement may compare a real attribute, as it is; a range says it all"
            raise SpecError(real.span, "a real number has no meaning here", hint)
        node = self.element(checked)
        if node is not None:
            message = "elements of tensors are not known here"
            hint = "this may depend on shapes, precisions and attributes only"
            raise SpecError(node.span, message, hint)
        return checked
