"""Wheels run with old C libraries: how their compiler is called, and what refuses a part that needs a newer one."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def compiled_with(tmp_path: Path, *options: str) -> list[str]:
    """What the compiler for wheels calls, with a `zig` and a `c++` that print how they were called."""
    for name in ("zig", "c++"):
        (tmp_path / name).write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HIPSCOPE_ZIG": str(tmp_path / "zig")}
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "old-glibc-c++", *options],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_what_needs_the_c_library_is_compiled_for_an_old_one(tmp_path: Path) -> None:
    first, language, target, system, *others = compiled_with(
        tmp_path,
        "-march=x86-64-v3",
        "-static-libstdc++",
        "-Wl,--exclude-libs,ALL",
        "-DNAME=a b",
        "-c",
        "x.cpp",
    )
    assert (first, language, target) == ("zig", "c++", "-target")
    assert system.endswith("-linux-gnu.2.28")
    assert others[:4] == ["-march=x86_64_v3", "-DNAME=a b", "-c", "x.cpp"]


def test_what_needs_no_library_is_linked_by_the_compiler_of_the_machine(tmp_path: Path) -> None:
    words = ["-nostdlib", "-Wl,--no-as-needed,--disable-new-dtags", "-shared", "x.o"]
    assert compiled_with(tmp_path, *words) == ["c++", *words]


@pytest.mark.parametrize(("limit", "code"), [("2.0", 1), ("9.9", 0)])
def test_a_part_that_needs_a_newer_c_library_is_named(tmp_path: Path, limit: str, code: int) -> None:
    (tmp_path / "part.c").write_text('#include <stdio.h>\nint part(void) { return puts(""); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "part.so", tmp_path / "part.c"], check=True)
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.write(tmp_path / "part.so", "hipscope/part.so")
        wheel.writestr("hipscope/text.py", "")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "needed_glibc.py", limit, tmp_path / "a.whl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert ("hipscope/part.so needs version" in done.stdout) is bool(code)
    assert "of the C library" in done.stdout
