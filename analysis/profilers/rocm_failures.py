"""What rocprofv3 says when something is not allowed or not there, as one line with the fix.

Takes the text of a failed or empty step, gives the line; and tells the tool's own lines from the program's output.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("rocm_failures.toml")
# How rocprofv3 and the libraries that it loads begin their lines: `[rocprofv3] ...`, and glog's `W20260101 ...`.
_TOOL_LINE = re.compile(
    r"^(\[rocprofv3\]|\[rocprofiler|rocprofv3[: ]|[WEIF]\d{4,8} \d\d:\d\d:\d\d\.\d+ |Opened result file: |\[ROCTX|"
    r"(INFO|WARNING|ERROR): \[?rocprof)"
)


def known_failure(text: str) -> str | None:
    """The failure in words with the fix in brackets; None when the text has none that is known."""
    for failure in _failures():
        if any(re.search(pattern, text, re.IGNORECASE) for pattern in failure["patterns"]):
            return f"{failure['said']} ({failure['fix']})"
    return None


@functools.cache
def _failures() -> tuple[Mapping[str, Any], ...]:
    return tuple(tomllib.loads(_TABLE.read_text(encoding="utf-8"))["failure"])


def first_error(text: str) -> str | None:
    """The tool's own words of what went wrong; None when it has none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if "error" in line.lower() or "fatal" in line.lower()), None
    )


def without_tool_lines(text: str) -> str:
    """The output of the program, without what rocprofv3 printed beside it."""
    return "".join(line for line in text.splitlines(keepends=True) if not _TOOL_LINE.match(line))
