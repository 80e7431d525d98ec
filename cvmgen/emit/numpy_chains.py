"""Values made element by element: one operation after the other, each in the array of the last.

An expression with an array of its own for each operation would move far more memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.emit.numpy_lists import ListPrinter
from cvmgen.emit.numpy_printer import ARRAY, HOST
from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import BINARY, PRIMARY
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import replaced, walk

UFUNCS = {
    "+": "np.add",
    "-": "np.subtract",
    "*": "np.multiply",
    "shl": "np.left_shift",
    "shr": "np.right_shift",
    "floordiv": "np.floor_divide",
    "mod": "np.remainder",
}
CALLS = {"max": "np.maximum", "min": "np.minimum", "abs": "np.abs"}


@dataclass(frozen=True, slots=True)
class Operation:
    """A function that takes an array for its result, operands, and the operator that does the
    same, if there is one."""

    function: str
    operands: tuple[i.Expr, ...]
    sign: str = ""


class ChainPrinter(ListPrinter):
    """Prints values of the elements at a place, by blocks of places.

    `spare` are the arrays that they are made in, `unused` those that hold nothing at the moment.
    """

    def __init__(
        self, program: i.Program, nest: i.Nest, integer: str, single: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(program, nest, integer, single)
        self.spare: list[str] = []
        self.unused: list[str] = []

    def pointwise(self, value: i.Expr) -> bool:
        """Whether an integer is made of elements that the free indices lead to by themselves."""
        if self.checked or self.has_reals or self.kind(value) != ARRAY:
            return False
        rest = replaced(value, lambda each: i.Const(0) if self.affine_access(each) else each)
        loops = (i.Fold, i.Gather, i.Entries, i.Given)
        return not self.axes_in(rest) and not any(isinstance(each, loops) for each in walk(rest))

    def affine_access(self, node: object) -> bool:
        """Whether an access is a view of a tensor, as far as the form of its slots tells."""
        if not isinstance(node, i.Access):
            return False
        slots = [each.element if isinstance(each, i.Gather) else each for each, _ in node.index]
        affine = all(self.kind(each) != ARRAY for each in slots)
        return affine and (self.whole(node) or self.extents.flattened(node) is None)

    def chain(self, value: i.Expr, tensor: str) -> None:
        """Statements that fill a tensor with a value."""
        value, streams = self.streams(value)
        target = identifier(tensor)
        self.emit("")
        head, margin = len(self.lines) - 1, self.margin
        self.margin += 1
        self.fill(value, target)
        self.margin = margin
        arguments = [f"[{', '.join(streams)}], [{target}], {self.integer}"]
        arguments += [f"spare={len(self.spare)}"] * bool(self.spare)
        names = ", ".join([*streams, target, *self.spare])
        loop = f"for {names} in arrays.blocks({', '.join(arguments)}):"
        self.lines[head] = "    " * margin + loop

    def streams(self, value: i.Expr) -> tuple[i.Expr, list[str]]:
        """A value with locals for the elements that all places have, and the names of these."""
        operands = [each.name for each in self.operator.inputs]
        operands += [each.name for each in self.program.scratch]
        operands += self.operator.output_names
        accesses = {each: None for each in walk(value) if isinstance(each, i.Access)}
        names: dict[i.Expr, str] = {}
        for access in sorted(accesses, key=lambda each: operands.index(each.tensor)):
            if not self.affine_access(access):
                continue
            alone = all(each == access or each.tensor != access.tensor for each in accesses)
            tensor, slots = self.place(access)
            local = tensor if alone and tensor.isidentifier() else self.new(access.tensor)
            if slots or local != tensor:
                self.emit(f"{local} = {self.moved(access)}")
            self.kinds[local], self.shown[local] = ARRAY, local
            names[access] = local
        named = replaced(value, lambda each: i.Var(names[each]) if each in names else each)
        return named, list(names.values())

    def fill(self, value: i.Expr, target: str) -> None:
        while isinstance(value, i.Bind):
            self.kinds[value.name] = self.kind(value.value)
            self.shown[value.name] = self.made(value.value)[0]
            value = value.body
        operation = self.operation(value)
        if operation is None:
            match value:
                case i.Select(condition=test, then=i.Const(value=1), otherwise=i.Const(value=0)):
                    value = test
                case _:
                    pass
            self.emit(f"{target}[...] = {self.expr(value)}")
            return
        if self.integer == "np.int64":  # narrowed by a copy, which is faster than by the way
            self.emit(f"{target}[...] = {self.operated(operation)}")
            return
        texts = ", ".join(self.made(each)[0] for each in operation.operands)
        self.emit(f'{operation.function}({texts}, out={target}, casting="unsafe")')

    def made(self, value: i.Expr) -> tuple[str, bool]:
        """A value, and whether it is in a spare array."""
        if self.kind(value) == HOST:
            return self.expr(value), False
        operation = self.operation(value)
        if operation is not None:
            return self.operated(operation), True
        match value:
            case i.Bind(name=name, value=inner, body=body):
                kind, text = self.kind(inner), self.made(inner)[0]
                with self.bound({name: kind}):
                    self.shown[name] = text
                    return self.made(body)
            case _:
                return self.expr(value, PRIMARY), False

    def operated(self, operation: Operation) -> str:
        """The array that an operation leaves its result in: that of an operand if it can."""
        made = {each: self.made(each) for each in operation.operands}
        texts = [made[each][0] for each in operation.operands]
        spare = [text for text, own in made.values() if own] or [self.new_spare()]
        self.unused += spare[1:]
        if operation.sign and texts[0] == spare[0]:
            self.emit(f"{spare[0]} {operation.sign}= {texts[1]}")
        else:
            self.emit(f"{operation.function}({', '.join(texts)}, out={spare[0]})")
        return spare[0]

    def new_spare(self) -> str:
        if self.unused:
            return self.unused.pop()
        self.spare.append(self.new("value"))
        return self.spare[-1]

    def operation(self, value: i.Expr) -> Operation | None:
        """The last operation of a value, if it is one that takes an array for its result."""
        if self.kind(value) == HOST:
            return None
        match value:
            case i.Binary(op="-", left=i.Const(value=0), right=operand):
                return Operation("np.negative", (operand,))
            case i.Binary(op="shl", left=i.Const(value=1)):
                return None
            case i.Binary(op="floordiv" | "mod", right=right) if self.kind(right) != HOST:
                return None
            case i.Binary(op=op, left=left, right=right) if op in UFUNCS:
                return Operation(UFUNCS[op], (left, right), BINARY[op][1])
            case i.Call(function="clip", arguments=arguments):
                return Operation("np.clip", arguments)
            case i.Call(function="max" | "min" as name, arguments=(first, *rest, last)):
                front = i.Call(name, (first, *rest)) if rest else first
                return Operation(CALLS[name], (front, last))
            case i.Call(function="abs", arguments=arguments):
                return Operation(CALLS["abs"], arguments)
            case i.Call(function="bit_length", arguments=arguments):
                return Operation("vectors.bit_length", arguments)
            case _:
                return None
