"""Which files C and CUDA sources include."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

_INCLUDE = re.compile(r"^\s*#\s*include\s+(?P<named>\"(?P<name>[^\"\n]+)\"|<)?", re.M)


def with_included(names: Iterable[str], texts: Mapping[str, str]) -> dict[str, str]:
    """These files, and of the texts those that they include, named from the top or from beside
    the file that includes them; all where a name comes from a macro."""
    left = list(names)
    found = {name: texts[name] for name in left}
    while left:
        place = left.pop()
        for name in _included(found[place]):
            if name is None:
                return {**texts, **found}
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
            for each in {name, beside} & texts.keys() - found.keys():
                found[each] = texts[each]
                left.append(each)
    return found


@lru_cache(maxsize=1 << 10)  # units share their headers
def _included(text: str) -> tuple[str | None, ...]:
    """What a text includes, by name; "" of what stands in angles, None of what a macro names."""
    found = _INCLUDE.finditer(text)
    return tuple(None if each["named"] is None else each["name"] or "" for each in found)
