"""What the C of an intrinsic's variants asks of compilers and of processors."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.schedule.intrinsics import CODE, Intrinsic

# On ARM the system says what a processor has; on x86 the processor itself does. Compilers could be
# asked too, but zig's library answers no to everything.
SYSTEM_TESTS = {
    "dotprod": "(getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0",
    **{
        name: f'cvmgen_x86_has("{name}")'
        for name in (
            *("avx2", "avx512f", "avx512bw", "avx512vl", "avx512vnni"),
            *("amx_tile", "amx_int8"),
        )
    },
}


def variant_values(intrinsic: Intrinsic) -> Mapping[str, object]:
    """What templates fill in: the columns of a panel and, for each variant, its features as the
    attribute of a function and as a test."""
    return {
        "tile_columns": CODE[intrinsic.meaning.name].columns,
        "features": {
            name: ",".join(each).replace("_", "-") for name, each in intrinsic.variants.items()
        },
        "there": {name: test(each) for name, each in intrinsic.variants.items()},
    }


def test(features: tuple[str, ...]) -> str:
    """Whether a processor has all of them, behind `return`."""
    tests = (SYSTEM_TESTS.get(each, f'__builtin_cpu_supports("{each}")') for each in features)
    return " &&\n           ".join(tests) or "true"
