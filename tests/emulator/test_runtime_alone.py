"""The runtime in surroundings that are not ours: little address space, no settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hipscope.emulator.runner import native_library_dir
from tests.emulator.hip_run import build_hip
from tests.emulator.recorded_run import VECTOR_ADD


def test_a_process_of_little_address_space_names_the_limit(tmp_path: Path) -> None:
    command = build_hip(VECTOR_ADD, tmp_path)
    limited = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v {6 * (1 << 20)}; exec "$0"', *command.argv],
        env=command.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert limited.returncode == 70
    assert "this process may have 6144 MiB of address space (ulimit -v)" in limited.stderr
    assert limited.stderr.count("\n") == 1


def test_the_library_runs_programs_without_any_setting(tmp_path: Path) -> None:
    command = build_hip(VECTOR_ADD, tmp_path)
    bare = {n: v for n, v in os.environ.items() if not n.startswith("HIPSCOPE_")}
    bare["LD_LIBRARY_PATH"] = str(native_library_dir())

    def alone(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command.argv, env={**bare, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
        )

    objdump = Path(command.env["HIPSCOPE_OBJDUMP"])
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "llvm-objdump-19").symlink_to(objdump)
    assert alone(str(tools)).stdout == "PASS\n"
    missing = alone(str(tmp_path))
    assert missing.returncode != 0
    assert "set HIPSCOPE_OBJDUMP to" in missing.stderr
