"""The actions: small rewrites of a nest, each legal by itself."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.schedule.actions.copy import copy
from cvmgen.schedule.actions.parallelise import parallelise
from cvmgen.schedule.actions.tile import tile
from cvmgen.schedule.forms import Kind

ACTIONS: Mapping[str, Kind] = {
    "copy": Kind("copy", "loops that only move elements become copies and fills", copy),
    "tile": Kind(
        "tile LOOPS by INTRINSIC when MEASURE >= NUMBER",
        "blocks of totals are made by an intrinsic where they are worth it",
        tile,
    ),
    "parallelise": Kind(
        "parallelise LOOPS when MEASURE >= NUMBER",
        "the loops run in several threads where there is enough to do",
        parallelise,
    ),
}
