"""Reports as they come from a file or a worker, read into the records that their writers built."""

from __future__ import annotations

from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.fields import read_record
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Report

_WORKER = "the worker's report"


def read_report(data: object, where: str = _WORKER) -> Report:
    """The `hipscope.profile/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(Report, data, where)


def read_optimization(data: object, where: str = _WORKER) -> Optimization:
    """The `hipscope.optimize/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(Optimization, data, where)


def read_check(data: object, where: str = _WORKER) -> CheckReport:
    """The `hipscope.check/1` object. Raises RecordMismatch, which names `where` and the key that is wrong."""
    return read_record(CheckReport, data, where)
