"""Lets that are memory of the call: the memory, and the nest that fills it."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.lower.expressions import Expressions
from cvmgen.lower.let_memory import count_text
from cvmgen.lower.list_nests import box_size
from cvmgen.spec import formula as f
from cvmgen.spec.recurrences import adds_up


def let_memory(
    translator: Expressions, item: f.Definition, case: int | None
) -> tuple[i.Scratch, i.Stmt]:
    """The memory of a `let`, and the host statement that finds its size."""
    tally = translator.in_memory[item.name]
    shape = tuple(map(translator.expr, item.ranges or ())) or (i.ONE,)
    why = f"read {count_text(tally.reads)} times, {count_text(tally.elements)} elements"
    where = tally.case if case is None else case
    steps = item.axis is not None and adds_up(item.body)
    found = i.Scratch(item.name, item.name, shape, where, item.kind.name, why)
    found = replace(found, axis=item.axis, apart=item.apart, adds_up=steps)
    return found, i.Let(found.size, "int", box_size(shape), item.span)


def let_nest(translator: Expressions, item: f.Definition, memory: i.Scratch) -> i.Nest:
    """The nest that computes each element of a `let`."""
    span, names = item.span, [name for name, _ in item.parameters]
    translator.active.update(names)
    index = tuple((i.Var(name), False) for name in names)
    value = translator.with_where(item.body)
    translator.active.difference_update(names)
    if not names:  # one element, which a loop goes through as those of an output
        names = [translator.fresh("element")]
        index = ((i.Var(names[0]), False),)
    body: i.Block = (i.Store(i.Access(item.name, None, index), value, span),)
    loops = list(zip(names, memory.shape, strict=True))
    if memory.axis is not None:  # a step from element to element, or from all to all
        loops.insert(len(loops) - 1 if memory.apart else 0, loops.pop(memory.axis))
    for name, extent in reversed(loops):
        body = (i.Loop(name, i.ZERO, extent, body, 0, span),)
    formula = translator.operator.quote(span)
    return i.Nest(item.name, memory.case, None, (), body, formula, span)
