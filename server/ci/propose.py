"""A verified edit as a branch and a pull request, made in a repository of its own: nothing of the checkout runs.

The branch must still be at the commit that the edit was verified on, and its file must be the one that was judged.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import ProcessStreams, run_process
from hipscope.server.ci.comment import edit_body, edit_title
from hipscope.server.ci.github import GitHub, GitHubRefused
from hipscope.server.ci.workflow import Workflow
from hipscope.server.reports.schema.optimize import EditPart, Optimization

_SECONDS = 300.0
_FILE_MODE = "100644"


def propose(
    hub: GitHub, flow: Workflow, found: Optimization, program: str, remote: str | None, token: str
) -> str:
    """Open a pull request with the edit against the branch, or renew the one that is there; what was done.

    Raises HipscopeError.
    """
    if found.status != "verified" or found.edit is None:
        return "no verified edit: no pull request is opened"
    if not flow.branch:
        raise UsageError("the workflow is of no branch", "`optimize: true` is for pushes and pull requests")
    verified_on = _commit(flow.head)
    with work_directory("proposal") as folder:
        git = _Git(folder, remote or f"{flow.server}/{flow.repository}.git", token, flow.server)
        git.run("init", "--quiet", "--bare", ".")
        git.run("fetch", "--quiet", "--depth=1", git.remote, f"refs/heads/{flow.branch}")
        tip = git.run("rev-parse", "FETCH_HEAD").strip()
        if tip != verified_on:
            return f"{flow.branch} has moved since the edit was verified: no pull request is opened"
        name = f"hipscope/{_digest(found.edit.parts)[:12]}"
        git.run("read-tree", tip)
        for part in found.edit.parts:
            _apply(git, tip, part)
        tree = git.run("write-tree").strip()
        title = edit_title(found)
        commit = git.run("commit-tree", tree, "-p", tip, "-m", title).strip()
        git.run("push", "--quiet", "--force", git.remote, f"{commit}:refs/heads/{name}")
    return _open(hub, flow, name, title, edit_body(found, program))


def _open(hub: GitHub, flow: Workflow, name: str, title: str, body: str) -> str:
    """The pull request of a branch, new or with its text renewed."""
    pulls = f"/repos/{flow.repository}/pulls"
    try:
        made = hub.call("POST", pulls, {"title": title, "head": name, "base": flow.branch, "body": body})
        return f"opened #{int(made['number'])} with the edit"
    except GitHubRefused as refusal:
        if refusal.status != 422:
            raise
        owner = flow.repository.partition("/")[0]
        there = hub.call("GET", f"{pulls}?state=open&head={quote(f'{owner}:{name}')}")
        if not there:
            raise
        number = int(there[0]["number"])
        hub.call("PATCH", f"{pulls}/{number}", {"title": title, "body": body})
        return f"renewed #{number} with the edit"


def _apply(git: _Git, tip: str, part: EditPart) -> None:
    """Put the new text of one file into the index. Raises UsageError where the file is not the one that was judged."""
    path = _in_repository(Path(part.file))
    mode, kind, _ = (git.run("ls-tree", tip, "--", path) or " - -").split(maxsplit=2)
    if kind != "blob" or mode == "120000":
        raise UsageError(f"{path} is no file of the branch")
    text = git.raw("cat-file", "blob", f"{tip}:{path}")
    if hashlib.sha256(text).hexdigest() != part.original_sha256:
        raise UsageError(f"{path} is not the file that the edit was verified on")
    changed = text[: part.start_byte] + part.new_text.encode() + text[part.end_byte :]
    blob = git.raw("hash-object", "-w", "--stdin", given=changed).decode().strip()
    git.run("update-index", "--cacheinfo", f"{mode},{blob},{path}")


def _in_repository(file: Path) -> str:
    """The path of a file below the workspace. Raises UsageError for one outside."""
    top = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    if not file.is_absolute() or ".." in file.parts or not file.is_relative_to(top):
        raise UsageError(f"{file} is outside of the repository")
    path = file.relative_to(top)
    if path.parts[0] in (".git", ".github"):
        raise UsageError(f"{path} is no file that an edit may change")
    return path.as_posix()


def _digest(parts: Sequence[EditPart]) -> str:
    whole = "\0".join(f"{p.file}\0{p.original_sha256}\0{p.start_byte}\0{p.new_text}" for p in parts)
    return hashlib.sha256(whole.encode()).hexdigest()


def _commit(revision: str) -> str:
    done = run_process(
        ["git", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"], timeout=30.0
    )
    if done.returncode != 0:
        raise UsageError(f"{revision[:80]} is no commit of the checkout")
    return done.stdout.decode().strip()


@dataclass(frozen=True)
class _Git:
    """Git in a new repository, without the settings of the machine, the user or the checkout."""

    folder: Path
    remote: str
    token: str
    server: str

    def run(self, *words: str) -> str:
        """What a command prints. Raises HipscopeError."""
        return self.raw(*words).decode("utf-8", "replace")

    def raw(self, *words: str, given: bytes = b"") -> bytes:
        """The same as bytes; `given` is its input."""
        secret = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_INDEX_FILE": str(self.folder / "index-of-the-edit"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.server}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {secret}",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "hipscope"), ("EMAIL", "hipscope@users.noreply.github.com"))
            },
        }
        done = run_process(
            ["git", *words], timeout=_SECONDS, cwd=self.folder, env=env, given=ProcessStreams(input=given)
        )
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().replace(secret, "***")
            raise HipscopeError(f"git {words[0]} failed: {said[-300:]}")
        return done.stdout
