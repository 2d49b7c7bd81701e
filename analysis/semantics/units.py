"""Translation units: one per file, flags and architecture, kept and read again with the texts as they are now.

Takes a compile command and the run's texts, gives the program's cursors and the compiler's errors. The first reading
costs about half as much again as a compile's front end, the next ones a tenth: the headers that the file begins with
are kept precompiled, in memory.
"""

from __future__ import annotations

import ctypes
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.semantics.bindings import (
    Bindings,
    CIndexOptions,
    CLocation,
    CUnsavedFile,
    InclusionVisitor,
    load,
)
from hipscope.analysis.semantics.cursors import Cursor, Kind, offset_of
from hipscope.analysis.semantics.records import Diagnostic, Library, Place, SourceCommand

_PREAMBLE, _AT_FIRST, _KEEP_GOING, _MACROS = 0x4, 0x100, 0x200, 0x1
_IN_MEMORY = 1 << 2
_ERROR = 3  # CXDiagnostic_Error
# The headers of C++20 (`<memory>`) make libclang crash where it keeps them precompiled, and its recovery leaves the
# heap broken: such files are read as a whole each time.
_LATER = re.compile(r"--?std=(?:c|gnu)\+\+2[0-9a-c]")
_WITH_PLACES_IN_MACROS = 19  # the first library whose spelling location is not the file location


class NotReadable(HipscopeError):
    """libclang gives no tree of a file: its flags are not understood, or it ended on the text."""

    exit_code = 1


class Unit:
    """One translation unit. Not to be used by two threads at a time; its cursors die with the next `read`."""

    def __init__(self, library: Library, command: SourceCommand) -> None:
        self.command = command
        self.bindings: Bindings = load(library.path)
        self._arguments = _arguments(command, library)
        self._roots = tuple(os.path.realpath(root) + os.sep for root in command.roots)
        self._names: dict[str, Path | None] = {}
        self._files: dict[int, str] = {}
        self._handles: list[int] = []
        options = CIndexOptions(size=ctypes.sizeof(CIndexOptions), flags=_IN_MEMORY)
        self._index = self.bindings.createIndexWithOptions(ctypes.byref(options))
        self._close = weakref.finalize(self, _dispose, self.bindings, self._index, self._handles)

    def read(self, texts: Mapping[Path, bytes]) -> None:
        """Parse the file with these texts in place of files. Raises NotReadable where the library cannot."""
        named = [(name, data) for path, data in texts.items() for name in self.command.names_of(path)]
        files = (CUnsavedFile * len(named))()
        for slot, (path, data) in zip(files, named, strict=True):
            slot.name, slot.contents, slot.length = os.fsencode(path), data, len(data)
        self._files.clear()
        if self._handle is not None:
            if self.bindings.reparseTranslationUnit(self._handle, len(files), files, 0) == 0:
                return
            self._drop()  # a unit that could not be read again may only be disposed of
        encoded = [os.fsencode(argument) for argument in self._arguments]
        arguments = (ctypes.c_char_p * len(encoded))(*encoded)
        options = _KEEP_GOING | (0 if self.tells_macros else _MACROS)
        if not _later_standard(self.command.flags):
            options |= _PREAMBLE | _AT_FIRST
        handle = ctypes.c_void_p()
        failed = self.bindings.parseTranslationUnit2(
            self._index, os.fsencode(self.command.file), arguments, len(encoded), files, len(files), options,
            ctypes.byref(handle),
        )  # fmt: skip
        if failed or handle.value is None:
            raise NotReadable(
                f"{self.command.file}: libclang cannot read it with the flags of its build (error {failed})",
                "see whether the program compiles",
            )
        self._handles.append(handle.value)

    @property
    def tells_macros(self) -> bool:
        """Whether the library says of a place that it is inside a macro's definition."""
        return self.bindings.major >= _WITH_PLACES_IN_MACROS

    @property
    def top(self) -> Cursor:
        """The whole unit."""
        return Cursor(self, self.bindings.getTranslationUnitCursor(self._handle))

    def file_name(self, handle: int | None) -> str:
        """The name of a file of the unit, as the compiler has it; "" for none."""
        if handle is None:
            return ""
        if handle not in self._files:
            self._files[handle] = self.bindings.string(self.bindings.getFileName(handle))
        return self._files[handle]

    def path(self, name: str) -> Path | None:
        """A file of the program by the compiler's name for it; None for a library's.

        What was given with `-isystem` may be the program's own, so the place decides, not the way to it.
        """
        if name not in self._names:
            absolute = os.path.normpath(os.path.join(self.command.directory, name)) if name else ""
            ours = os.path.realpath(absolute).startswith(self._roots) if name else False
            self._names[name] = self.command.of_the_user(Path(absolute)) if ours else None
        return self._names[name]

    def errors(self) -> tuple[Diagnostic, ...]:
        """What the compiler complains about; warnings left out."""
        found = []
        for i in range(self.bindings.getNumDiagnostics(self._handle)):
            handle = self.bindings.getDiagnostic(self._handle, i)
            try:
                if self.bindings.getDiagnosticSeverity(handle) >= _ERROR:
                    found.append(self._diagnostic(handle))
            finally:
                self.bindings.disposeDiagnostic(handle)
        return tuple(found)

    def includes(self) -> tuple[Path, ...]:
        """The files that were included, by absolute path."""
        found: list[int] = []

        def visit(file: int, _stack: object, _depth: int, _data: object) -> None:
            found.append(file)

        self.bindings.getInclusions(self._handle, InclusionVisitor(visit), None)
        names = [os.path.join(self.command.directory, self.file_name(file)) for file in found]
        paths = (Path(os.path.normpath(name)) for name in names)
        return tuple(dict.fromkeys(map(self.command.of_the_user, paths)))

    def macro_uses(self) -> tuple[tuple[Path, int], ...]:
        """Where the program uses macros; only for a library that does not say so of each place."""
        if self.tells_macros:
            return ()
        return tuple(
            (path, cursor.start.offset)
            for cursor in self.top.children
            if cursor.kind == Kind.MACRO_USE and (path := self.path(cursor.file)) is not None
        )

    def _diagnostic(self, handle: int) -> Diagnostic:
        location: CLocation = self.bindings.getDiagnosticLocation(handle)
        at = offset_of(self, self.bindings.getFileLocation, location)
        message = self.bindings.string(self.bindings.getDiagnosticSpelling(handle))
        file = self.command.of_the_user(Path(os.path.normpath(os.path.join(self.command.directory, at.file))))
        return Diagnostic(message, Place(file, (at.offset, at.offset)) if at.file else None, at.line)

    @property
    def _handle(self) -> int | None:
        return self._handles[0] if self._handles else None

    def _drop(self) -> None:
        self.bindings.disposeTranslationUnit(self._handles.pop())


def _later_standard(flags: Sequence[str]) -> bool:
    """Whether the file is compiled as C++20 or later: the last of the flags counts."""
    standards = [flag for flag in flags if flag.startswith(("-std=", "--std="))]
    return bool(standards) and _LATER.match(standards[-1]) is not None


def _arguments(command: SourceCommand, library: Library) -> Sequence[str]:
    headers = str(library.resource_directory)
    return (
        "-x", "hip", *command.flags, "--cuda-device-only", "-nogpulib", "-resource-dir", headers,
        "-ferror-limit=0", "-working-directory", str(command.directory), "-Wno-unused-command-line-argument",
    )  # fmt: skip


def _dispose(bindings: Bindings, index: int, handles: list[int]) -> None:
    for handle in handles:
        bindings.disposeTranslationUnit(handle)
    bindings.disposeIndex(index)
