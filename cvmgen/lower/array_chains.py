"""Values made element by element: one operation after the other, each in the array of the last.

An expression with an array of its own for each operation would move far more memory.
"""

from __future__ import annotations

from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier
from cvmgen.ir.uses import has, nodes_in
from cvmgen.ir.visit import replaced
from cvmgen.lower.array_scope import ARRAY, HOST, NestScope, tensor_itself
from cvmgen.lower.array_values import Values, is_name

UFUNCS = {
    "+": "np.add",
    "-": "np.subtract",
    "*": "np.multiply",
    "shl": "np.left_shift",
    "shr": "np.right_shift",
    "bitand": "np.bitwise_and",
    "bitor": "np.bitwise_or",
    "bitxor": "np.bitwise_xor",
    "floordiv": "np.floor_divide",
    "mod": "np.remainder",
}


Operation = tuple[str, tuple[i.Expr, ...], str]
"""A function that takes an array for its result, operands, and the operator that does the same."""


class Chain:
    """Makes a value of the elements at a place, by blocks of places.

    `spare` are the arrays that it is made in, `unused` those that hold nothing at the moment.
    """

    def __init__(self, scope: NestScope, values: Values) -> None:
        self.scope = scope
        self.values = values
        self.spare: list[str] = []
        self.unused: list[str] = []

    def pointwise(self, value: i.Expr) -> bool:
        """Whether an integer is made of elements that the free indices lead to by themselves."""
        scope = self.scope
        if scope.checked or scope.operator.has_reals or scope.kind(value) != ARRAY:
            return False
        rest = replaced(value, lambda each: i.ZERO if self.affine_access(each) else each)
        return not scope.axes_in(rest) and not has(rest, i.Fold, i.Gather, i.Entries, i.Given)

    def affine_access(self, node: object) -> bool:
        """Whether an access is a view of a tensor, as far as the form of its slots tells."""
        if not isinstance(node, i.Access):
            return False
        scope = self.scope
        slots = [each.element if isinstance(each, i.Gather) else each for each, _ in node.index]
        affine = all(scope.kind(each) != ARRAY for each in slots)
        return affine and (scope.whole(node) or scope.extents.flattened(node) is None)

    def fill(self, value: i.Expr, tensor: str) -> None:
        """Statements that fill a tensor with a value."""
        scope = self.scope
        value, streams = self.streams(value)
        target = python_identifier(tensor)

        def blocks(body: tuple[i.Stmt, ...]) -> i.Stmt:
            names = (*streams, target, *self.spare)
            kept = (tensor_itself(tensor),)
            operands = tuple(streams.values())
            spare = len(self.spare)
            return a.Blocks(names, operands, kept, scope.integer, spare, body, span=scope.span)

        with scope.inside(blocks):
            self.last(value, tensor_itself(tensor))

    def streams(self, value: i.Expr) -> tuple[i.Expr, dict[str, i.Expr]]:
        """A value with locals for the elements that all places have, and what these are."""
        scope = self.scope
        operands = [each.name for each in scope.operator.inputs]
        operands += [each.name for each in scope.program.scratch]
        operands += scope.operator.output_names
        accesses = dict.fromkeys(nodes_in(value, i.Access))
        names: dict[i.Expr, str] = {}
        streams: dict[str, i.Expr] = {}
        for access in sorted(accesses, key=lambda each: operands.index(each.tensor)):
            if not self.affine_access(access):
                continue
            alone = all(each == access or each.tensor != access.tensor for each in accesses)
            array, index = self.values.located(access)
            own = alone and is_name(array)
            local = python_identifier(access.tensor) if own else scope.new(access.tensor)
            if index or not own:
                array = scope.let(local, a.Read(array, index) if index else array)
            streams[local] = array
            scope.bind(local, ARRAY, i.Var(local))
            names[access] = local
        named = replaced(value, lambda each: i.Var(names[each]) if each in names else each)
        return named, streams

    def last(self, value: i.Expr, target: i.Access) -> None:
        """The operation whose result is the target."""
        scope = self.scope
        while isinstance(value, i.Bind):
            kind = scope.kind(value.value)
            scope.bind(value.name, kind, self.made(value.value)[0])
            value = value.body
        operation = self.operation(value)
        if operation is None:
            match value:
                case i.Select(condition=test, then=i.Const(value=1), otherwise=i.Const(value=0)):
                    value = test
                case _:
                    pass
            self.assign(target, self.values.value(value))
        elif scope.integer.name == "int64":  # narrowed by a copy, which is faster than by the way
            self.assign(target, self.operated(operation))
        else:
            function, operands, _ = operation
            call = i.Call(function, tuple(self.made(each)[0] for each in operands))
            scope.emit(a.Into(call, target, True, span=scope.span))

    def assign(self, target: i.Access, value: i.Expr) -> None:
        self.scope.emit(a.FillArray(a.At(target, ()), value, span=self.scope.span))

    def made(self, value: i.Expr) -> tuple[i.Expr, bool]:
        """A value, and whether it is in a spare array."""
        scope = self.scope
        if scope.kind(value) == HOST:
            return self.values.value(value), False
        operation = self.operation(value)
        if operation is not None:
            return self.operated(operation), True
        match value:
            case i.Bind(name=name, value=inner, body=body):
                kind, made = scope.kind(inner), self.made(inner)[0]
                with scope.bound({name: kind}):
                    scope.shown[name] = made
                    return self.made(body)
            case _:
                return self.values.value(value), False

    def operated(self, operation: Operation) -> i.Var:
        """The array that an operation leaves its result in: that of an operand if it can."""
        scope = self.scope
        function, values, op = operation
        made = {each: self.made(each) for each in values}
        operands = tuple(made[each][0] for each in values)
        spare = [each for each, own in made.values() if own and isinstance(each, i.Var)]
        spare = spare or [self.new_spare()]
        self.unused += [each.name for each in spare[1:]]
        result = spare[0]
        if op and operands[0] == result:
            scope.emit(i.Accumulate(result.name, op, operands[1], scope.span))
        else:
            scope.emit(a.Into(i.Call(function, operands), result, False, span=scope.span))
        return result

    def new_spare(self) -> i.Var:
        if not self.unused:
            self.spare.append(self.scope.new("value"))
            return i.Var(self.spare[-1])
        return i.Var(self.unused.pop())

    def operation(self, value: i.Expr) -> Operation | None:
        """The last operation of a value, if it is one that takes an array for its result."""
        if self.scope.kind(value) == HOST:
            return None
        match value:
            case i.Binary(op="-", left=i.Const(value=0), right=operand):
                return "np.negative", (operand,), ""
            case i.Binary(op="shl", left=i.Const(value=1)):
                return None
            case i.Binary(op="floordiv" | "mod", right=right) if self.scope.kind(right) != HOST:
                return None
            case i.Binary(op=op, left=left, right=right) if op in UFUNCS:
                return UFUNCS[op], (left, right), op
            case i.Call(function="clip", arguments=arguments):
                return "np.clip", arguments, ""
            case i.Call(function="max" | "min" as name, arguments=(first, *rest, last)):
                front = i.Call(name, (first, *rest)) if rest else first
                return f"np.{name}imum", (front, last), ""
            case i.Call(function="abs", arguments=arguments):
                return "np.abs", arguments, ""
            case i.Call(function="bit_length", arguments=arguments):
                return "vectors.bit_length", arguments, ""
            case _:
                return None
