"""IR as text, for people: what `cvmgen show --after` prints and tests compare."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, assert_never

from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered_of_parts

OPERATORS = {
    "floordiv": "div",
    "truncdiv": "tdiv",
    "shl": "<<",
    "shr": ">>",
    "bitand": "&",
    "bitor": "bitor",
    "bitxor": "xor",
    "difference": "-",
    "union": "|",
}
BLOCKS = ("body", "then", "otherwise")


def program_text(program: i.Program) -> str:
    lines = [f"program {program.operator.full_name}"]
    lines += [line for part in program_parts(program) for line in part]
    return "\n".join(lines) + "\n"


def program_parts(program: i.Program) -> list[list[str]]:
    """The lines of the host part and those of each nest, below a line that says what it is."""
    host = with_head("prepare:", program.prepare)
    for name, memory in program.lets.items():
        extents = ", ".join(map(text, memory.shape))
        host.append(f"memory {name}[{extents}]: {memory.why}{filled_text(memory.filled)}")
    return [host, *map(lines_of_nest, program.nests)]


def filled_text(part: i.FilledPart | None) -> str:
    """Which elements of memory are filled, where these are not all."""
    return "" if part is None else f"; filled for {part.indices[-1]} < {text(part.end)}"


def lines_of_nest(nest: i.Nest) -> list[str]:
    case = "" if nest.case is None else f" (case {nest.case})"
    head = f"nest {nest.tensor}{case}: {nest.formula}"
    if nest.each is None:
        return with_head(head, nest.body)
    index, tensor, count = nest.each
    around = f"  for each of {tensor}: {index} < {text(count)}"
    return [head, around, *with_head("", (*nest.prologue, *nest.body))[1:]]


def block_lines(statements: i.Block) -> list[str]:
    return [line for statement in statements for line in statement_lines(statement)]


def with_head(head: str, body: i.Block) -> list[str]:
    return [head, *(f"  {line}" for line in block_lines(body))]


@remembered_of_parts
def statement_lines(statement: i.Stmt) -> list[str]:
    match statement:
        case i.Let(name=name, type=type_name, value=value):
            return [f"let {name}: {type_name} = {text(value)}"]
        case i.Array(name=name, type=type_name, length=length, space=space):
            return [f"{space or 'array'} {name}: {length} {type_name}"]
        case i.Assign(name=name, value=value):
            return [f"{name} = {text(value)}"]
        case i.Accumulate(name=name, op=op, value=value):
            return [f"{name} {op}= {text(value)}"]
        case i.AddAt(name=name, index=index, value=value):
            return [f"{name}[{text(index)}] += {text(value)}"]
        case i.SetAt(name=name, index=index, value=value):
            return [f"{name}[{text(index)}] = {text(value)}"]
        case i.Append(name=name, value=value):
            return [f"append {text(value)} to {name}"]
        case i.Store(target=target, value=value):
            return [f"{text(target)} = {text(value)}"]
        case i.Overflow(tensor=tensor, offset=offset):
            return [f"overflow {tensor}@[{text(offset)}]"]
        case i.Sort(entries=entries, keys=keys, most=most):
            first = "" if most is None else f"the first {text(most)} of "
            return [f"sort {first}{text(entries)} by {text(keys)}"]
        case i.Break():
            return ["break"]
        case i.Return(value=value):
            return ["return" if value is None else f"return {text(value)}"]
        case i.Copy(target=target, step=step, source=source, source_step=source_step, count=count):
            places = f"{text(target)} by {text(step)} = {text(source)} by {text(source_step)}"
            return [f"copy {text(count)}: {places}"]
        case i.Move(target=target, steps=to, source=source, source_steps=back, extents=extents):
            places = f"{text(target)} by {text(to)} = {text(source)} by {text(back)}"
            return [f"move {text(extents)}: {places}"]
        case i.Turn(target=target, lanes=lanes, source=source, step=step, runs=runs, count=count):
            places = f"{text(target)} by {lanes} = {text(runs)} of {text(source)} by {text(step)}"
            return [f"turn {text(count)}: {places}"]
        case i.Slide(target=target, source=source, first=first, count=count):
            return [f"slide {count}: {text(target)} = {text(first)}, {text(source)}"]
        case i.Apply(function=function, values=values, count=count):
            return [f"apply {function}, {text(count)}: {text(values)}"]
        case i.Products():
            return [products_text(statement)]
        case i.Fetch(place=place, ahead=ahead):
            return [f"fetch {text(place)} + {ahead} bytes"]
        case i.Fill(target=target, step=step, value=value, count=count):
            return [f"fill {text(count)}: {text(target)} by {text(step)} = {text(value)}"]
        case i.Tile(totals=totals, data=data, rows=rows, panels=panels):
            whole = f"{text(statement.row_count)} rows, {text(statement.panel_count)} panels"
            factors = f"{len(statement.runs)} runs of {text(data)}, {text(panels)}"
            return [f"tile {whole}: {text(totals)} = {factors} at {text(rows)}"]
        case i.Loop(index=index, low=low, high=high, body=body, parallel=parallel):
            prefix = "parallel " if parallel else ""
            if statement.worth is not None:
                prefix = f"parallel if {text(statement.worth)}: "
            prefix += f"{statement.vector} " if statement.vector else ""
            if statement.share is not None:
                share = statement.share
                prefix += f"by {share.among} from {text(share.first)} by {text(share.step)} "
            prefix += f"unrolled {statement.unroll} " if statement.unroll else ""
            if low is None:
                return with_head(f"{prefix}for {index} in {text(high)}:", body)
            by = "" if statement.step == 1 else f" by {statement.step}"
            return with_head(f"{prefix}for {text(low)} <= {index} < {text(high)}{by}:", body)
        case i.Barrier():
            return ["barrier"]
        case i.Invoke(call=call):
            return [text(call)]
        case i.Launch(function=function, count=count, kernel=kernel, arguments=arguments):
            given = "".join(f", {text(each)}" for each in arguments)
            named = kernel if kernel[:1].isalpha() else f"kernel{kernel}"
            return [f"{function.function} {named}: {text(count)}{given}"]
        case i.Fork(part=part, count=count, captures=captures):
            given = ", ".join(each.name.removeprefix(h.OURS) for each in captures)
            return [f"fork {part}: {text(count)} with {given}"]
        case i.CallInline(function=function, captures=captures, values=values):
            given = ", ".join(each.name.removeprefix(h.OURS) for each in captures)
            return [f"{function}({', '.join(map(text, values))}) with {given}"]
        case i.Borrow(name=name, entries=entries, body=body):
            return with_head(f"with {text(entries)} entries on the device as {name}:", body)
        case i.PackLoop(pack=pack, extents=extents, slots=slots, body=body):
            at = "" if slots is None else f" at {text(slots)}"
            return with_head(f"for {pack}... < {text(extents)}{at}:", body)
        case i.If(condition=condition, then=then, otherwise=otherwise):
            lines = with_head(f"if {text(condition)}:", then)
            return lines + (with_head("else:", otherwise) if otherwise else [])
        case i.Require(condition=condition, rule=rule):
            return [f"require {text(condition)} : {rule!r}"]
        case i.TakeInput(input=item):
            return [f"input {item.name}"]
        case i.TakeAttribute(attribute=attribute):
            return [f"attribute {attribute.name}"]
        case i.SetOutput(tensor=tensor, extents=extents, precision=precision):
            rule = "" if precision is None else f" precision {text(precision)}"
            return [f"output {tensor}: {text(extents)}{rule}"]
        case i.Merge(extents=extents, steps=steps):
            word = "sort and merge" if statement.sorted else "merge"
            return [f"{word} {extents} along {', '.join(steps)}"]
        case i.Cases(branches=branches):
            lines = []
            for number, (condition, body) in enumerate(branches):
                lines += with_head(f"case {number}: {text(condition)}", body)
            return lines
        case i.HostStmt():
            return [host_text(statement)]
        case i.ArrayStmt():
            inner = (each for name in BLOCKS for each in getattr(statement, name, ()))
            return with_head(array_text(statement), tuple(inner))
        case _:
            assert_never(statement)


def host_text(statement: i.HostStmt) -> str:
    match statement:
        case h.Check(function=function, operand=operand, gives=gives):
            return f"{', '.join(gives)}{' = ' * bool(gives)}{function} {operand}"
        case h.Refuse(operand=operand, rule=rule):
            named = (each.name if isinstance(each, h.NamedTerm) else str(each) for each in rule)
            return f"refuse {operand}: {''.join(named)!r}"
        case h.Unpack(names=names, value=value):
            return f"{', '.join(names)} = {text(value)}"
        case h.FillPlan(members=members):
            return f"keep {', '.join(name for name, _ in members)}"
        case _:
            raise AssertionError("another statement of the host")


def products_text(products: i.Products) -> str:
    sides = ((products.rows, products.x), (products.columns, products.w))
    factors = " times ".join(
        f"{text(number)} of {text(side.first)} by {text(side.line)}, {text(side.term)}"
        for number, side in sides
    )
    depth = text(products.depth)
    if products.longer != i.ZERO:
        depth += f" and {text(products.longer)} more for each row"
    return f"products of {depth}: {text(products.totals)} += {factors}"


def text(expr: i.Expr, least: int = 0) -> str:
    """An expression with the parentheses that it needs where `least` is the binding around."""
    written, level = leveled(expr)
    return f"({written})" if level < least else written


def leveled(expr: i.Expr) -> tuple[str, int]:
    match expr:
        case i.Var(name=name):  # most are
            return name, 7
        case i.Binary(op=op, left=left, right=right):
            level = 6 if op in ("*", "floordiv", "truncdiv", "mod", "rem") else 5
            sign = OPERATORS.get(op, op)
            return f"{text(left, level)} {sign} {text(right, level + 1)}", level
        case i.Compare(op=op, left=left, right=right):
            return f"{text(left, 5)} {op} {text(right, 5)}", 4
        case i.Logic(op=op, operands=operands):
            level = 2 if op == "and" else 1
            return f" {op} ".join(text(each, level + 1) for each in operands), level
        case i.Not(operand=operand):
            return f"not {text(operand, 4)}", 3
        case i.Select(condition=condition, then=then, otherwise=otherwise):
            return f"{text(then, 1)} if {text(condition, 1)} else {text(otherwise)}", 0
        case _:
            return closed_text(expr), 7


def closed_text(expr: i.Expr) -> str:
    """An expression that needs no parentheses anywhere."""
    match expr:
        case i.Const(value=value):
            return str(value).lower()
        case i.Var(name=name):
            return name
        case i.Call(function=function, arguments=arguments, constants=constants):
            made_for = f"<{', '.join(map(str, constants))}>" if constants else ""
            return f"{function}{made_for}({', '.join(map(text, arguments))})"
        case i.Member(structure=structure, name=name):
            return f"{text(structure, 7)}.{name}"
        case i.Closure():
            return closure_text(expr)
        case i.Address(place=place, guard=guard):
            return f"&{text(place)}" if guard is None else f"(&{text(place)} if {text(guard)})"
        case i.Item(sequence=sequence, index=index):
            return f"{text(sequence)}[{text(index)}]"
        case i.Part(sequence=sequence, low=low, high=high):
            ends = ("" if end is None else text(end) for end in (low, high))
            return f"{text(sequence)}[{':'.join(ends)}]"
        case i.ListOf(entries=entries):
            return f"({', '.join(text(value) + '...' * pack for value, pack in entries)})"
        case i.Contains(element=element, collection=collection):
            return f"{text(element)} in {text(collection)}"
        case i.Gather(kind=kind, element=element, over=over, condition=condition):
            found = f"{text(element)} for {over_text(over, condition)}"
            return f"({found})" if kind == "list" else f"{{{found}}}"
        case i.Real(text=written):
            return written
        case i.Limit(end="type", type_name=type_name):
            return type_name
        case i.Limit(end=end, type_name=type_name):
            return f"{end}({type_name})"
        case i.Fold(op=op, element=element, over=over, condition=condition):
            return f"{op}[{over_text(over, condition)}]({text(element)})"
        case i.Bind(name=name, value=value, body=body):
            return f"(let {name} = {text(value)} in {text(body)})"
        case i.Access(tensor=tensor, which=which, index=index):
            slots = ", ".join(text(value) + "..." * pack for value, pack in index)
            one = "" if which is None else f"[{text(which)}]"
            return f"{tensor}{one}[{slots}]" if index else f"{tensor}{one}"
        case i.Load(tensor=tensor, which=which, offset=offset):
            return f"{tensor}{'' if which is None else f'[{text(which)}]'}@[{text(offset)}]"
        case i.Dot(pack=pack, steps=steps):
            return f"position({pack})" if steps is None else f"{pack}.{text(steps)}"
        case i.Entries(first=first, length=length):
            return f"{text(first)}...{text(length)}"
        case i.Given(name=name):
            return f"present({name})"
        case i.Word(text=word):
            return f'"{word}"'
        case i.PrecisionOf(tensor=tensor):
            return f"p({tensor})"
        case i.Convert(type=type_name, operand=operand):
            return f"{type_name}({text(operand)})"
        case i.Binary() | i.Compare() | i.Logic() | i.Not() | i.Select():
            return f"({text(expr)})"
        case i.Structure(members=members):
            return f"{{{', '.join(f'{name}: {text(value)}' for name, value in members)}}}"
        case i.ArrayExpr():
            return array_text(expr)
        case _:
            assert_never(expr)


def closure_text(closure: i.Closure) -> str:
    assert isinstance(closure, i.Lambda)
    given = ", ".join(each.name for each in closure.parameters)
    inner = "; ".join(line.strip() for line in block_lines(closure.body))
    return f"({given} -> {inner})"


def array_text(node: i.ArrayExpr | i.ArrayStmt) -> str:
    """What a node of whole arrays is, and what it is made of besides statements."""
    names = [each.name for each in fields(node) if each.name not in ("span", *BLOCKS)]
    parts = (getattr(node, name) for name in names)
    shown = (node_text(each) for each in parts if each not in (None, "", ()))
    return f"{type(node).__name__.lower()}({', '.join(shown)})"


def node_text(part: Any) -> str:
    match part:
        case str() | int():
            return str(part)
        case (value, bool() as pack):
            return text(value) + "..." * pack
        case tuple():
            return f"[{', '.join(map(node_text, part))}]"
        case _:
            return text(part)


def over_text(over: tuple[i.Over | i.OverPack, ...], condition: i.Expr | None) -> str:
    parts = []
    for each in over:
        match each:
            case i.Over(index=index, low=None, high=high):
                parts.append(f"{index} in {text(high)}")
            case i.Over(index=index, low=low, high=high):
                assert low is not None
                parts.append(f"{text(low)} <= {index} < {text(high)}")
            case i.OverPack(pack=pack, extents=extents, slots=slots):
                at = "" if slots is None else f" at {text(slots)}"
                parts.append(f"{pack}... < {text(extents)}{at}")
    return ", ".join(parts) + ("" if condition is None else f" if {text(condition)}")
