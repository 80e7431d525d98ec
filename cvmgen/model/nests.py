"""Kernels of a model as nests for schedules: typed, with offsets, and with names for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cvmgen.analysis.facts import Facts
from cvmgen.analysis.in_bounds import Inside
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.known.known_types import known_types
from cvmgen.known.linear import Linear, as_linear
from cvmgen.model.kernels import Loops, ModelKernel, weight
from cvmgen.model.storage import Storage, located
from cvmgen.schedule.subject import InModel, OuterValues, Roles, Subject
from cvmgen.source import Span
from cvmgen.typing.decided_tests import without_known_tests


class ShortNames:
    """Short names for indices and locals, each once; those to be named have a dot in theirs."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self.chosen: dict[str, str] = {}

    def of(self, name: str) -> str:
        if "." not in name:
            return name
        if name not in self.chosen:
            self.chosen[name] = fresh(name.split(".")[0], self.taken)
        return self.chosen[name]

    def loops(self, loops: Loops) -> Loops:
        return tuple((self.of(index), extent) for index, extent in loops)

    def roles(self, roles: Roles) -> Roles:
        return {role: tuple(map(self.of, own)) for role, own in roles.items()}

    def within(self, node: Any) -> Any:
        """Expressions or statements with the short names."""
        return rebuild(node, self.change)

    def change(self, node: Any) -> Any:
        match node:
            case i.Var(name=name):
                return i.Var(self.of(name))
            case i.Let() | i.Assign() | i.Accumulate():
                return replace(node, name=self.of(node.name))
            case i.Loop():
                return replace(node, index=self.of(node.index))
            case _:
                return node


def nest_of(kernel: ModelKernel, storage: Storage, names: ShortNames) -> Subject:
    """What schedules of models begin with."""
    loops = names.loops(kernel.loops)
    body = in_loops(loops, names.within(located(kernel, storage).body), span_of(kernel))
    body = without_known_tests(known_types(kernel.operator, {}, body, storage.elements).body)
    # Loops that a kernel does not call its own use the memory of a list again and again.
    again = not loops and isinstance(body[0], i.Loop)
    memory = {name: storage.elements[name].type for name in kernel.read | kernel.written}
    return Subject(
        body=body,
        dtypes={},
        facts=Facts(),
        memory=tuple(i.Const(storage.placements[each].size) for each in kernel.written if again),
        own=(),
        inside=Inside({}),
        reserved=frozenset(names.taken),
        written=tuple(i.Const(extent) for _, extent in kernel.loops),
        place=kernel.place,
        roles={},
        sizes={},
        outside=OuterValues(frozenset(), memory),
        model=InModel(kernel_measures(kernel)),
    )


def loop_names(loops: Loops) -> tuple[str, ...]:
    return tuple(name for name, _ in loops)


def span_of(kernel: ModelKernel) -> Span:
    return kernel.body[0].span


def in_loops(loops: Loops, body: i.Block, span: Span) -> i.Block:
    """The statements in loops from 0 on, the last one innermost."""
    for index, extent in reversed(loops):
        body = (i.Loop(index, i.Const(0), i.Const(extent), body, 0, span),)
    return body


def kernel_measures(kernel: ModelKernel) -> dict[str, int]:
    """How much there is to do, as schedules of models count."""
    return {"results": kernel.iterations, "work": kernel.iterations * weight(kernel.body)}


def border(tensor: str, storage: Storage, span: Span) -> i.Block:
    """What lies around the bytes of a tensor."""
    done: i.Block = ()
    place, elements = storage.placements[tensor], storage.elements[tensor]
    for at in place.bordered:
        outer = place.order[: place.order.index(at)]
        loops: Loops = tuple((f"i{each}", place.shape[each]) for each in outer)
        start = Linear(sum(place.pads[each][0] * place.strides[each] for each in outer))
        for (index, extent), each in zip(loops, outer, strict=True):
            if extent > 1:
                start = start.plus(Linear(0, {i.Var(index): place.strides[each]}))
        far = Linear((place.pads[at][0] + place.shape[at]) * place.strides[at])
        fills = tuple(
            i.Fill(
                elements.type,
                i.Load(tensor, None, edge.expr()),
                i.Const(1),
                i.Const(elements.bias + place.beyond),
                i.Const(pad * place.strides[at]),
                span,
            )
            for edge, pad in zip((start, start.plus(far)), place.pads[at], strict=True)
            if pad
        )
        done += in_loops(tuple(each for each in loops if each[1] > 1), fills, span)
    return done


def longest_steps_first(body: i.Block) -> i.Block:
    """The nest with places that name the longest steps first."""
    return with_offsets(body, lambda offset: as_linear(offset, {}).expr())
