"""A verified rewrite as a page to read before it is taken: the change, the proof, what was never varied, what it costs.

Takes the `hipscope.optimize/1` record, gives Markdown that editors render and that reads well as plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.render.blocks import Block, Heading, Table, literal, to_markdown
from hipscope.server.render.words import bar, borders, duration, percent, plural
from hipscope.server.reports.schema.optimize import Attempt, Optimization, Side
from hipscope.server.reports.schema.verdict import Verdict

_RESOURCES = (
    ("vgprs", "VGPRs"),
    ("agprs", "AGPRs"),
    ("sgprs", "SGPRs"),
    ("lds_bytes", "LDS, bytes"),
    ("scratch_bytes", "scratch, bytes"),
    ("occupancy", "waves per SIMD"),
)


def headline(found: Optimization) -> str:
    """One line: how fast, of which kind the times are, and of which kernel: `3.41x as fast (modelled): transpose`."""
    speed = f"{found.speedup:.2f}x as fast" if found.speedup else "faster"
    kind = f" ({found.provenance})" if found.provenance else ""
    return f"{speed}{kind}: {base_name(found.kernel or '')}"


def title(found: Optimization) -> str:
    """What the rewrite does and what for: `Pad the tile by one column (bankConflict)`."""
    accepted = next((a for a in found.attempts if a.outcome == "accepted"), None)
    what = accepted.title if accepted is not None and accepted.title else "Rewrite"
    return f"{what} ({found.formula})" if found.formula else what


def evidence(found: Optimization) -> str:
    """The whole page, in Markdown."""
    head = f"# {headline(found)}\n\n{title(found)}"
    change = f"## The change\n\n```diff\n{(found.diff or '').rstrip()}\n```"
    parts = [head, *_defects(found), change, to_markdown(list(_numbers(found)))]
    if found.verdict is not None:
        parts.append(to_markdown(list(_proof(found, found.verdict))))
    parts += [to_markdown(blocks) for blocks in (list(_costs(found)), list(_others(found))) if blocks]
    return "\n\n".join(parts) + "\n"


def defects_sentence(found: Optimization) -> str:
    """`The kernel as it is has a defect: divergent-barrier on line 22.`; empty without one."""
    if not found.defects:
        return ""
    named = ", ".join(dict.fromkeys(f"{note.code} on line {note.line}" for note in found.defects))
    count = "a defect" if len(found.defects) == 1 else f"{len(found.defects)} defects"
    return f"The kernel as it is has {count}, which the rewrite does not mend: {named}."


def _defects(found: Optimization) -> Iterator[str]:
    """What is wrong with the kernel whatever is made of it."""
    if found.defects:
        rows = (f"line {note.line}, {note.code}: {note.message}" for note in found.defects)
        yield f"## Defects of the kernel as it is\n\n{_listed(rows)}"


def _numbers(found: Optimization) -> Iterator[Block]:
    """Time, metrics and resources before and after, and each other kernel that the edit makes faster."""
    before, after = found.before, found.after
    if before is None or after is None:
        return
    yield Heading("Before and after")
    yield Table(("", "before", "after", ""), tuple(_rows(before, after)), frozenset({1, 2}))
    gains = [g for g in found.kernels if base_name(g.kernel) != base_name(found.kernel or "")]
    if gains:
        rows = ((f"`{base_name(g.kernel)}`", duration(g.time_ns), f"{g.speedup:.2f}x") for g in gains)
        yield Table(("other kernels", "time of a run", "as fast"), tuple(rows), frozenset({1, 2}))
    if found.gpu_speedup is not None:
        yield f"All kernels of a run together: {found.gpu_speedup:.2f}x as fast."
    if found.program_speedup is not None:
        yield f"The program with its host: at most {found.program_speedup:.2f}x as fast (measured)."


def _rows(before: Side, after: Side) -> Iterator[tuple[str, str, str, str]]:
    most = max(before.time_ns, after.time_ns)
    drawn = f"{bar(before.time_ns / most)}→ {bar(after.time_ns / most)}" if most > 0 else ""
    yield f"time ({before.provenance})", duration(before.time_ns), duration(after.time_ns), drawn
    for name, old in before.metrics.items():
        new = after.metrics.get(name)
        if old is not None and new is not None and old != new:
            label = name if before.provenance == "modelled" else f"{name} (modelled)"
            yield literal(label), f"{old:.4g}", f"{new:.4g}", ""
    for field, label in _RESOURCES:
        old, new = getattr(before, field), getattr(after, field)
        if old is not None and new is not None:
            yield label, f"{old:g}", f"{new:g}", "" if old == new else "changed"


def _proof(found: Optimization, verdict: Verdict) -> Iterator[Block]:
    """What was compared, how near the results are, and what the comparison says nothing about."""
    yield Heading("What proves it")
    yield literal(verdict.reason)
    counts = Counter(t.inputs for t in verdict.trials if t.outcome == "same").items()
    if counts:
        yield Table(("inputs", "launches"), tuple((literal(i), str(n)) for i, n in counts), frozenset({1}))
    dropped = Counter(f"{t.inputs}: {t.detail}" for t in verdict.trials if t.outcome == "dropped").items()
    if dropped:
        yield "Not compared:\n\n" + _listed(text for text, _ in dropped)
    if verdict.bit_exact:
        yield "Every bit of every result is the same."
    elif verdict.max_relative is not None:
        yield (
            f"Results differ by at most {verdict.max_relative:.2g} relative, {verdict.max_ulp} units in the last "
            "place; that is within the tolerance."
        )
    if verdict.inputs:
        yield Heading("What was varied, and what never")
        yield _listed(verdict.inputs)
    said = [*verdict.notes, *found.notes, *([found.ended] if found.ended else [])]
    if found.isolation is not None:
        said.append(f"isolation of what was compiled and run: {borders(found.isolation)}")
    if said:
        yield Heading("What the verdict assumes")
        yield _listed(dict.fromkeys(said))


def _costs(found: Optimization) -> Iterator[Block]:
    """What got worse in exchange."""
    if not found.trades:
        return
    yield Heading("What it costs")
    rows = (
        (
            literal(t.metric),
            "unknown" if t.before is None else f"{t.before:.4g}",
            "unknown" if t.after is None else f"{t.after:.4g}",
            percent(t.share),
        )
        for t in found.trades
    )
    yield Table(("metric", "before", "after", "time at stake"), tuple(rows), frozenset({1, 2, 3}))


def _others(found: Optimization) -> Iterator[Block]:
    """The attempts that lost, and why."""
    lost = [a for a in found.attempts if a.outcome != "accepted" and (a.title or a.recipe)]
    if lost:
        yield Heading(f"{plural(len(lost), 'other attempt', 'other attempts')}")
        yield Table(("attempt", "outcome", "why"), tuple(map(_attempt, lost)))


def _attempt(attempt: Attempt) -> tuple[str, str, str]:
    outcome = attempt.outcome.replace("_", " ")
    reason = attempt.reason.removeprefix(f"Advice: {attempt.title}. ").replace("\n", " ")
    return literal(attempt.title or attempt.recipe), outcome, literal(reason)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {literal(line)}" for line in lines)
