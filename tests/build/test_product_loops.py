"""What a product of matrices costs, in what nvdisasm prints."""

from __future__ import annotations

from cvmgen.build.product_loops import ProductLoop, product_loops

# An outer loop, in it one that stages by a copy or by bytes, may end before it has multiplied, and
# has a loop without products in it.
SASS = """\
	.section	.text.staged,"ax",@progbits
.text.staged:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   MOV R2, RZ ;
.L_x_1:
        /*0020*/              @!P0 BRA `(.L_x_3) ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R7], [R2.64] ;
        /*0040*/                   BRA `(.L_x_4) ;
.L_x_3:
        /*0050*/                   LDG.E.U8 R3, [R4.64] ;
.L_x_5:
        /*0060*/                   IADD3 R3, R3, 0x1, RZ ;
        /*0070*/               @P2 BRA `(.L_x_5) ;
        /*0080*/                   STS.U8 [R7], R3 ;
.L_x_4:
        /*0090*/               @P3 EXIT ;
        /*00a0*/              @!P4 BRA `(.L_x_6) ;
        /*00b0*/                   IMMA.16832.S8.S8 R8, R8.ROW, R8.COL, R8 ;
        /*00c0*/                   IMMA.16832.S8.S8 R12, R8.ROW, R8.COL, R12 ;
.L_x_6:
        /*00d0*/             @!UPT UIADD3 URZ, URZ, URZ, URZ ;
        /*00e0*/               @P1 BRA `(.L_x_1) ;
        /*00f0*/               @P5 BRA `(.L_x_0) ;
        /*0100*/                   EXIT ;
.L_x_9:
        /*0110*/                   BRA `(.L_x_9) ;
	.section	.text.unstaged,"ax",@progbits
.text.unstaged:
.L_x_10:
        /*0000*/                   IADD3 R3, R3, 0x1, RZ ;
        /*0010*/               @P2 BRA `(.L_x_10) ;
        /*0020*/                   HMMA.16816.F32 R8, R8, R8, R8 ;
        /*0030*/                   EXIT ;
"""


def test_the_way_with_most_products_and_copies() -> None:
    # branch, copy, branch; exit, branch, two products; nothing, branch.
    assert product_loops(SASS) == {"staged": ProductLoop(9, 2)}
    assert ProductLoop(9, 2).cost == 4.5


def test_no_kernels() -> None:
    assert product_loops("") == {}
