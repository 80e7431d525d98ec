"""What a benchmark is made of: a workload, its data, calls that do its work, and goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from cvmgen.memory import new_array

Array = np.ndarray[Any, Any]
Limit = Literal["stream", "copy", "dot"]


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor of random elements.

    Integers of `bits` bits of precision, from `low` on where it is given; or, of a floating-point
    type, normal numbers. `constant` marks what a model would hold fixed, such as weights.
    """

    shape: tuple[int, ...]
    dtype: str = "int32"
    bits: int = 8
    low: int | None = None
    constant: bool = False

    def array(self, random: np.random.Generator) -> Array:
        if self.dtype.startswith("float"):
            return random.normal(size=self.shape).astype(self.dtype)
        most = (1 << (self.bits - 1)) - 1
        low = -most if self.low is None else self.low
        drawn = random.integers(low, most, self.shape, dtype=np.int32, endpoint=True)
        return drawn.astype(self.dtype)


@dataclass(frozen=True, slots=True)
class OfProbe:
    """At least this share of what the probe reaches."""

    share: float


@dataclass(frozen=True, slots=True)
class OfPeers:
    """At most so many times the time of the best of these libraries; without names, of all."""

    factor: float
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Within:
    """At most so many microseconds, with so many threads; with any, where it is not said."""

    microseconds: float
    threads: int | None = None


Goal = OfProbe | OfPeers | Within

Maker = Callable[[tuple[Input, ...], np.random.Generator], list[Array]]


def in_lines(array: Array) -> Array:
    """A copy that begins with a line of the cache, for all libraries alike."""
    found = new_array(array.shape, array.dtype)
    found[...] = array
    return found


def drawn(inputs: tuple[Input, ...], random: np.random.Generator) -> list[Array]:
    return [each.array(random) for each in inputs]


@dataclass(frozen=True, slots=True)
class Workload:
    """Work that several libraries can do, with its data and what is expected of ours.

    kind: what a library looks up to know the work: an operator of ours, as `cvm.abs`, or a word
        of our own
    limit: what bounds its speed: memory that is read and written (`stream`), a copy of what is
        written (`copy`), int8 products (`dot`)
    tiny: shapes of the same work for tests
    products: how many int8 products it takes, where the shapes of a convolution or of a dense
        layer do not say it
    """

    name: str
    kind: str
    inputs: tuple[Input, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    limit: Limit | None = None
    goals: tuple[Goal, ...] = ()
    tiny: tuple[tuple[int, ...], ...] = ()
    maker: Maker = drawn
    products: int | None = None

    def problem(self, *, tiny: bool = False) -> Problem:
        """Its data, the same in each process."""
        inputs = self.inputs
        if tiny:
            pairs = zip(inputs, self.tiny, strict=True)
            inputs = tuple(replace(each, shape=shape) for each, shape in pairs)
        arrays = [in_lines(each) for each in self.maker(inputs, np.random.default_rng(7))]
        return Problem(self, inputs, arrays, self.attributes)


@dataclass(slots=True)
class Problem:
    """The data of a workload; `expected` are our results, known once ours has run."""

    workload: Workload
    inputs: tuple[Input, ...]
    arrays: list[Array]
    attributes: Mapping[str, Any]
    expected: tuple[Array, ...] = ()

    def empty(self) -> Array:
        """Memory for a result like the first of ours, but with other elements."""
        result = new_array(self.expected[0].shape, self.expected[0].dtype)
        result.fill(99)
        return result


@dataclass(frozen=True, slots=True)
class Call:
    """A library's way to do a workload.

    run: does it once; result: what it made, given to be compared with ours, or None where it is
    not the same integers by its nature (rounded, rescaled, its own choice)
    variant: which of a library's ways it is; beside: shown, but no peer, since it does less
    clock: seconds of one run where they are not those of the call
    """

    library: str
    run: Callable[[], object]
    result: Callable[[], Any] | None = None
    variant: str = ""
    beside: bool = False
    clock: Callable[[], float] | None = None

    @property
    def name(self) -> str:
        return f"{self.library}, {self.variant}" if self.variant else self.library
