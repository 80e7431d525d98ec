"""What a refusal shows of a call: the named values that an expression speaks of."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import BOOL, INT, LIST, LISTS, REAL, REAL_LIST, SET, WORD, Kind

ROLES = ("extent", "attribute", "let", "count")
SHOWN = (INT, BOOL, WORD, LIST)
SCALARS = {"int": INT, "real": REAL, "bool": BOOL, "word": WORD}


class TermFinder:
    """Finds the terms of expressions of one operator."""

    def __init__(self, operator: f.Operator) -> None:
        items = tuple(f.all_items(operator.items))
        self.lets = {each.name: each for each in items if isinstance(each, f.Let)}
        self.lists_behind: dict[str, tuple[n.Ref, ...]] = {}
        self.kinds: dict[str, Kind] = {name: let.kind for name, let in self.lets.items()}
        for attribute in operator.attributes:
            kind = SCALARS[attribute.kind]
            listed = REAL_LIST if kind == REAL else LIST
            self.kinds[attribute.name] = listed if attribute.is_listed else kind
            self.kinds |= dict.fromkeys(attribute.components, kind)
        for item in operator.inputs:
            for extent in item.extents:
                if extent.new and extent.pack:
                    self.kinds[extent.new] = LISTS if item.variadic else LIST

    def kind(self, name: str) -> Kind:
        return self.kinds.get(name, INT)

    def of(self, about: object) -> tuple[n.Ref | n.Precision, ...]:
        """The names and precisions that an expression speaks of, each once, in its order."""
        return tuple(dict.fromkeys(self.found(about)))

    def found(self, about: object) -> Iterator[n.Ref | n.Precision]:
        for node in n.walk(about):
            match node:
                case n.Ref(name=name, role="let") if self.kind(name) == SET:
                    yield from self.behind(name)
                case n.Ref(name=name, role=role) if role in ROLES and self.shown(name, role):
                    yield node
                case n.IsWord(name=name, span=span):
                    yield n.Ref(name, "attribute", span)
                case n.Precision(which=None):
                    yield node
                case _:
                    pass

    def behind(self, name: str) -> tuple[n.Ref, ...]:
        """The lists that a set is made from, each once: a caller knows them and not the set."""
        if name not in self.lists_behind:
            found = self.found(self.lets[name].value)
            lists = (
                each for each in found if isinstance(each, n.Ref) and self.kind(each.name) == LIST
            )
            self.lists_behind[name] = tuple(dict.fromkeys(lists))
        return self.lists_behind[name]

    def shown(self, name: str, role: str) -> bool:
        kind = self.kind(name)
        return kind in SHOWN or (kind == LISTS and role == "extent")
