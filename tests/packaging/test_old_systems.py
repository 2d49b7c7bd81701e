"""Wheels run with old C libraries: linking with stand-ins of one, and what refuses a part that needs a newer one."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a C library has anew since 2.28, and what moved into it or got another version: constructors and the program's
# start, threads, exceptions, waits by a steady clock, randomness, files, dlsym, exp.
YOUNG = """
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <thread>
struct Early { int value; Early() : value(42) {} ~Early() { std::puts("ended"); } } early;
int main(int count, char** arguments)
{
    std::string said;
    std::shared_ptr<int> number = std::make_shared<int>(count);
    std::thread other([&said, number] {
        try { throw std::runtime_error("caught"); } catch (const std::exception& error) { said = error.what(); }
    });
    other.join();
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto begin = std::chrono::steady_clock::now();
    const bool late = never.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout;
    const bool waited = std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20);
    struct stat folder, file;
    const bool found = stat("/", &folder) == 0 && lstat(arguments[0], &file) == 0;
    std::random_device random;
    const bool differ = random() != random() || random() != random();
    std::printf("%s %d %d %d\\n", said.c_str(), early.value, late, waited);
    std::printf("%d %d %d\\n", found, found && S_ISDIR(folder.st_mode), found && S_ISREG(file.st_mode));
    std::printf("%d %d\\n", differ, dlsym(nullptr, "puts") != nullptr);
    std::printf("%g\\n", std::exp(count - 1.0) + std::strtol("7", nullptr, 10));
}
"""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that wheels are linked with."""
    folder = tmp_path_factory.mktemp("glibc")
    subprocess.run([sys.executable, ROOT / "scripts" / "old_glibc.py", "2.28", folder], check=True)
    return folder


def linked(folder: Path, text: str, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A C++ text, compiled and linked as the native parts of a wheel are."""
    source = output.with_suffix(".cpp")
    source.write_text(text)
    return subprocess.run(
        ["g++", "-std=c++20", "-static-libstdc++", "-static-libgcc", *options, source, "-o", output,
         f"-L{folder}", "-Wl,-z,defs"], capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def library(stand_ins: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program above as a shared library."""
    output = tmp_path_factory.mktemp("library") / "library.so"
    built = linked(stand_ins, YOUNG, output, "-shared", "-fPIC")
    assert built.returncode == 0, built.stderr
    return output


def judged(limit: str, *parts: Path) -> subprocess.CompletedProcess[str]:
    """What is said of a wheel with these parts."""
    with zipfile.ZipFile(parts[0].parent / "a.whl", "w") as wheel:
        for part in parts:
            wheel.write(part, f"hipscope/{part.name}")
        wheel.writestr("hipscope/text.py", "")
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "needed_glibc.py", limit, parts[0].parent / "a.whl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_program_linked_for_an_old_c_library_runs_and_needs_no_newer_one(
    stand_ins: Path, library: Path, tmp_path: Path
) -> None:
    built = linked(stand_ins, YOUNG, tmp_path / "program")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["caught 42 1 1", "1 1 1", "1 1", "8", "ended"]
    done = judged("2.28", tmp_path / "program", library)
    assert done.returncode == 0, done.stdout


def test_a_library_keeps_what_old_c_libraries_lack_to_itself(library: Path) -> None:
    """Else a program that loads it would get its `stat` instead of the system's."""
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"stat", "lstat", "arc4random", "_dl_find_object", "__libc_single_threaded"} & set(names)


def test_a_function_that_old_c_libraries_lack_fails_the_link(stand_ins: Path, tmp_path: Path) -> None:
    built = linked(stand_ins, "#include <unistd.h>\nint main() { return gettid(); }\n", tmp_path / "program")
    assert built.returncode != 0
    assert "undefined reference to `gettid'" in built.stderr


@pytest.mark.parametrize(("limit", "code"), [("2.0", 1), ("9.9", 0)])
def test_a_part_that_needs_a_newer_c_library_is_named(tmp_path: Path, limit: str, code: int) -> None:
    (tmp_path / "part.c").write_text('#include <stdio.h>\nint part(void) { return puts(""); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "part.so", tmp_path / "part.c"], check=True)
    done = judged(limit, tmp_path / "part.so")
    assert done.returncode == code, done.stderr
    assert ("hipscope/part.so needs version" in done.stdout) is bool(code)
    assert "of the C library" in done.stdout
