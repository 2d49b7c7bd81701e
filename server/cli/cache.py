"""`hipscope cache`: where the cache lies and how large it is, or the end of what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import Format, FormatOption, OutputOption
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import check_output, failures_reported

if TYPE_CHECKING:
    from rich.console import Console


_PUT_OFF = (
    "not cleared: a running command uses it. It is cleared before the next command that finds it unused; "
    "or call this again then"
)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all that is in it.")] = False,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Show where the cache lies, its size by kind and its limit; --clear empties it."""
    with failures_reported():
        check_output(output)
        from hipscope.analysis.config import load_config
        from hipscope.analysis.system.cache_size import cache_entries
        from hipscope.analysis.system.cache_use import clear_unused_cache
        from hipscope.analysis.system.directories import cache_directory
        from hipscope.server.render.words import size
        from hipscope.server.reports.schema.machine.cache import CacheReport

        directory, limit = cache_directory(), load_config(Path.cwd()).cache_max_bytes
        removed = clear_unused_cache(directory) if clear else ()
        cleared, put_off = sum(entry.size for entry in removed or ()), removed is None
        kinds: dict[str, int] = {}
        for entry in cache_entries(directory):
            kinds[entry.kind] = kinds.get(entry.kind, 0) + entry.size
        report = CacheReport(str(directory), sum(kinds.values()), limit, kinds, cleared, put_off)

        def draw(console: Console) -> None:
            from rich.text import Text

            console.print(
                Text(f"{report.path}: {size(report.size)} of at most {size(limit)}"), soft_wrap=True
            )
            for kind, held in sorted(kinds.items(), key=lambda item: -item[1]):
                console.print(Text(f"  {size(held):>10}  {kind}"))
            if put_off:
                console.print(Text(_PUT_OFF), soft_wrap=True)
            elif clear:
                console.print(Text(f"removed {size(cleared)}"))

        write_result(report, draw, format, output)
