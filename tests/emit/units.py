"""Units that are compiled together, where what they say is tried and not how fast it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

UNITS = (".c", ".cu")
PART = ".part"
HURRIED = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif
"""


def joined(sources: Mapping[str, str]) -> dict[str, str]:
    """The operators of each opset as one unit: most of what an unoptimised one takes is to read the
    headers. What belongs to all opsets stays as it is: libraries share its objects."""
    found: dict[str, str] = {}
    for path, text in sorted(sources.items()):
        place = PurePosixPath(path)
        if place.suffix not in UNITS or str(place.parent) in (".", "cpu"):
            found[path] = text
            continue
        # Messages name the file as it was; some of C include themselves.
        text = text.replace(f'#include "{place.name}"', f'#include "{place.name}{PART}"')
        found[path + PART] = f'#line 1 "{path}"\n{text}'
        unit = f"{place.parent}{place.suffix}"
        found[unit] = found.get(unit, "") + f'#include "{path}{PART}"\n'
    return found


def hurried(sources: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Sources of C, of which the operators that are known stay as they are: the others are joined
    and optimised little, which takes a fifth of the time."""
    kept = {path: text for path, text in sources.items() if full_name(path) in known}
    rest = joined({path: text for path, text in sources.items() if path not in kept})
    new = {path for path in rest.keys() - sources.keys() if path.endswith(UNITS)}
    return kept | {path: HURRIED * (path in new) + text for path, text in rest.items()}


def full_name(path: str) -> str:
    """The operator whose file this would be."""
    return ".".join(PurePosixPath(path).with_suffix("").parts)
