"""Writes the pages about metrics from their tables: `python -m hipscope.analysis.counters.docs`.

A page for each group of the first architecture, one for each other architecture, and one that leads to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hipscope.analysis.counters.table import Metric, MetricTable, metric_table, tables

PAGE = "docs/metrics.md"
FOLDER = "docs/metrics"
_BASE = "gfx942"

_HEAD = """# Metrics

What `hipscope show CAPTURE --metrics GROUP` (or `--metrics all`) says of each kernel, from the counters of rocprofv3 or
of the emulator. A metric is missing where one of its counters was not recorded, or where a fact of the device is not
known; it is never filled in. Counters are sums over the launches for which they were recorded, and all launches of a
kernel give one value.

Names in formulas: T, the nanoseconds of these launches; LAUNCHES, their number; CU, SIMD (of a CU), XCD, SE (shader
engines), CHANNELS (of the L2), CLOCK (MHz) and WAVES_PER_CU of the device. Other short names are
[expressions](metrics/names.md). Sources: *compute* is the panel of rocprofiler-compute, *guided tuning* the key of
AMD's guided-tuning report card, *counter_defs* the definitions that rocprofiler-sdk ships.
"""


def pages() -> dict[str, str]:
    """The texts of all pages, by their paths."""
    base = metric_table(_BASE)
    assert base is not None
    groups = {group: list(_group(base, group)) for group in base.groups}
    others = {name: list(_other(name, table, base)) for name in tables() if (table := _not_base(name))}
    names = ["# Expressions in formulas\n", "The short names in the formulas of [metrics](../metrics.md).\n"]
    written = {**groups, **others, "names": [*names, *_names(base.names)]}
    listed = [f"- [{title}](metrics/{group}.md): `--metrics {group}`" for group, title in base.groups.items()]
    head = [_HEAD, f"## {_BASE} (MI300A, MI300X, MI308X, MI325X): {len(base.metrics)} metrics\n", *listed]
    further = ["", "## Other architectures\n", *(f"- [{name}](metrics/{name}.md)" for name in others)]
    texts = {f"{FOLDER}/{name}.md": lines for name, lines in written.items()}
    return {
        path: "\n".join(lines).rstrip() + "\n" for path, lines in {PAGE: [*head, *further], **texts}.items()
    }


def _not_base(name: str) -> MetricTable | None:
    return None if name == _BASE else metric_table(name)


def _group(table: MetricTable, group: str) -> Iterator[str]:
    yield f"# {table.groups[group]}\n"
    yield f"The [metrics](../metrics.md) of `hipscope show CAPTURE --metrics {group}` on {_BASE}.\n"
    yield from _rows(m for m in table.metrics.values() if m.group == group)


def _other(name: str, table: MetricTable, base: MetricTable) -> Iterator[str]:
    yield f"# {name}: {len(table.metrics)} metrics\n"
    yield f"The [metrics](../metrics.md) of {name}, as they differ from those of {_BASE}.\n"
    gone = [key for key in base.metrics if key not in table.metrics]
    changed = [metric for key, metric in table.metrics.items() if base.metrics.get(key) != metric]
    if gone and len(gone) < len(base.metrics) // 2:
        yield f"Without: {', '.join(f'`{key}`' for key in gone)}.\n"
    yield from _rows(iter(changed))
    yield from _names({key: text for key, text in table.names.items() if base.names.get(key) != text})


def _rows(metrics: Iterator[Metric]) -> Iterator[str]:
    yield "| metric | unit | meaning | formula | source |\n|---|---|---|---|---|"
    for m in metrics:
        yield f"| {m.name} (`{m.key}`) | {m.unit} | {m.meaning} | `{m.formula}` | {m.source} |"
    yield ""


def _names(names: Mapping[str, str]) -> Iterator[str]:
    if names:
        yield "| name | expression |\n|---|---|"
        yield from (f"| {key} | `{text}` |" for key, text in names.items())
        yield ""


if __name__ == "__main__":
    for path, text in pages().items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
