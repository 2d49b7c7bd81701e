"""What the page of a profile shows, as plain values: kernels, lines with their heat, findings, waits, the roofline.

Every number is one of the report's; `data-` attributes hold it unrounded beside the rounded words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.pages.isa_listing import isa_listings
from hipscope.server.pictures.roofline_picture import roofline_picture
from hipscope.server.render.explain import (
    bound_words,
    evidence_values,
    memory_sentence,
    occupancy_rows,
    resource_rows,
    roofline_rows,
)
from hipscope.server.render.formula_pages import page_text
from hipscope.server.render.words import REASONS, launches, reason
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.profile import Finding, Kernel, Line, Report

View = dict[str, Any]
_MOST_KERNELS = 100
_MOST_LINES = 400  # of one kernel's definition
_WARM = 0.005  # of its kernel's time: a line below it has no waits of its own
_MOST_WARM = 40  # lines of one kernel with their waits


def profile_view(
    report: Report, texts: SourceTexts, prefix: str, code: Mapping[str, IsaReport] | None = None
) -> View:
    """The values that the template of a profile takes. `prefix` begins the ids of its elements; `code` is the machine
    code of its kernels by mangled name.
    """
    kernels = report.kernels[:_MOST_KERNELS]
    ids = {kernel.mangled: f"{prefix}-k{number}" for number, kernel in enumerate(kernels)}
    places = [(ids[k.mangled], k.mangled, k.definition.file if k.definition else "") for k in kernels]
    return {
        "prefix": prefix,
        "report": report,
        "provenance": report.provenance,
        "left_out": len(report.kernels) - len(kernels),
        "failure": report.failure(),
        "notes": [
            *filter(None, [report.program.build_note, report.source_note, report.partial]),
            *report.notes,
            *report.warnings,
        ],
        "kernels": [_kernel(report, kernel, texts, ids[kernel.mangled]) for kernel in kernels],
        "isa": isa_listings(code or {}, places),
        "time": report.time,
        "bounds": sorted({kernel.bound for kernel in kernels}),
        "findings": [_finding(report, one, ids) for one in report.findings],
        "hints": [_finding(report, one, ids) for one in report.diagnoses],
        "roofline": roofline_picture(
            report.device, [(ids[k.mangled], report.short_name(k), k) for k in kernels]
        ),
    }


def _kernel(report: Report, kernel: Kernel, texts: SourceTexts, name: str) -> View:
    nearest = next((r for r in kernel.roofline.ceilings if r.name == kernel.roofline.nearest), None)
    return {
        "id": name,
        "kernel": kernel,
        "short": report.short_name(kernel),
        "place": f"{PurePath(kernel.file).name}:{kernel.line}" if kernel.file and kernel.line else "",
        "bound": bound_words(kernel.bound) or "unknown",
        "launches": launches(kernel.dispatches, kernel.profiled),
        "nearest": nearest,
        "facts": [
            *roofline_rows(kernel.roofline),
            *occupancy_rows(kernel.occupancy),
            *resource_rows(kernel.resources),
        ],
        "waits": _waits(kernel.lines),
        "unit": "samples" if kernel.sampled else "cycles",
        "source": _source(report, kernel, texts, name),
    }


def _waits(lines: Sequence[Line]) -> list[View]:
    """What the waves of a kernel wait for, the most first; `share` is of all that they wait."""
    total: dict[str, float] = defaultdict(float)
    for line in lines:
        for name, cycles in line.stalls.items():
            total[name] += cycles
    whole = sum(total.values())
    ranked = sorted(total.items(), key=lambda item: -item[1])
    return [_wait(name, cycles, whole) for name, cycles in ranked if cycles > 0]


def _wait(name: str, cycles: float, whole: float) -> View:
    share = cycles / whole if whole else 0.0
    meaning = REASONS.get(name, ("", ""))[1]
    return {"name": reason(name), "key": name, "cycles": cycles, "share": share, "meaning": meaning}


def _source(report: Report, kernel: Kernel, texts: SourceTexts, name: str) -> View:
    """The kernel's text with the heat of each line, then the hot lines that stand elsewhere."""
    costs = {(line.file, line.line): line for line in reversed(kernel.lines)}
    place = kernel.definition
    text = _text(report, place.file, texts) if place is not None else None
    here = []
    shown = set()
    warm = sorted((one for one in kernel.lines if one.share >= _WARM), key=lambda one: -one.share)[
        :_MOST_WARM
    ]
    told = {id(costs[one.file, one.line]) for one in warm}
    if place is not None and text is not None:
        for number in range(place.start_line, min(place.end_line, place.start_line + _MOST_LINES) + 1):
            if number > len(text):
                break
            cost = costs.get((place.file, number))
            shown.add((place.file, number))
            here.append(_row(report, kernel, cost, number, text[number - 1], name, id(cost) in told))
    elsewhere = [
        {
            **_row(
                report, kernel, one, one.line, _line_of(_text(report, one.file, texts), one.line), name, True
            ),
            "file": PurePath(one.file).name or "no source line",
        }
        for one in warm
        if (one.file, one.line) not in shown
    ]
    return {"here": here, "elsewhere": elsewhere, "file": place.file if place is not None else ""}


def _row(
    report: Report, kernel: Kernel, cost: Line | None, number: int, text: str, name: str, told: bool
) -> View:
    row: View = {
        "number": number,
        "text": text,
        "cost": cost,
        "id": f"{name}-l{number}",
        "waits": [],
        "memory": [],
    }
    if cost is None or not told:
        return row
    whole = cost.stall
    ranked = sorted(cost.stalls.items(), key=lambda item: -item[1])
    return {
        **row,
        "gpu_share": kernel.gpu_share(cost),
        "waits": [_wait(key, cycles, whole) for key, cycles in ranked if cycles > 0],
        "memory": [memory_sentence(one).replace("**", "") for one in cost.memory],
        "findings": [f for f in report.findings if f.file == cost.file and f.line == cost.line],
    }


def _text(report: Report, file: str, texts: SourceTexts) -> list[str] | None:
    """The lines of a file, where it still is what was profiled."""
    if not file or report.sources.get(file) not in (None, texts.digest(file)):
        return None
    found = texts.read(file)
    return None if found is None else [x.decode("utf-8", "replace") for x in texts.lines(file)]


def _line_of(text: list[str] | None, number: int) -> str:
    return text[number - 1] if text is not None and 0 < number <= len(text) else ""


def _finding(report: Report, finding: Finding, ids: dict[str, str]) -> View:
    return {
        "finding": finding,
        "kernel": ids.get(finding.mangled),
        "place": f"{PurePath(finding.file).name}:{finding.line}" if finding.file else "",
        "gpu_share": report.gpu_share(finding),
        "evidence": [(one.metric, *evidence_values(one), one) for one in finding.evidence],
        "page": f"docs/formulas/{finding.formula}.md" if page_text(finding.formula) else "",
    }
