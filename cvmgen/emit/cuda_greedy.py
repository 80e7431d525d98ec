"""Greedy selections on a device: all pairs of candidates at once, then 64 candidates at a time.

A block that takes one candidate after the other waits for itself at each. Here a first kernel
tests all pairs, over the whole grid, and writes a bit for each; in a second one a block for each
list goes through the bits. Where the bits of a call take too much memory, a block does all.
"""

from __future__ import annotations

from cvmgen.analysis.greedy import Greedy, greedy
from cvmgen.analysis.grid import grid
from cvmgen.emit.c_like import identifier, indent
from cvmgen.emit.cuda_lists import BlockPrinter
from cvmgen.emit.cuda_mappings import Kernel, Lists, Mapping, Task
from cvmgen.emit.cuda_mask import Mask, MaskNests
from cvmgen.emit.cuda_text import CudaKernelPrinter
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh


def greedy_lists(task: Task) -> Lists | None:
    """The mapping of a greedy selection; None for a nest that is none."""
    found = selection(task.program, task.nest, task.body)
    return None if found is None else GreedyLists(task, found)


def selection(program: i.Program, nest: i.Nest, body: tuple[i.Stmt, ...]) -> Greedy | None:
    memory = program.scratch_of(nest.tensor)
    if not memory or nest.guarded is not None:
        return None
    lists = grid(body, len(program.operator.definition(nest.tensor).parameters))
    return greedy(lists.body, frozenset(each.name for each in memory))


def mask_extents(program: i.Program, nest: i.Nest) -> tuple[i.Expr, ...]:
    """What the mask of a nest has its size from besides what the nest reads."""
    if selection(program, nest, nest.body) is None:
        return ()
    return (capacity(program, nest),)


def capacity(program: i.Program, nest: i.Nest) -> i.Expr:
    """How many candidates a list has at most: it has room for all."""
    first, *_ = program.scratch_of(nest.tensor)
    return first.shape[-1]


def mask_text(mapping: Mapping) -> str:
    """What memory a mapping takes for a mask, for people."""
    if not isinstance(mapping, GreedyLists):
        return ""
    mask = mapping.mask
    outer, most = (text(loop.high) for loop in mask.loops), text(mask.capacity)
    extents = ", ".join([*outer, f"({most} + 63) div 64", most])
    megabytes = mapping.task.settings["pair_mask"]["megabytes"]
    enough = f"Where {megabytes} MB are enough for it"
    return f"{enough}, a bit for each pair: {mask.name}[{extents}]."


class GreedyLists(Lists):
    """A thread for every 8 pairs, then a block for each list; or a block for each list alone."""

    def __init__(self, task: Task, found: Greedy) -> None:
        super().__init__(task)
        mask = Mask(self.unused("mask"), self.grid.loops, capacity(task.program, task.nest))
        nests = MaskNests(found, mask)
        self.mask, self.name = mask, identifier(mask.name)
        self.pairs = task.part(nests.pairs(), f"{task.name}_pairs")
        self.kept = task.part(nests.kept(), f"{task.name}_kept")

    def unused(self, what: str) -> str:
        """A name that neither the nest nor the host code has for anything else."""
        task = self.task
        tensors = {*task.program.operator.type_of, *(each.name for each in task.program.scratch)}
        return fresh(f"{task.nest.tensor}_{what}", tensors | {*task.planned, *names_in(task.body)})

    def kernels(self) -> list[Kernel]:
        pairs, kept = self.pairs, self.kept
        threads = CudaKernelPrinter(pairs.program, pairs.body).threads(grid(pairs.body))
        of_bytes = pairs.kernel(threads, parameters=[f"uint8_t *__restrict__ {self.name}"])
        blocks = BlockPrinter(kept.program, kept.body, self.own).blocks(self.lists(kept.body))
        of_words = kept.kernel(blocks, parameters=[f"const uint64_t *__restrict__ {self.name}"])
        return [
            *super().kernels(),
            Kernel(pairs.name, "grid", of_bytes),
            Kernel(kept.name, self.kind, of_words),
        ]

    def before(self) -> list[str]:
        most = self.task.on_host(self.mask.capacity)
        words = f"const int64_t words = cvmgen_mask_words(lists, {most});"
        return [*super().before(), words]

    def start(self) -> list[str]:
        """With the mask if there is memory for it."""
        bits, words = f"(uint8_t *){self.name}", f"(const uint64_t *){self.name}"
        pairs = self.pairs.launch("cvmgen_launch", "8 * words", arguments=[bits])
        kept = self.kept.launch("cvmgen_launch_blocks", "lists", arguments=[words])
        together = [
            f"int64_t *{self.name};",
            f"status = cvmgen_device_scratch(error, stream, words, &{self.name});",
            "if (status == CVMGEN_OK)",
            *indent(pairs),
            "if (status == CVMGEN_OK)",
            *indent(kept),
            f"cvmgen_device_free(stream, {self.name});",
        ]
        return ["if (words > 0) {", *indent(together), "} else {", *indent(super().start()), "}"]
