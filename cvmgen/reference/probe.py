"""A bounded check of operators: many small calls, each formula must have its value in all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cvmgen.errors import OperatorError
from cvmgen.functions import unflatten
from cvmgen.reference.arguments import shown_term
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import Env, FormulaError, WorkLimit
from cvmgen.reference.operator import Reference
from cvmgen.reference.sampling import Sampler, Tape
from cvmgen.reference.soundness import unsound_rules
from cvmgen.reference.tensor import Tensor
from cvmgen.rules import shape_text
from cvmgen.source import Span, SpecError, SpecErrors
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.examples import python_value
from cvmgen.typed import typed_operands

ATTEMPTS = 300
ENOUGH = 100  # accepted calls
ENOUGH_FOR_CASES = 40
STEPS_OF_A_CALL = 3_000  # points of ranges that one call may visit
STEPS_OF_ALL = 30_000
MOST_SHOWN = 20_000  # elements of a call that may show what is wrong
STEPS_OF_ONE = 50_000  # of a call that somebody proposes
TRIES = 8
MOST_TERMS = 8
LONGEST_SHOWN = 60
LARGEST_SHOWN = 10**LONGEST_SHOWN
NO_CALL = "no arguments satisfy the requirements"


def check_operators(operators: Iterable[f.Operator]) -> None:
    """Probe all operators; raises SpecErrors with everything found."""
    found: dict[tuple[Span, str], SpecError] = {}
    for operator in operators:
        for error in probe(operator) or unsound_rules(operator):
            found.setdefault((error.span, error.message), error)
    if found:
        raise SpecErrors(found.values())


def probe(operator: f.Operator) -> list[SpecError]:
    """What is wrong with an operator, as far as its examples and small calls show it.

    The calls are the same in every run. An index that leaves its tensor, an element written
    twice or never, a division by 0 and the like is an error with the values that make it so;
    so are an example with another result, a case that no call reaches, and requirements
    that no call satisfies.
    """
    found = {error.span: error for error in Probe(operator).errors()}
    for example in operator.examples:
        for error in check_example(operator, example):
            found.setdefault(error.span, error)
    return list(found.values())


def shown_wrong(operator: f.Operator, values: Mapping[str, int]) -> SpecError | None:
    """What is wrong with calls that have these values, by the names of extents and attributes, as
    far as they have such names; the rest of the calls is drawn."""
    extents = {str(each.new) for item in operator.inputs for each in item.extents if not each.pack}
    attributes = {item.name for item in operator.attributes if not item.is_list}
    known = {name: values[name] for name in (extents | attributes) & values.keys()}
    probe = Probe(operator)
    probe.sampler.most = MOST_SHOWN
    for _ in range(TRIES):
        tape: Tape = dict(known)
        if (error := probe.failure(tape, STEPS_OF_ONE)) is not None:
            return probe.explain(tape, error, sorted(known))
    return None


class Probe:
    """The calls of one operator and what they showed."""

    def __init__(self, operator: f.Operator) -> None:
        self.operator = operator
        self.sampler = Sampler(operator)
        self.failures: dict[tuple[int, int], tuple[Tape, FormulaError]] = {}
        self.tapes: list[Tape] = []
        self.reached: set[int] = set()
        self.too_large = 0

    def errors(self) -> list[SpecError]:
        self.sample()
        if self.failures:
            return [self.explain(tape, error) for tape, error in self.failures.values()]
        if not self.tapes and not self.too_large:
            return [self.vacuous()]
        return list(self.unreached())

    def sample(self) -> None:
        left = STEPS_OF_ALL
        for _ in range(ATTEMPTS):
            if len(self.tapes) >= ENOUGH:
                return
            steps = min(STEPS_OF_A_CALL, max(left, 0))
            try:
                found = self.sampler.accepted(steps or STEPS_OF_A_CALL, compute=steps > 0)
            except FormulaError as error:
                self.failed(error)
                self.tapes.append(self.sampler.tape)
            except WorkLimit:
                self.too_large += 1
                self.reached.add(self.sampler.env.get("$case", 0))
            else:
                if found is not None:
                    self.tapes.append(found[0])
                    self.reached.add(found[1].env.get("$case", 0))
            left -= steps - max(self.sampler.steps.left, 0)

    def failed(self, error: FormulaError) -> None:
        """Keep the smallest failing call at each place."""
        place = (error.span.start, error.span.end)
        tape = dict(self.sampler.tape)
        if place not in self.failures or _call_size(tape) < _call_size(self.failures[place][0]):
            self.failures[place] = (tape, error)

    # -------------------------------------------------------- failing calls

    def explain(self, tape: Tape, error: FormulaError, names: Iterable[str] = ()) -> SpecError:
        """With the values of what the failing expression speaks of, and of these names."""
        error = self.shrink(tape, error)
        terms = FailureTerms(self.sampler, error)
        for name in names:
            terms.add(2, name, error.values.get(name))
        return SpecError(error.span, error.message, error.hint or terms.hint())

    def shrink(self, tape: Tape, error: FormulaError) -> FormulaError:
        """The failure of a smaller call at the same place, if there is one."""
        for _ in range(2):
            for name in list(tape):
                for changed in self.neighbours(tape, name):
                    found = self.failure(changed)
                    if found is None or found.span != error.span:
                        continue
                    if _call_size(changed) < _call_size(tape):
                        tape, error = changed, found
                        break
        return error

    def neighbours(self, tape: Tape, name: str) -> Iterator[Tape]:
        """The same call with less for one of its draws."""
        if name.startswith("data("):
            return
        down_to_0 = self.sampler.attribute_names | self.sampler.down_to_0
        least = 0 if name in down_to_0 else 1
        for value in smaller_values(tape.get(name), least):
            yield {**tape, name: value}

    def failure(self, tape: Tape, steps: int = STEPS_OF_A_CALL) -> FormulaError | None:
        try:
            self.sampler.follow(tape, steps, compute=True)
        except FormulaError as error:
            return error
        except (OperatorError, WorkLimit):
            pass
        return None

    # -------------------------------------------------------- requirements and cases

    def vacuous(self) -> SpecError:
        """No call was accepted: point at what refused most of them."""
        refusals = sorted(self.sampler.refusals.values(), key=lambda each: -each[1])
        if not refusals:
            return SpecError(name_span(self.operator), NO_CALL)
        item, count = refusals[0]
        total = sum(each for _, each in refusals)
        span = item.condition.span if isinstance(item, f.Require | f.Demand) else item.span
        return SpecError(span, NO_CALL, f"this refused {count} of {total} small calls")

    def unreached(self) -> Iterator[SpecError]:
        if len(self.tapes) < ENOUGH_FOR_CASES:
            return
        for number, case in enumerate(self.operator.cases):
            if number not in self.reached and not self.reach(number, case):
                hint = "remove the case, or mend its condition"
                yield SpecError(case.condition.span, "no arguments reach this case", hint)

    def reach(self, number: int, case: f.Case) -> bool:
        """Look for a call of a case among the neighbours of accepted calls."""
        names = self.sampler.depends.names(case.condition)
        for tape in self.tapes * 4:
            changed = {name: value for name, value in tape.items() if name not in names}
            try:
                result = self.sampler.follow(changed, STEPS_OF_A_CALL, compute=False)
            except (OperatorError, FormulaError, WorkLimit):
                continue
            if result.env["$case"] == number:
                return True
        return False


def _call_size(tape: Tape) -> int:
    """How large a call is: small ones explain best."""
    return sum(example_size(value) for name, value in tape.items() if not name.startswith("data("))


def example_size(value: Any) -> int:
    match value:
        case tuple():
            return sum(4 + example_size(each) for each in value)
        case int():
            return abs(value)
        case _:
            return 0


def smaller_values(value: Any, least: int) -> Iterator[Any]:
    """Values to try in place of one, the smallest first; no integer below `least`."""
    match value:
        case bool():
            if value:
                yield False
        case int():
            for less in (0, 1, 2, value // 2, value - 1):
                if abs(less) < abs(value) and less >= least:
                    yield less
        case tuple() if value:
            yield value[:1]
            yield value[1:]
            yield value[:-1]
            for at, each in enumerate(value):
                for less in smaller_values(each, least):
                    yield (*value[:at], less, *value[at + 1 :])
        case _:
            pass


def name_span(operator: f.Operator) -> Span:
    """Where an operator's name stands in its declaration."""
    found = re.match(r"operator\s+(\w+)", operator.span.text)
    if found is None:
        return operator.span
    start = operator.span.start + found.start(1)
    return Span(operator.span.source, start, start + len(operator.name))


# ------------------------------------------------------------ the values that make it so


class FailureTerms:
    """The named values that a failing expression speaks of: indices first, then the call's."""

    def __init__(self, reference: Reference, error: FormulaError) -> None:
        items = tuple(f.all_items(reference.operator.items))
        self.lets = {item.name: item for item in items if isinstance(item, f.Let)}
        self.compiler = ExpressionCompiler({**wheres(items), **reference.compiler.definitions})
        self.groups: tuple[dict[str, str], ...] = ({}, {}, {})
        self.advice = error.advice
        for expr in error.about:
            self.gather(expr, error.values, direct=True)

    def hint(self) -> str:
        """`for example when y = 0, PH = 1`, or nothing."""
        merged = {name: text for group in self.groups for name, text in group.items()}
        terms = [f"{name} = {text}" for name, text in merged.items()]
        shown = f"for example when {', '.join(terms[:MOST_TERMS])}" if terms else ""
        return "; ".join(filter(None, (shown, self.advice)))

    def gather(self, expr: n.Expr, env: Env, *, direct: bool) -> None:
        """Add the names of an expression; through a `let` only what it is made of."""
        for node in walk_outside_accesses(expr):
            match node:
                case n.Ref(name=name, role="index" | "pack") if name in env:
                    self.index(name, env[name])
                case n.Ref(name=name, role="parameter"):
                    self.parameter(name, env, direct)
                case n.Ref(name=name, role="let") if name in self.lets:
                    if direct:
                        self.add(1, name, env.get(name))
                    self.gather(self.lets[name].value, env, direct=False)
                case n.Ref(name=name) | n.IsWord(name=name):
                    self.add(2, name, env.get("$word " + name) or env.get(name))
                case n.Access():
                    self.element(node, env)
                case n.Apply(name=name, arguments=()):
                    self.value(name, node, env)
                case n.Precision(tensor=tensor, which=None) if (
                    env.get("$tensor " + tensor) is not None
                ):
                    self.add(2, f"p({tensor})", env["$tensor " + tensor].precision)
                case n.Present(name=name):
                    self.add(2, f"present({name})", env.get("$given " + name))
                case _:
                    pass

    def add(self, group: int, name: str, value: Any) -> None:
        text = shown_term(value)
        if text:
            self.groups[group].setdefault(name, text)

    def index(self, name: str, value: Any) -> None:
        if not isinstance(value, dict):
            self.add(0, name, value)
            return
        for at, entry in sorted(value.items()):
            self.add(0, f"{name}[{at}]", entry)

    def parameter(self, name: str, env: Env, direct: bool) -> None:
        """A parameter stands for what the definition was applied to."""
        call = env.get("$call")
        while call is not None:
            apply, definition, outer = call
            names = [each for each, _ in definition.parameters]
            if name in names:
                argument = apply.arguments[names.index(name)]
                self.gather(argument, {**env, "$call": outer}, direct=direct)
                return
            call = outer
        self.add(0, name, env.get(name))

    def element(self, node: n.Access, env: Env) -> None:
        """`X[0, 2] = -1`: an element that the failing expression reads."""
        try:
            index = self.compiler.index(node.slots, env)
            which = "" if node.which is None else f"[{self.compiler.value(node.which, env)}]"
        except (FormulaError, KeyError):
            return
        self.value(f"{node.tensor}{which}[{', '.join(map(str, index))}]", node, env)

    def value(self, text: str, node: n.Expr, env: Env) -> None:
        try:
            self.add(0, text, self.compiler.value(node, env))
        except (FormulaError, KeyError):
            return


def wheres(items: Iterable[f.Item]) -> dict[str, f.Definition]:
    """The `where` definitions of all equations whose names mean one thing only."""
    found: dict[str, list[f.Definition]] = {}
    for item in items:
        if isinstance(item, f.Equation):
            for each in item.where:
                found.setdefault(each.name, []).append(each)
    return {name: each[0] for name, each in found.items() if len(each) == 1}


def walk_outside_accesses(expr: n.Expr) -> Iterator[Any]:
    """The nodes of an expression without those that only say which element is read."""
    inside: set[int] = set()
    for node in n.walk(expr):
        if id(node) in inside:
            continue
        if isinstance(node, n.Access):
            inside.update(id(each) for each in n.walk((node.slots, node.which)))
        yield node


# ------------------------------------------------------------ examples


def check_example(operator: f.Operator, example: f.Example) -> Iterator[SpecError]:
    """Compute an example; precisions are measured from its elements."""
    reference = Reference(operator)
    try:
        inputs, attributes = example_arguments(operator, example)
        result = reference.evaluate(inputs, attributes)
    except OperatorError as error:
        rule = str(error).removeprefix(f"{operator.full_name}: ")
        yield SpecError(example.span, f"the operator refuses this example: {rule}")
    except FormulaError as error:
        shown = f"the example in line {example.span.line} shows it"
        hint = error.hint or FailureTerms(reference, error).hint() or shown
        yield SpecError(error.span, error.message, hint)
    else:
        output = result.outputs[operator.output_names[0]]
        stated = Tensor.of(python_value(example.result), dtype=output.dtype)
        if stated.shape != output.shape or not all(map(same_result, stated.values, output.values)):
            yield SpecError(example.result.span, example_difference(output, stated))


def example_arguments(
    operator: f.Operator, example: f.Example
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The tensors and the attributes of an example."""
    given = {name: python_value(value) for name, value in example.given}
    operands = {name: given[name] for name in operator.type_of if given.get(name) is not None}
    words = {}
    for each in operator.deciding:
        default = None if each.default is None else python_value(each.default)
        words[each.name] = operands.pop(each.name, default)
    types = example_types(operator, operands, words)
    inputs: dict[str, Any] = {}
    for item in operator.inputs:
        value = given.pop(item.name, None)
        if value is not None:
            dtype = types.get(item.name, "int32")
            inputs[item.name] = (
                [Tensor.of(each, dtype=dtype) for each in value]
                if item.variadic
                else Tensor.of(value, dtype=dtype)
            )
    return inputs, given


def example_types(
    operator: f.Operator, operands: Mapping[str, Any], words: Mapping[str, Any]
) -> dict[str, str]:
    """The first types that hold the numbers of an example's operands, which have none, beside those
    that its attributes decide."""
    rows = [{name: dtype.name for name, dtype in row.items()} for row in operator.choices]
    given = {name: value for name, value in operands.items() if name in rows[0]}
    several = [item.name for item in operator.inputs if item.variadic and item.name in given]
    row, _ = typed_operands(operator.full_name, rows, given, several, words)
    return dict(row)


def same_result(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def example_difference(computed: Tensor, stated: Tensor) -> str:
    """How the result of an example differs from what it says."""
    if all(isinstance(v, float) or abs(v) < LARGEST_SHOWN for v in computed.values):
        text, said = str(computed.nested()), str(stated.nested())
        if len(text) + len(said) <= LONGEST_SHOWN:
            return f"the example gives {text}, not {said}"
    if computed.shape != stated.shape:
        shapes = shape_text(computed.shape), shape_text(stated.shape)
        return f"the example gives a result of shape {shapes[0]}, not {shapes[1]}"
    pairs = zip(computed.values, stated.values, strict=True)
    at = next(at for at, pair in enumerate(pairs) if not same_result(*pair))
    index = shape_text(unflatten(at, computed.shape))
    given, said = shown_term(computed.values[at]), shown_term(stated.values[at])
    return f"the example gives {given} at {index}, not {said}"
