"""Processes that help this one with what takes long in Python: several items at once.

They start afresh, or are the workers of the Dask scheduler that $CVMGEN_SCHEDULER names; so what
to call is named by where it is defined, once, with what all items have in common. What fails in
them, or cannot be sent, is nobody's loss: who asked does it again and finds out why.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from subprocess import Popen
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from cvmgen.build.cluster import RETRIES, connected
from cvmgen.build.process import look_for_cycles_seldom, piped, workers
from cvmgen.build.tables import kept_tables
from cvmgen.errors import BuildError
from cvmgen.spec.tables import keep_tables

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 6
"""For fewer items it takes longer to start helpers than to do without."""
_ROOT = str(Path(__file__).resolve().parents[2])
# Without -P a file of the current folder could stand for one of Python's.
_COMMAND = (sys.executable, "-P", "-c", "from cvmgen.build.helpers import serve; serve()")


def helped(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result | None]:
    """`work` of each item, in their order, by as many processes as compilers may run at once; None
    for what is left to the caller, which is all of few items."""
    with ExitStack() as stack:
        pool = _pool(work, items, stack)
        yield from (None for _ in items) if pool is None else pool[0].map(pool[1], items)


def helped_as_done(
    work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[Item, Result | None]]:
    """The same, each item with what came of it as soon as that is there."""
    with ExitStack() as stack:
        if (found := _pool(work, items, stack)) is None:
            yield from ((item, None) for item in items)
            return
        from concurrent.futures import as_completed  # slow import

        pool, ask = found
        asked = {pool.submit(ask, item): item for item in items}
        yield from ((asked[each], each.result()) for each in as_completed(asked))


def _pool(
    work: Callable[[Item], Result], items: Sequence[Item], stack: ExitStack
) -> tuple[ThreadPoolExecutor, Callable[[Item], Result | None]] | None:
    """Threads and what they do with an item, which is to have a helper do it; None without any."""
    address = os.environ.get("CVMGEN_SCHEDULER")
    found = _on_cluster(address, work, stack) if address else _here(work, len(items), stack)
    if found is None:
        return None
    from concurrent.futures import ThreadPoolExecutor  # slow import

    count, ask = found
    pool = ThreadPoolExecutor(min(count, len(items)) or 1)
    # It waits for nobody: who waits for an answer does no longer when the helpers have ended.
    stack.callback(pool.shutdown, wait=False, cancel_futures=True)
    return pool, ask


def _here(
    work: Callable[[Item], Result], items: int, stack: ExitStack
) -> tuple[int, Callable[[Item], Result | None]] | None:
    """How many items at once, and what asks a helper of this machine; None without any."""
    count = min(workers(), items)
    helpers = _started(work, count, stack) if count > 1 and items >= FEW else []
    idle: SimpleQueue[Popen[bytes]] = SimpleQueue()
    for helper in helpers:
        idle.put(helper)

    def ask(item: Item) -> Result | None:
        helper, answer = idle.get(), None
        with suppress(Exception):
            answer = _asked(helper, item)
        idle.put(helper)
        return answer

    return (count, ask) if helpers else None


def _on_cluster(
    address: str, work: Callable[[Item], Result], stack: ExitStack
) -> tuple[int, Callable[[Item], Result | None]]:
    """The same of a cluster; no more items wait there than keep all its threads busy."""
    client = stack.enter_context(connected(address))
    threads = client.nthreads().values()
    if any(each > 1 for each in threads):  # solvers are not made for it
        raise BuildError("workers of one thread each are needed: dask worker --nthreads 1")

    def ask(item: Item) -> Result | None:
        with suppress(Exception):
            answer: Result = client.submit(work, item, pure=False, retries=RETRIES).result()
            return answer
        return None

    return 2 * sum(threads), ask


def _started(work: Callable[[Item], Result], count: int, stack: ExitStack) -> list[Popen[bytes]]:
    """So many helpers, which know what to do and end with the block; none where no other Python can
    be started, or what to do cannot be sent."""
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    with suppress(BuildError, OSError, pickle.PicklingError, AttributeError):
        message = pickle.dumps(work)
        helpers = [stack.enter_context(piped(_COMMAND, PYTHONPATH=path)) for _ in range(count)]
        for each in helpers:
            _send(each.stdin, message)
        return helpers
    return []


def serve() -> None:
    """In a helper: answer what is asked on stdin until nobody asks."""
    look_for_cycles_seldom()
    keep_tables(kept_tables)
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    work = pickle.loads(_received(asked) or b"")
    while (request := _received(asked)) is not None:
        answer = b""
        with suppress(Exception):
            answer = pickle.dumps(work(pickle.loads(request)))
        _send(answers, answer)


def _asked(helper: Popen[bytes], request: Any) -> Any:
    """What a helper answers; None if it failed."""
    assert helper.stdin is not None
    assert helper.stdout is not None
    _send(helper.stdin, pickle.dumps(request))
    answer = _received(helper.stdout)
    return pickle.loads(answer) if answer else None


def _send(stream: BinaryIO | Any, content: bytes) -> None:
    stream.write(len(content).to_bytes(8, "little") + content)
    stream.flush()


def _received(stream: BinaryIO | Any) -> bytes | None:
    """The next message; None at the end."""
    head = stream.read(8)
    return stream.read(int.from_bytes(head, "little")) if len(head) == 8 else None
