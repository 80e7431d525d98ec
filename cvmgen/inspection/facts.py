"""What is known of the parts of a formula: ranges of values, machine types, what is proved."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

from cvmgen import driver
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.reference.soundness import declared_bounds
from cvmgen.source import Span, SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.bounds import DECLARE, UNKNOWN, Derive
from cvmgen.spec.intervals import Interval
from cvmgen.spec.printing import Printer
from cvmgen.spec.words import plural
from cvmgen.verification.ledger import Entries, Finding

LONGEST = 100  # characters of an end of a range
MOST_PARTS = 60  # of an end, before numbers stand for it

WHY = {
    "u32": "the result keeps the low 32 bits, which this sum modulo 2^32 has too",
    "u64": "a sum of int32 terms, exact below 2^31 of them",
    "i32": "the narrowest type that holds every value",
    "i64": "the narrowest type that holds every value",
    "i128": "what 64 bits may not hold",
    "f64": "real numbers are binary64, each operation rounded by itself",
    "bool": "a condition",
}
"""Of the machine type of a local, by what it was chosen."""


class RangesBySpan(Derive):
    """The intervals of a formula's expressions, kept by where each stands."""

    def __init__(self, operator: f.Operator, span: Span) -> None:
        super().__init__(operator, span)
        self.found: dict[Span, Interval] = {}

    def interval(self, expr: n.Expr) -> Interval:
        found = self.shortened(super().interval(expr), expr)
        if not isinstance(expr, (n.Number, n.Ref)):
            self.found[expr.span] = found
        return found

    def shortened(self, found: Interval, expr: n.Expr) -> Interval:
        """An interval with numbers for ends that nobody would read: of what a formula names several
        times, one into the other, they double each time."""
        if not any(map(is_long, (found.low, found.high))):
            return found
        low, high = (self.host.number(each) for each in (found.low, found.high))
        if low.far or high.far:
            raise SpecError(expr.span, UNKNOWN, DECLARE)
        return Interval(self.number(low.low), self.number(high.high), found.symmetric)


def is_long(expr: n.Expr) -> bool:
    return next(islice(n.walk(expr), MOST_PARTS, None), None) is not None


def ranges(operator: f.Operator) -> Iterator[tuple[Span, str]]:
    """The ranges of expressions in every call, as far as they can be derived."""
    printer = Printer(operator.items)
    for item in f.all_items(operator.items):
        if isinstance(item, f.Equation):
            derive = RangesBySpan(operator, item.span)
            with suppress(SpecError):  # real numbers, say, have no range: what came before has
                derive.equation(item)
            for span, found in derive.found.items():
                low, high = printer.text(found.low), printer.text(found.high)
                if max(len(low), len(high)) <= LONGEST and low != high:
                    yield span, f"from {low} to {high}"


def machine_types(operator: f.Operator) -> Iterator[tuple[Span, str]]:
    """The types of locals in kernels for C, of the widest elements, and why they hold."""
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    for nest in kernels.shown().nests:
        for each in nodes_in(nest.body, i.Let):
            if each.type in WHY:
                yield each.span, f"{each.name}: {each.type}, {WHY[each.type]}"


def precision_rules(operator: f.Operator) -> Iterator[str]:
    """Of each output the precision that its declaration gives, beside what its values need."""
    printer = Printer(operator.items)
    for _, output, needed in declared_bounds(operator):
        rule = operator.rule(output)
        yield f"{output.name}: precision {rule}; its values need {printer.text(needed)}"


def proof_states(entries: Entries, operator: str, same: Collection[str]) -> Iterator[str]:
    """What a ledger says of an operator, by target; nothing of targets whose text is not the `same`
    as the one that it speaks of."""
    for target, entry in entries.get(operator, {}).items():
        if target in same:
            told = (f"{name} {state(each)}" for name, each in entry.findings.items())
            yield f"{target}: {', '.join(told)}"


def state(finding: Finding) -> str:
    if finding.open:
        return f"{finding.status} ({finding.open} of {finding.open + finding.closed})"
    calls = len(finding.calls)
    return f"{finding.status} on {plural(calls, 'call')}" if calls else finding.status
