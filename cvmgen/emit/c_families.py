"""Kernels for several element types as C: a file says them once, and includes itself for each.

The kernels stand at the end of the file, behind `#else`, in terms of TYPED(name) and of type
parameters and their ends. The text in front defines these for one choice of types and includes the
file; then for the next one. So an operator is one file to read, to copy and to compile, and a line
of a kernel is a line of that file, whoever tells it. Names of functions end with their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from cvmgen.emit.c_like import CPrinter
from cvmgen.emit.c_spelling import MACHINE_TYPES, PRIMARY, comment, end_name, paren
from cvmgen.emit.lines import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.schedule.generic import WIDE, WIDER
from cvmgen.schedule.kernels import Family
from cvmgen.typing.agreement import end_of

INCLUDED = "The kernels at the end of this file, which includes itself for each choice of types."
KERNELS = "Kernels for one choice of element types."


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

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The ends of type parameters that kernels name: which one, and whose."""
        found = nodes_in(tuple(each.bodies for each in self.families), i.Limit)
        return [*dict.fromkeys((each.end, each.type_name) for each in found)]

    @property
    def calculated(self) -> list[str]:
        """What tells in which types kernels calculate where that depends on those of elements."""
        kinds = self.types.get(WIDE, ())
        others = " or ".join(MACHINE_TYPES[each] for each in WIDER if each in kinds)
        said = f"They calculate in {WIDE}: int32_t, or {others} where that could overflow."
        return [said] if kinds else []

    def included(self, file: str) -> str:
        """The text that includes the section for each choice of types."""
        blocks = ["\n".join(self.include(file, at)) for at in range(len(self.families[0].kernels))]
        return "\n".join([comment(INCLUDED), "\n\n".join(blocks)])

    def include(self, file: str, at: int) -> list[str]:
        """What includes the section for one choice of types."""
        suffix = self.families[0].suffixes[at]
        return [
            *([f"#define SECTION {self.number}"] if self.number else []),
            f"#define {typed_name('name')} name##{suffix}",
            *(f"#define {name} {MACHINE_TYPES[each[at]]}" for name, each in self.types.items()),
            *map(partial(self.end_defined, at), self.ends),
            f'#include "{file}"',
        ]

    def end_defined(self, at: int, named: tuple[str, str]) -> str:
        """The end of a type parameter for one choice of types."""
        end, parameter = named
        value, level = CPrinter.number(end_of(self.types[parameter][at], end))
        return f"#define {end_name(end, parameter)} {paren(value, level, PRIMARY)}"

    def text(self, functions: Iterable[str]) -> str:
        """The functions behind the line that tells when they are read."""
        when = f"#elif SECTION == {self.number}" if self.number else "#else"
        said = " ".join([KERNELS, *self.calculated])
        ends = [end_name(end, parameter) for end, parameter in self.ends]
        names = [*(["SECTION"] if self.number else []), "TYPED", *self.types, *ends]
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
    return all(
        each.suffixes == family.suffixes
        and all(each.types.get(name, types) == types for name, types in family.types.items())
        for each in others
    )
