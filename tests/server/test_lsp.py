"""The language server as a real process, driven by three recorded clients; a fake worker stands in for the GPU."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Union

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import register_lsp_features

HERE = Path(__file__).parent
CLIENTS = {p.stem: p for p in sorted((HERE.parent / "clients").glob("*.json"))}
PROFILE, OPTIMIZE, CANCEL = (f"hipscope.server.{c}" for c in ("profile", "optimize", "cancel"))
CACHE = tempfile.TemporaryDirectory(prefix="hipscope-test-")
COMMAND = [sys.executable, "-m", "hipscope.server", "lsp"]
ENVIRONMENT = {
    **os.environ,
    "HIPSCOPE_WORKER": str(HERE / "fake_worker.py"),
    "XDG_CACHE_HOME": CACHE.name,
}
PROGRAM = """\
__global__ void transpose(float* p, int n) {
  __shared__ float tile[32][32];
  tile[n][0] = p[n];  // cost 0.2 global_memory
  p[n] = tile[n][n]/*slow*/;  // cost 0.6 lds // find bankConflict
}
int main() { transpose<<<1, 64>>>(nullptr, 0); }
"""

pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


class Editor(LanguageClient):
    """A client with one open document and what the server asked of it."""

    uri: str = ""
    path: Path
    text: str = PROGRAM
    edition: int = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.edits: list[lsp.ApplyWorkspaceEditParams] = []
        self.refreshed: list[str] = []
        self.custom: list[tuple[str, Any]] = []
        self.initialized_in = 0.0
        self.questions: list[str] = []
        self.answer: str | None = None

    def open(self, text: str = PROGRAM) -> None:
        self.text = text
        self.path.write_text(text)
        item = lsp.TextDocumentItem(uri=self.uri, language_id="hip", version=1, text=text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def change(self, text: str) -> None:
        self.text, self.edition = text, self.edition + 1
        document = lsp.VersionedTextDocumentIdentifier(uri=self.uri, version=self.edition)
        change = lsp.TextDocumentContentChangeWholeDocument(text=text)
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )

    def save(self) -> None:
        self.path.write_text(self.text)
        self.text_document_did_save(lsp.DidSaveTextDocumentParams(text_document=self.document))

    @property
    def document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(uri=self.uri)

    @property
    def marks(self) -> dict[str, lsp.Diagnostic]:
        return {str(d.code): d for d in self.diagnostics.get(self.uri, [])}

    @property
    def progress_texts(self) -> list[str]:
        values = [p for reports in self.progress_reports.values() for p in reports]
        return [str(getattr(v, "value", v)) for v in values]

    async def run(self, command: str, **arguments: Any) -> Any:
        params = lsp.ExecuteCommandParams(command=command, arguments=[{"uri": self.uri, **arguments}])
        return as_dict(await self.workspace_execute_command_async(params))


def make_client() -> Editor:
    editor = Editor(converter_factory=client_converter)
    register_lsp_features(editor)

    @editor.feature(lsp.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
    def apply_edit(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        editor.edits.append(params)
        return lsp.ApplyWorkspaceEditResult(applied=True)

    @editor.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)  # type: ignore[untyped-decorator]
    def show_message_request(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        editor.questions.append(params.message)
        return next((a for a in params.actions or () if a.title == editor.answer), None)

    for method in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):

        @editor.feature(method)  # type: ignore[untyped-decorator]
        def refresh(params: None, method: str = method) -> None:
            editor.refreshed.append(method)

    for method in ("hipscope/status", "hipscope/heat"):

        @editor.feature(method)  # type: ignore[untyped-decorator]
        def custom(params: Any, method: str = method) -> None:
            editor.custom.append((method, as_dict(params)))

    return editor


def client_converter() -> Any:
    """pygls' converter, except that an action that carries a command is read as an action, not as a command."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    either = lsp.Command | lsp.CodeAction

    def action(data: Any, _: Any) -> Any:
        return converter.structure(data, lsp.Command if isinstance(data["command"], str) else lsp.CodeAction)

    converter.register_structure_hook(Union[either], action)  # noqa: UP007
    return converter


def as_dict(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {k: as_dict(v) for k, v in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [as_dict(v) for v in value]
    if hasattr(value, "__dict__") and not isinstance(value, str):
        return {k: as_dict(v) for k, v in vars(value).items()}
    return value


def parameters(name: str, folder: Path, **options: Any) -> lsp.InitializeParams:
    data = json.loads(CLIENTS[name].read_text())
    data["rootUri"] = folder.as_uri()
    data["workspaceFolders"] = [{"uri": folder.as_uri(), "name": folder.name}]
    data["initializationOptions"] = options
    params: lsp.InitializeParams = default_converter().structure(data, lsp.InitializeParams)  # type: ignore[no-untyped-call]
    return params


async def start(client: Editor, name: str, folder: Path, **options: Any) -> None:
    client.path = folder / "transpose.hip"
    client.uri = client.path.as_uri()
    begun = time.monotonic()
    await client.initialize_session(parameters(name, folder, **options))
    client.initialized_in = time.monotonic() - begun


config = ClientServerConfig(server_command=COMMAND, client_factory=make_client, server_env=ENVIRONMENT)


@pytest_lsp.fixture(params=sorted(CLIENTS), config=config)  # type: ignore[untyped-decorator]
async def any_client(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    """Each recorded client in turn, settings as they come."""
    folder = request.getfixturevalue("tmp_path")
    await start(lsp_client, request.param, folder, profileOnSave=False)
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), 10)


@pytest_lsp.fixture(config=config)  # type: ignore[untyped-decorator]
async def client(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    """VS Code with our extension."""
    folder = request.getfixturevalue("tmp_path")
    await start(lsp_client, "vscode_1.139", folder, hipscopeExtension=True)
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), 10)


async def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait for something to become true; it is what the message names when it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        await asyncio.sleep(0.02)
    raise AssertionError(f"still not true after {seconds} s")


async def child_of_worker(client: Editor) -> int:
    """The process that the fake worker has started, from its progress message."""

    def seen() -> int | None:
        statuses = [json.dumps(p) for m, p in client.custom if m == "hipscope/status"]
        found = re.search(r"child (\d+)", " ".join(client.progress_texts + statuses))
        return int(found.group(1)) if found else None

    return int(await until(seen))


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def position(line: int, character: int) -> lsp.Position:
    return lsp.Position(line=line, character=character)


def line(number: int) -> lsp.Range:
    return lsp.Range(start=position(number, 2), end=position(number, 4))


async def test_every_editor_sees_profiles_and_applies_a_verified_edit(any_client: Editor) -> None:
    client = any_client
    client.open()
    answer = await client.run(PROFILE)
    assert answer == {"status": "done", "failure": None, "kernels": 1, "findings": 1, "partial": None}

    mark = (await until(lambda: client.marks))["bankConflict"]
    assert mark.range.start.line == 3
    assert "modelled" in mark.message

    at = lsp.HoverParams(text_document=client.document, position=position(3, 6))
    hover = await client.text_document_hover_async(at)
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    assert "bank conflicts take 97 %" in hover.contents.value
    assert client.capabilities is not None
    assert client.capabilities.text_document is not None
    assert client.capabilities.text_document.hover is not None
    assert hover.contents.kind in (client.capabilities.text_document.hover.content_format or [])

    lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(text_document=client.document))
    assert lenses is not None
    titles = [lens.command.title for lens in lenses if lens.command]
    assert titles == ["modelled 37.0 us · 100 % of GPU time · LDS bound", "Optimize"]

    whole = lsp.Range(position(0, 0), position(9, 0))
    hints = await client.text_document_inlay_hint_async(
        lsp.InlayHintParams(text_document=client.document, range=whole)
    )
    assert hints is not None
    assert [h.label for h in hints] == ["20 % · global memory", "60 % · LDS"]

    context = lsp.CodeActionContext(diagnostics=[mark])
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(text_document=client.document, range=line(3), context=context)
    )
    fix = next(a for a in actions or [] if isinstance(a, lsp.CodeAction) and a.kind == "quickfix")
    assert fix.edit is None
    assert fix.command is not None
    answer = await client.workspace_execute_command_async(
        lsp.ExecuteCommandParams(command=fix.command.command, arguments=fix.command.arguments)
    )
    assert as_dict(answer)["applied"] is True
    assert as_dict(answer)["speedup"] == 3.5

    edit = client.edits[0].edit
    assert client.capabilities.workspace is not None
    assert client.capabilities.workspace.workspace_edit is not None
    if client.capabilities.workspace.workspace_edit.document_changes:
        assert edit.changes is None
        assert edit.document_changes is not None
        change = edit.document_changes[0]
        assert isinstance(change, lsp.TextDocumentEdit)
        assert change.text_document.version == 1
        text_edit = change.edits[0]
    else:
        assert edit.document_changes is None
        assert edit.changes is not None
        text_edit = edit.changes[client.uri][0]
    assert isinstance(text_edit, lsp.TextEdit | lsp.AnnotatedTextEdit)
    assert text_edit.new_text == "/*fast*/"
    assert text_edit.range.start == position(3, PROGRAM.splitlines()[3].index("/*slow*/"))


async def test_no_editor_gets_notifications_that_only_our_extension_knows(any_client: Editor) -> None:
    any_client.open()
    await any_client.run(PROFILE)
    assert any_client.custom == []


async def test_our_extension_gets_heat_and_status(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    heat = (await until(lambda: [p for m, p in client.custom if m == "hipscope/heat" and p["lines"]]))[-1]
    assert heat["uri"] == client.uri
    assert [(row["line"], row["share"], row["reason"]) for row in heat["lines"]] == [
        (2, 0.2, "global memory"),
        (3, 0.6, "LDS"),
    ]
    states = [p["state"] for m, p in client.custom if m == "hipscope/status"]
    assert "profiling" in states
    assert (await until(lambda: [p["state"] for m, p in client.custom if m == "hipscope/status"]))[
        -1
    ] == "idle"
    assert lsp.WORKSPACE_INLAY_HINT_REFRESH in client.refreshed


async def test_a_save_profiles_and_a_save_without_a_change_does_not(client: Editor) -> None:
    client.open()
    client.save()
    await until(lambda: [p for m, p in client.custom if "1 finding" in p.get("message", "")])
    client.custom.clear()
    client.save()
    await asyncio.sleep(0.5)
    assert [p for m, p in client.custom if m == "hipscope/status"] == []
    client.change(PROGRAM.replace("0.6 lds", "0.5 lds"))
    client.save()
    await until(lambda: "profiling" in [p.get("state") for _, p in client.custom])


async def test_check_shows_a_race_with_its_other_line_and_typing_moves_it(client: Editor) -> None:
    client.open(PROGRAM + "int a;  // with\nint b;  // races\n")
    answer = await client.run("hipscope.check")
    assert answer["status"] == "done"
    assert answer["reports"] == 1
    race = await until(lambda: client.marks.get("data-race"))
    number = client.text.splitlines().index("int b;  // races")
    assert race.source == "hipscope check"
    assert race.range.start.line == number
    assert race.related_information[0].location.range.start.line == number - 1
    client.change("\n" + client.text)
    await until(lambda: client.marks["data-race"].range.start.line == number + 1)
    client.change(client.text.replace("// races", "// safe"))
    await client.run("hipscope.check")
    await until(lambda: "data-race" not in client.marks)


async def test_a_save_of_other_code_starts_nothing(client: Editor) -> None:
    client.open("int main() { return 0; }\n")
    client.save()
    client.change("__global__ void k() {}\n")
    client.save()
    await asyncio.sleep(0.7)
    assert "profiling" not in [p.get("state") for _, p in client.custom]


async def test_profile_on_save_can_be_switched_off_while_running(client: Editor) -> None:
    client.open()
    client.set_configuration({"profileOnSave": False}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    await asyncio.sleep(0.5)
    client.save()
    await asyncio.sleep(0.7)
    assert client.marks == {}


async def test_a_wrong_setting_is_named_and_does_no_harm(client: Editor) -> None:
    client.set_configuration({"backend": "cray"}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    await until(lambda: any("hipscope.backend" in m.message for m in client.messages))


async def test_typing_above_a_mark_moves_it_and_typing_in_its_kernel_makes_it_stale(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    await until(lambda: client.marks)
    client.change("// one\n// two\n" + PROGRAM)
    await until(lambda: client.marks["bankConflict"].range.start.line == 5)
    assert "stale" not in client.marks["bankConflict"].message
    client.change(PROGRAM.replace("tile[32][32]", "tile[32][33]"))
    await until(lambda: "stale" in client.marks["bankConflict"].message)
    client.change(PROGRAM)
    await until(lambda: "stale" not in client.marks["bankConflict"].message)


async def test_unsaved_text_is_what_gets_profiled(client: Editor) -> None:
    client.open()
    client.change("\n\n" + PROGRAM)
    await client.run(PROFILE)
    found = await until(lambda: client.marks)
    assert found["bankConflict"].range.start.line == 5
    assert client.path.read_text() == PROGRAM


async def test_the_kernel_under_the_cursor_is_the_one_to_optimize(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    answer = await client.run(OPTIMIZE, position={"line": 3, "character": 0})
    assert answer["status"] == "verified"


async def test_a_text_that_changed_during_the_proof_is_left_alone(client: Editor) -> None:
    client.open()
    job = asyncio.create_task(client.run(OPTIMIZE))
    await until(lambda: any(p.get("state") == "optimizing" for _, p in client.custom))
    client.change("// typed meanwhile\n" + PROGRAM)
    answer = await job
    assert answer["applied"] is False
    assert "changed while" in answer["message"]
    assert client.edits == []


async def test_no_verified_improvement_says_why_and_changes_nothing(client: Editor) -> None:
    client.open(PROGRAM + "// worker: refuse\n")
    answer = await client.run(OPTIMIZE)
    assert (answer["status"], answer["applied"]) == ("no_improvement", False)
    assert "only 1 % faster" in answer["message"]
    assert client.edits == []


@pytest.mark.parametrize(
    ("said", "status"), [("Send", "verified"), ("Do not send", "failed"), (None, "failed")]
)
async def test_a_model_is_sent_something_only_if_the_user_says_so(
    client: Editor, said: str | None, status: str
) -> None:
    client.answer = said
    client.open(PROGRAM + "// worker: ask\n")
    answer = await client.run(OPTIMIZE)
    assert answer["status"] == status
    assert len(client.questions) == 1
    assert "would be sent to a model" in client.questions[0]
    assert bool(client.edits) == (status == "verified")


async def test_keys_of_the_editor_reach_the_worker_on_its_input_and_no_environment(tmp_path: Path) -> None:
    keys = '{"https://api.openai.com/v1": "sk-stored"}'
    editor = await new_session(tmp_path, HIPSCOPE_MODEL_KEYS=keys)
    editor.open(PROGRAM + "// worker: keys\n")
    answer = await editor.run(OPTIMIZE)
    assert answer["message"] == f"stored {keys}, inherited False"
    await end_session(editor)


async def test_a_compiler_error_is_a_diagnostic_on_its_line_and_goes_when_fixed(client: Editor) -> None:
    client.open(PROGRAM + "int x  // worker: fail\n")
    answer = await client.run(PROFILE)
    assert answer["status"] == "failed"
    mark = (await until(lambda: client.marks))["compile"]
    assert (mark.range.start.line, mark.severity) == (6, lsp.DiagnosticSeverity.Error)
    client.change(PROGRAM)
    client.save()
    await until(lambda: "bankConflict" in client.marks)
    assert "compile" not in client.marks


async def test_a_failure_on_save_is_told_once_and_not_on_every_save(client: Editor) -> None:
    client.open(PROGRAM + "// worker: crash\n")
    for version in range(3):
        client.change(PROGRAM + f"// {version}\n// worker: crash\n")
        client.custom.clear()
        client.save()
        await until(lambda: "error" in [p.get("state") for _, p in client.custom])
    assert len([m for m in client.messages if "ended early" in m.message]) == 1


async def test_a_worker_that_dies_is_reported_and_the_server_lives(client: Editor) -> None:
    client.open(PROGRAM + "// worker: crash\n")
    answer = await client.run(PROFILE)
    assert answer["status"] == "failed"
    assert "ended early (exit code 1)" in answer["message"]
    assert any("ended early" in m.message for m in client.messages)
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


async def test_shutdown_during_a_job_answers_quickly_and_leaves_no_child(client: Editor) -> None:
    client.open(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    await asyncio.wait_for(client.shutdown_async(None), 5)
    assert await asyncio.wait_for(job, 5) == {"status": "cancelled"}
    assert not alive(child)
    client.exit(None)
    client.capabilities = None  # the session is over: nothing is left for the fixture to shut down


async def test_an_unknown_command_and_bad_arguments_are_answered_with_errors(client: Editor) -> None:
    with pytest.raises(JsonRpcException, match="no-such"):
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams(command="no-such"))
    with pytest.raises(JsonRpcException, match="uri"):
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams(command=PROFILE, arguments=[3]))


async def test_initialize_is_answered_within_two_seconds(client: Editor) -> None:
    assert client.initialized_in < 2.0 * slowness()


async def test_the_last_profile_is_shown_again_in_the_next_session_for_the_same_text(tmp_path: Path) -> None:
    first = await new_session(tmp_path)
    first.open()
    await first.run(PROFILE)
    await end_session(first)
    second = await new_session(tmp_path)
    second.open()
    assert "bankConflict" in await until(lambda: second.marks)
    await end_session(second)
    third = await new_session(tmp_path)
    third.open(PROGRAM.replace("int main", "int  other();\nint main"))
    await asyncio.sleep(0.5)
    assert third.marks == {}
    await end_session(third)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "EOF"])
async def test_however_the_server_ends_no_child_is_left(tmp_path: Path, how: str) -> None:
    client = await new_session(tmp_path)
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


async def test_over_tcp_it_serves_the_same_and_ends_with_the_connection(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([*COMMAND, "--tcp", "--port", str(port)], env=ENVIRONMENT)
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


def test_the_server_answers_initialize_before_anything_heavy_is_imported() -> None:
    heavy = ("pydantic", "pandas", "numpy", "tree_sitter", "rich", "plotly", "elftools", "msgpack", "dspy")
    code = f"import sys, hipscope.server.app as a; a.create_server(); print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


async def new_session(folder: Path, **environment: str) -> Editor:
    client = make_client()
    await client.start_io(*COMMAND, env={**ENVIRONMENT, **environment})
    await start(client, "vscode_1.139", folder, hipscopeExtension=True)
    return client


async def end_session(client: Editor) -> None:
    await asyncio.wait_for(client.shutdown_session(), 10)
    await client.stop()  # type: ignore[no-untyped-call]


def slowness() -> float:
    """How much slower than an idle machine this one is just now; at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
