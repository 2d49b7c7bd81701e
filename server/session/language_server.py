"""The state of one editor session: settings, jobs, what is known, and what the client can do.

Features read it and call its few methods; it decides nothing about how things look.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from hipscope.analysis.system.file_digests import file_digest
from hipscope.server.edit.line_map import digest
from hipscope.server.edit.positions import Encoding
from hipscope.server.edit.workspace_edit import EditSide
from hipscope.server.history.baseline import Baseline
from hipscope.server.jobs.jobs import Jobs, Spare
from hipscope.server.jobs.messages import JobError
from hipscope.server.reports.schema.profile import Inputs, Report
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.folder_watch import FolderWatch
from hipscope.server.session.known_profiles import SOURCES, Marks, Store
from hipscope.server.session.proposals import Proposals
from hipscope.server.session.protocol import HipscopeProtocol
from hipscope.server.session.run_arguments import namer_of_arguments


@dataclass(frozen=True)
class FilesNow:
    """Files as a build would read them: the `editor`'s texts of sources by real path, else the disk's.

    Settings, and data that the program reads, count when they are saved; a document whose file is gone does not count.
    """

    editor: Mapping[str, str]

    def text(self, file: str) -> str | None:
        """The text; None when it is not UTF-8 text."""
        return self.editor[file] if file in self.editor and Path(file).is_file() else disk_text(file)

    def digest(self, file: str) -> str:
        """SHA-256 of what a build would read; "" when there is no such file."""
        text = self.editor.get(file) if Path(file).suffix in SOURCES else None
        if text is None or (disk := disk_text(file)) is None or _same_text(disk, text):
            return file_digest(file)
        return digest(text)


async def _offer_nothing(_key: Path, _message: str, _failure: JobError) -> None:
    """What is done about a failed job before a feature says what."""


async def _ignore(_files: Set[str]) -> None:
    """What is done about changed files before a feature says what."""


class HipServer(LanguageServer):
    """A pygls server with the state of one session."""

    protocol: HipscopeProtocol

    def __init__(self, version: str) -> None:
        super().__init__(
            "hipscope",
            version,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=HipscopeProtocol,
        )
        self.settings = EditorSettings()
        self.folder_settings: dict[Path, EditorSettings] = {}
        self.jobs = Jobs()
        self.inspections = Jobs()
        self.spare = Spare()
        self.store = Store()
        self.proposals = Proposals()
        self.baselines: dict[str, tuple[Report, Baseline | None]] = {}
        self.published: dict[str, set[str]] = {}
        self.watched: frozenset[str] = frozenset()
        self.folder_watch = FolderWatch(lambda files: self.in_background(self.when_files_change(files)))
        self.when_files_change: Callable[[Set[str]], Coroutine[Any, Any, None]] = _ignore
        self.when_marked: Callable[[str, Marks], None] = lambda _uri, _marks: None
        self.offer_repairs: Callable[[Path, str, JobError], Coroutine[Any, Any, None]] = _offer_nothing
        self.asked_builds: set[Path] = set()
        self.over_stdio = False
        self.initialization_options: dict[str, Any] = {}
        # Keys for language models from the editor's secret store. Taken out of the environment, so that no child
        # inherits them; a worker that asks a model gets them over its standard input.
        self.stored_keys = os.environ.pop("HIPSCOPE_MODEL_KEYS", "")
        self.refused_folders: set[Path] = set()
        self._told: set[str] = set()
        self.folder_questions: dict[Path, asyncio.Future[bool]] = {}
        self._marks: dict[str, Marks] = {}
        self._background: set[asyncio.Task[None]] = set()

    @property
    def encoding(self) -> Encoding:
        """The units of a character offset that were agreed with the client."""
        return self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16

    @property
    def has_extension(self) -> bool:
        """Whether the client is our own extension, which understands the `hipscope/*` notifications."""
        return bool(self.initialization_options.get("hipscopeExtension"))

    @property
    def draws_heat(self) -> bool:
        """Whether the client wants `hipscope/heat`."""
        return self.has_extension or self.initialization_options.get("heat") is True

    @property
    def can_ask(self) -> bool:
        """Whether the client shows `window/showMessageRequest` with its buttons."""
        return self.has_extension or self.can("window", "show_message") is not None

    @property
    def waits_for_commands(self) -> bool:
        """Whether the client goes on while a command runs. Others may stand still until it is answered (eglot)."""
        return self.has_extension or self.initialization_options.get("waitsForCommands") is True

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine without waiting for it; it ends with its job."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def can(self, *path: str) -> Any:
        """The value of one client capability, `can("workspace", "apply_edit")`; None when it is not there."""
        value: Any = self.client_capabilities
        for name in path:
            value = getattr(value, name, None)
        return value

    def open_documents(self) -> Iterator[TextDocument]:
        """Every document that the editor has open from a file."""
        return (d for d in self.workspace.text_documents.values() if to_fs_path(d.uri))

    def document(self, file: str) -> TextDocument | None:
        """The open document of a file."""
        return next((d for d in self.open_documents() if path_of(d.uri) == file), None)

    def text(self, file: str) -> str | None:
        """The text of a file as the editor has it, else as the disk has it; None when it is not UTF-8 text."""
        document = self.document(file)
        return document.source if document else disk_text(file)

    def uri(self, file: str) -> str:
        """The client's URI of an open file, else the canonical one."""
        document = self.document(file)
        return document.uri if document else from_fs_path(file) or ""

    def marks(self, uri: str) -> Marks | None:
        """What is known about a document, put on its current text."""
        file = path_of(uri)
        text = self.text(file) if file else None
        if file is None or text is None:
            return None
        kept = self._marks.get(file)
        fresh = self.store.marks(file, text, self.asked_inputs, self.files_now())
        before = self.baselines.get(self.store.owner(file) or "")
        if fresh and before is not None and before[0] is fresh.report:
            fresh = replace(fresh, before=before[1])
        if (
            kept
            and fresh
            and kept.before is fresh.before
            and (kept.report, kept.profiled, kept.current, kept.other_headers, kept.other_inputs)
            == (fresh.report, fresh.profiled, fresh.current, fresh.other_headers, fresh.other_inputs)
        ):
            return kept
        if fresh:
            self._marks[file] = fresh
        return fresh

    def files_now(self) -> FilesNow:
        """All files as a profile that starts now would have them."""
        return FilesNow({path: d.source for d in self.open_documents() if (path := path_of(d.uri))})

    def settings_of(self, path: Path | str) -> EditorSettings:
        """The settings that hold for a file or folder: those of its workspace folder, where these were asked for."""
        around = [folder for folder in self.folder_settings if Path(path).is_relative_to(folder)]
        return self.folder_settings[max(around, key=lambda f: len(f.parts))] if around else self.settings

    def program_arguments(self, key: Path) -> tuple[str, ...]:
        """The arguments that a profile of that project is asked for: none where the program names its own."""
        given = self.settings_of(key).program_arguments
        if given and namer_of_arguments(key, self.text(str(key))) != "setting":
            return ()
        return given

    def asked_inputs(self, key: str) -> Inputs:
        """What a profile of that project that starts now would be asked for, without files."""
        asked = self.settings_of(key)
        return Inputs({}, self.program_arguments(Path(key)), asked.device, asked.arch, asked.backend)

    def folders(self) -> tuple[Path, ...]:
        """The workspace folders of the client."""
        paths = [to_fs_path(f.uri) for f in self.workspace.folders.values()]
        return tuple(Path(os.path.realpath(p)) for p in paths if p)

    def edit_side(self) -> EditSide:
        """What the client can do with an edit."""
        return EditSide(
            self.encoding,
            bool(self.can("workspace", "workspace_edit", "document_changes")),
            self.can("workspace", "workspace_edit", "change_annotation_support") is not None,
        )

    def tell(self, message: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Show the user one line."""
        self.window_show_message(lsp.ShowMessageParams(type=kind, message=message))

    def tell_once(self, message: str) -> None:
        """Show the user one line that this session has not shown yet."""
        if message not in self._told:
            self._told.add(message)
            self.tell(message)

    def log(self, message: str) -> None:
        """Put a text into the client's log."""
        self.window_log_message(lsp.LogMessageParams(type=lsp.MessageType.Log, message=message))

    def status(self, state: str, message: str = "") -> None:
        """Tell our extension what is going on; other clients are not bothered."""
        if self.has_extension:
            self.protocol.notify("hipscope/status", {"state": state, "message": message})

    async def answer(self, question: lsp.ShowMessageRequestParams) -> str | None:
        """The title of the action that the user chooses, None without a choice. The job goes on when it has come.

        Editors take a message away unanswered after some seconds: the status says meanwhile what is waited for.
        """
        self.status("waiting", question.message.removeprefix("hipscope: "))
        # Shielded: the client may still answer after the command was cancelled.
        asked = asyncio.ensure_future(self.window_show_message_request_async(question))
        chosen = await asyncio.shield(asked)
        return chosen.title if chosen is not None else None

    async def refresh(self) -> None:
        """Ask the client to fetch lenses and hints again, where it can be asked."""
        asks = []
        if self.can("workspace", "inlay_hint", "refresh_support"):
            asks.append(self.workspace_inlay_hint_refresh_async(None))
        if self.can("workspace", "code_lens", "refresh_support"):
            asks.append(self.workspace_code_lens_refresh_async(None))
        await asyncio.shield(asyncio.gather(*asks, return_exceptions=True))

    def report_server_error(
        self, error: Exception, source: type[PyglsError] | type[JsonRpcException]
    ) -> None:
        """Log an internal error; the request that failed shows the user a message."""
        self.log(f"{source.__name__}: {error}")


async def show_file(ls: HipServer, file: Path, line: int = 0) -> bool:
    """Have the client open a file at a line, counted from 0; False where it opens none."""
    support = ls.can("window", "show_document")
    if support is None or not support.support:
        return False
    place = lsp.Position(line=line, character=0)
    params = lsp.ShowDocumentParams(
        uri=ls.uri(str(file)), take_focus=True, selection=lsp.Range(start=place, end=place)
    )
    await ls.window_show_document_async(params)
    return True


def set_aside_what_stays() -> None:
    """Take all that lives now out of the garbage collector's full passes.

    With a report of 900 kernels each of them stops the loop for 50 ms, many times a second while a user types.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def path_of(uri: str) -> str | None:
    """The real path of a document, None when it is not a file."""
    path = to_fs_path(uri)
    return os.path.realpath(path) if path else None


def disk_text(file: str) -> str | None:
    """The text of a file on disk with its line ends as they are; None when it cannot be read as UTF-8."""
    try:
        return Path(file).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def dirty_texts(documents: Sequence[TextDocument]) -> dict[str, str]:
    """The texts of open files that differ from the disk, by real path."""
    texts = {path: d.source for d in documents if (path := path_of(d.uri))}
    return {file: text for file, text in texts.items() if not _same_text(disk_text(file), text)}


def _same_text(disk: str | None, text: str) -> bool:
    """An editor may leave out a file's byte order mark."""
    return disk is not None and disk.lstrip("\ufeff") == text.lstrip("\ufeff")
