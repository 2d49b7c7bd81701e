"""Puts a new text in the place of a file's old one, without losing what somebody saves meanwhile.

Takes the text that the file must have, gives True when the new one is there. A file and its replacement change places
in one step (renameat2, RENAME_EXCHANGE); what came out is looked at then, and put back if it is another text.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import time
from pathlib import Path

_EXCHANGE = 2  # linux/fs.h: RENAME_EXCHANGE
_HERE = -100  # fcntl.h: AT_FDCWD
_PATIENCE, _PAUSE_S = 40, 0.005  # a save takes milliseconds; a program may keep a file open for ever
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


def replace_text(path: Path, expected: bytes, text: bytes, part: Path) -> bool:
    """Give `path` another text if it still has the expected one; False, and what was saved stays, if not.

    `part` is a name on the same file system for the new file; it does not outlive the call. Mode and owner stay. A file
    with several names is written in place, so that it stays one file. Raises OSError.
    """
    status = path.stat()
    if status.st_nlink > 1:
        return _write_in_place(path, expected, text)
    try:
        with part.open("xb") as stream:
            stream.write(text)
            stream.flush()
            if (os.geteuid(), os.getegid()) != (status.st_uid, status.st_gid):
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
            os.fchmod(stream.fileno(), status.st_mode & 0o7777)
            os.fsync(stream.fileno())
        return _exchange_text(path, expected, text, part)
    finally:
        part.unlink(missing_ok=True)


def _exchange_text(path: Path, expected: bytes, text: bytes, part: Path) -> bool:
    if not _exchanged(part, path):
        # The file system cannot exchange files: looked at as late as can be.
        if path.read_bytes() != expected:
            return False
        part.replace(path)
        return True
    placed, out = text, _settled_text(part)
    if out == expected:
        return True
    while True:  # it was saved: what came out goes back, and what was saved over ours meanwhile stays
        _exchanged(part, path)
        came = part.read_bytes()
        if came == placed:
            return False
        placed, out = out, came


def _settled_text(path: Path) -> bytes:
    """What a file holds once nobody has it open to write any more, as a lease tells; after a while, what it holds."""
    with path.open("rb") as stream:
        for _ in range(_PATIENCE):
            if _leased(stream.fileno()):
                break
            time.sleep(_PAUSE_S)
    return path.read_bytes()


def _exchanged(one: Path, other: Path) -> bool:
    """Let two files change places; False where the system cannot. Raises OSError."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    if (code := ctypes.get_errno()) in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _write_in_place(path: Path, expected: bytes, text: bytes) -> bool:
    """While a lease is held nobody else opens the file; without one it is looked at right before."""
    with path.open("r+b", buffering=0) as stream:
        leased = _leased(stream.fileno())
        try:
            if stream.read() != expected:
                return False
            stream.seek(0)
            stream.write(text)
            stream.truncate(len(text))
            os.fsync(stream.fileno())
            return True
        finally:
            if leased:
                fcntl.fcntl(stream.fileno(), fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _leased(descriptor: int) -> bool:
    """Take the lease that nobody else can have the file open under; it ends with the descriptor."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        return False
    return True
