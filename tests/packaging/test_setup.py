"""The set-up script on machines that lack something and where it may not install it."""

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
