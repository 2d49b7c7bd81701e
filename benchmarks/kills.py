"""What is left when everything stops at once? `hipscope optimize --apply`, ended by SIGKILL at random moments.

    python -m benchmarks.kills --rounds 200 [--log FILE]

Each round starts the whole command on a copy of an example and, at a moment of its own, kills either the command
alone, one of the processes below it, or all of them in one go, as a power cut would. Afterwards the user's file must
be the old text or the verified one, no process may be running, and after one more start of hipscope nothing may
remain but the backup that `hipscope restore` needs. Prints how the rounds ended; exit code 1 when one ended badly.
With a log, rounds that stand in it are not done again, so that a long run can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "contended_atomic.hip"
COMMAND = [sys.executable, "-m", "hipscope.server"]
WHOM = ("the command", "a process below it", "all at once")
_GONE_SECONDS = 30.0


def main() -> int:
    """Kill, look, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="JSON Lines, one for each round")
    options = parser.parse_args()
    rounds = known_rounds(options.log)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        new, seconds = undisturbed(folder / "undisturbed", environment)
        old = EXAMPLE.read_bytes()
        for number in sorted(set(range(options.rounds)) - {r.number for r in rounds}):
            whom, moments = WHOM[number % len(WHOM)], random.Random(f"{options.seed} {number}")
            text, left = one_round(folder / f"round_{number}", environment, whom, moments, seconds)
            state = "old" if text == old else "new" if text == new else "neither"
            rounds.append(Round(number, whom, state, tuple(left)))
            if options.log is not None:
                with options.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rounds[-1])) + "\n")
    print(summary(rounds))
    return 1 if any(r.left or r.state == "neither" for r in rounds) else 0


@dataclass(frozen=True)
class Round:
    """How one round ended: `state` of the file is old, new or neither; `left` is what should not have been there."""

    number: int
    whom: str
    state: str
    left: tuple[str, ...]


def known_rounds(log: Path | None) -> list[Round]:
    """The rounds of a log; a line that a kill cut short does not count."""
    found = []
    for line in log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else ():
        with contextlib.suppress(ValueError):
            known = json.loads(line)
            found.append(Round(known["number"], known["whom"], known["state"], tuple(known["left"])))
    return found


def summary(rounds: Sequence[Round]) -> str:
    """The table of the rounds, and what was left in each."""
    ended = Counter((r.whom, r.state) for r in rounds)
    lines = [f"{len(rounds)} rounds", "", "| killed | old text | new text | neither |", "|---|--:|--:|--:|"]
    counts = ((whom, *(ended[whom, s] for s in ("old", "new", "neither"))) for whom in WHOM)
    lines += [f"| {whom} | {old} | {new} | {neither} |" for whom, old, new, neither in counts]
    bad = [f"round {r.number} ({r.whom}): {what}" for r in rounds for what in r.left]
    bad += [f"round {r.number} ({r.whom}): the file is neither text" for r in rounds if r.state == "neither"]
    return "\n".join([*lines, "", *(bad or ["nothing else remained"])])


def undisturbed(folder: Path, environment: dict[str, str]) -> tuple[bytes, float]:
    """The verified text, and how long the whole command takes once its builds are cached."""
    seconds = 0.0
    for _ in range(2):
        program, mine = prepare(folder, environment)
        begin = time.monotonic()
        subprocess.run(
            [*COMMAND, "optimize", "--apply", program.name],
            cwd=folder,
            env=mine,
            check=True,
            capture_output=True,
        )
        seconds = time.monotonic() - begin
        text = program.read_bytes()
        shutil.rmtree(folder)
    return text, seconds


def prepare(folder: Path, environment: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """A project of one file, and an environment with a temporary directory and a mark of its own."""
    scratch = folder.with_name(f"{folder.name}_tmp")
    for directory in (folder, scratch):
        directory.mkdir(exist_ok=True)
    program = Path(shutil.copy(EXAMPLE, folder / "program.hip"))
    return program, {**environment, "TMPDIR": str(scratch), "HIPSCOPE_KILLS_MARK": uuid.uuid4().hex}


def one_round(
    folder: Path, environment: dict[str, str], whom: str, moments: random.Random, seconds: float
) -> tuple[bytes, list[str]]:
    """One kill. Gives the file's text afterwards and what should not be there."""
    program, mine = prepare(folder, environment)
    mark = mine["HIPSCOPE_KILLS_MARK"]
    process = subprocess.Popen(
        [*COMMAND, "optimize", "--apply", program.name],
        cwd=folder,
        env=mine,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(moments.uniform(0, 1.05 * seconds))
    below = [pid for pid in marked(mark) if pid != process.pid]
    victims = {
        "the command": [process.pid],
        "a process below it": [moments.choice(below)] if below else [process.pid],
        "all at once": [process.pid, *below],
    }[whom]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    left = []
    deadline = time.monotonic() + _GONE_SECONDS
    while (still := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if still:
        left.append(f"{len(still)} processes still run")
    text = program.read_bytes()
    program.write_bytes(EXAMPLE.read_bytes())
    subprocess.run(
        [*COMMAND, "optimize", program.name], cwd=folder, env=mine, check=True, capture_output=True
    )
    remains = [p.name for p in Path(mine["TMPDIR"]).iterdir()]
    remains += [p.name for p in folder.iterdir() if p.name not in ("program.hip", ".hipscope")]
    drafts = Path(mine["XDG_CACHE_HOME"]).rglob(".draft-*")
    left += [f"left behind: {name}" for name in (*remains, *(d.name for d in drafts))]
    shutil.rmtree(folder)
    shutil.rmtree(mine["TMPDIR"], ignore_errors=True)
    return text, left


def marked(mark: str) -> list[int]:
    """The processes that were started with this mark and still are there."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
