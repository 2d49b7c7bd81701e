"""The editor's whole way with nothing faked: compiler, emulator, formulas, proof, edit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import cmake
import pytest
from lsprotocol import types as lsp

from hipscope.server.jobs import tasks
from hipscope.server.reports.schema.fields import to_json
from tests.server import warm
from tests.server.lsp_editor import (
    COMMAND,
    DIRECTLY,
    ENVIRONMENT,
    OPTIMIZE,
    PROFILE,
    SERVER,
    Editor,
    alive,
    end_session,
    make_client,
    start,
    until,
)
from tests.unsaved import unsaved

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 180.0
SLOW = (EXAMPLES / "lds_column_read.hip").read_text()
SIZE = "width = 1530, height = 1070"
BROKEN = (
    "#include <hip/hip_runtime.h>\n__global__ void k(float* p) { p[0] = 1.0f }\nint main() { return 0; }\n"
)
ENDLESS = """\
#include <hip/hip_runtime.h>
__global__ void k(int* p) { p[threadIdx.x] = 1; }
int main() {
  int* p;
  (void)hipMalloc(&p, 256);
  k<<<1, 64>>>(p);
  (void)hipDeviceSynchronize();
  for (volatile int i = 0;; i = 0) {}
}
"""


@pytest.fixture
async def editor(tmp_path: Path, builds: Path) -> AsyncIterator[Editor]:
    """VS Code's client with the real server and worker."""
    async with opened(tmp_path, builds, COMMAND, HIPSCOPE_WORKER=str(warm.CLIENT)) as client:
        yield client


@pytest.fixture
async def installed(tmp_path: Path, builds: Path) -> AsyncIterator[Editor]:
    """The same, started as they are installed."""
    async with opened(tmp_path, builds, SERVER) as client:
        yield client


@contextlib.asynccontextmanager
async def opened(
    folder: Path, cache: Path, command: Sequence[str], **variables: str
) -> AsyncIterator[Editor]:
    client = make_client()
    environment = {
        **{name: value for name, value in ENVIRONMENT.items() if name != "HIPSCOPE_WORKER"},
        "XDG_CACHE_HOME": str(cache),
        "PATH": f"{cmake.CMAKE_BIN_DIR}{os.pathsep}{os.environ['PATH']}",
        **variables,
    }
    await client.start_io(*command, env=environment)
    client.set_configuration(DIRECTLY, section="hipscope")
    await start(client, "vscode_1.139", folder, hipscopeExtension=True, profileOnSave=False)
    client.set_configuration({"profileOnSave": False, **DIRECTLY}, section="hipscope")
    yield client
    if client.capabilities is not None:
        await end_session(client)


STRIDED = """\
#include <hip/hip_runtime.h>
__global__ void gather(const float* in, float* out, int ld) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  /* größe 𝒙 */ out[i] = in[i * ld];
}
int main() {
  float *in, *out;
  (void)hipMalloc(&in, 64 * 16384 * 4);
  (void)hipMalloc(&out, 16384 * 4);
  gather<<<64, 256>>>(in, out, 64);
  return hipDeviceSynchronize();
}
"""
# What a worker does that has already made its report.
MADE_BEFORE = """
import json, sys
sys.stdin.readline()
print(json.dumps({"type": "result", "report": json.load(open(sys.argv[0] + ".json"))}))
"""


@pytest.fixture(scope="module")
def strided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder whose program the editor has not saved, and a worker that has its real report."""
    folder = tmp_path_factory.mktemp("strided")
    file, worker = folder / "transpose.hip", folder / "worker.py"
    file.write_text("// not saved yet\nint main() {}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        request = tasks.TaskRequest(file, backend="emulator")
        report = tasks.profile(request, unsaved(file, STRIDED.encode()))
    worker.write_text(MADE_BEFORE)
    worker.with_name("worker.py.json").write_text(json.dumps(to_json(report)))
    return folder, worker


@pytest.mark.parametrize("encoding", list(lsp.PositionEncodingKind))
async def test_an_expression_behind_wide_letters_is_underlined_exactly(
    strided: tuple[Path, Path], encoding: lsp.PositionEncodingKind
) -> None:
    folder, worker = strided
    client = make_client()
    environment = {
        **ENVIRONMENT,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HIPSCOPE_WORKER": str(worker),
    }
    await client.start_io(*COMMAND, env=environment)
    try:
        client.set_configuration(DIRECTLY, section="hipscope")
        await start(client, "vscode_1.139", folder, encoding, profileOnSave=False, waitsForCommands=True)
        client.open(STRIDED)
        answer = await asyncio.wait_for(client.run(PROFILE), SECONDS)
        assert (answer["status"], answer["findings"]) == ("done", 1)
        mark = (await until(lambda: client.marks))["memoryAccess"]
        number = STRIDED.splitlines().index("  /* größe 𝒙 */ out[i] = in[i * ld];")
        assert (mark.range.start.line, mark.range.end.line) == (number, number)
        assert part(STRIDED.splitlines()[number], mark.range, encoding) == "in[i * ld]"
    finally:
        await end_session(client)


def part(line: str, span: lsp.Range, encoding: lsp.PositionEncodingKind) -> str:
    """The text of a range within one line, by the client's own reckoning."""
    codec, width = {
        lsp.PositionEncodingKind.Utf8: ("utf-8", 1),
        lsp.PositionEncodingKind.Utf16: ("utf-16-le", 2),
        lsp.PositionEncodingKind.Utf32: ("utf-32-le", 4),
    }[encoding]
    data = line.encode(codec)
    return data[width * span.start.character : width * span.end.character].decode(codec)


def expected(text: str) -> tuple[int, str]:
    """The line (from 0) that an example marks, and its formula."""
    for number, line in enumerate(text.splitlines()):
        if "// hipscope: expect " in line:
            return number, line.rpartition(" ")[2]
    raise AssertionError("the example marks no line")


@pytest.mark.slow
async def test_an_example_is_profiled_marked_rewritten_and_clean_afterwards(editor: Editor) -> None:
    text = SLOW.replace(SIZE, "width = 765, height = 535")
    line, formula = expected(text)
    editor.open(text)
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert (answer["status"], answer["findings"]) == ("done", 1)
    mark = (await until(lambda: editor.marks))[formula]
    assert mark.range.start.line == line
    assert mark.severity == lsp.DiagnosticSeverity.Warning

    answer = await asyncio.wait_for(editor.run(OPTIMIZE, position={"line": line, "character": 8}), SECONDS)
    assert (answer["status"], answer["applied"]) == ("verified", True), answer["message"]
    assert answer["speedup"] > 1.03

    editor.change(applied(text, editor.edits[0].edit))
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert (answer["status"], answer.get("findings")) == ("done", 0), answer
    await until(lambda: formula not in editor.marks)


MAKEFILE = """\
transpose: transpose.o
\thipcc transpose.o -o transpose
transpose.o: transpose.hip Makefile
\thipcc -std=c++17 -O3 -c transpose.hip -o transpose.o
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(transpose CXX)
set_source_files_properties(transpose.hip PROPERTIES LANGUAGE CXX)
add_executable(transpose transpose.hip)
target_compile_features(transpose PRIVATE cxx_std_17)
"""
CMAKE_BUILD = (
    "cmake -S . -B out -DCMAKE_CXX_COMPILER=hipcc -DCMAKE_BUILD_TYPE=Release && cmake --build out --parallel"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "build", "run"),
    [
        ("Makefile", MAKEFILE, "make", "./transpose"),
        ("CMakeLists.txt", CMAKE, CMAKE_BUILD, "./out/transpose"),
    ],
)
async def test_a_project_with_a_build_of_its_own_is_prepared_and_rewritten(
    editor: Editor, tmp_path: Path, builds: Path, name: str, text: str, build: str, run: str
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "hipscope.toml").write_text(f'backend = "emulator"\nbuild = "{build}"\nrun = "{run}"\n')
    source = SLOW.replace(SIZE, "width = 250, height = 130")
    earlier = prepared_in(builds)
    line, _ = expected(source)
    editor.open(source)
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert (answer["status"], answer["findings"]) == ("done", 1)
    (entry,) = await until(lambda: prepared_in(builds, earlier), SECONDS)

    answer = await asyncio.wait_for(editor.run(OPTIMIZE, position={"line": line, "character": 8}), SECONDS)
    assert (answer["status"], answer["applied"]) == ("verified", True), answer["message"]
    assert not any("recording" in progress for progress in editor.progress_texts)
    assert prepared_in(builds, earlier) == [entry]

    editor.change(applied(source, editor.edits[0].edit))
    editor.save()
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert (answer["status"], answer["findings"]) == ("done", 0)


def prepared_in(cache: Path, earlier: Sequence[Path] = ()) -> list[Path]:
    """What has been prepared and lies in its place, and was not there `earlier`."""
    found = sorted(cache.glob("hipscope/prepared/*/*"))
    return [entry for entry in found if not entry.name.startswith(".") and entry not in earlier]


async def test_a_clean_example_has_no_mark_louder_than_a_hint(editor: Editor) -> None:
    text = (EXAMPLES / "tiled_transpose.hip").read_text()
    editor.open(text.replace("width = 2310, height = 1930", "width = 1155, height = 965"))
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert (answer["status"], answer["findings"]) == ("done", 0)
    assert all(d.severity == lsp.DiagnosticSeverity.Hint for d in editor.diagnostics.get(editor.uri, []))


async def test_the_compilers_error_stands_on_its_line(editor: Editor) -> None:
    editor.open(BROKEN)
    answer = await asyncio.wait_for(editor.run(PROFILE), SECONDS)
    assert answer["status"] == "failed"
    mark = (await until(lambda: editor.marks))["compile"]
    assert (mark.range.start.line, mark.severity) == (1, lsp.DiagnosticSeverity.Error)
    assert "expected ';'" in mark.message


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_is_killed_takes_the_profiled_program_with_it(
    installed: Editor, how: signal.Signals
) -> None:
    editor = installed
    editor.open(ENDLESS)
    job = asyncio.create_task(editor.run(PROFILE))
    server = editor._server
    assert server is not None
    program = await until(lambda: running_program(server.pid), SECONDS)
    server.send_signal(how)
    await until(lambda: not alive(program))
    await asyncio.wait_for(server.wait(), 10)
    editor.capabilities = None
    job.cancel()
    await editor.stop()  # type: ignore[no-untyped-call]


def running_program(ancestor: int) -> int | None:
    """The profiled program below a process, once it runs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = (int(fields[1]), (entry / "exe").readlink().name)
            except OSError:
                continue
    for pid, (_, name) in parents.items():
        above = pid
        while above in parents and above != ancestor:
            above = parents[above][0]
        if above == ancestor and name == "program":
            return pid
    return None


def applied(text: str, edit: lsp.WorkspaceEdit) -> str:
    """The text with an edit of one line range, as an editor would apply it (ASCII files only)."""
    assert edit.document_changes is not None
    change = edit.document_changes[0]
    assert isinstance(change, lsp.TextDocumentEdit)
    assert text.isascii()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    one = change.edits[0]
    assert isinstance(one, lsp.TextEdit | lsp.AnnotatedTextEdit)
    begin = starts[one.range.start.line] + one.range.start.character
    end = starts[one.range.end.line] + one.range.end.character
    return text[:begin] + one.new_text + text[end:]
