"""Expressions of a checked formula as closures over an environment of exact integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, assert_never

from cvmgen import reals
from cvmgen.functions import (
    ARITHMETIC,
    FUNCTIONS,
    RELATIONS,
    SCALARS,
    OutsideBox,
    OutsideDomain,
    number_text,
)
from cvmgen.reference.binders import BinderCompiler, Closure, decided
from cvmgen.reference.failures import (
    Budget,
    Env,
    FormulaError,
    OutsideAccess,
    about_binders,
    absent,
    entries_text,
    slot_values,
)
from cvmgen.reference.lets import (
    LazyArgument,
    earlier,
    element,
    is_known,
    once_a_point,
    parameter,
)
from cvmgen.reference.tensor import Tensor, limit
from cvmgen.rules import EMPTY_REDUCTION
from cvmgen.source import Span
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import SELECTED, Definition

Filler = Callable[[Env, list[int]], None]  # adds the entries of a selected list


class ExpressionCompiler(BinderCompiler):
    """Turns expressions into closures; `definitions` are those in reach, by name."""

    def __init__(self, definitions: Mapping[str, Definition], budget: Budget | None = None) -> None:
        self.definitions = dict(definitions)
        self.budget = budget
        self.bodies: dict[str, Closure] = {}
        self.compiled: dict[int, tuple[n.Expr | tuple[n.Slot, ...], Closure]] = {}
        self.once: frozenset[str] = frozenset()  # definitions with one value at a point

    def value(self, expr: n.Expr, env: Env) -> Any:
        """The value of an expression; its closure is kept for the next time."""
        if id(expr) not in self.compiled:
            self.compiled[id(expr)] = (expr, self.closure(expr))
        return self.compiled[id(expr)][1](env)

    def index(self, slots: tuple[n.Slot, ...], env: Env) -> tuple[int, ...]:
        """The extents or indices that slots stand for; the closure is kept too."""
        if id(slots) not in self.compiled:
            self.compiled[id(slots)] = (slots, self.slots(slots))
        return tuple(self.compiled[id(slots)][1](env))

    def closure(self, expr: n.Expr) -> Closure:
        match expr:
            case n.Number(value=value) | n.Truth(value=value) | n.Real(value=value):
                return lambda env: value
            case n.Word(text=value):
                return lambda env: value
            case n.Ref():
                return self.ref(expr)
            case n.Arithmetic():
                return self.arithmetic(expr)
            case n.Negate(operand=operand):
                inner = self.closure(operand)
                return lambda env: -inner(env)
            case n.Compare():
                return self.compare(expr)
            case n.Logic(word=word, operands=operands):
                return decided([self.closure(operand) for operand in operands], word == "or")
            case n.Not(operand=operand):
                inner = self.closure(operand)
                return lambda env: not inner(env)
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                yes, test, no = map(self.closure, (then, condition, otherwise))
                return lambda env: yes(env) if test(env) else no(env)
            case n.Contains(element=element, collection=collection):
                item, members = self.closure(element), self.sequence(collection)
                return lambda env: item(env) in members(env)
            case n.TupleOf(elements=elements):
                parts = [self.closure(element) for element in elements]
                return lambda env: tuple(part(env) for part in parts)
            case n.Listing(element=element, binders=binders):
                walk, inner = self.walk(binders), self.closure(element)
                return lambda env: tuple([inner(env) for _ in walk(env)])
            case n.SetOf(element=element, binders=binders):
                walk, inner = self.walk(binders), self.closure(element)
                return lambda env: frozenset(inner(env) for _ in walk(env))
            case n.Reduction():
                return self.reduction(expr)
            case n.Item():
                return self.item(expr)
            case n.Part():
                return self.part(expr)
            case n.Access():
                return self.access(expr)
            case n.Apply():
                return self.apply(expr)
            case n.Earlier(name=name, arguments=arguments):
                return earlier(self.definitions[name], [self.closure(each) for each in arguments])
            case n.Function():
                return self.function(expr)
            case n.Precision(tensor=tensor, which=which, span=span):
                return self.about(tensor, which, span, lambda found: found.precision)
            case n.ShapeOf(tensor=tensor):
                return lambda env: env["$out " + tensor]
            case n.Present(name=name):
                return lambda env: env["$given " + name]
            case n.Limit(end=end, type_name=type_name):
                return lambda env: limit(env["$types"][type_name], end)
            case n.IsWord(name=name, word=word):
                return lambda env: env["$word " + name] == word
            case n.Sorted() | n.Name() | n.Bracket() | n.Call() | n.Refuse():
                raise AssertionError(f"{type(expr).__name__} outside a let")
            case _:
                assert_never(expr)

    def ref(self, expr: n.Ref) -> Closure:
        name = expr.name
        if expr.role != "attribute":
            return parameter(name) if expr.role == "parameter" else itemgetter(name)

        def value(env: Env) -> Any:
            found = env[name]
            if found is None:
                raise absent(name, expr.span, env)
            return found

        return value

    def arithmetic(self, expr: n.Arithmetic) -> Closure:
        left, right = self.closure(expr.left), self.closure(expr.right)
        exact, span = ARITHMETIC[expr.sign], expr.span

        def value(env: Env) -> Any:
            first, second = left(env), right(env)
            if first.__class__ is frozenset:
                return first - second if expr.sign == "-" else first | second
            try:
                return exact(first, second)
            except OutsideDomain as error:
                raise FormulaError(span, str(error), env, (expr.right,)) from None

        return value

    def compare(self, expr: n.Compare) -> Closure:
        operands = [self.closure(operand) for operand in expr.operands]
        tests = [RELATIONS[relation] for relation in expr.relations]
        if len(tests) == 1:
            (test,), (one, other) = tests, operands
            return lambda env: test(one(env), other(env))

        def value(env: Env) -> bool:
            left = operands[0](env)
            for test, operand in zip(tests, operands[1:], strict=True):
                right = operand(env)
                if not test(left, right):
                    return False
                left = right
            return True

        return value

    def reduction(self, expr: n.Reduction) -> Closure:
        walk, body = self.walk(expr.binders), self.closure(expr.body)
        about = about_binders(expr.binders)
        match expr.function:
            case "sum":
                # Term by term: Python's own sum of real numbers corrects what rounding loses.
                def add(env: Env) -> Any:
                    result = 0
                    for _ in walk(env):
                        result += body(env)
                    return result

                return add
            case "prod":

                def multiply(env: Env) -> Any:
                    result = 1
                    for _ in walk(env):
                        result *= body(env)
                    return result

                return multiply
            # Every element is evaluated: a walk left early would leave its indices bound.
            case "any":
                return lambda env: True in [body(env) for _ in walk(env)]
            case "all":
                return lambda env: False not in [body(env) for _ in walk(env)]
            case "count":
                return lambda env: sum(1 for _ in walk(env) if body(env))
            case _:
                choose = reals.maximum if expr.function == "max" else reals.minimum

                def extreme(env: Env) -> Any:
                    values: list[Any] = [body(env) for _ in walk(env)]
                    if not values:
                        raise FormulaError(expr.binders.span, EMPTY_REDUCTION, env, about)
                    return choose(*values)

                return extreme

    def item(self, expr: n.Item) -> Closure:
        sequence, index = self.raw(expr.sequence), self.closure(expr.index)

        def value(env: Env) -> Any:
            entries, at = sequence(env), index(env)
            if entries.__class__ is tuple and 0 <= at < len(entries):
                return entries[at]
            if isinstance(entries, dict):
                if at in entries:
                    return entries[at]
                message = f"entry {at} of the pack is not bound"
                raise OutsideAccess(expr.span, message, env, (expr,))
            if isinstance(entries, frozenset):
                entries = sorted(entries)
            if 0 <= at < len(entries):
                return entries[at]
            length = len(entries)
            message = f"a list of {entries_text(length)} has no entry {number_text(at)}"
            raise OutsideAccess(expr.index.span, message, env, (expr.index, expr.sequence))

        return value

    def part(self, expr: n.Part) -> Closure:
        sequence = self.sequence(expr.sequence)
        low = self.closure(expr.low) if expr.low is not None else None
        high = self.closure(expr.high) if expr.high is not None else None

        def value(env: Env) -> tuple[int, ...]:
            entries = sequence(env)
            start = low(env) if low else 0
            stop = high(env) if high else len(entries)
            if not 0 <= start <= stop <= len(entries):
                part = f"[{number_text(start)}:{number_text(stop)}]"
                message = f"a list of {entries_text(len(entries))} has no part {part}"
                raise OutsideAccess(expr.span, message, env, (expr,))
            return tuple(entries[start:stop])

        return value

    def raw(self, expr: n.Expr) -> Closure:
        """A list for taking single entries: a pack may be bound in part."""
        return self.closure(expr)

    def sequence(self, expr: n.Expr) -> Closure:
        """A list as a tuple; a set in ascending order; a pack only when wholly bound."""
        inner = self.raw(expr)
        span = expr.span

        def value(env: Env) -> tuple[int, ...]:
            found = inner(env)
            if isinstance(found, tuple):
                return found
            if isinstance(found, frozenset):
                return tuple(sorted(found))
            missing = [at for at in range(len(found)) if at not in found]
            if missing:
                message = f"entry {missing[0]} of the pack is not bound"
                raise OutsideAccess(span, message, env, (expr,))
            return tuple(found[at] for at in range(len(found)))

        return value

    def slots(self, slots: tuple[n.Slot, ...]) -> Closure:
        """The multi-index of an access."""
        if all(not slot.pack for slot in slots):
            parts = [self.closure(slot.value) for slot in slots]
            return lambda env: [part(env) for part in parts]
        spread = [
            (slot.pack, self.sequence(slot.value) if slot.pack else self.closure(slot.value))
            for slot in slots
        ]

        def value(env: Env) -> list[int]:
            index: list[int] = []
            for pack, part in spread:
                if pack:
                    index.extend(part(env))
                else:
                    index.append(part(env))
            return index

        return value

    def about(
        self, tensor: str, which: n.Expr | None, span: Span, read: Callable[[Tensor], Any]
    ) -> Closure:
        key = "$tensor " + tensor

        def single(env: Env) -> Any:
            found = env[key]
            if found is None:
                raise absent(tensor, span, env)
            return read(found)

        if which is None:
            return single
        choose = self.closure(which)

        def value(env: Env) -> Any:
            at = choose(env)
            if not 0 <= at < len(env[key]):
                count = len(env[key])
                verb = "is" if count == 1 else "are"
                message = f"there is no {tensor}[{number_text(at)}], {count} {verb} given"
                raise OutsideAccess(which.span, message, env, (which,))
            return read(env[key][at])

        return value

    def outside(
        self, tensor: str, slots: tuple[n.Slot, ...], dimension: int, at: int, extent: int, env: Env
    ) -> OutsideAccess:
        """The error for an index that leaves a tensor, at the slot that gives it."""
        values, left = dict(env), dimension
        for slot in slots:
            width = len(self.sequence(slot.value)(env)) if slot.pack else 1
            if left < width:
                break
            left -= width
        match slot.value:
            case n.Listing(
                element=about,
                binders=n.Binders(
                    items=(n.IndexRange(index=index, low=n.Number(value=0)),), condition=None
                ),
            ):
                values[index] = left
            case about:
                pass
        message = f"index {dimension} of {tensor} is {number_text(at)}, outside [0, {extent})"
        return OutsideAccess(slot.span, message, values, (about,))

    def access(self, expr: n.Access) -> Closure:
        tensor_of = self.about(expr.tensor, expr.which, expr.span, lambda found: found)
        index_of = self.slots(expr.slots)

        def value(env: Env) -> Any:
            tensor: Tensor = tensor_of(env)
            index = index_of(env)
            shape = tensor.shape
            if len(index) != len(shape):
                message = f"{expr.tensor} has rank {len(shape)}, {len(index)} indices are given"
                raise OutsideAccess(expr.span, message, env, slot_values(expr.slots))
            position = 0
            for dimension, (at, extent) in enumerate(zip(index, shape, strict=True)):
                if not 0 <= at < extent:
                    raise self.outside(expr.tensor, expr.slots, dimension, at, extent, env)
                position = position * extent + at
            return tensor.values[position]

        if expr.which is None and not any(slot.pack for slot in expr.slots):
            return self.plain_access(expr, value)
        return value

    def plain_access(self, expr: n.Access, general: Closure) -> Closure:
        """An element that is there, by indices that are no packs: most are. For one that is not,
        `general` tells why."""
        key = "$tensor " + expr.tensor
        parts = [self.closure(slot.value) for slot in expr.slots]

        def value(env: Env) -> Any:
            tensor: Tensor | None = env[key]
            if tensor is None or len(tensor.shape) != len(parts):
                return general(env)
            position = 0
            for part, extent in zip(parts, tensor.shape, strict=True):
                at = part(env)
                if not 0 <= at < extent:
                    return general(env)
                position = position * extent + at
            return tensor.values[position]

        return value

    def apply(self, expr: n.Apply) -> Closure:
        definition = self.definitions[expr.name]
        strict = definition.kind == SELECTED
        arguments = []
        for argument, (name, kind) in zip(expr.arguments, definition.parameters, strict=True):
            closure = self.sequence(argument) if kind.name == "list" else self.closure(argument)
            at_once = strict or is_known(argument)
            arguments.append((name, closure, at_once))

        def value(env: Env) -> Any:
            inner = env.copy()
            inner["$call"] = (expr, definition, env.get("$call"))
            for name, argument, at_once in arguments:
                inner[name] = argument(env) if at_once else LazyArgument(argument, env)
            return self.body(definition)(inner)

        return once_a_point(expr.name, value) if expr.name in self.once else value

    def body(self, definition: Definition) -> Closure:
        if definition.name not in self.bodies:
            if definition.kind == SELECTED:
                self.bodies[definition.name] = self.selected(definition)
            elif definition.ranges is not None:
                extents = [self.closure(each) for each in definition.ranges]
                body = self.closure(definition.body)
                self.bodies[definition.name] = element(definition, body, extents)
            else:
                self.bodies[definition.name] = self.closure(definition.body)
        return self.bodies[definition.name]

    # -------------------------------------------------------- selected lists

    def selected(self, definition: Definition) -> Closure:
        """The list for the indices at hand, made once in a call; while it is, as far as it is."""
        names = [name for name, _ in definition.parameters]
        extents = [self.closure(extent) for extent in definition.ranges or ()]
        fill = self.fill(definition.body)

        def value(env: Env) -> tuple[int, ...]:
            indices = tuple(env[name] for name in names)
            made: dict[Any, list[int]] = env.setdefault("$lists", {})
            key = (definition.name, indices)
            if key not in made:
                for name, index, extent in zip(names, indices, extents, strict=True):
                    if not 0 <= index < extent(env):
                        inside = f"0 <= {name} < {number_text(extent(env))}"
                        message = f"{definition.name} has a list for {inside} only"
                        about = n.Ref(name, "parameter", definition.span)
                        raise OutsideAccess(env["$call"][0].span, message, env, (about,))
                made[key] = []
                fill(env, made[key])
            return tuple(made[key])

        return value

    def fill(self, expr: n.Expr) -> Filler:
        match expr:
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                test, yes, no = self.closure(condition), self.fill(then), self.fill(otherwise)
                return lambda env, entries: (yes if test(env) else no)(env, entries)
            case n.Listing(element=element, binders=binders):
                walk, inner = self.walk(binders), self.closure(element)

                def select(env: Env, entries: list[int]) -> None:
                    for _ in walk(env):
                        entries.append(inner(env))

                return select
            case n.Sorted(binders=binders, keys=keys):
                return self.sort(binders, keys)
            case _:
                other = self.closure(expr)
                return lambda env, entries: entries.extend(other(env))

    def sort(self, binders: n.Binders, keys: tuple[n.Expr, ...]) -> Filler:
        walk, closures = self.walk(binders), [self.closure(key) for key in keys]
        (binder,) = binders.items
        assert isinstance(binder, (n.IndexRange, n.IndexMember))
        index = binder.index

        def fill(env: Env, entries: list[int]) -> None:
            rows = [([key(env) for key in closures], env[index]) for _ in walk(env)]
            entries.extend(entry for _, entry in sorted(rows, key=lambda row: row[0]))

        return fill

    def function(self, expr: n.Function) -> Closure:
        row = FUNCTIONS[expr.name]
        kinds = row.parameters
        arguments = [
            self.closure(argument)
            if kinds[min(at, len(kinds) - 1)].removesuffix("*") in SCALARS
            else self.sequence(argument)
            for at, argument in enumerate(expr.arguments)
        ]

        def value(env: Env) -> Any:
            try:
                return row.exact(*[argument(env) for argument in arguments])
            except OutsideBox as error:
                raise OutsideAccess(expr.span, str(error), env, expr.arguments) from None
            except (OutsideDomain, ValueError) as error:
                raise FormulaError(expr.span, str(error), env, (expr,)) from None

        return value
