"""Nothing of a folder is built or run before the user has allowed it; keys never reach what is built or run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hipscope.analysis.system.allowed_folders import allow_folder, forbid_folder, is_allowed
from hipscope.analysis.system.process import run_process
from tests.server.command_line import Cli
from tests.server.lsp_editor import (
    COMMAND,
    ENVIRONMENT,
    PROFILE,
    PROGRAM,
    STATE,
    Editor,
    end_session,
    make_client,
    start,
    until,
)

IN_STATE = {"XDG_STATE_HOME": STATE}


@pytest.fixture
async def neovim(tmp_path: Path) -> AsyncIterator[Editor]:
    """A client without our extension, in a folder that nobody has allowed."""
    client = make_client()
    await client.start_io(*COMMAND, env=ENVIRONMENT)
    await start(client, "neovim_0.7", tmp_path, allowed=False, waitsForCommands=True)
    yield client
    await end_session(client)


async def test_a_save_runs_nothing_until_the_folder_is_allowed(neovim: Editor, tmp_path: Path) -> None:
    neovim.open()
    neovim.save()
    await until(lambda: neovim.questions)
    assert str(tmp_path) in neovim.questions[0]
    answer = await asyncio.wait_for(neovim.run(PROFILE), 20)  # by hand: asked again, and refused again
    assert answer["status"] == "failed"
    assert "hipscope allow" in answer["message"]
    assert not neovim.marks
    neovim.answer = "Allow"
    answer = await asyncio.wait_for(neovim.run(PROFILE), 20)
    assert answer["status"] == "done"
    assert is_allowed(tmp_path, IN_STATE)
    asked = len(neovim.questions)
    neovim.change(PROGRAM + "\n")
    neovim.save()
    await asyncio.wait_for(neovim.run(PROFILE), 20)
    assert len(neovim.questions) == asked


async def test_a_folder_that_is_refused_is_not_asked_about_at_each_save(neovim: Editor) -> None:
    neovim.open()
    neovim.save()
    await until(lambda: neovim.questions)
    for number in range(3):
        neovim.change(PROGRAM + "\n" * number)
        neovim.save()
    answer = await asyncio.wait_for(neovim.run(PROFILE), 20)
    assert answer["status"] == "failed"
    assert len(neovim.questions) == 2  # the first save, and the command


def test_what_lies_in_an_allowed_folder_is_allowed_and_what_lies_beside_it_is_not(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    inner, beside = tmp_path / "a" / "b", tmp_path / "ab"
    inner.mkdir(parents=True)
    beside.mkdir()
    allow_folder(tmp_path / "a", env)
    (tmp_path / "link").symlink_to(inner)
    assert [is_allowed(p, env) for p in (inner, tmp_path / "link", beside, tmp_path)] == [
        True,
        True,
        False,
        False,
    ]
    assert forbid_folder(tmp_path / "a", env)
    assert not is_allowed(inner, env)


def test_the_command_allows_lists_and_takes_back(cli: Cli, tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert "may be built and run" in cli("allow", str(tmp_path), **state).stdout
    assert str(tmp_path) in cli("allow", "--list", **state).stdout
    assert "no longer" in cli("allow", str(tmp_path), "--withdraw", **state).stdout
    assert "no folder is allowed" in cli("allow", "--list", **state).stdout
    assert cli("allow", str(tmp_path / "nothing"), **state).code == 2


@pytest.mark.parametrize(
    ("name", "kept"),
    [("OPENAI_API_KEY", False), ("GH_TOKEN", False), ("DB_PASSWORD", False), ("AWS_SECRET_ACCESS_KEY", False),
     ("TOKENIZERS_PARALLELISM", True), ("KEYBOARD", True)],
)  # fmt: skip
def test_keys_of_ours_reach_no_process(name: str, *, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "abc")
    words = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    for env in (None, {**os.environ, "OWN": "1"}):
        assert (name in json.loads(run_process(words, timeout=20, env=env).stdout)) is kept
    own = run_process(words, timeout=20, env={**os.environ, name: "of the project"}).stdout
    assert json.loads(own)[name] == "of the project"
