"""Verified edits of public programs, timed on a real NVIDIA GPU: does the direction agree with the model's?

`pack` (here, after benchmarks.real_programs) puts each program with a verified edit into a folder twice, before and
after. `build` (here or on the machine with the GPU) compiles both with nvcc and the headers in benchmarks/nvidia: what
its own Makefile names, with its options. `time` (on the machine with the GPU, with nothing but Python and ncu)
runs them under ncu and writes the kernel times. `table` prints the table of benchmarks/notes/real_programs.md.

    python -m benchmarks.edits_on_nvidia pack SOURCES --results DIRECTORY --to FOLDER
    python benchmarks/edits_on_nvidia.py build FOLDER [--arch sm_90] [--jobs 8]
    python benchmarks/edits_on_nvidia.py time FOLDER --out nvidia.json
    python -m benchmarks.edits_on_nvidia table nvidia.json --results DIRECTORY [--update]
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HEADERS = Path(__file__).resolve().parent / "nvidia"
BEGIN, END = "<!-- begin: edits on nvidia -->\n", "<!-- end: edits on nvidia -->\n"
SAME = 1.03  # times as fast: less than that is no direction
CLEAR = 1.15  # modelled; what 15 are drawn from, with a seed and before the times are looked at
DRAWN, SEED = 15, 20261126
NOTHING_THERE = {"xcd_remap"}  # recipes for what an NVIDIA GPU does not have
_LANES = re.compile(
    r"(constexpr int \w+[lL]anes = )64;"
)  # of a wave, which share a work-item: waves have 32 there
_SOURCES = (".hip", ".cu", ".cpp", ".cc", ".cxx")
_SECONDS = 120.0
_LAUNCHES = 400  # of a program: with more, ncu takes minutes


def main() -> int:
    """One of the three steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    packing = steps.add_parser("pack")
    packing.add_argument("sources", type=Path)
    packing.add_argument("--results", type=Path, required=True)
    packing.add_argument("--to", type=Path, required=True)
    building = steps.add_parser("build")
    building.add_argument("folder", type=Path)
    building.add_argument("--arch", default="native", help="as nvcc's -arch")
    building.add_argument("--jobs", type=int, default=8, help="compilers at the same time")
    timing = steps.add_parser("time")
    timing.add_argument("folder", type=Path)
    timing.add_argument("--out", type=Path, required=True)
    timing.add_argument("--seconds", type=float, default=600.0, help="after them nothing more is begun")
    tabling = steps.add_parser("table")
    tabling.add_argument("measured", type=Path)
    tabling.add_argument("--results", type=Path, required=True)
    tabling.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if options.step == "pack":
        pack(options.sources, options.results, options.to)
    elif options.step == "build":
        build_all(options.folder.resolve(), options.arch, options.jobs)
    elif options.step == "time":
        measured = time_all(options.folder.resolve(), options.seconds)
        options.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    else:
        show(options.measured, options.results, update=options.update)
    return 0


def pack(sources: Path, results: Path, to: Path) -> None:
    """Each program with a verified edit, as its sources have it and as its project in the results has it."""
    from benchmarks.real_programs import TABLE, copied, read_table

    for program in read_table(TABLE):
        kept = results / f"{program.name}.json"
        found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        if found.get("optimize", {}).get("status") != "verified":
            continue
        target = to / program.name
        before = copied(program, sources, target / "before")
        before.rename(target / "source")
        shutil.rmtree(target / "before")
        (target / "source").rename(target / "before")
        shutil.copytree(target / "before", target / "after", symlinks=True)
        diff = found["optimize"]["diff"]
        text = _LANES.sub(r"\g<1>32;", diff)
        subprocess.run(["patch", "-s", "-p1"], input=text, text=True, cwd=target / "after", check=True)
        about = {
            "folder": program.folder,
            "include": [program.folder, *program.needs],
            **_compiled(program.build, target / "before" / program.folder),
            "arguments": list(dict.fromkeys(filter(None, (program.small, program.large)))) or [""],
            "kernels": sorted(_edited(found["optimize"])),
        }
        (target / "program.json").write_text(json.dumps(about), encoding="utf-8")


def _edited(optimized: dict[str, Any]) -> set[str]:
    names = [k["kernel"] for k in optimized["kernels"]] or [optimized["kernel"]]
    return {re.sub(r"<.*|\(.*", "", name).split("::")[-1].split(" ")[-1] for name in names}


def _compiled(build: str, own: Path) -> dict[str, list[str]]:
    """What a build with make compiles, with its macros and folders; all sources of the folder without make."""
    asked = build.split("&&")[0].split() if build.startswith("make") else []
    words = shlex.split(_printed([*asked, "-n", "-B"], own).replace("\n", " ; ")) if asked else []
    sources = [word for word in words if word.endswith(_SOURCES) and (own / word).is_file()]
    found = sources or sorted(path.name for path in own.iterdir() if path.suffix in _SOURCES)
    options = [word for word in words if word.startswith(("-D", "-I")) and len(word) > 2]
    return {"sources": list(dict.fromkeys(found)), "options": list(dict.fromkeys(options))}


def build_all(folder: Path, arch: str, jobs: int) -> None:
    """Compiles both sides of each program; `error.txt` in its folder says why there is none."""
    with ThreadPoolExecutor(jobs) as pool:
        programs = sorted(path.parent for path in folder.glob("*/program.json"))
        for program, error in zip(programs, pool.map(lambda one: _built(one, arch), programs), strict=True):
            if error:
                (program / "error.txt").write_text(error, encoding="utf-8")
                print(program.name, error)


def time_all(folder: Path, seconds: float) -> dict[str, Any]:
    """Times in microseconds of each built program's edited kernels, by arguments; an `error` where there are none.

    All programs with their first arguments, then with the others, as far as the `seconds` go.
    """
    until = time.monotonic() + seconds
    gpu = _printed(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], folder).strip()
    programs = sorted(path.parent for path in folder.glob("*/program.json"))
    errors = {p: p / "error.txt" for p in programs}
    found: dict[str, Any] = {
        p.name: {"error": error.read_text(encoding="utf-8")} if error.exists() else {"runs": []}
        for p, error in errors.items()
    }
    about = {p: json.loads((p / "program.json").read_text(encoding="utf-8")) for p in programs}
    turns = [(p, a["arguments"][n]) for n in (0, 1) for p, a in about.items() if n < len(a["arguments"])]
    for program, arguments in turns:
        mine = found[program.name]
        if "error" in mine or time.monotonic() > until:
            continue
        sides = [
            _kernel_us(program / side / about[program]["folder"], arguments, about[program]["kernels"])
            for side in ("before", "after")
        ]
        if (wrong := next((side for side in sides if isinstance(side, str)), None)) is None:
            mine["runs"].append({"arguments": arguments, "before_us": sides[0], "after_us": sides[1]})
        elif not mine["runs"]:
            mine["error"] = wrong
    return {
        "gpu": gpu,
        "programs": {name: one for name, one in found.items() if one.get("runs") or "error" in one},
    }


def _built(program: Path, arch: str) -> str:
    """The compiler's first error, or nothing."""
    about = json.loads((program / "program.json").read_text(encoding="utf-8"))
    for side in ("before", "after"):
        own = program / side / about["folder"]
        places = [f"-I{program / side / place}" for place in about["include"]]
        command = [
            "nvcc",
            "-O3",
            "-w",
            "-std=c++17",
            "--expt-relaxed-constexpr",
            f"-arch={arch}",
            "-x",
            "cu",
            f"-I{HEADERS}",
            *places,
        ]
        done = _run([*command, *about["options"], *about["sources"], "-o", str(own / "on_nvidia")], own)
        if done.returncode:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
            return f"{side}: {(errors or ['does not compile'])[0]}"
    return ""


def _kernel_us(folder: Path, arguments: str, kernels: list[str]) -> float | str:
    """The time of all launches of these kernels, or what went wrong."""
    names = "|".join(map(re.escape, kernels))
    command = ["ncu", "--csv", "--metrics", "gpu__time_duration.sum", "-c", str(_LAUNCHES)]
    command += ["-k", f"regex:({names})", "./on_nvidia", *shlex.split(arguments)]
    done = _run(command, folder)
    rows = csv.DictReader(line for line in done.stdout.splitlines() if line.startswith('"'))
    units = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3}
    times = [
        float(row["Metric Value"].replace(",", "")) * units[row["Metric Unit"]]
        for row in rows
        if row.get("Metric Name") == "gpu__time_duration.sum"
    ]
    return math.fsum(times) if times else (done.stdout + done.stderr).strip()[-200:] or "no kernel"


def _run(command: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=where,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"took longer than {_SECONDS:g} s")


def _printed(command: list[str], where: Path) -> str:
    return _run(command, where).stdout


def show(measured: Path, results: Path, *, update: bool) -> None:
    """The table, and on request the page with it."""
    from benchmarks.real_programs import PAGE

    text = "\n".join(_table(json.loads(measured.read_text(encoding="utf-8")), results)) + "\n"
    print(text, end="")
    if update:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")


def _table(measured: dict[str, Any], results: Path) -> Iterator[str]:
    rows, missing, agreed, star = [], [], set(), r" \*"
    drawn = _drawn(measured, results)
    for name, timed in measured["programs"].items():
        found = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["optimize"]
        if "error" in timed:
            missing.append(name)
            continue
        run = timed["runs"][0]
        ratio = run["before_us"] / run["after_us"]
        same = _direction(ratio) == _direction(found["speedup"])
        if same:
            agreed.add(name)
        rows.append(
            f"| {name}{star if name in drawn else ''} | {', '.join(found['recipes'])} "
            f"| {found['speedup']:.2f}x | {run['before_us']:.1f} to {run['after_us']:.1f} "
            f"| {ratio:.2f}x | {_larger(timed['runs'])} | {'yes' if same else '**no**'} |"
        )
    yield f"{measured['gpu']}: {len(agreed)} of {len(rows)} edits have the direction of the model; of the drawn ones "
    yield rf"(\*), {len(agreed & drawn)} of {len(drawn)}."
    yield ""
    yield "| program | edit | modelled MI300X | measured us | measured | larger size | same direction |"
    yield "|---|---|--:|--:|--:|--:|---|"
    yield from rows
    if missing:
        yield ""
        yield f"Not compiled or not timed there: {', '.join(missing)}."


def _drawn(measured: dict[str, Any], results: Path) -> set[str]:
    """Fifteen of the timed programs whose edit is clearly faster in the model, by more than what only MI300X has."""
    clear = []
    for name, timed in sorted(measured["programs"].items()):
        edit = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["optimize"]
        if "error" not in timed and edit["speedup"] >= CLEAR and not set(edit["recipes"]) <= NOTHING_THERE:
            clear.append(name)
    return set(random.Random(SEED).sample(clear, min(DRAWN, len(clear))))


def _direction(ratio: float) -> int:
    return (ratio >= SAME) - (ratio <= 1 / SAME)


def _larger(runs: list[dict[str, Any]]) -> str:
    return f"{runs[1]['before_us'] / runs[1]['after_us']:.2f}x" if len(runs) > 1 else ""


if __name__ == "__main__":
    sys.exit(main())
