"""Parts of loops in threads as C: a function for some of the iterations, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cvmgen.emit.c_text import signature
from cvmgen.emit.lines import WIDTH, indented, wrap_c
from cvmgen.schedule.outline import call_name


@dataclass(frozen=True, slots=True)
class CaptureMember:
    """What a part reads of the function around its loops: the type, up to the name, of the member
    that holds it and of the local that is made of that, if one is."""

    name: str
    type: str
    local: str


def part_function(
    part: str,
    names: Mapping[str, str],
    given: Sequence[str],
    members: Sequence[CaptureMember],
    versions: Sequence[str],
    lines: Sequence[str],
    named: Callable[[str], str],
) -> list[str]:
    """An outlined function, behind the structure that it is given; `names` are those of OWN,
    `given` its other parameters, `versions` what stands before its head, `named` what the text
    calls functions."""
    call, context, structure = names["call"], names["context"], named(call_name(part))
    parameters = [f"const void *{context}", *given]
    return [
        f"typedef struct {structure} {{",
        *indented(f"{each.type}{each.name};" for each in members),
        f"}} {structure};",
        *versions,
        *signature(f"static void {named(part)}(", parameters),
        f"    const {structure} *const {call} = {context};",
        *(line for m in members if m.local for line in local_lines(m, call)),
        *wrap_c(indented(lines)),
        "}",
    ]


def local_lines(member: CaptureMember, call: str) -> list[str]:
    """The local of a member; where names are long, its value stands on a line of its own."""
    head, value = f"    {member.local}{member.name} =", f"{call}->{member.name};"
    single = f"{head} {value}"
    return [single] if len(single) <= WIDTH else [head, f"        {value}"]
