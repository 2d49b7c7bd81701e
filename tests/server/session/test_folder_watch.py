"""Files that are not there yet: one that comes together with its folder is told, as editors miss it."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from pathlib import Path

from hipscope.server.session.folder_watch import FolderWatch


async def test_a_file_that_comes_with_its_folder_is_told(tmp_path: Path) -> None:
    told: asyncio.Queue[Set[str]] = asyncio.Queue()
    file = tmp_path / "data" / "deep" / "input.bin"
    watch = FolderWatch(told.put_nowait)
    watch.watch([str(file)])
    try:
        file.parent.mkdir(parents=True)
        file.write_text("1")
        found: set[str] = set()
        while str(file) not in found:
            found |= await asyncio.wait_for(told.get(), 10)
    finally:
        watch.close()
