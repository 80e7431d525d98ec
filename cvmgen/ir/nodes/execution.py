"""Who runs what: threads that share iterations, barriers, launches, outlined functions."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir.nodes.expressions import Call, Expr, span_field
from cvmgen.source import Span


@dataclass(frozen=True, slots=True)
class Share:
    """Of the iterations of a loop, counted from 0, one thread makes `first`, `first + step`, ...

    `among` whom: the threads of the `grid`, the `blocks` of it, the threads of a `block`, or those
    of a `team` for one result; among none, all of them make the same.
    """

    among: str
    first: Expr
    step: Expr


@dataclass(frozen=True, slots=True)
class Barrier:
    """No thread of a block goes on before all of them have come here; `why`, where it is not
    plain."""

    span: Span = span_field()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a helper for what it does."""

    call: Call
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Launch:
    """The host starts a kernel by a function of the run time, so often as `count` says; `kernel` is
    what it is called behind its nest. It is given what all kernels of the nest are, and
    `arguments`."""

    function: Call
    count: Expr
    kernel: str
    arguments: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Capture:
    """What an outlined function has from the one that calls it.

    `kind`: the `plan` of the call, a `tensor`, a `list`, an `array`, a `value`, or the place of an
    accumulator, the `total` of all parts; `type` is that of values and of elements of arrays. The
    place may be that of a `copy`.
    """

    name: str
    kind: str
    type: str = ""
    constant: bool = False
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """Threads share `count` iterations, if that is `worth` it: each makes stretches of them by the
    function `part`, which has the `captures` in a structure called `call`."""

    part: str
    call: str
    count: Expr
    worth: Expr | None
    captures: tuple[Capture, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class CallInline:
    """Do what the inline function does for these values of its parameters; it has the `captures`
    besides."""

    function: str
    captures: tuple[Capture, ...]
    values: tuple[Expr, ...]
    span: Span = span_field()
