"""Operators whose results may not fit their type, what is told of them, and calls in any order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.errors import OperatorError
from tests.fake_gpu import A_STREAM

FORMULAS = """
operator sums {
  "The sum of each row."
  type   T in int32, float32
  input  X : T[N, M]
  output Y : T[N]
  Y[i] = sum[j < M](X[i, j])
}

operator both {
  "The sum of each row, and of its first two elements the difference."
  input  X : int32[N, M]
  output Y : int32[N]
  output Z : int32[N]
  Y[i] = sum[j < M](X[i, j])
  Z[i] = X[i, 0] - (X[i, 1] if M > 1 else 0)
}

operator positive {
  "Elements, and 0 for those below it."
  input  X : int32[n...]
  output Y : int32[n...]
  Y[d...] = max(X[d...], 0)
}
"""
B_STREAM = 0x52
LARGE, LEAST = 1 << 30, -(1 << 31)
GOOD = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
BAD = np.array([[1, 2], [LARGE, LARGE], [LARGE, LARGE]], np.int32)
WORSE = np.array([[LARGE, LARGE], [3, 4], [5, 6]], np.int32)
SUMS = [3, 7, 11]
REFUSED = "late.sums: Y: element (1,) does not fit int32"
EARLIER = "late.sums: Y: element (0,) does not fit int32"


def refusal(function: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(OperatorError) as caught:
        function(*arguments, **more)
    return str(caught.value)


class Session:
    """Calls, of which many are refused, each at an element of its own; what was told of them."""

    def __init__(self, ops: Operators, device: Device, seed: int) -> None:
        self.ops, self.device, self.random = ops, device, Random(seed)
        self.streams = (0, A_STREAM, B_STREAM)
        self.found: list[tuple[Any, str]] = []
        self.untold: set[str] = set()
        self.calls = 0

    def told(self, work: Callable[[], Any]) -> bool:
        """Whether a refusal is raised, which then is one of those that are left."""
        try:
            work()
        except OperatorError as error:
            self.untold.remove(str(error))
            return True
        return False

    def call(self) -> None:
        stream, bad = self.random.choice(self.streams), self.random.random() < 0.4
        values, text = np.ones((400, 2), np.int32), ""
        if bad:
            values[self.calls :] = LARGE
            text = f"late.sums: Y: element ({self.calls},) does not fit int32"
        x = DeviceArray.of(self.device, values, stream)

        def work() -> None:
            result = self.ops.late.sums(x, stream=stream)
            if self.random.random() < 0.3:
                result = self.ops.late.positive(result, stream=self.random.choice(self.streams))
            self.found.append((result, text))

        if not self.told(work):
            self.calls += 1
            self.untold |= {text} if bad else set()

    def read(self) -> None:
        if self.found:
            result, text = self.random.choice(self.found)
            if not self.told(result.to_numpy):
                assert text not in self.untold

    def drop(self) -> None:
        if self.found:
            self.found.pop(self.random.randrange(len(self.found)))

    def wait(self) -> None:
        self.told(lambda: self.device.synchronize(self.random.choice((*self.streams, None))))

    def end(self) -> None:
        self.found.clear()
        while self.told(self.device.synchronize):
            pass
        assert not self.untold
