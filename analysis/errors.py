"""Every failure that a user can meet, as one exception family.

A message is one clear line: what is wrong, where, what to do next. The command line prints it and leaves with
`exit_code`; the server shows it as a message or a diagnostic. Nothing here knows who prints it.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning", "note"]


class HipscopeError(Exception):
    """A failure with a line to show and, where there is one, a hint at what to do next."""

    exit_code: int = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(HipscopeError):
    """Bad input: a missing file, an unknown key, an unknown architecture."""

    exit_code = 2


class MissingTool(HipscopeError):
    """A program or library that hipscope needs is not installed; `hint` holds the command that installs it."""

    exit_code = 3


class CannotWrite(HipscopeError):
    """A result could not be written whole, as on a full disk; `reason` names the file and what the system said."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        super().__init__(
            reason, "free some space, or set XDG_CACHE_HOME and TMPDIR to directories that have some"
        )


_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_FILE = (errno.ELOOP, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR)  # what a name stands for is none


def of_the_system(error: OSError) -> HipscopeError | None:
    """The failure that an error of the system means to the user: no room to write, no more files,
    or a file that is not ours."""
    where = f" '{error.filename}'" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # the last one: `ulimit -f`
        return CannotWrite(f"cannot write{where}: {error.strerror}")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return UsageError(
            f"cannot open{where or ' another file'}: {error.strerror}", "raise the limit: `ulimit -n 1024`"
        )
    if error.errno in (*_NOT_OURS, *_NO_FILE) and where:
        return UsageError(f"cannot use{where}: {error.strerror}")
    return None


@dataclass(frozen=True)
class CompilerDiagnostic:
    """One message of the compiler, in its own words. `line` and `column` count from 1; 0 means that it gave none."""

    file: str
    line: int
    column: int
    severity: Severity
    message: str


class BuildFailed(HipscopeError):
    """The program did not compile or link. `output` is what the build printed, unchanged."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        diagnostics: Sequence[CompilerDiagnostic] = (),
        output: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.diagnostics = tuple(diagnostics)
        self.output = output


class ProgramFailed(HipscopeError):
    """The program ran and failed: it crashed, hung or left with an error. `output` is what it printed.

    `lacks_files`: files or commands are not there, and it speaks of no arguments, so other ones would not help.
    `absent`: the files that it may lack. `wants_arguments`: what it printed asks for some.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        output: str = "",
        exit_code_of_program: int | None = None,
        lacks_files: bool = False,
        absent: Sequence[Path] = (),
        wants_arguments: bool = False,
    ) -> None:
        super().__init__(message, hint)
        self.output = output
        self.lacks_files = lacks_files
        self.absent = tuple(absent)
        self.wants_arguments = wants_arguments
        self.exit_code_of_program = exit_code_of_program


class ProfilerFailed(HipscopeError):
    """A profiling tool failed on its own account: it refuses an option or cannot start. The program is not to blame."""

    exit_code = 3


class Cancelled(HipscopeError):
    """The caller asked to stop; everything that had been started is stopped."""

    exit_code = 130

    def __init__(self, message: str = "cancelled", hint: str | None = None) -> None:
        super().__init__(message, hint)
