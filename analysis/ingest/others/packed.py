"""Packed files (gzip): tables and JSON that tools or people have packed, and traces of PyTorch.

Takes the file, gives its content in parts, or what a reader makes of it unpacked in a folder of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.system.directories import work_directory

GZIP = b"\x1f\x8b"
_LARGEST = 4 << 30  # bytes of unpacked text
_Read = Callable[[Path], Recorded | list[Recorded]]


def unpacked_head(data: bytes, size: int) -> bytes:
    """The first bytes of packed content; empty when it is damaged."""
    try:
        return zlib.decompressobj(31).decompress(data, size)
    except zlib.error:
        return b""


def unpacked(path: Path) -> Iterator[bytes]:
    """Not through the module gzip: what is left of a cut file is lost there."""
    unpack, size = zlib.decompressobj(31), 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            while chunk:
                try:
                    part = unpack.decompress(chunk, 64 << 20)
                except zlib.error as error:
                    raise ValueError(f"it is damaged: {error}") from None
                size += len(part)
                if size > _LARGEST:
                    raise ValueError(f"unpacked it has more than {_LARGEST >> 30} GiB")
                yield part
                chunk = unpack.unconsumed_tail


def of_unpacked(read: _Read) -> _Read:
    """A reader of packed files, from that of the plain ones, which see the name without `.gz`."""

    def read_packed(path: Path) -> Recorded | list[Recorded]:
        with work_directory("packed") as folder:
            copy = folder / plain_name(path)
            with copy.open("wb") as stream:
                for part in unpacked(path):
                    stream.write(part)
            return read(copy)

    return read_packed


def plain_name(path: Path) -> str:
    """The name of what is packed."""
    return path.name.removesuffix(".gz") or "packed"
