"""Contractions by the register tile: `tile`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cvmgen.analysis.tiling import find_contraction, tiling
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import enough, known_outcome
from cvmgen.schedule.subject import InModel, Subject, TileBlocks


def tile(subject: Subject, use: Use) -> Subject:
    """Blocks of totals by an intrinsic where there is enough to do; the body stays for other calls,
    and a nest whose elements stand at other than affine places has nothing else. Of a choice around
    all loops the last branch has tiles. Blocks of a model, for which its tensors are laid out
    before, take the place of the nest.

    Legal for a sum of products of two inputs, with all its rows and columns.
    """
    names = set(use.loops(subject, 0))
    if subject.model is not None and subject.model.blocks is not None:
        return by_blocks(subject, subject.model, subject.model.blocks, use)
    others, body = last_branch(subject.body)
    found = find_contraction(body, subject.facts, subject.sizes, shifted=True)
    if found is None:
        use.refuse(f"only a sum of products of two inputs has tiles ({subject.place})")
    lines = {loop.index for side in (found.rows, found.columns) for loop in side.lines}
    complete(use, names, lines)
    made = tiling(found, subject.facts, subject.unsigned)
    if made is None:
        return subject
    whole = replace(made, others=others, worth=worth(subject, use), sizes=subject.sizes)
    return replace(subject, tiling=whole)


def last_branch(body: i.Block) -> tuple[tuple[i.Expr, ...], i.Block]:
    """What is done where none of the choices around all loops is taken, and these choices."""
    tests: list[i.Expr] = []
    while len(body) == 1 and isinstance(choice := body[0], i.If) and choice.otherwise:
        tests.append(choice.condition)
        body = choice.otherwise
    return tuple(tests), body


def complete(use: Use, names: Collection[str], lines: Collection[str]) -> None:
    """Refuse a tile of less than all rows and columns."""
    if names != lines:
        use.refuse("a tile has all rows and all columns", "name both roles: tile rows, columns")


def by_blocks(subject: Subject, model: InModel, blocks: TileBlocks, use: Use) -> Subject:
    """The nest by the blocks of totals that memory was laid out for."""
    roles = blocks.roles
    complete(use, set(use.loops(subject, 0)), {*roles["rows"], *roles["columns"]})
    test = worth(subject, use)
    if test is not None and known_outcome(test) is False:
        return subject
    done = replace(subject, body=blocks.body, model=replace(model, blocks=None))
    return done.with_roles(blocks.made)


def worth(subject: Subject, use: Use) -> i.Compare | None:
    """The test that there is enough to do; None where it is always done."""
    if len(use.given) < 3:
        return None
    outermost = next(nodes_in(subject.body, i.Loop))
    return enough(subject, outermost, use.test(2))
