"""Reads what a compiler or linker printed: takes its output, gives diagnostics or the `BuildFailed` to raise."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from hipscope.analysis.build_files.absent_libraries import what_to_install
from hipscope.analysis.errors import BuildFailed, CompilerDiagnostic, Severity
from hipscope.analysis.system.directories import nearly_full
from hipscope.analysis.toolchain.discovery import Toolchain, install_command, openmp_package, openmp_runtime

_LINE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>fatal error|error|warning|note): "
    r"(?P<message>.*)$",
    re.MULTILINE,
)
_WITHOUT_PLACE = re.compile(r"^(?:[^\s:]+: )?(?:fatal )?error: (?P<message>.*)$", re.MULTILINE)
_CMAKE = re.compile(
    r"^CMake Error at (?P<place>\S+:\d+) \([^)\n]*\):\n(?P<message>(?:(?:  .*)?\n)*?)(?=\n\n|\n?\S|\Z)",
    re.MULTILINE,
)
_ECHO = re.compile(
    r"(?:g?make|ninja)(?:\[\d+\])?: (?:\*\*\* \[.*\] Error \d+|\*\*\* Waiting|Leaving|Entering|build stopped)"
)
_COMPLAINT = re.compile(
    r"not found|[Nn]o such|[Nn]o rule|cannot|can't|[Ee]rror|[Ff]ailed|undefined|denied|\*\*\*"
)
_NO_OPENMP = re.compile(
    r"(?:cannot find|unable to find library|library not found for) -lomp\b|'omp\.h' file not found"
)
_NO_LIBRARY = re.compile(r"(?:cannot find|unable to find library) -l(?P<name>[^\s:]+)")
_LINKER = re.compile(
    r"^(?:\S*/)?(?:[\w.-]+-)?(?:ld|lld|gold)(?:\.\w+)?: (?:(?:fatal )?error: )?(?!warning|note)(?P<message>.*[^:\n])$",
    re.MULTILINE,
)
_TWICE = re.compile(r"multiple definition of [`'](?P<symbol>[^`'\n]+)")
_UNDEFINED = re.compile(r"(?:undefined reference to|undefined symbol:) [`']?(?P<symbol>[^`'\n]+)")


def parse_diagnostics(output: str) -> tuple[CompilerDiagnostic, ...]:
    """Every message with a place in it, in order and once: both halves of a HIP compile report the same mistakes."""
    found: dict[CompilerDiagnostic, None] = {}
    for match in _LINE.finditer(output):
        severity = match["severity"].removeprefix("fatal ")
        found[
            CompilerDiagnostic(
                file=match["file"],
                line=int(match["line"]),
                column=int(match["column"] or 0),
                severity=_severity(severity),
                message=match["message"].strip(),
            )
        ] = None
    return tuple(found)


def absolute_paths(output: str, directory: Path) -> str:
    """The same text with the file of each message as an absolute path, as seen from the compiler's `directory`."""

    def absolute(match: re.Match[str]) -> str:
        return os.path.normpath(directory / match["file"]) + match[0][len(match["file"]) :]

    return _LINE.sub(absolute, output)


def build_failed(subject: str, output: str, toolchain: Toolchain, *, returncode: int) -> BuildFailed:
    """The exception for a build that left with `returncode`: its line is the first error, in the compiler's words."""
    diagnostics = parse_diagnostics(output)
    message, hint = _headline(subject, output, diagnostics, returncode)
    if _NO_OPENMP.search(output) and openmp_runtime(toolchain) is None:
        hint = f"OpenMP is not installed for this compiler: {install_command([openmp_package(toolchain)])}"
    return BuildFailed(message, hint, diagnostics=diagnostics, output=output)


def build_error(
    subject: str, output: str, directory: Path, toolchain: Toolchain, *, returncode: int
) -> BuildFailed | OSError:
    """`build_failed`, or the error of a full disk for a build that wrote into `directory` and failed for that.

    A full disk says nothing about the text, and no candidate may be refused for it. Compilers name it in many ways: "No
    space left", "Bus error", "No such file" for their own output.
    """
    failure = build_failed(subject, output, toolchain, returncode=returncode)
    full = os.strerror(errno.ENOSPC)
    wrong_text = any(diagnostic.severity == "error" for diagnostic in failure.diagnostics)
    if not wrong_text and (full in output or nearly_full(directory)):
        return OSError(errno.ENOSPC, full, str(directory))
    return failure


def _headline(
    subject: str, output: str, diagnostics: Iterable[CompilerDiagnostic], returncode: int
) -> tuple[str, str | None]:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"{first.file}:{first.line}:{first.column}: error: {first.message}{more}", _advice(
            first.message
        )
    undefined = _UNDEFINED.search(output)
    if undefined:
        return (
            f"{subject}: does not link: `{undefined['symbol']}` is not defined in it",
            "its other files and libraries belong into the command that links it: `build` in hipscope.toml",
        )
    absent = _NO_LIBRARY.search(output)
    if absent:
        message = f"{subject}: does not link: the library `{absent['name']}` is not found"
        return message, what_to_install(absent[0])
    twice = _TWICE.search(output)
    if twice:
        return f"{subject}: does not link: `{twice['symbol']}` is defined more than once", None
    configured = _CMAKE.search(output)
    if configured:
        said = " ".join(configured["message"].split())
        return f"{subject}: {configured['place']}: {said[:300]}", None
    linker = _LINKER.search(output)  # before the driver's last line, which has no reason
    if linker:
        return f"{subject}: does not link: {linker['message']}", None
    placeless = _WITHOUT_PLACE.search(output)
    if placeless:
        return f"{subject}: {placeless['message']}", None
    if returncode < 0:
        return f"{subject}: the compiler was ended by signal {-returncode}", None
    last = _complaint(output)
    return f"{subject}: the build left with status {returncode}" + (f": {last}" if last else ""), None


def _complaint(output: str) -> str:
    """The line that says why: the last that names something wrong and is not make's echo of it, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    own = [line for line in lines if not _ECHO.match(line)]
    wrong = [line for line in own if _COMPLAINT.search(line)]
    return (wrong or own or lines or [""])[-1][:200]


def missing_header(message: str) -> str | None:
    """The header that a message of the compiler says is not found, as the source includes it."""
    missing = re.search(r"'([^']+)' file not found", message)
    return missing[1] if missing else None


def _advice(message: str) -> str | None:
    """What to do about a header that is not found, where its name shows that; None else."""
    missing = missing_header(message)
    if missing is None:
        return None
    if re.match(r"cuda|cublas|cooperative_groups", missing):
        return "this is CUDA source: convert it to HIP first, for example with hipify-perl"
    if (library := what_to_install(message)) is not None:
        return library
    return 'when headers of the program lie elsewhere, set `build` and `run` in hipscope.toml, or `flags = ["-I..."]`'


def _severity(word: str) -> Severity:
    for severity in get_args(Severity):
        if word == severity:
            return severity  # type: ignore[no-any-return]
    raise ValueError(word)
