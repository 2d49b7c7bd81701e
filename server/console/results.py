"""A result in the form that was asked for: text, JSON, Markdown or HTML, on standard output or in a file.

Takes the object of a command and the function that draws it, writes. A page of HTML is that of `server/pages`, else the
text with its colours.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.server.console.options import Format
from hipscope.server.console.terminal import draws_blocks, result_stream, text_console

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.source.texts import SourceTexts

_PAGE_WIDTH = 120


def write_result(
    report: object,
    draw: Callable[[Console], None],
    format: Format,
    output: Path | None,
    texts: SourceTexts | None = None,
) -> None:
    """Write the report; `draw` prints it on a console, `texts` are those that it is of.

    Raises UsageError when the file cannot be written, MissingTool when a page needs what is not installed.
    """
    page = None
    if format is Format.HTML:
        from hipscope.analysis.source.texts import SourceTexts as Texts
        from hipscope.server.pages.page import has_page, render_page

        page = render_page(report, texts or Texts()) if has_page(report) else None
    elif format in (Format.SARIF, Format.JUNIT):
        page = _exchanged(report, format, texts)
    with result_stream(output, format) as stream:
        if format is Format.JSON:
            from hipscope.server.render.json import render_json

            stream.write(render_json(report, ascii_only=output is None and not draws_blocks(stream)))
        elif format is Format.TEXT:
            draw(text_console(stream, output))
        elif page is not None:
            stream.write(page)
        else:
            stream.write(_page(draw, format))
    sys.stdout.flush()


def _exchanged(report: object, format: Format, texts: SourceTexts | None) -> str:
    """The report in a format of other tools. Raises UsageError for a report that has none."""
    from hipscope.analysis.errors import UsageError
    from hipscope.analysis.source.texts import SourceTexts as Texts
    from hipscope.server.exchange.junit import render_junit
    from hipscope.server.exchange.sarif import has_sarif, render_sarif
    from hipscope.server.reports.schema.compare import CompareReport

    if format is Format.JUNIT and isinstance(report, CompareReport):
        return render_junit(report)
    if format is Format.SARIF and has_sarif(report):
        here = Path.cwd()
        root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
        return render_sarif(report, texts or Texts(), importlib.metadata.version("hipscope"), root)
    raise UsageError(
        f"this report has no {format.value} form", "sarif: profiles and checks; junit: comparisons"
    )


def check_format(format: Format) -> None:
    """Raises MissingTool when a result in this form could not be written in the end."""
    if format is Format.HTML:
        from hipscope.server.pages.page import check_page_tools

        check_page_tools()


@contextlib.contextmanager
def failure_written(source: Path, format: Format, output: Path | None) -> Iterator[None]:
    """Around what makes a result: with JSON asked for, a failure is an object where the result would be."""
    from hipscope.analysis.errors import Cancelled, HipscopeError

    try:
        yield
    except Cancelled:
        raise
    except HipscopeError as failure:
        if format is Format.JSON:
            from hipscope.server.reports.schema.programs import FailureReport, ProgramError

            error = ProgramError(failure.message, failure.hint)
            write_result(FailureReport(str(source), failure.exit_code, error), _nothing, format, output)
        raise


def _nothing(_console: Console) -> None:
    """What a failure draws as text: its line on standard error says all."""


def _page(draw: Callable[[Console], None], format: Format) -> str:
    from rich.console import Console

    drawn = io.StringIO()
    colours = format is Format.HTML
    console = Console(
        file=drawn,
        width=_PAGE_WIDTH,
        record=colours,
        highlight=False,
        no_color=not colours,
        legacy_windows=False,
    )
    draw(console)
    if colours:
        return console.export_html(inline_styles=True)
    return f"```text\n{drawn.getvalue().rstrip()}\n```\n"
