"""`hipscope validate` and `restore`, and the Python interface as its page shows it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.whole_program import failed_tests
from hipscope.formulas.optimize.verified_edit import apply_edit, edit_between
from hipscope.server.cli.main import app
from hipscope.server.jobs import tasks
from hipscope.server.render.words import borders
from hipscope.server.reports.schema.verdict import VerdictReport
from tests.server.schemas import problems
from tests.unsaved import unsaved

ROOT = Path(__file__).parents[3]
PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void scale(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 3.0f * in[i];
}
int main() {
  float in[300], *a, *b;
  for (int i = 0; i < 300; ++i) in[i] = i * 0.25f;
  (void)hipMalloc(&a, sizeof in);
  (void)hipMalloc(&b, sizeof in);
  (void)hipMemcpy(a, in, sizeof in, hipMemcpyHostToDevice);
  scale<<<5, 64>>>(a, b, 300);
  (void)hipMemcpy(in, b, sizeof in, hipMemcpyDeviceToHost);
  std::printf("%g\\n", in[4]);
}
"""
WRONG = PROGRAM.replace("i < n", "i < n && i < 200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("validate")
    (home / "reference.hip").write_text(PROGRAM)
    (home / "candidate.hip").write_text(PROGRAM.replace("3.0f * in[i]", "in[i] * 3.0f"))
    (home / "wrong.hip").write_text(WRONG)
    return home


def run(folder: Path, candidate: str, *options: str, reference: str = "reference.hip") -> Result:
    words = ["validate", "--kernel", "scale", *options, str(folder / reference), str(folder / candidate)]
    return CliRunner().invoke(app, words)


def test_two_sources_that_do_the_same_leave_with_0(folder: Path) -> None:
    done = run(folder, "candidate.hip", "-v")
    assert done.exit_code == 0, done.output
    assert "scale: equivalent" in done.stdout
    assert "integer arguments 0" in done.stdout
    assert f"isolation: {borders(isolation())}" in done.stdout.splitlines()


def test_what_only_the_sanitizers_see_is_seen(folder: Path) -> None:
    """A decision on an unwritten value, right with every content that is tried."""
    text = PROGRAM.replace("n) {\n", "n) {\n  __shared__ float seen[1024];\n", 1)
    text = text.replace(
        "3.0f * in[i];",
        "3.0f * in[i];\n  if (i < n && in[i] > 1e6f) seen[threadIdx.x] = 1;\n  __syncthreads();\n"
        "  if (i < n && seen[blockDim.x - 1 - threadIdx.x] == 12345.0f) out[i] = 0;",
    )
    (folder / "unwritten.hip").write_text(text)
    done = run(folder, "unwritten.hip")
    assert done.exit_code == 1, done.output
    assert "it uses an unwritten value on line 9" in " ".join(done.stdout.split())


def test_a_difference_is_shown_as_text_json_markdown_and_html(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate, verdicts = tasks.validate, list[VerdictReport]()

    def once(request: tasks.TaskRequest, comparison: tasks.Comparison, run: Run) -> VerdictReport:
        """The forms show one verdict."""
        if not verdicts:
            verdicts.append(validate(request, comparison, run))
        return verdicts[0]

    monkeypatch.setattr(tasks, "validate", once)
    text = run(folder, "wrong.hip")
    assert text.exit_code == 1
    assert "100 of 300 elements of `out` are wrong; the first is element 200" in text.stdout
    report = json.loads(run(folder, "wrong.hip", "--format", "json").stdout)
    assert report["schema"] == "hipscope.verdict/1"
    assert problems(report) == []
    assert report["isolation"] == isolation()
    first = report["mismatches"][0]
    assert (first["first_index"], first["count"], first["total"]) == (200, 100, 300)
    assert {"max_absolute", "max_relative", "max_ulp", "map"} <= set(first)
    assert "x" in first["map"]
    markdown = run(folder, "wrong.hip", "--format", "markdown").stdout
    assert "| how many | 100 of 300 fp32 |" in markdown
    html = run(folder, "wrong.hip", "--format", "html").stdout
    assert html.startswith("<!doctype html>")
    assert html.count("fill='#c62828'") > 50
    left = [gate["gate"] for gate in report["left_out"]]
    assert left == ["text", "resources", "speed", "physics", "program", "tests"]
    for shown in (markdown, html):
        assert all(f"{gate} (" in shown for gate in left)
    lines = text.stdout.splitlines()
    assert len(lines) <= 5
    assert all(gate in lines[-1] for gate in left)


@pytest.mark.slow
def test_binaries_and_tolerances_are_taken(folder: Path) -> None:
    session = profile_project(
        resolve_project(folder / "reference.hip"), options=ProfileOptions(backend="emulator")
    )
    program = folder / "program"
    shutil.copyfile(session.built.argv[0], program)
    program.chmod(0o755)
    assert run(folder, "program", reference="program").exit_code == 0
    assert run(folder, "wrong.hip", reference="program").exit_code == 1
    rough = folder / "rough.hip"
    rough.write_text(PROGRAM.replace("3.0f", "3.0003f"))
    assert run(folder, "rough.hip").exit_code == 1
    assert run(folder, "rough.hip", "--tolerance", "out=1e-3").exit_code == 0
    assert run(folder, "rough.hip", "--tolerance", "arg2=1e-3", reference="program").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kernel", "nope", "reference.hip", "candidate.hip"], "launches no kernel 'nope'"),
        (["--kernel", "scale", "reference.hip", "gone.hip"], "no such file"),
        (["--kernel", "scale", "--tolerance", "out", "reference.hip", "candidate.hip"], "not ARG=RTOL"),
        (["--kernel", "scale", "--tolerance", "x=1", "reference.hip", "candidate.hip"], "no argument 'x'"),
    ],
)
def test_a_mistake_is_one_clear_line(folder: Path, words: list[str], message: str) -> None:
    given = [str(folder / w) if w.endswith(".hip") else w for w in words]
    done = CliRunner().invoke(app, ["validate", *given])
    assert done.exit_code == 2
    assert message in done.output


def test_a_kernel_with_other_arguments_is_not_the_same(folder: Path) -> None:
    (folder / "other.hip").write_text(PROGRAM.replace("int n)", "long n)"))
    done = run(folder, "other.hip")
    assert done.exit_code == 1
    assert "has no kernel `scale(float const*, float*, int)`" in done.stdout


def test_the_example_on_the_page_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "accordo-limits.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(compile(code, "docs/accordo-limits.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "(320, 1, 1) [1200, 1200]" in shown
    assert "ok b'\\x00\\x00\\x00\\x00'" in shown
    assert "equivalent Equivalent bit for bit" in shown


def test_restore_puts_the_text_back_and_says_how_to_force_it(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"old")
    apply_edit(edit_between(file, b"old", b"new"))
    file.write_bytes(b"mine")
    refused = CliRunner().invoke(app, ["restore", str(file)])
    assert (refused.exit_code, file.read_bytes()) == (2, b"mine")
    assert "--force" in refused.output
    assert CliRunner().invoke(app, ["restore", "--force", str(file)]).exit_code == 0
    assert file.read_bytes() == b"old"


def test_the_projects_own_tests_run_on_a_copy_with_the_rewrite(tmp_path: Path) -> None:
    file = tmp_path / "reference.hip"
    file.write_text(PROGRAM)
    project = resolve_project(file, config=Config(backend="emulator"))
    session = profile_project(project)
    run = unsaved(file, WRONG.encode())
    command = 'grep -q "i < 200" reference.hip && test "$($HIPSCOPE_PROGRAM)" = 3 && echo x > made'
    assert failed_tests(project, session, command, run) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["reference.hip"]
    assert file.read_text() == PROGRAM
    why = failed_tests(project, session, "echo wrong answer; exit 3", run)
    assert why == "The test command fails with the rewrite: it left with 3: wrong answer"


def test_a_reference_whose_results_are_all_nan_is_told(folder: Path) -> None:
    text = PROGRAM.replace("3.0f * in[i]", "in[i] / 0.0f * 0.0f")
    (folder / "nan.hip").write_text(text)
    (folder / "nan_too.hip").write_text(text.replace("/ 0.0f * 0.0f", "* 0.0f / 0.0f"))
    done = run(folder, "nan_too.hip", reference="nan.hip")
    assert "every number that the kernel writes to out (300) is NaN" in " ".join(done.stdout.split())
    assert "is NaN" not in run(folder, "candidate.hip").stdout
