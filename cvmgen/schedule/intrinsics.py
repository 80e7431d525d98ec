"""Intrinsics: what kernels call that is written once for each kind of processor.

A block of a `.sched` file describes one: its operands and its meaning are a formula of the spec,
the other lines say how operands are prepared and what each variant needs of a processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cvmgen.source import Source, Span, SpecError, SpecErrors, did_you_mean
from cvmgen.spec import nodes as n
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Equation, Input, Operator, Output
from cvmgen.spec.schedules import (
    Action,
    Clause,
    IntrinsicBlock,
    OperandName,
    OperandNumber,
    PatternOperand,
)

LINES = {
    "stage": "stage OPERAND by NUMBER",
    "pack": "pack EXTENT by NUMBER",
    "variant": "variant NAME with FEATURES",
}
FEATURES = (
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vnni",
    "amx_tile",
    "amx_int8",
    "dotprod",
)
"""What variants may ask of a processor, as GCC names it but for hyphens: x86, then ARM."""


@dataclass(frozen=True, slots=True)
class Code:
    """What is written by hand of an intrinsic: a total for each line of its first operand and each
    of its second, in panels of so many `columns`, which take `depth` bytes at a time; the bytes of
    the first operand are `bias` above its elements. The best variant is the first."""

    columns: int
    depth: int
    bias: int
    variants: tuple[str, ...]


DOT4 = Code(
    16,
    4,
    128,
    (
        "avx512amx",
        "avx512vnni",
        "avx2",
        "neon_dot",
        "generic_avx512vnni",
        "generic_avx2",
        "generic_plain",
    ),
)
CODE: Mapping[str, Code] = {"dot4": DOT4}


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """An intrinsic that is checked: its meaning, what its operands' bytes are above the elements,
    of what its packed extents are multiples, and the features that each variant needs."""

    meaning: Operator
    staged: Mapping[str, int]
    packed: Mapping[str, int]
    variants: Mapping[str, tuple[str, ...]]

    def lines(self) -> Iterator[str]:
        """What it computes and how, for people."""
        (equation,) = (each for each in self.meaning.items if isinstance(each, Equation))
        yield f"{self.meaning.name}: {equation.span.text.strip()}"
        yield from (f"{name} as bytes of x + {bias}" for name, bias in self.staged.items())
        packed = ", ".join(f"{name} by {size}" for name, size in self.packed.items())
        yield f"packed: {packed}"
        for name, features in self.variants.items():
            yield f"{name}: {', '.join(features) or 'every processor'}"


def checked_intrinsic(block: IntrinsicBlock) -> Intrinsic:
    """The intrinsic of a block; raises SpecError or SpecErrors."""
    if block.name.text not in CODE:
        hint = did_you_mean(block.name.text, CODE) or f"there are: {', '.join(CODE)}"
        message = f"no code is there for an intrinsic '{block.name.text}'"
        raise SpecError(block.name.span, message, hint)
    if block.target.text != "c":
        raise SpecError(block.target.span, f"'{block.target.text}' has no intrinsics", "write: c")
    for line in block.lines:
        if line.name not in LINES:
            hint = did_you_mean(line.name, LINES) or f"there are: {', '.join(LINES)}"
            raise SpecError(line.name_span, f"an intrinsic has no line '{line.name}'", hint)
    meaning = formula(block)
    sides = product_extents(meaning)
    if sides is None:
        raise SpecError(
            block.span,
            f"'{block.name.text}' computes something else: int32 sums of products of two int8 "
            "operands, a result for each line of one and each line of the other",
            "as Y[r, c] = sum[k < K](X[r, k] * W[c, k])",
        )
    code = CODE[block.name.text]
    first = next(each.name for each in meaning.items if isinstance(each, Input))
    staged = line_numbers(block, "stage", {first: code.bias})
    packed = line_numbers(block, "pack", {sides[1]: code.columns, sides[2]: code.depth})
    return Intrinsic(meaning, staged, packed, feature_variants(block, code))


# ---------------------------------------------------------------- the meaning


def formula(block: IntrinsicBlock) -> Operator:
    """The lines of the formula as an operator that has the block's name; faults are told where
    they stand in the file of schedules."""
    try:
        (found,) = check_files([SpecFile(operator_source(block), "intrinsics")])
    except SpecErrors as errors:
        source = block.span.source
        raise SpecErrors(
            SpecError(Span(source, each.span.start, each.span.end), each.message, each.hint)
            for each in errors.errors
        ) from None
    return found


def operator_source(block: IntrinsicBlock) -> Source:
    """The file with nothing but the block, as an operator, everything where it was."""
    text = block.span.source.text
    shown = ["\n" if each == "\n" else " " for each in text]
    start = text.rindex("intrinsic", 0, block.span.start)
    shown[start : start + len("operator")] = "operator"
    shown[block.braces.start], shown[block.braces.end - 1] = "{", "}"
    for span in (block.name.span, *block.formula, *([] if block.doc is None else [block.doc])):
        shown[span.start : span.end] = span.text
    return Source(block.span.source.name, "".join(shown), block.span.source.path)


def product_extents(operator: Operator) -> tuple[str, str, str] | None:
    """The extents that the first operand has alone, that the second has alone, and that both
    have; None unless all that is computed is an int32 sum of products of int8 over the last."""
    typed = (each for each in operator.items if isinstance(each, (Input, Output)))
    if [each.dtype for each in typed] != ["int8", "int8", "int32"]:
        return None
    inputs = [each for each in operator.items if isinstance(each, Input)]
    equations = [each for each in operator.items if isinstance(each, Equation)]
    match inputs, equations:
        case [first, second], [
            Equation(
                value=n.Reduction(
                    function="sum",
                    binders=binders,
                    body=n.Arithmetic(sign="*", left=n.Access() as left, right=n.Access() as right),
                ),
                domain=domain,
            )
        ]:
            pass
        case _:
            return None
    places = {each.tensor: access_indices(each) for each in (left, right)}
    ranges = {
        each.index: each.high.name
        for each in (*domain.items, *binders.items)
        if isinstance(each, n.IndexRange) and isinstance(each.high, n.Ref)
    }
    if places.keys() != {first.name, second.name} or len(ranges) != 3:
        return None
    row, column, summed = ranges
    if places[first.name] != (row, summed) or places[second.name] != (column, summed):
        return None
    return ranges[row], ranges[column], ranges[summed]


def access_indices(access: n.Access) -> tuple[str, ...]:
    values = (each.value for each in access.slots)
    return tuple(each.name for each in values if isinstance(each, n.Ref))


# ---------------------------------------------------------------- the lines


def line_numbers(block: IntrinsicBlock, word: str, wanted: Mapping[str, int]) -> Mapping[str, int]:
    """The numbers of the lines that begin with a word, which the code has as they are."""
    found: dict[str, int] = {}
    for line in block.lines:
        match line.clauses:
            case (
                Clause("", (OperandName(text=name),)),
                Clause("by", (OperandNumber(value=value),)),
            ) if line.name == word:
                found[name] = value
            case _ if line.name == word:
                raise SpecError(line.span, f"this is not how '{word}' is written", LINES[word])
            case _:
                continue
        if wanted.get(name) != value:
            raise SpecError(line.span, "the code has other numbers", written_line(word, wanted))
    if found != wanted:
        raise SpecError(
            block.span, f"'{word}' is not said of all that it is for", written_line(word, wanted)
        )
    return found


def written_line(word: str, numbers: Mapping[str, int]) -> str:
    return "write: " + " and ".join(f"{word} {name} by {size}" for name, size in numbers.items())


def feature_variants(block: IntrinsicBlock, code: Code) -> Mapping[str, tuple[str, ...]]:
    """The features of each variant; all that there is code for, the best first."""
    found: dict[str, tuple[str, ...]] = {}
    for line in block.lines:
        if line.name == "variant":
            name, needed = variant(line)
            found[name] = needed
    if tuple(found) != code.variants:
        listed = ", ".join(code.variants)
        raise SpecError(block.span, "the code has other variants", f"there are, in order: {listed}")
    *special, general = found.values()
    if general or not all(special):
        raise SpecError(block.span, "each variant but the last one needs something of a processor")
    return found


def variant(line: Action) -> tuple[str, tuple[str, ...]]:
    match line.clauses:
        case (Clause("", (OperandName(text=name),)),):
            return name, ()
        case (Clause("", (OperandName(text=name),)), Clause("with", features)):
            return name, tuple(map(feature, features))
        case _:
            raise SpecError(line.span, "this is not how 'variant' is written", LINES["variant"])


def feature(operand: PatternOperand) -> str:
    if isinstance(operand, OperandName) and operand.text in FEATURES:
        return operand.text
    hint = did_you_mean(operand.span.text, FEATURES) or f"there are: {', '.join(FEATURES)}"
    raise SpecError(operand.span, "this is no feature of a processor", hint)
