"""`vectorise`: innermost loops by vector instructions."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.dependences import SCALAR, Locals, conflict
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.uses import assigned, has, names_in, read_tensors
from cvmgen.ir.visit import walk
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject

SETS = {32: "avx2", 64: "avx512"}  # by the bytes of their vectors
# What AVX2 has no instruction for; most loops gain nothing from wider vectors.
ONLY_AVX512 = frozenset(
    {"min_i64", "max_i64", "abs_i64", "floor_log2", "ceil_log2", "to_int", "quotient_or_0"}
)


def vectorise(subject: Subject, use: Use) -> Subject:
    """The loops make several iterations at once, but for those around loops or calls; with vectors
    of so many bytes, or as their instructions need.

    Legal where iterations share nothing but accumulators that come out the same in every order.
    """
    given = use.vector_bytes(1)
    locals_ = Locals.of(subject.body, exact=subject.model is not None)

    def change(loop: i.Loop) -> i.Block | None:
        if has(loop.body, *SCALAR):
            return None
        if why := conflict(loop, locals_):
            use.refuse(
                f"the loop {loop.index} {why}: its iterations cannot run side by side "
                f"({subject.place})",
                "expand what it carries, and vectorise another loop",
            )
        return (replace(loop, vector=SETS[given] if given else vector_set(loop)),)

    return subject.with_loops(use.loops(subject, 0), change)


def vector_set(loop: i.Loop) -> str:
    """The instructions that suit a loop."""
    return SETS[64 if needs_wide_vectors(loop) else 32]


def needs_wide_vectors(loop: i.Loop) -> bool:
    """Whether values are computed in ways that AVX2 has not; places do not count, nor what is the
    same in every iteration."""
    body, varying = loop.body, {loop.index, *assigned(loop.body)}
    values = (each.value for each in walk(body) if isinstance(each, (i.Let, i.Accumulate, i.Store)))
    return any(only_avx512(with_offsets(value, lambda _: i.ZERO), varying) for value in values)


def only_avx512(value: i.Expr, varying: set[str]) -> bool:
    for each in walk(value):
        match each:
            case i.Call(function=function) if function in ONLY_AVX512:
                wide = True
            case i.Convert(type="f64", operand=i.Load()) | i.Convert(type="f32"):
                wide = True
            case i.Binary(op="shr" | "*", left=left):
                parts = walk(left)
                wide = any(isinstance(part, i.Convert) and part.type == "i64" for part in parts)
            case _:
                wide = False
        if wide and varies(each, varying):
            return True
    return False


def varies(value: object, varying: set[str]) -> bool:
    return bool(read_tensors(value) or names_in(value) & varying)
