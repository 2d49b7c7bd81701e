"""Ends the server when its editor is gone, whatever the server computes at that moment.

A thread waits for the end of the editor's process and of standard input. The session is asked to end; what has not
ended a moment later is ended with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

GRACE_SECONDS = 1.4
"""How long the session may take to stop its jobs; an editor gives the server 2 s in all."""


def watch_editor(process_id: int | None, *, stdin: bool, stop: Callable[[], None]) -> None:
    """Call `stop` when that process has ended, and end this one soon after it or the end of standard input.

    `process_id` is ignored when there is no such process here, as in another container. At the end of standard input
    the session stops by itself.
    """
    poll, editor = select.poll(), -1
    if process_id is not None:
        with contextlib.suppress(OSError):
            editor = os.pidfd_open(
                process_id
            )  # readable when the process has ended, also before it is reaped
            poll.register(editor, select.POLLIN)
    if stdin:
        poll.register(0, 0)  # of a closed pipe or socket poll tells in any case

    def wait() -> None:
        ended = [fd for fd, _ in poll.poll()]
        if editor in ended:
            stop()
        time.sleep(GRACE_SECONDS)
        end_children()
        os._exit(1)

    if stdin or editor >= 0:
        threading.Thread(target=wait, name="editor watch", daemon=True).start()


def end_children() -> None:
    """End the processes that this one has started, with their groups; each worker leads one."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                if os.getpgid(child) == child:
                    os.killpg(child, signal.SIGKILL)
                else:
                    os.kill(child, signal.SIGKILL)
