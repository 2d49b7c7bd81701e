"""A result in the form that was asked for: text, JSON, Markdown or HTML, on standard output or in a file.

Takes the object of a command and the function that draws it, writes. A page of HTML is that of `server/pages`, else the
text with its colours.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.server.console.options import Format
from hipscope.server.console.terminal import draws_blocks, result_stream, text_console

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.source.texts import SourceTexts
    from hipscope.server.reports.schema.isa import IsaReport

_PAGE_WIDTH = 120
_FOR_MACHINES = (Format.JSON, Format.SARIF, Format.JUNIT, Format.CODEQUALITY)


@dataclass(frozen=True)
class SourceRoot:
    """The folder that files are named from, and its address for readers: `folder` may be a copy."""

    folder: Path
    named: Path

    @classmethod
    def here(cls) -> SourceRoot:
        """The repository that the current directory is in, else that."""
        here = Path.cwd()
        top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
        return cls(top, top)


def write_result(
    report: object,
    draw: Callable[[Console], None],
    format: Format,
    output: Path | None,
    texts: SourceTexts | None = None,
    root: SourceRoot | None = None,
    code: Mapping[str, IsaReport] | None = None,
) -> None:
    """Write the report; `draw` prints it on a console, `texts` are those that it is of, `root` where its files lie,
    `code` its kernels' machine code.

    Raises UsageError when the file cannot be written, MissingTool when a page needs what is not installed.
    """
    page = None
    if format is Format.HTML:
        from hipscope.analysis.source.texts import SourceTexts as Texts
        from hipscope.server.pages.page import has_page, render_page

        page = render_page(report, texts or Texts(), code) if has_page(report) else None
    elif format in (Format.SARIF, Format.JUNIT, Format.CODEQUALITY):
        page = _exchanged(report, format, texts, root or SourceRoot.here())
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


def _exchanged(report: object, format: Format, texts: SourceTexts | None, root: SourceRoot) -> str:
    """The report in a format of other tools. Raises UsageError for a report that has none."""
    from hipscope.analysis.errors import UsageError
    from hipscope.analysis.source.texts import SourceTexts as Texts
    from hipscope.analysis.system.python_packages import hipscope_version
    from hipscope.server.exchange.code_quality import render_code_quality
    from hipscope.server.exchange.junit import render_junit
    from hipscope.server.exchange.sarif import has_sarif, render_sarif
    from hipscope.server.reports.schema.compare import CompareReport
    from hipscope.server.reports.schema.programs import FailureReport

    if format is Format.JUNIT and isinstance(report, CompareReport | FailureReport):
        return render_junit(report)
    if format is not Format.JUNIT and has_sarif(report):
        render = render_sarif if format is Format.SARIF else render_code_quality
        return render(report, texts or Texts(), hipscope_version(), root.folder, root.named)
    raise UsageError(
        f"this report has no {format.value} form",
        "sarif and codequality: profiles, checks and rewrites; junit: comparisons",
    )


def check_format(format: Format) -> None:
    """Raises MissingTool when a result in this form could not be written in the end."""
    if format is Format.HTML:
        from hipscope.server.pages.page import check_page_tools

        check_page_tools()


@contextlib.contextmanager
def failure_written(source: Path, format: Format, output: Path | None) -> Iterator[None]:
    """Around what makes a result: in a form for machines a failure stands where the result would be."""
    from hipscope.analysis.errors import Cancelled, HipscopeError

    try:
        yield
    except Cancelled:
        raise
    except HipscopeError as failure:
        if format in _FOR_MACHINES:
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
    text = drawn.getvalue().rstrip()
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"
