"""The actions: small rewrites of a nest, each legal by itself."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.lower.copies import copy_runs
from cvmgen.schedule.forms import Kind, Use
from cvmgen.schedule.parallelise import parallelise
from cvmgen.schedule.subject import Subject


def copy(subject: Subject, use: Use) -> Subject:
    """Innermost loops that only move elements as copies and fills of whole runs."""
    return subject.with_body(copy_runs(subject.body, subject.dtypes, subject.facts))


ACTIONS: Mapping[str, Kind] = {
    "copy": Kind("copy", "loops that only move elements become copies and fills", copy),
    "parallelise": Kind(
        "parallelise LOOPS when MEASURE >= NUMBER",
        "the loops run in several threads where there is enough to do",
        parallelise,
    ),
}
