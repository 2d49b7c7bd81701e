"""Formats of profiles that are not read: how each is known, and what to do with it.

Takes the name and the beginning of a file, gives its format and a line for the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_ROCPD = "not read: ask rocprofv3 for --output-format csv, json or rocpd"
_BY_SUFFIX: Mapping[str, tuple[str, str]] = {
    ".att": ("raw thread trace", "rocprofv3 decodes it into a folder ui_output_*: that one is read"),
    ".pftrace": ("pftrace trace", _ROCPD),
    ".otf2": ("otf2 trace", _ROCPD),
    ".proto": (
        "perfetto trace",
        "not read: rocprof-sys writes a database with ROCPROFSYS_USE_ROCPD=ON, rocprofv3 with --output-format rocpd",
    ),
    ".perfetto-trace": ("perfetto trace", _ROCPD),
    ".nsys-rep": ("Nsight Systems report", "not read: nsys export --type sqlite writes a database that is"),
    ".qdrep": ("Nsight Systems report", "not read: nsys export --type sqlite writes a database that is"),
    ".nvvp": ("report of nvprof", "not read: Nsight Systems records what is"),
    ".nvprof": ("report of nvprof", "not read: Nsight Systems records what is"),
    ".pb": (
        "protocol buffer",
        "not read: of a profile of JAX or TensorFlow, the file *.trace.json.gz beside it is",
    ),
}
_NSYS = b"NVIDIA Tegra Profiler Report"
_BY_TEXT: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"REAL-CLOCK TIMER|\"timemory\"|wall-clock timer", re.IGNORECASE),
        "times of functions of Omnitrace or rocprof-sys",
        "they are of the host: its kernels are read from the database that ROCPROFSYS_USE_ROCPD=ON writes",
    ),
    (
        re.compile(
            rb"^==\d+== (NVPROF|Profiling)|^={8} CPU profiling result|"
            rb'^"?(Type"?,"?)?Time\(%\)"?,"?Time"?,"?Calls"?,"?Avg"?,"?Min"?,"?Max"?,"?Name"?\s*$',
            re.MULTILINE,
        ),
        "output of nvprof",
        "Nsight Systems records what is read",
    ),
    (
        re.compile(rb"^ROCTracer \(pid=|^-{3,} \[\d+\] -{3,}$", re.MULTILINE),
        "text of a sample of roctracer or rocprofiler",
        "not read: rocprofv3 --kernel-trace --output-format csv writes what is",
    ),
    (
        re.compile(rb"^\s*Event\(|^==PROF== ", re.MULTILINE),
        "text of Nsight Compute",
        "not read: print it with ncu --csv, or --page raw --csv",
    ),
)


def unread_format(path: Path, head: bytes) -> tuple[str, str] | None:
    """The format and what to do, by the first bytes or the ending of the name; None for another file."""
    return _BY_SUFFIX[".nsys-rep"] if head.startswith(_NSYS) else _BY_SUFFIX.get(path.suffix.lower())


def unread_text(head: bytes) -> tuple[str, str] | None:
    """The format of text that no reader knows, and what to do; None for any other text."""
    return next(((name, what) for pattern, name, what in _BY_TEXT if pattern.search(head[:8192])), None)
