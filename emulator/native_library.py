"""Loads `libhipscope-native.so` of the native parts into this process.

Takes nothing; gives its calls (native/library/calls.cpp). While one runs, other threads of the interpreter do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hipscope.emulator.runner import NativePartsMissing, native_library_dir

_LIBRARY = "libhipscope-native.so"
_LOOK_EVERY_MS = 50  # between two looks at Python's signals
# A bytes object that nobody has seen yet may be filled: captures are large, and a copy takes as much memory again.
_NEW_BYTES = ctypes.pythonapi.PyBytes_FromStringAndSize
_NEW_BYTES.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t]
_NEW_BYTES.restype = ctypes.py_object


class NativeLibrary:
    """The library's calls. Each raises RuntimeError with one line when it fails."""

    def __init__(self, path: Path) -> None:
        """Raises NativePartsMissing."""
        try:
            library = ctypes.CDLL(str(path))
            self._error = library.hipscope_native_error
            self._unpacked_bytes = library.hipscope_unpacked_bytes
            self._unpack = library.hipscope_unpack
            self._start = library.hipscope_replay_start
            self._wait = library.hipscope_replay_wait
            self._close = library.hipscope_replay_close
        except (OSError, AttributeError) as error:
            raise NativePartsMissing(f"{path}: cannot be loaded: {error}; run `make setup`") from error
        self._error.restype = ctypes.c_char_p
        self._unpacked_bytes.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self._unpacked_bytes.restype = ctypes.c_int64
        self._unpack.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p]
        self._start.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int]
        self._start.restype = ctypes.c_void_p
        self._wait.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._close.argtypes = [ctypes.c_void_p]
        self._close.restype = None

    def unpacked_bytes(self, packed: bytes) -> int:
        """How many bytes the zstd frames of a capture hold."""
        size: int = self._unpacked_bytes(packed, len(packed))
        if size < 0:
            raise self._failure()
        return size

    def unpack(self, packed: bytes) -> bytes:
        """What the zstd frames of a capture hold."""
        content: bytes = _NEW_BYTES(None, self.unpacked_bytes(packed))
        if content and self._unpack(packed, len(packed), content) < 0:
            raise self._failure()
        return content

    def replay(self, words: Sequence[str]) -> None:
        """Make one replay with these options of hipscope-replay, in a child of this process.

        `result.json` is in the folder that they name. A signal whose Python handler raises ends the child.
        """
        encoded = (ctypes.c_char_p * len(words))(*(word.encode("utf-8", "surrogateescape") for word in words))
        replay = self._start(encoded, len(words))
        if replay is None:
            raise self._failure()
        try:
            while (ended := self._wait(replay, _LOOK_EVERY_MS)) == 0:
                pass
            if ended < 0:
                raise self._failure()
        finally:
            self._close(replay)

    def _failure(self) -> RuntimeError:
        said: bytes = self._error()
        return RuntimeError(said.decode("utf-8", "replace"))


@cache
def native_library() -> NativeLibrary:
    """The library of this process. Raises NativePartsMissing."""
    return NativeLibrary(native_library_dir() / _LIBRARY)
