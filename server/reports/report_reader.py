"""Reports as they come from a file or a worker, read into the records that their writers built.

Takes parsed JSON, of this version or of `hipscope.profile/1`, gives records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hipscope.server.reports.schema.builds import BuildsReport
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.fields import read_record
from hipscope.server.reports.schema.optimize import OPTIMIZE_SCHEMA, Optimization
from hipscope.server.reports.schema.profile import PROFILE_SCHEMA, Report
from hipscope.server.reports.schema.programs import ProgramsReport
from hipscope.server.reports.schema.resources import ResourcesReport

_WORKER = "the worker's report"
_FIRST = "hipscope.profile/1"
# What the first version did not have: no capture was opened with it.
_SINCE_FIRST: Mapping[str, Any] = {
    "captures": [],
    "parts": [],
    "notes": [],
    "copies": {},
    "defects": [],
    "time": None,
    "library_calls": {},
}
# What it did not say of a GPU and of an occupancy. Its workgroups ran on one CU.
_DEVICE_SINCE: Mapping[str, Any] = {
    "unified_registers": None,
    "sgpr_limit": None,
    "lds_reserved": 0,
    "cus_per_workgroup": 1,
    "barriers_per_cu": None,
    "groups_per_cu": None,
    "shader_engines": None,
    "l2_channels": None,
    "partition": None,
    "ceilings": {},
}
_OCCUPANCY_SINCE: Mapping[str, Any] = {"next_step": None}
_KERNEL_SINCE: Mapping[str, Any] = {"counter_instances": {}}
_MEMORY_SINCE: Mapping[str, Any] = {"memory_kinds": {}}
_ROOFLINE_SINCE: Mapping[str, Any] = {"ceilings": [], "nearest": None, "near": [], "why": ""}
_PROGRAM_SINCE: Mapping[str, Any] = {"build_note": None, "build_settings": None}
_TIME_SINCE: Mapping[str, Any] = {"limit": "unknown", "near": [], "why": ""}
ADDED: frozenset[str] = frozenset().union(
    _SINCE_FIRST,
    _DEVICE_SINCE,
    _KERNEL_SINCE,
    _OCCUPANCY_SINCE,
    _MEMORY_SINCE,
    _ROOFLINE_SINCE,
    _PROGRAM_SINCE,
    _TIME_SINCE,
)
"""Keys that came while a version was being written: files that were saved before them are read, too."""
ADDED_TO_OPTIMIZE = frozenset({"program_speedup"})


def read_report(data: object, where: str = _WORKER) -> Report:
    """The `hipscope.profile` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(Report, upgraded(data), where)


def read_programs(data: object, where: str = _WORKER) -> ProgramsReport:
    """The `hipscope.programs/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    if isinstance(data, dict) and isinstance(data.get("programs"), list):
        programs = [
            {**p, "report": upgraded(p.get("report"))} if isinstance(p, dict) else p for p in data["programs"]
        ]
        data = {**data, "programs": programs}
    return read_record(ProgramsReport, data, where)


def read_optimization(data: object, where: str = _WORKER) -> Optimization:
    """The `hipscope.optimize/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    if isinstance(data, dict) and data.get("schema") == OPTIMIZE_SCHEMA:
        data = {**dict.fromkeys(ADDED_TO_OPTIMIZE), **data}
    return read_record(Optimization, data, where)


def read_resources(data: object, where: str = _WORKER) -> ResourcesReport:
    """The `hipscope.resources/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(ResourcesReport, data, where)


def read_builds(data: object, where: str = _WORKER) -> BuildsReport:
    """The `hipscope.builds/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(BuildsReport, data, where)


def read_check(data: object, where: str = _WORKER) -> CheckReport:
    """The `hipscope.check/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(CheckReport, data, where)


def upgraded(data: object) -> object:
    """A profile that an older hipscope wrote as one of this version; anything else as it is."""
    if not isinstance(data, dict) or data.get("schema") not in (_FIRST, PROFILE_SCHEMA):
        return data
    present: dict[str, object] = {}
    if isinstance(kernels := data.get("kernels"), list):
        present["kernels"] = [_kernel(k) for k in kernels]
    for key, since in (("device", _DEVICE_SINCE), ("program", _PROGRAM_SINCE), ("time", _TIME_SINCE)):
        if key in data:
            present[key] = _with(data[key], since)
    return {**_SINCE_FIRST, **data, **present, "schema": PROFILE_SCHEMA}


def _kernel(kernel: object) -> object:
    if not isinstance(kernel, dict):
        return kernel
    changed = {**_KERNEL_SINCE, **kernel}
    if "occupancy" in kernel:
        changed["occupancy"] = _with(kernel["occupancy"], _OCCUPANCY_SINCE)
    if "roofline" in kernel:
        changed["roofline"] = _with(kernel["roofline"], _ROOFLINE_SINCE)
    if isinstance(kernel.get("lines"), list):
        changed["lines"] = [_line(line) for line in kernel["lines"]]
    return changed


def _with(record: object, since: Mapping[str, Any]) -> object:
    return {**since, **record} if isinstance(record, dict) else record


def _line(line: object) -> object:
    """`memory` was an object where there was one way of access, and null where there was none. No kind of
    memory was told.
    """
    if not isinstance(line, dict) or "memory" not in line:
        return line
    memory = line["memory"]
    ways = [] if memory is None else [memory] if isinstance(memory, dict) else memory
    changed = [_with(way, _MEMORY_SINCE) for way in ways] if isinstance(ways, list) else ways
    return {**line, "memory": changed}
