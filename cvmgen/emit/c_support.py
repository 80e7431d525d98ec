"""The files of the C target that all operators share, and the public header of an opset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cvmgen import rules
from cvmgen.dtypes import DTYPES, LIST_CAPACITY, MAX_INPUTS, MAX_PRECISION, MAX_RANK, MAX_SIZE
from cvmgen.emit import c_words, interface
from cvmgen.emit.c_bound import bind_head
from cvmgen.emit.c_spelling import comment
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.c_types import dtype_names
from cvmgen.emit.c_variants import variant_values
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.emit.power_tables import elementary_tables, power_tables
from cvmgen.emit.render import render_template, support_file
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.formula import Operator
from cvmgen.spec.types import MOST_ROWS
from cvmgen.spec.words import alternatives

HEADERS = (  # of CUDA too
    "cvmgen.h",
    "cvmgen_elementary.h",
    "cvmgen_kernel.h",
    "cvmgen_power.h",
    "cvmgen_runtime.h",
)
TILE_SOURCES = (
    "cvmgen_tile.c",
    "cvmgen_tile_arm.c",
    "cvmgen_tile_bytes.c",
    "cvmgen_tile_generic.c",
    "cvmgen_tile_x86.c",
    "cvmgen_x86.c",
)
KERNEL_FILES = (
    "cvmgen.c",
    "cvmgen_tile.h",
    "cvmgen_tile_variants.h",
    "cvmgen_tile_generic.h",
    "cvmgen_x86.h",
    *TILE_SOURCES,
    "cvmgen_contract.h",
    "cvmgen_contract.c",
    "cvmgen_geometry.h",
    "cvmgen_geometry.c",
    "cvmgen_image.c",
    "cvmgen_panels.c",
    "cvmgen_threads.h",
    "cvmgen_threads.c",
    "cvmgen_runs.h",
    "cvmgen_runs.c",
    "cvmgen_bound.h",
    "cvmgen_bound.c",
    "cvmgen_moves.h",
    "cvmgen_moves.c",
    "cvmgen_turns.h",
    "cvmgen_turns.c",
    "cvmgen_squares.h",
    "cvmgen_vectors.h",
    "cvmgen_slides.h",
    "cvmgen_functions.h",
    "cvmgen_products.h",
    "cvmgen_products_panel.h",
    "cvmgen_products.c",
    "cvmgen_functions.c",
)


def emit_support(schedules: Schedules | None = None) -> dict[str, str]:
    """The files that every operator includes; by cvmgen's own intrinsics if no others are given."""
    chosen = packaged() if schedules is None else schedules
    values = {
        "max_rank": MAX_RANK,
        "list_capacity": LIST_CAPACITY,
        "max_size": MAX_SIZE,
        "max_precision": MAX_PRECISION,
        "far_precision": rules.FAR_PRECISION,
        "most_named": rules.MOST_NAMED,
        "no_memory": rules.NO_MEMORY,
        "most_shown": rules.MOST_SHOWN,
        "rank_limit": rules.RANK_LIMIT,
        "input_missing": rules.INPUT_MISSING,
        "inputs_needed": rules.INPUTS_NEEDED,
        "inputs_limit": rules.INPUTS_LIMIT,
        "max_inputs": MAX_INPUTS,
        "size_limit": rules.SIZE_LIMIT,
        "rank_limit_or_empty": rules.RANK_LIMIT_OR_EMPTY,
        "extent_positive": rules.EXTENT_POSITIVE,
        "extent_negative": rules.EXTENT_NEGATIVE,
        "output_negative": rules.OUTPUT_NEGATIVE,
        "precision_range": rules.PRECISION_RANGE,
        "dtype_names": dtype_names((name, dtype.code) for name, dtype in DTYPES.items()),
        "dtype_bytes": dtype_bytes(),
        "dtypes_text": alternatives(name for name, dtype in DTYPES.items() if not dtype.digits),
        "last_dtype": max(dtype.code for dtype in DTYPES.values()),
        "most_rows": MOST_ROWS,
        **variant_values(chosen.intrinsics["dot4"]),
        **power_tables(),
        **elementary_tables(),
        "dtype_codes": ", ".join(
            f"CVMGEN_{dtype.name.upper()} = {dtype.code}"
            for dtype in sorted(DTYPES.values(), key=lambda dtype: dtype.code)
        ),
    }
    values["elements"] = "\n".join(cpp_elements())
    files = (*HEADERS, *KERNEL_FILES, "cvmgen.hpp")
    return {name: support_file(f"c/{name}", **values) for name in files}


def cpp_elements() -> Iterator[str]:
    """What C++ knows of each type of elements; what C has integers for is a type of its own."""
    plain = {dtype.c for dtype in DTYPES.values() if dtype.kind == "int" and not dtype.digits}
    for dtype in DTYPES.values():
        name = dtype.name if dtype.c in plain else dtype.c
        name = f"std::{dtype.c}" if dtype.kind == "int" and not dtype.digits else name
        code = f"static constexpr std::int32_t code = CVMGEN_{dtype.name.upper()};"
        yield f"template <> struct element<{name}> {{ {code} }};"


def dtype_bytes() -> str:
    """The bytes of an element of each type, at its code."""
    sizes = {dtype.code: dtype.bits // 8 for dtype in DTYPES.values()}
    return ", ".join(str(sizes.get(code, 0)) for code in range(max(sizes) + 1))


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The public header of an opset, which includes those of its operators."""
    includes = "\n".join(f'#include "{opset}/{each.name}.h"' for each in operators)
    return render_template("c/opset.h.j2", opset=opset, guard=opset.upper(), includes=includes)


def emit_cpp_header(opset: str, operators: Iterable[Operator]) -> str:
    """The header of an opset for C++, in which each operator is a structure that is called."""
    calls = "\n".join(line for each in operators for line in cpp_call(each))
    return render_template("c/opset.hpp.j2", opset=opset, guard=opset.upper(), calls=calls)


def cpp_call(operator: Operator) -> list[str]:
    name = interface.c_name(operator)
    given = [f"{name}_args", *(f"::{name}{each}" for each in ("_infer", "", "_bind"))]
    return [
        *wrap_c([comment(f"{operator.full_name}: {operator.doc}")]),
        *wrapped_list(f"struct {name} : call<", given, "> {"),
        f"    {name}() {{ ::{name}_defaults(this); }}",
        "};",
    ]


def emit_interface(operator: Operator) -> str:
    """The public header of one operator: what calls it needs no more, and no other one's edit
    compiles it again."""
    return render_template(
        "c/interface.h.j2",
        full_name=operator.full_name,
        name=interface.c_name(operator),
        declaration=operator_declarations(operator),
    )


def operator_declarations(operator: Operator) -> str:
    name = interface.c_name(operator)
    members = indented(interface.struct_members(operator))
    defaults = interface.default_lines(operator)
    lines = [
        *c_words.constants(operator),
        comment(f"{operator.full_name}: {operator.doc} {operator.files}"),
        f"typedef struct {name}_args {{",
        *members,
        f"}} {name}_args;",
        "/* All attributes at their defaults, everything else 0. */",
        f"static inline void {name}_defaults({name}_args *args) {{",
        f"    static {name}_args zero; /* in C++ a const one would need a value */",
        "    *args = zero;",
        *indented(defaults),
        "}",
        "/* Check the call; set the shape and precision of each output that is not NULL. */",
        f"int {name}_infer(const {name}_args *args, cvmgen_error *error);",
        f"int {name}(const {name}_args *args, cvmgen_error *error);",
        *bind_head(operator, ";"),
    ]
    return "\n".join(wrap_c(lines))
