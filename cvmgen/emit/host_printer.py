"""The host part of an operator as C: checks, refusals and their texts, lists by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cvmgen.emit.c_like import CPrinter
from cvmgen.emit.c_spelling import PRIMARY, UNARY, c_identifier, c_string, comment
from cvmgen.emit.line_map import marked
from cvmgen.emit.lines import Leaving, indented
from cvmgen.escape import in_c_format
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.uses import reassigned
from cvmgen.spec.formula import Operator

INTEGER = '%" PRId64 "'


class HostPrinter(CPrinter):
    """Statements of the host, each below the line of the formula that it is of; `plan` stands
    before the members of the plan."""

    def __init__(self, operator: Operator, plan: str = "plan->", *, named: bool = True) -> None:
        super().__init__(host=True)
        self.operator, self.plan = operator, plan
        self.doubles = operator.real_attributes
        self.line = "" if named else None  # of the formula, where lines are named

    def part(self, statements: i.Block) -> list[str]:
        """A part of the host code on its own."""
        self.changing = frozenset(reassigned(statements))
        return self.block(statements)

    # -------------------------------------------------------- statements

    def block(self, statements: Iterable[i.Stmt]) -> list[str]:
        """Statements with comments that name the line of the formula where it changes."""
        lines: list[str] = []
        for statement in statements:
            line = self.operator.place(statement.span)
            named = self.line is not None and not isinstance(statement, (h.Refuse, h.FillPlan))
            if named and line != self.line:
                self.line = line
                lines += marked(statement.span, [comment(line)])
            lines += marked(statement.span, self.statement(statement))
        return lines

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case h.Check():
                return [self.check(statement)]
            case h.Refuse(operand=operand, shown=shown, rule=rule):
                given = f"{c_string(operand)}, {self.text(shown)}, {self.text(rule)}"
                return [f"return cvmgen_refuse(error, {given});"]
            case h.FillPlan(members=members):
                pairs = ((c_identifier(name), self.expr(value)) for name, value in members)
                return [f"{self.plan}{name} = {value};" for name, value in pairs]
            case i.Let(name=name, type="list", value=value):
                return self.list_into(name, value, f"cvmgen_list {c_identifier(name)}")
            case i.Let(type="reals"):
                return self.list_let(statement)
            case i.Assign(name=name, value=i.ListOf() as value):
                return self.list_into(name, value, "")
            case i.Merge():
                return self.merge(statement)
            case _:
                return super().statement(statement)

    def list_into(self, name: str, value: i.Expr, declared: str) -> list[str]:
        """Make a list under a name; one written out is filled entry by entry."""
        local = c_identifier(name)
        if not isinstance(value, i.ListOf):
            fixed = "const " * (declared != "" and of_shape(value))
            return [f"{fixed}{declared or local} = {self.expr(value)};"]
        lines = [f"{declared} = {{0}};" if declared else f"{local}.length = 0;"]
        for entry, pack in value.entries:
            function = "cvmgen_extend" if pack else "cvmgen_append"
            lines.append(f"{function}(&{local}, {self.expr(entry)});")
        return lines

    def append(self, statement: i.Append) -> list[str]:
        name, value = c_identifier(statement.name), self.expr(statement.value)
        function = "cvmgen_insert" if statement.kind == "set" else "cvmgen_append"
        return [f"{function}(&{name}, {value});"]

    def merge(self, merge: i.Merge) -> list[str]:
        lists = ", ".join(f"&{c_identifier(step)}" for step in merge.steps)
        box = c_identifier(merge.extents)
        if not merge.steps:
            return [f"cvmgen_merge(&{box}, 0, NULL);"]
        walks = f"{box}_walks"
        functions = ("sort_walks", "merge") if merge.sorted else ("merge",)
        return [
            f"cvmgen_list *const {walks}[] = {{{lists}}};",
            *(f"cvmgen_{each}(&{box}, {len(merge.steps)}, {walks});" for each in functions),
        ]

    def branch(self, statement: i.If) -> list[str]:
        """Refusals stand below their tests, several checks in braces."""
        match statement:
            case i.If(condition=condition, then=(h.Refuse(),) as then, otherwise=()):
                return [f"if ({self.expr(condition)})", *indented(self.nested(then))]
            case i.If(condition=condition, then=(h.Check(gives=()) as check,), otherwise=()):
                tests = [self.expr(each, 4) for each in conjuncts(condition)]
                return [self.refusing(*tests, self.checked(check))]
            case i.If(then=(h.Check(gives=()), *_)):
                head = f"if ({self.expr(statement.condition)}) {{"
                return [head, *indented(self.nested(statement.then)), "}"]
            case _:
                return super().branch(statement)

    def loop(self, loop: i.Loop) -> list[str]:
        match loop.body:
            case (h.Check() | i.If(then=(h.Refuse(),), otherwise=()),) if loop.low is not None:
                head = self.loop_head(loop, self.named(loop.index), loop.low, self.expr(loop.high))
                return [head, *indented(self.nested(loop.body))]
            case _:
                return super().loop(loop)

    def check(self, check: h.Check) -> str:
        if check.gives:
            return f"{', '.join(map(self.named, check.gives))} = {self.checked(check)};"
        return self.refusing(self.checked(check))

    def checked(self, check: h.Check) -> str:
        """The call of a check; it is told which operand is meant, if one is."""
        operand = [c_string(check.operand)] if check.operand else []
        given = ["error", *operand, *map(self.argument, check.arguments)]
        return f"cvmgen_{check.function}({', '.join(given)})"

    def refusing(self, *tests: str) -> str:
        return Leaving(f"if ({' && '.join(tests)})", "return CVMGEN_REFUSED;")

    def argument(self, argument: h.CheckArgument) -> str:
        match argument:
            case h.Helper(name=name):
                return f"cvmgen_{name}"
            case str():
                return c_string(argument)
            case _:
                return self.expr(argument)  # type: ignore[arg-type]

    # -------------------------------------------------------- expressions

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Member(structure=h.ARGUMENTS, name=name):
                return f"args->{name}", PRIMARY
            case i.Member(structure=h.PLAN, name=name):
                return f"{self.plan}{c_identifier(name)}", PRIMARY
            case i.Call(function="value_at", arguments=(place,)):
                return f"*{self.expr(place, UNARY)}", UNARY
            case i.Call(function="list", arguments=(sequence,)):
                return self.pointer(sequence), PRIMARY
            case i.Call(function="rank", arguments=(tensor,)):
                return f"{self.expr(tensor)}->rank", PRIMARY
            case _:
                return super().leveled(expr)

    def item(self, expr: i.Item) -> tuple[str, int]:
        match expr.sequence:
            case i.Call(function="extents", arguments=(tensor,)):
                return f"{self.expr(tensor)}->extents[{self.expr(expr.index)}]", PRIMARY
            case _:
                return super().item(expr)

    def length(self, sequence: i.Expr) -> str:
        match sequence:
            case i.Call(function="extents", arguments=(tensor,)):
                return f"(int64_t){self.expr(tensor)}->rank"
            case _:
                return super().length(sequence)

    # -------------------------------------------------------- texts of refusals

    def text(self, pieces: h.Text) -> str:
        """A text: a literal where it shows no value, else what makes it."""
        match pieces:
            case (h.ShownValue(kind="int" | "list" | "real") as shown,):
                return f"{self.shown(shown)[2]}.text"
            case _ if all(isinstance(piece, str) for piece in pieces):
                return c_string("".join(map(str, pieces)))
            case _:
                return f"{self.format(pieces)}.text"

    def format(self, pieces: h.Text) -> str:
        formats, values = [], list[str]()
        earlier: list[str] = []  # the tests that terms before this one are shown
        for piece in pieces:
            match piece:
                case str():
                    formats.append(in_c_format(piece))
                case h.NamedTerm():
                    self.term(piece, earlier, formats, values)
                case _:
                    form, value, _ = self.shown(piece)
                    formats.append(form)
                    values.append(value)
        return format_call("".join(formats), values)

    def term(
        self, term: h.NamedTerm, earlier: list[str], formats: list[str], values: list[str]
    ) -> None:
        """`, C = 3`, without what is not given; the comma behind another term alone."""
        present = "" if term.given is None else self.expr(term.given)
        comma = ", " if "" in earlier else ""
        if earlier and not comma:
            formats.append("%s")
            values.append(f'{both_present(present, earlier)} ? ", " : ""')
        earlier.append(present)
        form, value, _ = self.shown(term.shown)
        text = f"{comma}{in_c_format(term.name)} = {form}"
        formats.append("%s" if present else text)
        values.append(f'{present} ? {format_call(text, [value])}.text : ""' if present else value)

    def shown(self, shown: h.ShownValue | h.ShownWord) -> tuple[str, str, str]:
        """The format of a value, what is given for it, and what makes a text of it alone."""
        if isinstance(shown, h.ShownWord):
            text = self.word_shown(shown)
            return "%s", f"{text}.text", text
        value = shown.value
        match shown.kind:
            case "list" | "reals":
                function = "reals_text" if shown.kind == "reals" else "list_text"
                text = f"cvmgen_{function}({self.pointer(value)})"
            case "lists":
                text = f"cvmgen_shapes_text({self.expr(value)}, {self.expr(value)}_count)"
            case "precision":
                text = f"cvmgen_precision_text({self.expr(value)})"
            case "far_precision":
                text = f"cvmgen_bounds_precision_text({self.expr(value)})"
            case "real":
                text = f"cvmgen_real_text({self.expr(value)})"
            case "bool":
                return "%s", f'{self.expr(value)} ? "true" : "false"', ""
            case _:
                return INTEGER, self.expr(value), f"cvmgen_number({self.expr(value)})"
        return "%s", f"{text}.text", text

    def word_shown(self, shown: h.ShownWord) -> str:
        code = c_identifier(shown.code)
        word = f"cvmgen_word_text({code}, {c_string(' '.join(shown.words))})"
        if shown.numbers is None:
            return word
        return f"({code} != 0 ? {word} : {self.shown(shown.numbers)[2]})"


def format_call(text: str, values: Sequence[str]) -> str:
    literal = f'"{text}"'.removesuffix(' ""')
    return f"cvmgen_format({', '.join([literal, *values])})"


def both_present(present: str, earlier: Sequence[str]) -> str:
    """The test that a term is shown, and one of those before it."""
    test = " || ".join(earlier)
    if not present:
        return test
    return f"{present} && {test}" if len(earlier) == 1 else f"{present} && ({test})"


def of_shape(value: i.Expr) -> bool:
    """Whether a list is the shape of an operand or a part of it, or one of the plan."""
    match value:
        case i.Call(function="extents") | i.Part(sequence=i.Call(function="extents")):
            return True
        case i.Member(structure=h.PLAN):
            return True
        case _:
            return False
