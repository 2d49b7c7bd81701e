"""Microbenchmarks of the modelled MI300X beside what is published about the real one.

Takes micro.hip and published.toml in benchmarks/microbenchmarks, gives a table: modelled, published, source.

    python benchmarks/published.py [--update]
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.modelled import Models, duration, put_between
from hipscope.emulator.devices import device_table

HERE = Path(__file__).resolve().parent / "microbenchmarks"
PAGE = HERE.parent.parent / "benchmarks" / "notes" / "accuracy.md"
CLOSE = 0.15

# From the nanoseconds of a launch beyond those of an empty one, the units of its work and the clock in GHz.
UNITS: Mapping[str, Callable[[float, float, float], float]] = {
    "cycles": lambda ns, work, ghz: ns * ghz / work,
    "cycles per wave": lambda ns, work, ghz: ns * ghz / work,
    "cycles per CU": lambda ns, work, ghz: ns * ghz / work,
    "cycles per XCD": lambda ns, work, ghz: ns * ghz / work,
    "cycles per instruction": lambda ns, work, ghz: ns * ghz / work,
    "cycles per wave in a queue": lambda ns, work, ghz: ns * ghz / work,
    "TB/s": lambda ns, work, _ghz: work / ns * 1e-3,
    "ps per store": lambda ns, work, _ghz: ns * 1e3 / work,
    "ps per addition": lambda ns, work, _ghz: ns * 1e3 / work,
    "us": lambda ns, _work, _ghz: ns * 1e-3,
}


def main() -> None:
    """Run the program and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/accuracy.md"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hipscope-micro-") as folder:
        models = Models(Path(folder))
        printed, launches = models.run(models.compiled(HERE / "micro.hip"), "mi300x", seconds=600)
    names = [line.split() for line in printed.splitlines()]
    times = [duration(launch) for launch in launches]
    text = _table(dict(_values(names, times)))
    print(text)
    if options.update:
        put_between(PAGE, "published.py", text)


def _published() -> dict[str, dict[str, Any]]:
    return tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))


def _values(names: list[list[str]], times: list[float]) -> Iterator[tuple[str, float]]:
    rows, ghz = _published(), device_table()["mi300x"]["clock_mhz"] / 1e3
    empty = next(time for (name, _), time in zip(names, times, strict=True) if name == "empty_launch")
    for (name, work), time in zip(names, times, strict=True):
        if name in rows:
            spent = time if name == "empty_launch" else time - empty
            yield name, UNITS[rows[name]["unit"]](spent, float(work), ghz)


def _table(values: Mapping[str, float]) -> str:
    lines = ["| microbenchmark | modelled | published | ratio | source |", "|---|--:|--:|--:|---|"]
    close = compared = 0
    for name, row in _published().items():
        unit, known, least, most = row["unit"], row.get("value"), row.get("at_least"), row.get("at_most")
        ratio = values[name] / known if known else None
        if ratio is not None or least is not None or most is not None:
            compared += 1
            within = (least or 0) <= values[name] <= (most or values[name])
            close += within if ratio is None else abs(ratio - 1) <= CLOSE
        bound = (
            f"at least {least:g}" if least is not None else f"at most {most:g}" if most is not None else ""
        )
        published = f"{known:g}" if known is not None else bound
        shown = "" if ratio is None else f"{ratio:.2f}"
        lines.append(f"| `{name}`, {unit} | {values[name]:.3g} | {published} | {shown} | {row['source']} |")
    return f"{close} of {compared} published values are met within 15 %.\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
