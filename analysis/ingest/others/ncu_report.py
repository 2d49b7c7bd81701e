"""`.ncu-rep`: a report of Nsight Compute, printed by `ncu` itself where it is installed.

Takes the file, gives a `Recorded`. Raises ValueError with what to do where there is no `ncu`.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.others.ncu_tables import read_raw_page, read_source_page
from hipscope.analysis.system.process import run_process

MAGIC = b"NVR\0"
_TIMEOUT_S = 300.0
_SOURCE = ("--page", "source", "--csv", "--print-source", "cuda,sass")


def read_report(path: Path) -> list[Recorded]:
    """The raw page and the source page of a report."""
    tool = shutil.which("ncu")
    if tool is None:
        raise ValueError(
            "only ncu reads it, which is not installed here; where it is: "
            f"ncu --import {path.name} --page raw --csv > raw.csv"
        )
    found = []
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        for page, reader in ((("--page", "raw", "--csv"), read_raw_page), (_SOURCE, read_source_page)):
            printed = run_process([tool, "--import", str(path.absolute()), *page], timeout=_TIMEOUT_S)
            table = Path(folder, "page.csv")
            table.write_text(printed.text, encoding="utf-8")
            try:
                found.append(reader(table))
            except ValueError as error:
                notes.append(f"the page `{page[1]}`: {error}")
    if not found:
        raise ValueError("; ".join(notes))
    found[0].notes += notes
    return found
