"""What the constants that no source settles do to modelled times: each at both ends of its range, all kernels again.

Takes the ranges and switches in emulator/devices.toml, the programs in benchmarks/mi300a (every n-th size) and the
pairs in benchmarks/pairs; gives for each constant the kernels that it moves by more than 5 %, the pairs whose
direction it turns, and with all ranges together the interval that a time has by what bounds its kernel:

    python benchmarks/sensitivity.py [--every 6] [--jobs 8] [--update]
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mi300a_accuracy import measured_points
from benchmarks.modelled import Models, duration, put_between
from benchmarks.parallel import add_jobs, side_by_side, until_late
from hipscope.emulator.devices import switches, uncertain_constants
from hipscope.emulator.raw import RawDispatch

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "benchmarks" / "notes" / "accuracy.md"
DECIDES = 0.05


@dataclass(frozen=True)
class Case:
    """One kernel on one device: of which program, and which of its launches."""

    name: str
    program: Path
    device: str
    arguments: tuple[str, ...] = ()
    launches: int = 1  # from the end


@dataclass(frozen=True)
class Run:
    """A case with one constant at an end (0 or 1) of its range, or with all constants as they are."""

    case: Case
    constant: str = ""
    end: int = 0


Times = Mapping[str, tuple[float, str]]  # by case: nanoseconds, and what bounds it


def main() -> None:
    """Run everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=6, help="take every n-th size of the measured kernels")
    parser.add_argument("--seconds", type=float, default=3, help="leave kernels out that take longer")
    parser.add_argument("--constant", action="append", help="only this one (may be repeated)")
    add_jobs(parser)
    parser.add_argument(
        "--update", action="store_true", help="write the tables into benchmarks/notes/accuracy.md"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hipscope-sensitivity-") as folder:
        models = Models(Path(folder), jobs=options.jobs)
        cases = list(_cases(models, options.every))
        text = _report(models, cases, options.seconds, options.constant)
    print(text)
    if options.update:
        put_between(PAGE, "sensitivity.py", text)


def _ranges(device: str) -> dict[str, tuple[float, float]]:
    return uncertain_constants(device) | switches(device)


def _cases(models: Models, every: int) -> Iterator[Case]:
    points = measured_points()[::every]
    measured = {p.kernel: HERE / "mi300a" / f"{p.kernel}.hip" for p in points}
    pairs = {source.stem: source for source in sorted((HERE / "pairs").glob("*.hip"))}
    sources = measured | pairs
    compiled = side_by_side(models.compiled, sources.values(), models.jobs)
    programs = dict(zip(sources, compiled, strict=True))
    for point in points:
        yield Case(f"{point.kernel} {point.size}", programs[point.kernel], "mi300a", point.arguments)
    for name in pairs:
        yield Case(name, programs[name], "mi300x", launches=2)


def _times(
    models: Models, runs: Sequence[Run], seconds: float
) -> dict[tuple[str, int], dict[str, tuple[float, str]]]:
    """By constant and end; a case ends with the first of its runs that takes too long."""

    def launches(run: Run) -> tuple[RawDispatch, ...]:
        ends = _ranges(run.case.device)
        changes = {run.constant: ends[run.constant][run.end]} if run.constant else {}
        return models.run(run.case.program, run.case.device, run.case.arguments, changes, seconds)[1]

    found: dict[tuple[str, int], dict[str, tuple[float, str]]] = defaultdict(dict)
    for run, timed in until_late(launches, runs, lambda r: r.case, models.jobs):
        for which, launch in zip(("", " after"), timed[-run.case.launches :], strict=False):
            found[run.constant, run.end][run.case.name + which] = duration(launch), launch.bound_by or ""
    return found


def _report(models: Models, cases: list[Case], seconds: float, only: Sequence[str] | None) -> str:
    plain = _times(models, [Run(case) for case in cases], seconds)["", 0]
    ranges = {name: ends for name, ends in _ranges("mi300x").items() if name in (only or [name])}
    repeated = [
        Run(case, constant, end)
        for constant in ranges
        for end in range(2)
        for case in cases
        if case.name in plain and constant in _ranges(case.device)
    ]
    times = _times(models, repeated, 4 * seconds)
    rows = []
    everything: dict[str, list[float]] = {name: [1.0, 1.0] for name in plain}
    for constant, ends in ranges.items():
        ratios = defaultdict(list)
        for end in range(2):
            for name, (time, _) in times[constant, end].items():
                ratios[name].append(time / plain[name][0])
        for name, of_ends in ratios.items() if constant not in switches("mi300x") else ():
            everything[name][0] *= min(1, *of_ends)
            everything[name][1] *= max(1, *of_ends)
        rows.append(_row(constant, ends, ratios, _turned(plain, ratios)))
    head = "| constant | range | kernels moved by over 5 % | least and most, times | moves most | pairs turned |\n"
    head += "|---|---|--:|---|---|---|\n"
    lines = "".join(row for _, row in sorted(rows, reverse=True))
    intro = f"{len(plain)} kernels; constants that move none by 5 % are left out.\n\n"
    return intro + head + lines + "\n" + _intervals(plain, everything)


def _row(
    constant: str, ends: tuple[float, float], ratios: Mapping[str, list[float]], turned: list[str]
) -> tuple[int, str]:
    moved = [name for name, of_ends in ratios.items() if max(abs(r - 1) for r in of_ends) > DECIDES]
    if not moved:
        return 0, ""
    most = max(ratios, key=lambda name: max(abs(r - 1) for r in ratios[name]))
    low = min(min(of_ends) for of_ends in ratios.values())
    high = max(max(of_ends) for of_ends in ratios.values())
    cells = (f"`{constant}`", f"{ends[0]:g} to {ends[1]:g}", str(len(moved)), f"{low:.2f}, {high:.2f}", most)
    return len(moved), "| " + " | ".join((*cells, ", ".join(turned) or "none")) + " |\n"


def _turned(plain: Times, ratios: Mapping[str, list[float]]) -> list[str]:
    """Pairs whose rewrite is faster with the constant as it is and slower at an end, or the other way round."""
    turned = []
    for name in (n for n in plain if f"{n} after" in plain):
        before, after = plain[name][0], plain[f"{name} after"][0]
        if f"{name} after" not in ratios:
            continue
        for b, a in zip(ratios[name], ratios[f"{name} after"], strict=True):
            if (before / after > 1.02 and before * b / (after * a) < 1) or (
                before / after < 0.98 and before * b / (after * a) > 1
            ):
                turned.append(name)
                break
    return turned


def _intervals(plain: Times, everything: Mapping[str, list[float]]) -> str:
    """By what bounds a kernel: the median interval over its kernels, all constants at their worse ends."""
    by_bound = defaultdict(list)
    for name, (_, bound) in plain.items():
        by_bound[bound].append(everything[name])
    lines = ["| bound by | kernels | least | largest |", "|---|--:|--:|--:|"]
    for bound, of_kernels in sorted(by_bound.items()):
        low = statistics.median(k[0] for k in of_kernels)
        high = statistics.median(k[1] for k in of_kernels)
        lines.append(f"| {re.sub('^$', 'unknown', bound)} | {len(of_kernels)} | {low:.2f} | {high:.2f} |")
    return (
        "All of them at their worse ends, as a part of the modelled time (medians):\n\n"
        + "\n".join(lines)
        + "\n"
    )


if __name__ == "__main__":
    main()
