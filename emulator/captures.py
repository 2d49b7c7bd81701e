"""The file `checksums` of a captured dispatch: which format it is in, and what each of its files must hold.

Takes the directory of a dispatch. The runtime writes the file in the same way (native/capture/checksum.cpp).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FORMAT = "hipscope-dispatch"
VERSION = 2
FILE = "checksums"


class CaptureDamaged(Exception):
    """A directory is no captured dispatch, one of another version, or not what was recorded."""


@dataclass(frozen=True)
class FileCheck:
    """CRC-32 (RFC 1952) and size in bytes of one file."""

    crc: int
    size: int


def read_checksums(directory: Path) -> Mapping[str, FileCheck]:
    """What each file must hold, by name. Raises CaptureDamaged."""
    path = directory / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureDamaged(f"{directory}: not a captured dispatch: it has no file `{FILE}`") from error
    words = data.split(b"\n", 1)[0].split()
    if len(words) != 2 or words[0] != FORMAT.encode() or not words[1].isdigit():
        raise CaptureDamaged(f"{path}: not from hipscope")
    if int(words[1]) != VERSION:
        raise CaptureDamaged(
            f"{directory}: captured in version {int(words[1])} of the format; this hipscope reads version {VERSION}"
        )
    end = data.rfind(b"end ")
    if end < 0 or data[end:] != b"end %08x\n" % zlib.crc32(data[:end]):
        raise CaptureDamaged(f"{path}: damaged")
    found = {}
    for line in data[:end].decode().splitlines()[1:]:
        crc, size, name = line.split(" ", 2)
        found[name] = FileCheck(int(crc, 16), int(size))
    return found


def read_checked(path: Path, checks: Mapping[str, FileCheck]) -> bytes:
    """The contents of a file of the capture. Raises CaptureDamaged when it is not what was recorded."""
    check = checks.get(path.name)
    if check is None:
        raise CaptureDamaged(f"{path}: not part of the capture")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureDamaged(f"{path}: {error.strerror}") from error
    if len(data) != check.size:
        raise CaptureDamaged(f"{path}: {len(data)} bytes instead of {check.size}")
    if zlib.crc32(data) != check.crc:
        raise CaptureDamaged(f"{path}: damaged")
    return data


def seal(directory: Path) -> None:
    """Write `checksums` for what now lies in the directory: for a dispatch that was derived from another one."""
    text = f"{FORMAT} {VERSION}\n"
    for path in sorted(directory.iterdir()):
        if path.name != FILE and path.is_file():
            data = path.read_bytes()
            text += f"{zlib.crc32(data):08x} {len(data)} {path.name}\n"
    (directory / FILE).write_text(f"{text}end {zlib.crc32(text.encode()):08x}\n")
