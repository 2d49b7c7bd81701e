"""The file `checksums` of a captured dispatch: which format it is in, and what each of its files must hold.

Takes the directory of a dispatch. The runtime writes the file in the same way (native/capture/checksum.cpp). A file
whose name ends in `.zst` is packed; names without that ending stand for it, too.
"""

from __future__ import annotations

import mmap
import os
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipscope.emulator.native_library import native_library

FORMAT = "hipscope-dispatch"
VERSION = 3
PACKED = ".zst"
FILE = "checksums"


class CaptureDamaged(Exception):
    """A directory is no captured dispatch, one of another version, or not what was recorded."""


@dataclass(frozen=True)
class FileCheck:
    """CRC-32 (RFC 1952) and size in bytes of what a file holds, unpacked."""

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
    try:
        for line in data[:end].decode().splitlines()[1:]:
            crc, size, name = line.split(" ", 2)
            found[name] = FileCheck(int(crc, 16), int(size))
    except ValueError as error:
        raise CaptureDamaged(f"{path}: damaged") from error
    if any("/" in name for name in found):
        raise CaptureDamaged(f"{path}: names files of other folders")
    return found


_sound: set[tuple[int, int, int, int, int]] = (
    set()
)  # files that held what was recorded: they are large, and read often


def read_checked(path: Path, checks: Mapping[str, FileCheck]) -> bytes:
    """The contents of a file of the capture. Raises CaptureDamaged when it is not what was recorded."""
    if path.name not in checks:
        path = path.with_name(path.name + PACKED)
    check = checks.get(path.name)
    if check is None:
        raise CaptureDamaged(f"{path.with_suffix('')}: not part of the capture")
    try:
        status = path.stat()
        data = path.read_bytes()
    except OSError as error:
        raise CaptureDamaged(f"{path}: {error.strerror}") from error
    if path.suffix == PACKED:
        data = _unpacked(path, data, check.size)
    if len(data) != check.size:
        raise CaptureDamaged(f"{path}: {len(data)} bytes instead of {check.size}")
    key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, check.crc)
    if key not in _sound:
        if zlib.crc32(data) != check.crc:
            raise CaptureDamaged(f"{path}: damaged")
        _sound.add(key)
    return data


def check_plain(path: Path, checks: Mapping[str, FileCheck]) -> bool:
    """Whether the capture has this file as it is, not packed. Raises CaptureDamaged when it was changed since."""
    check = checks.get(path.name)
    if check is None or check.size == 0:
        return False
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, check.crc)
            if key in _sound:
                return True
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                sound = len(data) == check.size and zlib.crc32(data) == check.crc
    except (OSError, ValueError) as error:
        raise CaptureDamaged(f"{path}: {error}") from error
    if not sound:
        raise CaptureDamaged(f"{path}: damaged")
    _sound.add(key)
    return True


def recorded(directory: Path, name: str) -> bool:
    """Whether the capture has a file of that name, packed or not."""
    return (directory / name).exists() or (directory / (name + PACKED)).exists()


def _unpacked(path: Path, data: bytes, size: int) -> bytes:
    """The content of a packed file, which must be `size` bytes."""
    native = native_library()
    try:
        found: int = native.unpacked_bytes(data)
        if found != size:  # before any memory is taken for it
            raise CaptureDamaged(f"{path}: {found} bytes instead of {size}")
        content: bytes = native.unpack(data)
    except RuntimeError as error:
        raise CaptureDamaged(f"{path}: {error}") from error
    return content


def seal(directory: Path, known: Mapping[str, FileCheck] | None = None) -> None:
    """Write `checksums` for what now lies in the directory: for a dispatch that was derived from another one.

    `known` are files of which the checksum is known, as another dispatch has them, too.
    """
    text = f"{FORMAT} {VERSION}\n"
    for path in sorted(directory.iterdir()):
        if path.name != FILE and path.is_file():
            check = (known or {}).get(path.name) or _check(path)
            text += f"{check.crc:08x} {check.size} {path.name}\n"
    (directory / FILE).write_text(f"{text}end {zlib.crc32(text.encode()):08x}\n")


def share(source: Path, target: Path) -> None:
    """Let a file of another dispatch appear in this one, too, in place of one of that name: it is never written to."""
    target.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _check(path: Path) -> FileCheck:
    data = path.read_bytes()
    if path.suffix == PACKED:
        data = native_library().unpack(data)
    return FileCheck(zlib.crc32(data), len(data))
