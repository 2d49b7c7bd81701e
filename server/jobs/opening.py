"""A capture or a saved report, opened to be shown: from paths to the record of a report.

Both the command line and the worker call this. Nothing is built or run.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.analysis.config import CONFIG_FILE, Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.reports import report_reader
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Inputs, Report
from hipscope.server.reports.schema.programs import ProgramsReport

STDIN = "-"
SavedReport = Report | ProgramsReport | CheckReport | Optimization
_READERS: Mapping[str, Callable[[object, str], SavedReport]] = {
    "hipscope.profile/1": report_reader.read_report,
    "hipscope.profile/2": report_reader.read_report,
    "hipscope.programs/1": report_reader.read_programs,
    "hipscope.check/1": report_reader.read_check,
    "hipscope.optimize/1": report_reader.read_optimization,
}
_PROGRAM = frozenset({".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", ".c++"})
_HEAD = 4096
_ISA_KEPT = 64  # kernels of a capture whose machine code is asked for
_LARGEST = 4 << 30


@dataclass(frozen=True)
class OpenRequest:
    """What to open, and the folders that its sources may be in."""

    paths: tuple[Path, ...]
    roots: tuple[Path, ...] = ()
    keep_isa: bool = False


@dataclass(frozen=True)
class Opened:
    """A report, the texts that it is of, and where it was asked for its kernels' machine code, by mangled name."""

    report: SavedReport
    texts: SourceTexts
    code: Mapping[str, IsaReport] = field(default_factory=dict)


def open_report(request: OpenRequest, run: Run) -> Opened:
    """The report that is saved in a file, or that of captures. Raises HipscopeError."""
    saved = [path for path in request.paths if is_saved_report(path)]
    if not saved:
        return open_profile(request, run)
    if len(request.paths) > 1:
        raise UsageError(f"{saved[0]} is a saved report: it is shown alone", "captures can be shown together")
    return Opened(_read_saved(saved[0]), run.texts)


def open_profile(request: OpenRequest, run: Run) -> Opened:
    """The profile of captures, with findings from the evidence that they have. Raises HipscopeError."""
    from hipscope.analysis.runs.open_capture import open_captures
    from hipscope.server.reports.isa_writer import isa_of_costliest
    from hipscope.server.reports.profile_writer import profile_report

    opened = open_captures(request.paths, request.roots, run)
    config = Config()
    run.say("looking for what costs time")
    inputs = Inputs({}, (), None, None, "auto")
    report = profile_report(
        opened.profile, config.formulas, config.min_share, opened.texts, inputs, opened.copies
    )
    code = isa_of_costliest(opened.profile, _ISA_KEPT) if request.keep_isa else ()
    return Opened(report, opened.texts, {one.mangled: one for one in code})


def is_saved_report(path: Path) -> bool:
    """Whether the file is JSON of ours: an object whose first key says so. Standard input can be nothing else."""
    if str(path) == STDIN:
        return True
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    start = "".join(head.decode("utf-8-sig", "replace").split())
    return start.startswith('{"schema":"hipscope.') and '{"schema":"hipscope.capture/' not in start


def of_kernels(report: Report, name: str) -> Report:
    """The report with the kernels of that name only: mangled, demangled, or the identifier in the source."""
    kernels = tuple(k for k in report.kernels if name in (k.name, k.mangled, base_name(k.name)))
    if not kernels:
        known = ", ".join(dict.fromkeys(base_name(k.name) for k in report.kernels[:8])) or "none"
        raise UsageError(f"no kernel {name!r} in this profile", f"its kernels: {known}")
    names = {k.mangled for k in kernels}
    others = {base_name(k.name) for k in report.kernels} - {base_name(k.name) for k in kernels}
    return replace(
        report,
        kernels=kernels,
        findings=tuple(f for f in report.findings if f.mangled_names & names),
        diagnoses=tuple(d for d in report.diagnoses if d.mangled in names),
        defects=tuple(d for d in report.defects if base_name(d.kernel) not in others),
    )


def _read_saved(path: Path) -> SavedReport:
    where = "standard input" if str(path) == STDIN else str(path)
    try:
        text = sys.stdin.buffer.read(_LARGEST) if str(path) == STDIN else path.read_bytes()
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not valid JSON, or not all of it: {error}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    reader = _READERS.get(schema) if isinstance(schema, str) else None
    if reader is None:
        raise UsageError(
            f"{where}: not a report that can be shown",
            f"the schema is {schema!r}; known: {', '.join(_READERS)}",
        )
    return reader(data, where)


def capture_kind(path: Path) -> str | None:
    """What a path is that is no program: "capture" or "saved report"; None for what may be a program.

    A folder with settings or sources of its own is a program, whatever else is in it.
    """
    from hipscope.analysis.ingest.recognise import is_capture

    if path.is_file():
        return "saved report" if is_saved_report(path) else "capture" if is_capture(path) else None
    if not path.is_dir() or any(
        file.suffix in _PROGRAM or file.name == CONFIG_FILE for file in path.iterdir()
    ):
        return None
    return "capture" if is_capture(path) else None
