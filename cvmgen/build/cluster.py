"""The workers of a Dask cluster, which do for this process what takes long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cvmgen.build.files import digest_of
from cvmgen.errors import BuildError

RETRIES = 3
"""How often a task is tried again whose worker was lost."""
PATIENCE = 30
"""For the first worker, in seconds."""
_PACKAGE = Path(__file__).resolve().parent.parent


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at `address`, as tcp://localhost:8786, for the block.

    BuildError where there is none, or a worker has another cvmgen than this one: its results
    could be others.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise BuildError("--scheduler needs Dask: pip install 'cvmgen[dask]'") from None
    with _told(address):
        client = Client(address)
    with client:
        with _told(address):
            client.wait_for_workers(1, timeout=PATIENCE)
        own = package_digest()
        there = client.run(package_digest, on_error="return")
        other = [worker for worker, digest in there.items() if digest != own]
        if other:
            raise BuildError(f"another cvmgen than here, or none: the worker {', '.join(other)}")
        yield client


@contextmanager
def _told(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise BuildError(f"no workers of Dask at {address}: {error}") from None


def package_digest() -> str:
    """Of the code of this cvmgen."""
    return digest_of(_PACKAGE, sorted(_PACKAGE.rglob("*.py")))
