"""`cvmgen.load`: generated operators on a target, compiled when needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from cvmgen.api.c_backend import CBackend
from cvmgen.api.c_operator import COperator
from cvmgen.api.calls import Backend
from cvmgen.api.manifest import Manifest, OperatorInfo, operator_of, read_manifest
from cvmgen.api.on_demand import OperatorLibraries, on_demand
from cvmgen.api.operator import Operator
from cvmgen.api.opsets import Operators, Opset
from cvmgen.api.packaged import SONAME, packaged_library
from cvmgen.build import compile_library, cpp_compiler, has_library
from cvmgen.build.files import digest_of, listed_files
from cvmgen.errors import BuildError, CvmgenError, RefusedError
from cvmgen.paths import MANIFEST, generated_folder

if TYPE_CHECKING:  # of the targets only the one that is asked for is imported
    from cvmgen.api.cuda_backend import CudaBackend
    from cvmgen.api.cuda_cpu_backend import ThreadOrder
    from cvmgen.api.device import Device

LANGUAGES = {
    "python": (".py",),
    "numpy": (".py",),
    "c": (".c", ".h"),
    "cuda": (".cu", ".cc", ".h"),
}
"""The folders of generated files, and the suffixes of what is loaded or compiled there."""

TARGETS = {"c": "c", "python": "python", "numpy": "numpy", "cuda": "cuda", "cuda-cpu": "cuda"}
"""What operators are loaded for, each with its folder."""

INTERPRETED = ("python", "numpy")


def load(
    target: str = "c",
    *,
    folder: str | Path | None = None,
    library: str | Path | None = None,
    order: ThreadOrder = "forward",
    device: int = 0,
    transfer: bool = False,
    wait: bool = False,
    threads: int = 0,
    variant: str | None = None,
) -> Operators:
    """The generated operators on a target.

    Args:
        target: "c" (each operator is compiled by the C compiler found when it is called first, and
            kept; `cvmgen build` compiles all at once), "python" or "numpy" (no compiler needed;
            loops, or operations on whole arrays), "cuda-cpu" (the CUDA text, compiled by the C++
            compiler found, on the CPU), "cuda" (a GPU; its kernels are compiled by NVRTC when they
            are needed first, and cached)
        folder: the generated folder; by default the one of this checkout or installation
        library: a shared library built before, for the targets "c", "cuda" and "cuda-cpu"
        order: in which "cuda-cpu" runs blocks and the threads of each: "forward", "reverse", or the
            seed of a random one
        device: the GPU of the target "cuda"
        transfer: "cuda" takes and gives numpy arrays, which are copied to the device and back;
            otherwise arrays of any library in the memory of the device, where they lie
        wait: each call of "cuda" returns when its kernels are done, so that what fails, or does not
            fit its type, is told by the call that it is the fault of; CVMGEN_CUDA_SYNC=1 in the
            environment asks for it too
        threads: how many threads calls of the target "c" use; 0: as many as there are processors,
            or as OMP_NUM_THREADS says. Results do not depend on it, and `Operators.threads` changes
            it later
        variant: which of `Operators.variants` calls of the target "c" use, such as "avx2", or how
            some of them begin, such as "generic": then the best of these; None: the one in use, at
            first the best that this processor has. Results do not depend on it

    Raises:
        CvmgenError: for an unknown target or folder, and where "cuda" finds no driver or GPU
        BuildError: when compiling fails, or what is compiled cannot be kept. An operator that
            alone cannot be compiled or imported says so when it is called.
    """
    if target not in TARGETS:
        raise CvmgenError(f"unknown target '{target}'; targets are {', '.join(TARGETS)}")
    if order != "forward" and target != "cuda-cpu":
        raise CvmgenError(f"order={order!r}: the target '{target}' has no order of threads")
    for name, value in (("device", device), ("transfer", transfer), ("wait", wait)):
        if value and target != "cuda":
            raise CvmgenError(f"{name}={value!r}: the target '{target}' runs on the CPU")
    place = Path(folder) if folder is not None else generated_folder()
    manifest = read_manifest(place)
    given: dict[str, Any] = {"target": target, "order": order, "device": device}
    given |= {"transfer": transfer, "wait": wait, "threads": threads, "variant": variant}
    recipe = recipe_of(given, place, library)
    if target == "cuda":
        from cvmgen.api.device import open_device

        # First of all: without a GPU nothing needs to be compiled.
        there = open_device(device)
        if threads:
            raise CvmgenError(f"threads={threads!r}: the target 'cuda' has no such number")
        if variant is not None:
            raise CvmgenError(f"variant={variant!r}: the target 'cuda' has no variants")
        on_gpu = cuda_backend(manifest, place, library, there, wait)
        return remember(load_on_device(manifest, on_gpu, transfer), recipe)
    backend = make_backend(target, manifest, place, library, order)
    if target == "c" and isinstance(backend, CBackend):
        made = operators_of_manifest(target, manifest, partial(COperator, backend=backend))
        made.set_threads = backend.set_threads
        made.processor = backend
    else:
        made = operators_of_manifest(target, manifest, partial(Operator, backend=backend))
    if threads:
        made.threads = threads
    if variant is not None:
        made.variant = variant
    return remember(made, recipe)


REMEMBERED = 8
"""How many loaded libraries are kept for what is sent next."""


class Recipe(NamedTuple):
    """The arguments of `load`, and the digest of the files that it found: so a process that is sent
    operators can load them too."""

    arguments: tuple[tuple[str, Any], ...]
    folder: str
    library: str | None
    files: str

    def __call__(self, name: str = "") -> Any:
        """The operators that were loaded so in this process, or loaded now; of these an opset or an
        operator, if it is named.

        Raises CvmgenError where other files lie now than those the recipe was made for.
        """
        found = _loaded.get(self) or _load(self)
        return reduce(getattr, filter(None, name.split(".")), found)


_loaded: WeakValueDictionary[Recipe, Operators] = WeakValueDictionary()


def remember(operators: Operators, recipe: Recipe) -> Operators:
    """Let operators tell how they were loaded."""
    operators.recipe = recipe
    for each in operators:
        each.recipe = recipe
    _loaded[recipe] = operators
    return operators


@lru_cache(maxsize=REMEMBERED)
def _load(recipe: Recipe) -> Operators:
    made = load(folder=recipe.folder, library=recipe.library, **dict(recipe.arguments))
    if made.recipe != recipe:
        what = recipe.library or recipe.folder
        raise CvmgenError(f"{what}: not what it was when its operators were sent; load them again")
    return made


def recipe_of(given: Mapping[str, Any], folder: Path, library: str | Path | None) -> Recipe:
    """How another process can load the same: it must find the same files."""
    arguments, place = tuple(given.items()), str(folder.resolve())
    if library is not None:
        path = Path(library).resolve()
        return Recipe(arguments, place, str(path), digest_of(path.parent, [path]))
    language, suffixes = _files_of(given["target"])
    root = folder / language
    found = sorted(path for path in root.rglob("*") if path.suffix in suffixes)
    return Recipe(arguments, place, None, digest_of(root, found))


def _files_of(target: str) -> tuple[str, Sequence[str]]:
    """The folder of a target's files, and their suffixes."""
    return TARGETS[target], LANGUAGES[TARGETS[target]]


def make_backend(
    target: str, manifest: Manifest, folder: Path, library: str | Path | None, order: ThreadOrder
) -> Backend:
    """What runs a target on the CPU."""
    if target in INTERPRETED:
        from cvmgen.api.python_backend import PythonBackend

        return PythonBackend(manifest, folder, target)
    if target == "c":
        return c_backend(manifest, folder, library)
    refused: dict[str, BuildError] = {}
    path = Path(library) if library is not None else compiled_operators(folder, target, refused)
    from cvmgen.api.cuda_cpu_backend import CudaCpuBackend

    return CudaCpuBackend(path, manifest, folder, order, refused)


def c_backend(manifest: Manifest, folder: Path, library: str | Path | None) -> CBackend:
    """One library of all operators where there is one, else one that grows with what is called."""
    if library is not None:
        return CBackend(Path(library), manifest, folder)
    sources = library_sources(folder)
    at_once = packaged_library(folder, sources) or has_library(sources, name="cvmgen")
    if at_once or not on_demand():
        refused: dict[str, BuildError] = {}
        return CBackend(compiled_operators(folder, "c", refused), manifest, folder, refused)
    return CBackend(folder, manifest, folder, functions=OperatorLibraries(sources, manifest))


def cuda_backend(
    manifest: Manifest,
    folder: Path,
    library: str | Path | None,
    device: Device,
    wait: bool = False,
) -> CudaBackend:
    from cvmgen.api.cuda_backend import CudaBackend

    refused: dict[str, BuildError] = {}
    path = Path(library) if library is not None else host_library(folder, refused)
    return CudaBackend(path, manifest, folder, device, refused, wait)


def host_library(folder: Path, refused: dict[str, BuildError] | None = None) -> Path:
    """The host code of the target "cuda", compiled here."""
    try:
        cpp_compiler()
    except BuildError as error:
        raise BuildError(
            f"{error}. The target 'cuda' needs it once, for its host code: "
            "load('cuda', library=PATH) takes what cvmgen.api.library.host_library() gives on "
            "another machine of this kind"
        ) from None
    return compiled_operators(folder, "cuda", refused)


def load_on_device(manifest: Manifest, backend: CudaBackend, transfer: bool = False) -> Operators:
    """The operators of a library on a GPU."""
    if transfer:
        from cvmgen.api.cuda_backend import TransferBackend

        whole = partial(Operator, backend=TransferBackend(backend))
        return operators_of_manifest("cuda", manifest, whole)
    from cvmgen.api.device_operator import DeviceOperator

    made = partial(DeviceOperator, backend=backend)
    return operators_of_manifest("cuda", manifest, made, backend.device)


def operators_of_manifest(
    target: str,
    manifest: Manifest,
    made: Callable[[OperatorInfo], Operator],
    device: Device | None = None,
) -> Operators:
    """The operators of a manifest under their names."""
    opsets: dict[str, dict[str, Operator]] = {}
    aliases: dict[str, dict[str, str]] = {}
    for info in manifest.operators:
        opsets.setdefault(info.opset, {})[info.name] = made(info)
        aliases.setdefault(info.opset, {}).update(dict.fromkeys(info.aliases, info.name))
    named = {name: Opset(name, found, aliases[name]) for name, found in opsets.items()}
    return Operators(target, named, device)


def compiled_operators(
    folder: Path, target: str = "c", refused: dict[str, BuildError] | None = None
) -> Path:
    """The shared library of all operators in a generated folder. With `refused`, operators that
    the compiler refuses are left out and told there, by full name."""
    sources = library_sources(folder, target)
    if target == "c" and (brought := packaged_library(folder, sources)) is not None:
        return brought
    try:
        return compiled_from(sources, target, folder / MANIFEST)
    except RefusedError as error:
        owners = {unit: operator_of(f"{TARGETS[target]}/{unit}") for unit in error.units}
        if refused is None or None in owners.values():
            raise
        rest = {name: text for name, text in sources.items() if name not in error.units}
        library = compiled_from(rest, target, folder / MANIFEST)
        refused |= {str(owners[unit]): each for unit, each in error.units.items()}
        return library


def deployable(folder: Path) -> Path:
    """The library that other programs are linked with: under a name that tells its interface."""
    sources = library_sources(folder)
    brought = packaged_library(folder, sources)
    return brought or compile_library(sources, name="cvmgen", flags=deployed())


def deployed() -> tuple[str, ...]:
    """The flags of a library that other programs are linked with, on machines of all levels."""
    return ("-UCVMGEN_X86_LEVEL", f"-Wl,-soname,{SONAME}")


def compiled_from(sources: Mapping[str, str], target: str, manifest: Path) -> Path:
    if target == "c":
        return compile_library(sources, name="cvmgen", manifest=manifest)
    from cvmgen.api.cuda_cpu_backend import PRELUDE

    return compile_library(
        sources, name="cvmgen-cuda", threads=False, prelude=PRELUDE, manifest=manifest
    )


def library_sources(folder: Path, target: str = "c") -> Mapping[str, str]:
    """The files that a target's library is made of, by their names below its folder."""
    language, suffixes = _files_of(target)
    root = folder / language
    known = {info.full_name for info in read_manifest(folder).operators}
    # What else lies there is not ours, or was an operator's that is no more.
    found = [
        folder / name
        for name in sorted(listed_files(folder))
        if name.startswith(f"{language}/") and name.endswith(tuple(suffixes))
        if operator_of(name) in {None, *known} and (folder / name).is_file()
    ]
    if not found:
        raise CvmgenError(f"{root}: no files of the target '{language}' here; run 'cvmgen build'")
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found}


__all__ = ["OperatorInfo", "load"]
