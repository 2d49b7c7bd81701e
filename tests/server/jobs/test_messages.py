"""What the server and a worker say to each other: one record per message, and a damaged one names its field."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hipscope.server.jobs.messages import (
    JobError,
    JobMessage,
    JobProgress,
    JobRequest,
    JobResult,
    ReportedDiagnostic,
    encode,
    read_message,
    read_request,
)
from hipscope.server.reports.schema.fields import RecordMismatch
from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, until


@pytest.mark.parametrize(
    "message",
    [
        JobProgress("building", 0.25),
        JobProgress("running", None),
        JobResult({"schema": "any/1", "rows": [1, 2]}),
        JobError("expected ';'", 4, diagnostics=(ReportedDiagnostic("/a.hip", 3, 1, "error", "expected ';'"),)),
        JobError("the kernel would be sent", 2, hint="agree", failure="ConsentNeeded", output="x\ny"),
    ],
)  # fmt: skip
def test_a_message_is_one_line_that_is_read_back(message: JobMessage) -> None:
    line = encode(message)
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert read_message(line) == message


def test_a_request_is_read_back_and_says_only_what_was_asked() -> None:
    request = JobRequest("optimize", "/p", program_args=("-n", "3"), overlays={"/p/a.hip": "größe\n"})
    assert read_request(encode(request)) == request
    assert read_request('{"kind": "check", "target": "/p"}') == JobRequest("check", "/p")


def test_keys_of_models_are_not_in_what_a_log_shows_of_a_request() -> None:
    assert "sk-secret" not in repr(JobRequest("optimize", "/p", stored_keys="sk-secret"))


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ({}, "kind", "key `kind` is missing"),
        ({"kind": "dance", "target": "/p"}, "kind", "got 'dance'"),
        ({"kind": "profile"}, "target", "key `target` is missing"),
        ({"kind": "profile", "target": "/p", "program_args": "-n"}, "program_args", "expected a list, got '-n'"),
        ({"kind": "profile", "target": "/p", "overlays": {"/a": 3}}, "overlays./a", "expected a string, got 3"),
        ({"kind": "profile", "target": "/p", "time_budget_s": "10"}, "time_budget_s", "expected a number"),
        ([], "", "expected an object, got a list"),
    ],
)  # fmt: skip
def test_a_request_that_does_not_parse_names_the_field(line: Any, field: str, told: str) -> None:
    with pytest.raises(RecordMismatch) as failure:
        read_request(json.dumps(line))
    assert failure.value.key == field
    assert told in failure.value.message
    assert failure.value.message.startswith("a request to the worker: ")


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ('{"type": "result"}', "report", "key `report` is missing"),
        ('{"type": "progress", "message": "x"}', "fraction", "key `fraction` is missing"),
        ('{"type": "error", "exit_code": 2}', "message", "key `message` is missing"),
        ('{"type": "error", "message": "x", "exit_code": null}', "exit_code", "got null"),
        ('{"type": "song"}', "type", "expected progress or inspected or result or error, got 'song'"),
        ("{}", "type", "got None"),
        ("[1]", "type", "got None"),
        ("PASS", "", "not a line of JSON"),
    ],
)
def test_a_message_that_does_not_parse_names_the_field(line: str, field: str, told: str) -> None:
    with pytest.raises(RecordMismatch) as failure:
        read_message(line)
    assert failure.value.key == field
    assert told in failure.value.message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"kind": "profile"}', "key `target` is missing"),
        ('{"kind": "profile", "target": 3}', "key `target`: expected a string, got 3"),
        ("hello", "not a line of JSON"),
    ],
)
def test_the_worker_answers_a_request_that_does_not_parse_with_one_error(line: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hipscope.server.jobs.worker"],
        input=line + "\n",
        capture_output=True,
        text=True,
        env={**os.environ},
        timeout=60,
        check=False,
    )
    (answer,) = map(read_message, done.stdout.splitlines())
    assert isinstance(answer, JobError)
    assert told in answer.message
    assert answer.failure == "RecordMismatch"
    assert (done.returncode, answer.exit_code, done.stderr) == (2, 2, "")


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("silent", "a message of the worker: key `report` is missing"),
        ("mumble", "a message of the worker: not a line of JSON"),
        ("strip", "the worker's report: key `kernels[0].lines` is missing"),
    ],
)
async def test_the_server_tells_the_user_which_field_of_an_answer_is_wrong(
    client: Editor, order: str, told: str
) -> None:
    client.open(PROGRAM + f"// worker: {order}\n")
    answer = await client.run(PROFILE)
    assert answer["status"] == "failed"
    assert told in answer["message"]
    await until(lambda: any(told in m for m in client.told))
    client.change(PROGRAM)
    assert (await client.run(PROFILE))["status"] == "done"


def test_a_fake_worker_speaks_the_same_language(tmp_path: Path) -> None:
    """What the tests of the server count on."""
    file = tmp_path / "a.hip"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "fake_worker.py")],
        input=encode(JobRequest("profile", str(file), file=str(file))),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [type(read_message(line)) for line in done.stdout.splitlines()] == [JobProgress, JobResult]
