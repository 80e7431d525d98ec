"""Units of C that are compiled while what needs their library still makes other things."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from threading import Thread

from cvmgen.build.library import compile_unit
from cvmgen.build.process import end_running, workers
from cvmgen.errors import CvmgenError


class CompiledAhead:
    """Compiles units in the background until the block ends.

    Whoever compiles the library finds these objects in the cache, or waits for them. What fails
    here is done again there, and told.
    """

    def __init__(self) -> None:
        self._threads: list[Thread] = []

    def __enter__(self) -> CompiledAhead:
        return self

    def __exit__(self, *_: object) -> None:
        if any(each.is_alive() for each in self._threads):  # nobody waits for them any more
            end_running()
        for each in self._threads:
            each.join()

    def start(self, sources: Mapping[str, str], unit: str, *, name: str) -> None:
        """Begin with a unit of the sources; arguments as of `compile_library`."""

        def compile_it() -> None:
            with suppress(CvmgenError):
                compile_unit(sources, unit, name=name)

        if len(self._threads) < workers() - 1:  # the rest of the work takes a processor
            self._threads.append(Thread(target=compile_it, daemon=True))
            self._threads[-1].start()
