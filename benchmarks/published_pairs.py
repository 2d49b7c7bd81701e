"""Published pairs of kernels, before and after a rewrite, rebuilt and run on the modelled device of the publication.

Takes the programs and pairs.toml in benchmarks/published_pairs, gives a table: modelled times and factor, published
factor, source. A direction is right when both say faster, slower, or neither: within 3 % of 1 is neither.

    python benchmarks/published_pairs.py [--program yax] [--device mi300a] [--jobs 8] [--update]
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.modelled import Models, duration, put_between
from benchmarks.parallel import add_jobs, side_by_side
from hipscope.emulator.devices import device_table

HERE = Path(__file__).resolve().parent / "published_pairs"
PAGE = HERE.parent.parent / "benchmarks" / "notes" / "accuracy.md"
SAME = 1.03
CLOSE = 0.25
SECONDS = 1800


@dataclass(frozen=True)
class Result:
    """One pair; times in nanoseconds (of a step), the factor is the published one."""

    name: str
    device: str
    what: str
    source: str
    before: float
    after: float
    factor: float

    @property
    def modelled(self) -> float:
        """How many times as fast the second kernel is in the model."""
        return self.before / self.after

    @property
    def same_direction(self) -> bool:
        """Whether the model says faster where the publication does, and slower where it does."""
        return direction(self.modelled) == direction(self.factor)

    @property
    def close(self) -> bool:
        """Whether the modelled factor is within a quarter of the published one."""
        return abs(self.modelled / self.factor - 1) <= CLOSE


def main() -> None:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", action="append", help="only pairs of this program (may be repeated)")
    parser.add_argument("--device", action="append", help="only pairs of this device (may be repeated)")
    add_jobs(parser)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/accuracy.md"
    )
    options = parser.parse_args()
    chosen = {
        name: row
        for name, row in published_pairs().items()
        if row["program"] in (options.program or [row["program"]])
        and row["device"] in (options.device or [row["device"]])
    }
    text = table(list(_results(chosen, options.jobs)))
    print(text)
    if options.update:
        put_between(PAGE, "published_pairs.py", text)


def published_pairs() -> Mapping[str, Mapping[str, Any]]:
    """The rows of pairs.toml by their names."""
    rows: Mapping[str, Mapping[str, Any]] = _data()["pairs"]
    return rows


def direction(factor: float) -> int:
    """1 faster, -1 slower, 0 neither."""
    return 1 if factor > SAME else -1 if factor < 1 / SAME else 0


def table(results: list[Result]) -> str:
    """Markdown: how many pairs agree, then a row for each."""
    right, close = (sum(getattr(r, name) for r in results) for name in ("same_direction", "close"))
    lines = [f"{right} of {len(results)} pairs have the published direction, {close} a factor within 25 %.\n"]
    lines.append(
        "| pair | device | what changes | modelled us | modelled | published | same direction | within 25 % |"
    )
    lines.append("|---|---|---|--:|--:|--:|---|---|")
    for r in results:
        said = ["yes" if fact else "**no**" for fact in (r.same_direction, r.close)]
        cells = (
            f"{r.before / 1e3:.3g} to {r.after / 1e3:.3g}",
            f"{r.modelled:.2f}x",
            f"{r.factor:.3g}x",
            *said,
        )
        lines.append(f"| `{r.name}` | {r.device} | {r.what} | {' | '.join(cells)} |")
    lines.append("\nSources: " + "; ".join(dict.fromkeys(r.source for r in results)) + ".")
    return "\n".join(lines) + "\n"


def _data() -> dict[str, Any]:
    return tomllib.loads((HERE / "pairs.toml").read_text(encoding="utf-8"))


def _results(chosen: Mapping[str, Mapping[str, Any]], jobs: int) -> Iterator[Result]:
    sources = _data()["sources"]
    runs = list(dict.fromkeys((row["program"], row["device"]) for row in chosen.values()))
    with tempfile.TemporaryDirectory(prefix="hipscope-published-") as folder:
        found = side_by_side(lambda run: _times(Path(folder), *run, jobs), runs, jobs)
        times = dict(zip(runs, found, strict=True))
    for name, row in chosen.items():
        of = times[row["program"], row["device"]]
        before, after = of[row["before"]], of[row["after"]]
        yield Result(name, row["device"], row["what"], sources[row["source"]], before, after, row["factor"])


def _times(work: Path, program: str, device: str, jobs: int) -> dict[str, float]:
    """Nanoseconds of a step by the name of a launch; of several with one name, the last counts."""
    own = work / f"{program}-{device}"
    own.mkdir()
    models = Models(own, device_table()[device]["arch"], jobs)
    compiled = models.compiled(HERE / f"{program}.hip")
    printed, launches = models.run(compiled, device, seconds=SECONDS)
    names = [line.split() for line in printed.splitlines()]
    return {
        name: duration(launch) / int(steps) for (name, steps), launch in zip(names, launches, strict=True)
    }


if __name__ == "__main__":
    main()
