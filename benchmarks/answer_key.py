"""How right the diagnosis is on kernels that nobody here wrote: the table of benchmarks/notes/answer_key.md.

`benchmarks/answer_key.toml` says, per kernel, what an expert found to be its bottleneck from source and counters before
the tool was asked. `record` profiles the programs and keeps their profiles; `judge` asks today's formulas about them
and compares, so that a change of a formula is judged in seconds.

    python -m benchmarks.answer_key record SOURCES --results DIRECTORY [--only chemv,lif]
    python -m benchmarks.answer_key judge --results DIRECTORY [--update] [--verbose]
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.real_programs import TABLE, Program, configure, copied, read_table
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.metrics.line_costs import line_costs
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.profile import Profile
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import profile_project, program_of
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.detect.causes import line_causes, time_by_cause
from hipscope.formulas.detect.diagnose_only import LAUNCHING
from hipscope.formulas.detect.launch_config import idle_at_this_size
from hipscope.formulas.detect.registry import detect_all, diagnose, explain

ROOT = Path(__file__).resolve().parents[1]
KEY = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "benchmarks" / "notes" / "answer_key.md"
BEGIN, END = "<!-- begin: answer key -->\n", "<!-- end: answer key -->\n"
HOT = 0.1  # a line with this part of the wave time deserves a word
ENOUGH = 0.8


def record(program: Program, sources: Path, results: Path) -> str:
    """Profile one program and keep its profile with the names of its sources. Gives a line that says how it went."""
    project_dir = copied(program, sources, results / program.name)
    configure(program, project_dir, program.small)
    run = Run()
    try:
        project = resolve_project(project_dir, texts=run.texts)
        session = profile_project(project, run)
        project, run = program_of(session, project, run)
    except HipscopeError as error:
        return f"{program.name}: {error}"
    kept = {
        "profile": json.loads(session.profile.model_dump_json()),
        "sources": [str(p) for p in project.sources],
    }
    (results / f"{program.name}.profile.json").write_text(json.dumps(kept), encoding="utf-8")
    return f"{program.name}: {len(session.profile.kernels)} kernels, exit code {session.profile.program.exit_code}"


@dataclass(frozen=True)
class Judged:
    """One kernel of the key against what the tool says. `explained` is of its wave time, 0..1."""

    entry: dict[str, Any]
    findings: tuple[str, ...]
    top: bool
    main: bool
    explained: float
    silent_lines: int


def judge(entry: dict[str, Any], words: dict[str, list[str]], results: Path) -> Judged | None:
    """What today's formulas say of the kept profile; None when there is none of that kernel."""
    kept = results / f"{entry['program']}.profile.json"
    if not kept.exists():
        return None
    data = json.loads(kept.read_text(encoding="utf-8"))
    profile = Profile.model_validate(data["profile"])
    texts = SourceTexts(sources=lambda: tuple(map(Path, data["sources"])))
    kernel = next((k for k in profile.kernels if base_name(k.name) == entry["kernel"]), None)
    if kernel is None:
        return None
    everything = detect_all(profile, texts)
    found = sorted((f for f in everything if f.mangled == kernel.mangled), key=lambda f: -f.share)
    bound = roofline(kernel, profile.device, profile.provenance).bound
    whole = [f for f in diagnose(profile, everything, texts) if f.mangled == kernel.mangled]
    said = [f.formula for f in found]
    if whole and not said:
        named = next(iter(time_by_cause(profile, kernel)), "")
        said = [named if bound in ("latency", "issue", "compute") else f"diagnoseOnly:{bound}"]
    told = {(f.file, f.line) for f in explain(profile, everything, texts) if f.mangled == kernel.mangled}
    causes = {
        c.causes[0][0] for c in line_causes(profile, kernel) if (c.file, c.line) in told and c.share >= HOT
    }
    # Said beside the finding, as a larger problem would change it.
    idle = idle_at_this_size(profile, kernel, texts)
    if any(one in f.related for one in idle for f in (*found, *whole)):
        causes.add("launchConfig")
    if any(e.metric == LAUNCHING for f in whole for e in f.evidence):
        causes.add("launchOverhead")
    right = [set(words[category]) for category in entry["bottlenecks"]]
    marked = {(f.file, f.line) for f in found} | told
    lines = line_costs(kernel)
    return Judged(
        entry,
        tuple(f"{f.formula} {f.share:.0%}" for f in found) or tuple(said),
        top=bool(said) and any(said[0] in names for names in right),
        main=bool(right[0] & {*said, *causes}),
        explained=sum(line.share for line in lines if (line.file, line.line) in marked),
        silent_lines=sum(line.share >= HOT and (line.file, line.line) not in marked for line in lines),
    )


def table(judged: list[Judged]) -> Iterator[str]:
    """A row per kernel and the sums."""
    yield "| program | kernel | in the key | findings | top | main | explained | silent lines |"
    yield "|---|---|---|---|---|---|--:|--:|"
    for one in judged:
        entry = one.entry
        cells = (
            entry["program"],
            f"`{entry['kernel']}`",
            ", ".join(entry["bottlenecks"]),
            ", ".join(one.findings) or "none",
            "right" if one.top else "wrong",
            "found" if one.main else "missed",
            f"{one.explained:.0%}",
            str(one.silent_lines),
        )
        yield "| " + " | ".join(cells) + " |"
    number = len(judged) or 1
    top, main, explained = (
        sum(getattr(j, name) for j in judged) / number for name in ("top", "main", "explained")
    )
    yield ""
    yield (
        f"{len(judged)} kernels: top finding right in {top:.0%}, main bottleneck found in {main:.0%}, {explained:.0%} "
        f"of their wave time explained ({sum(j.explained >= ENOUGH for j in judged)} kernels with 80 % or more), "
        f"{sum(j.silent_lines for j in judged)} lines of 10 % or more without a word."
    )


def main() -> int:
    """Record profiles, or judge the kept ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="profile the programs of the key")
    recording.add_argument("sources", type=Path, help="the folder that holds the programs")
    judging = commands.add_parser("judge", help="compare what the formulas say with the key")
    judging.add_argument(
        "--update", action="store_true", help="write the tables into benchmarks/notes/answer_key.md"
    )
    for command in (recording, judging):
        command.add_argument("--results", type=Path, required=True, help="where the profiles are kept")
        command.add_argument("--only", default="", help="names of programs, with commas between")
    options = parser.parse_args()
    names = set(filter(None, options.only.split(",")))
    key = tomllib.loads(KEY.read_text(encoding="utf-8"))
    entries = [e for e in key["kernel"] if not names or e["program"] in names]
    results = options.results.resolve()
    if options.command == "record":
        own = (Program(**{**row, "needs": tuple(row["needs"])}, verified="") for row in key["program"])
        programs = {p.name: p for p in (*read_table(TABLE), *own)}
        for name in names or dict.fromkeys(e["program"] for e in entries):
            if not (results / f"{name}.profile.json").exists():
                print(record(programs[name], options.sources.resolve(), results), flush=True)
        return 0
    text = ""
    for name in dict.fromkeys(e["set"] for e in entries):
        judged = [j for e in entries if e["set"] == name and (j := judge(e, key["category"], results))]
        text += "\n".join((f"### {key['set'][name]}", "", *table(judged))) + "\n\n"
    print(text, end="")
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
