"""Kernels for several element types as C: a file says them once, and includes itself for each.

The kernels stand at the end of the file, behind `#else`, in terms of TYPED(name) and of type
parameters. The text in front defines these for one choice of types and includes the file; then for
the next one. So an operator is one file to read, to copy and to compile, and a line of a kernel is
a line of that file, whoever tells it. Names of functions end with their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cvmgen.emit.c_spelling import MACHINE_TYPES, comment
from cvmgen.emit.lines import wrap_c
from cvmgen.schedule.generic import WIDE
from cvmgen.schedule.kernels import Family

INCLUDED = "The kernels at the end of this file, which includes itself for each choice of types."
KERNELS = "Kernels for one choice of element types."
CALCULATED = f"They calculate in {WIDE}: int32_t, or uint32_t where that could overflow."


def typed_name(name: str) -> str:
    """The name of a function in text for several element types."""
    return f"TYPED({name})"


@dataclass(frozen=True, slots=True)
class Section:
    """Families for the same element types; `number` tells it from other sections of its file, if
    there are some."""

    families: tuple[Family, ...]
    number: int

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The type parameters, with what they stand for in each kernel of a family."""
        return {name: types for each in self.families for name, types in each.types.items()}

    def included(self, file: str) -> str:
        """The text that includes the section for each choice of types."""
        blocks = ["\n".join(self.include(file, at)) for at in range(len(self.families[0].kernels))]
        return "\n".join([comment(INCLUDED), "\n\n".join(blocks)])

    def include(self, file: str, at: int) -> list[str]:
        """What includes the section for one choice of types."""
        suffix = self.families[0].kernels[at].variant.suffix
        return [
            *([f"#define SECTION {self.number}"] if self.number else []),
            f"#define {typed_name('name')} name##{suffix}",
            *(f"#define {name} {MACHINE_TYPES[each[at]]}" for name, each in self.types.items()),
            f'#include "{file}"',
        ]

    def text(self, functions: Iterable[str]) -> str:
        """The functions behind the line that tells when they are read."""
        when = f"#elif SECTION == {self.number}" if self.number else "#else"
        said = " ".join([KERNELS, *([CALCULATED] if WIDE in self.types else [])])
        names = [*(["SECTION"] if self.number else []), "TYPED", *self.types]
        undefined = "\n".join(f"#undef {name}" for name in names)
        return "\n\n".join([when, "\n".join(wrap_c([comment(said)])), *functions, undefined])


def sections(families: Iterable[Family]) -> list[Section]:
    """The sections of a file: families are in one if their parameters stand for the same types."""
    found: list[list[Family]] = []
    for family in families:
        alike = [each for each in found if same_parameters(family, each)]
        if alike:
            alike[0].append(family)
        else:
            found.append([family])
    numbers = range(1, len(found) + 1) if len(found) > 1 else (0,)
    return [Section(tuple(each), number) for number, each in zip(numbers, found, strict=False)]


def same_parameters(family: Family, others: Iterable[Family]) -> bool:
    """Whether a family's kernels can be included with those of others."""

    def suffixes(each: Family) -> list[str]:
        return [kernel.variant.suffix for kernel in each.kernels]

    return all(
        suffixes(each) == suffixes(family)
        and all(each.types.get(name, types) == types for name, types in family.types.items())
        for each in others
    )
