"""Writes the page about metrics from their tables: `python -m hipscope.analysis.counters.docs > docs/metrics.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hipscope.analysis.counters.table import Metric, MetricTable, metric_table, tables

PAGE = "docs/metrics.md"
_BASE = "gfx942"

_HEAD = """# Metrics

What `hipscope show CAPTURE --metrics GROUP` (or `--metrics all`) says of each kernel, from the counters of rocprofv3 or
of the emulator. A metric is missing where one of its counters was not recorded, or where a fact of the device is not
known; it is never filled in. Counters are sums over the launches for which they were recorded, and all launches of a
kernel give one value.

Names in formulas: T, the nanoseconds of these launches; LAUNCHES, their number; CU, SIMD (of a CU), XCD, SE (shader
engines), CHANNELS (of the L2), CLOCK (MHz) and WAVES_PER_CU of the device. Other short names are expressions, listed
below. Sources: *compute* is the panel of rocprofiler-compute, *guided tuning* the key of AMD's guided-tuning report
card, *counter_defs* the definitions that rocprofiler-sdk ships.
"""


def page() -> str:
    """The page in Markdown."""
    return "\n".join([_HEAD, *_base(), *_others()]) + "\n"


def _base() -> Iterator[str]:
    table = metric_table(_BASE)
    assert table is not None
    yield f"## {_BASE} (MI300A, MI300X, MI308X, MI325X): {len(table.metrics)} metrics\n"
    for group, title in table.groups.items():
        yield f"### {title}\n\n`--metrics {group}`\n"
        yield from _rows(m for m in table.metrics.values() if m.group == group)
    yield from _names(table.names)


def _others() -> Iterator[str]:
    base = metric_table(_BASE)
    assert base is not None
    for name in tables():
        table = metric_table(name)
        if name == _BASE or table is None:
            continue
        yield f"## {name}: {len(table.metrics)} metrics\n"
        gone = [key for key in base.metrics if key not in table.metrics]
        changed = [metric for key, metric in table.metrics.items() if base.metrics.get(key) != metric]
        if gone and len(gone) < len(base.metrics) // 2:
            yield f"Without: {', '.join(f'`{key}`' for key in gone)}.\n"
        yield "What differs from gfx942:\n" if len(changed) < len(table.metrics) else ""
        yield from _rows(iter(changed))
        yield from _names(_changed_names(table, base))


def _changed_names(table: MetricTable, base: MetricTable) -> dict[str, str]:
    return {key: text for key, text in table.names.items() if base.names.get(key) != text}


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
    print(page(), end="")
