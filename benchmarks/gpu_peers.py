"""PyTorch's way to do the workloads of `gpu`, on the same device in the same run."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable, Sequence
from typing import Any

LEAST_MS = 5.0  # of a round: a launch alone is too short to be told from its neighbours
ROUNDS = 15

Way = Callable[..., Callable[[], object]]


def product(torch: Any, functional: Any, x: Any, w: Any) -> Callable[[], object]:
    """int8 to int32 by cuBLASLt."""
    turned = w.t()
    return lambda: torch._int_mm(x, turned)


def half_convolution(groups: int) -> Way:
    def way(torch: Any, functional: Any, x: Any, w: Any) -> Callable[[], object]:
        """It has none of int8: that of half precision, by cuDNN, channels last."""
        a, b = (each.half().to(memory_format=torch.channels_last) for each in (x, w))
        return lambda: functional.conv2d(a, b, padding=1, groups=groups)

    return way


def half_pool(torch: Any, functional: Any, x: Any) -> Callable[[], object]:
    a = x.half()
    return lambda: functional.max_pool2d(a, 3, 2, 1)


WAYS: dict[str, Way] = {
    "relu": lambda torch, functional, x: lambda: torch.relu(x),
    "elemwise_add": lambda torch, functional, x, y: lambda: torch.add(x, y),
    "broadcast_add": lambda torch, functional, x, y: lambda: torch.add(x, y),
    "cvm_right_shift": lambda torch, functional, x: lambda: torch.clamp((x + 8) >> 4, -127, 127),
    "transpose": lambda torch, functional, x: lambda: x.t().contiguous(),
    "concatenate": lambda torch, functional, x, y: lambda: torch.cat((x, y), 1),
    "sum of rows": lambda torch, functional, x: lambda: torch.sum(x, 1, dtype=torch.int32),
    "sum of columns": lambda torch, functional, x: lambda: torch.sum(x, 0, dtype=torch.int32),
    "sum of all": lambda torch, functional, x: lambda: torch.sum(x, dtype=torch.int32),
    "max_pool2d": half_pool,
    "upsampling": lambda torch, functional, x: (
        lambda: x.repeat_interleave(2, 2).repeat_interleave(2, 3)
    ),
    "reduce_sum": lambda torch, functional, x: lambda: torch.sum(x, 1),
    "dense": product,
    "conv2d 3x3, 64 to 64": half_convolution(1),
    "conv2d 3x3 of each channel": half_convolution(64),
}
"""By how a workload's name begins. Where PyTorch has no operation for these elements it is that of
half precision, which reads twice the bytes of int8."""


def milliseconds(name: str, arrays: Sequence[Any]) -> float | None:
    """Of a call of PyTorch on copies of these arrays; None where it is not here or has no way."""
    way = next((WAYS[each] for each in WAYS if name.startswith(each)), None)
    if way is None:
        return None
    try:
        torch: Any = importlib.import_module("torch")
        functional = importlib.import_module("torch.nn.functional")
        run = way(torch, functional, *(torch.from_numpy(each).cuda() for each in arrays))
        once = _time(torch, run, 2)
        repeats = max(1, int(LEAST_MS / max(once, 1e-4)))
        return statistics.median(_time(torch, run, repeats) for _ in range(ROUNDS))
    except (ImportError, RuntimeError, AssertionError, NotImplementedError):
        return None  # no PyTorch, none for this device, or none for these elements


def _time(torch: Any, run: Callable[[], object], repeats: int) -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(repeats):
        run()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) / repeats
