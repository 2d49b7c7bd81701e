"""What hipscope does for programs of others: the table of benchmarks/notes/real_programs.md.

Takes a folder with public sources and the table beside this file (program, folder, build, run, small and large
arguments, the text by which the program says that its result is right). Each program is copied, profiled, optimized,
and run again with the edit: findings, edits, speed-up, the program's own check before and after, the time it took.

    python -m benchmarks.real_programs SOURCES --results DIRECTORY [--only adam,bincount] [--jobs 2] [--update]

`--programs FILE` takes another table of that format. A program that has its JSON in the results is not done again, so
that a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import statistics
import sys
import time
import tomllib
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.system.process import run_process

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "benchmarks" / "notes" / "real_programs.md"
BEGIN, END = "<!-- begin: real programs -->\n", "<!-- end: real programs -->\n"
_HEADS = (
    "program", "own check", "findings", "of roof", "before", "edit", "promised", "kernel", "program", "own check after",
    "time",
)  # fmt: skip
_SHOWN = 90  # characters of a reason
_ROOFS = ("hbm", "mall", "l2", "lds", "valu", "launch")
_ROUND_TRIP = "round_trip"  # the shortest launch that waits for memory once
_NEAR_ROOF = 0.8
_LAUNCHES = "launchOverhead"
_OF_LIMIT = 0.85  # of the time of a command: after it the search ends, the rest is for writing the result


@dataclass(frozen=True)
class Program:
    """One row of the table. `folder` is below the sources, `needs` are folders beside it that its build reads.

    `at_most`: the most that the number behind `verified` may be, where a program prints the error of its result.
    """

    name: str
    folder: str
    verified: str
    small: str = ""
    large: str | None = None
    build: str = "make CC=hipcc"
    run: str = "./main"
    needs: tuple[str, ...] = ()
    refuted: str = "FAIL"
    at_most: float | None = None

    def verifies(self, output: str) -> bool:
        """Whether what the program printed says that its result is right."""
        _, found, rest = output.partition(self.verified)
        if not found or self.refuted in output:
            return False
        return self.at_most is None or float(rest.split(maxsplit=1)[0]) <= self.at_most


@dataclass(frozen=True)
class Limits:
    """Seconds that one command may take, how hipscope is called, and how often it rewrites a kernel at most."""

    seconds: float
    hipscope: tuple[str, ...]
    rounds: int = 1

    @property
    def search(self) -> str:
        """Seconds after which a search is asked for what it has, so that it can still say it in time."""
        return f"{max(1.0, self.seconds * _OF_LIMIT):g}"


def main() -> int:
    """Measure what is not measured yet, print the table, and on request write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path, help="the folder that holds the programs")
    parser.add_argument("--results", type=Path, required=True, help="where the JSON of each program goes")
    parser.add_argument("--programs", type=Path, default=TABLE, help="another table of the same format")
    parser.add_argument("--only", default="", help="names of programs, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="programs at the same time")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each command")
    parser.add_argument("--hipscope", default=str(Path(sys.executable).with_name("hipscope")))
    parser.add_argument("--rounds", type=int, default=1, help="how often a kernel is rewritten at most")
    parser.add_argument("--profile-only", action="store_true", help="build, run and look for findings")
    parser.add_argument(
        "--before", type=Path, help="the results of an earlier version: a column of its edits"
    )
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/real_programs.md"
    )
    options = parser.parse_args()
    names = set(filter(None, options.only.split(",")))
    programs = [p for p in read_table(options.programs) if not names or p.name in names]
    limits = Limits(options.limit, tuple(shlex.split(options.hipscope)), options.rounds)
    options.results.mkdir(parents=True, exist_ok=True)

    def one(program: Program) -> dict[str, Any]:
        kept = options.results / f"{program.name}.json"
        if kept.exists():
            found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
            if options.profile_only or "optimize" in found or not found["runs"]:
                return found
        work = options.results.resolve() / program.name
        found = measured(program, options.sources.resolve(), work, limits, optimize=not options.profile_only)
        kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(row(found), file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        text = "\n".join(table(list(pool.map(one, programs)), options.before)) + "\n"
    print(text, end="")
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    return 0


def read_table(path: Path) -> list[Program]:
    """The programs, in the order of the file. A key that Program does not have is an error."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    common: dict[str, dict[str, Any]] = data["collection"]
    programs = []
    for entry in data["program"]:
        values = {**common[entry["collection"]], **entry}
        del values["collection"]
        if "folder" not in entry:
            values["folder"] = values["folder"].format(name=entry["name"])
        for key, usual in (("build", Program.build), ("run", Program.run)):
            values[key] = values.get(key, usual).format(name=entry["name"])
        needs = tuple(n.format(name=entry["name"]) for n in values.pop("needs", ()))
        programs.append(Program(**values, needs=needs))
    return programs


def measured(
    program: Program, sources: Path, work: Path, limits: Limits, *, optimize: bool
) -> dict[str, Any]:
    """Everything about one program, as its JSON holds it."""
    begun = time.perf_counter()
    project = copied(program, sources, work)
    configure(program, project, program.small)
    before = profiled(program, project, limits)
    found = {"name": program.name, **before}
    if optimize and before["runs"]:
        started = time.perf_counter()
        more = ("--rounds", str(limits.rounds)) if limits.rounds > 1 else ()
        asked_for = ("--apply", "--format", "json", "--time-limit", limits.search, *more)
        report = asked(("optimize", str(project), *asked_for), limits)
        found["optimize"] = summary(report)
        found["optimize"]["seconds"] = time.perf_counter() - started
        if report.get("status") == "verified":
            found["after"] = profiled(program, project, limits)
            if program.large is not None:
                configure(program, project, program.large)
                found["large"] = profiled(program, project, limits)
    found["seconds"] = time.perf_counter() - begun
    return found


def copied(program: Program, sources: Path, work: Path) -> Path:
    """A project with the program's folder and those that it needs, where they lie to each other as in the sources."""
    project = work / "project"
    shutil.rmtree(work, ignore_errors=True)
    for folder in (program.folder, *program.needs):
        origin = sources / folder
        if origin.is_dir():
            shutil.copytree(origin, project / folder, symlinks=True)
        elif origin.exists():
            (project / folder).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, project / folder)
    return project


def configure(program: Program, project: Path, arguments: str) -> None:
    """Write the project's hipscope.toml."""
    where = shlex.quote(program.folder)
    lines = {
        "build": f"cd {where} && {program.build}",
        "run": f"cd {where} && {program.run} {arguments}".strip(),
        "backend": "emulator",
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
    (project / "hipscope.toml").write_text(text, encoding="utf-8")


def profiled(program: Program, project: Path, limits: Limits) -> dict[str, Any]:
    """Whether it builds, runs and says that its result is right; its findings and its modelled GPU time."""
    begun = time.perf_counter()
    report = asked(("profile", str(project), "--format", "json"), limits)
    ran = report.get("program", {})
    output = ran.get("output", "")
    kernels = report.get("kernels", [])
    return {
        "runs": ran.get("exit_code") == 0 and bool(kernels),
        "verifies": program.verifies(output),
        "error": report.get("error") or ("" if kernels else output[-500:]),
        "kernels": [{"name": k["name"], "time_ns": k["time_ns"], "busy": k.get("busy", {})} for k in kernels],
        "findings": [
            {key: f[key] for key in ("formula", "kernel", "share", "estimated_speedup")}
            for f in report.get("findings", ())
        ],
        "profile_seconds": time.perf_counter() - begun,
    }


def asked(arguments: tuple[str, ...], limits: Limits) -> dict[str, Any]:
    """The JSON that hipscope prints, or an object with the `error`."""
    done = run_process([*limits.hipscope, *arguments], timeout=limits.seconds)
    if done.timed_out:
        return {"error": f"took longer than {limits.seconds:g} s"}
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": done.text.strip()[-500:] or f"exit code {done.returncode}"}
    return report


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """What the table and a reader of the JSON need of an optimization."""
    won = [a for a in report.get("attempts", ()) if a["outcome"] == "accepted"]
    return {
        "status": report.get("status", "error"),
        "message": report.get("message") or report.get("error", ""),
        "kernel": report.get("kernel"),
        "speedup": report.get("speedup"),
        "kernels": report.get("kernels", []),
        "compiles": report.get("compiles"),
        "ended": report.get("ended"),
        "recipes": [a["recipe"] for a in won],
        "diff": report.get("diff"),
        "attempts": [
            {key: a[key] for key in ("kernel", "recipe", "title", "outcome", "reason", "speedup")}
            for a in report.get("attempts", ())
        ],
    }


def table(found: list[dict[str, Any]], before: Path | None = None) -> Iterator[str]:
    """A row per program and the sums; with the results `before`, what an earlier version gave each kernel."""
    yield f"| {' | '.join(_HEADS)} |"
    yield "|---|---|---|--:|--:|---|--:|--:|--:|---|--:|"
    yield from (row(f, _earlier(before, f["name"])) for f in found)
    asked_for = [f for f in found if f.get("optimize")]
    won = [f["optimize"]["speedup"] for f in asked_for if f["optimize"]["status"] == "verified"]
    checked = [f for f in found if f["verifies"]]
    yield ""
    mean = f" (geometric mean of those kernels {statistics.geometric_mean(won):.2f}x" if won else ""
    every = won + [1.0] * (len(asked_for) - len(won))
    if won:
        mean += f", {statistics.geometric_mean(every):.2f}x over all that were asked for)"
    yield (
        f"{len(checked)} of {len(found)} programs build, run and pass their own check; "
        f"{len(won)} of {len(asked_for)} get a verified edit{mean}."
    )
    for roofs, which in ((_ROOFS, "a roof"), ((*_ROOFS, _ROUND_TRIP), "a roof or of the shortest launch")):
        room = [f for f in asked_for if not near_roof(f, roofs)]
        helped = [f["optimize"]["speedup"] for f in room if f["optimize"]["status"] == "verified"]
        gain = math.exp(sum(math.log(s) for s in helped) / max(1, len(room)))
        yield (
            f"Of the {len(room)} programs whose kernel with the most time is not within {1 - _NEAR_ROOF:.0%} of "
            f"{which}, {len(helped)} have a verified edit "
            f"({len(helped) / max(1, len(room)):.0%}; {gain:.2f}x over all of them)."
        )
    pairs = [
        (times, f["optimize"]["speedup"])
        for f in asked_for
        if f["optimize"]["status"] == "verified" and (times := promised(f)) and times > 1
    ]
    if len(pairs) > 1:
        low, _, high = statistics.quantiles([math.log(got) / math.log(times) for times, got in pairs], n=4)
        yield (
            f"Of {len(pairs)} kernels with a finding and an edit: promised over got, median "
            f"{statistics.median(times / got for times, got in pairs):.2f}; as logarithms half of the edits brought "
            f"{low:.2f} to {high:.2f} of what was promised."
        )
    compiles = [n for f in asked_for if (n := f["optimize"].get("compiles")) is not None]
    if compiles:
        yield f"Texts compiled by one `optimize`: median {statistics.median(compiles):g}, at most {max(compiles)}."


def row(found: dict[str, Any], before: str = "") -> str:
    """One program's row of the table; `before`: what an earlier version gave its kernel."""
    if not found["runs"]:
        why = _short(found["error"])
        return f"| {found['name']} | does not run: {why} | | | | | | | | | {found['seconds']:.0f} s |"
    edit, after = found.get("optimize"), found.get("after")
    names = ", ".join(dict.fromkeys(f["formula"] for f in found["findings"])) or "none"
    roof = nearest_roof(found)
    cells = [
        found["name"],
        _passed(found),
        names,
        f"{roof[0].replace('_', ' ')} {roof[1]:.0%}" if roof else "",
        before,
    ]
    if edit is None:
        cells += ["not asked", "", "", "", ""]
    elif edit["status"] != "verified":
        cells += [f"none: {_short(edit['message'])}", "", "", "", ""]
    else:
        whole = _total(found) / _total(after) if after and _total(after) else math.nan
        ok = _passed(after) if after else ""
        if (large := found.get("large")) is not None:
            ok += f", large: {_passed(large)}"
        expected = promised(found)
        cells += [
            ", ".join(edit["recipes"]),
            f"{expected:.2f}x" if expected else "",
            f"{edit['speedup']:.2f}x",
            f"{whole:.2f}x",
            ok,
        ]
    return "| " + " | ".join([*cells, f"{found['seconds']:.0f} s"]) + " |"


def promised(found: dict[str, Any]) -> float | None:
    """How many times as fast the findings say that the edited kernel can become: the largest, but of those about the
    number of launches, which no edit of a kernel changes. None without a finding.
    """
    times = [
        f["estimated_speedup"]
        for f in found["findings"]
        if f["kernel"] == found["optimize"]["kernel"]
        and f["formula"] != _LAUNCHES
        and f.get("estimated_speedup")
    ]
    return max(times, default=None)


def nearest_roof(
    found: dict[str, Any], roofs: Collection[str] = (*_ROOFS, _ROUND_TRIP)
) -> tuple[str, float] | None:
    """The roof that the kernel with the most time is nearest to, and the part of its time that it would take at that
    roof; None where that was not recorded. Latency, atomics and a busy vector memory unit are no roofs: other code
    waits less, and makes fewer accesses.
    """
    top = max(found["kernels"], key=lambda k: k["time_ns"], default=None)
    parts = {unit: part for unit, part in (top or {}).get("busy", {}).items() if unit in roofs}
    return max(parts.items(), key=lambda one: one[1]) if parts else None


def near_roof(found: dict[str, Any], roofs: Collection[str] = (*_ROOFS, _ROUND_TRIP)) -> bool:
    """Whether little can be gained: one that is not known to be near a roof is not."""
    roof = nearest_roof(found, roofs)
    return roof is not None and roof[1] >= _NEAR_ROOF


def _earlier(results: Path | None, name: str) -> str:
    kept = results / f"{name}.json" if results is not None else None
    if kept is None or not kept.exists():
        return ""
    found = json.loads(kept.read_text(encoding="utf-8"))
    edit = found.get("optimize") or {}
    if not found["runs"] or not edit:
        return ""
    return f"{edit['speedup']:.2f}x" if edit["status"] == "verified" else "none"


def _total(found: dict[str, Any]) -> float:
    return math.fsum(k["time_ns"] for k in found["kernels"])


def _passed(found: dict[str, Any]) -> str:
    if not found["runs"]:
        return "does not run"
    return "passes" if found["verifies"] else "fails"


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("|", "/")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


if __name__ == "__main__":
    sys.exit(main())
