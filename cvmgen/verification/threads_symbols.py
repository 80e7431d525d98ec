"""Symbols that know who has them: the whole grid, one block, or one thread.

A kernel is read once, for one thread. What another thread has of a symbol follows from its place:
the same where both have it in common, else a symbol of its own of which the same holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from cvmgen.verification import terms as t
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Term, names_of

GRID, BLOCK, THREAD = 0, 1, 2
Home = tuple[int, ...]  # the loops around a place, outermost first
OTHER = "~"  # behind the names of the other thread's symbols


@dataclass(frozen=True)
class SymbolScope:
    """The largest group of threads that has a symbol in common, and the loops in which it is made:
    in another iteration there is another one."""

    level: int
    home: Home = ()


@dataclass
class PlacedSymbols(Symbols):
    """Symbols with their places. A function of others (`once`) stands where these do; any other
    symbol is the thread's own, unless `level` says otherwise when it is made."""

    level: int = GRID
    home: Home = ()
    roots: dict[str, SymbolScope] = field(default_factory=dict)
    operands: dict[str, frozenset[str]] = field(default_factory=dict)
    keys: dict[str, Hashable] = field(default_factory=dict)
    making: list[Hashable] = field(default_factory=list)

    def note(self, name: str) -> None:
        if self.making:
            self.keys[name] = key = self.making[-1]
            self.operands[name] = self.names_in_key(key) - {name}
        else:
            self.roots[name] = SymbolScope(self.level, self.home)

    def fresh(self, name: str, meaning: str = "", vague: str = "") -> Term:
        made = super().fresh(name, meaning, vague)
        for each in made.names:
            self.note(each)
        return made

    def fresh_truth(self, name: str, vague: str = "") -> t.TruthSymbol:
        made = super().fresh_truth(name, vague)
        self.note(made.name)
        return made

    def at(self, level: int, make: Callable[[], Term]) -> Term:
        """What is made for a group of threads."""
        before, self.level = self.level, level
        made = make()
        self.level = before
        return made

    def once(self, key: Hashable, make: Callable[[], Term]) -> Term:
        if key not in self.made:
            self.making.append(key)
            self.made[key] = make()
            self.making.pop()
        return self.made[key]

    def names_in_key(self, key: Hashable) -> frozenset[str]:
        """The symbols of which something is a function; the names of lists are texts that may have
        symbols in them."""
        parts = key if isinstance(key, tuple) else (key,)
        found = set[str]()
        for each in parts[1:]:
            match each:
                case Term():
                    found |= each.names
                case str() if parts[0] == "list":
                    found |= {
                        word for word in re.findall(r"[\w'.()]+", each) if word in self.axioms
                    }
                case t.Holds() | t.TruthSymbol() | t.Every() | t.Some() | t.Negation():
                    found |= names_of(each)
                case _:
                    pass
        return frozenset(found)

    def place(self, name: str) -> SymbolScope:
        """Who has a symbol in common."""
        if (found := self.roots.get(name)) is None:
            places = [self.place(each) for each in self.operands.get(name, ())]
            level = max((each.level for each in places), default=GRID)
            home = max((each.home for each in places), key=len, default=())
            found = self.roots[name] = SymbolScope(level, home)
        return found

    def level_of(self, names: Iterable[str]) -> int:
        return max((self.place(each).level for each in names), default=GRID)

    def is_function(self, name: str) -> bool:
        """Whether all that is known of a symbol is what it depends on."""
        key = self.keys.get(name)
        return isinstance(key, tuple) and key[0] in ("element", "combined")

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """Symbols with those that their axioms speak of, and those that they are functions of."""
        left, found = list(names), set[str]()
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                if self.is_function(name):
                    left += self.operands[name] - found
                for axiom in self.axioms.get(name, ()):
                    left += names_of(axiom) - found
        return frozenset(found)


def other(name: str) -> str:
    """The other thread's symbol."""
    return name + OTHER
