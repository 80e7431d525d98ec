"""How operators were loaded, so that a process that is sent one can load it too."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from weakref import WeakValueDictionary

from cvmgen.errors import CvmgenError

if TYPE_CHECKING:
    from cvmgen.api.operator import Operator
    from cvmgen.api.opsets import Operators

REMEMBERED = 8
"""How many loaded libraries are kept for what is sent next."""


class Recipe(NamedTuple):
    """The arguments of `load`, and the digest of the files that it found."""

    arguments: tuple[tuple[str, Any], ...]
    folder: str
    library: str | None
    files: str

    def load(self) -> Operators:
        """The operators that were loaded so in this process, or loaded now.

        Raises CvmgenError where other files lie now than those the recipe was made for.
        """
        return _loaded.get(self) or _load(self)


_loaded: WeakValueDictionary[Recipe, Operators] = WeakValueDictionary()


def remember(operators: Operators, recipe: Recipe) -> Operators:
    """Let operators tell how they were loaded."""
    operators.recipe = recipe
    for each in operators:
        each.home = operators
    _loaded[recipe] = operators
    return operators


def operators_again(recipe: Recipe) -> Operators:
    return recipe.load()


def operator_again(recipe: Recipe, name: str) -> Operator:
    return recipe.load()[name]


@lru_cache(maxsize=REMEMBERED)
def _load(recipe: Recipe) -> Operators:
    from cvmgen.api.library import load

    made = load(folder=recipe.folder, library=recipe.library, **dict(recipe.arguments))
    if made.recipe != recipe:
        what = recipe.library or recipe.folder
        raise CvmgenError(f"{what}: not what it was when its operators were sent; load them again")
    return made


def unsendable(what: str, instead: str) -> NoReturn:
    """Refuse to copy what holds addresses of this process."""
    raise TypeError(f"{what} holds memory of its process and cannot be copied or sent; {instead}")
