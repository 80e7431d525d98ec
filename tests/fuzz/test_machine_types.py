"""Machine types that lowering chooses, for invented formulas and elements of all sizes.

Each operation is done in its type, as C does it: none may overflow, and what is stored are the
lowest bits of the exact value, also where an element is beyond its precision.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.dtypes import INT32
from cvmgen.ir import nodes as i
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.typing.choices import Variant, storage_types
from cvmgen.typing.types import memory_types, type_nest, type_prepare
from tests.fuzz import seeds
from tests.fuzz.integer_formulas import Invented, Inventor, NoValue
from tests.fuzz.typed_programs import Fault, Machine, wrapped

OUTPUTS = 4
TOO_WIDE = "larger than a kernel can compute"
ENDS = (-(1 << 31), -(1 << 31) + 1, (1 << 31) - 1, -(1 << 15), 65535, -1, 0, 1, 2, 3, -7)


@pytest.mark.parametrize("block", range(4))
def test_each_operation_fits_its_type(block: int) -> None:
    for seed in seeds(24):
        invented = Inventor(4 * seed + block, short=True).operator("f", OUTPUTS)
        spec = invented.spec.replace(" : cvm[N]\n  Y", " : cvm[N] precision 32\n  Y")
        try:
            (operator,) = check_files([SpecFile(Source("test.cvm", spec), "test")])
        except SpecErrors as errors:
            if "the bounds of this value are not known" in str(errors):
                continue
            raise
        program = lower(operator, C_LIKE)
        host = type_prepare(program)
        before: list[i.Nest] = []  # those of lets, with the types of their elements
        elements: dict[str, str] = {}
        for nest, prepared in zip(program.nests, host.nests, strict=True):
            try:
                dtypes = storage_types(program, Variant(INT32, INT32))
                typed = type_nest(program, nest, dtypes)
                if nest.tensor in program.lets:
                    kept = memory_types(program, nest, dtypes)
                    elements |= {name: each.machine for name, each in kept.items()}
                    before.append(typed)
                    continue
            except SpecError as error:
                if TOO_WIDE not in error.message:
                    raise
                continue
            try:
                draw = random.Random(seed)
                compare(invented, host, prepared, (*before, typed), elements, draw)
            except Fault as fault:
                pytest.fail(f"{fault}\n{spec}")


def compare(
    invented: Invented,
    host: i.Program,
    prepared: i.Nest,
    nests: Sequence[i.Nest],
    kinds: dict[str, str],
    draw: random.Random,
) -> None:
    nest = nests[-1]
    number = host.operator.output_names.index(nest.tensor)
    for _ in range(6):
        count, a, b = draw.choice((1, 2, 3)), draw.choice(range(-3, 4)), draw.choice((0, 1, 2))
        elements = [draw.choice(ENDS) for _ in range(count)]
        try:
            values = invented.values(count, a, b, elements)
            wanted = [[wrapped("i32", value(at)) for at in range(count)] for value in values]
        except NoValue:
            continue
        given = {"N": count, "a": a, "b": b, "$p": 32}
        found = stored(host, prepared, nests, kinds, given, elements)
        if found != wanted[number]:
            raise Fault(f"{nest.tensor} of {elements}, {given}: {found}, not {wanted[number]}")


def stored(
    host: i.Program,
    prepared: i.Nest,
    nests: Sequence[i.Nest],
    kinds: dict[str, str],
    given: dict[str, int],
    elements: Sequence[int],
) -> list[int]:
    """What the last of the nests stores, behind those of lets in memory."""
    names = {name: ("i64", value) for name, value in given.items()}
    tensors = {each.tensor: [0] * len(elements) ** 2 for each in nests[:-1]}
    tensors |= {"X": list(elements), nests[-1].tensor: [0] * len(elements)}
    machine = Machine(names, tensors, host=True, elements=kinds)
    machine.run(host.prepare)
    machine.run(prepared.prologue)
    machine.host = False
    for each in nests:
        machine.run(each.body)
    return machine.tensors[nests[-1].tensor]
