"""Two versions of all operators, compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cvmgen.build.helpers import helped
from cvmgen.compare import findings, kernels
from cvmgen.compare.all_sizes import Proved, proved
from cvmgen.compare.calls import Both, CallDrawing, Witness, differences, size_of
from cvmgen.compare.findings import OperatorDiff
from cvmgen.compare.kernels import run_both
from cvmgen.compare.names import InterfaceChange, Matched, matched
from cvmgen.compare.on_shapes import OnShapes, compared_on
from cvmgen.compare.smallest import smallest
from cvmgen.compare.texts import Make, changed_classes, changed_texts, files_of
from cvmgen.reference.probe import check_example
from cvmgen.reference.sampling import Tape
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import ChosenCall

CALLS = 240  # that are drawn for two formulas which are not proved to be the same
FEW_CALLS = 40  # behind which nothing is looked for that was found, or that is proved not to be
SHAPES = 10  # calls that are looked at for all values
MOST_ON_TERMS = 80  # elements of such a call and of its results


@dataclass(frozen=True, slots=True)
class Version:
    """All operators of one side by their full names, and the schedules that go with them."""

    operators: Mapping[str, Operator]
    schedules: Schedules


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What to look at: the targets whose text is compared, how it is made, and whether the call
    that shows other values is made of kernels."""

    targets: Sequence[str]
    make: Make = files_of
    run: bool = True


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """Both versions of an operator, of which one may be missing, and the schedules of each."""

    old: Operator | None
    new: Operator | None
    before: Schedules
    after: Schedules
    request: CompareRequest

    @property
    def name(self) -> str:
        operator = self.new or self.old
        assert operator is not None
        return operator.full_name

    def compared(self) -> OperatorDiff:
        mine, yours = self.old, self.new
        if mine is None or yours is None:
            found = OperatorDiff(self.name, mine, yours)
        else:
            found = diff_of(mine, yours)
            found.causes = causes(mine, yours)
            if mine.full_name != yours.full_name:
                found.renamed_from = mine.full_name
            if self.request.run:
                run_kernels(found, self.before, self.after)
        add_texts(found, self.before, self.after, self.request)
        return found


def compared(
    old: Version,
    new: Version,
    request: CompareRequest,
    told: Callable[[str, int, int], None] = lambda *_: None,
) -> list[OperatorDiff]:
    """What became of each operator that is not written as it was, what matters most first. Several
    processes look at many."""
    pairs = [
        OperatorPair(mine, yours, old.schedules, new.schedules, request)
        for mine, yours in _pairs(old, new)
    ]
    found = []
    for number, (pair, made) in enumerate(
        zip(pairs, helped(OperatorPair.compared, pairs), strict=True), 1
    ):
        told(f"comparing {pair.name}", number, len(pairs))
        each = pair.compared() if made is None else made
        if pair.old != pair.new or each.texts:
            found.append(each)
    return sorted(found, key=lambda each: (findings.CLASSES.index(each.classes[0]), each.name))


def _pairs(old: Version, new: Version) -> Iterator[tuple[Operator | None, Operator | None]]:
    """The operators of one name, and those that are equal but for it. What is written alike is
    left out where the schedules are the same."""
    gone = [each for name, each in old.operators.items() if name not in new.operators]
    alike = all(
        old.schedules.meaning_for(each) == new.schedules.meaning_for(each) for each in ("c", "cuda")
    )
    for name, yours in new.operators.items():
        mine = old.operators.get(name)
        if mine is None:
            mine = next((each for each in gone if renamed_alike(each, yours)), None)
            gone = [each for each in gone if each is not mine]
        if mine is None or mine != yours or not alike:
            yield mine, yours
    for mine in gone:
        yield mine, None


def renamed_alike(old: Operator, new: Operator) -> bool:
    """Whether operators are the same but for their names."""
    return old.opset == new.opset and old.items == new.items and old.types == new.types


def causes(old: Operator, new: Operator) -> list[str]:
    """The blocks of a formula that say something else now: its own, and those of definitions."""
    before = {title: span.code for title, span in old.blocks}
    after = {title: span.code for title, span in new.blocks}
    return [each for each in {**before, **after} if before.get(each) != after.get(each)]


# ---------------------------------------------------------------- one operator


def diff_of(old: Operator, new: Operator) -> OperatorDiff:
    """Compare two formulas that are not written alike."""
    found = _compared(matched(old, new))
    if found.matched.guessed and {"values", "shape"} & found.witnesses.keys():
        # taken for renamed, an attribute means something else: it is another one
        found = _compared(matched(old, new, guess=False))
    each = found.diff(old, new)
    each.changes = (*each.changes, *broken_examples(new))
    return each


def broken_examples(operator: Operator) -> Iterator[InterfaceChange]:
    for example in operator.examples:
        for error in check_example(operator, example):
            yield InterfaceChange("example", f"line {error.span.line}: {error.message}")


@dataclass(slots=True)
class _Comparison:
    matched: Matched
    proved: Proved
    witnesses: dict[str, Witness]
    on_shapes: OnShapes
    tried: int

    def diff(self, old: Operator, new: Operator) -> OperatorDiff:
        return OperatorDiff(
            new.full_name,
            old,
            new,
            self.matched.changes,
            self.witnesses,
            self.proved,
            tuple(self.on_shapes.same),
            tuple(self.on_shapes.open),
            self.tried,
        )


def _compared(names: Matched) -> _Comparison:
    old, new = names.old, names.new
    alike = (old.items, old.types) == (new.items, new.types)
    known = Proved.everything() if alike else proved(old, new)
    if known.whole:
        return _Comparison(names, known, {}, OnShapes(), 0)
    both = Both(old, new)
    seen: dict[str, tuple[Witness, CallDrawing, Tape]] = {}
    cases: dict[str, ChosenCall] = {}
    possible = known.open_kinds
    for drawer, tape, call in both.drawn(CALLS):
        if both.asked >= FEW_CALLS and possible <= seen.keys():
            break
        outcomes = both.outcomes(call)
        if outcomes is None:
            continue
        for witness in differences(call, *outcomes):
            kind = witness.kind
            if kind not in seen or size_of(call) < size_of(seen[kind][0].call):
                seen[kind] = witness, drawer, dict(tape)
        accepted = not any(each.refusal for each in outcomes)
        if accepted and size_of(call, outcomes) <= MOST_ON_TERMS:
            cases.setdefault(call.text(), call)
    tried = both.asked
    on_shapes = OnShapes()
    found = {
        kind: smallest(both, drawer, tape, witness)
        for kind, (witness, drawer, tape) in seen.items()
    }
    if not (known.values or {"values", "shape"} & found.keys()):
        on_shapes = compared_on(both, _chosen(cases.values()))
        if on_shapes.witness is not None:
            kind = on_shapes.witness.kind
            found.setdefault(kind, smallest(both, None, {}, on_shapes.witness))
    return _Comparison(names, known, found, on_shapes, tried)


def _chosen(cases: Iterable[ChosenCall]) -> list[ChosenCall]:
    """The calls to look at for all values: small ones, and others among the rest."""
    by_size = sorted(cases, key=size_of)
    few = by_size[: SHAPES // 2]
    rest = by_size[len(few) :]
    step = max(1, len(rest) // (SHAPES - len(few) or 1))
    return [*few, *rest[::step][: SHAPES - len(few)]]


def run_kernels(each: OperatorDiff, old: Schedules, new: Schedules) -> None:
    """Make the call that shows other values of the kernels of both."""
    shown = each.witnesses.get("values") or each.witnesses.get("shape")
    if shown is None or each.old is None or each.new is None:
        return
    names = matched(each.old, each.new)
    each.runs = run_both(
        kernels.usual_target(),
        (each.old, shown.call, old, shown.old),
        (each.new, names.for_new(shown.call), new, replace(shown.new, outputs={
            names.names.get(name, name): tensor for name, tensor in shown.new.outputs.items()
        })),
    )  # fmt: skip


def add_texts(each: OperatorDiff, old: Schedules, new: Schedules, request: CompareRequest) -> None:
    mine = None if each.old is None else (each.old, old)
    yours = None if each.new is None else (each.new, new)
    each.texts = tuple(changed_texts(mine, yours, request.targets, request.make))
    if mine is not None and yours is not None and each.texts:
        each.schedules = tuple(changed_classes(mine, yours, request.targets))
