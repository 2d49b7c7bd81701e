"""Whatever is opened, typed, saved, renamed, deleted or checked out: at rest every mark is that of a fresh profile.

A session runs in this process, with a worker that answers from the text at once. What it says of a kernel names all
that the kernel depends on, so that a mark of other inputs is seen.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pygls.protocol import default_converter

from hipscope.analysis.system.allowed_folders import allow_folder
from hipscope.server.app import create_server
from hipscope.server.features.diagnostics import ClientSide, build
from hipscope.server.jobs.jobs import JobFailed
from hipscope.server.jobs.messages import JobError, JobRequest
from hipscope.server.reports.report_reader import read_report
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.known_profiles import Marks
from tests.server.lsp_editor import parameters

NAMES = ("k.hip", "moved.hip", "sizes.h", "hipscope.toml", "data.csv")
TEXTS: Mapping[str, tuple[str, ...]] = {
    "sizes.h": tuple(f"// of LDS\n__device__ float side() {{ return {n}; }}\n" for n in range(2)),
    "hipscope.toml": ("", "flags = []\n"),
    "data.csv": ("1530\n", "3000\n"),
}
SAVED = ("hipscope.toml", "data.csv")
STALE = "stale, profile again"
CONVERTER = default_converter()  # type: ignore[no-untyped-call]

host, alpha, beta, moved = (st.integers(0, 1) for _ in range(4))


def program(host: int, alpha: int, beta: int, moved: int) -> str:
    return f"""\
{chr(10) * moved}// remark {moved}
#include "sizes.h"
const int kRuns = {host};
__global__ void alpha(float* p, int n) {{
  p[n] = p[0] * side() * {alpha};  // cost 0.6 lds // find bankConflict
}}

__global__ void beta(float* p, int n) {{
  p[n] = p[1] + {beta};  // cost 0.9 global_memory // find uncoalesced
}}
int main() {{ alpha<<<kRuns, 64>>>(nullptr, 0); }}
"""


def profile(fake: ModuleType, main: Path, read: Callable[[Path], str | None]) -> dict[str, Any]:
    """What a worker says of the program: the message of each finding is all that its kernel depends on."""
    text, header = read(main), main.with_name("sizes.h")
    assert text is not None
    with mock.patch.object(Path, "read_text", lambda path: read(path) or ""):
        data: dict[str, Any] = fake.profile(str(main), text)
    inputs = {str(main.with_name(name)): read(main.with_name(name)) for name in (main.name, *TEXTS)}
    data["inputs"]["files"] = {name: digest(content) for name, content in inputs.items()}
    data["sources"] = {name: digest(inputs[name]) for name in (str(main), str(header))}
    around = re.sub(r"__global__.*?^}|//[^\n]*|\s", "", text, flags=re.DOTALL | re.MULTILINE)
    for kernel, found in zip(data["kernels"], data["findings"], strict=True):
        own = text.splitlines()[kernel["line"] - 1 : kernel["end_line"]]
        found["message"] = repr((around, own, [inputs[str(main.with_name(n))] for n in TEXTS]))
    data["kernels"][0]["lines"].append({**data["kernels"][0]["lines"][0], "file": str(header), "line": 2})
    return data


def digest(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


class Session:
    """An editor with documents, the disk, and the server in one process."""

    def __init__(self, folder: Path, fake: ModuleType) -> None:
        self.folder, self.fake, self.server = folder, fake, create_server()
        self.documents: dict[str, tuple[int, str]] = {}
        self.shown: dict[str, list[Any]] = {}
        self.watched: set[str] = set()
        # A converter compiles a function for each class that it meets; those of an earlier session are as good.
        self.server.protocol._converter = CONVERTER
        self.server.protocol.set_writer(self, include_headers=False)

    def write(self, data: bytes) -> None:
        """What the server sends."""
        message = json.loads(data)
        if message.get("method") == lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS:
            self.shown[message["params"]["uri"]] = message["params"]["diagnostics"]
        if message.get("method") == lsp.CLIENT_REGISTER_CAPABILITY:
            (registration,) = message["params"]["registrations"]
            patterns = [w["globPattern"] for w in registration["registerOptions"]["watchers"]]
            self.watched = {f"{p['baseUri']}/{p['pattern']}" for p in patterns}
        if "method" in message and "id" in message:
            asked = message["method"] == lsp.WORKSPACE_CONFIGURATION
            # Notes of a compile alone would start a real compiler on each open and save.
            quiet = {"notesWithoutRun": False}
            result = [quiet for _ in message["params"]["items"]] if asked else None
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            asyncio.get_running_loop().call_soon(self.tell, answer)

    def close(self) -> None:
        """A writer can be closed."""

    def tell(self, message: object) -> None:
        self.server.protocol.handle_message(self.server.protocol.structure_message(message))  # type: ignore[arg-type]

    def send(self, method: str, **params: Any) -> None:
        self.tell({"jsonrpc": "2.0", "method": method, "params": params})

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def disk(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_bytes().decode() if path.exists() else None

    def text(self, name: str) -> str | None:
        """What a build and a run would read: sources as they are typed, settings and data as they are saved."""
        typed = name in self.documents and name not in SAVED
        return self.documents[name][1] if typed else self.disk(name)

    def dirty(self, name: str) -> bool:
        return name in self.documents and self.documents[name][1] != self.disk(name)

    async def start(self) -> None:
        given = parameters("vscode_1.139", self.folder)
        params = self.server.protocol._converter.unstructure(given)
        self.tell({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        await self.rest()
        self.send("initialized")
        await self.rest()

    async def rest(self) -> None:
        """Until nothing is under way; timers are set to zero."""
        quiet = 0
        while quiet < 4:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            quiet = 0 if others else quiet + 1
            await (asyncio.wait(others, timeout=1) if others else asyncio.sleep(0))

    async def worker(self, request: JobRequest, _progress: object, **_: object) -> dict[str, Any]:
        await asyncio.sleep(0)
        assert request.file is not None

        def read(path: Path) -> str | None:
            return request.overlays.get(str(path)) or self.disk(path.name)

        if self.disk("sizes.h") is None or not Path(request.target).exists():
            raise JobFailed(JobError("sizes.h is not found", 4))
        return profile(self.fake, Path(request.target), read)

    # What a user does.

    def open(self, name: str) -> None:
        text = self.disk(name)
        if text is not None and name not in self.documents:
            self.documents[name] = (1, text)
            item = {"uri": self.uri(name), "languageId": "hip", "version": 1, "text": text}
            self.send(lsp.TEXT_DOCUMENT_DID_OPEN, textDocument=item)

    def close_document(self, name: str) -> None:
        if self.documents.pop(name, None):
            self.send(lsp.TEXT_DOCUMENT_DID_CLOSE, textDocument={"uri": self.uri(name)})

    def type(self, name: str, text: str) -> None:
        if name in self.documents:
            version = self.documents[name][0] + 1
            self.documents[name] = (version, text)
            document = {"uri": self.uri(name), "version": version}
            self.send(lsp.TEXT_DOCUMENT_DID_CHANGE, textDocument=document, contentChanges=[{"text": text}])

    def save(self, name: str) -> None:
        if name in self.documents and self.disk(name) is not None:
            (self.folder / name).write_text(self.documents[name][1])
            self.send(lsp.TEXT_DOCUMENT_DID_SAVE, textDocument={"uri": self.uri(name)})

    def check_out(self, name: str, text: str | None) -> None:
        """Another program writes or deletes the file; an editor without changes of its own follows."""
        before, path = self.disk(name), self.folder / name
        follows = name in self.documents and not self.dirty(name)
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)
        if follows and text is not None and text != before:
            self.type(name, text)
        if self.uri(name) in self.watched and text != before:
            kind = 1 if before is None else 3 if text is None else 2
            self.send(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, changes=[{"uri": self.uri(name), "type": kind}])

    def rename(self, old: str, new: str) -> None:
        if self.disk(old) is None or self.disk(new) is not None:
            return
        was_open = old in self.documents
        if was_open:
            self.save(old)
        (self.folder / old).rename(self.folder / new)
        self.close_document(old)
        self.send(lsp.WORKSPACE_DID_RENAME_FILES, files=[{"oldUri": self.uri(old), "newUri": self.uri(new)}])
        if was_open:
            self.open(new)

    # What must hold.

    def check(self) -> None:
        for uri, diagnostics in self.shown.items():
            name = uri.rpartition("/")[2]
            if self.disk(name) is None:
                assert diagnostics == [], f"marks in {name}, which is gone"
                continue
            wrong = {seen(d) for d in diagnostics if STALE not in d["message"]} - self.fresh(name)
            assert not wrong, f"marks in {name} that no fresh profile has"

    def fresh(self, name: str) -> set[tuple[int, str, str]]:
        """The marks in that file of profiles that would be made now."""
        found = set()
        for main in NAMES[:2]:
            if self.text(main) is None or self.disk(main) is None or self.disk("sizes.h") is None:
                continue
            report = read_report(profile(self.fake, self.folder / main, lambda path: self.text(path.name)))
            text = self.documents[name][1] if name in self.documents else self.disk(name)
            assert text is not None
            marks = Marks(report, str(self.folder / name), text, text)
            client = ClientSide(related=True, links=True)
            found |= {
                (d.range.start.line, str(d.code), d.message)
                for d in build(marks, (), text, EditorSettings(), client)
            }
        return found

    def check_complete(self, name: str) -> None:
        """After a save with nothing unsaved, the marks are all those of a fresh profile."""
        if self.disk("sizes.h") is not None and not any(map(self.dirty, NAMES)):
            assert {seen(d) for d in self.shown.get(self.uri(name), [])} == self.fresh(name)


def seen(diagnostic: dict[str, Any]) -> tuple[int, str, str]:
    return diagnostic["range"]["start"]["line"], diagnostic["code"], diagnostic["message"]


Step = tuple[str, tuple[Any, ...]]
mains = st.sampled_from(NAMES[:2])
other = st.sampled_from(sorted(TEXTS)).flatmap(lambda n: st.tuples(st.just(n), st.sampled_from(TEXTS[n])))
programs = st.tuples(mains, st.builds(program, host, alpha, beta, moved))
steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("open"), st.tuples(st.sampled_from(NAMES))),
    st.tuples(st.just("close_document"), st.tuples(st.sampled_from(NAMES))),
    st.tuples(st.just("type"), st.one_of(programs, programs, other)),
    st.tuples(st.just("save"), st.tuples(st.sampled_from(NAMES))),
    st.tuples(st.just("save"), st.tuples(mains)),
    st.tuples(st.just("check_out"), st.one_of(programs, other)),
    st.tuples(st.just("check_out"), st.tuples(st.sampled_from(NAMES), st.none())),
    st.tuples(st.just("rename"), st.sampled_from([NAMES[:2], NAMES[1::-1]])),
)


async def follow(sequence: list[Step], folder: Path, fake: ModuleType) -> None:
    session = Session(folder, fake)
    (folder / "k.hip").write_text(program(0, 0, 0, 0))
    (folder / "sizes.h").write_text(TEXTS["sizes.h"][0])
    module = "hipscope.server.session.project_job.run_worker"
    with mock.patch(module, session.worker):
        await session.start()
        first: list[Step] = [("open", ("k.hip",)), ("save", ("k.hip",))]
        for what, arguments in [*first, *sequence]:
            getattr(session, what)(*arguments)
            await session.rest()
            session.check()
            if what == "save" and arguments[0] in NAMES[:2] and arguments[0] in session.documents:
                session.check_complete(arguments[0])


def run(sequence: list[Step], fake: ModuleType) -> None:
    async def nothing(*_: object, **__: object) -> dict[str, bool]:
        return {"prepared": False}

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name).resolve() / "project"
        folder.mkdir()
        for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.setenv(variable, str(folder.parent / variable))
        patch.setattr("hipscope.server.features.documents._QUIET_SECONDS", 0.0)
        patch.setattr("hipscope.server.features.commands.profile.run_worker", nothing)
        patch.setattr("hipscope.server.jobs.jobs.Spare.keep", nothing)
        # Full collections of all that pytest holds.
        for module in ("lifecycle", "documents", "commands.profile"):
            patch.setattr(f"hipscope.server.features.{module}.set_aside_what_stays", lambda: None)
        allow_folder(folder)
        asyncio.run(follow(sequence, folder, fake))


def test_a_data_file_that_is_open_and_deleted_counts_as_deleted(fake: ModuleType) -> None:
    gone: list[Step] = [("check_out", ("data.csv", "1530\n")), ("open", ("data.csv",))]
    run([*gone, ("check_out", ("data.csv", None))], fake)


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=25, deadline=None, suppress_health_check=CHECKS)
@given(st.lists(steps, max_size=10))
def test_at_rest_every_shown_mark_is_that_of_a_fresh_profile(fake: ModuleType, sequence: list[Step]) -> None:
    run(sequence, fake)


@pytest.mark.slow
@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None, suppress_health_check=CHECKS)
@given(st.lists(steps, max_size=14))
def test_at_rest_every_shown_mark_is_that_of_a_fresh_profile_in_300_sequences(
    fake: ModuleType, sequence: list[Step]
) -> None:
    run(sequence, fake)


def test_data_of_another_program_counts_whatever_an_open_document_says(fake: ModuleType) -> None:
    again: list[Step] = [("check_out", ("data.csv", "3000\n")), ("open", ("data.csv",))]
    run([*again, ("check_out", ("data.csv", None)), ("check_out", ("data.csv", "1530\n"))], fake)
