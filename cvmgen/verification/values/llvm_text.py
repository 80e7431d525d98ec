"""The text of LLVM modules read into data."""

from __future__ import annotations

import re

from cvmgen.verification.values.llvm import (
    BasicBlock,
    Constant,
    Global,
    Instruction,
    LlvmFunction,
    Module,
    Pointer,
    Type,
    Value,
    Variable,
    Void,
)
from cvmgen.verification.values.llvm_line import (
    BINARY,
    CASTS,
    FLAGS,
    LineTokens,
    UnreadText,
    unquoted,
)

LABEL = re.compile(r'^("[^"]*"|[-\w.$]+):')


def read_module(text: str) -> Module:
    """A module as the compiler prints it."""
    module = Module()
    lines = text.split("\n")
    named = _named_types(lines)
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("define"):
            at = _function(lines, at, named, module)
        elif line.startswith("declare"):
            head = _head(LineTokens(line, named))
            module.functions.setdefault(head.name, head)
        elif line.startswith("@"):
            _variable(LineTokens(line, named), module)
        at += 1
    return module


def _named_types(lines: list[str]) -> dict[str, Type]:
    """The structures that have names; they may speak of each other in any order."""
    left = {
        unquoted(name): rest
        for name, sign, rest in (line.partition(" = type ") for line in lines if line[:1] == "%")
        if sign
    }
    named: dict[str, Type] = {}
    while left:
        before = len(left)
        for name in list(left):
            try:
                named[name] = LineTokens(left[name], named).type()
            except UnreadText:
                continue
            del left[name]
        if len(left) == before:
            raise UnreadText(f"types that are not known: {', '.join(left)}")
    return named


def _variable(line: LineTokens, module: Module) -> None:
    name = unquoted(line.next())
    line.need("=")
    while not line.is_type() and line.peek() not in ("global", "constant", "alias"):
        line.next()
        if line.peek() == "(":
            line.skip_brackets()
    if line.take("alias"):
        line.type()
        line.need(",")
        line.type()
        module.aliases[name] = unquoted(line.next())
        return
    line.next()
    about = line.type()
    absent = line.peek() in ("", ",")
    module.variables[name] = Variable(name, about, None if absent else line.value(about))


def _head(line: LineTokens) -> LlvmFunction:
    """The head of a function, up to its attributes."""
    line.next()
    while not line.is_type():
        line.next()
        if line.peek() == "(":
            line.skip_brackets()
    result = line.type()
    if not line.peek().startswith("@"):
        line.attributes()
    name = unquoted(line.next())
    line.need("(")
    parameters: list[tuple[Type, str]] = []
    by_value: list[Type | None] = []
    variadic = False
    while not line.take(")"):
        if line.take("..."):
            variadic = True
            continue
        about = line.type()
        by_value.append(line.attributes())
        given = unquoted(line.next()) if line.peek().startswith("%") else str(len(parameters))
        parameters.append((about, given))
        line.take(",")
    return LlvmFunction(name, result, parameters, by_value, variadic)


def _function(lines: list[str], at: int, named: dict[str, Type], module: Module) -> int:
    """Its head; the body is read when it is asked for. The line that ends it."""
    function = _head(LineTokens(lines[at], named))
    module.functions[function.name] = function
    first, end = at + 1, lines.index("}", at)
    function.body = lambda: _body(lines, first, end, named, str(len(function.parameters)))
    return end


def _body(
    lines: list[str], at: int, end: int, named: dict[str, Type], label: str
) -> list[BasicBlock]:
    blocks = [block := BasicBlock(label)]
    while at < end:
        line = lines[at]
        found = LABEL.match(line)
        if found:
            name = found[1].strip('"')
            if block.instructions:
                blocks.append(block := BasicBlock(name))
            else:
                block.label = name
        elif line.strip().startswith("switch"):
            while not lines[at].lstrip().startswith("]"):
                at += 1
                line += " " + lines[at]
            block.instructions.append(_instruction(LineTokens(line, named), at))
        elif line.strip() and not line.lstrip().startswith((";", "#dbg")):
            block.instructions.append(_instruction(LineTokens(line, named), at))
        at += 1
    return blocks


def _instruction(line: LineTokens, number: int) -> Instruction:
    result = None
    if line.peek(1) == "=":
        result = unquoted(line.next())
        line.next()
    flags = set()
    while line.peek() in FLAGS:
        flags.add(line.next())
    opcode = line.next()
    while line.peek() in FLAGS or (opcode == "icmp" and line.peek() == "samesign"):
        flags.add(line.next())
        if line.peek() == "(" and opcode == "getelementptr":
            line.skip_brackets()
    made = _of_opcode(opcode, line)
    made.result, made.flags, made.line = result, frozenset(flags), number
    return made


def _of_opcode(opcode: str, line: LineTokens) -> Instruction:
    if opcode in BINARY:
        about = line.type()
        left = line.value(about)
        line.need(",")
        return Instruction(opcode, None, about, [left, line.value(about)])
    if opcode in CASTS:
        source, value = line.typed()
        line.need("to")
        return Instruction(opcode, None, line.type(), [value], types=[source])
    match opcode:
        case "icmp" | "fcmp":
            predicate = line.next()
            about = line.type()
            left = line.value(about)
            line.need(",")
            return Instruction(opcode, None, about, [left, line.value(about)], predicate)
        case "br":
            return _branch(line)
        case "switch":
            return _switch(line)
        case "ret":
            about = line.type()
            values = [] if isinstance(about, Void) else [line.value(about)]
            return Instruction(opcode, None, about, values)
        case "phi":
            return _phi(line)
        case "call":
            return _call(line)
        case "getelementptr":
            base = line.type()
            line.need(",")
            operands = [line.typed()]
            while line.take(","):
                if line.peek().startswith("!"):
                    break
                operands.append(line.typed())
            types, values = map(list, zip(*operands, strict=True))
            return Instruction(opcode, None, base, values, types=types)
        case "load":
            if line.take("atomic"):
                line.take("volatile")
            about = line.type()
            line.need(",")
            return Instruction(opcode, None, about, [line.typed()[1]])
        case "store":
            if line.take("atomic"):
                line.take("volatile")
            about, value = line.typed()
            line.need(",")
            return Instruction(opcode, None, about, [value, line.typed()[1]])
        case "alloca":
            line.take("inalloca")
            about = line.type()
            count: Value = Constant(1)
            while line.take(","):
                if line.is_type():
                    count = line.typed()[1]
                else:
                    line.next(), line.next()
            return Instruction(opcode, None, about, [count])
        case "select" | "insertelement" | "extractelement" | "shufflevector":
            operands = [line.typed()]
            while line.take(","):
                if line.peek().startswith("!"):
                    break
                operands.append(line.typed())
            types, values = map(list, zip(*operands, strict=True))
            return Instruction(
                opcode, None, types[1 if opcode == "select" else 0], values, types=types
            )
        case "extractvalue":
            about, value = line.typed()
            return Instruction(opcode, None, about, [value], _places(line))
        case "insertvalue":
            about, value = line.typed()
            line.need(",")
            inner, entry = line.typed()
            return Instruction(
                opcode, None, about, [value, entry], _places(line), types=[about, inner]
            )
        case "freeze" | "fneg":
            about, value = line.typed()
            return Instruction(opcode, None, about, [value])
        case "atomicrmw":
            operation = line.next()
            line.type()
            place = line.value(Pointer())
            line.need(",")
            about, value = line.typed()
            return Instruction(opcode, None, about, [place, value], operation)
        case "cmpxchg":
            operands = [line.typed()]
            while line.take(","):
                operands.append(line.typed())
            types, values = map(list, zip(*operands, strict=True))
            return Instruction(opcode, None, types[1], values, types=types)
        case "unreachable" | "fence":
            return Instruction(opcode, None, Void(), [])
        case _:
            pass
    raise UnreadText(f"instruction '{opcode}' in: {line.text.strip()}")


def _places(line: LineTokens) -> list[int]:
    places = []
    while line.take(","):
        if line.peek().startswith("!"):
            break
        places.append(int(line.next()))
    return places


def _branch(line: LineTokens) -> Instruction:
    if line.take("label"):
        return Instruction("br", None, Void(), [], [unquoted(line.next())])
    _, condition = line.typed()
    labels = []
    while line.take(","):
        if not line.take("label"):
            break
        labels.append(unquoted(line.next()))
    return Instruction("br", None, Void(), [condition], labels)


def _switch(line: LineTokens) -> Instruction:
    about, value = line.typed()
    line.need(",")
    line.need("label")
    default = unquoted(line.next())
    line.need("[")
    cases: list[tuple[int, str]] = []
    while not line.take("]"):
        _, entry = line.typed()
        line.need(",")
        line.need("label")
        assert isinstance(entry, Constant)
        cases.append((entry.value, unquoted(line.next())))
    return Instruction("switch", None, about, [value], (default, cases))


def _phi(line: LineTokens) -> Instruction:
    about = line.type()
    values, labels = [], []
    while line.take("["):
        values.append(line.value(about))
        line.need(",")
        labels.append(unquoted(line.next()))
        line.need("]")
        line.take(",")
    return Instruction("phi", None, about, values, labels)


def _assembly(line: LineTokens) -> Value:
    """Inline assembly as a function whose name is its text."""
    while not line.peek().startswith('"'):
        line.next()
    text, _, _ = line.next(), line.next(), line.next()
    return Global("asm " + text.strip('"'))


def _call(line: LineTokens) -> Instruction:
    while not line.is_type():
        line.next()
        if line.peek() == "(":
            line.skip_brackets()
    about = line.type()
    if line.peek() == "(":
        line.skip_brackets()
    callee = _assembly(line) if line.peek() == "asm" else line.value(Pointer())
    line.need("(")
    values: list[Value] = []
    types: list[Type] = []
    by_value: list[Type | None] = []
    while not line.take(")"):
        kind = line.type()
        copied = line.attributes()
        if isinstance(kind, Void):  # metadata of intrinsics
            while line.peek() not in (",", ")"):
                line.skip_brackets() if line.peek() in "({" else line.next()
            line.take(",")
            continue
        values.append(line.value(kind))
        types.append(kind)
        by_value.append(copied)
        line.take(",")
    return Instruction("call", None, about, [callee, *values], by_value, types=types)
