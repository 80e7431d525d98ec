"""Units that are compiled together, where what they say is tried and not how fast it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

UNITS = (".c", ".cu")
PART = ".part"


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
