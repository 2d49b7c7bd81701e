"""A disk that fills up at any point of a run: one line that says so, never a result made of what still fitted."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.command_line import COMMAND

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "contended_atomic.hip"
# In a name space of its own the test may mount a file system of any size.
OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]
MOUNT = 'mount -t tmpfs -o size="$1" full "$2" && shift 2 && exec "$@"'


def may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = [*OWN_MOUNTS, "sh", "-c", "mount -t tmpfs probe /mnt"]
    return subprocess.run(probe, capture_output=True, timeout=20, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not may_mount(), reason="no mount name spaces for users here")


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def run(folder: Path, full: Path, size: str, *arguments: str, **places: Path) -> Ended:
    """`hipscope ARGUMENTS` where the directory `full` has room for `size`."""
    full.mkdir(exist_ok=True)
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", MOUNT, "sh", size, str(full), *COMMAND, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **{k: str(v) for k, v in places.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLE, tmp_path / "program.hip"))


# Where it happens: the compiler's output and its ways to say so, the code object, a launch's profile, our own tables.
@pytest.mark.parametrize("size", ["20k", "44k", "190k", "240k", "320k"])
def test_a_profile_that_does_not_fit_is_an_error_of_one_line(program: Path, size: str) -> None:
    folder = program.parent
    ended = run(folder, folder / "cache", size, "profile", "program.hip", XDG_CACHE_HOME=folder / "cache")
    said = [line for line in ended.stderr.splitlines() if line.startswith("hipscope: ")]
    assert (ended.code, ended.stdout) == (2, "")
    assert len(said) == 1
    assert said[0].startswith("hipscope: cannot write")
    assert said[0].endswith("No space left on device")


def test_a_launch_that_cannot_be_recorded_is_an_error_of_one_line(program: Path) -> None:
    folder = program.parent
    ended = run(folder, folder / "cache", "300k", "optimize", "program.hip", XDG_CACHE_HOME=folder / "cache")
    assert ended.code == 2
    assert "cannot write" in ended.stderr
    assert "No space left on device" in ended.stderr
    assert program.read_text() == EXAMPLE.read_text()


# Where a proof records launches and its replays write what they leave. Nothing was found out about the candidate.
@pytest.mark.parametrize("size", ["100k", "300k"])
def test_a_proof_that_does_not_fit_is_no_verdict(program: Path, size: str) -> None:
    folder = program.parent
    words = ["validate", "--kernel", "sum_of_squares", "program.hip", "program.hip"]
    ended = run(
        folder, folder / "full", size, *words, TMPDIR=folder / "full", XDG_CACHE_HOME=folder / "cache"
    )
    assert (ended.code, ended.stdout) == (2, "")
    assert "can be replayed: not recorded: it may take 24000144 bytes on disk" in ended.stderr
