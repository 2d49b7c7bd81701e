"""Can the proof be fooled? Wrong kernels by the hundred, from right ones and from what the recipes make of them.

    python -m benchmarks.mutations

Each subject is a program whose kernel is recorded once. Its text, and each recipe output for it that is accepted, is
changed in one place at a time (mutate.py); every mutant goes through the guard, the compiler and the proof, as a
candidate would. Prints a table of kinds and counts; `--update` writes it into docs/mutations.md. Exit code 1 when a
mutant passed that `mutants/reviewed.toml` does not name as harmless, or when a right recipe output was rejected.
What is known is kept (`--log`): a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile

from benchmarks.mutate import Mutant, Subject, mutants
from benchmarks.mutation_log import ROOT, Bases, Done, Log, Result, key_of
from hipscope.analysis.config import load_config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import detect_all, find_formula
from hipscope.formulas.judge.bench import Bench, CannotJudge, open_bench
from hipscope.formulas.judge.judge import Judgement, admit, prove
from hipscope.formulas.judge.selection import ask_recipes, contest
from hipscope.formulas.propose.candidate import Candidate

FOLDER = Path(__file__).resolve().parent / "mutants"
PAGE = ROOT / "docs" / "mutations.md"
BEGIN, END = "<!-- begin: mutations -->\n", "<!-- end: mutations -->\n"
OUTCOMES = ("same code", "refused", "not compiled", "rejected", "harmless", "passed")


@dataclass(frozen=True)
class Plan:
    """How many mutants of each kind are made of a small program's kernel, how many of an example's and of each recipe's
    output; where they are noted.
    """

    per_kind: int
    per_kind_of_examples: int
    log: Path
    keep_rejections: bool


@dataclass(frozen=True)
class Report:
    """All mutants of one program, and the recipe outputs that were right but not accepted."""

    results: tuple[Result, ...]
    wronged: tuple[str, ...]
    seconds: float


def main() -> int:
    """Run, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-kind", type=int, default=4, help="mutants of each kind and kernel, at most")
    parser.add_argument(
        "--per-kind-of-examples", type=int, default=1, help="the same for these, and recipe outputs"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=[""], help="file names that contain one of these")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "mutations.jsonl")
    parser.add_argument(
        "--keep-rejections", action="store_true", help="since, the proof only became stricter"
    )
    parser.add_argument("--update", action="store_true", help="write the table into docs/mutations.md")
    options = parser.parse_args()
    plan = Plan(options.per_kind, options.per_kind_of_examples, options.log, options.keep_rejections)
    examples = sorted((ROOT / "examples").glob("*.hip"))
    files = [f for f in [*sorted(FOLDER.glob("*.hip")), *examples] if any(o in f.name for o in options.only)]
    with ProcessPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(examine, files, [plan] * len(files)))
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


def examine(file: Path, plan: Plan) -> Report:
    """Record one program and try every mutant of its kernel and of what recipes make of it."""
    start = time.monotonic()
    log = Log(plan.log, _still_counts if plan.keep_rejections else None)
    file_key = key_of(file.read_bytes(), str(plan.per_kind), str(plan.per_kind_of_examples))
    if (known := log.done(file_key)) is not None:
        return Report(tuple(_reviewed_result(r) for r in known[0]), known[1], time.monotonic() - start)
    project = resolve_project(file, config=load_config(file.parent))
    run = Run()
    session = profile_project(project, run, options=ProfileOptions(capture_dispatches=()))
    findings = detect_all(session.profile, run.texts)
    results: dict[str, Result] = {}
    wronged: list[str] = []
    for kernel in session.profile.kernels:
        try:
            with open_bench(project, session, kernel, run) as bench:
                key = key_of(bench.original, kernel.mangled)
                bases = log.bases(key)
                if bases is None:
                    bases = _bases(bench, [f for f in findings if f.mangled == kernel.mangled])
                    log.add(key, bases)
                wronged += [f"{file.name}: {one}" for one in bases.wronged]
                for name, text in bases.texts:
                    small = file.parent == FOLDER and name == "original"
                    per_kind = plan.per_kind if small else plan.per_kind_of_examples
                    results |= _mutate(bench, log, file.name, name, text.encode(), per_kind)
        except CannotJudge as refusal:
            print(f"{file.name}: {refusal}", file=sys.stderr)
    log.add(file_key, Done(tuple(results), tuple(wronged)))
    listed = tuple(_reviewed_result(r) for r in results.values())
    return Report(listed, tuple(wronged), time.monotonic() - start)


def _bases(bench: Bench, findings: Sequence[Finding]) -> Bases:
    """The kernel and, of each recipe, the fastest accepted output."""
    texts = {"original": bench.original.decode()}
    wronged = []
    for finding in findings:
        for judgement in contest(
            bench, ask_recipes(bench, finding), find_formula(finding.formula), bench.run
        ):
            candidate = judgement.candidate
            if judgement.accepted:
                texts.setdefault(candidate.recipe, candidate.text.decode())
            elif judgement.stage in ("different", "inconclusive", "refused"):
                wronged.append(f"{candidate.recipe}: {judgement.reason}")
    return Bases(tuple(texts.items()), tuple(wronged))


def _mutate(bench: Bench, log: Log, file: str, base: str, text: bytes, per_kind: int) -> dict[str, Result]:
    """Judge the mutants of one text: results by key. A text that is no kernel's of the bench gives none."""
    kernel = parse(text).kernel(bench.kernel.name)
    compiled = bench.compiled if text == bench.original else admit(bench, _candidate(base, text), bench.run)
    if kernel is None or isinstance(compiled, Judgement):
        return {}
    results: dict[str, Result] = {}
    judged = {machine_code(compiled.path): ("same code", "")}
    for mutant in mutants(Subject(text, kernel, bench.facts), per_kind):
        key = key_of(bench.original, base, mutant.kind, mutant.text)
        result = log.result(key)
        if result is None:
            outcome, reason = judged_mutant(bench, mutant, judged)
            result = Result(file, base, mutant.kind, changed_line(text, mutant), outcome, reason)
            log.add(key, result)
        results[key] = result
    return results


def judged_mutant(bench: Bench, mutant: Mutant, judged: dict[bytes, tuple[str, str]]) -> tuple[str, str]:
    """The outcome; `judged` holds those of machine code that was seen, and gets this one's."""
    candidate = _candidate(mutant.kind, mutant.text)
    compiled = admit(bench, candidate, bench.run)
    if isinstance(compiled, Judgement):
        return ("not compiled" if compiled.stage == "not_compiled" else "refused"), compiled.reason
    code = machine_code(compiled.path)
    if code not in judged:
        verdict = prove(bench, candidate, compiled, bench.run)
        judged[code] = ("passed" if verdict.equivalent else "rejected"), verdict.reason
    return judged[code]


def _candidate(name: str, text: bytes) -> Candidate:
    # Not exact: a mutant may hide behind the tolerance that a reordering of sums needs.
    return Candidate(recipe=name, title=name, text=text, expected="", exact=False)


def machine_code(path: Path) -> bytes:
    """What a code object executes and reads, without what only names it."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        return b"".join(s.data() for s in elf.iter_sections() if s.name in (".text", ".rodata", ".data"))


def changed_line(text: bytes, mutant: Mutant) -> str:
    """The first line that a mutant has otherwise."""
    pairs = zip(text.splitlines(), mutant.text.splitlines(), strict=False)
    return next((new.decode().strip() for old, new in pairs if old != new), "")


def _reviewed() -> dict[tuple[str, str, str], str]:
    """Mutants that a review showed to do the same as the original."""
    with (FOLDER / "reviewed.toml").open("rb") as file:
        listed = tomllib.load(file).get("harmless", [])
    return {(one["file"], one["kind"], one["line"]): one["why"] for one in listed}


REVIEWED = _reviewed()


def _reviewed_result(result: Result) -> Result:
    why = REVIEWED.get((result.file, result.kind, result.changed))
    if result.outcome != "passed" or why is None:
        return result
    return replace(result, outcome="harmless", reason=why)


def _still_counts(result: Result) -> bool:
    """Where the proof only became stricter: all but unreviewed mutants that passed."""
    return _reviewed_result(result).outcome != "passed"


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
    outputs = {(r.file, r.base) for r in results if r.base != "original"}
    recipes = sorted({base for _, base in outputs})
    summary = (
        f"{len(results)} mutants of {len(files)} programs and of {len(outputs)} outputs that recipes made for them "
        f"({', '.join(recipes)}); "
        f"of {len(changing)} that change what the kernel does, {caught} were caught.\n"
    )
    return "\n".join([summary, *rows]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
