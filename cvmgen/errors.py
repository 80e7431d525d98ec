"""What users of cvmgen catch: every failure with a message that stands alone."""

from __future__ import annotations

from cvmgen import support


class CvmgenError(Exception):
    """Base of all errors that are the caller's to fix; `str(error)` is the whole message."""


class OperatorError(CvmgenError, support.OperatorError):
    """A call that an operator refuses; fields operator, argument, value, rule."""


support.raise_as(OperatorError)


class ModelError(CvmgenError, ValueError):
    """A model file that cannot be used: the file, the place in it, the rule."""

    def __init__(self, rule: str, *, file: str | None = None, where: str | None = None) -> None:
        self.rule = rule
        self.file = file
        self.where = where
        super().__init__(": ".join(part for part in (file, where, rule) if part))


class BuildError(CvmgenError):
    """A compiler that is missing or that refused generated code."""


class CacheError(BuildError):
    """A cache that cannot be written: what compilers make has no place to lie."""


class InternalError(Exception):
    """A fault of cvmgen itself; the message names the pass that should have prevented it."""
