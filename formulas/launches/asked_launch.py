"""A rewrite that comes with another launch: other workgroups, or a multiple or a part of them.

Takes what is asked for and how the kernel's text is put into a file, gives the judgement. The host's text is edited
here, at all launches or at none, so a rewriter names a launch and writes no host code; the rewritten kernel then passes
the gates of every rewrite against the program with that launch, and the proof those of a launch edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.run import Run
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.build import compile_device
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.judge import Judgement, admit
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.launches.judge_launches import (
    Judged,
    judge_edit,
    launched_by,
    program_texts,
    shapes_of,
    symbols_in,
)
from hipscope.formulas.launches.launching_files import launches_of, program_around
from hipscope.formulas.launches.more_workgroups import part, times
from hipscope.formulas.launches.numbers import LaunchEdit, Sides, launch_edits
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.splice import apply_splices

Rewriting = Callable[[bytes, KernelSyntax], bytes]
"""The kernel's file, and where it stands there, to the file with the rewritten kernel."""

_FORM = re.compile(
    r"workgroup\s+(?P<x>\d+)(?:\s*x\s*(?P<y>\d+))?(?:\s*x\s*(?P<z>\d+))?|workgroups\s*(?P<sign>[x*/])\s*(?P<count>\d+)"
)
_MOST = 1024  # times, or parts


@dataclass(frozen=True)
class AskedLaunch:
    """Work-items of a workgroup along each side; or `times` as many workgroups along x, or one of `parts` of them."""

    workgroup: Sides | None = None
    times: int = 1
    parts: int = 1

    def groups(self, groups: Sides) -> Sides:
        """How many workgroups become of those."""
        return (-(-groups[0] * self.times // self.parts), *groups[1:])

    def exactly(self, groups: Sides) -> Sides | None:
        """How many do exactly what those do: none of them a part of its own work."""
        return self.groups(groups) if groups[0] % self.parts == 0 else None


def read_launch(text: str) -> AskedLaunch:
    """`workgroup 128`, `workgroup 32x8`, `workgroups x4` or `workgroups /4`. Raises ValueError."""
    found = _FORM.fullmatch(text.strip().strip("`").lower())
    if found is None:
        raise ValueError(f"`{text.strip()}` is no launch such as `workgroup 128` or `workgroups /4`")
    if found["x"]:
        return AskedLaunch((int(found["x"]), int(found["y"] or 1), int(found["z"] or 1)))
    count = int(found["count"])
    if not 2 <= count <= _MOST:
        raise ValueError(f"`{text.strip()}`: from 2 to {_MOST} times, or parts")
    return AskedLaunch(parts=count) if found["sign"] == "/" else AskedLaunch(times=count)


def launches_so(bench: Bench, asked: str) -> bool:
    """Whether each recorded launch has the asked workgroup already."""
    try:
        wanted = read_launch(asked)
    except ValueError:
        return False
    return wanted.workgroup is not None and all(has == wanted.workgroup for _, has in shapes_of(bench))


def judge_with_launch(
    bench: Bench, candidate: Candidate, asked: str, rewriting: Rewriting, run: Run
) -> Judged:
    """The judgement of a kernel that is to be launched otherwise. Raises Cancelled, and what `rewriting` raises."""
    edit = _launch_edit(bench, asked, run)
    if isinstance(edit, str):
        return Judged(Judgement(candidate, Outcome.REFUSED, f"Refused: {edit}."))
    own = bench.source.resolve()
    before = next((text for file, text in edit.texts if file.resolve() == own), bench.original)
    kernel = parse(before).kernel(bench.kernel.name)
    if kernel is None:
        reason = f"Refused: with this launch the text of `{bench.kernel.name}` is not found."
        return Judged(Judgement(candidate, Outcome.REFUSED, reason))
    others = tuple((file, text) for file, text in edit.texts if file.resolve() != own)
    whole = replace(
        edit,
        file=bench.source,
        text=rewriting(before, kernel),
        also=others,
        host_only=False,
        own=None,
        recipe=candidate.recipe,
        title=f"{candidate.title}; {edit.title[:1].lower()}{edit.title[1:]}",
        expected=candidate.expected,
        confined=True,
    )
    candidate = replace(candidate, title=whole.title, text=whole.text, also=others)
    refused = _guarded(bench, candidate, edit, (before, kernel), run)
    return Judged(refused) if refused is not None else judge_edit(bench, whole, run)


def _launch_edit(bench: Bench, asked: str, run: Run) -> LaunchEdit | str:
    """The program with that launch and the kernel as it is, or why there is none."""
    if "launch" not in bench.project.config.optimize.edits:
        return "`optimize.edits` leaves launches as they are"
    try:
        wanted = read_launch(asked)
    except ValueError as wrong:
        return str(wrong)
    launched, seen = launched_by(bench, run), shapes_of(bench)
    if isinstance(launched, str):
        return launched
    name = bench.kernel.name
    if wanted.workgroup is None:
        scale = times(str(wanted.times)) if wanted.times > 1 else part(wanted.parts)
        host = launches_of(program_around(bench, launched.seeing), launched.launches, scale)
        if isinstance(host, str):
            return host
        changed = [
            (file, apply_splices(run.texts.needed(file), list(splices))) for file, splices in host.items()
        ]
        (file, text), *also = changed
        shapes = {(groups, w): (wanted.groups(groups), w) for groups, w in seen}
        many = f"{wanted.times} times the" if wanted.times > 1 else f"one of {wanted.parts} of the"
        title = f"Launch `{name}` with {many} workgroups"
        return LaunchEdit(file, text, title, shapes, also=tuple(also), becomes=wanted.exactly)
    found = launch_edits(name, launched.launches, program_texts(bench, run), launched.shapes(bench))
    if isinstance(found, str):
        return found
    for edit in found:
        if any(workgroup == wanted.workgroup for _, workgroup in edit.shapes.values()):
            return edit
    possible = sorted({workgroup for edit in found for _, workgroup in edit.shapes.values()})
    listed = ", ".join(f"{x}x{y}x{z}" for x, y, z in possible).replace("x1x1", "")
    return f"of the workgroups of `{name}` these are possible: {listed}"


def _guarded(
    bench: Bench, candidate: Candidate, edit: LaunchEdit, before: tuple[bytes, KernelSyntax], run: Run
) -> Judgement | None:
    """Why the guard or the compiler refuses the kernel in the program with the launch; None where neither does."""
    text, kernel = before
    launched = run.replacing_all(edit.texts)
    try:
        compiled = compile_device(bench.project, bench.session.toolchain, bench.source, launched)
    except BuildFailed as failure:
        reason = f"Refused: with this launch the program does not compile: {failure.message}."
        return Judgement(candidate, Outcome.REFUSED, reason)
    symbols = symbols_in(bench, compiled)
    if symbols is None or bench.other_sources(candidate):
        reason = "Refused: the launch is a part of the kernel's type, or its file is compiled into several sources."
        return Judgement(candidate, Outcome.REFUSED, reason)
    facts = {symbols.get(s, s): _launched(f, edit.shapes) for s, f in bench.facts_by_symbol.items()}
    there = replace(bench, original=text, kernel=kernel, compiled=compiled, facts_by_symbol=facts)
    admitted = admit(there, replace(candidate, file=None), launched)
    return replace(admitted, candidate=candidate) if isinstance(admitted, Judgement) else None


def _launched(facts: LaunchFacts, shapes: Mapping[tuple[Sides, Sides], tuple[Sides, Sides]]) -> LaunchFacts:
    """The facts with the workgroups that the launches get."""
    becomes = {was: now for (_, was), (_, now) in shapes.items()}
    launches = (replace(one, workgroup=becomes.get(one.workgroup, one.workgroup)) for one in facts.launches)
    return replace(facts, launches=tuple(launches))
