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
from cvmgen.typing.choices import Variant, element_types
from cvmgen.typing.types import type_nest, type_prepare
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
        for nest, prepared in zip(program.nests, host.nests, strict=True):
            try:
                dtypes = element_types(program, Variant(INT32, INT32))
                typed = type_nest(program, nest, dtypes)
            except SpecError as error:
                if TOO_WIDE not in error.message:
                    raise
                continue
            try:
                compare(invented, host, prepared, typed, random.Random(seed))
            except Fault as fault:
                pytest.fail(f"{fault}\n{spec}")


def compare(
    invented: Invented, host: i.Program, prepared: i.Nest, nest: i.Nest, draw: random.Random
) -> None:
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
        found = stored(host, prepared, nest, given, elements)
        if found != wanted[number]:
            raise Fault(f"{nest.tensor} of {elements}, {given}: {found}, not {wanted[number]}")


def stored(
    host: i.Program, prepared: i.Nest, nest: i.Nest, given: dict[str, int], elements: Sequence[int]
) -> list[int]:
    names = {name: ("i64", value) for name, value in given.items()}
    machine = Machine(names, {"X": list(elements), nest.tensor: [0] * len(elements)}, host=True)
    machine.run(host.prepare)
    machine.run(prepared.prologue)
    machine.host = False
    machine.run(nest.body)
    return machine.tensors[nest.tensor]
