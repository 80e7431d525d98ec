"""A line of LLVM text: its tokens, the types and the values in it."""

from __future__ import annotations

import re
import struct

from cvmgen.verification.values.llvm import (
    ArrayType,
    Constant,
    Expression,
    Global,
    Int,
    Local,
    Pointer,
    RealType,
    Struct,
    Type,
    Value,
    Vector,
    Void,
    zero_of,
)

_TOKEN = re.compile(
    r"""\s+|;[^\n]*
    |(?P<string>c?"(?:[^"\\]|\\.)*")
    |(?P<local>%(?:[-\w.$]+|"[^"]*"))
    |(?P<global>@(?:[-\w.$]+|"[^"]*"))
    |(?P<number>-?0x[KLMHR]?[0-9A-Fa-f]+|-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+)
    |(?P<meta>![-\w.]*)
    |(?P<group>\#\d+)
    |(?P<word>[A-Za-z_$.][\w$.]*)
    |(?P<sign>\.\.\.|[-=,(){}\[\]<>*:|])""",
    re.VERBOSE,
)
FLAGS = frozenset(
    [
        "nuw",
        "nsw",
        "exact",
        "disjoint",
        "nneg",
        "samesign",
        "inbounds",
        "nusw",
        "inrange",
        "volatile",
        "tail",
        "notail",
        "musttail",
        "fast",
        "nnan",
        "ninf",
        "nsz",
        "arcp",
        "contract",
        "afn",
        "reassoc",
    ]
)
CASTS = frozenset(
    [
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "addrspacecast",
    ]
)
BINARY = frozenset(
    [
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
    ]
)
_HEX_REAL = re.compile(r"0x[0-9A-Fa-f]+\Z")


class UnreadText(Exception):
    """Text of a module that is not understood here."""


class LineTokens:
    """The tokens of a line, one after the other."""

    def __init__(self, text: str, named: dict[str, Type]) -> None:
        self.text, self.named = text, named
        self.tokens = [match[0] for match in _TOKEN.finditer(text) if match.lastgroup]
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def take(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            raise UnreadText(f"'{token}' expected before '{self.peek()}' in: {self.text.strip()}")

    def skip_brackets(self) -> None:
        """What stands in brackets from here on."""
        depth = 0
        while True:
            token = self.next()
            depth += (token in "([{<" and token != "") - (token in ")]}>" and token != "")
            if depth == 0 or token == "":
                return

    # ------------------------------------------------------------ types

    def is_type(self) -> bool:
        token = self.peek()
        return (
            token
            in ("ptr", "void", "float", "double", "half", "[", "{", "<", "x86_fp80", "metadata")
            or (re.fullmatch(r"i\d+", token) is not None)
            or (token.startswith("%") and unquoted(token) in self.named)
        )

    def type(self) -> Type:
        token = self.next()
        if re.fullmatch(r"i\d+", token):
            return Int(int(token[1:]))
        match token:
            case "ptr":
                if self.take("addrspace"):
                    self.skip_brackets()
                return Pointer()
            case "void" | "metadata" | "label" | "token":
                return Void()
            case "half" | "float" | "double" | "x86_fp80" | "fp128":
                bits = {"half": 16, "float": 32, "double": 64}.get(token, 128)
                return RealType(bits)
            case "[":
                count, _, element = int(self.next()), self.next(), self.type()
                self.need("]")
                return ArrayType(count, element)
            case "<" if self.peek() == "{":
                self.next()
                return self.struct(packed=True)
            case "<":
                count, _, element = int(self.next()), self.next(), self.type()
                self.need(">")
                return Vector(count, element)
            case "{":
                return self.struct(packed=False)
            case "opaque":
                return Struct((), False)
            case _:
                pass
        if token.startswith("%") and unquoted(token) in self.named:
            return self.named[unquoted(token)]
        raise UnreadText(f"'{token}' is no type in: {self.text.strip()}")

    def struct(self, packed: bool) -> Struct:
        fields: list[Type] = []
        while not self.take("}"):
            fields.append(self.type())
            self.take(",")
        if packed:
            self.need(">")
        return Struct(tuple(fields), packed)

    # ------------------------------------------------------------ values

    def value(self, about: Type) -> Value:
        token = self.next()
        if token.startswith("%"):
            return Local(unquoted(token))
        if token.startswith("@"):
            return Global(unquoted(token))
        match token:
            case "true" | "false":
                return Constant(int(token == "true"))
            case "null":
                return Constant(0)
            case "undef" | "poison" | "none":
                return Constant(None)
            case "zeroinitializer":
                return Constant(zero_of(about))
            case "splat":
                self.need("(")
                entry = self.value(self.type())
                self.need(")")
                assert isinstance(about, Vector)
                assert isinstance(entry, Constant)
                return Constant((entry.value,) * about.count)
            case "[" | "<" | "{":
                return self.aggregate(token)
            case "dso_local_equivalent" | "no_cfi":
                return self.value(about)
            case _:
                pass
        if token.startswith('c"'):
            return Constant(tuple(_signed_bytes(token[2:-1])))
        if token in CASTS or token in ("getelementptr", *BINARY):
            return self.expression(token, about)
        if isinstance(about, RealType):
            return Constant(_real(token, about.bits))
        try:
            return Constant(_signed(int(token), about))
        except ValueError:
            raise UnreadText(f"'{token}' is no value in: {self.text.strip()}") from None

    def aggregate(self, opening: str) -> Value:
        packed = opening == "<" and self.take("{")
        closing = "}" if packed else {"[": "]", "<": ">", "{": "}"}[opening]
        entries: list[tuple[Type, Value]] = []
        while not self.take(closing):
            about = self.type()
            entries.append((about, self.value(about)))
            self.take(",")
        if packed:
            self.need(">")
        if all(isinstance(entry, Constant) for _, entry in entries):
            return Constant(tuple(entry.value for _, entry in entries))  # type: ignore[union-attr]
        return Expression("aggregate", Void(), tuple(entries))

    def expression(self, opcode: str, about: Type) -> Value:
        while self.peek() in FLAGS:
            if self.next() == "inrange":
                self.skip_brackets()
        self.need("(")
        base: Type = about
        if opcode == "getelementptr":
            base = self.type()
            self.need(",")
        operands = [self.typed()]
        while self.take(","):
            operands.append(self.typed())
        if self.take("to"):
            base = self.type()
        self.need(")")
        return Expression(opcode, base, tuple(operands))

    def attributes(self) -> Type | None:
        """Pass what stands between a type and its value; the type of what is passed by value."""
        by_value: Type | None = None
        while True:
            token = self.peek()
            if token in ("byval", "sret", "range", "captures", "elementtype", "dereferenceable",
                         "dereferenceable_or_null", "initializes", "preallocated", "byref",
                         "nofpclass", "memory", "allocsize", "vscale_range"):  # fmt: skip
                self.next()
                if token == "byval":
                    self.need("(")
                    by_value = self.type()
                    self.need(")")
                elif self.peek() == "(":
                    self.skip_brackets()
            elif token == "align":
                self.next()
                if self.peek() == "(":
                    self.skip_brackets()
                else:
                    self.next()
            elif re.fullmatch(r"[a-z_]+", token) and token not in (
                "true", "false", "null", "undef", "poison", "none", "zeroinitializer", "splat",
                "getelementptr", *CASTS, *BINARY, "to",
            ):  # fmt: skip
                self.next()
            else:
                return by_value

    def typed(self) -> tuple[Type, Value]:
        about = self.type()
        self.attributes()
        return about, self.value(about)


def unquoted(token: str) -> str:
    return token[1:].strip('"')


def _signed(value: int, about: Type) -> int:
    if isinstance(about, Int) and about.bits > 1:
        half = 1 << (about.bits - 1)
        return (value + half) % (2 * half) - half
    return value


def _signed_bytes(text: str) -> list[int]:
    found, at = [], 0
    while at < len(text):
        if text[at] == "\\":
            byte, at = (
                (0x5C, at + 2) if text[at + 1] == "\\" else (int(text[at + 1 : at + 3], 16), at + 3)
            )
        else:
            byte, at = ord(text[at]), at + 1
        found.append(byte - 256 if byte >= 128 else byte)
    return found


def _real(token: str, bits: int) -> float:
    if _HEX_REAL.match(token):
        return float(struct.unpack("<d", int(token, 16).to_bytes(8, "little"))[0])
    if token.startswith("0x"):
        raise UnreadText(f"number {token}")
    return float(token)
