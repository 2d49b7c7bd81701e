"""Wrong rewrites by somebody who knows the proof and wants through, and right ones: what becomes of them.

`benchmarks/attacks/` has a program for each kernel, its rewrites beside it in the form of tests/accordo/adversarial.
A wrong one is rejected, accepted with the name of what was never varied, or accepted: the last is what must not be.

    python -m benchmarks.attacks [--only heat,csr] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hipscope.accordo import api as accordo
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.toolchain.build import compile_device
from tests.accordo.adversarial.subjects import Rewrite, rewrites

FOLDER = Path(__file__).with_suffix("")


@dataclass(frozen=True)
class Judged:
    """A rewrite and what became of it: rejected, named, accepted, or what broke."""

    program: str
    name: str
    kind: str
    outcome: str
    reason: str
    seconds: float


def judged(program: Path) -> Iterator[Judged]:
    """Each rewrite of a program; the original is replayed once for all."""
    with accordo.capture(program, kernel=program.stem) as recording:
        reference = accordo.prepare(recording)
        for rewrite in rewrites(program):
            begun = time.monotonic()
            try:
                found = _verdict(recording, reference, rewrite)
                outcome, reason = _outcome(found), found.reason
            except HipscopeError as error:
                outcome, reason = "broken", str(error)
            spent = time.monotonic() - begun
            yield Judged(program.stem, rewrite.name, rewrite.kind, outcome, reason, round(spent, 1))


def _verdict(recording: accordo.Recording, reference: Reference, rewrite: Rewrite) -> Verdict:
    assert recording.source is not None
    changed = recording.run.replacing(recording.source, rewrite.text)
    code = compile_device(recording.project, recording.toolchain, recording.source, changed, confined=True)
    return validate(reference, code.path)


def _outcome(found: Verdict) -> str:
    if not found.equivalent:
        return "unproved" if found.outcome == "inconclusive" else "rejected"
    return "named" if "never" in found.reason else "accepted"


def main() -> None:
    """Print each rewrite and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs, with commas")
    parser.add_argument("--json", type=Path, help="where to write all of it")
    given = parser.parse_args()
    wanted = set(filter(None, given.only.split(",")))
    seen: list[Judged] = []
    for program in sorted(FOLDER.glob("*.hip")):
        if wanted and program.stem not in wanted:
            continue
        for one in judged(program):
            seen.append(one)
            print(
                f"{one.program:14}{one.kind:6}{one.name:16}{one.outcome:9}{one.seconds:6.1f} s  {one.reason}",
                flush=True,
            )
    for kind in ("wrong", "right"):
        counts = Counter(one.outcome for one in seen if one.kind == kind)
        print(f"{kind}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(one) for one in seen], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
