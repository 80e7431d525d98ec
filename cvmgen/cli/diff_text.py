"""What an edit means, for people: what matters most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cvmgen.cli.colour import Paint
from cvmgen.compare import findings as f
from cvmgen.compare.calls import Outcome, Witness
from cvmgen.compare.findings import OperatorDiff
from cvmgen.compare.texts import ChangedText
from cvmgen.escape import lines_for_terminal
from cvmgen.reference.arguments import shown_term
from cvmgen.reference.tensor import Tensor
from cvmgen.rules import shape_text
from cvmgen.spec.words import plural
from cvmgen.verification.values.calls import ChosenCall

LONGEST = 160  # characters of a tensor before only its shape is shown
MOST_REASONS = 3
COLOURS = {
    **dict.fromkeys((f.VALUES, f.LESS, f.REMOVED, f.PRECISION, f.INTERFACE), "red"),
    **dict.fromkeys((f.OPEN, f.RENAMED), "yellow"),
    **dict.fromkeys((f.MORE, f.NEW), "cyan"),
    f.SAME: "green",
}
TITLES = {
    "values": "other values",
    "shape": "another shape",
    "less": "refused now",
    "more": "accepted now",
    "precision": "another precision",
    "type": "another type",
}


def told(
    old: str, new: str, found: Sequence[OperatorDiff], count: int, paint: Paint, *, text: bool
) -> str:
    """The whole report; `count` operators are as they were."""
    changed = plural(len(found), "operator")
    lines = [paint("bold", f"{old} -> {new}: {changed} written otherwise, {count} as before"), ""]
    for each in found:
        lines += [*operator_lines(each, paint), ""]
    if text:
        lines += [coloured(each, paint) for one in found for each in one.texts]
    lines += _summary(found, paint, text=text)
    return "\n".join(lines) + "\n"


def _summary(found: Sequence[OperatorDiff], paint: Paint, *, text: bool) -> Iterator[str]:
    texts = [each for one in found for each in one.texts]
    if texts:
        hint = "" if text else "; --text shows it"
        yield f"generated text: {_counts(texts)}{hint}"
    level, why = f.version(found, bool(texts))
    reasons = "; ".join(why[:MOST_REASONS])
    more = f"; and {len(why) - MOST_REASONS} more" if len(why) > MOST_REASONS else ""
    colour = {f.MAJOR: "red", f.MINOR: "cyan"}.get(level, "green")
    line = f"version: {paint(colour, level)}"
    yield lines_kept(f"{line} ({reasons}{more})" if why else line)


def lines_kept(text: str) -> str:
    """A line of ours, painted; what is in it was made printable before."""
    return text


def _counts(texts: Iterable[ChangedText]) -> str:
    """`c +12 -3 in 2 files, numpy +1 -1 in 1 file`."""
    by_target: dict[str, list[ChangedText]] = {}
    for each in texts:
        by_target.setdefault(each.target, []).append(each)
    return ", ".join(
        f"{target} +{sum(e.added for e in several)} -{sum(e.removed for e in several)} in "
        f"{plural(len(several), 'file')}"
        for target, several in by_target.items()
    )


# ---------------------------------------------------------------- one operator


def operator_lines(each: OperatorDiff, paint: Paint) -> Iterator[str]:
    classes = ", ".join(paint(COLOURS[name], name) for name in each.classes)
    operator = each.new or each.old
    assert operator is not None
    name = each.name if not each.renamed_from else f"{each.renamed_from} -> {each.name}"
    sure = f": {each.certainty}" if each.is_same else ""
    place = paint("faint", lines_for_terminal(operator.span.location))
    yield f"{paint('bold', lines_for_terminal(name))}  {classes}{sure}  {place}"
    yield from (f"  {line}" for line in body_lines(each, paint))


def body_lines(each: OperatorDiff, paint: Paint) -> Iterator[str]:
    if each.causes and not (len(each.causes) == 1 and each.new and each.causes[0] == each.new.name):
        yield f"changed in {lines_for_terminal(', '.join(each.causes))}"
    for change in each.changes:
        yield lines_for_terminal(change.text)
    for kind in TITLES:
        if kind in each.witnesses:
            yield from witness_lines(each, each.witnesses[kind], paint)
    if f.OPEN in each.classes or (each.undecided and each.witnesses):
        yield undecided_text(each)
    elif each.witnesses and (known := proved_text(each)):
        yield known
    if each.texts:
        yield f"text: {_counts(each.texts)}"
    for line in each.schedules:
        yield f"another class of nests: {lines_for_terminal(line)}"


def proved_text(each: OperatorDiff) -> str:
    """What is the same though something else is not."""
    proved = each.proved
    known = [
        name
        for name, holds in (
            ("which calls are accepted", proved.accepts),
            ("shapes", proved.shapes and "shape" not in each.witnesses),
            ("precisions", proved.precisions),
            ("values", proved.values),
        )
        if holds
    ]
    given = "" if proved.defaults else " (of calls that leave no attribute away)"
    return f"proved to be the same for all sizes: {', '.join(known)}{given}" if known else ""


def undecided_text(each: OperatorDiff) -> str:
    what = ", ".join(each.undecided)
    tried = f"{plural(each.tried, 'call')} showed no other difference"
    looked = len(each.same_on) + len(each.open_on)
    if looked and "values" in each.undecided:
        tried += f", and {len(each.same_on)} of {looked} were the same for all values"
    return f"not decided: {what} ({tried})"


def witness_lines(each: OperatorDiff, witness: Witness, paint: Paint) -> Iterator[str]:
    yield f"{TITLES[witness.kind]}: {lines_for_terminal(call_text(each, witness.call))}"
    sides = ("before", witness.old), ("now", witness.new)
    for title, outcome in sides:
        yield f"  {title:<7} {lines_for_terminal(outcome_text(outcome, witness.kind))}"
    if witness.element is not None:
        one = witness.element
        index = ", ".join(map(str, one.index))
        values = f"{shown_term(one.old)} before, {shown_term(one.new)} now"
        yield paint("bold", f"  first at {one.output}[{index}]: {values}")
    if witness.kind in ("values", "shape") and each.runs is not None:
        yield from run_lines(each, paint)


def run_lines(each: OperatorDiff, paint: Paint) -> Iterator[str]:
    assert each.runs is not None
    if each.runs.agree:
        yield f"  the kernels of both give this too (target {each.runs.target})"
        return
    yield paint("red", f"  the kernels of target {each.runs.target} do not give this:")
    for title, outcome in (("before", each.runs.old), ("now", each.runs.new)):
        yield f"    {title:<7} {lines_for_terminal(outcome_text(outcome, 'values'))}"


def call_text(each: OperatorDiff, call: ChosenCall) -> str:
    """The call as it is written in Python, and what that does not show."""
    operator = each.old or each.new
    assert operator is not None
    parts = [f"{name}={operand_text(value)}" for name, value in call.inputs.items()]
    parts += [f"{name}={value!r}" for name, value in call.attributes.items()]
    return f"{operator.name}({', '.join(parts)}){_types_text(call)}"


def operand_text(operand: Any) -> str:
    if isinstance(operand, list):
        return f"[{', '.join(map(operand_text, operand))}]"
    return "None" if operand is None else tensor_text(operand)


def tensor_text(tensor: Tensor) -> str:
    text = str(tensor.nested()) if tensor.size else ""
    if not text or len(text) > LONGEST:
        return f"<{tensor.dtype} of shape {shape_text(tensor.shape)}>"
    return text


def _types_text(call: ChosenCall) -> str:
    """The precisions and the types of inputs that are not int32 by themselves."""
    found = []
    for name, operand in call.inputs.items():
        for tensor in operand if isinstance(operand, list) else [operand]:
            if tensor is not None and tensor.precision:
                found.append(f"{name} of {plural(tensor.precision, 'bit')}")
            elif tensor is not None and tensor.dtype != "int32":
                found.append(f"{name} {tensor.dtype}")
    return f", with {', '.join(dict.fromkeys(found))}" if found else ""


def outcome_text(outcome: Outcome, kind: str) -> str:
    if outcome.refusal:
        return f"refused: {outcome.refusal}"
    parts = []
    for name, tensor in outcome.outputs.items():
        match kind:
            case "precision":
                parts.append(f"{name} of {plural(tensor.precision, 'bit')}")
            case "type":
                parts.append(f"{name} {'cvm' if tensor.precision else tensor.dtype}")
            case "shape":
                parts.append(f"{name} of shape {shape_text(tensor.shape)}: {tensor_text(tensor)}")
            case _:
                parts.append(f"{name} = {tensor_text(tensor)}")
    return ", ".join(parts)


def coloured(each: ChangedText, paint: Paint) -> str:
    """A unified diff, its lines in colour."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = lines_for_terminal(each.diff).split("\n")
    heads = ("+++", "---")
    return "\n".join(
        paint("bold", line)
        if line.startswith(heads)
        else paint(colours[line[:1]], line)
        if line[:1] in colours
        else line
        for line in lines
    )
