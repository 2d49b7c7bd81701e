"""Captures that others published: does `hipscope show` read what the bare library reads, and nothing impossible?

    python benchmarks/public_captures.py FOLDER...       # each is one capture

For each, the text, the metrics, the JSON and the page are made; launches, times and counters of the JSON are compared
with json, sqlite3 and pandas on the same files, and derived numbers with what the device can do. A line per capture.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas
from typer.testing import CliRunner

from hipscope.server.cli.main import app

FORMS = (["--format", "text"], ["--metrics", "all"], ["--format", "html"], ["--format", "json"])
NOISE = 1.05  # of a ceiling
_COUNTER = re.compile(r"(SQ|TC|TA|TD|CP|SPI|GRBM|GL)[A-Z0-9]*_")
_LEVELS = ("SQ_IFETCH_LEVEL", "SQ_INST_LEVEL", "SQ_LEVEL_WAVES")


def main() -> None:
    """A line per folder."""
    for name in sys.argv[1:]:
        print(checked(Path(name)), flush=True)


def checked(folder: Path) -> str:
    """What came of one capture."""
    problems: list[str] = []
    for form in FORMS:
        done = CliRunner().invoke(app, ["show", str(folder), *form])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            trace = traceback.format_exception(done.exception)
            problems.append(f"{form[-1]}: {''.join(trace).splitlines()[-1]}")
    if done.exit_code:
        return f"{folder}: not read: {' '.join(done.stderr.split())[-200:]}{'; '.join(problems)}"
    report = json.loads(done.stdout)
    kernels = report["kernels"]
    ours = sum(k["dispatches"] for k in kernels), sum(k["time_ns"] or 0 for k in kernels)
    theirs = next(bare(folder), None)
    if theirs is None and not of_traces(folder, kernels, problems):
        problems.append("nothing to compare with")
    elif theirs is None:
        pass
    elif theirs[0] != ours[0] or abs(theirs[1] - ours[1]) > 1e-9 * theirs[1] + theirs[0]:
        problems.append(f"the bare library has {theirs[0]} launches of {theirs[1]:.0f} ns")
    problems += [*counters(folder, kernels), *impossible(report)]
    device = report["device"]
    name = device["name"] if device else "no device"
    return f"{folder}: {ours[0]} launches, {ours[1]:.0f} ns, {name}: {'; '.join(problems) or 'agrees'}"


def of_traces(folder: Path, kernels: list[dict[str, Any]], problems: list[str]) -> bool:
    """Compare the cycles of thread traces with those in their code.json; whether there are any."""
    cycles = 0.0
    for file in folder.rglob("code.json"):
        rows = json.loads(file.read_bytes()).get("code") or []
        cycles += sum(row[7] for row in rows if not str(row[0]).startswith("; "))
    ours = sum(line["latency"] for kernel in kernels for line in kernel["lines"])
    lineless = not any(kernel["lines"] for kernel in kernels)
    if cycles and not lineless and abs(ours - cycles) > 1e-9 * cycles:
        problems.append(f"lines have {ours:.0f} cycles of {cycles:.0f} in code.json")
    return bool(cycles)


def bare(folder: Path) -> Iterator[tuple[int, float]]:
    """Launches and their nanoseconds, by the library alone: of the first file that has any."""
    files = [folder] if folder.is_file() else sorted(folder.iterdir())
    traces = [f for f in files if f.name.endswith((".json", ".json.gz"))]
    found = [t for f in traces if (t := of_trace(f)) is not None]
    if found:
        yield sum(n for n, _ in found), sum(t for _, t in found)
    for file in files:
        if file.suffix in (".sqlite", ".rpd", ".db"):
            yield of_database(file)
    for stem in ("timestamps", "pmc_perf", "kernels"):
        if (table := folder / f"{stem}.csv").is_file():
            frame = pandas.read_csv(table)
            start, end = (next(frame[c] for c in names if c in frame) for names in (
                ("Start_Timestamp", "BeginNs"), ("End_Timestamp", "EndNs")))  # fmt: skip
            yield len(frame), float((end - start).sum())
    for file in files:
        if file.name.endswith("kernel_stats.csv"):
            frame = pandas.read_csv(file)
            yield int(frame["Calls"].sum()), float(frame["TotalDurationNs"].sum())


def of_trace(file: Path) -> tuple[int, float] | None:
    """Of a chrome trace with categories."""
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    data = json.loads(content)
    events = data.get("traceEvents", []) if isinstance(data, dict) else data
    times = [float(e["dur"]) for e in events if e.get("ph") == "X" and e.get("cat") == "kernel"]
    return (len(times), sum(times) * 1000) if times else None


def of_database(file: Path) -> tuple[int, float]:
    """Of Nsight Systems, rocmProfileData or rocprof 1."""
    with closing(sqlite3.connect(file)) as database:
        names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        if "rocpd_op" in names:
            query = (
                "SELECT COUNT(*), SUM(end - start) FROM rocpd_op o JOIN rocpd_string s ON s.id = o.opType_id "
                "WHERE s.string IN ('KernelExecution', 'Task')"
            )
        elif "rocpd_kernel_dispatch" in names:
            query = "SELECT COUNT(*), SUM(end - start) FROM rocpd_kernel_dispatch"
        elif "OPS" in names:
            query = "SELECT COUNT(*), SUM(EndNs - BeginNs) FROM OPS"
        elif "KERN" in names:
            query = "SELECT COUNT(*), SUM(EndNs - BeginNs) FROM KERN"
        else:
            query = "SELECT COUNT(*), SUM(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL"
        launches, time = database.execute(query).fetchone()
        return int(launches), float(time or 0)


def counters(folder: Path, kernels: list[dict[str, Any]]) -> Iterator[str]:
    """Counters of the tables of rocprofiler-compute and omniperf that differ from pandas' sums by kernel.

    Levels have files of their own; a ratio is no sum; of a counter in several passes the first is taken.
    """
    ours = {kernel["name"]: kernel["counters"] for kernel in kernels}
    tables = (
        [folder / "pmc_perf.csv"] if (folder / "pmc_perf.csv").is_file() else folder.glob("pmc_perf_*.csv")
    )
    for table in tables:
        for kernel, name, value in sums(pandas.read_csv(table)):
            told = ours.get(kernel, {}).get(name)
            if told is None:
                yield f"{kernel[:40]}: {name} is missing"
            elif abs(told - value) > 1e-6 * abs(value):
                yield f"{kernel[:40]}: {name}: {told:.0f}, pandas {value:.0f}"


def sums(frame: pandas.DataFrame) -> Iterator[tuple[str, str, float]]:
    """Kernel, counter and sum over all launches, channels added up."""
    kernel = "KernelName" if "KernelName" in frame else "Kernel_Name"
    for shown, rows in frame.groupby(kernel):
        name = str(shown).removesuffix(" [clone .kd]").removesuffix(" (.kd)").removesuffix(".kd").strip()
        if "Counter_Name" in frame:
            long = rows.groupby("Counter_Name")["Counter_Value"].sum().items()
            yield from ((name, str(counter), value) for counter, value in long if "[" not in str(counter))
            continue
        found: dict[str, float] = {}
        for column in rows.columns[rows.notna().any()]:
            again = re.match(r"(.+)_\d$", column)
            channel = re.match(r"(.+)\[\d+\]$", column)
            label = f"{channel[1]}_sum" if channel else column
            unused = not _COUNTER.match(column) or column.startswith((*_LEVELS, "SQ_ACCUM"))
            if unused or (again and again[1] in rows) or (channel and label in rows):
                continue
            found[label] = found.get(label, 0.0) + float(rows[column].sum())
        yield from ((name, label, value) for label, value in found.items())


def impossible(report: dict[str, Any]) -> Iterator[str]:
    """Derived numbers that no device has."""
    for kernel in report["kernels"]:
        occupancy = kernel["occupancy"]
        if occupancy and occupancy.get("theoretical") and occupancy["theoretical"] > occupancy["maximum"]:
            yield f"{kernel['name']}: occupancy {occupancy['theoretical']} of {occupancy['maximum']}"
        roofs = (kernel["roofline"] or {}).get("ceilings") or []
        for roof in roofs:
            if isinstance(roof, dict) and (roof.get("fraction") or 0) > NOISE:
                yield f"{kernel['name']}: {roof.get('name')} at {roof['fraction']:.0%} of its ceiling"
    for gpu in (report["time"] or {}).get("gpus", []):
        if (gpu.get("busy_share") or 0) > NOISE:
            yield f"busy {gpu['busy_share']:.0%}"


if __name__ == "__main__":
    main()
