"""What an edit means: classes of changes, how sure they are, and the version they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cvmgen.compare.all_sizes import Proved
from cvmgen.compare.calls import Witness
from cvmgen.compare.kernels import KernelRuns
from cvmgen.compare.names import InterfaceChange
from cvmgen.compare.texts import ChangedText
from cvmgen.spec.formula import Operator
from cvmgen.spec.words import plural

SAME, OPEN, NEW, REMOVED, RENAMED = "same", "not decided", "new", "removed", "renamed"
VALUES, LESS, MORE = "values differ", "accepts less", "accepts more"
PRECISION, INTERFACE = "precision changed", "interface changed"
CLASSES = (VALUES, LESS, REMOVED, PRECISION, INTERFACE, OPEN, MORE, RENAMED, NEW, SAME)
"""What can be said of an operator, what matters most first; several may hold at once."""

OF_KIND = {
    "values": VALUES,
    "shape": VALUES,
    "more": MORE,
    "less": LESS,
    "precision": PRECISION,
    "type": INTERFACE,
}
MAJOR, MINOR, PATCH, NONE = "major", "minor", "patch", "none"
LEVELS = (MAJOR, MINOR, PATCH, NONE)


@dataclass(slots=True)
class OperatorDiff:
    """What became of one operator.

    proved: what is proved for all sizes
    same_on: the calls on which results are the same for all values of the inputs
    open_on: calls of which that is not known
    tried: how many calls were made of both
    causes: the parts of the formula whose text changed, as `def clip`
    """

    name: str
    old: Operator | None
    new: Operator | None
    changes: Sequence[InterfaceChange] = ()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    proved: Proved = field(default_factory=Proved)
    same_on: Sequence[str] = ()
    open_on: Sequence[str] = ()
    tried: int = 0
    causes: Sequence[str] = ()
    runs: KernelRuns | None = None
    texts: Sequence[ChangedText] = ()
    schedules: Sequence[str] = ()  # nests that fall into another class
    renamed_from: str = ""

    @property
    def interface(self) -> list[InterfaceChange]:
        """The changes that callers see, without those of wording and of other names for it."""
        return [each for each in self.changes if each.what not in ("wording", "alias", "example")]

    @property
    def undecided(self) -> list[str]:
        """What is neither proved to be the same nor known to differ."""
        if self.old is None or self.new is None:
            return []
        known = {OF_KIND[kind] for kind in self.witnesses}
        found = []
        if not (self.proved.accepts or known & {MORE, LESS} or self.one_sided):
            found.append("which calls are accepted")
        if not (self.proved.precisions or PRECISION in known):
            found.append("precisions")
        validated = bool(self.same_on) and not self.open_on
        values = self.proved.values or (validated and self.proved.shapes) or VALUES in known
        if not values:
            found.append("values")
        return found

    @property
    def one_sided(self) -> bool:
        """Whether one of both has inputs or attributes that the other has not."""
        return any(each.adds or "no more" in each.text for each in self.interface)

    @property
    def classes(self) -> list[str]:
        """All that is known of it, what matters most first."""
        if self.old is None:
            return [NEW]
        if self.new is None:
            return [REMOVED]
        found = {OF_KIND[kind] for kind in self.witnesses}
        found |= {INTERFACE} if self.interface else set()
        found |= {RENAMED} if self.renamed_from else set()
        if self.undecided and not found & {VALUES, LESS, MORE, PRECISION}:
            found.add(OPEN)
        return [each for each in CLASSES if each in found or (each == SAME and not found)]

    @property
    def is_same(self) -> bool:
        return self.classes == [SAME]

    @property
    def certainty(self) -> str:
        """How sure it is that nothing differs, in words."""
        if self.old == self.new:
            return "written as it was"
        if self.proved.whole:
            return "proved for all sizes"
        return f"on all values of {plural(len(self.same_on), 'call')} of known sizes"

    @property
    def level(self) -> tuple[str, str]:
        """What the version number must show, and why."""
        classes = self.classes
        breaking = {VALUES, LESS, REMOVED, PRECISION, RENAMED} & {*classes}
        for each in CLASSES:
            if each in breaking:
                return MAJOR, f"{self.name}: {each}"
        for change in self.changes:
            if change.breaks:
                return MAJOR, f"{self.name}: {change.text}"
        if OPEN in classes:
            return MAJOR, f"{self.name}: it is not decided whether it is the same"
        if {MORE, NEW} & {*classes}:
            return MINOR, f"{self.name}: {classes[0]}"
        for change in self.changes:
            if change.adds or change.what not in ("wording", "example"):
                return MINOR, f"{self.name}: {change.text}"
        if self.changes or self.texts or self.causes:
            return PATCH, f"{self.name}: the same, in other words"
        return NONE, ""


def version(found: Iterable[OperatorDiff], texts: bool) -> tuple[str, list[str]]:
    """The part of a version number that all changes together ask for, and the reasons."""
    levels = [each.level for each in found]
    for level in LEVELS[:-1]:
        why = [reason for each, reason in levels if each == level]
        if why:
            return level, why
    return (PATCH, ["only generated text changed"]) if texts else (NONE, [])
