"""All rewrites by name, for people: what each answers, changes, needs and assumes.

Takes the rules as they stand in their modules, gives rows. `python -m hipscope.formulas.catalog` prints the
page docs/recipes.md of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from hipscope.formulas.propose.rules import rules
from hipscope.formulas.tables import table

PAGE = "docs/recipes.md"
_HEAD = """# Recipes

The rules that change a kernel, by what they change. *Answers* names the finding that asks for a recipe; *any hot
kernel* is asked whatever was found. *Results* says what the proof demands. `hipscope recipes NAME` says what a recipe
needs and assumes. [Rewrites](rewrites.md) tells how an edit is proved.
"""
_SAME = "same bits"


@dataclass(frozen=True)
class RewriteEntry:
    """A rewrite; `answers` are formulas or when it is asked, `programs` those that it is kept for, where named."""

    name: str
    group: str
    answers: str
    changes: str
    needs: str = ""
    assumes: str = ""
    results: str = _SAME
    approximate: bool = False
    programs: str = ""


# What is no rule of a single kernel's text.
_SEARCHES = tuple(RewriteEntry(name=name, **row) for name, row in table("searches").items())


def rewrites() -> tuple[RewriteEntry, ...]:
    """All rewrites, and advice, by group in the order of the page, then by name."""
    found = [*_SEARCHES]
    for rule in rules():
        about = rule.about
        found.append(
            RewriteEntry(
                name=rule.name,
                group=rule.group,
                answers=", ".join(rule.answers) if not rule.anywhere else _anywhere(rule.answers),
                changes=about["changes"][:1].lower() + about["changes"][1:],
                needs=about.get("needs", ""),
                assumes=about.get("assumes", ""),
                results=about.get("results", _SAME),
                approximate=rule.approximate,
                programs=about.get("for", ""),
            )
        )
    return tuple(sorted(found, key=lambda entry: (_GROUPS.index(entry.group), entry.name)))


_GROUPS = ("LDS and reductions", "Memory", "Atomics", "Loops and branches", "Arithmetic", "Launches")


def _anywhere(answers: tuple[str, ...]) -> str:
    return ", ".join((*answers, "any hot kernel"))


def page() -> str:
    """The page of docs, a table for each group."""
    return _HEAD + "".join(_tables())


def _tables() -> Iterator[str]:
    group = ""
    for entry in rewrites():
        if entry.group != group:
            group = entry.group
            yield f"\n## {group}\n\n| recipe | answers | what it changes | results |\n|---|---|---|---|\n"
        yield f"| `{entry.name}` | {entry.answers} | {entry.changes} | {entry.results} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
