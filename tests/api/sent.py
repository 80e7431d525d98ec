"""What processes that are sent operators do with them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

LIMIT = 120.0  # seconds: a message that cannot be read makes a pool wait for ever


def mapped(method: str, function: Callable[[Any], Any], given: Sequence[Any]) -> list[Any]:
    """What a pool of two processes makes of what it is given; TimeoutError if it hangs."""
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map_async(function, given).get(LIMIT)


def in_threads(operator: Any) -> Any:
    """The operator in two threads of this process."""
    X = np.arange(-5, 5, dtype=np.int8)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(operator, [X, X]))


def called(pair: tuple[Any, Any]) -> Any:
    operator, value = pair
    return operator(value)


def failed(error: Exception) -> Any:
    raise error
