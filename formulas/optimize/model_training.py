"""The rewriter on lists of tasks: each scored by the whole gate, or opened as something to train on.

Takes task folders and the settings of a model, gives a row for each task, or a trained program.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipscope.analysis.config import LlmConfig
from hipscope.analysis.errors import Cancelled, HipscopeError, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project, program_of
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.judge.bench import open_bench
from hipscope.formulas.optimize.loop import optimize_project
from hipscope.formulas.optimize.model_rewrites import (
    chosen_kernel,
    judge_of,
    kernel_findings,
    subject_of,
)
from hipscope.formulas.optimize.options import OptimizeOptions
from hipscope.formulas.optimize.task_folders import TaskFolder, project_of
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.llm.attempt_hints import direction
from hipscope.formulas.propose.llm.attempts import Proposal, Ruling, UnusableAnswer, splice
from hipscope.formulas.propose.llm.client import ModelError
from hipscope.formulas.propose.llm.consent import ConsentNeeded, require_consent
from hipscope.formulas.propose.llm.learn.demonstrations import short_report
from hipscope.formulas.propose.llm.learn.program_file import ProgramFile
from hipscope.formulas.propose.llm.learn.training import Optimizer, TrainingTask, train
from hipscope.formulas.propose.llm.model_settings import model_settings, take_key, withhold_key
from hipscope.formulas.propose.llm.program import Request, Rewrite
from hipscope.formulas.propose.llm.prompt import Subject, build_prompt


@dataclass(frozen=True)
class TaskScore:
    """A row of the table: `speedup` is 1 where nothing was verified."""

    task: str
    kernel: str
    outcome: str
    speedup: float
    reason: str


def evaluate(
    tasks: Sequence[TaskFolder], llm: LlmConfig, run: Run | None = None, *, yes_send: bool = False
) -> tuple[TaskScore, ...]:
    """Each task through the whole gate of `optimize`, with the model's rewrites only.

    Raises `ModelError` and `ConsentNeeded`: they would be the same for every task. Other failures are rows.
    """
    run = run or Run()
    keys = _keys(llm)
    rows = []
    for number, task in enumerate(tasks):
        run.say(f"task {task.name}", number / len(tasks))
        if task.skipped is not None:
            rows.append(TaskScore(task.name, "", "skipped", 1.0, task.skipped))
            continue
        try:
            options = OptimizeOptions(
                kernel=next(iter(task.kernels), None), rewriter="llm", yes_send=yes_send, stored_keys=keys
            )
            result = optimize_project(project_of(task, llm), run, options=options)
        except (ModelError, ConsentNeeded, Cancelled):
            raise
        except HipscopeError as failure:
            rows.append(TaskScore(task.name, "", "failed", 1.0, str(failure).splitlines()[0]))
            continue
        kernel = result.kernel or (result.attempts[-1].kernel if result.attempts else "")
        speedup = result.speedup if result.status == "verified" and result.speedup else 1.0
        rows.append(TaskScore(task.name, kernel, result.status, speedup, result.message))
    return tuple(rows)


def table(rows: Sequence[TaskScore]) -> str:
    """The rows as text, and what they come to: what sets of tasks report."""
    lines = ["task\tkernel\toutcome\tspeed-up\treason"]
    lines += [f"{r.task}\t{r.kernel or '-'}\t{r.outcome}\t{r.speedup:.2f}\t{r.reason}" for r in rows]
    asked = [r for r in rows if r.outcome not in ("skipped", "failed")]
    if not asked:
        return "\n".join([*lines, f"none of {len(rows)} tasks could be run"])
    speedups = [r.speedup for r in asked]
    better = sum(r.outcome == "verified" for r in asked)
    lines.append(
        f"{len(asked)} of {len(rows)} tasks run, {better} improved and verified; speed-up: median "
        f"{statistics.median(speedups):.2f}, geometric mean {statistics.geometric_mean(speedups):.2f} "
        "(1 where nothing was verified)"
    )
    return "\n".join(lines)


def train_on(
    tasks: Sequence[TaskFolder],
    held_out: Sequence[TaskFolder],
    llm: LlmConfig,
    run: Run | None = None,
    *,
    optimizer: Optimizer = "bootstrap",
    yes_send: bool = False,
) -> ProgramFile:
    """Train the rewriter on tasks and score it on others. Guard, compiler, proof and clock judge; the whole program
    does not run for each candidate. Raises `UsageError` for a task that cannot be opened.
    """
    run = run or Run()
    settings = model_settings(llm)
    projects = [
        [(task, project_of(task, llm)) for task in listed if task.skipped is None]
        for listed in (tasks, held_out)
    ]
    if not all(projects):
        raise UsageError("no task to train on, or none held out", "name two folders with programs")
    if names := {t.target.resolve() for t, _ in projects[0]} & {t.target.resolve() for t, _ in projects[1]}:
        raise UsageError(f"{min(names)}: trained on and held out", "hold out other tasks")
    for _, project in (*projects[0], *projects[1]):
        require_consent(project.directory, settings, yes_send=yes_send)
    key = take_key(settings)
    withhold_key(llm)
    with contextlib.ExitStack() as open_tasks:
        learned, kept = (
            [open_tasks.enter_context(_opened(task, project, run)) for task, project in listed]
            for listed in projects
        )
        return train(learned, kept, settings, key, run, optimizer=optimizer)


@contextlib.contextmanager
def _opened(task: TaskFolder, project: Project, run: Run) -> Iterator[TrainingTask]:
    """A task with its judge, which is valid inside."""
    run.say(f"profiling {task.name}")
    options = ProfileOptions(backend="emulator", capture_dispatches=(), waves=False)
    session = profile_project(project, run, options=options)
    try:
        project, run = program_of(session, project, run)
        kernel = chosen_kernel(project, session.profile, next(iter(task.kernels), None), run.texts)
        findings = kernel_findings(project, session.profile, kernel, run.texts)
        with open_bench(project, session, kernel, run) as bench:
            subject = subject_of(bench, kernel, findings, run)
            judged = judge_of(bench, findings, run)

            def judge(rewrite: Rewrite) -> Ruling:
                candidate = _candidate(subject, rewrite)
                if isinstance(candidate, Ruling):
                    return candidate
                return judged(Proposal(1, candidate, rewrite.beliefs, rewrite.kernel, rewrite.launch))[1]

            llm = project.config.llm
            report = build_prompt(subject, sources=llm.sources, max_tokens=llm.max_prompt_tokens).report
            request = Request(report, direction([f.formula for f in findings], 0))
            yield TrainingTask(task.name, request, short_report(subject), judge)
    finally:
        if session.capture_dir is not None:
            shutil.rmtree(session.capture_dir, ignore_errors=True)


def _candidate(subject: Subject, rewrite: Rewrite) -> Candidate | Ruling:
    try:
        text = splice(subject.source, subject.syntax, rewrite.kernel)
    except UnusableAnswer as error:
        return Ruling(False, (str(error),))
    if text == subject.source and not rewrite.launch:
        return Ruling(False, ("the answer is the kernel as it was",))
    return Candidate(recipe="llm", title="training", text=text, expected="", exact=False)


def _keys(llm: LlmConfig) -> dict[str, str]:
    """The key for all tasks, taken out of the environment before anything is built."""
    settings = model_settings(llm)
    key = take_key(settings)
    withhold_key(llm)
    return {settings.api_base: key.reveal()} if key is not None else {}
