"""All formulas, and one call that asks each of them.

Takes a `Profile`, gives the findings worth showing, the ones with the most GPU time at stake first.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import MIN_SHARE, Finding, Formula, Related
from hipscope.formulas.detect.diagnose_only import DiagnoseOnly, explain_lines
from hipscope.formulas.detect.launch_config import LaunchConfig, idle_at_this_size
from hipscope.formulas.detect.plugins import outside_formulas, warn
from hipscope.formulas.detect.sites import underlined
from hipscope.formulas.detect.time_at_stake import estimated_speedup, speedup_limit, usual_speedup
from hipscope.formulas.tables import THRESHOLDS, WORDED, table

for _module in pkgutil.iter_modules([str(Path(__file__).parent)], __package__ + "."):
    importlib.import_module(_module.name)
# In the order of their table, whose last one has no findings: it says what bounds kernels in which others find nothing.
FORMULAS: tuple[Formula, ...] = tuple(WORDED[name]() for name in table("formulas"))[:-1]
DIAGNOSE = DiagnoseOnly()


def all_formulas() -> tuple[Formula, ...]:
    """The formulas in the order in which they are asked: built in, then those of other packages."""
    built_in = (*FORMULAS, DIAGNOSE)
    return (*built_in, *outside_formulas(tuple(f.name for f in built_in)))


def find_formula(name: str) -> Formula | None:
    """The formula of that name."""
    return next((formula for formula in all_formulas() if formula.name == name), None)


def detect_all(
    profile: Profile,
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
    min_share: float = MIN_SHARE,
) -> list[Finding]:
    """All findings with at least `min_share` of their kernel's time at stake; `formulas` None asks all of them.

    What is small on each line and large on all of them is one finding. `texts` are those that the program was built
    from.
    """
    return findings_and_hints(profile, texts, formulas=formulas, min_share=min_share)[0]


def findings_and_hints(
    profile: Profile,
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
    min_share: float = MIN_SHARE,
) -> tuple[list[Finding], list[Finding]]:
    """The findings as `detect_all` gives them, and what is too small for one: hints, with their worth."""
    chosen = [f for f in all_formulas() if f.objectives and (formulas is None or f.name in formulas)]
    total = sum(kernel.time_ns for kernel in profile.kernels)
    weighted: list[tuple[float, Finding]] = []
    hints: list[tuple[float, Finding]] = []
    for kernel in profile.kernels:
        if kernel.name.startswith(_OF_THE_RUNTIME):
            continue
        weight = kernel.time_ns / total if total else 1.0
        for formula in chosen:
            for f in _joined(ask_formula(formula, profile, kernel, texts), min_share):
                if f.share >= min_share:
                    weighted.append((weight * f.share, _bounded(profile, kernel, formula, f)))
                elif f.share >= THRESHOLDS["any.hint"]:
                    hints.append((weight * f.share, _bounded(profile, kernel, formula, f)))
    for group in (weighted, hints):
        group.sort(key=lambda pair: (-pair[0], pair[1].file, pair[1].line))
    return _with_workload(profile, [f for _, f in weighted], texts), [f for _, f in hints]


def _joined(findings: Sequence[Finding], min_share: float) -> list[Finding]:
    """What one formula finds in one kernel; lines that have `min_share` only together are one finding, on the line with
    most of it.
    """
    small = sorted((f for f in findings if _LEAST <= f.share < min_share), key=lambda f: -f.share)
    together = min(1.0, sum(f.share for f in small))
    if len(small) < _SEVERAL or together < min_share:
        return list(findings)
    first, *others = small
    places = [Related(f.file, f.line, f"{f.share:.1%} of the time here") for f in others[:_NAMED]]
    more = "1 more line" if len(others) == 1 else f"{len(others)} more lines"
    joined = replace(
        first,
        share=together,
        message=f"{first.message}; with {more} like it, {together:.0%} of the time together",
        related=(*first.related, *places),
    )
    return [*(f for f in findings if f not in small), joined]


_OF_THE_RUNTIME = (
    "__amd_rocclr_"  # HIP copies and fills with them: nobody's program has their text or their launches
)
_SEVERAL = 2  # lines
_LEAST = 0.0005  # of the time: less would be named with 0.0 %
_NAMED = 5  # of the other lines


def _with_workload(profile: Profile, findings: Sequence[Finding], texts: SourceTexts) -> list[Finding]:
    """The findings; the first of each kernel also says what the size of the problem leaves idle."""
    told: set[str] = set()
    found = []
    for finding in findings:
        kernel = profile.kernel(finding.mangled) if finding.mangled not in told else None
        told.add(finding.mangled)
        lanes = finding.formula != LaunchConfig.name
        idle = idle_at_this_size(profile, kernel, texts, lanes=lanes) if kernel is not None else ()
        found.append(replace(finding, related=(*finding.related, *idle)) if idle else finding)
    return found


def measure_all(kernel: Kernel, device: Device) -> dict[str, float]:
    """The metrics of all formulas' objectives, by name; those that the profile does not hold are absent."""
    metrics: dict[str, float] = {}
    for formula in all_formulas():
        metrics |= measure_one(formula, kernel, device)
    return metrics


def measure_one(formula: Formula, kernel: Kernel, device: Device) -> Mapping[str, float]:
    """The metrics of one formula; none, with a warning, when a formula of another package fails."""
    try:
        return formula.measure(kernel, device)
    except Exception as error:
        _excuse(formula, "measure", error)
        return {}


def diagnose(
    profile: Profile,
    findings: Sequence[Finding],
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
) -> list[Finding]:
    """What bounds each kernel without a finding, longest kernel first; nothing when `formulas` leaves that out."""
    if formulas is not None and DIAGNOSE.name not in formulas:
        return []
    found = {f.mangled for f in findings}
    rest = [k for k in profile.kernels if k.mangled not in found]
    bounds = [f for k in rest for f in ask_formula(DIAGNOSE, profile, k, texts)]
    return _with_workload(profile, bounds, texts)


def explain(
    profile: Profile,
    findings: Sequence[Finding],
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
) -> list[Finding]:
    """What the hot lines without a finding spend their time on, for each kernel that matters, longest first: those with
    a good part of the program's time, and the longest few of a program whose time is spread over many.

    `findings` are those that are shown. A line stands here with its part of the kernel's wave time as its share.
    """
    if formulas is not None and DIAGNOSE.name not in formulas:
        return []
    total = sum(kernel.time_ns for kernel in profile.kernels)
    found = []
    for rank, kernel in enumerate(profile.kernels):
        if rank >= _LONGEST and kernel.time_ns < THRESHOLDS["any.kernel_share"] * total:
            continue
        spoken = {(f.file, f.line) for f in findings if f.mangled == kernel.mangled}
        found += explain_lines(profile, kernel, spoken, DIAGNOSE.name)
    return [underlined(f, texts) for f in found]


_LONGEST = 3  # kernels that are told whatever their part


def ask_formula(formula: Formula, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
    """What one formula finds in one kernel, with the columns of what it points at; nothing, with a warning, when a
    formula of another package fails.
    """
    try:
        found = list(formula.detect(profile, kernel, texts))
        if not all(isinstance(f, Finding) for f in found):
            raise TypeError("it gave something else than findings")
        return [underlined(f, texts) for f in found]
    except Exception as error:
        _excuse(formula, "detect", error)
        return []


def _excuse(formula: Formula, what: str, error: Exception) -> None:
    """A formula of another package must not cost the user the profile; a defect of our own must show."""
    if formula in (*FORMULAS, DIAGNOSE):
        raise error
    warn(f"the formula {formula.name} is ignored, its {what}() failed: {type(error).__name__}: {error}")


def _bounded(profile: Profile, kernel: Kernel, formula: Formula, finding: Finding) -> Finding:
    if formula.fewer_launches:
        return replace(finding, estimated_speedup=1 / (1 - finding.share) if finding.share < 1 else None)
    if not formula.times_hold_it:
        return finding
    times = estimated_speedup(profile, kernel, finding.share, formula.keeps)
    if times is None:
        return finding
    usual = usual_speedup(times, speedup_limit(profile, kernel, formula.keeps))
    return replace(finding, estimated_speedup=times, usual_speedup=usual)
