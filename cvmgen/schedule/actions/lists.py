"""Lists and what is made of them: `stage`, `append`, `cut`."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.counting import Cuts, move_always, store_always
from cvmgen.analysis.entries import side_by_side
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def stage_entries(subject: Subject, use: Use) -> Subject:
    """What tests ask of the entries so far lies side by side; nothing changes where that may not
    be computed before the tests around it."""
    block = use.room(use.number(1))
    found = side_by_side(
        subject.body, subject.own, subject.dtypes, subject.inside, subject.taken, block
    )
    if found is None:
        return subject.with_roles({use.roles(2)[0]: ()})
    made = replace(subject, body=found.body, kept=found.arrays)
    return made.with_roles({use.roles(2)[0]: (found.together,)})


def append(subject: Subject, use: Use) -> Subject:
    """Entries, or rows, are stored before it is known whether they pass.

    Legal where there is room for each candidate; for rows where each is there to be read, and what
    is behind the last one is stored later. Other loops stay as they are.
    """
    if not subject.memory:
        return subject.with_body(move_always(subject.body, subject.inside))
    return subject.with_body(store_always(subject.body, subject.own, subject.memory[-1]))


def cut(subject: Subject, use: Use) -> Subject:
    """A loop that asks whether its index is below the length of a list becomes two.

    Legal for every such loop: the order of iterations stays.
    """
    cuts = Cuts(dict(subject.dtypes), subject.facts, subject.taken)
    return subject.with_body(cuts.block(subject.body))
