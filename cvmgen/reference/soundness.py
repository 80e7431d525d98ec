"""Declared precision rules against the exact bounds of the formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from cvmgen.dtypes import CVM
from cvmgen.errors import OperatorError
from cvmgen.reference.arguments import shown_term
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.sampling import Sampler, Tape
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.precisions import needed_precision

PRECISIONS = (1, 2, 3, 7, 8, 9, 15, 16, 24, 31, 32)
SHAPES = 16  # calls of different shapes and attributes
COMBINATIONS = 48  # of precisions, for each of them
STEPS = 20_000


def unsound_rules(operator: f.Operator) -> list[SpecError]:
    """The outputs whose rule can give less than their values need, with values that show it.

    Every operator is tried on small calls with many precisions. `although` in the operator
    accepts a rule below the bound.
    """
    if operator.although:
        return []
    bounds = declared_bounds(operator)
    sampler = Sampler(operator)
    found: dict[str, SpecError] = {}
    for tape in tapes(sampler):
        for changed in with_other_precisions(sampler, tape):
            for case, output, bound in bounds:
                error = compare_bound(sampler, changed, case, output, bound)
                if error is not None:
                    found.setdefault(str(output.span), error)
    return list(found.values())


def declared_bounds(operator: f.Operator) -> list[tuple[int | None, f.Output, n.Expr]]:
    """Each output with its case (None: in all) and the precision that its values need."""
    blocks: list[tuple[int | None, tuple[f.Item, ...]]] = [(None, operator.items)]
    blocks += [(number, case.items) for number, case in enumerate(operator.cases)]
    found = []
    for number, block in blocks:
        for item in block:
            if isinstance(item, f.Output) and item.dtype == CVM:
                try:
                    bound = needed_precision(operator, item, (*operator.items, *block))
                except SpecError:  # no bound can be derived: the declared rule stands alone
                    continue
                found.append((number, item, bound))
    return found


def tapes(sampler: Sampler) -> Iterator[Tape]:
    for _ in range(SHAPES):
        try:
            found = sampler.accepted(STEPS, compute=False)
        except (FormulaError, WorkLimit):
            continue
        if found is not None:
            yield found[0]


def with_other_precisions(sampler: Sampler, tape: Tape) -> Iterator[Tape]:
    """The same call with other precisions: all combinations, or some where there are many."""
    names = sorted(name for name in tape if name.startswith("p("))
    combinations: Iterable[Sequence[int]] = product(PRECISIONS, repeat=len(names))
    if len(PRECISIONS) ** len(names) > COMBINATIONS:
        choices = sampler.random.choices
        combinations = [choices(PRECISIONS, k=len(names)) for _ in range(COMBINATIONS)]
    for values in combinations:
        yield {**tape, **dict(zip(names, values, strict=True))}


def compare_bound(
    sampler: Sampler, tape: Tape, case: int | None, output: f.Output, bound: n.Expr
) -> SpecError | None:
    try:
        result = sampler.follow(tape, STEPS, compute=False)
        if case is not None and result.env.get("$case") != case:
            return None
        exact = sampler.compiler.value(bound, result.env)
    except (OperatorError, FormulaError, WorkLimit, KeyError):
        return None
    given = result.outputs.get(output.name)
    if given is None or given.precision >= exact:
        return None
    assert output.precision is not None
    names = _spoken_of(sampler.operator, (bound, output.precision))
    told = (each for each in sorted(tape) if re.sub(r"\[\d+\]", "", each) in names)
    terms = {name: shown_term(tape[name]) for name in told}
    shown = ", ".join(f"{name} = {text}" for name, text in terms.items() if text)
    message = f"the precision rule gives {given.precision}, but values can need {exact}"
    hint = f"for example when {shown}; leave the rule out to have it derived"
    return SpecError(output.precision.span, message, hint)


def _spoken_of(operator: f.Operator, about: object) -> set[str]:
    """The names of a call that expressions speak of, also by way of what a `let` names."""
    lets = {each.name: each for each in f.all_items(operator.items) if isinstance(each, f.Let)}
    found: set[str] = set()
    for node in n.walk(about):
        match node:
            case n.Ref(name=name, role="let") if name in lets:
                found |= _spoken_of(operator, lets[name].value)
            case n.Ref(name=name):
                found.add(name)
            case n.Precision(tensor=tensor):
                found.add(f"p({tensor})")
            case _:
                pass
    return found
