"""`use`: a mapping that is written by hand, which emission asks for."""

from __future__ import annotations

from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def mapped(subject: Subject, use: Use) -> Subject:
    """A mapping knows by itself which nests it takes, and its kernels are written by hand.

    Legal for cuda alone, where it takes the place of all other actions.
    """
    use.refuse(f"the target has no mappings ({subject.place})", "mappings are for cuda")
