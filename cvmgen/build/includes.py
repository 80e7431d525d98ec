"""Which files C and CUDA sources include."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping

_INCLUDE = re.compile(r"^\s*#\s*include\s+(?P<named>\"(?P<name>[^\"\n]+)\"|<)?", re.M)


def with_included(names: Iterable[str], texts: Mapping[str, str]) -> dict[str, str]:
    """These files, and of the texts those that they include, named from the top or from beside
    the file that includes them; all where a name comes from a macro."""
    left = list(names)
    found = {name: texts[name] for name in left}
    while left:
        place = left.pop()
        for include in _INCLUDE.finditer(found[place]):
            if include["named"] is None:
                return {**texts, **found}
            name = include["name"] or ""
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
            for each in {name, beside} & texts.keys() - found.keys():
                found[each] = texts[each]
                left.append(each)
    return found
