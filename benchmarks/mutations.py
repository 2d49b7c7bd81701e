"""Can the proof be fooled? Wrong kernels by the hundred, from right ones and from what the recipes make of them.

    python -m benchmarks.mutations

Each subject is a program whose kernel is recorded once. Its text, and each recipe output for it that is accepted, is
changed in one place at a time (mutate.py); every mutant goes through the guard, the compiler and the proof, as a
candidate would. Prints a table of kinds and counts; `--update` writes it into docs/mutations.md. Exit code 1 when a
mutant passed that `mutants/reviewed.toml` does not name as harmless, or when a right recipe output was rejected.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from benchmarks.mutate import Mutant, Subject, mutants
from hipscope.analysis.config import load_config
from hipscope.analysis.project import resolve_project
from hipscope.analysis.session import ProfileOptions, profile_project
from hipscope.formulas.candidate import Candidate
from hipscope.formulas.contest import ask_recipes, contest
from hipscope.formulas.judge import Bench, CannotJudge, Judgement, admit, open_bench, prove
from hipscope.formulas.registry import detect_all, find_formula
from hipscope.formulas.syntax import parse

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).resolve().parent / "mutants"
PAGE = ROOT / "docs" / "mutations.md"
BEGIN, END = "<!-- begin: mutations -->\n", "<!-- end: mutations -->\n"
EXAMPLES = ("lds_column_read", "strided_access", "contended_atomic", "contended_histogram")
OUTCOMES = ("same code", "refused", "not compiled", "rejected", "harmless", "passed")


@dataclass(frozen=True)
class Result:
    """What became of one mutant; `changed` is the first line that it changes, as it reads now."""

    file: str
    base: str
    kind: str
    changed: str
    outcome: str
    reason: str


@dataclass(frozen=True)
class Report:
    """All mutants of one program, and the recipe outputs that were right but not accepted."""

    results: tuple[Result, ...]
    wronged: tuple[str, ...]
    seconds: float


def main() -> int:
    """Run, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-kind", type=int, default=6, help="mutants of each kind and kernel, at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="file names that contain this")
    parser.add_argument("--update", action="store_true", help="write the table into docs/mutations.md")
    options = parser.parse_args()
    examples = [ROOT / "examples" / f"{name}.hip" for name in EXAMPLES]
    files = [f for f in [*sorted(FOLDER.glob("*.hip")), *examples] if options.only in f.name]
    with ProcessPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(examine, files, [options.per_kind] * len(files)))
    results = [r for report in reports for r in report.results]
    print(text := table(results, files))
    for r in results:
        if r.outcome == "passed":
            print(f"passed: {r.file} ({r.base}): {r.kind}: {r.changed}", file=sys.stderr)
    wronged = [w for report in reports for w in report.wronged]
    for one in wronged:
        print(f"rejected although right: {one}", file=sys.stderr)
    print(f"{sum(r.seconds for r in reports):.0f} s over {options.jobs} processes", file=sys.stderr)
    if options.update:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    return 1 if wronged or any(r.outcome == "passed" for r in results) else 0


def examine(file: Path, per_kind: int) -> Report:
    """Record one program and try every mutant of its kernel and of what recipes make of it."""
    start = time.monotonic()
    project = resolve_project(file, config=load_config(file.parent))
    session = profile_project(project, options=ProfileOptions(capture_dispatches=()))
    findings = detect_all(session.profile)
    results: list[Result] = []
    wronged: list[str] = []
    for kernel in session.profile.kernels:
        try:
            with open_bench(project, session, kernel) as bench:
                bases = [("original", bench.original)]
                for finding in (f for f in findings if f.mangled == kernel.mangled):
                    for judgement in contest(
                        bench, ask_recipes(bench, finding), find_formula(finding.formula)
                    ):
                        if judgement.accepted:
                            bases.append((judgement.candidate.recipe, judgement.candidate.text))
                        elif judgement.stage in ("different", "inconclusive", "refused"):
                            wronged.append(f"{file.name}: {judgement.candidate.recipe}: {judgement.reason}")
                for name, text in bases:
                    results += _mutate(bench, file.name, name, text, per_kind)
        except CannotJudge as refusal:
            print(f"{file.name}: {refusal}", file=sys.stderr)
    return Report(tuple(results), tuple(wronged), time.monotonic() - start)


def _mutate(bench: Bench, file: str, base: str, text: bytes, per_kind: int) -> Iterator[Result]:
    """Judge the mutants of one text. A text that is no kernel's of the bench gives none."""
    kernel = parse(text).kernel(bench.kernel.name)
    compiled = bench.compiled if text == bench.original else admit(bench, _candidate(base, text))
    if kernel is None or isinstance(compiled, Judgement):
        return
    same = _machine_code(compiled.path)
    for mutant in mutants(Subject(text, kernel, bench.facts), per_kind):
        outcome, reason = _judge(bench, mutant, same)
        changed = _changed_line(text, mutant)
        if outcome == "passed" and (why := REVIEWED.get((file, mutant.kind, changed))) is not None:
            outcome, reason = "harmless", why
        yield Result(file, base, mutant.kind, changed, outcome, reason)


def _judge(bench: Bench, mutant: Mutant, same: bytes) -> tuple[str, str]:
    candidate = _candidate(mutant.kind, mutant.text)
    compiled = admit(bench, candidate)
    if isinstance(compiled, Judgement):
        return ("not compiled" if compiled.stage == "not_compiled" else "refused"), compiled.reason
    if _machine_code(compiled.path) == same:
        return "same code", ""
    verdict = prove(bench, candidate, compiled)
    return ("passed" if verdict.equivalent else "rejected"), verdict.reason


def _candidate(name: str, text: bytes) -> Candidate:
    # Not exact: a mutant may hide behind the tolerance that a reordering of sums needs.
    return Candidate(recipe=name, title=name, text=text, expected="", exact=False)


def _machine_code(path: Path) -> bytes:
    with path.open("rb") as file:
        elf = ELFFile(file)
        return b"".join(s.data() for s in elf.iter_sections() if s.name in (".text", ".rodata", ".data"))


def _changed_line(text: bytes, mutant: Mutant) -> str:
    pairs = zip(text.splitlines(), mutant.text.splitlines(), strict=False)
    return next((new.decode().strip() for old, new in pairs if old != new), "")


def _reviewed() -> dict[tuple[str, str, str], str]:
    """Mutants that a person has looked at and found to do the same as the original."""
    with (FOLDER / "reviewed.toml").open("rb") as file:
        listed = tomllib.load(file).get("harmless", [])
    return {(one["file"], one["kind"], one["line"]): one["why"] for one in listed}


REVIEWED = _reviewed()


def table(results: Sequence[Result], files: Sequence[Path]) -> str:
    """Kinds and what became of them, as Markdown."""
    kinds = sorted({r.kind for r in results})
    rows = [f"| kind | made | {' | '.join(OUTCOMES)} |", "|---|" + "--:|" * (len(OUTCOMES) + 1)]
    for kind in [*kinds, "all"]:
        counts = Counter(r.outcome for r in results if kind in (r.kind, "all"))
        cells = [str(counts[o]) if counts[o] else "" for o in OUTCOMES]
        bold = "**" if kind == "all" else ""
        rows.append(f"| {bold}{kind}{bold} | {sum(counts.values())} | {' | '.join(cells)} |")
    changing = [r for r in results if r.outcome not in ("same code", "not compiled", "harmless")]
    caught = sum(r.outcome in ("refused", "rejected") for r in changing)
    recipes = sorted({r.base for r in results} - {"original"})
    summary = (
        f"{len(results)} mutants of {len(files)} kernels and of {len(recipes)} recipe outputs ({', '.join(recipes)}); "
        f"of {len(changing)} that compile and change what the kernel does, {caught} were caught.\n"
    )
    return "\n".join([summary, *rows]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
