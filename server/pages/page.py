"""The page of a result: the template of its kind, filled by jinja2 with everything escaped."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.python_packages import install_extra
from hipscope.server.pages.compared import compare_view
from hipscope.server.pages.profiles import profile_view
from hipscope.server.render.words import duration, interval, percent, rate, size, three
from hipscope.server.reports.schema.compare import CompareReport
from hipscope.server.reports.schema.profile import Report
from hipscope.server.reports.schema.programs import ProgramsReport

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).with_name("templates")


def has_page(report: object) -> bool:
    """Whether there is a page for this result; others are pages of their text."""
    if isinstance(report, ProgramsReport):
        return any(isinstance(program.report, Report) for program in report.programs)
    return isinstance(report, Report | CompareReport)


def check_page_tools() -> None:
    """Raises MissingTool when the packages that pages are made with are not installed."""
    if importlib.util.find_spec("jinja2") is None:
        raise MissingTool("HTML reports need the packages of the extra `report`", install_extra("report"))


def render_page(report: object, texts: SourceTexts) -> str:
    """The whole page. Raises MissingTool."""
    check_page_tools()
    if isinstance(report, CompareReport):
        return _environment().get_template("compare.html").render(compare_view(report))
    return _environment().get_template("profile.html").render({"programs": _programs(report, texts)})


def _programs(report: object, texts: SourceTexts) -> list[dict[str, Any]]:
    if isinstance(report, Report):
        return [{"name": "", "error": None, "view": profile_view(report, texts, "p0")}]
    assert isinstance(report, ProgramsReport)
    return [
        {
            "name": program.source,
            "error": program.error.message if program.error is not None else None,
            "view": profile_view(program.report, texts, f"p{number}")
            if isinstance(program.report, Report)
            else None,
        }
        for number, program in enumerate(report.programs)
    ]


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=duration,
        interval=interval,
        percent=percent,
        rate=lambda v, unit: rate(v, unit),
        size=size,
        three=three,
    )
    return environment
