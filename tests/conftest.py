"""Files with slow tests come last: those with many behind those with a few, the emulator's at the end.

With --allowed-skips a test skips only for a reason of that list. With --slow-within slow tests that would begin late
are skipped and counted, so that a machine that is slower than expected ends in time. Tests that are marked `exhaustive`
run with --exhaustive only. Tests keep their state in a folder of their own.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

# What is compiled once is kept, for all processes that the tests start: some images set the variable for all of Python.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_STARTED = time.monotonic()
_OVER = "the time for slow tests is over"
_STATE = tempfile.TemporaryDirectory(prefix="hipscope-test-state-")
os.environ.setdefault("XDG_STATE_HOME", _STATE.name)  # nothing of a test stays with the user


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--allowed-skips",
        type=Path,
        help="a file of lines `PATH: REASON`, patterns of skips that are no failure",
    )
    parser.addoption(
        "--slow-within",
        type=float,
        metavar="SECONDS",
        help="skip slow tests that begin later than this after the start",
    )
    parser.addoption(
        "--exhaustive", action="store_true", help="run the tests that are marked `exhaustive`, too"
    )


def pytest_configure(config: pytest.Config) -> None:
    listed = config.getoption("--allowed-skips")
    if listed is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Skips(listed))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is `exhaustive`; files without slow tests first."""
    if not config.getoption("--exhaustive"):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))

    def late(item: pytest.Item) -> tuple[bool, int]:
        return slow[item.path] > 0 and "emulator" in item.path.parts, slow[item.path]

    items.sort(key=late)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a slow test, before its fixtures are made, when its time is over."""
    within = item.config.getoption("--slow-within")
    if within is not None and item.get_closest_marker("slow") and time.monotonic() - _STARTED > within:
        pytest.skip(_OVER)


class _Skips:
    """Fails the run when a test skipped that the list does not have."""

    def __init__(self, listed: Path) -> None:
        self._name = listed.name
        lines = [
            line for line in listed.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")
        ]
        self._allowed = [re.compile(line) for line in lines]
        self._unlisted: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple | list) else str(report.longrepr)
        if _OVER in str(reason):
            return
        line = f"{report.nodeid.partition('::')[0]}: {str(reason).removeprefix('Skipped: ')}"
        if not any(pattern.match(line) for pattern in self._allowed):
            self._unlisted.append(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unlisted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line, count in Counter(self._unlisted).items():
            terminalreporter.write_line(
                f"ERROR skipped, and not listed in {self._name} ({count} times): {line}"
            )
