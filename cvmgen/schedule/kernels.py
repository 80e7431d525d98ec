"""The kernels of an operator: each nest for one choice of element types, typed, then scheduled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter

from cvmgen.dtypes import INT8
from cvmgen.ir import nodes as i
from cvmgen.schedule.book import Schedules
from cvmgen.schedule.gpu.mapped import Mapped
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Operator
from cvmgen.typing.choices import Variant, element_types, variants
from cvmgen.typing.types import type_nest, type_prepare


@dataclass(frozen=True, slots=True)
class Kernel:
    """A nest for one choice of element types.

    `typed` are its statements as they got machine types, which no schedule has changed; `subject`
    has those that its schedule made of them. On a GPU it is `mapped` to threads.
    """

    number: int  # of the nest among those of the program
    nest: i.Nest
    variant: Variant
    typed: tuple[i.Stmt, ...]
    subject: Subject
    mapped: Mapped | None = None


@dataclass(frozen=True, slots=True)
class Kernels:
    """A program with machine types: its host part, and all kernels of each nest, in order.

    `program` is what they were made of, which types depend on.
    """

    program: i.Program
    host: i.Program
    kernels: tuple[Kernel, ...]

    @property
    def operator(self) -> Operator:
        return self.program.operator

    def of(self, number: int) -> tuple[Kernel, ...]:
        """The kernels of a nest, one for each choice of types."""
        return tuple(each for each in self.kernels if each.number == number)

    def widest(self, number: int) -> Kernel:
        """The kernel of a nest for int32 tensors, by the first choice of other types."""
        narrow = (INT8 in (each.variant.source, each.variant.stored) for each in self.of(number))
        return min(zip(narrow, self.of(number), strict=True), key=itemgetter(0))[1]

    def shown(self) -> i.Program:
        """The program with the widest kernels for its nests, for people."""
        nests = tuple(
            replace(nest, body=self.widest(number).subject.body)
            for number, nest in enumerate(self.host.nests)
        )
        return replace(self.host, nests=nests)


def typed(program: i.Program) -> Kernels:
    """The lowered program with machine types, each nest once for each choice of element types."""
    kernels = tuple(
        typed_kernel(program, number, variant)
        for number, nest in enumerate(program.nests)
        for variant in variants(program, nest)
    )
    return Kernels(program, type_prepare(program), kernels)


def typed_kernel(program: i.Program, number: int, variant: Variant) -> Kernel:
    nest, dtypes = program.nests[number], element_types(program, variant)
    body = type_nest(program, nest, dtypes).body
    return Kernel(number, nest, variant, body, Subject.of(program, nest, body, dtypes))


def scheduled(target: str, kernels: Kernels, schedules: Schedules) -> Kernels:
    """The kernels after all actions of the schedules of their classes for a target."""
    done = tuple(
        replace(each, subject=schedules.scheduled(target, each.subject)) for each in kernels.kernels
    )
    return replace(kernels, kernels=done)
