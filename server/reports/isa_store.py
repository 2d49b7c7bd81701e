"""The machine code of a profile's kernels, kept beside the profile until that is removed.

The worker writes it as it profiles, so that an editor has it at once; the reader takes one kernel's out of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.server.reports.schema.fields import RecordMismatch, read_record, to_json
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.profile import Inputs, Report


def report_file(key: Path, inputs: Inputs) -> Path:
    """Where the report of a project with these inputs is kept."""
    data = json.dumps(to_json(inputs), sort_keys=True).encode()
    return report_folder(key) / f"{hashlib.sha256(data).hexdigest()[:24]}.json"


def report_folder(key: Path) -> Path:
    """Where the reports of a project are kept."""
    name = os.path.realpath(key)
    return cache_directory() / "reports" / hashlib.sha256(name.encode()).hexdigest()[:24]


def isa_beside(report: Path) -> Path:
    """Where the machine code of a kept report is."""
    return report.with_suffix(".isa")


def save_isa(key: Path, inputs: Inputs, kernels: Sequence[IsaReport]) -> None:
    """Keep the machine code of a profile, a line for each kernel. A full disk only loses the convenience."""
    lines = [f"{json.dumps(kernel.mangled)}\t{json.dumps(to_json(kernel))}\n" for kernel in kernels]
    with contextlib.suppress(OSError):
        write_atomically(isa_beside(report_file(key, inputs)), "".join(lines).encode())


def kept_isa(report: Report, mangled: str) -> IsaReport | None:
    """The machine code of a kernel of a saved report, whose project is one of its sources or a folder around them."""
    sources = [Path(file) for file in report.sources]
    keys = dict.fromkeys([*sources, *(folder for file in sources for folder in list(file.parents)[:3])])
    found = (load_isa(key, report.inputs, mangled) for key in keys)
    return next((code for code in found if code is not None), None)


def load_isa(key: Path, inputs: Inputs, mangled: str) -> IsaReport | None:
    """The machine code of one kernel of that profile; None when it is not there, or of another version."""
    wanted = f"{json.dumps(mangled)}\t"
    with contextlib.suppress(OSError, ValueError, RecordMismatch):
        with isa_beside(report_file(key, inputs)).open(encoding="utf-8") as lines:
            line = next((line for line in lines if line.startswith(wanted)), None)
        if line is not None:
            return read_record(
                IsaReport, json.loads(line.removeprefix(wanted)), "the kept machine code", "profile again"
            )
    return None
