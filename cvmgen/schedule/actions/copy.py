"""`copy`: innermost loops that only move elements become copies and fills of whole runs."""

from __future__ import annotations

from cvmgen.schedule.copies import copy_runs
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def copy(subject: Subject, use: Use) -> Subject:
    """Runs of the call instead of loops over elements.

    Legal where integers are stored as they are read, or one value all along; other loops stay.
    """
    return subject.with_body(copy_runs(subject.body, subject.dtypes, subject.facts))
