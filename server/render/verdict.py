"""A verdict of accordo as text, Markdown, HTML or JSON.

Takes the `hipscope.verdict/1` record, gives a string. The picture of where a buffer differs is the verdict's own map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from hipscope.server.render.json import render_json
from hipscope.server.render.words import borders
from hipscope.server.reports.schema.verdict import Mismatch, Trial, VerdictReport

_CELL = 10  # pixels
_DROPPED = ": dropped, "  # in a note on a trial
_COLOURS = {"x": "#c62828", ".": "#a5d6a7"}
_STYLE = (
    "body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .6em;text-align:left}"
)


def drawn(report: VerdictReport, form: str, *, verbose: bool) -> str:
    """The verdict in the form of that name; `verbose`: with every input that was tried."""
    return text(report, verbose=verbose) if form == "text" else _DRAWN[form](report)


def text(report: VerdictReport, *, verbose: bool = False) -> str:
    """For a terminal."""
    return "\n".join(_lines(report) if verbose else _short(report)) + "\n"


def markdown(report: VerdictReport) -> str:
    """For a comment on a change."""
    lines = [f"## `{report.kernel}`: {_word(report)}", "", report.reason, ""]
    for mismatch in report.mismatches:
        lines += ["| | |", "|---|---|", *(f"| {k} | {_cell(v)} |" for k, v in _facts(mismatch)), ""]
        if mismatch.map:
            lines += ["First to last element (x wrong, . right, blank not written):", "", "```"]
            lines += [f"|{row}|" for row in mismatch.map.splitlines()] + ["```", ""]
    lines += ["| dispatch | inputs | outcome |", "|---|---|---|"]
    lines += [f"| {t.dispatch} | {_cell(t.inputs)} | {_cell(_outcome(t))} |" for t in report.trials]
    lines += ["", *(f"- {note}" for note in _said(report))]
    return "\n".join(lines).rstrip() + "\n"


def html(report: VerdictReport) -> str:
    """A page of its own, with nothing from elsewhere."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        f"<title>{escape(report.kernel)}: {_word(report)}</title>",
        f"<style>{_STYLE}</style>",
        f"<h1><code>{escape(report.kernel)}</code>: {_word(report)}</h1><p>{escape(report.reason)}</p>",
    ]
    for mismatch in report.mismatches:
        rows = "".join(f"<tr><th>{escape(k)}<td>{escape(v)}" for k, v in _facts(mismatch))
        parts.append(f"<table>{rows}</table>")
        if mismatch.map:
            parts.append(f"<p>First to last element (red wrong, green right):</p>{_picture(mismatch.map)}")
    rows = "".join(
        f"<tr><td>{t.dispatch}<td>{escape(t.inputs)}<td>{escape(_outcome(t))}" for t in report.trials
    )
    parts.append(f"<h2>What was tried</h2><table><tr><th>dispatch<th>inputs<th>outcome{rows}</table>")
    notes = "".join(f"<li>{escape(note)}" for note in _said(report))
    parts.append(f"<ul>{notes}</ul></html>\n")
    return "\n".join(parts)


_DRAWN: dict[str, Callable[[VerdictReport], str]] = {
    "text": text,
    "markdown": markdown,
    "html": html,
    "json": render_json,
}


def _short(report: VerdictReport) -> Iterator[str]:
    """At most five lines: the verdict, why, where it differs or what to know, what was tried, what was not asked."""
    yield f"{report.kernel}: {_word(report)}"
    yield report.reason
    facts = (
        "; ".join(value for key, value in _facts(report.mismatches[0]) if key != "what")
        if report.mismatches
        else ""
    )
    notes = [note for note in report.notes if _DROPPED not in note]
    if facts:
        yield facts
    elif notes:
        yield f"note: {notes[0]}" + (f" (and {len(notes) - 1} more: -v)" if len(notes) > 1 else "")
    tried = {t.inputs for t in report.trials if t.outcome != "dropped"}
    dropped = sum(t.outcome == "dropped" for t in report.trials)
    more = f"; {dropped} dropped" if dropped else ""
    yield f"tried: {len(tried)} kinds of inputs and launches{more} (-v lists them, and each input of the kernel)"
    if report.left_out:
        gates = ", ".join(left.gate for left in report.left_out)
        yield f"not asked here, but of every rewrite: {gates} (-v says what each asks)"


def _lines(report: VerdictReport) -> Iterator[str]:
    """Everything."""
    yield f"{report.kernel}: {_word(report)}"
    yield report.reason
    for mismatch in report.mismatches:
        yield from (f"  {key}: {value}" for key, value in _facts(mismatch))
        if mismatch.map:
            yield f"  {mismatch.label} from first to last element (x wrong, . right):"
            yield from (f"    |{row}|" for row in mismatch.map.splitlines())
    tried = list(dict.fromkeys(t.inputs for t in report.trials if t.outcome != "dropped"))
    yield "tried:" if tried else "tried: nothing"
    yield from (f"  {inputs}" for inputs in tried)
    yield from _said(report)


def _said(report: VerdictReport) -> Iterator[str]:
    """What a reader should know beside the verdict."""
    yield from report.notes
    yield from (f"input {one}" for one in report.inputs)
    yield from _left_out(report)
    yield from _isolation(report)


def _left_out(report: VerdictReport) -> Iterator[str]:
    """The gates of a rewrite that this verdict says nothing about."""
    if report.left_out:
        gates = "; ".join(f"{left.gate} ({left.asks})" for left in report.left_out)
        yield f"not asked here, but of every rewrite: {gates}"


def _isolation(report: VerdictReport) -> Iterator[str]:
    """What was around the compiler; nothing is compiled or run of a candidate that is a binary but its GPU code."""
    if report.isolation is not None:
        yield f"isolation: {borders(report.isolation)}"


def _facts(mismatch: Mismatch) -> Iterator[tuple[str, str]]:
    yield "what", mismatch.message
    if mismatch.first_index is not None and mismatch.expected:
        yield (
            "first",
            f"element {mismatch.first_index} is {mismatch.got} instead of {mismatch.expected}",
        )
    if mismatch.count:
        yield "how many", f"{mismatch.count} of {mismatch.total} {mismatch.element}"
    sizes = (
        ("absolute", mismatch.max_absolute),
        ("relative", mismatch.max_relative),
        ("ULP", mismatch.max_ulp),
    )
    found = [f"{name} {size:.4g}" for name, size in sizes if size is not None]
    if found:
        yield "largest error", ", ".join(found)


def _outcome(trial: Trial) -> str:
    return trial.outcome + (f": {trial.detail}" if trial.detail else "")


def _word(report: VerdictReport) -> str:
    return {"equivalent": "equivalent", "different": "not equivalent"}.get(report.outcome, "cannot be proved")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _picture(drawn: str) -> str:
    rows = drawn.splitlines()
    width = max(map(len, rows)) * _CELL
    cells = "".join(
        f"<rect x='{x * _CELL}' y='{y * _CELL}' width='{_CELL - 1}' height='{_CELL - 1}' fill='{_COLOURS[mark]}'/>"
        for y, row in enumerate(rows)
        for x, mark in enumerate(row)
        if mark in _COLOURS
    )
    return f"<svg width='{width}' height='{len(rows) * _CELL}' role='img'>{cells}</svg>"
