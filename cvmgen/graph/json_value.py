"""JSON values that know where they stand in the file, for errors that say so."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from cvmgen.errors import ModelError


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value, the file and the place in it; each reader raises ModelError for another type."""

    value: object
    file: str | None = None
    where: str | None = None

    def fail(self, rule: str) -> NoReturn:
        raise ModelError(rule, file=self.file, where=self.where)

    def at(self, where: str) -> JsonValue:
        """The same value, under a better name."""
        return replace(self, where=where)

    def inner(self, value: object, step: str) -> JsonValue:
        place = step if self.where is None else f"{self.where}{step}"
        return JsonValue(value, self.file, place.removeprefix("."))

    def table(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, not {short_text(self.value)}")
        return self.value

    def find(self, key: str) -> JsonValue | None:
        """The member `key`, if there is one."""
        table = self.table()
        return self.inner(table[key], f".{key}") if key in table else None

    def member(self, key: str) -> JsonValue:
        found = self.find(key)
        if found is None:
            self.fail(f"the key '{key}' is missing")
        return found

    def items(self) -> list[JsonValue]:
        if not isinstance(self.value, list):
            self.fail(f"must be a list, not {short_text(self.value)}")
        return [self.inner(item, f"[{index}]") for index, item in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"must be a string, not {short_text(self.value)}")
        return self.value

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail(f"must be an integer, not {short_text(self.value)}")
        return self.value

    def integers(self) -> tuple[int, ...]:
        return tuple(item.integer() for item in self.items())

    def index(self, count: int, what: str) -> int:
        """An integer that counts one of `count` things."""
        value = self.integer()
        if not 0 <= value < count:
            self.fail(f"there is no {what} {value}: they are 0 to {count - 1}")
        return value


def parse_json(data: bytes, file: str | None, where: str | None = None) -> JsonValue:
    """The JSON value in `data`; ModelError with byte, or line and column, when there is none."""
    try:
        return JsonValue(
            json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object), file, where
        )
    except UnicodeDecodeError as error:
        raise ModelError("is not UTF-8", file=file, where=f"byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        full = place if where is None else f"{where}, {place}"
        raise ModelError(f"is not JSON: {error.msg}", file=file, where=full) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"is not usable JSON: {error}", file=file, where=where) from error


def short_text(value: object) -> str:
    """The JSON value in few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return f"the string {value[:40]!r}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' is there twice")
    return table
