"""What functions made is remembered by the things that they made it of."""

from __future__ import annotations

import pytest

from cvmgen.ir import remember
from cvmgen.ir.remember import remembered


def test_by_identity_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "MOST", 2)
    asked: list[list[int]] = []

    @remembered
    def doubled(values: list[int]) -> list[int]:
        asked.append(values)
        return values * 2

    one, like_one, other = [1], [1], [2]
    assert doubled(one) is doubled(one)
    assert doubled(like_one) is not doubled(one)
    assert asked == [one, like_one]
    assert doubled(other) == [2, 2]  # for which that asked for longest ago goes
    assert [doubled(one), doubled(like_one)] == [[1, 1], [1, 1]]
    assert asked == [one, like_one, other, like_one]


def test_what_fails_is_asked_again() -> None:
    @remembered
    def failing(value: object) -> object:
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011
            failing(1)
