"""The texts that all rules propose for many kernels, without running one: what a change of the rules changes.

Takes files or folders with HIP sources, gives a JSON file: for each kernel and rule the proposed edits as differences,
or the refusal. `--compare BEFORE` prints what differs from an earlier result, with a count for each rule.

    python -m benchmarks.propose_only tests examples SOURCES --output FILE [--compare BEFORE] [--jobs 2]

The launches are made up: workgroups of 256 and no overlap of buffers, unless the first line of a file has facts as the
golden cases do. So a difference is one of text, and a refusal may be one that a recorded launch would not cause.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import json
import math
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.nodes import LOOPS, walk
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts, SourceTypes
from hipscope.formulas.propose.candidate import Advice, Proposal, Refusal
from hipscope.formulas.propose.hints.counted_loops import stepped_loop
from hipscope.formulas.propose.hints.split_refill import refill_loop, split_at_refills
from hipscope.formulas.propose.hints.written_steps import written_out
from hipscope.formulas.propose.rule import Rule
from hipscope.formulas.propose.rules import ask_recipe, rules
from hipscope.formulas.propose.splice import Splice, apply_splices

_SUFFIXES = frozenset({".hip", ".cu", ".cpp", ".h", ".hpp", ".cuh"})
_LARGEST = 400_000  # bytes of a file: larger ones are tables
_STEPS = 4
# By kernel or function, by rule: the edits as differences, or one line that begins with "refused:" or "advice:".
Answers = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class SourceFile:
    """A file and how results name it."""

    path: Path
    name: str


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="propose_only", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    files = [*_files(options.sources)]
    found: Answers = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for answers in pool.map(proposals_of_file, files, chunksize=4):
            found.update(answers)
    options.output.write_text(json.dumps(found, indent=1, sort_keys=True))
    edits = collections.Counter(
        rule for answers in found.values() for rule, said in answers.items() if _edits(said)
    )
    print(
        f"{len(files)} files, {len(found)} kernels and functions, {sum(edits.values())} answers with an edit"
    )
    if options.compare is None:
        return 0
    differences = [*compare(json.loads(options.compare.read_text()), found)]
    print("\n".join(differences))
    return 1 if differences else 0


def compare(before: Answers, after: Answers) -> Iterator[str]:
    """What differs between two results, the rules with the most differences first."""
    changed: dict[str, list[str]] = collections.defaultdict(list)
    for kernel in sorted({*before, *after}):
        old, new = before.get(kernel, {}), after.get(kernel, {})
        for rule in sorted({*old, *new}):
            was, now = old.get(rule, []), new.get(rule, [])
            if was != now:
                changed[rule].append(f"{kernel}: {_kind(was)} -> {_kind(now)}")
    for rule, lines in sorted(changed.items(), key=lambda item: -len(item[1])):
        yield f"{rule}: {len(lines)} differ"
        yield from (f"  {line}" for line in lines)


def _kind(said: list[str]) -> str:
    if not said:
        return "not asked"
    return f"{len(said)} edits" if _edits(said) else said[0]


def _edits(said: list[str]) -> bool:
    return bool(said) and not said[0].startswith(("refused:", "advice:"))


def _files(sources: Iterable[Path]) -> Iterator[SourceFile]:
    for source in sources:
        inside = sorted(source.rglob("*")) if source.is_dir() else [source]
        for path in filter(_is_read, inside):
            yield SourceFile(path, str(path.relative_to(source.parent)))


def _is_read(path: Path) -> bool:
    plain = path.suffix in _SUFFIXES and not path.name.endswith(".out.hip") and path.is_file()
    return plain and path.stat().st_size < _LARGEST and b"__global__" in path.read_bytes()


def proposals_of_file(file: SourceFile) -> Answers:
    """What all rules say of each kernel of a file, and some of each device function."""
    source = file.path.read_bytes()
    callables, definitions = callables_in([source]), definitions_in([source])
    found: Answers = {}
    for kernel in parse(source).kernels:
        seen = see_through(kernel, callables, definitions)
        answers = _answers(source, seen, _facts(source, seen), rules())
        found[f"{file.name}: {kernel.name} ({kernel.span.start})"] = answers | _hints(source, seen)
    for function in device_functions(source):
        seen = see_through(function, callables, definitions)
        asked = tuple(rule for rule in rules() if rule.function)
        found[f"{file.name}: {function.name} ({function.span.start})"] = _answers(
            source, seen, _facts(source, seen), asked
        )
    return found


def _facts(source: bytes, kernel: KernelSyntax) -> LaunchFacts:
    """What the first line says was recorded, else launches that allow as much as can be."""
    pointers = [p.name for p in kernel.parameters if p.pointer]
    first = source.partition(b"\n")[0].partition(b"facts:")[2]
    if first:
        return _recorded(json.loads(first))
    scalars = {p.name: 1024 for p in kernel.parameters if not p.pointer}
    launch = LaunchFact(
        (262144, 1, 1), (256, 1, 1), scalars=scalars, buffer_bytes=dict.fromkeys(pointers, 1 << 20)
    )
    disjoint = frozenset(pointers)
    return LaunchFacts((launch,), xcds=8, threads=256, written=256, disjoint=disjoint)


def _recorded(data: dict[str, Any]) -> LaunchFacts:
    launches = []
    for grid, workgroup, *rest in data.get("launches", ()):
        scalars, buffers = [*rest, {}, {}][:2]
        launches.append(LaunchFact(tuple(grid), tuple(workgroup), scalars=scalars, buffer_bytes=buffers))
    plain = ("threads", "xcds", "static_lds", "member_pointers", "member_numbers")
    written = max((math.prod(launch.workgroup) for launch in launches), default=None)
    facts = LaunchFacts(tuple(launches), written=data.get("written", written))
    values = {name: frozenset(values) for name, values in data.get("values", {}).items()}
    return replace(
        facts,
        **{name: data[name] for name in plain if name in data},
        promised=frozenset(data.get("promised", ())),
        disjoint=frozenset(data.get("disjoint", ())),
        types=SourceTypes(elements=data.get("elements", {}), values=values),
    )


def _answers(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, asked: tuple[Rule, ...]
) -> dict[str, list[str]]:
    return {rule.name: _said(source, ask_recipe(rule, source, kernel, None, facts)) for rule in asked}


def _said(source: bytes, answer: Proposal) -> list[str]:
    if isinstance(answer, Refusal):
        return [f"refused: {answer.reason}"]
    if isinstance(answer, Advice):
        return [f"advice: {answer.title}: {answer.reason}"]
    return [_difference(source, c.text) + "".join(f"\nassumes {a}" for a in c.assumes) for c in answer]


def _hints(source: bytes, kernel: KernelSyntax) -> dict[str, list[str]]:
    """Each loop's steps written out, and the loop split where it refills a buffer."""
    facts, found = _facts(source, kernel), collections.defaultdict(list)
    for node in (n for n in walk(kernel.body_node) if n.type in LOOPS):
        counted = stepped_loop(node, kernel, facts, source)
        if not isinstance(counted, str):
            found["hint: written"].append(_edited(source, written_out(source, kernel, counted, _STEPS)))
        refill = refill_loop(node, kernel, facts, source)
        split = None if isinstance(refill, str) else split_at_refills(source, kernel, facts, refill, _STEPS)
        if split is not None:
            found["hint: refill"].append(_edited(source, split[0]))
    return dict(found)


def _edited(source: bytes, splice: Splice) -> str:
    return _difference(source, apply_splices(source, [splice]))


def _difference(before: bytes, after: bytes) -> str:
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    lines = difflib.unified_diff(old, new, lineterm="", n=0)
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++"))


if __name__ == "__main__":
    sys.exit(main())
