"""The namespaces of loaded operators: `ops.cvm.conv2d`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import index
from typing import TYPE_CHECKING, Any, Protocol

from cvmgen.api.calls import Uncopied, reduced_to_recipe
from cvmgen.api.operator import Operator
from cvmgen.errors import CvmgenError
from cvmgen.escape import html_table
from cvmgen.source import did_you_mean

if TYPE_CHECKING:
    from cvmgen.api.device import Device

MOST_THREADS = 1024


class Processor(Protocol):
    """What chooses among the instructions of the processor."""

    def variants(self) -> tuple[str, ...]: ...

    def variant(self) -> str: ...

    def use_variant(self, name: str | None) -> None: ...


class Opset(Uncopied):
    """The operators of one opset, by name or alias."""

    def __init__(self, name: str, operators: Mapping[str, Operator], aliases: Mapping[str, str]):
        self._name = name
        self._operators = dict(operators)
        self._aliases = dict(aliases)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_recipe(repr(self), next(iter(self)).recipe, self._name)

    def __getattr__(self, name: str) -> Operator:
        found = self._operators.get(self.__dict__["_aliases"].get(name, name))
        if found is None:
            hint = did_you_mean(name, [*self._operators, *self._aliases])
            message = f"the opset {self._name} has no operator '{name}'"
            raise AttributeError(f"{message}; {hint}" if hint else message)
        return found

    def __dir__(self) -> list[str]:
        return sorted([*self._operators, *self._aliases])

    def __iter__(self) -> Iterator[Operator]:
        return iter(self._operators.values())

    def __len__(self) -> int:
        return len(self._operators)

    def __repr__(self) -> str:
        return f"<opset {self._name}: {len(self)} operators>"

    def _repr_html_(self) -> str:
        rows = [(each.signature, each.doc) for each in self]
        return html_table((self._name, "what it gives"), rows)


class Operators(Uncopied):
    """All loaded operators: an opset is an attribute, `ops["cvm.conv2d"]` an operator."""

    def __init__(
        self, target: str, opsets: Mapping[str, Opset], device: Device | None = None
    ) -> None:
        self.target = target
        self.device = device  # where their arrays lie, unless in memory of the host
        self.set_threads: Callable[[int], None] | None = None  # of targets that have a number
        self.processor: Processor | None = None  # of targets that have variants for it
        self._threads = 0
        self._opsets = dict(opsets)
        self.recipe: Any = None  # loads the same in another process

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_recipe(repr(self), self.recipe)

    @property
    def threads(self) -> int:
        """How many threads calls use; 0: as many as there are processors, or OMP_NUM_THREADS says.

        It is set for the whole library, whoever loaded it, and results do not depend on it.
        Raises CvmgenError for what is no number of threads, and on targets that have none.
        """
        return self._threads

    @threads.setter
    def threads(self, count: Any) -> None:
        try:
            number = -1 if isinstance(count, bool) else index(count)
        except TypeError:
            number = -1
        if not 0 <= number <= MOST_THREADS:
            raise CvmgenError(f"threads={count!r}: a number from 0 to {MOST_THREADS} is needed")
        if self.set_threads is not None:
            self.set_threads(number)
        elif number:
            raise CvmgenError(f"threads={count!r}: the target '{self.target}' has no such number")
        self._threads = number

    @property
    def variants(self) -> tuple[str, ...]:
        """The kinds of instructions that calls can use here, the best first; empty on targets that
        do not choose."""
        return () if self.processor is None else self.processor.variants()

    @property
    def variant(self) -> str | None:
        """The one of `variants` that calls use; None on targets that do not choose.

        It is set for the whole library, whoever loaded it, to the best one whose name begins so,
        None for the best of all; results do not depend on it. Raises CvmgenError where there is
        none.
        """
        return None if self.processor is None else self.processor.variant()

    @variant.setter
    def variant(self, name: str | None) -> None:
        if self.processor is not None:
            self.processor.use_variant(name)
        elif name is not None:
            raise CvmgenError(f"variant={name!r}: the target '{self.target}' has no variants")

    def __getattr__(self, name: str) -> Opset:
        found = self.__dict__.get("_opsets", {}).get(name)
        if found is None:
            opsets = self.__dict__.get("_opsets", {})
            homes = [each for each, opset in opsets.items() if name in dir(opset)]
            hint = did_you_mean(name, opsets)
            if homes:
                hint = f"did you mean {' or '.join(f'ops.{each}.{name}' for each in homes)}?"
            message = f"there is no opset '{name}'"
            raise AttributeError(f"{message}; {hint}" if hint else message)
        return found  # type: ignore[no-any-return]

    def __getitem__(self, full_name: str) -> Operator:
        opset, _, name = full_name.partition(".")
        try:
            return getattr(getattr(self, opset), name)  # type: ignore[no-any-return]
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def __iter__(self) -> Iterator[Operator]:
        for opset in self._opsets.values():
            yield from opset

    def __dir__(self) -> list[str]:
        return sorted(self._opsets)

    def __repr__(self) -> str:
        return f"<operators of {', '.join(self._opsets)} on the target {self.target}>"
