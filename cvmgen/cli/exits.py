"""Exit codes, and how a failure is told: text on stderr, an object on stdout with --json."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from cvmgen.errors import (
    BuildError,
    CacheError,
    CvmgenError,
    Faults,
    InternalError,
    ModelError,
    OperatorError,
)
from cvmgen.escape import json_text, lines_for_terminal
from cvmgen.source import SpecError, SpecErrors, SpecWarning


class Exit(IntEnum):
    """What the command returns to the shell."""

    OK = 0
    WRONG = 1
    USAGE = 2
    COMPILER = 3
    INTERNAL = 70
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done",
    Exit.WRONG: "a spec, a model, a file or a call is wrong; with --check: a file is stale; "
    "with --report: a kernel breaks a gate; of diff: something differs, or is not decided",
    Exit.USAGE: "the command line is wrong; of diff: one of both versions cannot be read",
    Exit.COMPILER: "a compiler is missing or failed",
    Exit.INTERNAL: "a fault of cvmgen",
    Exit.INTERRUPTED: "interrupted",
}

REPORT = "This is a fault of cvmgen. Please report it with what the command prints with --debug."


class UsageError(CvmgenError):
    """An argument of the command line that names nothing."""


def exit_code(error: BaseException) -> Exit:
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case UsageError():
            return Exit.USAGE
        case CacheError():  # of the errors of a build the only one that no compiler causes
            return Exit.WRONG
        case BuildError():
            return Exit.COMPILER
        case CvmgenError() | OSError():
            return Exit.WRONG
        case _:
            return Exit.INTERNAL


def tell(error: BaseException, *, as_json: bool, debug: bool, code: Exit | None = None) -> Exit:
    """Report a failure; returns the exit code that it stands for, or the one given."""
    code = exit_code(error) if code is None else code
    if debug:
        traceback.print_exception(error)
    if code is Exit.INTERRUPTED:
        return code
    print(lines_for_terminal(message(error, code)), file=sys.stderr)
    if as_json:
        print(json_text({"error": error_json(error, code)}))
    return code


def give(described: Any, text: str, *, as_json: bool) -> Exit:
    """Print the result of a command: for programs as JSON, or its text for people."""
    print(f"{json_text(described)}\n" if as_json else text, end="")
    return Exit.OK


def give_in_part(
    described: Mapping[str, Any], text: str, errors: Sequence[SpecError], *, as_json: bool
) -> Exit:
    """Print the result of a command, and the errors in what it had to leave out."""
    if not errors:
        return give(described, text, as_json=as_json)
    error = SpecErrors(errors)
    code = exit_code(error)
    give({**described, "error": error_json(error, code)}, text, as_json=as_json)
    return tell(error, as_json=False, debug=False)


def tell_faults(faults: Faults, code: Exit, *, debug: bool) -> Exit:
    """Report what failed in single operators; returns the code of the command with that."""
    for error in faults.errors:
        found = tell(error, as_json=False, debug=debug)
        code = found if code in (Exit.OK, Exit.WRONG) or found is Exit.INTERNAL else code
    return code


def tell_warnings(warnings: Iterable[SpecWarning]) -> None:
    for each in warnings:
        print(f"{lines_for_terminal(str(each))}\n", file=sys.stderr)


def message(error: BaseException, code: Exit) -> str:
    """The whole text for people."""
    match error:
        case InternalError():
            return f"internal error: {error}\n{REPORT}"
        case _ if code is Exit.INTERNAL:
            return f"internal error: {type(error).__name__}: {error}\n{REPORT}"
        case SpecError() | SpecErrors():
            return str(error)
        case OSError(filename=str(name), strerror=str(reason)):
            return f"error: {name}: {reason}"
        case _:
            return f"error: {error}"


def error_json(error: BaseException, code: Exit) -> dict[str, Any]:
    """The same for machines: what kind, the text, and the parts that the error knows."""
    found: dict[str, Any] = {"code": int(code), "message": str(error)}
    match error:
        case SpecErrors(errors=errors):
            return {"kind": "spec", **found, "errors": [fault_json(each) for each in errors]}
        case SpecError():
            return {"kind": "spec", **found, "errors": [fault_json(error)]}
        case ModelError(file=file, where=where, rule=rule):
            return {"kind": "model", **found, "file": file, "where": where, "rule": rule}
        case OperatorError(operator=operator, argument=argument, value=value, rule=rule):
            parts = {"operator": operator, "argument": argument, "value": value, "rule": rule}
            return {"kind": "call", **found, **parts}
        case _:
            kinds = {Exit.USAGE: "usage", Exit.COMPILER: "compiler", Exit.INTERNAL: "internal"}
            return {"kind": kinds.get(code, "file"), **found}


def fault_json(error: SpecError | SpecWarning) -> dict[str, Any]:
    """One fault of a spec, or what it may not mean."""
    span = error.span
    return {
        "file": span.source.shown,
        "line": span.line,
        "column": span.column,
        "message": error.message,
        "hint": error.hint,
    }
