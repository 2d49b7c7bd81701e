"""The real worker on a machine that lacks something, as HIPSCOPE_WORKER: a compiler, or room on the disk.

`// lacks a compiler` in the source: none is found until the file `installed` lies beside it. `// lacks room`: nothing
more can be kept once the cache holds something.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.toolchain import discovery
from hipscope.server.jobs import worker


def main() -> None:
    """Look at the request, take away what its source lacks, and answer it."""
    if worker.READY in sys.argv[1:]:
        worker.main()
    line = sys.stdin.buffer.readline()
    request = json.loads(line)
    file = Path(request["file"] or request["target"])
    text = file.read_text() if file.is_file() else ""
    if "// lacks a compiler" in text and not file.with_name("installed").exists():
        replace(discovery, "rocm_roots", _no_roots)
        replace(discovery, "system_clangs", _no_clangs)
    if "// lacks room" in text and any((cache_directory() / "build").glob("*")):
        replace(worker, "perform", _full)
    given, end = os.pipe()
    os.write(end, line)
    os.close(end)
    os.dup2(given, sys.stdin.fileno())
    worker.main()


def replace(module: ModuleType, name: str, function: Callable[..., object]) -> None:
    """Put a function in the place of a module's own."""
    setattr(module, name, function)


def _no_roots(_env: Mapping[str, str]) -> Iterator[Path]:
    return iter(())


def _no_clangs(_env: Mapping[str, str] = os.environ) -> list[tuple[int, Path]]:
    return []


def _full(*_: object) -> object:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(cache_directory() / "build" / "new"))


main()
