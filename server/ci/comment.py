"""What is told on a pull request, as Markdown: a comparison, and a verified edit with its proof and attempts.

All text that comes from programs, models and files is escaped: it is shown, and never is a link, a mention, a heading
or HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from hipscope.server.render.words import duration
from hipscope.server.reports.schema.compare import ComparedKernel, CompareReport
from hipscope.server.reports.schema.optimize import Attempt, Optimization

MARK = "<!-- hipscope: comparison -->"
EDIT_MARK = "<!-- hipscope: edit -->"
LONGEST = 60_000  # characters; GitHub takes 65,536
_SHORT = 300
_MOST_ROWS = 200
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()#+\-.!|~:@/=^$]")


def comparison_comment(report: CompareReport) -> str:
    """The whole comment; its first line is how it is found again."""
    passed, failed = report.passed_limits, [p for p in report.programs if p.failed is not None]
    if passed:
        verdict = f"**{len(passed)} {'limit' if len(passed) == 1 else 'limits'} passed**"
    else:
        verdict = "within the limits" if report.limits else "no limits were asked for"
    kind = f"times are {report.provenance}" if report.provenance else "times are of different kinds"
    lines = [MARK, f"### hipscope: {verdict}", "", f"{code(report.base)} to {code(report.head)}, {kind}", ""]
    lines += [f"- {code(p.program)} {code(p.kernel)}: {code(p.message)} ({code(p.limit)})" for p in passed]
    lines += [f"- {code(p.program)} **could not be compared**: {code(p.failed or '')}" for p in failed]
    lines += ["", "| program | kernel | base | head | time |", "| --- | --- | ---: | ---: | ---: |"]
    rows = [(p.program, kernel) for p in report.programs for kernel in p.kernels]
    rows.sort(key=lambda row: -abs(row[1].change or 0.0))
    lines += [_row(program, kernel) for program, kernel in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        lines.append(f"\n{len(rows) - _MOST_ROWS} further kernels changed less.")
    return _cut(lines)


def edit_title(found: Optimization) -> str:
    """The title of a pull request with a verified edit."""
    name = re.sub(r"[^A-Za-z0-9_]", "", (found.kernel or "a kernel").partition("(")[0])[:60]
    gain = f" {found.speedup:.2f}x" if found.speedup is not None else ""
    return f"{name or 'kernel'}:{gain} as fast ({found.provenance or 'modelled'})"


def edit_body(found: Optimization, program: str) -> str:
    """The text of that pull request: kind of times first, then gain, proof, what it costs, attempts."""
    kind = found.provenance or "modelled"
    source = "on a GPU" if kind == "measured" else "by hipscope's emulator, not on a GPU"
    lines = [
        f"**Times are {kind}** ({source}).",
        "",
        EDIT_MARK,
        f"`hipscope optimize` on {code(program)}:",
        "",
    ]
    if found.before is not None and found.after is not None:
        lines += ["| | before | after |", "| --- | ---: | ---: |"]
        lines.append(f"| time | {duration(found.before.time_ns)} | {duration(found.after.time_ns)} |")
        lines += [
            f"| {label} | {getattr(found.before, key)} | {getattr(found.after, key)} |"
            for key, label in (
                ("vgprs", "VGPRs"),
                ("lds_bytes", "LDS bytes"),
                ("occupancy", "waves per SIMD"),
            )
        ]
    if found.gpu_speedup is not None and found.speedup is not None:
        whole = found.program_speedup
        host = f", the program with its host at most {whole:.2f}x" if whole is not None else ""
        gains = f"Kernel {found.speedup:.2f}x, all kernels of the program {found.gpu_speedup:.2f}x{host}."
        lines += ["", gains]
    lines += ["", f"- {code(found.message)}"]
    if found.verdict is not None:
        lines.append(f"- proof: {code(found.verdict.outcome)}: {code(found.verdict.reason)}")
    lines += [f"- {code(note)}" for note in found.notes]
    lines += ["", "<details><summary>Attempts</summary>", ""]
    lines += [_attempt(one) for one in found.attempts[:_MOST_ROWS]]
    lines += ["", "</details>"]
    return _cut(lines)


def code(text: str) -> str:
    """A text of somebody else, as code on one line: shown as it is, whatever it holds."""
    line = " ".join(text.split())
    shown = line if len(line) <= _SHORT else f"{line[:_SHORT]}..."
    visible = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    escaped = html.escape(visible, quote=True)
    return f"<code>{_MARKDOWN.sub(lambda found: f'&#{ord(found[0])};', escaped.replace('&#x27;', '&apos;'))}</code>"


def _row(program: str, kernel: ComparedKernel) -> str:
    sides = [duration(side.time_ns) if side is not None else "" for side in (kernel.base, kernel.head)]
    if kernel.base is None or kernel.head is None:
        change = "new" if kernel.base is None else "gone"
    else:
        change = "" if kernel.change is None else f"{kernel.change:+.1%}"
        if (sure := kernel.measured) is not None:
            change += f" ({sure.low:+.1%} to {sure.high:+.1%})"
    return f"| {code(program)} | {code(kernel.name)} | {sides[0]} | {sides[1]} | {change} |"


def _attempt(one: Attempt) -> str:
    gain = "" if one.speedup is None else f" {one.speedup:.2f}x,"
    return f"- {code(one.title or one.recipe or one.formula)}:{gain} {code(one.outcome)}: {code(one.reason)}"


def _cut(lines: Sequence[str]) -> str:
    """The lines as one text that GitHub takes; whole lines are left out at its end."""
    text = ""
    for number, line in enumerate(lines):
        if len(text) + len(line) > LONGEST:
            return f"{text}\n{len(lines) - number} further lines were left out.\n"
        text += f"{line}\n"
    return text
