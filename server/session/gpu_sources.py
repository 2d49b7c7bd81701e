"""Whether a source is GPU code, by its own text or that of the headers beside it; only then a save starts anything.

A glance, not a compile: it runs on each save of any C++ file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_GPU_CODE = re.compile(
    r"__global__|<<<|#\s*include\s*[<\"](?:hip/|cuda_runtime)|\bhip(?:Launch|Malloc|Memcpy|Module)\w*\s*\("
)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MOST_FILES = 64


def is_gpu_source(file: Path, text: str, read: Callable[[str], str | None]) -> bool:
    """Whether the text, or a header that it includes from beside it, is GPU code. `read` gives a file's text."""
    waiting, seen = [(file, text)], {file}
    while waiting:
        path, content = waiting.pop(0)
        if _GPU_CODE.search(content):
            return True
        for name in _INCLUDED.findall(content):
            header = path.parent / name
            if header in seen or len(seen) >= _MOST_FILES:
                continue
            seen.add(header)
            if (found := read(str(header))) is not None:
                waiting.append((header, found))
    return False
