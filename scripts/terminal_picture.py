"""Makes a picture of what a command prints: python scripts/terminal_picture.py [--lines N] OUT.svg COMMAND...

Takes a command line, runs it in a terminal of its own, writes an SVG. The pictures of docs/ are made by it:

    scripts/terminal_picture.py --lines 26 docs/images/capture.svg hipscope show tests/data/captures/pc_sampling_code
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

WIDTH = 110
# The fonts of rich's own format come from a server.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    """Write the picture; exit as the command does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    printed, code = run(options.command)
    lines = printed.replace("\r\n", "\n").rstrip().split("\n")
    left_out = len(lines) > options.lines
    shown = [f"$ {shlex.join(options.command)}", *lines[: options.lines], *(["..."] if left_out else [])]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi("\n".join(shown)))
        options.out.write_text(console.export_svg(title="hipscope", code_format=FORMAT, unique_id="hipscope"))
    sys.exit(code)


def run(command: list[str]) -> tuple[str, int]:
    """What a command writes to a terminal of that width, and its exit code."""
    ours, theirs = pty.openpty()
    wide = {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, env=os.environ | wide
    ) as child:
        os.close(theirs)
        heard = []
        with suppress(OSError):  # the terminal is closed by its last writer
            while data := os.read(ours, 1 << 16):
                heard.append(data)
        os.close(ours)
        return b"".join(heard).decode("utf-8", "replace"), child.wait()


if __name__ == "__main__":
    main()
