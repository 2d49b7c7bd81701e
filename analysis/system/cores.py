"""The cores that a process may keep busy: fewer than the machine has in a container, a job of a cluster or a sweep."""

from __future__ import annotations

import os

THREADS = "HIPSCOPE_THREADS"  # what the emulator reads, too


def usable_cores() -> int:
    """How many threads have work of their own at a time: what `HIPSCOPE_THREADS` says, else the cores that this process
    may run on.
    """
    asked = os.environ.get(THREADS, "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
