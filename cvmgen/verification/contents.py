"""What a kernel's own arrays hold: an element that is read is one that was stored.

For each place that stores to the array there is a copy of what holds there, with symbols of its own
for all that was not there yet when the array came to be: indices of loops since then, and what is
computed from them. The element is the value of one of these places. That it was stored before it is
read is an assumption here, which `ir/kernel_fault.py` looks at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from cvmgen.verification import terms as t
from cvmgen.verification.kernels import Stored
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula


def know_contents(
    symbols: Symbols,
    loads: Mapping[str, str],
    stores: Mapping[str, Sequence[Stored]],
    older: Mapping[str, Set[str]],
    asked: Set[str],
) -> None:
    """Axioms of the elements that are read, each by its symbol and its array, of which symbols are
    `older`; of those alone that symbols which are `asked` about are made of. What is stored is
    computed from symbols that are made here, so that an element comes behind these in the order of
    symbols, unless others are made of it."""
    known, wanted = set[str](), made_of(symbols, asked, loads, stores)
    for name, array in loads.items():
        # What a helper fills may hold anything.
        if name in wanted and array in older and array in stores:
            found = (one_stored(symbols, each, older[array], name) for each in stores[array])
            symbols.know(t.symbol(name), t.some(*found))
            symbols.vague.pop(name, None)
            known.add(name)
    for name, facts in symbols.axioms.items() if known else ():
        known -= frozenset().union(*map(t.names_of, facts)) - {name}
    symbols.late.update(known)


def made_of(
    symbols: Symbols,
    asked: Set[str],
    loads: Mapping[str, str],
    stores: Mapping[str, Sequence[Stored]],
) -> Set[str]:
    """Symbols, all that they are made of, and all that is stored where they are read."""
    found, left, arrays = set[str](), set(asked), set[str]()
    while left:
        found.add(name := left.pop())
        facts = list(symbols.axioms.get(name, ()))
        array = loads.get(name, "")
        for each in () if array in arrays else stores.get(array, ()):
            facts += each.path
            left |= each.value.names - found
        arrays.add(array)
        left |= frozenset().union(*map(t.names_of, facts)) - found
    return found


def one_stored(symbols: Symbols, stored: Stored, older: Set[str], element: str) -> Formula:
    """The element is the value that one place stores."""
    spoken_of = stored.value.names.union(*map(t.names_of, stored.path))
    names = copies(symbols, spoken_of, older)
    path = (each for each in stored.path if not t.names_of(each).isdisjoint(names))
    value = t.renamed_term(stored.value, names)
    return t.every(*(t.renamed(each, names) for each in path), t.equal(t.symbol(element), value))


def copies(symbols: Symbols, wanted: Set[str], older: Set[str]) -> Mapping[str, str]:
    """New symbols for those that are not older, and for what these are made of, each with the same
    axioms."""
    left = set(wanted - older)
    names: dict[str, str] = {}
    while left:
        left.remove(name := min(left))
        names[name] = symbols.named(name)
        below = frozenset().union(*map(t.names_of, symbols.axioms.get(name, ())))
        left |= below - older - names.keys()
    for name, copy in names.items():
        symbols.axioms[copy] = tuple(t.renamed(e, names) for e in symbols.axioms.get(name, ()))
        if name in symbols.vague:
            symbols.vague[copy] = symbols.vague[name]
        if name in symbols.meanings:
            symbols.meanings[copy] = symbols.meanings[name]
    return names
