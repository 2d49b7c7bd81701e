"""A kernel's counters as metrics in words and units, by group; `hipscope.server.metrics` opens all, with the raw names.

Takes a report and a kernel, gives tables. A metric whose counters were not recorded is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from hipscope.server.features.commands import METRICS
from hipscope.server.features.views.isa import asked_kernel
from hipscope.server.features.views.pages import open_text
from hipscope.server.render.blocks import Block, Heading, Table, literal, to_markdown
from hipscope.server.render.formula_pages import doc_page
from hipscope.server.render.words import count
from hipscope.server.reports.schema.metrics import Metric
from hipscope.server.reports.schema.profile import Kernel, Report
from hipscope.server.session.language_server import HipServer

SHOWN = ("work", "memory", "l2", "lds", "units", "waves")
"""Groups that a hover has a row of."""
_EACH = 3
_RAW = 12


def register(server: HipServer) -> None:
    """Hook the command into the server."""

    @server.command(METRICS)
    async def metrics_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        asked: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
        marks = ls.marks(asked["uri"]) if isinstance(asked.get("uri"), str) else None
        if marks is None:
            raise JsonRpcInvalidParams("no profile of this document is known: profile it first")
        kernel = asked_kernel(marks, asked)
        title = f"Metrics of {marks.report.short_name(kernel)}"
        await open_text(ls, title, to_markdown([Heading(title), *all_metrics(marks.report, kernel)]))
        return {"status": "done", "title": title}


def shown_metrics(report: Report, kernel: Kernel, link: str = "") -> list[Block]:
    """A row for each group, or the largest raw counters where the architecture has no table. `link` leads to all."""
    titles, found = _metrics(report, kernel)
    rows = []
    for group in SHOWN:
        own = [one for one in found if one.group == group][:_EACH]
        if own:
            name = _short(titles[group])
            rows.append((_to_page(name, group) if link else name, literal(", ".join(map(_said, own)))))
    if rows:
        table = Table(("metrics", f"{report.provenance}"), tuple(rows))
        return [table, link] if link else [table]
    if not kernel.counters:
        return []
    names = sorted(kernel.counters, key=lambda n: -kernel.counters[n])[:_RAW]
    raw = tuple((f"`{n}`", count(kernel.counters[n])) for n in names)
    return [Table(("counter", f"{report.provenance}"), raw, frozenset({1}))]


def all_metrics(report: Report, kernel: Kernel) -> list[Block]:
    """Every metric with its meaning, by group, then every counter by its raw name."""
    from hipscope.server.render.metrics import value_text

    titles, found = _metrics(report, kernel)
    blocks: list[Block] = []
    for group, title in titles.items():
        rows = tuple(
            (literal(one.name), value_text(one.value or 0.0), one.unit, literal(one.meaning))
            for one in found
            if one.group == group
        )
        if rows:
            blocks += [Heading(title), Table(("metric", "value", "unit", "meaning"), rows, frozenset({1}))]
    raw = tuple((f"`{name}`", count(value)) for name, value in sorted(kernel.counters.items()))
    return [*blocks, Heading("All counters"), Table(("counter", report.provenance), raw, frozenset({1}))]


def link_to_all(uri: str, kernel: Kernel) -> str:
    """A link of our extension to the page with all metrics."""
    given = quote(json.dumps([{"uri": uri, "kernel": kernel.mangled}]))
    return f"[All metrics and counters](command:{METRICS}?{given})"


def _metrics(report: Report, kernel: Kernel) -> tuple[Mapping[str, str], list[Metric]]:
    """The titles of groups, and the metrics that have a value."""
    from hipscope.server.reports.metrics_writer import metrics_report

    made = metrics_report(report, kernels=(kernel,))
    return made.groups, [one for of in made.kernels for one in of.metrics if one.value is not None]


def _said(one: Metric) -> str:
    from hipscope.server.render.metrics import value_text

    return f"{one.name} {value_text(one.value or 0.0)} {one.unit}".rstrip()


def _to_page(name: str, group: str) -> str:
    """The name of a group as a link to where its metrics are explained."""
    page = doc_page(f"metrics/{group}.md")
    return f"[{name}]({from_fs_path(str(page))})" if page is not None else name


def _short(title: str) -> str:
    return title.partition(":")[0].partition(",")[0]
