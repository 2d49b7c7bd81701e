"""A stand-in for rocprofv3: understands what `RocmProfiler` passes on, runs the program, and writes recorded tables.

`install` writes it to a directory as an executable, with its answers beside it. Each call is a line in `calls`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).parent / "data" / "captures"


@dataclass(frozen=True)
class Answers:
    """What the stand-in says.

    The recorded trace and counters of a copy kernel, or with `series` those of `kernel`: for each binary, in the order
    in which they are first seen, the launches of each run in nanoseconds (0: a damaged time stamp), and `counters`.
    `fails_at` (binary, run) ends a run as a crash of the tool does.
    """

    options: str = "--pmc --att"
    refused: str = ""
    trace: str = str(CAPTURES / "mi300x_trace" / "ps_file_kernel_trace.csv")
    table: str = str(CAPTURES / "mi300x_vcopy" / "pmc_perf.csv")
    kernel: str = ""
    series: Sequence[Sequence[Sequence[float]]] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    fails_at: tuple[int, int] | None = None


def install(directory: Path, answers: Answers | None = None) -> None:
    """Make `directory`/rocprofv3 the stand-in with these answers."""
    (directory / "answers.json").write_text(json.dumps(asdict(answers or Answers())))
    path = directory / "rocprofv3"
    shutil.copy(__file__, path)
    body = path.read_text()
    path.write_text(f"#!{sys.executable} -SE\n{body}")  # it is started often: without site-packages
    path.chmod(0o755)


def calls(directory: Path) -> list[str]:
    """The options of each call so far."""
    return (directory / "calls").read_text().splitlines()


def main(arguments: Sequence[str]) -> int:
    """One call of the tool."""
    here = Path(__file__).parent
    answers = json.loads((here / "answers.json").read_text())
    if arguments == ["--help"]:
        print(answers["options"])
        return 0
    if arguments == ["--version"]:
        print("rocprofv3 version: 1.0.0")
        return 0
    split = arguments.index("--")
    own, command = arguments[:split], arguments[split + 1 :]
    assert own[own.index("-f") + 1] == "csv", own
    assert own[own.index("-o") + 1] == "out", own
    out = Path(own[own.index("-d") + 1])
    with (here / "calls").open("a") as log:
        log.write(" ".join(own[: own.index("-f")]) + "\n")
    return (
        _series(here, answers, own, command, out)
        if answers["series"]
        else _tables(answers, own, command, out)
    )


def _tables(answers: Mapping[str, object], own: Sequence[str], command: Sequence[str], out: Path) -> int:
    status = subprocess.run(command).returncode
    out.mkdir(parents=True)
    if "--kernel-trace" in own and status == 0:
        shutil.copy(str(answers["trace"]), out / "out_kernel_trace.csv")
    if "--pmc" in own:
        counters = own[own.index("--pmc") + 1 : own.index("-f")]
        if answers["refused"] in counters:
            sys.exit("counter not available")
        header, *rows = Path(str(answers["table"])).read_text().splitlines()
        rows = [row for row in rows if row.rsplit(",", 2)[1] in counters]
        if rows:
            (out / "out_counter_collection.csv").write_text("\n".join([header, *rows]) + "\n")
    return status


def _series(
    here: Path, answers: Mapping[str, Any], own: Sequence[str], command: Sequence[str], out: Path
) -> int:
    """The next run of this binary in its series; what is not a trace is a table of the counters."""
    out.mkdir(parents=True)
    if "--pmc" in own:
        asked = own[own.index("--pmc") + 1 : own.index("-f")]
        rows = [
            f'1,{number},1,1,0,0,4,4,16,"{answers["kernel"]}",{number},{number + 1},12,{name},{value}'
            for name, value in answers["counters"].items()
            if name in asked
            for number in (1, 2)
        ]
        header = Path(answers["table"]).read_text().splitlines()[0]
        (out / "out_counter_collection.csv").write_text("\n".join([header, *rows]) + "\n")
        return 0
    known = here / "runs.json"
    runs = json.loads(known.read_text()) if known.exists() else []
    binary = next((i for i, (path, _) in enumerate(runs) if path == command[0]), len(runs))
    runs[binary:] = runs[binary:] or [[command[0], 0]]
    number = runs[binary][1]
    runs[binary][1] += 1
    known.write_text(json.dumps(runs))
    if answers["fails_at"] == [binary, number]:
        print("rocprofv3: lost the agent")
        return 139
    header = Path(answers["trace"]).read_text().splitlines()[0]
    rows, now = [], 1_000_000
    for launch, duration in enumerate(answers["series"][binary][number], start=1):
        end = now + int(duration)
        sizes = "4224,0,16,0,32,32,8,1,256,64,1"
        rows.append(
            f'"KERNEL_DISPATCH","Agent 1",1,0,1,{launch},1,"{answers["kernel"]}",{launch},{now},{end},{sizes}'
        )
        now = end + 1000
    (out / "out_kernel_trace.csv").write_text("\n".join([header, *rows]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
