"""The set-up script on machines that lack something and where it may not install it."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = [
    "sh",
    "dirname",
    "mkdir",
    "cat",
    "seq",
    "ls",
    "grep",
    "sort",
    "tail",
    "readlink",
    "cksum",
    "pwd",
    "printf",
    "rm",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone with nothing set up, and beside it a `bin` with the basic tools but no host compiler."""
    (tmp_path / "clone" / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "clone" / "scripts")
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        path = shutil.which(name)
        assert path is not None, name
        (tmp_path / "bin" / name).symlink_to(path)
    script(tmp_path, "id", "echo 1000")
    script(tmp_path, "python3", "exit 0")
    return tmp_path


def script(checkout: Path, name: str, body: str) -> None:
    path = checkout / "bin" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def set_up(checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "scripts/setup.sh"],
        cwd=checkout / "clone",
        env={"PATH": str(checkout / "bin")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_user_who_may_not_install_is_told_what_to_install(checkout: Path) -> None:
    script(checkout, "apt-get", f"touch {checkout}/installed")
    script(checkout, "sudo", "exit 1")
    done = set_up(checkout)
    assert done.returncode == 3
    assert "As root, run: apt-get update && apt-get install -y " in done.stderr
    assert done.stderr.rstrip("\x1b[0m\n").endswith("g++")
    assert not (checkout / "installed").exists()


def test_another_distribution_is_told_what_is_needed(checkout: Path) -> None:
    done = set_up(checkout)
    assert done.returncode == 3
    assert "this is not Debian or Ubuntu. Install ROCm" in done.stderr


def test_a_user_with_sudo_gets_the_packages(checkout: Path) -> None:
    script(checkout, "sudo", 'shift; [ "$1" = true ] || echo "$@" >> ../sudo.log')
    script(checkout, "apt-get", "exit 0")
    set_up(checkout)
    log = (checkout / "sudo.log").read_text().splitlines()
    assert log[0].endswith("apt-get update -q")
    assert "apt-get install -y -q --no-install-recommends" in log[1]
    assert log[1].split()[-1] == "g++"


def test_packages_that_cannot_be_installed_stop_the_set_up(checkout: Path) -> None:
    script(checkout, "sudo", 'shift; [ "$1" = true ] && exit 0; echo "no such package"; exit 100')
    script(checkout, "apt-get", "exit 0")
    done = set_up(checkout)
    assert done.returncode == 3
    assert "no such package" in done.stderr
    assert "could not install" in done.stderr


@pytest.fixture
def ready(checkout: Path) -> Path:
    """A clone that lacks nothing but its native parts; cmake prints `ninja.txt`, and fails where `broken` is."""
    clone = checkout / "clone"
    shutil.copy(ROOT / "scripts" / "constraints.txt", clone / "scripts")
    (clone / "pyproject.toml").touch()
    for folder in ("server", "analysis", "formulas", "accordo", "emulator"):
        (clone / folder).mkdir()
    for name in ("find", "ln", "touch"):
        (checkout / "bin" / name).symlink_to(str(shutil.which(name)))
    script(checkout, "nproc", "echo 4")
    script(checkout, "g++", "exit 0")
    compiler = checkout / "rocm" / "llvm" / "bin" / "clang++"
    compiler.parent.mkdir(parents=True)
    compiler.touch(mode=0o755)
    tools = clone / ".venv" / "bin"
    tools.mkdir(parents=True)
    for name, body in (
        (
            "python",
            'echo "$*" >> "$HOME/pip.log"; case "$*" in *constraints*) [ ! -f "$HOME/no-such-version" ] ;; esac',
        ),
        ("hipscope", "exit 0"),
        (
            "cmake",
            """[ "$1" = --build ] || { mkdir -p build/native; : > build/native/build.ninja; exit 0; }
while IFS= read -r line; do echo "$line"; done < "$HOME/ninja.txt"
[ ! -f "$HOME/broken" ]""",
        ),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    (checkout / "ninja.txt").write_text(
        "".join(f"[{n}/40] Building CXX object {n}.o\n" for n in range(1, 41))
    )
    return checkout


def environment(ready: Path) -> dict[str, str]:
    return {"PATH": str(ready / "bin"), "HOME": str(ready), "ROCM_PATH": str(ready / "rocm")}


def set_up_ready(ready: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "scripts/setup.sh", *words],
        cwd=ready / "clone",
        env=environment(ready),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_line_says_what_the_set_up_takes_before_it_starts(ready: Path) -> None:
    (ready / "clone" / ".venv" / "bin" / "hipscope").unlink()
    said = set_up_ready(ready).stderr.splitlines()
    assert len(said) == 1
    assert "Python packages in .venv, 0.1 GB to download" in said[0]
    assert "native parts to compile, 1 minutes on 4 cores" in said[0]


def test_what_is_done_is_not_announced_again(ready: Path) -> None:
    set_up_ready(ready)
    (ready / "ninja.txt").write_text("ninja: no work to do.\n")
    again = set_up_ready(ready)
    assert (again.returncode, again.stderr) == (0, "")


def test_progress_is_one_line_that_changes_in_a_terminal_and_silence_elsewhere(ready: Path) -> None:
    mine, theirs = pty.openpty()
    done = subprocess.run(
        ["/bin/sh", "scripts/setup.sh"],
        cwd=ready / "clone",
        env=environment(ready),
        stdin=subprocess.DEVNULL,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    shown = _read_all(mine)
    os.close(mine)
    assert done.returncode == 0, shown
    assert "compiled 4/40" in shown
    assert "compiled 40/40" in shown
    assert shown.count("\n") == 1  # what it takes
    assert shown.endswith("\r\x1b[K")
    (ready / "clone" / "build" / "native" / "build.ninja").unlink()
    assert len(set_up_ready(ready).stderr.splitlines()) == 1


def test_warnings_of_pip_are_kept_from_the_user_unless_it_fails(ready: Path) -> None:
    python = ready / "clone" / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\necho 'WARNING: Location is ignored' >&2\n")
    assert "WARNING" not in set_up_ready(ready).stderr
    (ready / "clone" / "build" / "stamps" / "python").unlink()
    python.write_text(
        '#!/bin/sh\ncase "$*" in *install*) echo "ERROR: no such package" >&2; exit 1 ;; esac\n'
    )
    failed = set_up_ready(ready)
    assert failed.returncode == 3
    assert "ERROR: no such package" in failed.stderr


def test_the_native_parts_are_for_this_machine_unless_those_of_a_wheel_are_asked_for(ready: Path) -> None:
    def options() -> str:
        return (ready / "clone" / "build" / "stamps" / "native-options").read_text()

    set_up_ready(ready)
    assert re.search(r"-DHIPSCOPE_TEST_PARTS=OFF -DHIPSCOPE_ISA_LEVELS=(baseline|avx2|avx512) ", options())
    assert "-L" not in options()
    set_up_ready(ready, "tests", "wheel")
    assert "-DHIPSCOPE_TEST_PARTS=ON -DHIPSCOPE_ISA_LEVELS=baseline;avx2;avx512 " in options()
    assert "-DCMAKE_SHARED_LINKER_FLAGS=-L../glibc -Wl,-z,defs" in options()
    set_up_ready(ready)  # later runs keep them
    assert "baseline;avx2;avx512" in options()


def test_a_build_that_fails_shows_its_log_and_ends_the_set_up(ready: Path) -> None:
    (ready / "broken").touch()
    (ready / "ninja.txt").write_text("[1/2] Building a.o\nFAILED: a.o\nerror: no such thing\n")
    done = set_up_ready(ready)
    assert done.returncode == 4
    assert "error: no such thing" in done.stderr
    assert "could not build the native parts" in done.stderr


def test_language_models_are_installed_only_where_they_are_asked_for(ready: Path) -> None:
    def extras() -> list[str]:
        lines = (ready / "pip.log").read_text().splitlines()
        return [line.partition("-e .")[2].split()[0] for line in lines if "-e .[" in line]

    set_up_ready(ready)
    assert extras() == ["[dev]"]
    set_up_ready(ready, "llm")
    assert extras() == ["[dev]", "[dev,llm]"]
    set_up_ready(ready)  # later runs keep them
    assert extras() == ["[dev]", "[dev,llm]"]


def test_versions_that_cannot_be_had_are_replaced_by_the_newest(ready: Path) -> None:
    (ready / "no-such-version").touch()
    done = set_up_ready(ready)
    assert done.returncode == 0
    assert "cannot be had here; taking the newest that fit" in done.stderr
    installs = [line for line in (ready / "pip.log").read_text().splitlines() if "-e .[dev]" in line]
    assert ["constraints" in line for line in installs] == [True, False]


def test_a_word_that_the_set_up_does_not_know_is_refused(ready: Path) -> None:
    done = set_up_ready(ready, "lmm")
    assert done.returncode == 3
    assert "setup.sh takes llm, editor, tests, wheel and packages, not lmm" in done.stderr


def test_make_help_lists_every_target() -> None:
    listed = subprocess.run(
        ["make", "-s", "-C", ROOT, "help"], capture_output=True, text=True, check=True
    ).stdout
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    found = [line.split(maxsplit=2) for line in listed.splitlines()]
    assert {target for _, target, _ in found} == set(targets[1].split())
    assert all(text.strip() for *_, text in found)


def _read_all(terminal: int) -> str:
    """All that was written to a terminal whose other end is closed: a read gives no more than a part of it."""
    parts = []
    with contextlib.suppress(OSError):  # the end of what there is
        while part := os.read(terminal, 65536):
            parts.append(part)
    return b"".join(parts).decode()
