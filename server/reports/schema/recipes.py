"""`hipscope.recipes/1`: the rewrites that hipscope has, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

RECIPES_SCHEMA = "hipscope.recipes/1"


@dataclass(frozen=True, slots=True)
class RecipeEntry:
    """A rewrite. `answers`: the findings that ask for it, or when it is asked; `results`: what the proof demands.

    `approximate`: only where a project allows less precision. `programs`: what it is kept for.
    """

    name: str
    group: str
    answers: str
    changes: str
    needs: str
    assumes: str
    results: str
    approximate: bool
    programs: str


@dataclass(frozen=True, slots=True)
class RecipesReport:
    """All of them, or the one that was asked for."""

    TAG: ClassVar = ("schema", RECIPES_SCHEMA)
    recipes: tuple[RecipeEntry, ...]
