"""`cvmgen list --schedules`: the language of schedules, as the code has it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cvmgen.cli.exits import Exit, give
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.schedule.measures import MEASURES
from cvmgen.schedule.schedules import Schedules, read_schedules

WIDTH = 100
WRITTEN = """\
Schedules stand in schedules/*.sched of a spec folder. Each is for the nests of a class in a target:
in c and cuda those of operators, in model the steps of whole models in C.

  schedule CLASS for TARGET {
    "Why it is so."
    ACTION
  }

A nest takes the schedule of the first class that it belongs to, and the actions rewrite it one
after the other. No action changes a result: one that could is refused at its line. What an action
makes it gives names (NEW), which the actions behind it may use as they use the roles of the class.
`cvmgen show OPERATOR --after schedule` tells what becomes of an operator's nests, and
`cvmgen build --model SYMBOL PARAMS --report` of a model's steps."""


def print_reference(spec: Path, *, as_json: bool) -> Exit:
    """Print what schedules may say, with the schedules of a spec folder by their places."""
    schedules = read_schedules(spec)
    return give(
        language_description(schedules), "\n".join((*_page(schedules), "")), as_json=as_json
    )


def language_description(schedules: Schedules) -> Mapping[str, Any]:
    """All of the language, for programs."""
    return {
        "classes": [
            {
                "name": name,
                "doc": each.doc,
                "roles": dict(each.roles),
                "schedules": dict(schedule_places(schedules, name)),
            }
            for name, each in CLASSES.items()
        ],
        "actions": [
            {
                "name": name,
                "forms": list(each.forms),
                "targets": list(each.targets),
                "doc": each.doc,
                "details": own_words(each.run),
            }
            for name, each in sorted(ACTIONS.items())
        ],
        "measures": {name: own_words(each) for name, each in sorted(MEASURES.items())},
        "intrinsics": {name: list(each.lines()) for name, each in schedules.intrinsics.items()},
        "mappings": [
            {
                "name": name,
                "doc": each.doc,
                "settings": {key: f"{one.doc}; {one.rule}" for key, one in each.settings.items()},
            }
            for name, each in MAPPINGS.items()
        ],
    }


def _page(schedules: Schedules) -> Iterator[str]:
    """All of the language, for people."""
    yield WRITTEN
    for title, lines in (
        ("CLASSES of nests, from particular to general ones, and their roles", classes(schedules)),
        ("ACTIONS, and when they are legal", actions()),
        ("MEASURES of how much there is to do", measures()),
        ("INTRINSICS for c, each described by a block of its own", intrinsics(schedules)),
        ("MAPPINGS for cuda, and their settings", mappings()),
    ):
        yield from ("", title, "", *lines)


def classes(schedules: Schedules) -> Iterator[str]:
    for name, each in CLASSES.items():
        yield from language_entry(name, each.doc)
        found = ", ".join(
            f"for {target} {place}" for target, place in schedule_places(schedules, name)
        )
        yield from wrapped_lines(found or "no schedule", 6)
        yield from two_columns(each.roles)


def schedule_places(schedules: Schedules, name: str) -> Iterator[tuple[str, str]]:
    """The targets that have a schedule for a class, and where it is."""
    for (target, shape), plan in schedules.plans.items():
        if shape == name:
            yield target, plan.schedule.span.location


def actions() -> Iterator[str]:
    for _, each in sorted(ACTIONS.items()):
        yield from (f"  {form}" for form in each.forms)
        yield from wrapped_lines(f"{sentence(each.doc)} For {' and '.join(each.targets)}.", 6)
        for paragraph in own_words(each.run).split("\n\n"):
            yield from wrapped_lines(paragraph, 6)


def measures() -> Iterator[str]:
    for name, each in sorted(MEASURES.items()):
        yield from language_entry(name, own_words(each))


def intrinsics(schedules: Schedules) -> Iterator[str]:
    for name, each in schedules.intrinsics.items():
        yield from language_entry(name, each.meaning.doc)
        yield from (f"      {line}" for line in each.lines())


def mappings() -> Iterator[str]:
    for name, each in MAPPINGS.items():
        yield from language_entry(name, each.doc)
        settings = each.settings.items()
        yield from two_columns({key: f"{one.doc}; {one.rule}" for key, one in settings})


# ---------------------------------------------------------------- layout


def own_words(function: Callable[..., Any]) -> str:
    """What a function says of itself."""
    return inspect.getdoc(function) or ""


def language_entry(name: str, doc: str) -> Sequence[str]:
    return [f"  {name}", *wrapped_lines(sentence(doc), 6)]


def two_columns(meanings: Mapping[str, str]) -> Iterator[str]:
    """Names and what they mean, in two columns."""
    width = max(map(len, meanings), default=0)
    for name, meaning in meanings.items():
        yield from wrapped_lines(meaning, 10 + width, f"        {name:<{width}}  ")


def wrapped_lines(text: str, margin: int, head: str | None = None) -> list[str]:
    first = " " * margin if head is None else head
    words = " ".join(text.split())
    return textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=" " * margin)


def sentence(text: str) -> str:
    """A text that begins and ends as sentences do."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
