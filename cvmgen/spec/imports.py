"""Imports: constants, definitions and families of one opset in another.

`import clip from common` and `import rescale from tosa` name a folder: what stands in files of the
spec folder itself is `common`, an opset has the name of its own. The folder at hand is asked first,
then the one that comes with cvmgen. What an imported declaration uses comes with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain

from cvmgen.paths import spec_folder
from cvmgen.source import Source, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.parse import parse_all
from cvmgen.spec.words import alternatives

COMMON = "common"
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"^[ \t]*#.*", re.M)  # on a line of its own: elsewhere '#' may be in quotes

Place = Callable[[], Sequence[d.Declaration]]
"""Where declarations are looked for: read when it comes to that."""


def imports_of(source: Source) -> set[str]:
    """The opsets that a file imports from."""
    found = parse_all(source).declarations
    return {each.place.text for each in found if isinstance(each, d.Import)}


def in_reach(files: Sequence[SpecFile]) -> Iterator[tuple[str, Sequence[SpecFile]]]:
    """Each opset with all files that decide of its operators: its own ones, those that all opsets
    share, and of each opset that these name, as an import does, those of the folder and of ours.
    Ours stand behind."""
    ours = [file for each in _shipped_files().values() for file in each]
    texts: dict[str, list[SpecFile]] = {}
    for file in (*files, *ours):
        texts.setdefault(file.opset, []).append(file)
    for opset in dict.fromkeys(each.opset for each in files if each.opset) or ("",):
        found, left = set[str](), {"", opset}
        while left:
            found |= left
            words = {
                word
                for name in left
                for file in texts.get(name, ())
                for word in WORD.findall(COMMENT.sub("", file.source.text))
            }
            left = words & texts.keys() - found
        yield opset, [each for each in (*files, *ours) if each.opset in found]


def ready_to_import(name: str) -> str | None:
    """A hint for an unknown name that all opsets which come with cvmgen share."""
    if all(each.name != name for each in _importable(_shipped(""))):
        return None
    return f"write 'import {name} from {COMMON}' at the head of the file"


class Resolver:
    """The declarations of each opset with those that it imports; `errors` of imports, and the names
    that these would have brought."""

    def __init__(
        self, declared: Mapping[str, Sequence[d.TopLevel]], broken: Collection[str] = ()
    ) -> None:
        self.declared = declared
        self.unread = broken  # names whose declarations have a syntax error
        self.resolved: dict[str, list[d.Declaration]] = {}
        self.open: list[str] = []
        self.errors: list[SpecError] = []
        self.broken: set[str] = set()

    def visible(self, opset: str) -> list[d.Declaration]:
        """What the formulas of an opset may speak of: what all opsets share, and its own."""
        return [*self.own(""), *(self.own(opset) if opset else ())]

    def own(self, opset: str) -> list[d.Declaration]:
        """What the files of an opset declare, behind what they import."""
        if opset in self.resolved:
            return self.resolved[opset]
        declared = self.declared.get(opset, ())
        found = [each for each in declared if not isinstance(each, d.Import)]
        if opset in self.open:  # what its imports need of it is not what they bring
            return found
        self.open.append(opset)
        imports = [each for each in declared if isinstance(each, d.Import)]
        found = [*chain.from_iterable(map(self.imported, imports)), *found]
        self.open.pop()
        self.resolved[opset] = found
        return found

    def imported(self, wanted: d.Import) -> list[d.Declaration]:
        found = []
        try:
            places = self.places(wanted.place)
        except SpecError as error:
            self.errors.append(error)
            self.broken.update(name.text for name in wanted.names)
            return []
        for name in wanted.names:
            try:
                self.from_elsewhere(name, wanted.place)
                found += _named(name, wanted.place.text, places)
            except SpecError as error:
                self.errors += [error] * (name.text not in self.unread)
                self.broken.add(name.text)
        return found

    def from_elsewhere(self, name: n.Name, place: n.Name) -> None:
        """Refuse an import of what the opset itself declares."""
        opset = "" if place.text == COMMON else place.text
        own = _importable(
            [each for each in self.declared.get(opset, ()) if not isinstance(each, d.Import)]
        )
        if opset == self.open[-1] and any(each.name == name.text for each in own):
            raise SpecError(
                name.span, f"'{name.text}' is declared in '{place.text}' itself", "remove it"
            )

    def places(self, place: n.Name) -> list[Place]:
        """The declarations of an opset in the folder at hand, and in the one that comes with us."""
        opset = "" if place.text == COMMON else place.text
        known = {*self.declared, *_shipped_files()}
        if opset not in known:
            names = {each or COMMON for each in known}
            hint = did_you_mean(place.text, names) or f"write {alternatives(sorted(names))}"
            raise SpecError(place.span, f"there is no opset '{place.text}' to import from", hint)
        if opset in self.open[:-1]:
            hint = "declare what both need in files of the spec folder itself"
            raise SpecError(place.span, f"'{place.text}' itself imports from here", hint)
        elsewhere = opset in self.declared and opset != self.open[-1]
        at_hand = [partial(self.visible, opset)] if elsewhere else []
        return [*at_hand, partial(_shipped, opset)]


def _named(name: n.Name, place: str, places: Sequence[Place]) -> list[d.Declaration]:
    """One declaration and what it uses, from the first place that declares it."""
    for read in places:
        declared = read()
        if any(each.name == name.text for each in _importable(declared)):
            return _with_used(name.text, declared)
    found = [each for read in places for each in read()]
    if any(each.name == name.text for each in found):
        hint = "imports are for what 'const', 'def' and 'family' declare"
        raise SpecError(name.span, f"'{name.text}' is an operator of '{place}'", hint)
    names = dict.fromkeys(each.name for each in _importable(found))
    hint = did_you_mean(name.text, names) or f"it declares {', '.join(names) or 'operators only'}"
    raise SpecError(name.span, f"'{place}' declares no '{name.text}'", hint)


def _importable(
    declared: Sequence[d.Declaration],
) -> list[d.Const | d.Definition | d.FamilyDecl]:
    return [each for each in declared if isinstance(each, d.Const | d.Definition | d.FamilyDecl)]


def _with_used(name: str, declared: Sequence[d.Declaration]) -> list[d.Declaration]:
    of_name = {each.name: each for each in _importable(declared)}
    left, needed = [name], {name}
    while left:
        used = _names_in(of_name[left.pop()]) & of_name.keys() - needed
        needed |= used
        left += used
    return [each for each in of_name.values() if each.name in needed]


def _names_in(declaration: d.Const | d.Definition | d.FamilyDecl) -> set[str]:
    """The names that a declaration speaks of, among them those that it declares inside."""
    match declaration:
        case d.Const(value=body):
            return _names_of(body)
        case d.Definition(parameters=parameters, body=body):
            return _names_of(body) - {each.name for each in parameters}
        case d.FamilyDecl(parameters=holes, block=block, base=base):
            family = set() if base is None else {base.family}
            return family | (_names_of((block, base)) - {each.text for each in holes})


def _names_of(tree: object) -> set[str]:
    names = {each.text for each in n.walk(tree) if isinstance(each, n.Name)}
    return names | {each.function for each in n.walk(tree) if isinstance(each, n.Call)}


@cache
def _shipped_files() -> Mapping[str, Sequence[SpecFile]]:
    """The files of the spec folder that comes with cvmgen, by their opset."""
    files: dict[str, list[SpecFile]] = {}
    for file in read_folder(spec_folder(), shown="cvmgen/spec"):
        files.setdefault(file.opset, []).append(file)
    return files


@cache
def _shipped(opset: str) -> Sequence[d.Declaration]:
    """What an opset that comes with cvmgen declares, and what all opsets there share."""
    files = [each for name in ("", opset) for each in _shipped_files().get(name, ())]
    parsed = [each for file in dict.fromkeys(files) for each in parse_all(file.source).declarations]
    return [each for each in parsed if not isinstance(each, d.Import)]
