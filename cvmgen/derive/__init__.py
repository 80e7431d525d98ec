"""Operators derived from operators: the adjoint of a formula, as a formula."""

from cvmgen.derive.adjoint import adjoint

__all__ = ["adjoint"]
