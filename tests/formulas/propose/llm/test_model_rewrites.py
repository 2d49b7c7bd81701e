"""From an example to a verified edit with a model behind a real socket and the real judge behind it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from hipscope.accordo.model.verdict import Mismatch, MismatchKind
from hipscope.analysis.config import Config, LlmConfig
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.formulas.judge.whole_program import Rehearsed
from hipscope.formulas.optimize.loop import OptimizeOptions, OptimizeResult, VerifiedEdit, optimize_project
from hipscope.formulas.optimize.model_rewrites import difference_in_words, included_headers, render_prompt
from hipscope.formulas.propose.llm.client import ModelError
from hipscope.formulas.propose.llm.consent import ConsentNeeded
from tests.sampling import sampled

ROOT = Path(__file__).parents[4]
KEY = "sk-real-9a1c"

Serve = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TEST_LLM_KEY", KEY)


@pytest.fixture
def project_of(tmp_path: Path) -> Callable[..., Project]:
    """A copy of an example whose `[llm]` table points to a server."""

    def copy(name: str, server: Any, **llm: Any) -> Project:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        source = folder / f"{name}.hip"
        shutil.copy(ROOT / "examples" / f"{name}.hip", source)
        values = {
            "model": "openai/test-model", "api_base": server.url, "key_env": "TEST_LLM_KEY", "candidates": 1,
            "max_attempts": 1, "timeout_s": 20.0,
        }  # fmt: skip
        return resolve_project(source, (), Config(llm=LlmConfig.model_validate(values | llm)))

    return copy


def kernel_of(project: Project, name: str) -> str:
    assert project.main_source is not None
    source = project.main_source.read_bytes()
    syntax = parse(source).kernel(name)
    assert syntax is not None
    return source[syntax.span.start : syntax.span.end].decode()


def belief(metric: str, direction: str = "down") -> Mapping[str, Any]:
    return {
        "finding": "F1", "edit": "pad a row", "mechanism": "a column lies in 32 banks", "metric": metric,
        "direction": direction, "expected_percent": 90,
    }  # fmt: skip


def optimized(project: Project) -> OptimizeResult:
    return optimize_project(project, options=OptimizeOptions(rewriter="llm", yes_send=True))


COLUMN = "lds_column_read"
KERNEL = "smooth_transpose"


@pytest.mark.slow
def test_a_model_gets_to_a_verified_edit_by_what_it_is_told(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    """First it does not compile, then it is wrong, then it changes the host, and at last it is right."""
    server = serve()
    project = project_of(COLUMN, server, max_attempts=4)
    kernel = kernel_of(project, KERNEL)
    right = kernel.replace("tile[kTile][kTile]", "tile[kTile][kTile + 1]")
    server.then(
        wire.Reply(wire.said(right.replace("float sum = 0.0f;", "float sum = zero;"))),
        wire.Reply(
            wire.said(right.replace("sum / kWindow", "sum / (kWindow + 1)"), [belief("lds_conflict_cycles")])
        ),
        wire.Reply(wire.said(right.replace("__syncthreads();", "if (threadIdx.x < 16) __syncthreads();"))),
        wire.Reply(wire.said(right, [belief("lds_conflict_cycles"), belief("lds_bytes")])),
    )
    result = optimized(project)
    assert [a.outcome for a in result.attempts] == ["not_compiled", "different", "refused", "accepted"]
    assert result.status == "verified"
    assert result.edit is not None
    assert result.speedup is not None
    assert result.speedup > 1.5
    assert project.main_source is not None
    original = project.main_source.read_bytes()
    assert result.edit.applied_to(original).decode() == original.decode().replace(kernel, right)
    told = [request.text for request in server.requests]
    assert "use of undeclared identifier 'zero'" in told[1]
    assert "its results are not those of the source" in told[2]
    assert "Wrong values in `out`" in told[2]
    assert "not all threads of a workgroup reach the barrier" in told[3]
    notes = "\n".join(result.notes)
    assert "expected lds_conflict_cycles down by 90 %; confirmed" in notes
    assert "expected lds_bytes down by 90 %; refuted: lds_bytes went up" in notes
    assert "beliefs confirmed 50%" in notes
    assert "4 attempts in 4 requests, 4000 tokens sent, 800 received, cost not known" in notes
    assert KEY not in result.model_dump_json()


@pytest.mark.slow
def test_a_model_hears_when_the_whole_program_goes_wrong_with_its_rewrite(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a rewrite that is right on the recorded launches but not in the program, the next request says why."""
    server = serve()
    project = project_of(COLUMN, server, max_attempts=2)
    kernel = kernel_of(project, KERNEL)
    one, three = (kernel.replace("tile[kTile][kTile]", f"tile[kTile][kTile + {n}]") for n in (1, 3))
    server.then(wire.Reply(wire.said(one)), wire.Reply(wire.said(three)))

    def whole_program(_bench: object, text: bytes, _run: object, **_options: object) -> Rehearsed:
        wrong = b"kTile + 1]" in text
        return Rehearsed("The program's output changes: `FAIL` instead of `PASS`." if wrong else None)

    monkeypatch.setattr("hipscope.formulas.optimize.kernel_search.try_program", whole_program)
    result = optimized(project)
    assert [a.outcome for a in result.attempts] == ["program_differs", "accepted"]
    assert result.edit is not None
    assert b"kTile + 3]" in result.edit.applied_to(project.sources[0].read_bytes())
    assert "The program's output changes: `FAIL` instead of `PASS`." in server.requests[1].text


def test_what_prompt_shows_is_what_is_sent_and_a_trace_of_it_is_kept(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    server = serve(wire.Reply("no"))
    project = project_of(COLUMN, server)
    shown = render_prompt(project)
    assert server.requests == []
    result = optimized(project)
    assert list(shown.messages) == server.requests[0].body["messages"]
    assert shown.prompt.profile_bytes > 10_000
    assert shown.prompt.report in shown.text
    assert result.status in ("rejected", "no_improvement")
    (trace,) = (project.root / ".hipscope" / "trace").iterdir()
    events = [json.loads(line)["event"] for line in trace.read_text().splitlines()]
    assert events == ["prompt", "failure", "stop"]
    assert str(trace) in result.attempts[-1].notes[-1]
    assert KEY not in trace.read_text()


@pytest.mark.slow
def test_what_was_verified_is_shown_for_the_next_kernel_of_its_kind(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    server = serve()
    project = project_of(COLUMN, server, learn=True)
    right = kernel_of(project, KERNEL).replace("tile[kTile][kTile]", "tile[kTile][kTile + 1]")
    server.then(wire.Reply(wire.said(right, [belief("lds_conflict_cycles")])))
    assert render_prompt(project).messages[-2]["role"] == "system"
    assert optimized(project).status == "verified"
    assert render_prompt(project).messages[-2]["role"] == "system", "not for the kernel itself"
    assert project.main_source is not None
    project.main_source.write_text(project.main_source.read_text().replace(KERNEL, "smooth_again"))
    *_, shown, request = render_prompt(project).messages
    assert shown["role"] == "assistant"
    assert "tile[kTile][kTile + 1]" in shown["content"]
    assert "smooth_again" in request["content"]
    off = project_of("vector_add", server)
    assert len(render_prompt(off).messages) == 2


def test_without_leave_nothing_is_built_or_sent(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    server = serve(wire.Reply("no"))
    project = project_of(COLUMN, server)
    with pytest.raises(ConsentNeeded):
        optimize_project(project, options=OptimizeOptions(rewriter="llm"))
    assert server.requests == []
    assert os.environ["TEST_LLM_KEY"] == KEY


@pytest.mark.slow
def test_a_model_improves_the_text_that_recipes_verified(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    """Recipes pad the tile; the model, which sees the padded one, reads each element once for four sums."""
    server = serve()
    project = project_of(COLUMN, server)
    kernel = kernel_of(project, KERNEL)
    loop = kernel[kernel.rindex("  for (int r = threadIdx.y") :]
    written = """  for (int r = threadIdx.y * 4; r < kTile; r += kRows * 4) {
    float seen[kWindow + 3];
    for (int k = 0; k < kWindow + 3; ++k) seen[k] = tile[threadIdx.x][(r + k) % kTile];
    const int y = top + threadIdx.x;
    for (int j = 0; j < 4; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < kWindow; ++k) sum += seen[j + k];
      const int x = left + r + j;
      if (x < width && y < height) out[x * height + y] = sum / kWindow;
    }
  }
}"""
    better = kernel.replace(loop, written).replace("tile[kTile][kTile]", "tile[kTile][kTile + 1]")
    server.then(wire.Reply(wire.said(better, [belief("lds_cycles")])))
    options = OptimizeOptions(rewriter="both", yes_send=True, rounds=None)
    result = optimize_project(project, options=options)
    assert result.status == "verified"
    accepted = [a.recipe for a in result.attempts if a.outcome == "accepted"]
    assert accepted[0] == "pad_lds"
    assert "llm" in accepted[1:], [(a.recipe, a.reason) for a in result.attempts if a.recipe == "llm"]
    assert "tile[kTile][kTile]" not in server.requests[0].text
    assert result.edit is not None
    assert project.main_source is not None
    assert b"seen[j + k]" in result.edit.applied_to(project.main_source.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "asked"), [("vector_add", 1), (None, 0)])
def test_a_kernel_without_a_finding_is_asked_about_by_its_name(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project], kernel: str | None, asked: int
) -> None:
    """As the tasks of AgentKernelArena name theirs."""
    server = serve(wire.Reply("no"))
    options = OptimizeOptions(rewriter="llm", yes_send=True, kernel=kernel)
    result = optimize_project(project_of("vector_add", server), options=options)
    assert (result.status, len(server.requests)) == ("nothing_to_do", asked)


def test_a_model_that_fails_is_an_error_alone(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    server = serve(wire.Raw(401, b'{"error": {"message": "bad key"}}'))
    with pytest.raises(ModelError, match="TEST_LLM_KEY"):
        optimized(project_of(COLUMN, server))


@pytest.mark.slow
def test_candidates_never_see_the_key(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    """The program looks at its environment each time it runs: while it is profiled, and confined, with the rewrite.

    The first run writes it down. What the second writes is thrown away, but its exit code would change.
    """
    server = serve()
    project = project_of(COLUMN, server)
    assert project.main_source is not None
    source = project.main_source.read_text()
    seen = project.root / "environment.txt"
    spy = f"""int main() {{
  if (std::FILE* file = std::fopen("{seen}", "a")) {{
    for (char** e = environ; *e; ++e) std::fprintf(file, "%s\\n", *e);
    std::fclose(file);
  }}
  for (char** e = environ; *e; ++e) if (std::strstr(*e, "{KEY}")) return 99;
"""
    source = source.replace("#include <cstdio>", "#include <unistd.h>\n#include <cstdio>\n#include <cstring>")
    project.main_source.write_text(source.replace("int main() {\n", spy))
    right = kernel_of(project, KERNEL).replace("tile[kTile][kTile]", "tile[kTile][kTile + 1]")
    server.then(wire.Reply(wire.said(right)))
    assert optimized(project).status == "verified"
    assert "LD_LIBRARY_PATH=" in seen.read_text()
    assert KEY not in seen.read_text()
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


MARKED = sorted(p.stem for p in (ROOT / "examples").glob("*.hip") if "hipscope: expect" in p.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("example", sampled(MARKED, 5))
def test_a_right_answer_to_each_finding_becomes_a_verified_edit(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project], example: str
) -> None:
    """The model answers with a stored kernel; all else is real, from the command line on."""
    kernel, beliefs = wire.answer_for(example)
    server = serve(wire.Reply(wire.said(kernel, beliefs)))
    project = project_of(example, server)
    (project.root / "hipscope.toml").write_text(
        f'[llm]\nmodel = "openai/test-model"\napi_base = "{server.url}"\nkey_env = "TEST_LLM_KEY"\n'
        "candidates = 1\nmax_attempts = 1\n"
    )
    ran = run_cli(
        project, "optimize", "--rewriter", "llm", "--yes-send", "--backend", "emulator", "--format", "json"
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert (report["status"], report["verdict"]["outcome"]) == ("verified", "equivalent")
    edit = VerifiedEdit.model_validate(report["edit"])
    assert project.main_source is not None
    assert kernel in edit.applied_to(project.main_source.read_bytes()).decode()
    notes = "\n".join(report["notes"])
    assert notes.count("; confirmed: ") == len(beliefs) > 0, notes
    assert "beliefs confirmed 100%" in notes
    assert len(server.requests) == 1


def run_cli(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hipscope.server", *arguments, str(project.main_source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_the_command_line_says_where_it_would_go_and_sends_nothing(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    server = serve(wire.Reply("no"))
    project = project_of(COLUMN, server)
    alone = run_cli(project, "optimize", "--rewriter", "llm")
    assert alone.returncode == 2
    assert "no language model is set" in alone.stderr
    (project.root / "hipscope.toml").write_text(
        f'[llm]\nmodel = "openai/test-model"\napi_base = "{server.url}"\nkey_env = "TEST_LLM_KEY"\n'
    )
    asked = run_cli(project, "optimize", "--rewriter", "llm")
    assert asked.returncode == 2
    assert f"would be sent to openai/test-model at {server.url}" in asked.stderr
    assert "--yes-send" in asked.stderr
    assert len(asked.stderr.strip().splitlines()) == 2
    assert server.requests == []


@pytest.mark.slow
def test_the_command_line_shows_the_prompt(
    serve: Serve, wire: ModuleType, project_of: Callable[..., Project]
) -> None:
    project = project_of(COLUMN, serve())
    ran = run_cli(project, "prompt")
    assert ran.returncode == 0, ran.stderr
    assert "# Findings\nF1 bankConflict" in ran.stdout
    assert "--- system ---" in ran.stdout
    assert "nothing was sent" in ran.stderr
    wrong = run_cli(project, "prompt", "--kernel", "nothing")
    assert (wrong.returncode, "it runs: smooth_transpose" in wrong.stderr) == (2, True)


def test_headers_are_taken_from_the_project_only(tmp_path: Path) -> None:
    (tmp_path / "project" / "include").mkdir(parents=True)
    (tmp_path / "secret.h").write_text("int secret;")
    (tmp_path / "project" / "include" / "a.h").write_text('#include "b.h"\n#include "a.h"\n')
    (tmp_path / "project" / "include" / "b.h").write_text("int b;")
    source = tmp_path / "project" / "main.hip"
    text = b'#include <vector>\n#include "include/a.h"\n  # include "../secret.h"\n#include "gone.h"\n'
    found = included_headers(SourceTexts({source: text}), source, tmp_path / "project")
    assert sorted(found) == ["include/a.h", "include/b.h"]


@pytest.mark.parametrize("kind", get_args(MismatchKind))
def test_every_kind_of_difference_is_told_as_a_fact(kind: MismatchKind) -> None:
    told = difference_in_words(Mismatch(kind=kind, message="a race on line 3"))
    assert told.endswith(".")
    assert len(told) > 10
