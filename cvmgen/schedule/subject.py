"""What a schedule works on: a typed nest, what is known of it, and the roles of its loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.contraction import factor_sizes
from cvmgen.lower.facts import Facts
from cvmgen.lower.guards import assigned
from cvmgen.lower.tiling import Tiling

Roles = Mapping[str, tuple[str, ...]]
"""What schedules call the loops and accumulators of a nest, and the names that these have there."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A nest for one choice of element types, as far as its schedule has come."""

    body: tuple[i.Stmt, ...]
    dtypes: Mapping[str, DType]
    facts: Facts
    memory: tuple[i.Expr, ...]  # the extents of the memory of a list, where the nest fills one
    place: str  # the line of the formula
    roles: Roles
    sizes: Mapping[str, i.Expr]  # the elements of the inputs that may be factors of int8
    host: frozenset[str]  # names of the host's, which a kernel may be given
    tiling: Tiling | None = None  # how the register tile may do the nest's work, beside its body

    @classmethod
    def of(
        cls,
        program: i.Program,
        nest: i.Nest,
        body: tuple[i.Stmt, ...],
        dtypes: Mapping[str, DType],
    ) -> Subject:
        """The nest with its typed body."""
        memory = program.scratch_of(nest.tensor)
        shape = memory[0].shape if memory else ()
        sizes = factor_sizes(program, dtypes)
        facts = Facts.of(program, nest)
        prepared = (*program.prepare, *nest.prologue)
        host = names_in(prepared) | assigned(prepared)
        return cls(body, dtypes, facts, shape, nest.span.place, {}, sizes, host)

    @property
    def taken(self) -> set[str]:
        """The names that are not free for what an action makes."""
        tensors = {each.tensor for each in walk(self.body) if isinstance(each, i.Load)}
        return set(names_in(self.body)) | assigned(self.body) | tensors | self.host

    def with_roles(self, more: Roles) -> Subject:
        return replace(self, roles={**self.roles, **more})

    def with_body(self, body: tuple[i.Stmt, ...]) -> Subject:
        return replace(self, body=body)
