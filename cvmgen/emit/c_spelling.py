"""How C spells things: types, operators and their levels, names, comments, literals."""

from __future__ import annotations

from cvmgen.emit.lines import Comment
from cvmgen.escape import in_c_comment, in_c_string
from cvmgen.functions import BITWISE
from cvmgen.ir.checks import OURS
from cvmgen.reals import is_float32
from cvmgen.schedule.generic import TYPE_PARAMETERS
from cvmgen.schedule.gpu.mapped import KernelParameter
from cvmgen.spec.words import C_WORDS

MACHINE_TYPES = {
    "i8": "int8_t",
    "i16": "int16_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "i128": "__int128",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f32": "float",
    "f64": "double",
    "bool": "bool",
    "int": "int64_t",
    "list": "cvmgen_list",
    "reals": "cvmgen_reals",
    "totals": "int32_t *const",
    "vector": "auto",
    "auto": "auto",
    "contraction": "cvmgen_contraction",
    "tile": "cvmgen_tile",
    "team": "cvmgen_team",
    "teams": "cvmgen_teams",
    "share": "cvmgen_share",
    "side": "cvmgen_side",
    "tiling": "cvmgen_tiling",
    "factor": "cvmgen_factor",
    "status": "int",
    **{each: each for each in TYPE_PARAMETERS},
}
POINTERS = {
    f"{constant}{name}*": f"{constant}{kind} *"
    for name, kind in MACHINE_TYPES.items()
    for constant in ("", "const ")
}
MACHINE_TYPES |= POINTERS
BINARY = {
    "+": (9, "+"),
    "-": (9, "-"),
    "*": (10, "*"),
    "truncdiv": (10, "/"),
    "over": (10, "/"),
    "rem": (10, "%"),
    "shl": (8, "<<"),
    "shr": (8, ">>"),
    "bitand": (5, "&"),
    "bitxor": (4, "^"),
    "bitor": (4, "|"),
}
OF_BITS = ("shl", "shr", *BITWISE)
LIMITS = {
    -(1 << 31): "INT32_MIN",
    (1 << 31) - 1: "INT32_MAX",
    -(1 << 63): "INT64_MIN",
    (1 << 63) - 1: "INT64_MAX",
}


def end_name(end: str, parameter: str) -> str:
    """What the least or the greatest value of a type parameter is called."""
    return f"{end}_{parameter}"


# What generated functions call their own locals.
LOCALS = frozenset(
    {
        "NULL",
        "args",
        "dtype",
        "elements",
        "error",
        "lists",
        "narrow",
        "narrow_result",
        "overflow",
        "plan",
        "planes",
        "reduced",
        "rows",
        "status",
        "stream",
        "teams",
        "tiled",
        "tiles",
        "tiling",
        "typed",
        "typed_names",
        "types",
        "values",
        "which_case",
        "words",
        *TYPE_PARAMETERS,
        *(end_name(end, each) for each in TYPE_PARAMETERS for end in ("least", "greatest")),
    }
)
PRIMARY = 12
UNARY = 11
TERNARY = 1
REALS = {
    "inf": ("CVMGEN_INFINITY", PRIMARY),
    "-inf": ("-CVMGEN_INFINITY", UNARY),
    "nan": ("CVMGEN_NAN", PRIMARY),
}


def c_identifier(name: str) -> str:
    """A name of the formula as a C identifier; of ours, which begin with `@`, what follows."""
    if name.startswith(OURS):
        return name.removeprefix(OURS)
    return f"{name}_" if name in C_WORDS or name in LOCALS else name


def is_short_real(text: str) -> bool:
    """Whether a number is written with the suffix of 32 bits: one that they do not hold is rounded
    to 64 bits first."""
    return text not in REALS and is_float32(float(text))


def declarator(type_name: str, name: str) -> str:
    """A declaration; structures of an operator are called as they are."""
    kind = MACHINE_TYPES.get(type_name, type_name)
    return f"{kind}{name}" if type_name in POINTERS else f"{kind} {name}"


def element_type(given: KernelParameter) -> str:
    """The type of what a pointer leads to."""
    return f"{'' if given.written else 'const '}{MACHINE_TYPES.get(given.type, given.type)}"


def pointer(given: KernelParameter, restrict: str) -> str:
    """A pointer as a parameter of a function or as a local."""
    alone = f"{restrict} " if given.apart else ""
    return f"{element_type(given)} *{alone}{c_identifier(given.name)}"


def paren(text: str, level: int, least: int) -> str:
    return f"({text})" if level < least else text


def comment(text: str) -> Comment:
    """A C comment."""
    *words, last = in_c_comment(text).split(" ")
    return Comment(("/*", *words, f"{last} */"), "   ")


def c_string(text: str) -> str:
    """A C string literal."""
    return f'"{in_c_string(text)}"'
