"""A bug that is put into CUDA text, and the step that must catch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STEPS = ("compile", "forward", "reverse", "random", "sanitizers", "races", "machine code")


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file`, or there in the function `within`, and becomes `new`.
    `step` must catch what the calls of `operator` then do."""

    name: str
    operator: str
    step: str
    file: str
    old: str
    new: str
    within: str = ""

    def applied(self, sources: Mapping[str, str]) -> dict[str, str]:
        """The sources with the bug; ValueError where its place is gone."""
        text = sources[self.file]
        begin, end = scope(text, self.within)
        if text.count(self.old, begin, end) != 1:
            found = text.count(self.old, begin, end)
            raise ValueError(f"{self.name}: {self.file} has {self.old!r} {found} times")
        changed = text[begin:end].replace(self.old, self.new)
        return {**sources, self.file: text[:begin] + changed + text[end:]}


def scope(text: str, function: str) -> tuple[int, int]:
    """Where a function begins and ends: all of the text for no function."""
    if not function:
        return 0, len(text)
    begin = text.find(f"{function}(")
    if begin < 0:
        raise ValueError(f"there is no function {function}")
    return begin, text.index("\n}", begin)
