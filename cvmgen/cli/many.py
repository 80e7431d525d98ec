"""`cvmgen run --inputs`: a network on each row of arrays, here or on a cluster of Dask."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cvmgen.build.cluster import RETRIES, connected
from cvmgen.build.progress import Progress
from cvmgen.cli.exits import UsageError
from cvmgen.errors import CvmgenError
from cvmgen.graph import CompiledModel, Network

Array = Any
"""Of numpy, in a file, or of zarr."""
Net = Network | CompiledModel
Part = tuple[int, tuple[np.ndarray[Any, Any], ...]]
"""The first of some rows, and what they give."""

PART_BYTES = 1 << 20
"""What the inputs of some rows come to that are run together."""
MOST_ROWS = 256
OF_ARRAYS = ("zarr.json", ".zarray")
"""What the folder of an array has, of which version of the format it is."""


def run_many(
    network: Net, inputs: Sequence[Path], output: Path, scheduler: str | None, progress: Progress
) -> tuple[int, list[Path]]:
    """How many rows there were, and the files of what they give; each byte is the same wherever a
    row ran. CvmgenError for arrays that do not fit the network."""
    if scheduler is not None and network.states:
        raise UsageError("a stream's rows run one after the other: --scheduler is not for it")
    data = [opened(each) for each in inputs]
    count = _rows_of(network, inputs, data)
    step = rows_at_once(data)
    files = output_files(output, len(network.output_shapes))
    parts = here(network, data, count, step)
    if scheduler is not None:
        parts = on_cluster(scheduler, network, data, count, step)
    ends = list(zip(network.output_shapes, network.output_dtypes, strict=True))
    with replaced(files) as written:
        made = [
            created(path, (count, *shape), dtype, step)
            for path, (shape, dtype) in zip(written, ends, strict=True)
        ]
        done = 0
        for start, results in parts:
            for whole, part in zip(made, results, strict=True):
                whole[start : start + len(part)] = part
            done += len(results[0])
            progress.step("running", done, count)
        del made
    return count, files


def here(network: Net, data: Sequence[Array], count: int, step: int) -> Iterator[Part]:
    """All rows, one after the other."""
    for start in range(0, count, step):
        yield start, _run_rows(network, [np.asarray(each[start : start + step]) for each in data])


def on_cluster(
    address: str, network: Net, data: Sequence[Array], count: int, step: int
) -> Iterator[Part]:
    """All rows, as workers are done with them. What a worker had that is lost is run by another."""
    with connected(address) as client:
        from distributed import as_completed

        # Of a task, unlike of scattered data, Dask knows how to make the result again.
        there = client.submit(as_it_is, network, pure=False, retries=RETRIES)
        starts: dict[Any, int] = {}
        done = as_completed(with_results=True)
        for start in range(0, count, step):
            rows = [np.array(each[start : start + step]) for each in data]
            task = client.submit(_run_rows, there, rows, pure=False, retries=RETRIES)
            starts[task.key] = start
            done.add(task)
            # No more rows wait there than keep all threads busy.
            if len(starts) > 4 + 2 * sum(client.nthreads().values()):
                future, results = next(done)
                yield starts.pop(future.key), results
        for future, results in done:
            yield starts.pop(future.key), results


def as_it_is(network: Net) -> Net:
    return network


def _run_rows(network: Net, rows: Sequence[Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """What a network gives for some rows, together."""
    shapes = network.input_shapes
    found = []
    for row in zip(*rows, strict=True):
        given = (np.reshape(each, shape) for each, shape in zip(row, shapes, strict=True))
        result = network(*given)
        found.append(result if isinstance(result, tuple) else (result,))
    return tuple(np.stack(each) for each in zip(*found, strict=True))


# ---------------------------------------------------------------- arrays in files


def opened(path: Path) -> Array:
    """An array of a .npy file or of a .zarr folder, whose parts are read when they are needed."""
    try:
        if path.suffix == ".zarr":
            return zarr().open_array(path, mode="r")
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError) as error:
        raise CvmgenError(f"{path}: not an array of numpy or zarr: {error}") from None


def created(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], step: int) -> Array:
    if path.suffix == ".zarr":
        chunks = (min(step, shape[0]), *shape[1:])
        return zarr().open_array(path, mode="w", shape=shape, dtype=dtype, chunks=chunks)
    return np.lib.format.open_memmap(path, "w+", dtype, shape)


def zarr() -> Any:
    try:
        import zarr
    except ModuleNotFoundError:
        raise UsageError("a .zarr folder needs zarr: pip install 'cvmgen[dask]'") from None
    return zarr


def output_files(path: Path, count: int) -> list[Path]:
    """The file of each result: numbered where there are several. A folder that is there is only
    replaced if it is an array."""
    if path.suffix not in (".npy", ".zarr"):
        raise UsageError(f"{path}: results of --inputs go to a .npy file or a .zarr folder")
    files = [path.with_name(f"{path.stem}_{at}{path.suffix}") for at in range(count)]
    files = files if count > 1 else [path]
    for each in files:
        if each.is_dir() and not any((each / name).is_file() for name in OF_ARRAYS):
            raise CvmgenError(f"{each}: a folder that is no array of zarr stays as it is")
    return files


@contextmanager
def replaced(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Where to write what becomes these files when the block ends; if it fails, nothing is left."""
    with TemporaryDirectory(prefix=".cvmgen-", dir=files[0].parent) as folder:
        written = [Path(folder) / each.name for each in files]
        yield written
        for path, file in zip(written, files, strict=True):
            if file.is_dir():
                shutil.rmtree(file)
            path.replace(file)


def _rows_of(network: Net, files: Sequence[Path], data: Sequence[Array]) -> int:
    """How many rows all arrays have; each is an input of the network, whose first extent may be
    left away where it is 1."""
    if len(data) != len(network.input_shapes):
        raise CvmgenError(f"the network takes {len(network.input_shapes)} inputs, not {len(data)}")
    for path, each, shape in zip(files, data, network.input_shapes, strict=True):
        known = (shape, shape[1:]) if shape[:1] == (1,) else (shape,)
        if not each.ndim or tuple(each.shape[1:]) not in known:
            rule = f"(N, {', '.join(map(str, shape))})"
            raise CvmgenError(f"{path}: shape {tuple(each.shape)}: {rule} is needed")
    count, *others = (int(each.shape[0]) for each in data)
    if not count or any(each != count for each in others):
        told = ", ".join(f"{path}: {each.shape[0]}" for path, each in zip(files, data, strict=True))
        raise CvmgenError(f"all inputs need as many rows, and at least one: {told}")
    return count


def rows_at_once(data: Sequence[Array]) -> int:
    size: int = sum(each.dtype.itemsize * int(np.prod(each.shape[1:])) for each in data)
    return max(1, min(MOST_ROWS, PART_BYTES // max(size, 1)))
