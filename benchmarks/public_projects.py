"""`hipscope init`, build and profile on programs that others have published, and a table of what came of each.

    python benchmarks/public_projects.py [--seconds 240] [--only FILE] FOLDER...

Takes folders that hold programs; each directory below with a Makefile or a CMakeLists.txt, and none above it, is one. A
hipscope.toml is written into it: give it a copy. Prints a row of benchmarks/notes/public_projects.md per program as
soon as it is done: what `init` wrote, how far it came, and what was missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

BUILD_FILES = ("GNUmakefile", "makefile", "Makefile", "CMakeLists.txt")
COMMAND = (sys.executable, "-m", "hipscope.server")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=240.0, help="of each program's profile, build included"
    )
    parser.add_argument(
        "--only", type=Path, help="a file with the names of the directories to take, one a line"
    )
    options = parser.parse_args()
    wanted = set(options.only.read_text().split()) if options.only else None
    print("| program | sources | `init` wrote | outcome | s | what was missing |\n|---|---|---|---|---|---|")
    for folder in options.folders:
        for directory in programs(folder.resolve()):
            if wanted is None or directory.name in wanted:
                print(row(folder.resolve(), directory, options.seconds), flush=True)


def programs(folder: Path) -> Iterator[Path]:
    """The outermost directories with a build file."""
    if any((folder / name).is_file() for name in BUILD_FILES):
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            yield from programs(path)


def row(top: Path, directory: Path, seconds: float) -> str:
    """One program: write its settings, build and profile it."""
    name = f"{top.name}/{directory.relative_to(top)}" if directory != top else top.name
    suffixes = (".hip", ".cu", ".cpp", ".cc", ".cxx")
    sources = sum(path.suffix in suffixes for path in directory.rglob("*") if path.is_file())
    (directory / "hipscope.toml").unlink(missing_ok=True)
    started = time.monotonic()
    written = run(["init", str(directory)], directory, seconds)
    if written.returncode:
        return cells(name, sources, "-", "no settings", started, said(written))
    lines = [line for line in written.stdout.splitlines() if line and not line.startswith("#")]
    shown = "; ".join(f"`{line}`" for line in lines)
    done = run(["profile", "--backend", "emulator", "--format", "json", str(directory)], directory, seconds)
    try:
        report = json.loads(done.stdout)
        report["kernels"]  # a failure has none
    except (ValueError, KeyError):
        outcome = "timed out" if done.returncode == -9 else "no profile"
        return cells(name, sources, shown, outcome, started, said(done))
    outcome = f"{len(report['kernels'])} kernels, {len(report['findings'])} findings"
    code = report["program"]["exit_code"]
    missing = said(done) if done.returncode else (report["partial"] or "")
    return cells(name, sources, shown, outcome + (f", exit {code}" if code else ""), started, missing)


def run(arguments: list[str], directory: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """hipscope with these arguments; -9 when it took too long."""
    argv = [*COMMAND, *arguments]
    process = subprocess.Popen(
        argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "200"}, errors="replace",
    )  # fmt: skip
    try:
        stdout, stderr = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends everything that it started
        process.communicate()
        return subprocess.CompletedProcess(argv, -9, "", "hipscope: stopped by the script")


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What hipscope said at the end, in one cell."""
    lines = done.stderr.splitlines()
    last = max((n for n, line in enumerate(lines) if line.startswith("hipscope: ")), default=None)
    if last is None:
        return done.stderr.strip()[-160:]
    hint = [line.strip() for line in lines[last + 1 :] if line.startswith("  ")][:1]
    own = "hipscope emulator: "  # what the message says as well
    printed = [f"it printed: {n.strip()}" for n in lines[:last] if n.strip() and not n.startswith(own)][-1:]
    return "; ".join([lines[last].removeprefix("hipscope: ")[:200], *(line[:160] for line in hint + printed)])


def cells(name: str, sources: int, wrote: str, outcome: str, started: float, missing: str) -> str:
    """A row of the table."""
    seconds = f"{time.monotonic() - started:.0f}"
    words = (name, str(sources), wrote, outcome, seconds, missing)
    return "| " + " | ".join(" ".join(word.replace("|", "\\|").split()) for word in words) + " |"


if __name__ == "__main__":
    main()
