"""Thirty pairs of kernels, before and after a known rewrite: the model's MI300X beside a real NVIDIA GPU.

Takes benchmarks/pairs and the times in pairs/h200.json (run_nvidia.sh there measures them), gives a table of both
speed-ups. What counts is the direction: within 3 % is none.

    python benchmarks/before_after.py [--pair NAME] [--jobs 8] [--update]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.modelled import Models, duration, put_between
from benchmarks.parallel import add_jobs, side_by_side
from hipscope.emulator.raw import RawDispatch

HERE = Path(__file__).resolve().parent / "pairs"
PAGE = HERE.parent.parent / "benchmarks" / "notes" / "accuracy.md"
SAME = 1.03


@dataclass(frozen=True)
class Result:
    """One pair; times in microseconds."""

    name: str
    idea: str
    modelled: tuple[float, float]
    measured: tuple[float, float] | None

    @property
    def agrees(self) -> bool | None:
        """Whether both say faster, slower, or neither; None without a measurement."""
        if self.measured is None:
            return None
        return _direction(self.modelled) == _direction(self.measured)


def main() -> None:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", action="append", help="only this pair (may be repeated)")
    add_jobs(parser)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/accuracy.md"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hipscope-pairs-") as folder:
        text = _table(list(_results(Models(Path(folder), jobs=options.jobs), options.pair)))
    print(text)
    if options.update:
        put_between(PAGE, "before_after.py", text)


def _direction(times: tuple[float, float]) -> int:
    factor = times[0] / times[1]
    return 1 if factor > SAME else -1 if factor < 1 / SAME else 0


def _results(models: Models, names: list[str] | None) -> Iterator[Result]:
    measured = json.loads((HERE / "h200.json").read_text(encoding="utf-8"))["pairs"]
    chosen = [source for source in sorted(HERE.glob("*.hip")) if not names or source.stem in names]

    def run(source: Path) -> tuple[RawDispatch, ...]:
        return models.run(models.compiled(source), "mi300x")[1]

    for source, launches in zip(chosen, side_by_side(run, chosen, models.jobs), strict=True):
        before, after = (duration(launch) / 1e3 for launch in launches[-2:])
        found = measured.get(source.stem, {})
        times = (found["before_us"], found["after_us"]) if "after_us" in found else None
        idea = source.read_text(encoding="utf-8").splitlines()[0].removeprefix("// ").removesuffix(".")
        yield Result(source.stem, idea, (before, after), times)


def _table(results: list[Result]) -> str:
    lines = ["| pair | what changes | MI300X, modelled us | | H200, measured us | | same direction |"]
    lines.append("|---|---|--:|--:|--:|--:|---|")
    for r in results:
        hardware = _cells(r.measured) if r.measured else "|"
        said = {True: "yes", False: "**no**", None: ""}[r.agrees]
        lines.append(f"| `{r.name}` | {r.idea} | {_cells(r.modelled)} | {hardware} | {said} |")
    compared = [r for r in results if r.agrees is not None]
    agree = sum(bool(r.agrees) for r in compared)
    return f"{agree} of {len(compared)} pairs have the same direction.\n\n" + "\n".join(lines) + "\n"


def _cells(times: tuple[float, float]) -> str:
    return f"{times[0]:.1f} to {times[1]:.1f} | {times[0] / times[1]:.2f}x"


if __name__ == "__main__":
    main()
