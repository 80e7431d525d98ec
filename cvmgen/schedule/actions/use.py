"""`use`, `fuse`: what other targets than C do, which say here what they mean."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def mapped(subject: Subject, use: Use) -> Subject:
    """A mapping knows by itself which nests it takes, and its kernels are written by hand.

    Legal for cuda alone, where it takes the place of all other actions.
    """
    use.refuse(f"the target has no mappings ({subject.place})", "mappings are for cuda")


def fuse(subject: Subject, use: Use) -> Subject:
    """What a nest does to each element is done where the element is made; it is not stored first.

    Legal for a nest that computes each element by itself, once for every element of those that
    another nest stores at one place; others stay. Models alone have nests beside each other, and
    join them before layouts are chosen: what is left here has no such nest.
    """
    if has(subject.body, i.Accumulate, i.Break, i.Sort):
        use.refuse(
            f"only what goes element by element can join what makes its elements ({subject.place})",
            "fuse nests of the class elementwise",
        )
    return subject
