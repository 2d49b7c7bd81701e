"""Whether two builds of the emulator give the same profiles, number by number: for changes that must only be faster.

Takes the folders of two built native libraries, runs the examples, the self-checking programs and speed.hip with
everything recorded on each, compares every record except the host's own times, and prints what differs:

    python benchmarks/same_profiles.py OLD/lib NEW/lib [--only vector]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HERE = Path(__file__).resolve().parent
SOURCES = [
    *sorted((HERE.parent / "examples").glob("*.hip")),
    *sorted((HERE.parent / "tests" / "emulator" / "programs").glob("*.hip")),
    HERE / "speed.hip",
]
HOST_TIMES = re.compile(r'"(wall_ms|cpu_ms|process|thread)":[^,}]*')
LAUNCHES = 40  # of each kernel and shape: enough to see what one leaves for the next


def main() -> None:
    """Print one line for each program; exit with 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs=2, type=Path, metavar="FOLDER", help="with libamdhip64.so")
    parser.add_argument("--only", default="", help="programs with this in their name")
    options = parser.parse_args()
    toolchain = find_toolchain(Config())
    sources = [source for source in SOURCES if options.only in source.stem]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        built = list(pool.map(lambda source: build_program(resolve_project(source), toolchain), sources))
    different = 0
    for source, program in zip(sources, built, strict=True):
        old, new = (records(program, toolchain, build.resolve()) for build in options.builds)
        wrong = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        different += bool(wrong)
        print(
            f"{source.stem:24} {len(old):4} records  {'DIFFERENT: ' + wrong[0] if wrong else 'same'}",
            flush=True,
        )
    sys.exit(different > 0)


def records(program: BuiltProgram, toolchain: Toolchain, build: Path) -> dict[str, str]:
    """What one run on that build leaves behind: each dispatch, each profile, the output and the exit code."""
    os.environ["HIPSCOPE_NATIVE_DIR"] = str(build)
    with tempfile.TemporaryDirectory(prefix="hipscope-same-") as folder:
        out = Path(folder) / "out"
        options = EmulatorOptions(
            out=out,
            objdump=toolchain.objdump,
            device_config=write_device_config("mi300x", Path(folder) / "device.txt"),
            threads=2,
            profile_launches=LAUNCHES,
            time_budget_s=600,
        )
        environment = {**os.environ, **program.env, **emulator_environment(options)}
        done = subprocess.run(
            program.argv,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        found = {"exit code": str(done.returncode), "output": done.stdout}
        lines = (
            (out / "dispatches.jsonl").read_text().splitlines() if (out / "dispatches.jsonl").exists() else []
        )
        for line in lines:
            found[f"dispatch {json.loads(line)['id']}"] = HOST_TIMES.sub("", line)
        return found | {file.name: file.read_text() for file in out.glob("profile_*.json")}


if __name__ == "__main__":
    main()
