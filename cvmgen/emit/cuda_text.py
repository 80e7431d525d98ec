"""Nests as CUDA kernels: the outermost loops are the grid, a thread for each iteration."""

from __future__ import annotations

from cvmgen.analysis.grid import Grid
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import identifier, indent
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import fresh


class CudaKernelPrinter(KernelPrinter):
    """Statements of a nest, its outermost loops as a grid; lists are references."""

    def __init__(self, program: i.Program, body: tuple[i.Stmt, ...]) -> None:
        super().__init__(program, body, ())
        self.taken = set(names_in(body)) | assigned(body)

    def word(self, expr: i.Word) -> str:
        # Kernels compile alone, without the header that has the constants.
        return f'{expr.code} /* "{expr.text}" */'

    def fresh(self, name: str) -> str:
        return fresh(name, self.taken)

    def threads(self, found: Grid) -> list[str]:
        """The kernel's statements: a stride over the grid, or one thread for all."""
        match found.loops:
            case ():
                return ["if (cvmgen_thread() > 0) return;", *self.block(found.body)]
            case (loop,) if loop.low == i.Const(0):
                index = identifier(loop.index)
                return self.stride(index, self.expr(loop.high, 8), self.block(found.body))
            case _:
                elements, at = self.fresh("elements"), self.fresh("at")
                product = " * ".join(self.expr(each, 11) for each in found.extents)
                lines = [*self.unravel(found, at), *self.block(found.body)]
                return [
                    f"const int64_t {elements} = {product};",
                    *self.stride(at, elements, lines),
                ]

    @staticmethod
    def stride(at: str, elements: str, lines: list[str]) -> list[str]:
        head = f"for (int64_t {at} = cvmgen_thread(); {at} < {elements}; {at} += cvmgen_threads())"
        if len(lines) == 1 and not lines[0].startswith("if "):
            return [head, *indent(lines)]
        return [f"{head} {{", *indent(lines), "}"]

    def unravel(self, found: Grid, at: str) -> list[str]:
        """The indices of a thread, the innermost loop's fastest."""
        read = names_in(found.body)
        outermost, *others = found.loops
        if len(others) < 2:
            sizes = [self.expr(extent(loop), 11) for loop in others]
            values = [" / ".join([at, *sizes]), *(f"{at} % {size}" for size in sizes)]
            return [
                self.index(loop, value)
                for loop, value in zip(found.loops, values, strict=True)
                if loop.index in read
            ]
        rest = self.fresh("rest")
        lines = [f"int64_t {rest} = {at};"]
        for loop in reversed(others):
            size = self.expr(extent(loop), 11)
            if loop.index in read:
                lines.append(self.index(loop, f"{rest} % {size}"))
            lines.append(f"{rest} /= {self.expr(extent(loop))};")
        return [*lines, self.index(outermost, rest)] if outermost.index in read else lines[:-1]

    def index(self, loop: i.Loop, value: str) -> str:
        if loop.low is not None and loop.low != i.Const(0):
            value = f"{self.expr(loop.low, 9)} + {value}"
        return f"const int64_t {identifier(loop.index)} = {value};"
