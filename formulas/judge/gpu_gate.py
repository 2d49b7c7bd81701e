"""The gate on a GPU: the program as it is and with a rewrite, run in turn under the profiler, until it is clear.

Takes a bench, the new text and a profiler that measures, gives a decision in words. The rewrite has been proved and the
whole program run with it on the emulator before, so what is left to ask here is only time.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hipscope.analysis.errors import BuildFailed, ProgramFailed
from hipscope.analysis.ingest.launches import Launch
from hipscope.analysis.profile import Profile
from hipscope.analysis.profilers import MeasuringProfiler, ProfilerRun
from hipscope.analysis.run import Run
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.template_instances import launches_of
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.judge import Judgement
from hipscope.formulas.judge.outcome import MeasuredTimes, Outcome, PairedRatio
from hipscope.formulas.judge.paired_timing import Cache, Side, Timing, decide_measured
from hipscope.formulas.judge.physical_limits import measured_beyond_physics

PAIRS = 24  # four may be lost to damaged time stamps
_TITLES: dict[Side, str] = {"before": "with the original", "after": "with the rewrite"}
_FIRST: Cache = "cold"  # in a fresh process nothing of the kernel is in the caches yet
_LATER: Cache = "warm"


@dataclass(frozen=True)
class Hardware:
    """The GPU that decides about time: what measures on it, and the program's profile there."""

    profiler: MeasuringProfiler
    profile: Profile


class _NotMeasured(Exception):
    """Why there are no times, in words."""


@dataclass(frozen=True)
class _Run:
    """One run of the program: nanoseconds of each launch of the kernel, and of all launches of each other one."""

    launches: tuple[float, ...]
    others: Mapping[str, float]

    @property
    def total_ns(self) -> float:
        return sum(self.launches)


def time_on_hardware(
    bench: Bench, hardware: Hardware, judgement: Judgement, run: Run | None = None
) -> Judgement:
    """The judgement of an accepted candidate after its times on the GPU: accepted with them, or why not.

    Raises MissingTool when the profiler is gone, and Cancelled.
    """
    run = run or bench.run
    changed = run.replacing_all(judgement.candidate.texts(bench.source))
    try:
        programs: dict[Side, BuiltProgram] = {
            "before": build_program(bench.project, bench.session.toolchain, run),
            "after": build_program(bench.project, bench.session.toolchain, changed, confined=True),
        }
        if programs["before"].argv == programs["after"].argv and (
            programs["before"].directory == programs["after"].directory
        ):
            raise _NotMeasured(
                "unsaved files and a build command of its own leave one place for both versions"
            )
        pairs = _run_pairs(bench, hardware, programs, run)
    except BuildFailed as failure:
        return _refused(judgement, f"Not timed on {hardware.profiler.title}: {failure.message}.")
    except _NotMeasured as reason:
        return _refused(judgement, f"Not timed on {hardware.profiler.title}: {reason}.")
    return _decide(bench, hardware, judgement, pairs)


def _run_pairs(
    bench: Bench, hardware: Hardware, programs: Mapping[Side, BuiltProgram], run: Run
) -> list[tuple[_Run, _Run]]:
    """The original and the rewrite in turn, without pairs of which a time stamp is damaged. Raises _NotMeasured."""
    pairs: list[tuple[_Run, _Run]] = []
    with work_directory("pairs") as directory:
        for number in range(1, PAIRS + 1):
            run.say(f"timing on {hardware.profiler.title}, pair {number} of {PAIRS}", (number - 1) / PAIRS)
            found: list[_Run | None] = []
            for side, program in programs.items():
                job = ProfilerRun(
                    built=program,
                    toolchain=bench.session.toolchain,
                    config=bench.project.config,
                    device=bench.project.config.device,
                    time_budget_s=bench.project.config.emulator.time_budget_s,
                    directory=directory,
                    run=run,
                )
                try:
                    found.append(_one_run(bench, hardware, job))
                except (ProgramFailed, _NotMeasured) as failure:
                    said = failure.message if isinstance(failure, ProgramFailed) else str(failure)
                    raise _NotMeasured(f"pair {number} of {PAIRS}, {_TITLES[side]}: {said}") from failure
            before, after = found
            if before is not None and after is not None:
                pairs.append((before, after))
    return pairs


def _one_run(bench: Bench, hardware: Hardware, job: ProfilerRun) -> _Run | None:
    """The times of one run, or None when a time stamp in it is damaged. Raises _NotMeasured and ProgramFailed."""
    timed = hardware.profiler.time_launches(job)
    expected = hardware.profile.program.exit_code
    if expected is not None and timed.exit_code != expected:
        raise _NotMeasured(f"the program left with exit code {timed.exit_code} instead of {expected}")
    is_mine = launches_of(bench.symbols, (k.mangled or k.name for k in hardware.profile.kernels))
    mine, others = [], dict[str, float]()
    for launch in timed.launches:
        if is_mine(launch.kernel):
            mine.append(launch)
        elif launch.timed:
            name = base_name(demangle(launch.kernel))
            others[name] = others.get(name, 0.0) + _duration(launch)
    launched = sum(len(k.dispatches) for k in hardware.profile.kernels if is_mine(k.mangled or k.name))
    if len(mine) != launched:
        raise _NotMeasured(f"`{bench.kernel.name}` was launched {len(mine)} times, before {launched} times")
    if not all(launch.timed for launch in mine):
        return None
    return _Run(tuple(_duration(launch) for launch in mine), others)


def _decide(
    bench: Bench, hardware: Hardware, judgement: Judgement, pairs: Sequence[tuple[_Run, _Run]]
) -> Judgement:
    assert judgement.after is not None
    if pairs:
        fastest = min(after.total_ns for _, after in pairs)
        why = measured_beyond_physics(fastest, judgement.after, bench.reference, hardware.profile.device)
        if why is not None:
            reason = f"Refused: {why} (measured)."
            return replace(judgement, stage=Outcome.IMPLAUSIBLE, reason=reason, speedup=None)
    warm = bool(pairs) and len(pairs[0][0].launches) > 1
    decision = decide_measured(
        _timings(pairs, _FIRST) + (_timings(pairs, _LATER) if warm else []),
        caches=(_LATER, _FIRST) if warm else (_FIRST,),
        others={name: _others(pairs, name) for name in _named(pairs)},
        least_gain=bench.project.config.optimize.min_speedup - 1,
    )
    measured = None
    if pairs:
        measured = MeasuredTimes(
            before_ns=statistics.median(before.total_ns for before, _ in pairs),
            after_ns=statistics.median(after.total_ns for _, after in pairs),
            ratios={
                cache: PairedRatio(estimate=r.estimate, low=r.low, high=r.high, pairs=r.pairs)
                for cache, r in decision.ratios.items()
            },
        )
    verdict = judgement.verdict.reason if judgement.verdict is not None else ""
    reason = decision.reason[:1].upper() + decision.reason[1:] + "."
    once = () if warm else ("the program launches the kernel once per run, so only cold caches were timed",)
    return replace(
        judgement,
        stage=decision.stage,
        reason=f"{reason} {verdict}".strip() if decision.accepted else reason,
        speedup=decision.speedup,
        notes=judgement.notes + (once if decision.accepted else ()),
        measured=measured,
    )


def _refused(judgement: Judgement, reason: str) -> Judgement:
    return replace(judgement, stage=Outcome.NOT_MEASURED, reason=reason, speedup=None)


def _timings(pairs: Sequence[tuple[_Run, _Run]], cache: Cache) -> list[Timing]:
    """The first launches, or all later ones of each run together, in the order of the runs."""

    def of(run: _Run) -> float:
        return run.launches[0] if cache == _FIRST else sum(run.launches[1:])

    return [
        timing
        for before, after in pairs
        for timing in (Timing("before", cache, of(before)), Timing("after", cache, of(after)))
    ]


def _others(pairs: Sequence[tuple[_Run, _Run]], name: str) -> list[Timing]:
    return [
        timing
        for before, after in pairs
        if name in before.others and name in after.others
        for timing in (
            Timing("before", _LATER, before.others[name]),
            Timing("after", _LATER, after.others[name]),
        )
    ]


def _named(pairs: Sequence[tuple[_Run, _Run]]) -> list[str]:
    return sorted({name for before, _ in pairs for name in before.others})


def _duration(launch: Launch) -> float:
    assert launch.start_ns is not None
    assert launch.end_ns is not None
    return float(launch.end_ns - launch.start_ns)
