"""What the page of a check shows: each defect with both places and the source around them."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.render.check import summary, who
from hipscope.server.reports.schema.check import CheckReport, CodePosition, DefectReport, DefectSite

_AROUND = 2  # lines before and after
_MOST = 300  # defects on a page


def check_view(report: CheckReport, texts: SourceTexts) -> dict[str, Any]:
    """The values that the template of a check takes."""
    return {
        "report": report,
        "summary": summary(report),
        "defects": [_defect(one, texts) for one in report.reports[:_MOST]],
        "left_out": report.left_out + max(0, len(report.reports) - _MOST),
    }


def _defect(one: DefectReport, texts: SourceTexts) -> dict[str, Any]:
    sites = [("here", one.at), ("the other access", one.other)]
    blocks = (
        [("allocated", one.allocation.allocated_at), ("freed", one.allocation.freed_at)]
        if one.allocation
        else []
    )
    return {
        "defect": one,
        "sites": [_site(label, site, texts) for label, site in sites if site is not None],
        "host": [(label, [_place(at) for at in chain]) for label, chain in blocks if chain],
    }


def _site(label: str, site: DefectSite, texts: SourceTexts) -> dict[str, Any]:
    lines: list[tuple[int, str, bool]] = []
    if site.file and site.line:
        text = texts.lines(site.file) if texts.read(site.file) is not None else ()
        first = max(1, site.line - _AROUND)
        lines = [
            (number, text[number - 1].decode("utf-8", "replace"), number == site.line)
            for number in range(first, min(len(text), site.line + _AROUND) + 1)
        ]
    place = f"{PurePath(site.file).name}:{site.line}" if site.file else "no source line"
    return {
        "label": label,
        "place": place,
        "who": who(site),
        "site": site,
        "lines": lines,
        "chain": [_place(at) for at in site.chain[1:]],
    }


def _place(at: CodePosition) -> str:
    return f"{at.function} ({PurePath(at.file).name}:{at.line})"
