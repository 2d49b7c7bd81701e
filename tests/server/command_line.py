"""Runs the command line as a user does, in a folder of its own, and sees to it that nothing is left behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.server import warm

COMMAND = [sys.executable, "-m", "hipscope.server"]


@dataclass(frozen=True)
class Outcome:
    """How one run of the command line ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def line(self) -> str:
        """The one line that says what is wrong."""
        lines = [x for x in self.stderr.splitlines() if x.startswith("hipscope: ")]
        assert len(lines) == 1, self.stderr
        return lines[0]


class Cli:
    """Runs `hipscope` in a folder of its own and sees to it that nothing is left behind."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.mark = f"HIPSCOPE_TEST_MARK={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.environment = {
            **os.environ,
            name: value,
            "TMPDIR": str(self.scratch),
            "XDG_CACHE_HOME": str(cache),
            "XDG_STATE_HOME": str(folder.with_name(f"{folder.name}-state")),
        }

    def start(self, *arguments: str, **changes: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env={**self.environment, **changes},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, **changes: str) -> Outcome:
        """As a process of its own, forked from one that has all modules, unless Python itself is to start otherwise."""
        outcome = hipscope(*arguments, folder=self.folder, variables={**self.environment, **changes})
        assert "Traceback" not in outcome.stderr
        self.assert_nothing_left()
        return outcome

    def write(self, text: str | bytes, name: str = "program.hip") -> str:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return name

    def running(self) -> list[int]:
        """The processes that were started below one of our runs and are still there."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except (OSError, ValueError):
                continue
        return found

    def assert_nothing_left(self) -> None:
        deadline = time.monotonic() + 5
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.running() == []
        assert list(self.scratch.iterdir()) == []


def hipscope(*arguments: str | Path, folder: Path, variables: Mapping[str, str], given: str = "") -> Outcome:
    """`hipscope ARGUMENTS` with these variables; `given` is its standard input."""
    words = [str(word) for word in arguments]
    with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        read.write(given.encode())
        read.seek(0)
        if any(
            variables.get(name) != os.environ.get(name) for name in variables if name.startswith("PYTHON")
        ):
            code = subprocess.run(
                [*COMMAND, *words], cwd=folder, env=variables, stdin=read, stdout=out, stderr=err, timeout=180
            ).returncode
        else:
            streams = (read.fileno(), out.fileno(), err.fileno())
            code = warm.run(words, folder, variables, streams, seconds=180)
        return Outcome(code, _text(out), _text(err))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return io.TextIOWrapper(
        io.BytesIO(stream.read()), encoding="utf-8"
    ).read()  # as a pipe: \r\n is a line's end


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of builds for all tests of a run, as a user has one: the headers are precompiled once."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return shared / "builds"


@pytest.fixture
def cli(tmp_path: Path, builds: Path) -> Cli:
    """The command line in a folder of its own."""
    return Cli(tmp_path, builds)
