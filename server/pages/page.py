"""The page of a result: the template of its kind, filled by jinja2 with everything escaped."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.python_packages import install_extra
from hipscope.server.pages.checks import check_view
from hipscope.server.pages.compared import compare_view
from hipscope.server.pages.profiles import profile_view
from hipscope.server.pages.rewrites import optimize_view
from hipscope.server.render.words import duration, interval, percent, rate, size, three
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.compare import CompareReport
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Report
from hipscope.server.reports.schema.programs import ProgramsReport

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).with_name("templates")


def has_page(report: object) -> bool:
    """Whether there is a page for this result; others are pages of their text."""
    if isinstance(report, ProgramsReport):
        return any(isinstance(program.report, Report | CheckReport) for program in report.programs)
    return isinstance(report, Report | CompareReport | CheckReport | Optimization)


def check_page_tools() -> None:
    """Raises MissingTool when the packages that pages are made with are not installed."""
    if importlib.util.find_spec("jinja2") is None:
        raise MissingTool("HTML reports need the packages of the extra `report`", install_extra("report"))


def render_page(report: object, texts: SourceTexts, code: Mapping[str, IsaReport] | None = None) -> str:
    """The whole page; `code` has the machine code of a profile's kernels by mangled name. Raises MissingTool."""
    check_page_tools()
    if isinstance(report, CompareReport):
        return filled("compare.html", compare_view(report))
    if isinstance(report, Optimization):
        return filled("rewrites.html", optimize_view(report))
    return filled(_template(report), {"programs": _programs(report, texts, code or {})})


def filled(template: str, view: Mapping[str, Any]) -> str:
    """The page of a template with these values."""
    return _environment().get_template(template).render(view)


def _template(report: object) -> str:
    if isinstance(report, ProgramsReport):
        report = next((p.report for p in report.programs if p.report is not None), None)
    return "check.html" if isinstance(report, CheckReport) else "profile.html"


def _programs(report: object, texts: SourceTexts, code: Mapping[str, IsaReport]) -> list[dict[str, Any]]:
    if not isinstance(report, ProgramsReport):
        return [{"name": "", "error": None, "view": _view(report, texts, "p0", code)}]
    return [
        {
            "name": program.source,
            "error": program.error.message if program.error is not None else None,
            "view": _view(program.report, texts, f"p{number}", {}),
        }
        for number, program in enumerate(report.programs)
    ]


def _view(
    report: object, texts: SourceTexts, prefix: str, code: Mapping[str, IsaReport]
) -> dict[str, Any] | None:
    if isinstance(report, CheckReport):
        return check_view(report, texts)
    return profile_view(report, texts, prefix, code) if isinstance(report, Report) else None


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
