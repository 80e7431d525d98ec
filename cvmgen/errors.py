"""What users of cvmgen catch: every failure with a message that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cvmgen import rules
from cvmgen.escape import html_table, in_html, latex_table, printable

FIELDS = ("operator", "argument", "value", "rule")  # of a refused call


class CvmgenError(Exception):
    """Base of all errors that are the caller's to fix; `str(error)` is the whole message."""

    def __reduce__(self) -> tuple[Any, ...]:
        """By its message and its fields, which not all classes are made of."""
        return rules.error_again, (type(self), self.args, self.__dict__)

    def _repr_html_(self) -> str:
        """For notebooks: the message as it stands, places and carets below each other."""
        return f"<pre>{in_html(str(self))}</pre>"

    def _repr_latex_(self) -> str:
        """The same where notebooks become papers: lines below each other."""
        lines = str(self).splitlines() or [""]
        return latex_table(lines[:1], [(each,) for each in lines[1:]])


class OperatorError(CvmgenError, rules.OperatorError):
    """A call that an operator refuses; fields operator, argument, value, rule."""

    def _repr_html_(self) -> str:
        return html_table(FIELDS, [self.fields])

    def _repr_latex_(self) -> str:
        return latex_table(FIELDS, [self.fields])

    @property
    def fields(self) -> tuple[object, ...]:
        """What FIELDS name."""
        return self.operator, self.argument, self.value, self.rule


rules.raise_as(OperatorError)


class ModelError(CvmgenError, ValueError):
    """A model file that cannot be used: the file, the place in it, the rule."""

    def __init__(self, rule: str, *, file: str | None = None, where: str | None = None) -> None:
        self.rule = rule
        self.file = file
        self.where = where
        super().__init__(printable(": ".join(part for part in (file, where, rule) if part)))


class BuildError(CvmgenError):
    """A compiler that is missing or that refused generated code."""


class NoCompilerError(BuildError):
    """There is no compiler, and none was asked for by name."""


class RefusedError(BuildError):
    """Units that a compiler refused, by name, each with what it said."""

    def __init__(self, units: Mapping[str, BuildError]) -> None:
        self.units = units
        first, *others = units
        rest = f"\nand {len(others)} more: {', '.join(others)}" if others else ""
        super().__init__(f"{units[first]}{rest}")


class CacheError(BuildError):
    """A cache that cannot be written: what compilers make has no place to lie."""


class InternalError(Exception):
    """A fault of cvmgen itself; the message names the pass that should have prevented it."""


class Faults:
    """What fails in one operator and takes no other one with it: kept, and told at the end."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.failed: dict[str, Exception] = {}  # what failed of an operator, by its full name

    @contextmanager
    def apart(self, operator: str, place: str) -> Iterator[None]:
        """Keep a fault of ours in what is done for one operator; errors of users come through."""
        try:
            yield
        except CvmgenError:
            raise
        except Exception as error:
            what = str(error)
            if not isinstance(error, InternalError):
                what = f"{type(error).__name__}: {error}".removesuffix(": ")
            fault = InternalError(f"{operator} ({place}): {what}")
            fault.__cause__ = error
            self.errors.append(fault)
            self.failed.setdefault(operator, fault)


class Strict(Faults):
    """For callers that want the first fault at once."""

    @contextmanager
    def apart(self, operator: str, place: str) -> Iterator[None]:
        yield
