"""The host part of an operator as Python: checks, refusals, names for what is asked of operands."""

from __future__ import annotations

from cvmgen import rules
from cvmgen.emit.line_map import marked
from cvmgen.emit.lines import Valued, indented
from cvmgen.emit.python_printer import PythonPrinter
from cvmgen.emit.python_text import comment, literal, literals
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier

# Rules that the run time has names for.
RULES = {rules.ATTRIBUTE_MISSING: "ATTRIBUTE_MISSING", rules.NO_CASE: "NO_CASE"}


class HostText:
    """Prints statements of the host, each below the line of the formula that it is of."""

    def __init__(self, printer: PythonPrinter) -> None:
        self.printer = printer
        self.line = ""

    def block(self, statements: i.Block) -> list[str]:
        lines: list[str] = []
        for statement in statements:
            line = self.printer.operator.place(statement.span)
            if line != self.line and not isinstance(statement, (h.Refuse, h.FillPlan)):
                self.line = line
                lines += marked(statement.span, [comment(line)])
            lines += marked(statement.span, self.statement(statement))
        return lines

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case h.Check(function=function, operand=operand, gives=gives):
                names = ", ".join(map(python_identifier, gives))
                arguments = ["OPERATOR", literal(operand), *map(self.argument, statement.arguments)]
                call = f"support.{function}({', '.join(arguments)})"
                return [Valued(f"{names} =", call) if names else call]
            case h.Refuse(operand=operand, shown=shown, rule=rule):
                told = self.shown(shown)
                return [f"support.refuse(OPERATOR, {literal(operand)}, {told}, {self.rule(rule)})"]
            case h.Unpack(names=names, value=value):
                targets = ", ".join(map(python_identifier, names)) + "," * (len(names) == 1)
                return [Valued(f"{targets} =", self.printer.expr(value))]
            case h.FillPlan(members=members):
                pairs = (
                    (python_identifier(name), self.printer.expr(value)) for name, value in members
                )
                listed = indented(f"{name}={value}," for name, value in pairs)
                return ["return SimpleNamespace(", *listed, ")"]
            case i.If(condition=condition, then=then, otherwise=otherwise):
                lines: list[str] = [Valued("if", self.printer.expr(condition), ":")]
                lines += indented(self.block(then))
                while len(otherwise) == 1 and isinstance(otherwise[0], i.If):
                    lines.append(Valued("elif", self.printer.expr(otherwise[0].condition), ":"))
                    lines += indented(self.block(otherwise[0].then))
                    otherwise = otherwise[0].otherwise
                return lines + ["else:", *indented(self.block(otherwise))] * bool(otherwise)
            case i.Loop():
                self.printer.guarded = False
                lines = self.printer.statement(statement)
                self.printer.guarded = True
                return lines
            case _:
                return self.printer.statement(statement)

    def argument(self, argument: h.CheckArgument) -> str:
        match argument:
            case h.Helper(name=name):
                return f"support.{name}"
            case h.AllowedWords(words=words):
                return f"[{literals(words)}]"
            case tuple():
                return self.terms(argument)
            case str():
                return literal(argument)
            case None:
                return "None"
            case _:
                return self.printer.expr(argument)

    @staticmethod
    def rule(pieces: h.Text) -> str:
        (text,) = pieces
        assert isinstance(text, str)
        return f"support.{RULES[text]}" if text in RULES else literal(text)

    def shown(self, pieces: h.Text) -> str:
        match pieces:
            case ():
                return '""'
            case (h.ShownValue(value=value, kind="reals"),):
                return f"support.reals_text({self.printer.expr(value)})"
            case (h.ShownValue(value=value),):
                return f"support.real_text({self.printer.expr(value)})"
            case _:
                return self.terms(pieces)

    def terms(self, pieces: h.Text) -> str:
        """The named values that a refusal shows."""
        return f"support.terms([{', '.join(map(self.term, pieces))}])"

    def term(self, piece: h.Piece) -> str:
        assert isinstance(piece, h.NamedTerm)
        text = self.printer.expr(piece.shown.value)
        if isinstance(piece.shown, h.ShownWord) and piece.shown.numbers is not None:
            text = f"{python_identifier(piece.shown.code)} or {text}"
        if isinstance(piece.given, i.Given):
            text = f"{python_identifier(piece.given.name)} and {text}"
        return f"({literal(piece.name)}, {text})"
