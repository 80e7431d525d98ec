"""Where the slots of a shape begin when known lists stand among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cvmgen.spec.formula import Extent


class Places:
    """Texts of places: counted from the front up to the slot that takes what is left, and from
    the `rank` after it. `lengths` are the texts of the lengths of the known lists; with
    `negative`, a number counts back from the end by itself, and nothing is the end."""

    def __init__(
        self,
        extents: Sequence[Extent],
        lengths: Mapping[int, str],
        rank: str,
        *,
        negative: bool = False,
    ) -> None:
        self.negative = negative
        self.extents = extents
        self.lengths = lengths
        self.rank = rank
        opens = [at for at, each in enumerate(extents) if each.pack and each.new is not None]
        self.open = opens[0] if opens else None

    @property
    def least(self) -> str:
        """The dimensions of all slots but the open one."""
        return self.count(at for at in range(len(self.extents)) if at != self.open)

    def start(self, at: int) -> str:
        if self.open is None or at <= self.open:
            return self.count(range(at))
        after = self.count(range(at, len(self.extents)))
        if self.negative and after.isdigit():
            return "" if after == "0" else f"-{after}"
        if after == "0":
            return self.rank
        return f"{self.rank} - ({after})" if "+" in after else f"{self.rank} - {after}"

    def count(self, slots: Iterable[int]) -> str:
        chosen = tuple(slots)
        single = sum(at not in self.lengths for at in chosen)
        lengths = [self.lengths[at] for at in chosen if at in self.lengths]
        return " + ".join([*lengths, str(single)] if single or not lengths else lengths)
