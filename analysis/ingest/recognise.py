"""Which files are captures: by what is in them, not by their names.

Takes paths, gives what each file or folder is, with its reader. Reads the beginning of a file only, and nothing that is
no regular file; links that lead in circles are followed once.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.ingest.formats.compute_tables import read_database, read_roofline, read_sysinfo
from hipscope.analysis.ingest.formats.omniprobe import read_json as read_omniprobe_json
from hipscope.analysis.ingest.formats.omniprobe import read_text as read_omniprobe_text
from hipscope.analysis.ingest.formats.pc_samples import read_samples
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.results_json import KEY, read_results
from hipscope.analysis.ingest.formats.rocpd import read_rocpd, relations_of
from hipscope.analysis.ingest.formats.rocprof_csv import (
    read_agents,
    read_events,
    read_launch_table,
    read_long_counters,
    read_statistics,
    read_wide_counters,
)
from hipscope.analysis.ingest.formats.tables import HEAD, head_of, header_of, parse_table
from hipscope.analysis.ingest.formats.trace_totals import read_totals
from hipscope.analysis.ingest.formats.traces import read_trace
from hipscope.analysis.ingest.others.chrome_trace import is_chrome_trace, read_chrome_trace
from hipscope.analysis.ingest.others.ncu_details import has_details, read_details_page
from hipscope.analysis.ingest.others.ncu_report import MAGIC as NCU_REPORT
from hipscope.analysis.ingest.others.ncu_report import read_report
from hipscope.analysis.ingest.others.ncu_tables import read_raw_page, read_source_page
from hipscope.analysis.ingest.others.nsys import is_nsys, read_nsys, read_nsys_summary, read_nsys_trace
from hipscope.analysis.ingest.others.packed import GZIP, of_unpacked, plain_name, unpacked_head
from hipscope.analysis.ingest.others.rocprof_1 import is_rocprof, read_launches, read_rocminfo
from hipscope.analysis.ingest.others.rocprof_1 import read_database as read_rocprof_database
from hipscope.analysis.ingest.others.rpd import is_rpd, read_rpd
from hipscope.analysis.ingest.others.unread import unread_format, unread_text

Read = Callable[[Path], Recorded | list[Recorded]]

LARGEST = 8 << 30
_SPARSE = 16  # a file that has less than this part of its size on the disk
_SMALL = 64 << 20
_MOST_LISTED = 20
_MOST_LOOKED_AT = 100_000
_QUICK_LOOK = 2_000
CODE_OBJECT = "code object"
_MACHINE, _AMDGPU = slice(18, 20), b"\xe0\x00"  # e_machine of an ELF file
SIDECAR = "hipscope's side-car"
TOTALS = "totals of a thread trace"
MEMORY_ANALYSIS = "Omniprobe memory analysis"
NO_READER = "no reader knows it"
CHROME_TRACE = "chrome trace"
_CALLS_FILE = re.compile(r"(hip|hsa|copy|marker|domain|api|memory_copy|allocation|roctx)_stats$")
_CALL = re.compile(
    r"(_*hip[A-Z]\w*|hsa_\w+|nccl[A-Z]\w*|roctx\w*|Copy\w+To\w+|async-copy|"
    r"(HIP|HSA|KERNEL|MEMORY|MARKER|RCCL|SCRATCH|ROCDECODE|ROCJPEG|OMPT|KOKKOS)_[A-Z_]+)$"
)
_IGNORED = re.compile(r"(^source_\d+_|^snapshots\.json$|\.before$|\.after$|\.zst$)")


@dataclass(frozen=True)
class FoundFile:
    """A file or folder. `format` is in words; `read` is None where it cannot be, and `why` says why."""

    path: Path
    root: Path
    format: str | None = None
    read: Read | None = None
    why: str | None = None


def scan(paths: Sequence[Path]) -> list[FoundFile]:
    """What is at the paths, folders looked through. What no reader knows is listed, too."""
    found: list[FoundFile] = []
    unknown = 0
    for root in paths:
        for path, is_trace in _files(root):
            item = FoundFile(path, root, "thread trace", _read_folder) if is_trace else recognise(path, root)
            if item.format is None:
                unknown += 1
                if unknown > _MOST_LISTED and path != root:
                    continue
            found.append(item)
    if unknown > _MOST_LISTED:
        more = unknown - _MOST_LISTED
        found.append(FoundFile(paths[0], paths[0], None, None, f"{more} more files that no reader knows"))
    return found


def is_capture(path: Path) -> bool:
    """Whether a file, or something in a folder, has the form of a capture."""
    for number, (file, is_trace) in enumerate(_files(path)):
        if is_trace:
            return True
        if number > _QUICK_LOOK:
            return False
        found = recognise(file, path)
        if found.read is not None or found.format == "Nsight Compute report":
            return True
    return False


def recognise(path: Path, root: Path) -> FoundFile:
    """What a file is."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return FoundFile(path, root, None, None, "it is no regular file")
        if not status.st_size:
            return FoundFile(path, root, None, None, "it is empty")
        if status.st_size > _SMALL and status.st_blocks * 512 < status.st_size // _SPARSE:
            return FoundFile(path, root, None, None, "most of it is holes: the file was never written")
        with path.open("rb") as stream:
            head = head_of(stream.read(HEAD))
    except OSError as error:
        return FoundFile(path, root, None, None, error.strerror or str(error))
    if status.st_size > LARGEST:
        return FoundFile(path, root, None, None, f"it has more than {LARGEST >> 30} GiB")
    name, read, why = _of_content(path, head)
    return FoundFile(path, root, name, read, why)


def _read_folder(path: Path) -> Recorded:
    trace = read_trace(path)
    return Recorded(traces=[trace], notes=list(trace.notes))


def _of_content(path: Path, head: bytes) -> tuple[str | None, Read | None, str | None]:
    if head.startswith(b"SQLite format 3\0"):
        return _of_database(relations_of(path))
    if head.startswith(NCU_REPORT):
        return "Nsight Compute report", read_report, None
    if head.startswith(b"\x7fELF"):
        if head[_MACHINE] != _AMDGPU:
            return None, None, "it is a program of the host"
        return CODE_OBJECT, None, None
    if head.startswith(GZIP):
        return _of_packed(path, head_of(unpacked_head(head, HEAD)))
    if (unread := unread_format(path, head)) is not None:
        return unread[0], None, unread[1]
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        return _of_json(head)
    if b"HSA Agents" in head and b"Device Type" in head:
        return "GPUs as rocminfo lists them", read_rocminfo, None
    if b"cache line use report" in head or b"Bank conflicts report" in head:
        return f"{MEMORY_ANALYSIS} (text)", read_omniprobe_text, None
    return _of_table(path, head)


def _of_packed(path: Path, head: bytes) -> tuple[str | None, Read | None, str | None]:
    if is_chrome_trace(head):
        return CHROME_TRACE, read_chrome_trace, None
    if head and not head.startswith((GZIP, b"SQLite format 3\0", b"\x7fELF", NCU_REPORT)):
        name, read, _ = _of_content(path.with_name(plain_name(path)), head)
        if read is not None:
            return name, of_unpacked(read), None
    return None, None, "it is compressed: unpack it with gunzip"


def _of_json(head: bytes) -> tuple[str | None, Read | None, str | None]:
    if f'"{KEY}"'.encode() in head:
        return "rocprofv3 JSON", read_results, None
    if b'"kernel_analysis"' in head:
        return MEMORY_ANALYSIS, read_omniprobe_json, None
    if b'"hipscope.capture/' in head:
        return SIDECAR, None, None
    if is_chrome_trace(head):
        return CHROME_TRACE, read_chrome_trace, None
    if (unread := unread_text(head)) is not None:
        return unread[0], None, unread[1]
    return None, None, "JSON that no reader knows"


def _of_database(names: frozenset[str]) -> tuple[str, Read, None]:
    for name, is_one, read in _DATABASES:
        if is_one(names):
            return name, read, None
    return "rocprofiler-compute database", read_database, None


def _of_table(path: Path, head: bytes) -> tuple[str | None, Read | None, str | None]:
    header = header_of(head)
    columns = set(header)
    for name, needed, read in _TABLES:
        if needed <= columns:
            return name, read, None
    if {
        "Dispatch_Id",
        "Counter_Name",
        "Counter_Value",
    } <= columns:  # and no kernel: the table of names came first
        return "counters over time", None, "they name no kernel: rocprofv3 --output-format json or rocpd does"
    if {"Kernel_Name", "Dispatch_Id"} <= columns:
        return "counters, one column each", read_wide_counters, None
    if {"Name", "Calls", "TotalDurationNs"} <= columns:
        if not _is_of_calls(path, head):
            return "kernel statistics", read_statistics, None
        return "statistics of calls", None, "not of kernels: nothing to show"
    if {"Kernel_Name", "Start_Timestamp", "End_Timestamp"} <= columns:
        return "launches", read_launch_table, None
    lines = head.decode("utf-8", "replace").split("\n", 400)[:400]
    if has_details(lines):
        return "Nsight Compute details page", read_details_page, None
    if "Kernel Name" in columns and "ID" in columns:
        return "Nsight Compute raw page", read_raw_page, None
    first_lines = lines[:3]
    if any('"Address"' in line and '"# Samples"' in line for line in first_lines):
        return "Nsight Compute source page", read_source_page, None
    if (unread := unread_text(head)) is not None:
        return unread[0], None, unread[1]
    return None, None, NO_READER


def _is_of_calls(path: Path, head: bytes) -> bool:
    """Whether statistics are of calls, copies or domains: by the name of the file, else by the names in it."""
    if path.stem.endswith("kernel_stats"):
        return False
    rows = list(parse_table(head.decode("utf-8", "replace").rpartition("\n")[0]).rows())
    names = [row["Name"] for row in rows if row.get("Name")]
    return bool(_CALLS_FILE.search(path.stem)) or (bool(names) and all(map(_CALL.match, names)))


def _events(kind: str) -> Read:
    return lambda path: read_events(path, kind)


_TABLES: tuple[tuple[str, frozenset[str], Read], ...] = (
    ("counters", frozenset({"Counter_Name", "Counter_Value", "Kernel_Name"}), read_long_counters),
    ("launches of rocprof", frozenset({"Index", "Kernel_Name", "queue-index"}), read_launches),
    (
        "counters of omniperf",
        frozenset({"Index", "Kernel_Name", "Agent_Id", "Grid_Size", "Workgroup_Size", "SGPR_Count"}),
        read_launches,
    ),
    (
        "kernel trace",
        frozenset({"Kind", "Kernel_Name", "Start_Timestamp", "End_Timestamp"}),
        read_launch_table,
    ),
    ("agents", frozenset({"Agent_Type", "Gfx_Target_Version"}), read_agents),
    ("PC samples", frozenset({"Sample_Timestamp", "Instruction_Comment"}), read_samples),
    (TOTALS, frozenset({"CodeObj", "Vaddr", "Hitcount"}), read_totals),
    ("API trace", frozenset({"Domain", "Function", "Start_Timestamp"}), _events("api calls")),
    ("copies", frozenset({"Direction", "Source_Agent_Id", "Start_Timestamp"}), _events("copies")),
    ("allocations", frozenset({"Kind", "Operation", "Agent_Id", "Start_Timestamp"}), _events("allocations")),
    ("device of rocprofiler-compute", frozenset({"gpu_arch", "cu_per_gpu"}), read_sysinfo),
    ("device of omniperf", frozenset({"gpu_soc", "numCU"}), read_sysinfo),
    ("measured roofline", frozenset({"device", "HBMBw"}), read_roofline),
    (
        "Nsight Systems summary of kernels",
        frozenset({"Total Time (ns)", "Instances", "Name"}),
        read_nsys_summary,
    ),
    ("Nsight Systems trace", frozenset({"CorrId", "GrdX", "BlkX", "Name"}), read_nsys_trace),
)
_DATABASES: tuple[tuple[str, Callable[[frozenset[str]], bool], Read], ...] = (
    ("rocmProfileData", is_rpd, read_rpd),
    ("rocpd", lambda names: any(n.startswith("rocpd_") for n in names), read_rocpd),
    ("Nsight Systems export", is_nsys, read_nsys),
    ("rocprof database", is_rocprof, read_rocprof_database),
)


def _files(root: Path) -> Iterator[tuple[Path, bool]]:
    """The files at a path, and the folders of thread traces, whose files are theirs."""
    if not root.is_dir():
        is_trace = root.name == "code.json" and root.is_file()
        yield (root.parent if is_trace else root), is_trace
        return
    seen: set[str] = set()
    number = 0
    for place, folders, files in os.walk(root, followlinks=True):
        folders.sort()
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if "code.json" in files or "filenames.json" in files:
            folders.clear()
            yield Path(place), True
            continue
        for name in sorted(files):
            if _IGNORED.search(name):
                continue
            number += 1
            if number > _MOST_LOOKED_AT:
                return
            yield Path(place, name), False
