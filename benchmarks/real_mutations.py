"""Can the proof be fooled on kernels that nobody here wrote? Wrong versions of public programs' hottest kernels.

    python -m benchmarks.real_mutations SOURCES --results FILE [--only adam,chi2] [--each 8]

Takes the folder with public sources that benchmarks/real_programs.py reads. The hottest kernel of each program is
changed in one place at a time (mutate.py), drawn by the program's name; every mutant goes through the guard, the
compiler and the proof. Prints a line per mutant that passed and the sums; a program that stands in the results is not
done again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.mutate import Subject, mutants
from benchmarks.mutations import changed_line, judged_mutant, machine_code
from benchmarks.real_programs import TABLE, Program, configure, copied, read_table
from hipscope.analysis.config import load_config
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import open_bench


def main() -> int:
    """Judge what is not judged yet and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path, help="the folder that holds the programs")
    parser.add_argument("--results", type=Path, required=True, help="a file with a JSON object per mutant")
    parser.add_argument("--only", default="", help="names of programs, with commas between")
    parser.add_argument("--each", type=int, default=8, help="mutants of each program, at most")
    options = parser.parse_args()
    names = set(filter(None, options.only.split(",")))
    known = _known(options.results)
    done = {row["program"] for row in known}
    for program in read_table(TABLE):
        if program.name in done or (names and program.name not in names):
            continue
        with TemporaryDirectory(prefix="real_mutations_") as folder:
            rows = list(_rows(program, options.sources.resolve(), Path(folder) / program.name, options.each))
        known += rows
        with options.results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    for row in known:
        if row["outcome"] in ("passed", "not judged"):
            print(f"{row['program']}: {row['outcome']}: {row['kind']}: {row['changed']}", file=sys.stderr)
    counts = Counter(row["outcome"] for row in known)
    print(f"{len(done | {row['program'] for row in known})} programs: {dict(counts)}")
    return 0


def _rows(program: Program, sources: Path, work: Path, each: int) -> Iterator[dict[str, str]]:
    """What became of each mutant of one program's hottest kernel; one row that says why where none could be judged."""
    try:
        folder = copied(program, sources, work)
        configure(program, folder, program.small)
        run = Run()
        project = resolve_project(folder, config=load_config(folder))
        session = profile_project(project, run, options=ProfileOptions(capture_dispatches=()))
        kernel = max(session.profile.kernels, key=lambda k: k.time_ns)
        with open_bench(project, session, kernel, run) as bench:
            text = bench.original
            syntax = parse(text).kernel(bench.kernel.name)
            made = [] if syntax is None else list(mutants(Subject(text, syntax, bench.facts), 2))
            random.Random(program.name).shuffle(made)
            judged = {machine_code(bench.compiled.path): ("same code", "")}
            for mutant in [m for m in made if m.kind != "forbidden construct"][:each]:
                outcome, reason = judged_mutant(bench, mutant, judged)
                yield _row(program, mutant.kind, changed_line(text, mutant), outcome, reason)
    except HipscopeError as reason:
        yield _row(program, "", str(reason), "not judged", str(reason))


def _row(program: Program, kind: str, changed: str, outcome: str, reason: str) -> dict[str, str]:
    return {"program": program.name, "kind": kind, "changed": changed, "outcome": outcome, "reason": reason}


def _known(results: Path) -> list[dict[str, str]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
