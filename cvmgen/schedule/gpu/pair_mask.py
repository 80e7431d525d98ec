"""Greedy selections: all pairs of candidates at once, then 64 candidates at a time.

A block that takes one candidate after the other waits for itself at each. Here a first kernel
tests all pairs, over the whole grid, and writes a bit for each; in a second one a block for each
list goes through the bits. Where the bits of a call take too much memory, a block does all.
"""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.greedy import Greedy, find_greedy
from cvmgen.analysis.grid import grid
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.threads import GRID, THREAD
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import fresh
from cvmgen.schedule.gpu.blocks import list_function, list_mapping, of_lists
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    KernelParameter,
    Mapped,
    MappingTask,
    host_local,
    launch,
    on_host,
)
from cvmgen.schedule.gpu.mask import Mask, MaskNests
from cvmgen.schedule.gpu.threads import shared_iterations


def pair_mask(task: MappingTask) -> Mapped | None:
    """The mapping of a greedy selection: a thread for every 8 pairs, then a block for each list; or
    a block for each list alone."""
    found = greedy_selection(task.program, task.nest, task.body)
    alone = None if found is None else list_mapping(task)
    if found is None or alone is None:
        return None
    name, most = mask_name(task), capacity(task.program, task.nest)
    mask = Mask(name, of_lists(task).loops, most)
    nests = MaskNests(found, mask)
    pairs = part(task, "pairs", nests.pairs())
    shared = shared_iterations(grid(pairs.body), GRID, THREAD, "elements", pairs)
    kept = list_function(part(task, "kept", nests.kept()))
    written, read = (
        KernelParameter(name, "u8", True, written=True),
        KernelParameter(name, "u64", True),
    )
    functions = (
        *alone.functions,
        DeviceFunction(pairs.name, "grid", shared, (written,), own=True),
        replace(kept, parameters=(read,), own=True),
    )
    words, span = i.Var("words"), task.nest.span
    count = i.Call("mask_words", (i.Var("lists"), on_host(most)))
    bits = i.Binary("*", i.Const(8), words)
    both = (
        launch(task, bits, pairs.name, "launch", i.Var(name)),
        launch(task, i.Var("lists"), kept.name, "launch_blocks", i.Var(name)),
    )
    fits = i.Compare(">", words, i.ZERO)
    start = i.If(fits, (i.Borrow(name, words, both, span),), alone.start, span)
    return Mapped(
        functions,
        (*alone.before, host_local("words", count, task)),
        (start,),
        mask_text(task, mask),
    )


def part(task: MappingTask, what: str, body: i.Block) -> MappingTask:
    """A part of the nest's work, in a kernel of its own."""
    nest = replace(task.nest, body=body)
    return replace(task, nest=nest, body=body, name=f"{task.name}_{what}")


def greedy_selection(program: i.Program, nest: i.Nest, body: i.Block) -> Greedy | None:
    """The greedy selection that a nest is, if it is one."""
    memory = program.lists_of(nest.tensor)
    if not memory or nest.guarded is not None:
        return None
    lists = grid(body, len(program.operator.definition(nest.tensor).parameters))
    return find_greedy(lists.body, frozenset(each.name for each in memory))


def capacity(program: i.Program, nest: i.Nest) -> i.Expr:
    """How many candidates a list has at most: it has room for all."""
    first, *_ = program.scratch_of(nest.tensor)
    return first.shape[-1]


def mask_name(task: MappingTask) -> str:
    """A name that neither the nest nor the host code has for anything else."""
    program = task.program
    tensors = {*program.operator.type_of, *(each.name for each in program.scratch)}
    host = names_in(program.prepare) | assigned(program.prepare)
    return fresh(f"{task.nest.tensor}_mask", tensors | host | names_in(task.body))


def mask_text(task: MappingTask, mask: Mask) -> str:
    """What is said of the memory for the bits, for people."""
    outer, most = (text(loop.high) for loop in mask.loops), text(mask.capacity)
    extents = ", ".join([*outer, f"({most} + 63) div 64", most])
    enough = f"Where {task.settings['pair_mask']['megabytes']} MB are enough for it"
    return f"{enough}, a bit for each pair: {mask.name}[{extents}]."
