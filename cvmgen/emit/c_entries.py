"""The memory of C kernels for what greedy selections keep of their entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cvmgen.emit.c_spelling import MACHINE_TYPES, c_identifier
from cvmgen.ir import nodes as i
from cvmgen.schedule.entries import KeptValue


@dataclass(frozen=True, slots=True)
class KeptLists:
    """The lists in a memory, and how many values of each entry are kept beside them."""

    memory: i.Scratch
    values: int

    @property
    def name(self) -> str:
        return f"{self.memory.name}_entries"

    def allocate(self) -> list[str]:
        """Each value has room for as many entries as all lists have."""
        case = "" if self.memory.case is None else f"plan->which_case == {self.memory.case} && "
        size = f"cvmgen_saturating_mul({self.values}, {plan_size(self.memory)})"
        return [
            f"int64_t *{self.name} = NULL;",
            f"if ({case}status == CVMGEN_OK) status = cvmgen_scratch(error, {size}, &{self.name});",
        ]


def plan_size(memory: i.Scratch) -> str:
    return f"plan->{c_identifier(memory.size)}"


def entry_parameters(kept: Sequence[KeptValue], restrict: str) -> list[str]:
    """The arrays of a kernel, one for each value of an entry."""
    return [f"{kind} *{restrict} {name}" for name, kind in entry_types(kept).items()]


def entry_types(kept: Sequence[KeptValue]) -> dict[str, str]:
    """What the arrays hold."""
    return {each.array: MACHINE_TYPES[each.type] for each in kept}


def entry_arguments(memory: tuple[i.Scratch, ...], kept: Sequence[KeptValue]) -> list[str]:
    """What is passed for them: parts of one memory of int64, whatever the type of a value."""
    found = []
    for at, each in enumerate(kept):
        name, size = f"{memory[0].name}_entries", plan_size(memory[0])
        place = f"{name} + {at} * {size}" if at > 1 else f"{name} + {size}" if at else name
        if each.type != "i64":
            place = f"({MACHINE_TYPES[each.type]} *){place if at == 0 else f'({place})'}"
        found.append(place)
    return found
