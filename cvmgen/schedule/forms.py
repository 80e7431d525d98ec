"""How actions are written, and what stands in one that was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from cvmgen.analysis.dependences import steady_range
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.visit import walk
from cvmgen.schedule.intrinsics import Intrinsic
from cvmgen.schedule.mappings import MAPPINGS, SettingForm
from cvmgen.schedule.subject import Subject
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec.schedules import (
    Action,
    Clause,
    OperandName,
    OperandNumber,
    PatternOperand,
    Setting,
    Test,
    parse_action,
)

MOST_COPIES = 64  # of statements: compilers take their time over more
MOST = 1 << 40  # iterations or elements: no memory has more
MOST_ELEMENTS = 1 << 16  # of 8 bytes at most: the stack of a thread may be 2 MB
MOST_ROOM = 3 << 19  # bytes of all arrays that are there at once
MOST_NODES = 20_000  # of a nest
VECTOR_BYTES = (32, 64)

Settings = Mapping[str, int]
GivenOperand = tuple[str, ...] | int | tuple[str, int] | Settings | Intrinsic


@dataclass(frozen=True, slots=True)
class ActionKind:
    """An action: its forms, what it does, and the rewrite.

    A form is an action whose operands say what stands there: LOOP or LOCAL, a role of the nest;
    LOOPS, one or more of them; NEW, a name for what the action makes; NUMBER; MEASURE; INTRINSIC,
    one that a block describes; MAPPING, one of MAPPINGS, and SETTINGS, those that it has. For
    other targets than C, `run` only says what the action means.
    """

    forms: tuple[str, ...]
    doc: str
    run: Callable[[Subject, Use], Subject]
    targets: tuple[str, ...] = ("c",)


@dataclass(frozen=True, slots=True)
class Use:
    """An action of a schedule, checked: what was given for each operand of its form, in order."""

    action: Action
    kind: ActionKind
    given: tuple[GivenOperand, ...]

    def roles(self, at: int) -> tuple[str, ...]:
        given = self.given[at]
        assert isinstance(given, tuple)
        return tuple(each for each in given if isinstance(each, str))

    def loops(self, subject: Subject, at: int) -> tuple[str, ...]:
        """The names in the nest of what an operand speaks of."""
        return tuple(name for role in self.roles(at) for name in subject.roles[role])

    def named(self, subject: Subject) -> tuple[str, ...]:
        """The names in the nest of all that the action speaks of."""
        roles = (each for given in self.given if isinstance(given, tuple) for each in given)
        known = (subject.roles.get(each, ()) for each in roles if isinstance(each, str))
        return tuple(name for names in known for name in names)

    def number(self, at: int) -> int:
        given = self.given[at]
        assert isinstance(given, int)
        return given

    def copies(self, at: int) -> int:
        """A number of copies of statements."""
        count = self.number(at)
        if not 2 <= count <= MOST_COPIES:
            hint = "leave the action out" if count < 2 else "compilers take their time over more"
            self.refuse(f"iterations have from 2 to {MOST_COPIES} copies, not {count}", hint)
        return count

    def copied(self, loop: i.Loop, times: int) -> None:
        """Refuse so many copies of the statements of a loop where that is more than compilers
        take."""
        if times * sum(1 for _ in walk(loop.body)) > MOST_NODES:
            self.refuse(
                f"{times} copies of the loop {loop.index} are more than compilers take",
                "write a smaller number",
            )

    def room(self, elements: int) -> int:
        """So many elements, if there is room for an array of them where threads have their
        locals."""
        if elements > MOST_ELEMENTS:
            self.refuse(
                f"an array of {elements} elements has no room among the locals of a thread",
                f"at most {MOST_ELEMENTS}: split the loop into smaller blocks",
            )
        return elements

    def vector_bytes(self, at: int) -> int | None:
        """How long vectors are, where that is said."""
        given = self.number(at) if len(self.given) > at else None
        if given is not None and given not in VECTOR_BYTES:
            self.refuse(f"vectors have {' or '.join(map(str, VECTOR_BYTES))} bytes, not {given}")
        return given

    def test(self, at: int) -> tuple[str, int]:
        match self.given[at]:
            case (str(measure), int(bound)):
                return measure, bound
            case _:
                raise InternalError(f"operand {at} of '{self.action.name}' is no test")

    def intrinsic(self, at: int) -> Intrinsic:
        given = self.given[at]
        assert isinstance(given, Intrinsic)
        return given

    def mapping(self) -> tuple[str, Settings]:
        """What `use` names, and its settings."""
        match self.given:
            case ((str(name),),):
                return name, {}
            case ((str(name),), dict(settings)):
                return name, settings
            case _:
                raise InternalError(f"'{self.action.name}' names no mapping")

    def one_by_one(self, loop: i.Loop, subject: Subject) -> None:
        """Refuse a loop whose iterations are not those of a whole range."""
        if loop.step != 1:
            self.refuse(
                f"the loop {loop.index} goes in steps of {loop.step} already ({subject.place})",
                "name the loop in it, over each block",
            )
        if leaves_loop(loop.body):
            self.refuse(f"the loop {loop.index} may end early ({subject.place})")
        if not steady_range(loop):
            self.refuse(f"the loop {loop.index} changes how often it runs ({subject.place})")

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """Say that the action would change what the nest computes."""
        raise SpecError(self.action.span, message, hint)


def otherwise(span: Span, kind: ActionKind) -> SpecError:
    name = kind.forms[0].split()[0]
    forms = "' or '".join(kind.forms)
    return SpecError(span, f"this is not how '{name}' is written", f"write '{forms}'")


parsed_form = cache(parse_action)


class UnsureError(Exception):
    """An action names a role that one with a fault before it may make."""


@dataclass(slots=True)
class Known:
    """What actions may name; to `roles` an action adds those that it makes. `later` are the lines
    in which others come into being; `unsure` says that an action with a fault may have made some.
    """

    roles: set[str]
    measures: Collection[str]
    intrinsics: Mapping[str, Intrinsic]
    later: Mapping[str, int]
    unsure: bool = False


def matched(action: Action, kind: ActionKind, known: Known) -> Use:
    """The action as its form has it."""
    written = [each.preposition for each in action.clauses]
    forms = [*map(parsed_form, kind.forms)]
    like = [each for each in forms if [one.preposition for one in each.clauses] == written]
    if not like:
        raise otherwise(action.span, kind)
    form = next((each for each in like if lengths(each) == lengths(action)), like[0])
    given: list[GivenOperand] = []
    for pattern, clause in zip(form.clauses, action.clauses, strict=True):
        given += given_operands(action, kind, pattern, clause, known)
    return Use(action, kind, tuple(given))


def lengths(action: Action) -> list[int]:
    """How many operands each clause has."""
    return [len(each.operands) for each in action.clauses]


def given_operands(
    action: Action, kind: ActionKind, pattern: Clause, clause: Clause, known: Known
) -> list[GivenOperand]:
    wanted, written = pattern.operands, clause.operands
    if [*map(operand_word, wanted)] == ["SETTINGS"]:
        return [settings(action, written)]
    if [*map(operand_word, wanted)] == ["LOOPS"]:
        return [tuple(role(each, known) for each in written)]
    if len(wanted) != len(written):
        raise otherwise(action.span, kind)
    return [
        given_operand(operand_word(each), found, kind, known)
        for each, found in zip(wanted, written, strict=True)
    ]


def settings(action: Action, written: tuple[PatternOperand, ...]) -> Settings:
    """The numbers of a mapping, each of which it has and all of which are there."""
    name = action.clauses[0].operands[0]
    known: Mapping[str, SettingForm] = {}
    if isinstance(name, OperandName):
        known = MAPPINGS[name.text].settings
    found: dict[str, int] = {}
    for each in written:
        if not isinstance(each, Setting):
            raise SpecError(each.span, "a setting is a name and a number", "write: rows 64")
        one_of(each.name.text, known, "setting", each.name.span)
        form = known[each.name.text]
        if each.value not in form.values:
            raise SpecError(each.span, f"'{each.name.text}' must be {form.rule}")
        found[each.name.text] = each.value
    if missing := known.keys() - found.keys():
        listed = ", ".join(each for each in known if each in missing)
        raise SpecError(action.span, f"the mapping has more settings: {listed}")
    return found


def operand_word(pattern: PatternOperand) -> str:
    match pattern:
        case OperandName(text=text):
            return text
        case Test():
            return "MEASURE"
        case OperandNumber() | Setting():
            raise InternalError("a form has no numbers")


def given_operand(
    wanted: str, found: PatternOperand, kind: ActionKind, known: Known
) -> GivenOperand:
    """What was given for an operand of the form."""
    match wanted, found:
        case (("LOOP" | "LOCAL"), OperandName()):
            return (role(found, known),)
        case "MAPPING", OperandName(text=text):
            one_of(text, MAPPINGS, "mapping", found.span)
            return (text,)
        case "NEW", OperandName(text=text):
            if text in known.roles:
                raise SpecError(
                    found.span, f"there is a role '{text}' already", "choose another name"
                )
            known.roles.add(text)
            return (text,)
        case "INTRINSIC", OperandName(text=text):
            one_of(text, known.intrinsics, "intrinsic", found.span)
            return known.intrinsics[text]
        case "NUMBER", OperandNumber(value=value):
            if value < 1:
                raise SpecError(found.span, f"a number of iterations is at least 1, not {value}")
            return checked_range(value, found.span)
        case "MEASURE", Test(measure=measure, relation=">=", bound=OperandNumber(value=value)):
            one_of(measure.text, known.measures, "measure", measure.span)
            return (measure.text, checked_range(value, found.span))
        case _:
            raise otherwise(found.span, kind)


def checked_range(value: int, span: Span) -> int:
    if value > MOST:
        raise SpecError(span, f"numbers go up to {MOST}", "no memory holds so many elements")
    return value


def role(found: PatternOperand, known: Known) -> str:
    if not isinstance(found, OperandName):
        roles = ", ".join(sorted(known.roles))
        raise SpecError(found.span, "a loop is named here", f"there are: {roles}")
    if found.text not in known.roles:
        if known.unsure:
            raise UnsureError
        if found.text in known.later:
            message = f"there is no role '{found.text}' yet"
            raise SpecError(found.span, message, f"line {known.later[found.text]} makes it")
    one_of(found.text, known.roles, "role", found.span)
    return found.text


def one_of(name: str, known: Collection[str], what: str, span: Span) -> None:
    """Refuse a name that is not known, with those that are like it, or with all."""
    if name not in known:
        hint = did_you_mean(name, known) or f"there are: {', '.join(sorted(known))}"
        raise SpecError(span, f"there is no {what} '{name}'", hint if known else "")
