"""What the loop records: an attempt for each answer, and the result of the one that was verified.

Takes a bench and what the judge said, gives the records of result.py. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.timeline.timeline import timeline
from hipscope.emulator.layout import computed_by_host
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.diagnose_only import roof_reached
from hipscope.formulas.detect.registry import measure_all
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.judge import Judgement
from hipscope.formulas.judge.outcome import MeasuredTimes, Outcome, ProgramTimes
from hipscope.formulas.judge.timed_replay import Measured
from hipscope.formulas.optimize.result import Attempt, KernelGain, OptimizeResult, Side
from hipscope.formulas.optimize.verified_edit import diff_of, edit_of, shown_name
from hipscope.formulas.propose.candidate import Candidate


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def unjudged(finding: Finding, title: str, outcome: Outcome, reason: str, *, recipe: str = "llm") -> Attempt:
    """An answer of a rewriter that could not be judged, or no answer."""
    return Attempt(
        formula=finding.formula,
        kernel=finding.kernel,
        recipe=recipe,
        title=title,
        outcome=outcome,
        reason=reason,
    )


def judged_attempt(bench: Bench, finding: Finding, judgement: Judgement) -> Attempt:
    """What came of one candidate."""
    candidate = judgement.candidate
    return Attempt(
        formula=finding.formula,
        kernel=finding.kernel,
        recipe=candidate.recipe,
        title=candidate.title,
        expected=candidate.expected,
        outcome=judgement.stage,
        reason=judgement.reason,
        speedup=judgement.speedup,
        after=_after(judgement),
        measured=judgement.measured,
        verdict=judgement.verdict,
        notes=judgement.notes,
        trades=judgement.trades,
        diff=_diff(bench, candidate),
    )


def verified_result(
    bench: Bench, finding: Finding, best: Judgement, attempts: list[Attempt]
) -> OptimizeResult:
    """The result with the edit of the best judgement; `attempts` are all that came before it."""
    kernels = bench.session.profile.kernels
    total = sum(k.time_ns for k in kernels)
    own = sum(k.time_ns for k in kernels if k.mangled in bench.symbols)
    gain = KernelGain(kernel=finding.kernel, line=finding.line, time_ns=own, speedup=best.speedup or 1.0)
    return OptimizeResult(
        status="verified",
        message=f"{best.candidate.title}: {best.reason} The whole program gives the same output{_in_it(best)}.",
        formula=finding.formula,
        kernel=finding.kernel,
        file=finding.file,
        line=finding.line,
        diff=_diff(bench, best.candidate),
        speedup=best.speedup,
        before=_side(bench.baseline, best, lambda times: times.before_ns),
        after=_after(best),
        measured=best.measured,
        verdict=best.verdict,
        notes=(*best.notes, *_of_libraries(bench.session.profile)),
        trades=best.trades,
        attempts=tuple(attempts),
        isolation=isolation(),
        edit=edit_of((f, *pair) for f, pair in _changes(bench, best.candidate)),
        kernels=(gain,),
        gpu_speedup=total / (total - gain.time_ns + gain.time_ns / gain.speedup) if total else None,
    )


def _of_libraries(profile: Profile) -> Iterator[str]:
    """What a run's gain leaves out."""
    if profile.library_calls:
        yield f"{computed_by_host(profile.library_calls)}: what all kernels gain together leaves them out"


def with_measured_gains(result: OptimizeResult, profile: Profile) -> OptimizeResult:
    """The result with what all kernels and the program gain by the times of that profile of a GPU.

    The program gains at most that: another path may be the longest one afterwards.
    """
    if result.speedup is None:
        return result
    own = base_name(result.kernel or "")
    times = [(k.name, k.time_ns) for k in profile.kernels]
    found = timeline(profile)
    path = found.path if found is not None and found.path is not None and found.path.host else None
    on_path = [(k.kernel, float(k.on_path_ns)) for k in path.kernels] if path is not None else []
    return result.model_copy(
        update={
            "gpu_speedup": _whole_gain(sum(time for _, time in times), times, own, result.speedup),
            "program_speedup": _whole_gain(path.time_ns, on_path, own, result.speedup) if path else None,
        }
    )


def _whole_gain(total: float, times: Sequence[tuple[str, float]], own: str, speedup: float) -> float | None:
    """What a whole of `total` gains when the kernels of that name, with these times in it, gain `speedup`."""
    spent = sum(time for name, time in times if base_name(name) == own)
    return total / (total - spent + spent / speedup) if total else None


def _in_it(best: Judgement) -> str:
    if (times := best.program) is None:
        return ""
    before, after = times.before_ns / 1e3, times.after_ns / 1e3
    ratio = times.times_as_fast
    return f"; in it the kernel's launches take {before:.4g} us before, {after:.4g} us after ({ratio:.2f}x)"


def _after(judgement: Judgement) -> Side | None:
    if judgement.after is None:
        return None
    return _side(judgement.after, judgement, lambda times: times.after_ns)


def _side(
    measured: Measured, judgement: Judgement, time_of: Callable[[MeasuredTimes | ProgramTimes], float]
) -> Side:
    """Times of a GPU or of the whole program where there are some, else of the replayed launches."""
    times = judgement.measured or judgement.program
    resources = measured.kernel.resources
    device = measured.profile.device
    metrics = measure_all(measured.kernel, device)
    return Side(
        time_ns=measured.time_ns if times is None else time_of(times),
        provenance="modelled" if judgement.measured is None else "measured",
        metrics=metrics,
        vgprs=resources.vgprs,
        agprs=resources.agprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        scratch_bytes=resources.scratch_bytes,
        occupancy=measured.occupancy,
    )


def _changes(bench: Bench, candidate: Candidate) -> Iterator[tuple[Path, tuple[bytes, bytes]]]:
    """The files that a candidate edits, with their texts before and after."""
    for file, text in candidate.texts(bench.source):
        own = file == bench.source and candidate.file is None
        yield file, (bench.original if own else bench.run.texts.needed(file), text)


def _diff(bench: Bench, candidate: Candidate) -> str:
    root = bench.project.root
    return "".join(diff_of(shown_name(file, root), *pair) for file, pair in _changes(bench, candidate))


def nothing_to_do(profile: Profile, kernels: Sequence[Kernel], named: str | None) -> str:
    """What to say where no bottleneck was found in these kernels, with the roof that the longest one is at."""
    if not profile.kernels:
        return "The program runs no kernel."
    longest = max(kernels, key=lambda k: k.time_ns, default=None)
    reached = longest and roof_reached(longest, roofline(longest, profile.device, profile.provenance))
    roof = f" {base_name(longest.name)} is {reached}." if longest and reached else ""
    return f"Nothing to do: no bottleneck was found{f' in {named}' if named else ''}.{roof}"
