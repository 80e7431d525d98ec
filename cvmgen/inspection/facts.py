"""What is known of the parts of a formula: ranges of values, precisions, what is proved."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

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
