"""What is published: one comment, updated in place, a pull request with a verified edit, and what GitHub refuses."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.errors import HipscopeError
from hipscope.server.ci import github
from hipscope.server.ci.comment import MARK, code, comparison_comment, edit_body
from hipscope.server.ci.github import GitHub, GitHubRefused
from hipscope.server.ci.publish import publish
from hipscope.server.ci.workflow import Workflow
from hipscope.server.reports.schema.compare import ComparedProgram, CompareReport, PassedLimit
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.optimize import Edit, Optimization
from tests.server.ci.stand_in import TOKEN, Hub, checkout_with_remote, commit, git, hub_running
from tests.server.records import attempt, optimization

HOSTILE = "a|b</code><script>alert(1)</script>\n# @someone ![x](http://e.vil) `c` [l](javascript:1) <!-- -->"
REPOSITORY = "owner/project"
SOURCE = "__global__ void k() {}\nint main() {}\n"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_running() as running:
        yield running


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    work, bare = checkout_with_remote(tmp_path, {"k.hip": SOURCE})
    monkeypatch.chdir(work)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(work))
    return work, bare


def environment(tmp_path: Path, hub: Hub, **changes: str) -> dict[str, str]:
    event = tmp_path / "event.json"
    of_fork = changes.pop("fork", "")
    head = {"ref": "main", "repo": {"full_name": "other/project" if of_fork else REPOSITORY}}
    event.write_text(json.dumps({"pull_request": {"number": 3, "base": {"sha": "HEAD"}, "head": head}}))
    return {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_API_URL": hub.address,
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "HIPSCOPE_RESULTS": str(tmp_path),
        "HIPSCOPE_TOKEN": TOKEN,
        **changes,
    }


def compared(tmp_path: Path, program: str = "k.hip") -> CompareReport:
    limit = PassedLimit("time>5%", program, "k", "takes 11.0% more time")
    report = CompareReport(
        "base", "head", "modelled", (ComparedProgram(program, (), None),), ("time>5%",), (limit,)
    )
    (tmp_path / "compare.json").write_text(json.dumps(to_json(report)))
    return report


def verified(work: Path, text: str = SOURCE, file: str = "k.hip") -> Optimization:
    at = text.index("{}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return optimization(
        status="verified",
        message=HOSTILE,
        kernel="k()",
        speedup=1.5,
        gpu_speedup=1.2,
        edit=Edit(str(work / file), digest, at, at + 2, "{ /* faster */ }", ()),
        attempts=(attempt(title=HOSTILE, reason="slower"),),
    )


def published(tmp_path: Path, hub: Hub, **changes: str) -> list[str]:
    env = environment(tmp_path, hub, **changes)
    return publish(Workflow.of(env), env)


def test_the_comment_is_made_once_and_then_updated_in_place(tmp_path: Path, hub: Hub) -> None:
    compared(tmp_path)
    hub.comments += [{"id": n, "body": "chat", "user": {"type": "User"}} for n in range(120)]
    hub.comments.append({"id": 500, "body": f"{MARK} not ours", "user": {"type": "User"}})
    assert published(tmp_path, hub) == ["commented on #3"]
    assert published(tmp_path, hub) == ["updated the comment on #3"]
    ours = [c for c in hub.comments if c["user"]["type"] == "Bot"]
    assert len(ours) == 1
    assert ours[0]["body"].startswith(MARK)
    assert "takes 11&#46;0% more time" in ours[0]["body"]
    assert hub.written[-1] == ("PATCH", f"/repos/{REPOSITORY}/issues/comments/{ours[0]['id']}")
    assert hub.tokens == {f"Bearer {TOKEN}"}
    assert "1 limit passed" in (tmp_path / "summary.md").read_text()


def test_a_pull_request_of_a_fork_is_only_read(tmp_path: Path, hub: Hub) -> None:
    compared(tmp_path)
    (said,) = published(tmp_path, hub, fork="yes", HIPSCOPE_OPTIMIZE="true")
    assert "fork" in said
    assert hub.asked == []
    assert (tmp_path / "summary.md").is_file()


@pytest.mark.parametrize(
    ("status", "words"), [(401, "expired"), (403, "permissions"), (404, "not there"), (422, "wrong")]
)
def test_a_refusal_is_one_line_with_what_to_do_and_without_the_token(
    tmp_path: Path, hub: Hub, status: int, words: str
) -> None:
    compared(tmp_path)
    hub.refusals.append((status, {}, {"message": "No\nway", "errors": [{"message": "too long"}]}))
    with pytest.raises(GitHubRefused, match=words) as refused:
        published(tmp_path, hub)
    assert str(refused.value).startswith(f"GitHub refused GET /repos/{REPOSITORY}")
    assert "No way; too long" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert TOKEN not in str(refused.value)
    assert len(hub.asked) == 1


def test_a_short_limit_of_rate_is_waited_for_and_a_long_one_is_named(hub: Hub) -> None:
    waited: list[float] = []
    api = GitHub(hub.address, TOKEN, waited.append)
    hub.refusals += [(429, {"Retry-After": "7"}, {}), (502, {}, {})]
    assert list(api.all("/repos/a/b/issues/1/comments")) == []
    assert waited == [7.0, 1.0]
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    hub.refusals.append((403, reset, {"message": "API rate limit exceeded"}))
    with pytest.raises(GitHubRefused, match="limit of requests ends in"):
        api.call("GET", "/repos/a/b")
    assert len(waited) == 2
    assert TOKEN not in repr(api)


def test_a_redirect_does_not_take_the_token_elsewhere(hub: Hub) -> None:
    with hub_running() as other:
        hub.refusals.append((302, {"Location": f"{other.address}/x"}, {}))
        with pytest.raises(GitHubRefused):
            GitHub(hub.address, TOKEN).call("GET", "/repos/a/b")
        assert other.asked == []


def test_a_server_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "_TRIES", 1)
    with pytest.raises(GitHubRefused, match="cannot be reached"):
        GitHub("http://127.0.0.1:1", TOKEN, lambda _: None).call("GET", "/")


def test_an_edit_becomes_a_pull_request_and_is_renewed(
    tmp_path: Path, hub: Hub, checkout: tuple[Path, Path]
) -> None:
    work, bare = checkout
    compared(tmp_path)
    (tmp_path / "optimize.json").write_text(json.dumps(to_json(verified(work))))
    asked = {"HIPSCOPE_OPTIMIZE": "true", "HIPSCOPE_REMOTE": str(bare)}
    assert published(tmp_path, hub, **asked)[1] == "opened #7 with the edit"
    assert published(tmp_path, hub, **asked)[1] == "renewed #7 with the edit"
    (pull,) = hub.pulls
    assert pull["base"] == "main"
    assert pull["title"] == "k: 1.50x as fast (modelled)"
    assert pull["body"].splitlines()[0].startswith("**Times are modelled**")
    assert "Kernel 1.50x, all kernels of the program 1.20x." in pull["body"]
    assert git(bare, "show", f"{pull['head']}:k.hip") + "\n" == SOURCE.replace("{}", "{ /* faster */ }", 1)
    assert git(bare, "rev-parse", f"{pull['head']}^") == git(work, "rev-parse", "HEAD")
    assert git(work, "status", "--porcelain") == ""


def test_nothing_is_opened_when_the_branch_has_moved(
    tmp_path: Path, hub: Hub, checkout: tuple[Path, Path]
) -> None:
    work, bare = checkout
    compared(tmp_path)
    (tmp_path / "optimize.json").write_text(json.dumps(to_json(verified(work))))
    (work / "other").write_text("x")
    commit(work, "second")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/main")
    git(work, "checkout", "-q", "HEAD~1")
    said = published(tmp_path, hub, HIPSCOPE_OPTIMIZE="true", HIPSCOPE_REMOTE=str(bare))
    assert "main has moved" in said[1]
    assert hub.pulls == []
    assert git(bare, "branch", "--list", "hipscope/*") == ""


@pytest.mark.parametrize("file", ["../k.hip", ".github/workflows/ci.yml", "link.hip", "changed.hip"])
def test_an_edit_of_another_file_than_was_judged_is_refused(
    tmp_path: Path, hub: Hub, checkout: tuple[Path, Path], file: str
) -> None:
    work, bare = checkout
    (work / ".github" / "workflows").mkdir(parents=True)
    (work / ".github" / "workflows" / "ci.yml").write_text(SOURCE)
    (work / "link.hip").symlink_to("k.hip")
    (work / "changed.hip").write_text(f"{SOURCE}//\n")
    commit(work, "second")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/main")
    compared(tmp_path)
    (tmp_path / "optimize.json").write_text(json.dumps(to_json(verified(work, file=file))))
    with pytest.raises(HipscopeError, match=r"outside|may change|no file|not the file"):
        published(tmp_path, hub, HIPSCOPE_OPTIMIZE="true", HIPSCOPE_REMOTE=str(bare))
    assert hub.pulls == []


def test_text_of_others_is_shown_and_is_never_markup(tmp_path: Path) -> None:
    texts = [comparison_comment(compared(tmp_path, HOSTILE)), edit_body(verified(tmp_path), HOSTILE)]
    for text in texts:
        assert "<script" not in text
        assert text.count("<!--") == 1
        for mark in ("@someone", "![", "](", "`c`", "http:", "\n# "):
            assert mark not in text
    assert code("a\u202e\nb") == "<code>a\N{REPLACEMENT CHARACTER} b</code>"
    many = [ComparedProgram(f"{n}" * 200, (), "x" * 250) for n in range(500)]
    long = comparison_comment(CompareReport("a", "b", None, tuple(many), (), ()))
    assert len(long) < 65_536
    assert "left out" in long


def test_results_that_are_links_or_of_another_kind_are_refused(tmp_path: Path, hub: Hub) -> None:
    failure: dict[str, Any] = {"schema": "hipscope.failure/1", "error": {"message": "no revision"}}
    (tmp_path / "compare.json").write_text(json.dumps(failure))
    with pytest.raises(HipscopeError, match="no revision"):
        published(tmp_path, hub)
    (tmp_path / "compare.json").unlink()
    (tmp_path / "compare.json").symlink_to("/etc/passwd")
    with pytest.raises(HipscopeError, match="not there"):
        published(tmp_path, hub)
    assert hub.asked == []
