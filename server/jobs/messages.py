"""What the language server and a worker say to each other: a request, then progress, then a result or an error.

Each message is one JSON object on one line. Both sides build and read these records; a line that is none of them is an
error that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from hipscope.server.reports.schema.fields import RecordMismatch, read_record, to_json

JobKind = Literal[
    "profile", "prepare", "check", "optimize", "open", "inspect", "builds", "judge", "validate", "isa"
]

_SERVER = "a request to the worker"
_WORKER = "a message of the worker"
_HINT = "it is of another version of hipscope: restart the language server"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One job. None leaves what `hipscope.toml` or the default says; `overlays` are unsaved texts by real path.

    `file` is the document that it is for, `target` the file or folder of its project, or a capture to be opened,
    with its sources below `source_roots`; `stored_keys` is the editor's JSON object of keys for language models.
    `new_text` is the rewrite of `file` that is judged, None when one is to be found; `candidate` what is validated.
    `passed_over` are titles of rewrites that the user has seen and wants another than.
    `alone`: a source is compiled by itself, whatever build files are beside it.
    """

    kind: JobKind
    target: str
    file: str | None = None
    program_args: tuple[str, ...] = ()
    alone: bool = False
    backend: str | None = None
    device: str | None = None
    arch: str | None = None
    time_budget_s: float | None = None
    overlays: Mapping[str, str] = field(default_factory=dict)
    kernel: str | None = None
    formula: str | None = None
    rewriter: str | None = None
    passed_over: tuple[str, ...] = ()
    yes_send: bool = False
    source_roots: tuple[str, ...] = ()
    stored_keys: str = field(default="", repr=False)
    bench: str | None = None
    time_limit_s: float | None = None
    new_text: str | None = None
    candidate: str | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What the worker does now; `fraction` 0..1, None when it is not known."""

    TAG: ClassVar = ("type", "progress")
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class JobInspected:
    """What was seen of the program before it ran: the JSON object of its `hipscope.resources/1` report."""

    TAG: ClassVar = ("type", "inspected")
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobResult:
    """The end of a job that went well: the JSON object of its report."""

    TAG: ClassVar = ("type", "result")
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportedDiagnostic:
    """A compiler's message; `file` is a real path or "", line and column count from 1 (0: none)."""

    file: str
    line: int
    column: int
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class JobError:
    """The end of a job that failed: one line, and what to do. `failure` names the kind, `output` was printed.

    `lacks_files`: the program lacks files or commands, so other arguments would not help; `absent` are such files.
    `wants_arguments`: what it printed asks for some, and the hint says where they stand.
    """

    TAG: ClassVar = ("type", "error")
    message: str
    exit_code: int
    hint: str | None = None
    failure: str = ""
    output: str = ""
    lacks_files: bool = False
    absent: tuple[str, ...] = ()
    wants_arguments: bool = False
    diagnostics: tuple[ReportedDiagnostic, ...] = ()


JobMessage = JobProgress | JobInspected | JobResult | JobError
_MESSAGES: Mapping[str, type[JobMessage]] = {
    "progress": JobProgress,
    "inspected": JobInspected,
    "result": JobResult,
    "error": JobError,
}


def encode(message: JobRequest | JobMessage) -> str:
    """The line of a message, with its end."""
    return json.dumps(to_json(message)) + "\n"


def read_request(line: bytes | str) -> JobRequest:
    """The request on a line. Raises RecordMismatch, which names the field that is wrong."""
    return read_record(JobRequest, _parsed(line, _SERVER), _SERVER, _HINT)


def read_message(line: bytes | str) -> JobMessage:
    """What the worker says on a line. Raises RecordMismatch, which names the field that is wrong."""
    data = _parsed(line, _WORKER)
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _MESSAGES:
        raise RecordMismatch(
            "type", f"key `type`: expected {' or '.join(_MESSAGES)}, got {kind!r}", _WORKER, _HINT
        )
    return read_record(_MESSAGES[kind], data, _WORKER, _HINT)


def _parsed(line: bytes | str, where: str) -> object:
    try:
        data: object = json.loads(line)
    except ValueError as error:
        raise RecordMismatch("", f"not a line of JSON: {error}", where, _HINT) from None
    return data
