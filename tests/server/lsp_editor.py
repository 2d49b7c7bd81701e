"""The language server as a real process, driven by recorded clients; a fake worker stands in for the GPU."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Union

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import register_lsp_features

from hipscope.analysis.system.allowed_folders import allow_folder
from tests.server import warm

HERE = Path(__file__).parent
CLIENTS = {p.stem: p for p in sorted((HERE.parent / "clients").glob("*.json"))}
PROFILE, OPTIMIZE, CHECK, RESTORE, CANCEL = (
    f"hipscope.server.{c}" for c in ("profile", "optimize", "check", "restore", "cancel")
)
APPLY, DISCARD, NEXT = (f"hipscope.server.{c}" for c in ("apply", "discard", "nextCandidate"))
CHOOSE_BUILD = "hipscope.server.chooseBuild"
CACHE = tempfile.TemporaryDirectory(prefix="hipscope-test-")
STATE = f"{CACHE.name}/state"
SERVER = [sys.executable, "-m", "hipscope.server", "lsp"]
COMMAND = warm.command(
    "lsp"
)  # the same with its modules imported, where the process itself is not what is tested
ENVIRONMENT = {
    **os.environ,
    **warm.SOCKET,
    "HIPSCOPE_WORKER": str(HERE / "fake_worker.py"),
    "XDG_CACHE_HOME": CACHE.name,
    "XDG_STATE_HOME": STATE,
}
PROGRAM = """\
__global__ void transpose(float* p, int n) {
  __shared__ float tile[32][32];
  tile[n][0] = p[n];  // cost 0.2 global_memory
  p[n] = tile[n][n]/*slow*/;  // cost 0.6 lds // find bankConflict
}
int main() { transpose<<<1, 64>>>(nullptr, 0); }
"""


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
        self.watched: list[str] = []
        self.custom: list[tuple[str, Any]] = []
        self.initialized_in = 0.0
        self.questions: list[str] = []
        self.offered: list[tuple[str, list[str]]] = []
        self.answer: str | None = None
        self.answers: list[str] = []
        self.applies = False
        self.refuses = ""

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

    def apply(self, edit: lsp.WorkspaceEdit) -> None:
        """Put the one change of an edit into the document, as an editor does that has asked for `documentChanges`."""
        (change,) = edit.document_changes or ()
        assert isinstance(change, lsp.TextDocumentEdit)
        (one,) = change.edits
        assert not isinstance(one, lsp.SnippetTextEdit)
        lines = self.text.splitlines(keepends=True)
        start, end = (sum(map(len, lines[: p.line])) + p.character for p in (one.range.start, one.range.end))
        self.change(self.text[:start] + one.new_text + self.text[end:])

    def save(self) -> None:
        self.path.write_text(self.text)
        self.text_document_did_save(lsp.DidSaveTextDocumentParams(text_document=self.document))

    def change_on_disk(self, file: Path, text: str) -> None:
        """As another program does it: the client's watcher tells."""
        file.write_text(text)
        event = lsp.FileEvent(file.as_uri(), lsp.FileChangeType.Changed)
        self.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))

    @property
    def document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(uri=self.uri)

    @property
    def marks(self) -> dict[str, lsp.Diagnostic]:
        return {str(d.code): d for d in self.diagnostics.get(self.uri, [])}

    @property
    def told(self) -> list[str]:
        """What the user was shown, with buttons or without."""
        return [*(m.message for m in self.messages), *self.questions]

    @property
    def progress_texts(self) -> list[str]:
        values = [p for reports in self.progress_reports.values() for p in reports]
        return [str(getattr(v, "value", v)) for v in values]

    async def run(self, command: str, **arguments: Any) -> Any:
        params = lsp.ExecuteCommandParams(command=command, arguments=[{"uri": self.uri, **arguments}])
        return as_dict(await self.workspace_execute_command_async(params))

    async def stop_jobs(self, *of: str) -> int:
        """How many jobs ran, of these documents or at all; they are stopped. What was sent before has begun by then."""
        params = lsp.ExecuteCommandParams(command=CANCEL, arguments=[{"uri": uri} for uri in of])
        return int(as_dict(await self.workspace_execute_command_async(params))["cancelled"])


def make_client() -> Editor:
    warm.started()
    editor = Editor(converter_factory=client_converter)
    register_lsp_features(editor)

    @editor.feature(lsp.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
    def apply_edit(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        editor.edits.append(params)
        if editor.applies and not editor.refuses:
            editor.apply(params.edit)
        if editor.refuses:
            return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason=editor.refuses)
        return lsp.ApplyWorkspaceEditResult(applied=True)

    @editor.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)  # type: ignore[untyped-decorator]
    def show_message_request(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        editor.questions.append(params.message)
        editor.offered.append((params.message, [a.title for a in params.actions or ()]))
        answer = editor.answers.pop(0) if editor.answers else editor.answer
        return next((a for a in params.actions or () if a.title == answer), None)

    for method in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):

        @editor.feature(method)  # type: ignore[untyped-decorator]
        def refresh(params: None, method: str = method) -> None:
            editor.refreshed.append(method)

    @editor.feature(lsp.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
    def register_capability(params: lsp.RegistrationParams) -> None:
        for watcher in (w for r in params.registrations for w in as_dict(r.register_options)["watchers"]):
            pattern = watcher.get("globPattern") or watcher["glob_pattern"]
            if isinstance(pattern, dict):
                base = pattern.get("baseUri") or pattern["base_uri"]
                editor.watched.append(f"{base}/{pattern['pattern']}")
            else:
                editor.watched.append(Path(pattern).as_uri())

    @editor.feature(lsp.CLIENT_UNREGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
    def unregister_capability(params: lsp.UnregistrationParams) -> None:
        editor.watched.clear()

    for method in (
        "hipscope/status",
        "hipscope/heat",
        "hipscope/setArguments",
        "hipscope/proposal",
        "hipscope/save",
        "hipscope/command",
        "hipscope/page",
    ):

        @editor.feature(method)  # type: ignore[untyped-decorator]
        def custom(params: Any, method: str = method) -> None:
            editor.custom.append((method, as_dict(params)))

    return editor


def client_converter() -> Any:
    """pygls' converter, except that an action that carries a command is read as an action, not as a command."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    either = lsp.Command | lsp.CodeAction

    def action(data: Any, _: Any) -> Any:
        return converter.structure(
            data, lsp.Command if isinstance(data.get("command"), str) else lsp.CodeAction
        )

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


async def start(
    client: Editor,
    name: str,
    folder: Path,
    encoding: lsp.PositionEncodingKind | None = None,
    *,
    allowed: bool = True,
    process_id: int | None = None,
    **options: Any,
) -> None:
    """`allowed`: the user has agreed before that programs in the folder may be built and run."""
    if allowed:
        allow_folder(folder, {"XDG_STATE_HOME": STATE})
    client.path = folder / "transpose.hip"
    client.uri = client.path.as_uri()
    begun = time.monotonic()
    given = parameters(name, folder, **options)
    given.process_id = process_id
    if encoding is not None:
        given.capabilities.general = lsp.GeneralClientCapabilities(position_encodings=[encoding])
    await client.initialize_session(given)
    client.initialized_in = time.monotonic() - begun


DIRECTLY: dict[str, Any] = {"apply": "directly"}
"""Most tests are about what is applied, not about who decides it."""

config = ClientServerConfig(server_command=COMMAND, client_factory=make_client, server_env=ENVIRONMENT)


@pytest_lsp.fixture(params=sorted(CLIENTS), config=config)  # type: ignore[untyped-decorator]
async def any_client(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    """Each recorded client in turn, settings as they come."""
    folder = request.getfixturevalue("tmp_path")
    lsp_client.set_configuration(DIRECTLY, section="hipscope")
    await start(lsp_client, request.param, folder, profileOnSave=False, waitsForCommands=True, **DIRECTLY)
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), 10)


@pytest_lsp.fixture(config=config)  # type: ignore[untyped-decorator]
async def client(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    """VS Code with our extension."""
    folder = request.getfixturevalue("tmp_path")
    lsp_client.set_configuration(DIRECTLY, section="hipscope")
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


def gone(pid: int) -> bool:
    return not alive(pid)


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


async def new_session(folder: Path, command: Sequence[str] = COMMAND, **environment: str) -> Editor:
    client = make_client()
    await client.start_io(*command, env={**ENVIRONMENT, **environment})
    await start(client, "vscode_1.139", folder, hipscopeExtension=True)
    return client


async def end_session(client: Editor) -> None:
    await asyncio.wait_for(client.shutdown_session(), 10)
    await client.stop()  # type: ignore[no-untyped-call]
