"""`hipscope recipes`: the rewrites that there are, what each answers, needs and assumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import Format, FormatOption, OutputOption
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import check_output, failures_reported

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.server.reports.schema.recipes import RecipeEntry

_PARTS = ("group", "answers", "changes", "needs", "assumes", "results", "programs")


def recipes(
    name: Annotated[str | None, typer.Argument(help="One alone, with all that is said of it.")] = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """List the rewrites of `hipscope optimize`: what each answers, changes, needs and assumes."""
    with failures_reported():
        check_output(output)
        from dataclasses import asdict

        from hipscope.formulas.catalog import rewrites
        from hipscope.server.reports.schema.recipes import RecipeEntry, RecipesReport

        listed = tuple(RecipeEntry(**asdict(entry)) for entry in rewrites())
        report = RecipesReport(listed if name is None else (_find(name, listed),))
        write_result(report, lambda console: _draw(console, report.recipes, name), format, output)


def _find(name: str, listed: Sequence[RecipeEntry]) -> RecipeEntry:
    """The one of that name. Raises `UsageError` with the closest name."""
    import difflib

    from hipscope.analysis.errors import UsageError

    found = {entry.name: entry for entry in listed}
    if name in found:
        return found[name]
    close = difflib.get_close_matches(name, found, n=1)
    hint = f"did you mean {close[0]}?" if close else "`hipscope recipes` lists all"
    raise UsageError(f"no recipe {name!r}", hint)


def _draw(console: Console, listed: Sequence[RecipeEntry], name: str | None) -> None:
    from rich.table import Table
    from rich.text import Text

    if name is not None:
        for part in _PARTS:
            if value := getattr(listed[0], part):
                console.print(Text(f"{part:>9}  {value}"), soft_wrap=True)
        return
    table = Table("recipe", "answers", "what it changes", "assumes", "results", box=None, pad_edge=False)
    for entry in listed:
        table.add_row(*map(Text, (entry.name, entry.answers, entry.changes, entry.assumes, _results(entry))))
    console.print(table)


def _results(entry: RecipeEntry) -> str:
    return f"{entry.results} (optimize.fast_math)" if entry.approximate else entry.results
