"""Each failure that a user meets: what and why in words of the user's own files, and the button that mends it.

The first rows are real failures of the real worker; what a test cannot break on a machine, the fake worker says.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hipscope.server.features.commands import BENCH
from hipscope.server.features.commands.repairs import said_arguments
from tests.server import warm
from tests.server.lsp_editor import (
    COMMAND,
    ENVIRONMENT,
    PROFILE,
    PROGRAM,
    Editor,
    end_session,
    make_client,
    start,
    until,
)

SECONDS = 120.0
KERNEL = "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { p[threadIdx.x] = 1; }\n"


@dataclass(frozen=True)
class Failure:
    """What is opened and profiled, what the message says, and the buttons that it has."""

    text: str
    says: tuple[str, ...]
    buttons: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """What a message without buttons says, too: what to type or run."""
    files: Mapping[str, str] = field(default_factory=dict)


def main(body: str) -> str:
    return f"#include <cstdio>\n{KERNEL}int main(int argc, char** argv) {{\n{body}\n}}\n"


REAL = {
    "syntax error": Failure(
        KERNEL.replace("= 1;", "= 1") + "int main() { return 0; }\n",
        ("expected ';'",),
        ("Go to the Error",),
        (".hip:2",),
    ),
    "bad settings": Failure(
        main("return 0;"),
        ("timout_s", "timeout_s"),
        ("Open hipscope.toml",),
        ("hipscope.toml:1",),
        {"hipscope.toml": "timout_s = 3\n"},
    ),
    "a compiler that is not there": Failure(
        main("return 0;"),
        ("/nowhere/clang++", "hipscope.toml"),
        ("Open hipscope.toml",),
        ("toolchain.clang", "correct it in hipscope.toml"),
        {"hipscope.toml": '[toolchain]\nclang = "/nowhere/clang++"\n'},
    ),
    "no main": Failure(KERNEL, ("no `main` function",), ("Write a Bench",), ("`// hipscope: bench ",)),
    "needs arguments": Failure(
        main('  if (argc < 2) { printf("usage: %s N\\n", argv[0]); return 1; }'),
        ("transpose.hip left with exit code 1. It printed: usage: ",),
        ("Set arguments...",),
        ("`// hipscope: run ARGUMENTS`",),
    ),
    "missing data": Failure(
        main('  if (!fopen("data/input.bin", "rb")) { puts("cannot read it"); return 3; }'),
        ("exit code 3", "data/input.bin"),
        ("Go to the Name of the File",),
    ),
    "a kernel that leaves its buffer": Failure(
        main("  int* p; (void)hipMalloc(&p, 64); k<<<1, 256>>>(p); return hipDeviceSynchronize() ? 1 : 0;"),
        ("hipscope: kernel k: out-of-bounds store",),
        ("Check for Defects",),
        ("`hipscope check transpose.hip`",),
    ),
    "time limit": Failure(
        main("  for (volatile int i = 0;; i = 0) {}"),
        ("1 s", "timeout_s"),
        ("Allow It More Time",),
        ("raise timeout_s in hipscope.toml",),
        {"hipscope.toml": "timeout_s = 1\n"},
    ),
}
SAID = {
    "no compiler": Failure(
        PROGRAM + "// worker: compiler\n",
        ("no compiler for AMD GPUs", "clang-19, lld-19", "apt-get install"),
        ("Install in a Terminal", "Copy the Command"),
    ),
    "disk full": Failure(
        PROGRAM + "// worker: disk\n",
        ("cannot write hipscope's cache: No space left on device",),
        ("Empty the Cache", "Profile Again"),
        ("free some space",),
    ),
    "the worker is killed": Failure(
        PROGRAM + "// worker: crash\n", ("the worker ended early",), ("Profile Again",), ("profile again",)
    ),
}


@contextlib.asynccontextmanager
async def session(tmp_path: Path, builds: Path, name: str, **options: Any) -> AsyncIterator[Editor]:
    """A client with the real worker."""
    client = make_client()
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(builds), "HIPSCOPE_WORKER": str(warm.CLIENT)}
    await client.start_io(*COMMAND, env=environment)
    folder = tmp_path / "project"
    folder.mkdir()
    await start(client, name, folder, **options)
    yield client
    await end_session(client)


@pytest.fixture
async def real(tmp_path: Path, builds: Path) -> AsyncIterator[Editor]:
    """VS Code's client with the real worker."""
    async with session(
        tmp_path, builds, "vscode_1.139", hipscopeExtension=True, profileOnSave=False
    ) as client:
        yield client


@pytest.fixture
async def plain(tmp_path: Path, builds: Path) -> AsyncIterator[Editor]:
    """eglot's client, which shows messages without buttons, with the real worker."""
    async with session(tmp_path, builds, "eglot_1.9", waitsForCommands=True, profileOnSave=False) as client:
        yield client


async def told(client: Editor, failure: Failure) -> None:
    """Profile what fails; the message has all that it has to say, and nothing of ours."""
    for name, text in failure.files.items():
        client.path.with_name(name).write_text(text)
    client.open(failure.text)
    answer = await asyncio.wait_for(client.run(PROFILE), SECONDS)
    await until(lambda: client.offered)
    message, buttons = client.offered[-1]
    assert [words for words in failure.says if words not in message] == []
    assert set(failure.buttons) <= set(buttons)
    assert answer["status"] == "failed" or answer["failure"]
    assert "_Z" not in message
    assert "/builds/" not in message
    assert "hipscope-test-" not in message


@pytest.mark.parametrize("failure", REAL.values(), ids=REAL)
async def test_a_failure_is_told_with_its_reason_and_the_button_that_mends_it(
    real: Editor, failure: Failure
) -> None:
    await told(real, failure)


@pytest.mark.parametrize("failure", SAID.values(), ids=SAID)
async def test_so_is_one_of_the_machine(client: Editor, failure: Failure) -> None:
    await told(client, failure)


async def test_the_command_of_the_package_manager_is_handed_to_the_editor(client: Editor) -> None:
    client.answers = ["Install in a Terminal"]
    client.open(PROGRAM + "// worker: compiler\n")
    await client.run(PROFILE)
    (given,) = await until(lambda: [p for m, p in client.custom if m == "hipscope/command"])
    assert given == {"command": "sudo apt-get install -y clang-19 lld-19", "how": "run", "uri": client.uri}


async def test_the_button_opens_the_place_of_the_error(client: Editor) -> None:
    client.answers = ["Go to the Error"]
    client.open(PROGRAM.replace("// find", "// worker: fail\n// find"))
    await client.run(PROFILE)
    (shown,) = await until(lambda: client.shown_documents)
    assert shown.selection is not None
    assert (shown.uri, shown.selection.start.line) == (client.uri, 3)


async def test_more_time_is_written_into_the_settings(real: Editor) -> None:
    await told(real, REAL["time limit"])
    real.answers = ["Allow It More Time"]
    await real.run(PROFILE)
    change = (await until(lambda: real.edits))[0].edit.document_changes[0]
    assert [e.new_text for e in change.edits] == ["timeout_s = 4.0"]


async def test_more_time_is_more_than_the_limit_whatever_the_message_counts(client: Editor) -> None:
    """A kernel that the program's end stopped after 1.4 s: the limit of 120 s was too short, not the 1.4 s."""
    client.answers = ["Allow It More Time"]
    client.open(PROGRAM + "// worker: late\n")
    await client.run(PROFILE)
    _, change = (await until(lambda: client.edits))[0].edit.document_changes
    assert [e.new_text for e in change.edits] == ["timeout_s = 480.0\n"]


async def told_alone(client: Editor, failure: Failure) -> None:
    """Profile what fails in a client without buttons: the message alone says what to type or run."""
    for name, text in failure.files.items():
        client.path.with_name(name).write_text(text)
    client.open(failure.text)
    await asyncio.wait_for(client.run(PROFILE), SECONDS)
    message = (await until(lambda: client.messages))[-1].message
    assert [words for words in (*failure.says, *failure.alone) if words not in message] == []
    assert client.questions == []


@pytest.mark.parametrize("failure", REAL.values(), ids=REAL)
async def test_a_client_without_buttons_is_told_in_words(plain: Editor, failure: Failure) -> None:
    await told_alone(plain, failure)


@pytest.mark.parametrize("failure", SAID.values(), ids=SAID)
async def test_so_it_is_of_the_machine(tmp_path: Path, failure: Failure) -> None:
    client = make_client()
    await client.start_io(*COMMAND, env=ENVIRONMENT)
    await start(client, "eglot_1.9", tmp_path, waitsForCommands=True)
    await told_alone(client, failure)
    await end_session(client)


async def test_data_that_appears_is_profiled_with(tmp_path: Path, builds: Path) -> None:
    async with session(tmp_path, builds, "vscode_1.139", hipscopeExtension=True) as client:
        await told(client, REAL["missing data"])
        data = client.path.with_name("data")
        data.mkdir()
        client.change_on_disk(data / "input.bin", "1")
        await until(lambda: any("launched no kernel" in message for message, _ in client.offered))


async def test_the_cache_is_emptied_and_the_program_profiled_again(client: Editor) -> None:
    client.answers = ["Empty the Cache"]
    client.open(PROGRAM + "// worker: disk\n")
    await client.run(PROFILE)
    await until(lambda: len(client.offered) == 2)
    assert any("the cache is empty" in m.message for m in client.messages)


async def test_a_bench_that_was_written_is_profiled(client: Editor) -> None:
    client.open(PROGRAM.partition("int main")[0])
    answer = await client.run(BENCH, kernel="transpose")
    assert "is profiled" in str(answer["message"])
    client.change(f"// hipscope: bench transpose grid=n block=256 p=[n] n=65536\n{client.text}")
    assert (await until(lambda: client.marks))["bankConflict"]


@pytest.mark.parametrize(
    ("output", "given"),
    [
        ('not implemented: use the event-based method with "-m event" argument.\n', [("-m", "event")]),
        ("Usage: nbody N STEPS\nExample: ./nbody 1024 10\n", [("1024", "10")]),
        ("usage: ./main [-s size] file\n", []),
        ("it's a 'quoted' word, and \"-\" alone\n", []),
    ],
)
def test_arguments_that_a_program_proposes_are_buttons(output: str, given: list[tuple[str, ...]]) -> None:
    assert said_arguments(output) == given
