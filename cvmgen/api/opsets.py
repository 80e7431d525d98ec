"""The namespaces of loaded operators: `ops.cvm.conv2d`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cvmgen.api.driver import Device
from cvmgen.api.operator import Operator
from cvmgen.source import did_you_mean


class Opset:
    """The operators of one opset, by name or alias."""

    def __init__(self, name: str, operators: Mapping[str, Operator], aliases: Mapping[str, str]):
        self._name = name
        self._operators = dict(operators)
        self._aliases = dict(aliases)

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


class Operators:
    """All loaded operators: an opset is an attribute, `ops["cvm.conv2d"]` an operator."""

    def __init__(
        self, target: str, opsets: Mapping[str, Opset], device: Device | None = None
    ) -> None:
        self.target = target
        self.device = device  # where their arrays lie, unless in memory of the host
        self._opsets = dict(opsets)

    def __getattr__(self, name: str) -> Opset:
        found = self.__dict__.get("_opsets", {}).get(name)
        if found is None:
            hint = did_you_mean(name, self._opsets)
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
