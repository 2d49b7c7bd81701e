"""Writes a dispatch that was derived from a captured one: other memory, other arguments, another shape, another place.

Takes the dispatch as it shall be and the contents that are new, gives the one in its own folder. Memory that stays the
same is shared with the captured dispatch, not copied.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.emulator.captures import PACKED, FileCheck, read_checksums, seal, share

_META = "meta.json"

Part = bytes | memoryview
Contents = Part | tuple[Part, ...]
"""What a file holds, in parts that follow each other."""


def write_dispatch(
    derived: CapturedDispatch,
    folder: Path,
    kernarg: bytes,
    contents: Mapping[str, Contents],
    meta: Mapping[str, object] | None = None,
) -> CapturedDispatch:
    """Write `derived`, whose `directory` is still the captured one's, with its own code object and these arguments.

    `contents` holds what its memory is before the launch where that is new, by file name (`buffer_0.before`,
    `global_0.before`). Buffers that the captured dispatch has are known by their index; others are added. `meta` has
    what else the description shall say.
    """
    folder.mkdir(parents=True, exist_ok=True)
    captured = derived.directory
    wanted = {b.before_file.name for b in derived.buffers} | {v.before_file.name for v in derived.variables}
    shared = {
        name: check
        for name, check in read_checksums(captured).items()
        if (plain := name.removesuffix(PACKED)) in wanted and plain not in contents
    }
    for name in shared:
        share(captured / name, folder / name)
    written = {name: _write(folder / name, data) for name, data in contents.items()}
    (folder / "kernarg.bin").write_bytes(kernarg)
    if not (folder / "code_object.co").exists():
        share(derived.code_object, folder / "code_object.co")
    (folder / _META).write_text(json.dumps(_described(derived) | dict(meta or {})), encoding="utf-8")
    seal(folder, shared | written)
    return replace(
        derived,
        directory=folder,
        buffers=tuple(replace(b, before_file=folder / b.before_file.name) for b in derived.buffers),
        variables=tuple(replace(v, before_file=folder / v.before_file.name) for v in derived.variables),
    )


def _write(path: Path, data: Contents) -> FileCheck:
    """Write the file; its checksum is taken of what was meant, not of what is read back."""
    crc, size = 0, 0
    with path.open("wb") as file:
        for part in data if isinstance(data, tuple) else (data,):
            file.write(part)
            crc, size = zlib.crc32(part, crc), size + len(part)
    return FileCheck(crc, size)


def _described(derived: CapturedDispatch) -> dict[str, object]:
    """The captured description with what is other in the derived dispatch."""
    meta: dict[str, object] = json.loads((derived.directory / _META).read_text(encoding="utf-8"))
    listed = meta["buffers"]
    assert isinstance(listed, list)
    known = {entry["index"]: entry for entry in listed}
    meta["buffers"] = [
        known.get(b.index, {"index": b.index, "before": b.before_file.name})
        | {"address": b.address, "bytes": b.size}
        for b in derived.buffers
    ]
    return meta | {
        "kernel": derived.kernel,
        "grid": list(derived.grid),
        "workgroup": list(derived.workgroup),
        "dynamic_lds": derived.dynamic_lds,
    }
