"""How well the time model predicts a kernel that its fitted constants have not seen.

For each of the eight kernels in benchmarks/mi300a the constants whose source is "fixture" in emulator/devices.toml are
fitted again on the other seven, starting from values that are off, and the kernel is run with what comes out:

    python benchmarks/leave_one_out.py [--every 5] [--first 3] [--jobs 8] [--update]

The fit takes the effects of the constants as independent factors, measured at a few values; the prediction is a run.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.mi300a_accuracy import Point, measured_points
from benchmarks.modelled import Models, put_between
from benchmarks.parallel import add_jobs, until_late
from hipscope.emulator.devices import device_constants

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "benchmarks" / "notes" / "accuracy.md"
DEVICE = "mi300a"
FACTORS = (0.7, 0.85, 1.0, 1.2, 1.4)
START = (0.7, 1.4)  # what the constants are multiplied by before the fit, in turn

Times = dict[Point, float]  # microseconds
Series = tuple[str, float]
PLAIN = ("", 1.0)


@dataclass(frozen=True)
class Case:
    """A size to be run, and in which series of runs: of a constant with a factor, of a kernel, or plain."""

    series: Series
    point: Point
    changes: Mapping[str, float] = field(default_factory=dict)


def main() -> None:
    """Fit, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=5, help="take every n-th size of each kernel")
    parser.add_argument("--first", type=int, default=3, help="begin with this size, counted from 0")
    parser.add_argument("--seconds", type=float, default=8, help="leave sizes out that take longer")
    add_jobs(parser)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/accuracy.md"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hipscope-fit-") as folder:
        models = Models(Path(folder), jobs=options.jobs)
        text = _report(models, slice(options.first, None, options.every), options.seconds)
    print(text)
    if options.update:
        put_between(PAGE, "leave_one_out.py", text)


def fitted_constants() -> dict[str, float]:
    """Names and values of the constants that were fitted to measured kernel times."""
    rows = device_constants()[DEVICE]
    return {k: float(r.value) for k, r in rows.items() if r.source.startswith("fixture") and r.value != 1}


def _report(models: Models, sizes: slice, seconds: float) -> str:
    constants = fitted_constants()
    points = [p for kernel in _kernels() for p in kernel[sizes]]
    programs = {name: models.compiled(HERE / "mi300a" / f"{name}.hip") for name in {p.kernel for p in points}}
    plain = _times(models, programs, [Case(PLAIN, p) for p in points], seconds)[PLAIN]
    cases = [
        Case((name, factor), p, {name: value * factor})
        for name, value in constants.items()
        for factor in FACTORS
        if factor != 1
        for p in plain
    ]
    effects = {
        constant: {p: math.log(t / plain[p]) for p, t in found.items()}
        for constant, found in _times(models, programs, cases, 4 * seconds).items()
    }
    factors = {
        k: _fit(list(constants), [p for p in plain if p.kernel != k], plain, effects) for k in programs
    }
    changes = {k: {name: constants[name] * factor for name, factor in factors[k].items()} for k in programs}
    predicted = _times(
        models, programs, [Case((p.kernel, 1), p, changes[p.kernel]) for p in plain], 4 * seconds
    )
    rows, ratios = [], []
    for (kernel, _), found in predicted.items():
        of_kernel = [found[p] / p.measured for p in found]
        ratios += of_kernel
        moved = ", ".join(f"{name} x {factor:g}" for name, factor in factors[kernel].items() if factor != 1)
        rows.append(_row(kernel, of_kernel, moved or "none"))
    head = "| left out | sizes | median error | mean error | bias | constants that the other seven change |\n"
    head += "|---|--:|--:|--:|--:|---|\n"
    return head + "".join(f"{row}\n" for row in [*rows, _row("all", ratios, "")])


def _row(kernel: str, ratios: Sequence[float], moved: str) -> str:
    errors = [abs(r - 1) for r in ratios]
    figures = (statistics.median(errors), statistics.mean(errors), statistics.mean(ratios) - 1)
    cells = (kernel, str(len(ratios)), *(f"{100 * f:.0f} %" for f in figures), moved)
    return "| " + " | ".join(cells) + " |"


def _kernels() -> list[list[Point]]:
    points = measured_points()
    return [[p for p in points if p.kernel == name] for name in dict.fromkeys(p.kernel for p in points)]


def _times(
    models: Models, programs: Mapping[str, Path], cases: Sequence[Case], seconds: float
) -> dict[Series, Times]:
    """By series; in each a kernel is given up at the first of its sizes, which grow, that takes too long."""

    def run(case: Case) -> float:
        program = programs[case.point.kernel]
        return float(models.run(program, DEVICE, case.point.arguments, case.changes, seconds)[0])

    found: dict[Series, Times] = {}
    for case, time in until_late(run, cases, lambda c: (c.series, c.point.kernel), models.jobs):
        found.setdefault(case.series, {})[case.point] = time
    return found


def _fit(
    names: Sequence[str],
    points: Sequence[Point],
    plain: Times,
    effects: Mapping[tuple[str, float], Times],
) -> dict[str, float]:
    """Factors of the constants with the least mean error over kernels, by turns of one constant after the other."""
    factors = {name: min(FACTORS, key=lambda f: abs(f - START[i % 2])) for i, name in enumerate(names)}
    for _ in range(6):
        for name in names:
            tried = [{**factors, name: factor} for factor in FACTORS]
            factors = min(tried, key=lambda f: _error(f, points, plain, effects))
    return factors


def _error(
    factors: Mapping[str, float],
    points: Sequence[Point],
    plain: Times,
    effects: Mapping[tuple[str, float], Times],
) -> float:
    by_kernel: dict[str, list[float]] = {}
    for p in points:
        moved = sum(effects[name, f].get(p, 0.0) for name, f in factors.items() if f != 1)
        by_kernel.setdefault(p.kernel, []).append(abs(math.log(plain[p] / p.measured) + moved))
    return statistics.mean(statistics.mean(errors) for errors in by_kernel.values())


if __name__ == "__main__":
    main()
