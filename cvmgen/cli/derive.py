"""`cvmgen derive`: the adjoint of an operator, as a formula that can be saved into spec/."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.specs import probe_all, read_operator, spec_files
from cvmgen.derive import adjoint
from cvmgen.dtypes import CVM, MAX_PRECISION
from cvmgen.errors import Faults, InternalError, Strict
from cvmgen.source import Source, SpecError, SpecErrors, did_you_mean
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Input, Operator, Output, all_items
from cvmgen.spec.words import RESERVED
from cvmgen.typing.too_large import TOO_LARGE

NAME = re.compile(r"[A-Za-z_]\w*")
DERIVED = "derived.cvm"


def derive(spec: Path, operator_name: str, wrt: str, name: str | None, *, as_json: bool) -> Exit:
    """Print the adjoint of an operator with respect to one of its inputs."""
    with Progress() as progress:
        operator, operators = read_operator(spec, operator_name, progress)
        known_input(operator, wrt)
        name = derived_name(operators, operator, name or f"{operator.name}_adjoint_{wrt}")
        progress.step(f"deriving {name}")
        text = adjoint(operator, wrt, name)
        confirm(spec, operator, wrt, name, text, progress)
    shown = {"operator": operator.full_name, "wrt": wrt, "name": name, "text": text}
    return give(shown, text, as_json=as_json)


def known_input(operator: Operator, wrt: str) -> None:
    names = [each.name for each in operator.inputs]
    if wrt in names:
        return
    hint = did_you_mean(wrt, names) or f"its inputs are {', '.join(names)}"
    raise UsageError(f"{operator.full_name} has no input '{wrt}'; {hint}")


def derived_name(operators: Sequence[Operator], operator: Operator, name: str) -> str:
    """The name of the new operator, unless its opset has one of that name."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise UsageError(f"'{name}' is no name for an operator")
    for each in operators:
        if each.opset == operator.opset and name in (each.name, *each.aliases):
            hint = "give another one with --name"
            raise UsageError(f"'{name}' is an operator already, in {each.span.location}; {hint}")
    return name


def confirm(
    spec: Path, operator: Operator, wrt: str, name: str, text: str, progress: Progress
) -> None:
    """Check and try what was derived before anyone reads it: a fault in it is a fault of ours."""
    from cvmgen.reference.probe import NO_CALL

    file = SpecFile(Source(DERIVED, text), operator.opset)
    files = [each for each in spec_files(spec) if each.opset in ("", operator.opset)]
    faults = Faults()
    try:
        found = check_files([*files, file], faults)
        derived = [each for each in found if each.span.source.name == DERIVED]
        if not derived:
            raise faults.failed[f"{operator.opset}.{name}"]
        probe_all(derived, progress, Strict())
    except SpecErrors as error:
        (item,) = (each for each in operator.inputs if each.name == wrt)
        if item.dtype == CVM and all(each.message == NO_CALL for each in error.errors):
            raise too_precise(item) from error
        if all(each.message.endswith(TOO_LARGE) for each in error.errors):
            raise adjoint_too_large(operator, item) from error
        message = f"the adjoint of {operator.full_name} is no sound formula:\n{error}"
        raise InternalError(message) from error


def adjoint_too_large(operator: Operator, item: Input) -> SpecError:
    """Of errors as wide as the results' type there may be sums beyond all types of kernels."""
    message = f"the adjoint with respect to '{item.name}' {TOO_LARGE}: it adds up errors of results"
    outputs = (each for each in all_items(operator.items) if isinstance(each, Output))
    hint = " and ".join(f"'{each.name}' is {each.dtype}" for each in outputs)
    return SpecError(item.span, message, f"declare results of a smaller type ({hint})")


def too_precise(item: Input) -> SpecError:
    """Of integers that have no precision of their own sums are as wide as their type."""
    message = f"the adjoint has the type of '{item.name}', but its values more than"
    hint = f"declare '{item.name}' of a storage type such as int64"
    return SpecError(item.span, f"{message} the {MAX_PRECISION} bits of cvm", hint)
