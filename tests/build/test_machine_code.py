"""Which instructions are counted, in what nvdisasm prints and in PTX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cvmgen.build.machine_code import (
    Accesses,
    Instructions,
    instructions,
    ptx_opcodes,
    sass_opcodes,
)

AMPERE = """\
	.target	sm_80

//--------------------- .text.wide                --------------------------
	.section	.text.wide,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=14"
        .global         wide
wide:
.text.wide:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
        /*0070*/               @P0 EXIT ;
.L_x_32:
        /*0080*/              @!P0 LDG.E.U8 R7, [R6.64] ;
        /*00e0*/                   LDG.E.64 R4, [R2.64] ;
        /*0150*/                   LDG.E.128.CONSTANT R8, [R2.64] ;
        /*0180*/                   IDP.4A.S8.S8 R0, R0, R9, R10 ;
        /*01a0*/                   STG.E.128 [R4.64], R8 ;
        /*01b0*/                   ST.E [R2.64], R11 ;
        /*01c0*/               @P0 RED.E.ADD.STRONG.GPU [R8.64+-0x4], R13 ;
        /*01d0*/                   CALL.REL.NOINC `($wide$_Z1fPKii) ;
        .type           $wide$_Z1fPKii,@function
$wide$_Z1fPKii:
        /*02b0*/                   LDG.E R16, [R4.64] ;
        /*0320*/                   LDL.128 R15, [R14] ;
        /*0420*/                   STL [R14], R13 ;

//--------------------- .nv.shared.async           --------------------------
	.section	.nv.shared.async,"aw",@nobits

//--------------------- .text.async               --------------------------
	.section	.text.async,"ax",@progbits
.text.async:
        /*0090*/                   LDGSTS.E.BYPASS.LTC128B.128 [R7], [R2.64] ;
        /*0098*/                   LDGSTS.E.LTC128B [R7], [R2.64] ;
        /*00d0*/                   LDS.128 R8, [R0.X16] ;
        /*00e0*/                   IMMA.16832.S8.S8 R8, R8.ROW, R8.COL, RZ ;
        /*0130*/                   STG.E [R4.64], R11 ;
"""
BLACKWELL = """\
	.section	.text.wide,"ax",@progbits
.text.wide:
        /*0060*/                   LDG.E.ENL2.256.CONSTANT R8, R4, desc[UR4][R4.64] ;
        /*0070*/            @!UPT UIADD3 URZ, UPT, UPT, URZ, URZ, URZ ;
        /*0080*/                   STG.E.ENL2.256 desc[UR4][R2.64], R4, R8 ;
        /*0120*/               @P0 REDG.E.ADD.STRONG.GPU desc[UR4][R6.64], R15 ;
"""
PTX = """\
.version 9.0
.target sm_80
.extern .func helper
(
	.param .b64 p
)
;
.visible .entry wide(
	.param .u64 wide_param_0,
	.param .u64 wide_param_1
)
.maxntid 256
{
	.reg .b32 	%r<7>;
	ld.param.u64 	%rd1, [wide_param_0];
	cvta.to.global.u64 	%rd3, %rd1;
	ld.global.nc.v4.u32 	{%r2, %r3, %r4, %r5}, [%rd7];
	@%p1 ld.global.nc.L1::no_allocate.v2.b64 	{%rd8, %rd9}, [%rd7+16];
	ld.global.s8 	%rs1, [%rd7];
	ld.v4.u16 	{%rs1, %rs2, %rs3, %rs4}, [%rd7];
	ld.shared.v4.u32 	{%r2, %r3, %r4, %r5}, [%r9];
	ld.volatile.shared.u32 	%r2, [%r9];
	dp4a.s32.s32 	%r3, %r7, %r8, %r9;
	st.global.v4.u32 	[%rd6+16], {%r2, %r3, %r4, %r5};
	st.local.u32 	[%rd6], %r2;
	atom.global.add.u32 	%r1, [%rd6], 1;
$L__BB0_2:
	ret;
}
.func  (.param .b32 func_retval0) helper(
	.param .b64 p
)
{
	ld.global.u32 	%r21, [%rd21];
}
	// .globl	async
.visible .entry async(
	.param .u64 async_param_0
)
{
	// begin inline asm
	cp.async.cg.shared.global [%r1], [%rd1], 16;
	cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 8;
	cp.async.cg.shared.global [%r1], [%rd1], 16, %r8;
	cp.async.wait_all;
	mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r2,%r3,%r4,%r5},{%r6,%r7,%r8,%r9},{%r6,%r7},{%r2,%r3,%r4,%r5};
	wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r1, %r2}, [%rd1], %r3;
	// end inline asm
	st.global.u32 	[%rd7], %r29;
}
"""  # noqa: E501


def found(of: Mapping[str, Mapping[str, int]], *, ptx: bool = False) -> dict[str, Instructions]:
    return {kernel: instructions(opcodes, ptx=ptx) for kernel, opcodes in of.items()}


def made_of(loads: Accesses, stores: Accesses, *others: int) -> Instructions:
    return Instructions(loads, stores, *others)


def test_machine_code() -> None:
    assert found(sass_opcodes(AMPERE)) == {
        # What a function of a kernel does counts for it; local memory does not.
        "wide": made_of(Accesses(4, 1), Accesses(2, 1), 0, 1, 0, 2),
        "async": made_of(Accesses(2, 1), Accesses(1, 0), 1, 0, 2),
    }


def test_accesses_of_32_bytes() -> None:
    assert found(sass_opcodes(BLACKWELL)) == {
        "wide": made_of(Accesses(1, 1), Accesses(1, 1), 0, 0, 0)
    }


def test_ptx() -> None:
    assert found(ptx_opcodes(PTX), ptx=True) == {
        "wide": made_of(Accesses(4, 2), Accesses(1, 1), 0, 1, 0, 1),
        "async": made_of(Accesses(3, 2), Accesses(1, 0), 1, 0, 3),
    }


@pytest.mark.parametrize("read", [sass_opcodes, ptx_opcodes])
def test_a_file_without_kernels(read: Callable[[str], object]) -> None:
    assert read("\t.target\tsm_80\n") == {}


WIDTHS = [
    ("LDG.E.128", False, 1, "16 bytes"),
    ("LDG.E.ENL2.256", False, 1, "32 bytes"),
    ("LDG.E.64", False, 0, "8 bytes"),
    ("LDG.E.LTC128B", False, 0, "a prefetch of 128 bytes"),
    ("ld.global.v4.f32", True, 1, "four floats"),
    ("ld.global.v2.f64", True, 1, "two doubles"),
    ("ld.global.b128", True, 1, "one register"),
    ("ld.global.v8.b32", True, 1, "32 bytes"),
    ("ld.global.v2.u32", True, 0, "8 bytes"),
    ("ld.global.v4.u8", True, 0, "4 bytes"),
]


@pytest.mark.parametrize(("opcode", "ptx", "wide", "why"), WIDTHS)
def test_widths(opcode: str, ptx: bool, wide: int, why: str) -> None:
    assert instructions({opcode: 1}, ptx=ptx).loads == Accesses(1, wide), why
