"""Many inputs for both fuzzers, over all cores. Standard library alone: it runs on any machine they are taken to.

python tests/emulator/fuzz/samples.py FOLDER
python tests/emulator/fuzz/campaign.py build/fuzz/bin FOLDER OUT --inputs 100000

Prints for each process how many inputs it has run and what was found. OUT/findings.txt has, for each finding, the
command that shows it again and what the fuzzer said; OUT/inputs.tar.gz the damaged captures of the findings (code
objects are made anew from seed and number).
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CHUNK = 500  # inputs of one seed
CHUNK_TIMEOUT_S = 200
KEPT_CHARACTERS = 6000  # of what a fuzzer says about a finding
# Each kind of finding ends in SIGABRT, for which the fuzzers tell the number of their input.
SANITIZERS = ":".join(
    ["abort_on_error=1", "handle_abort=0", "print_stacktrace=1", "detect_leaks=0"]
    + [f"handle_{signal}=2" for signal in ("segv", "sigbus", "sigfpe", "sigill")]
)


@dataclass(frozen=True)
class Chunk:
    """Inputs of one seed for one fuzzer."""

    fuzzer: str
    seed: int


@dataclass
class Tally:
    """What one process (one after the other in one slot) has run."""

    inputs: Counter[str] = field(default_factory=Counter)
    results: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


Command = Callable[[Chunk, str], list[str]]


def commands(binaries: Path, samples: Path, scratch: Path) -> Command:
    """The command line of a chunk for a range of its inputs."""
    objects = sorted(str(path) for kind in ("*.co", "*.bundle") for path in samples.glob(kind))
    captures = sorted(str(path) for path in samples.glob("captures/*/dispatch_1"))
    if not objects or not captures:
        sys.exit(f"campaign: {samples} holds no samples; make them with samples.py")

    def command(chunk: Chunk, inputs: str) -> list[str]:
        argv = [str(binaries / f"hipscope-{chunk.fuzzer}-fuzz"), inputs, str(chunk.seed)]
        if chunk.fuzzer == "loader":
            return [*argv, *objects]
        return [*argv, str(samples / "cache"), str(folder_of(scratch, chunk)), *captures]

    return command


def folder_of(scratch: Path, chunk: Chunk) -> Path:
    """Where the capture fuzzer keeps the input at hand."""
    return scratch / f"{chunk.fuzzer}_{chunk.seed}"


def run_chunk(chunk: Chunk, command: Command, scratch: Path, tally: Tally) -> None:
    """All inputs of a chunk; behind a finding it goes on."""
    environment = {**os.environ, "ASAN_OPTIONS": SANITIZERS, "UBSAN_OPTIONS": SANITIZERS}
    first = 0
    while first < CHUNK:
        argv = command(chunk, f"{first}:{CHUNK}")
        process = subprocess.Popen(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        try:
            output, errors = process.communicate(timeout=CHUNK_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
            tally.findings.append(
                f"{' '.join(argv)}\ndid not end within {CHUNK_TIMEOUT_S} s\n{errors[:KEPT_CHARACTERS]}"
            )
            return
        if process.returncode == 0:
            tally.inputs[chunk.fuzzer] += CHUNK - first
            for line in output.splitlines():
                count, result = line.split(maxsplit=1)
                tally.results[chunk.fuzzer, result[:60]] += int(count)
            if not errors:
                return
        told = re.search(r"input (\d+)", errors)
        number = int(told[1]) if told else -1
        again = " ".join(command(chunk, f"{number}:{number + 1}"))
        tally.findings.append(f"{again}\nended with status {process.returncode}\n{errors[:KEPT_CHARACTERS]}")
        if process.returncode == 0 or number < first:
            return
        tally.inputs[chunk.fuzzer] += number + 1 - first
        first = number + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("binaries", type=Path, help="folder of the fuzzers")
    parser.add_argument("samples", type=Path, help="folder that samples.py has filled")
    parser.add_argument("out", type=Path)
    parser.add_argument("--inputs", type=int, default=100_000, help="for each of the two fuzzers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1000, help="of the first chunk")
    parser.add_argument("--seconds", type=float, default=460, help="no chunk begins after that many")
    arguments = parser.parse_args()
    begin = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    scratch = Path(
        tempfile.mkdtemp(prefix="hipscope-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    command = commands(arguments.binaries, arguments.samples, scratch)
    chunks: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
    for i in range(-(-arguments.inputs // CHUNK)):
        for fuzzer in ("loader", "capture"):
            chunks.put(Chunk(fuzzer, arguments.seed + i))

    def work(tally: Tally) -> None:
        while time.monotonic() - begin < arguments.seconds:
            try:
                chunk = chunks.get_nowait()
            except queue.Empty:
                return
            folder_of(scratch, chunk).mkdir(exist_ok=True)
            run_chunk(chunk, command, scratch, tally)

    tallies = [Tally() for _ in range(arguments.jobs)]
    threads = [threading.Thread(target=work, args=(tally,)) for tally in tallies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report(tallies, arguments.out, time.monotonic() - begin)
    keep_inputs(scratch, arguments.out)
    return int(any(tally.findings for tally in tallies))


def report(tallies: list[Tally], out: Path, seconds: float) -> None:
    """To standard output, and the findings into a file."""
    inputs: Counter[str] = Counter()
    results: Counter[tuple[str, str]] = Counter()
    for i, tally in enumerate(tallies):
        each = ", ".join(f"{name} {count}" for name, count in sorted(tally.inputs.items()))
        print(f"process {i}: {each or 'no input'}; {len(tally.findings)} findings")
        inputs += tally.inputs
        results += tally.results
    for (fuzzer, result), count in sorted(results.items(), key=lambda row: (row[0][0], -row[1])):
        print(f"{fuzzer}: {count:8d}  {result}")
    findings = [finding for tally in tallies for finding in tally.findings]
    total = ", ".join(f"{name} {count}" for name, count in sorted(inputs.items()))
    print(f"all: {total or 'no input'}; {len(findings)} findings; {seconds:.0f} s")
    (out / "findings.txt").write_text("\n\n".join(findings))


def keep_inputs(scratch: Path, out: Path) -> None:
    """What lies in the folders of the capture fuzzer are inputs of findings."""
    left = sorted(path for folder in scratch.iterdir() for path in folder.iterdir())
    if left:
        with tarfile.open(out / "inputs.tar.gz", "w:gz") as archive:
            for path in left[:200]:
                archive.add(path, arcname=str(path.relative_to(scratch)))
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
