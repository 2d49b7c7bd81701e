"""What rocprofv3 says when something is not allowed or not there, as one line with the fix.

Takes the text of a failed or empty step, gives the line; and tells the tool's own lines from the program's output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class _Failure:
    """`patterns` are written from memory of what rocprofv3 and the HSA runtime say; no source was read for them.

    A text that none of them fits is shown as the tool wrote it.
    """

    said: str
    fix: str
    patterns: tuple[str, ...]


# The first that fits.
_KNOWN = (
    _Failure(
        "this user may not open /dev/kfd",
        "sudo usermod -aG render,video $USER, then log in again",
        (r"/dev/kfd.*(permission|not permitted)", r"unable to open /dev/kfd"),
    ),
    _Failure(
        "this user may not read hardware counters",
        "sudo sysctl kernel.perf_event_paranoid=2, or give the container CAP_PERFMON",
        (
            r"perf_event_paranoid",
            r"CAP_PERFMON",
            r"not (allowed|permitted) to (collect|profile|use).*counter",
            r"profiling is not permitted",
            r"could not be locked for profiling due to lack of permissions",
        ),
    ),
    _Failure(
        "the decoder of thread traces is not installed",
        "install rocprof-trace-decoder and set ROCPROF_ATT_LIBRARY_PATH to its folder",
        (r"decoder library not found", r"trace.?decoder.*not (found|available)"),
    ),
    _Failure(
        "this GPU or its driver does not sample program counters",
        "it takes an MI200 or later and a driver of ROCm 6.4",
        (r"pc.?sampling.*(not supported|unsupported|not available|not implemented)",),
    ),
    _Failure(
        "this version of ROCm has no counters for this GPU",
        "use a newer rocprofiler-sdk, or --backend emulator",
        (r"architecture is not supported, no counter metrics",),
    ),
    _Failure(
        "the driver of this GPU is older than this rocprofv3 needs",
        "update amdgpu, or use the ROCm that belongs to it",
        (r"depends on a newer version of KFD",),
    ),
    _Failure(
        "another program profiles this GPU",
        "wait for it to end, or choose another GPU with HIP_VISIBLE_DEVICES",
        (r"HSA_STATUS_ERROR_RESOURCE_BUSY", r"another (process|context).*(profil|counter)"),
    ),
    _Failure(
        "these counters do not fit one pass on this GPU",
        "they are left out; the others are there",
        (
            r"exceeds? (the )?(hardware|HW) (limit|counters)",
            r"exceeds the capabilities of the hardware",
            r"cannot (be )?collect(ed)? (together|in (a )?single pass)",
        ),
    ),
    _Failure(
        "a counter is not known on this GPU",
        "it is left out; the others are there",
        (
            r"(unable to find|could not find|invalid|unknown|no such).{0,40}counter",
            r"counter.{0,60}(not (found|available|valid|supported)|unavailable)",
            r"metric is not valid for the agent",
        ),
    ),
    _Failure(
        "no GPU is visible to the program",
        "look at HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES",
        (r"no (HIP |HSA )?(gpus?|devices?|agents?) (found|available|detected)",),
    ),
)
# How rocprofv3 and the libraries that it loads begin their lines: `[rocprofv3] ...`, and glog's `W20260101 ...`.
_TOOL_LINE = re.compile(
    r"^(\[rocprofv3\]|\[rocprofiler|rocprofv3[: ]|[WEIF]\d{4,8} \d\d:\d\d:\d\d\.\d+ |Opened result file: |\[ROCTX|"
    r"(INFO|WARNING|ERROR): \[?rocprof)"
)


def known_failure(text: str) -> str | None:
    """The failure in words with the fix in brackets; None when the text has none that is known."""
    for failure in _KNOWN:
        if any(re.search(pattern, text, re.IGNORECASE) for pattern in failure.patterns):
            return f"{failure.said} ({failure.fix})"
    return None


def first_error(text: str) -> str | None:
    """The tool's own words of what went wrong; None when it has none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if "error" in line.lower() or "fatal" in line.lower()), None
    )


def without_tool_lines(text: str) -> str:
    """The output of the program, without what rocprofv3 printed beside it."""
    return "".join(line for line in text.splitlines(keepends=True) if not _TOOL_LINE.match(line))
