"""CI's list of allowed skips: a test that skips for another reason fails the run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """import pytest
def test_passes(): pass
@pytest.mark.parametrize("word", ["listed", "other"])
def test_skips(word): pytest.skip(f"no {word} thing")
"""


@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "1", "--dist", "loadfile")])
def test_a_skip_that_is_not_listed_fails_the_run_and_is_named(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    listed = tmp_path / "skips.txt"

    def run(*lines: str) -> subprocess.CompletedProcess[str]:
        listed.write_text("# reasons\n\n" + "".join(f"{line}\n" for line in lines))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--allowed-skips",
            str(listed),
            *processes,
            "test_some.py",
        ]
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the plug-ins take longer than the tests
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    failed = run("test_some.py: no listed thing")
    assert failed.returncode == 1
    assert "not listed in skips.txt (1 times): test_some.py: no other thing" in failed.stdout
    assert "no listed thing" not in failed.stdout
    assert run("test_some.py: no .* thing").returncode == 0


def test_every_line_of_the_list_names_a_test_that_exists() -> None:
    lines = (ROOT / ".ci" / "skips.txt").read_text(encoding="utf-8").splitlines()
    named = [line.partition(":")[0] for line in lines if line[:1] not in ("", "#")]
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
