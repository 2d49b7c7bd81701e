"""Jobs of the language server: cancelled, replaced, failed, and ended with the server; no child is ever left."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.server.lsp_editor import (
    CANCEL,
    CHECK,
    ENVIRONMENT,
    OPTIMIZE,
    PROFILE,
    PROGRAM,
    SERVER,
    Editor,
    alive,
    child_of_worker,
    gone,
    make_client,
    new_session,
    start,
    until,
)

pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


async def test_a_worker_that_dies_is_reported_and_the_server_lives(client: Editor) -> None:
    client.open(PROGRAM + "// worker: crash\n")
    answer = await client.run(PROFILE)
    assert answer["status"] == "failed"
    assert "ended early (exit code 1)" in answer["message"]
    await until(lambda: any("ended early" in m for m in client.told))
    client.change(PROGRAM)
    assert (await client.run(PROFILE))["status"] == "done"


async def test_cancel_from_the_progress_bar_stops_the_child_and_answers_the_command(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    token = next(iter(client.progress_reports))
    client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(token=token))
    assert await asyncio.wait_for(job, 10) == {"status": "cancelled"}
    await until(lambda: not alive(child))


async def test_cancel_by_command_stops_the_child(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    assert await client.run(CANCEL) == {"cancelled": 1}
    assert await asyncio.wait_for(job, 10) == {"status": "cancelled"}
    await until(lambda: not alive(child))


async def test_cancelling_the_request_itself_stops_the_child(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    params = lsp.ExecuteCommandParams(command=PROFILE, arguments=[{"uri": client.uri}])
    job = client.protocol.send_request_async(lsp.WORKSPACE_EXECUTE_COMMAND, params, msg_id="the-one")  # type: ignore[no-untyped-call]
    task = asyncio.ensure_future(job)
    child = await child_of_worker(client)
    client.cancel_request(lsp.CancelParams(id="the-one"))
    with pytest.raises(JsonRpcException, match="cancel"):
        await asyncio.wait_for(task, 10)
    await until(lambda: not alive(child))


async def test_a_worker_that_ignores_the_request_to_stop_is_killed(client: Editor) -> None:
    client.open(PROGRAM + "// worker: stubborn\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    await client.run(CANCEL)
    assert await asyncio.wait_for(job, 10) == {"status": "cancelled"}
    await until(lambda: not alive(child))


async def test_a_newer_job_replaces_the_older_one_of_its_project(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    old = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    client.change(PROGRAM)
    assert (await client.run(PROFILE))["status"] == "done"
    assert await asyncio.wait_for(old, 10) == {"status": "cancelled"}
    await until(lambda: not alive(child))


async def test_rewrites_are_prepared_after_a_profile_with_findings_until_the_next_job(
    client: Editor, tmp_path: Path
) -> None:
    def preparing() -> int:
        text = note.read_text() if note.exists() else ""
        return int(text) if text and alive(int(text)) else 0

    note = tmp_path / "preparing"
    client.open(PROGRAM + f"// prepares {note}\n")
    for command in (CHECK, OPTIMIZE, PROFILE):
        assert (await client.run(PROFILE))["status"] == "done"
        worker = await until(preparing)
        assert (await client.run(command))["status"] in ("done", "verified")
        await until(functools.partial(gone, worker))
    assert await until(preparing)
    while await client.stop_jobs():
        await until(lambda: not preparing())
    note.unlink()
    client.change(PROGRAM.replace("// find", "// none") + f"// prepares {note}\n")
    assert (await client.run(PROFILE))["findings"] == 0
    assert await client.stop_jobs() == 0
    assert not note.exists()


async def test_shutdown_during_a_job_answers_quickly_and_leaves_no_child(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    await asyncio.wait_for(client.shutdown_async(None), 5)
    assert await asyncio.wait_for(job, 5) == {"status": "cancelled"}
    assert not alive(child)
    client.exit(None)
    client.capabilities = None  # the session is over: nothing is left for the fixture to shut down


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "EOF"])
async def test_however_the_server_ends_no_child_is_left(tmp_path: Path, how: str) -> None:
    client = await new_session(tmp_path, SERVER)
    client.open(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    server = client._server
    assert server is not None
    if how == "EOF":
        assert server.stdin is not None
        server.stdin.close()
    else:
        server.send_signal(getattr(signal, how))
    await asyncio.wait_for(server.wait(), 10)
    # The fake worker has no supervisor of its own: SIGKILL of the server is covered by the real worker's tests.
    if how != "SIGKILL":
        await until(lambda: not alive(child))
    else:
        os.kill(child, signal.SIGKILL)
    job.cancel()
    await client.stop()  # type: ignore[no-untyped-call]


async def test_the_server_ends_with_its_editor_though_its_input_stays_open(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "300"])
    client = make_client()
    await client.start_io(*SERVER, env=ENVIRONMENT)
    await start(client, "vscode_1.139", tmp_path, process_id=process.pid, waitsForCommands=True)
    client.open(PROGRAM + "// worker: stubborn\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    process.kill()  # not reaped yet: it is there as a zombie
    assert client._server is not None
    await asyncio.wait_for(client._server.wait(), 10)
    process.wait()
    await until(lambda: not alive(child))
    job.cancel()
    await client.stop()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("end", ["process", "input"])
async def test_a_server_that_computes_ends_with_its_editor_and_all_it_started(end: str) -> None:
    editor = subprocess.Popen(["sleep", "300"])
    code = (
        "import subprocess\n"
        "from hipscope.server.session.editor_watch import watch_editor\n"
        "child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"watch_editor({editor.pid}, stdin=True, stop=lambda: None)\n"
        "print(child.pid, flush=True)\n"
        "while True: pass\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    child = int(server.stdout.readline())
    if end == "input":
        server.stdin.close()
    else:
        editor.kill()
    assert server.wait(10) == 1
    await until(lambda: gone(child))
    editor.kill()
    editor.wait()


async def test_over_tcp_it_serves_the_same_and_ends_with_the_connection(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([*SERVER, "--tcp", "--port", str(port)], env=ENVIRONMENT)
    try:
        client = make_client()
        await until(lambda: accepts(port))
        await client.start_tcp("127.0.0.1", port)
        await start(client, "vscode_1.139", tmp_path, hipscopeExtension=True)
        client.open(PROGRAM + "// worker: sleep\n")
        job = asyncio.create_task(client.run(PROFILE))
        child = await child_of_worker(client)
        assert client.protocol.writer is not None
        client.protocol.writer.close()
        job.cancel()
        await until(lambda: server.poll() is not None)
        await until(lambda: not alive(child))
    finally:
        server.kill()
        server.wait()


def accepts(port: int) -> bool:
    """Whether something listens there; looked up, because connecting would use up the server's one client."""
    wanted = f"0100007F:{port:04X} 00000000:0000 0A"
    return wanted in Path("/proc/net/tcp").read_text()
