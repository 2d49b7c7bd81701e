"""From a folder of several files to the first marks as an editor does it: clicks, typed text and what came of it.

    python benchmarks/editor_projects.py [--seconds 170] [--clicks 2] FOLDER...

Takes folders of programs. A client with VS Code's capabilities (tests/clients) opens the source with `main` and saves
it; each question gets its first button. Prints a row per program: clicks, seconds, kernels with marks, and what was
shown last. Settings are written into the folders: give it copies.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lsprotocol import types as lsp  # noqa: E402
from pygls.uris import to_fs_path  # noqa: E402
from pytest_lsp.client import register_lsp_features  # noqa: E402

from tests.server import lsp_editor  # noqa: E402

SOURCES = (".hip", ".cpp", ".cu", ".cc", ".cxx", ".C")
LEADS_NOWHERE = ("Go to", "Open hipscope.toml", "Set arguments", "Install", "Copy", "Check for")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=170.0, help="from the save on")
    parser.add_argument("--clicks", type=int, default=2)
    parser.add_argument("--file", help="the source to save; default: the one with `main`")
    options = parser.parse_args()
    print(
        "| program | file | clicks | s | kernels | questions, and what was shown last |\n|---|---|--:|--:|--:|---|"
    )
    for folder in options.folders:
        file = folder / options.file if options.file else program_file(folder.resolve())
        print(asyncio.run(row(folder.resolve(), file.resolve(), options.seconds, options.clicks)), flush=True)


def program_file(folder: Path) -> Path:
    """The source with `main` that a user would open: one that has GPU code before others, the shallowest first."""
    found = sorted(
        (p for p in folder.rglob("*") if p.suffix in SOURCES and p.is_file()),
        key=lambda p: (len(p.parts), p.name != "main.cpp", p.name),
    )
    texts = {p: p.read_text(errors="replace") for p in found}
    mains = [p for p in found if re.search(r"\bmain\s*\(", texts[p])]
    mains.sort(key=lambda p: p.suffix != ".hip" and not re.search(r"hip_runtime|__global__|<<<", texts[p]))
    return (mains or found)[0]


async def row(folder: Path, file: Path, seconds: float, most: int) -> str:
    """One program: save its source and answer what is asked."""
    client = lsp_editor.Editor(converter_factory=lsp_editor.client_converter)
    register_lsp_features(client)
    clicked: list[str] = []
    edited: dict[str, str] = {}
    states: list[str] = []
    typed = False

    def write(uri: str) -> None:
        path = Path(to_fs_path(uri) or "")
        kind = lsp.FileChangeType.Changed if path.exists() else lsp.FileChangeType.Created
        path.write_text(edited.pop(uri))
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([lsp.FileEvent(uri, kind)]))

    @client.feature(lsp.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
    def apply_edit(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        for change in params.edit.document_changes or ():
            if isinstance(change, lsp.TextDocumentEdit):
                uri = change.text_document.uri
                if uri == client.uri:
                    client.apply(lsp.WorkspaceEdit(document_changes=[change]))
                    continue
                path = Path(to_fs_path(uri) or "")
                edited[uri] = _with_edits(path.read_text() if path.exists() else "", change.edits)
        return lsp.ApplyWorkspaceEditResult(applied=True)

    @client.feature("hipscope/save")  # type: ignore[untyped-decorator]
    def save(params: Any) -> None:
        if params.uri in edited:
            write(params.uri)

    for method in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):

        @client.feature(method)  # type: ignore[untyped-decorator]
        def refresh(_params: None) -> None:
            pass

    for method in (lsp.CLIENT_REGISTER_CAPABILITY, lsp.CLIENT_UNREGISTER_CAPABILITY):

        @client.feature(method)  # type: ignore[untyped-decorator]
        def capability(_params: Any) -> None:
            pass

    @client.feature("hipscope/setArguments")  # type: ignore[untyped-decorator]
    def set_arguments(_params: Any) -> None:
        nonlocal typed
        typed = True

    @client.feature("hipscope/status")  # type: ignore[untyped-decorator]
    def status(params: Any) -> None:
        states.append(params.state)

    @client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)  # type: ignore[untyped-decorator]
    def question(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
        first = params.actions[0] if params.actions else None
        client.questions.append(params.message)
        if first is None or len(clicked) == most or first.title.startswith(LEADS_NOWHERE):
            return None
        clicked.append(first.title)
        return first

    with tempfile.TemporaryDirectory(prefix="hipscope-editor-") as home:
        variables = {k: v for k, v in os.environ.items() if k != "HIPSCOPE_WORKER"}
        variables["XDG_STATE_HOME"] = f"{home}/state"
        variables.setdefault("XDG_CACHE_HOME", f"{home}/cache")
        await client.start_io(sys.executable, "-m", "hipscope.server", "lsp", env=variables)
        client.path, client.uri = file, file.as_uri()
        client.set_configuration({}, section="hipscope")
        await client.initialize_session(lsp_editor.parameters("vscode_1.139", folder, hipscopeExtension=True))
        client.text = file.read_text(errors="replace")
        item = lsp.TextDocumentItem(uri=client.uri, language_id="cpp", version=1, text=client.text)
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
        await asyncio.sleep(1.0)
        begun = time.monotonic()
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(text_document=client.document))
        quiet = 0.0
        kernels: list[Any] = []
        while time.monotonic() - begun < seconds and quiet < 20.0:
            await asyncio.sleep(0.5)
            quiet = quiet + 0.5 if states and states[-1] in ("idle", "error") else 0.0
        took = time.monotonic() - begun
        answer = await client.protocol.send_request_async("hipscope/kernels", {})  # type: ignore[no-untyped-call]
        kernels = lsp_editor.as_dict(answer)["kernels"]
        await asyncio.wait_for(client.shutdown_session(), 20)
        await client.stop()  # type: ignore[no-untyped-call]
    last = " / ".join(m.replace("\n", " ")[:260] for m in client.told[-2:])
    if not kernels and quiet < 20.0:
        last = f"not done in {seconds:.0f} s. {last}"
    if typed:
        last = f"asks for typed text. {last}"
    names = ", ".join(f"*{title}*" for title in clicked) or "none"
    name = "/".join(folder.parts[-2:])
    return f"| {name} | {file.relative_to(folder)} | {len(clicked)} | {took:.0f} | {len(kernels)} | {names}; {last} |"


def _with_edits(text: str, edits: Any) -> str:
    """A text with the edits of one document, which are given from the last to the first or do not touch."""
    lines = text.splitlines(keepends=True)

    def at(place: lsp.Position) -> int:
        return sum(map(len, lines[: place.line])) + place.character

    for edit in sorted(edits, key=lambda e: at(e.range.start), reverse=True):
        text = text[: at(edit.range.start)] + edit.new_text + text[at(edit.range.end) :]
    return text


if __name__ == "__main__":
    main()
