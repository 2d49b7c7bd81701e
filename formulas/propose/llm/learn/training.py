"""Trains the rewriter's program: DSPy's optimizers, with the verdict times the speed-up as metric.

Takes tasks (a request and a judge of its kernel each) to train on and others to be scored on, gives a `ProgramFile`.
`BootstrapFewShot` makes demonstrations of what the judge accepted; `GEPA` rewrites instructions by what the judge
said. MIPROv2 needs optuna, which DSPy does not bring, and is not offered.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.formulas.propose.llm.answer_schema import UnreadableAnswer, load_dspy
from hipscope.formulas.propose.llm.attempts import Ruling
from hipscope.formulas.propose.llm.client import Answer, ModelClient, ModelError
from hipscope.formulas.propose.llm.learn.program_file import ProgramFile, Scores
from hipscope.formulas.propose.llm.model_settings import ModelKey, ModelSettings
from hipscope.formulas.propose.llm.program import (
    Demonstration,
    ProgramState,
    Request,
    Rewrite,
    adapter,
    plain_launch,
    read_rewrite,
    rewrite_program,
)

Optimizer = Literal["bootstrap", "gepa"]

_MOST_DEMONSTRATIONS = 4
_FASTER = 1.0  # a reward above it is a kernel that is right and faster
_CALLS_PER_TASK = 6  # of GEPA's metric, unless `llm.max_calls` says how many in all


@dataclass(frozen=True)
class TrainingTask:
    """A kernel to learn from. `shown` is its report in a demonstration, `judge` gives verdict and speed-up."""

    name: str
    request: Request
    shown: str
    judge: Callable[[Rewrite], Ruling]


class _Stop(BaseException):
    """Ends an optimizer, which takes every `Exception` for a failed example."""


def train(
    tasks: Sequence[TrainingTask],
    held_out: Sequence[TrainingTask],
    settings: ModelSettings,
    key: ModelKey | None,
    run: Run | None = None,
    *,
    optimizer: Optimizer = "bootstrap",
) -> ProgramFile:
    """Compile the program on `tasks`, and score it before and after on `held_out`.

    Where the held-out score does not rise, the file has the program as it was. Raises `ModelError` when the model
    cannot be asked, `Cancelled`, and `MissingTool`.
    """
    run = run or Run()
    before = score(held_out, settings, key, run)
    run.say(f"training on {len(tasks)} kernels")
    instructions, shown = _compiled(tasks, settings, key, run, optimizer)
    program = ProgramFile(
        version=importlib.metadata.version("hipscope"),
        model=settings.model,
        optimizer=optimizer,
        steps=settings.steps,
        instructions=instructions,
        demonstrations=shown,
        trained_on=tuple(task.name for task in tasks),
        before=before,
        after=before,
    )
    after = score(held_out, settings, key, run, program.state)
    if after.mean <= before.mean:
        return program.model_copy(update={"instructions": {}, "demonstrations": {}})
    return program.model_copy(update={"after": after})


def score(
    tasks: Sequence[TrainingTask],
    settings: ModelSettings,
    key: ModelKey | None,
    run: Run | None = None,
    state: ProgramState | None = None,
) -> Scores:
    """The reward of one attempt at each task; an answer that holds no kernel counts 0."""
    run = run or Run()
    client = ModelClient(settings, key, state)
    rewards: dict[str, float] = {}
    for number, task in enumerate(tasks):
        run.say(f"asking for {task.name}", number / len(tasks))
        (answer,) = client.ask([task.request], run.cancel)
        run.check()
        if isinstance(answer, ModelError) and not answer.about_the_answer:
            raise answer
        rewards[task.name] = task.judge(answer.rewrite).reward if isinstance(answer, Answer) else 0.0
    return Scores(mean=sum(rewards.values()) / len(rewards) if rewards else 0.0, tasks=rewards)


def _compiled(
    tasks: Sequence[TrainingTask],
    settings: ModelSettings,
    key: ModelKey | None,
    run: Run,
    optimizer: Optimizer,
) -> tuple[Mapping[str, str], Mapping[str, tuple[Demonstration, ...]]]:
    """The instructions and demonstrations that the optimizer chose, by step."""
    dspy = load_dspy()
    by_name = {task.name: task for task in tasks}
    rulings: dict[tuple[str, Rewrite], Ruling] = {}

    def ruled(name: str, prediction: Any) -> Ruling:
        if run.cancel is not None and run.cancel.is_set():
            raise _Stop
        rewrite = read_rewrite(prediction)
        tried = (name, Rewrite(rewrite.kernel, launch=rewrite.launch))
        if tried not in rulings:
            rulings[tried] = by_name[name].judge(rewrite)
        return rulings[tried]

    examples = [dspy.Example(request=t.request, name=t.name).with_inputs("request") for t in tasks]
    student = _trainee_class()(rewrite_program(settings.steps), run)
    model = ModelClient(settings, key).language_model()
    try:
        # Optimizers draw bars on standard output, which is for results.
        with (
            contextlib.redirect_stdout(io.StringIO()),
            dspy.context(lm=model, adapter=adapter(), num_threads=1),
        ):
            if optimizer == "bootstrap":
                trained = dspy.BootstrapFewShot(
                    metric=lambda example, prediction, _trace=None: (
                        ruled(example.name, prediction).reward > _FASTER
                    ),
                    max_bootstrapped_demos=_MOST_DEMONSTRATIONS,
                    max_labeled_demos=0,
                    max_errors=len(tasks) + 1,
                ).compile(student, trainset=examples)
            else:

                def metric(gold: Any, pred: Any, *_traces: Any, **_named: Any) -> Any:
                    ruling = ruled(gold.name, pred)
                    return dspy.Prediction(score=ruling.reward, feedback=" ".join(ruling.facts))

                trained = dspy.GEPA(
                    metric=metric,
                    max_metric_calls=settings.budget.calls or _CALLS_PER_TASK * len(tasks),
                    reflection_lm=model,
                    reflection_minibatch_size=min(3, len(tasks)),
                    num_threads=1,
                    add_format_failure_as_feedback=True,
                ).compile(student, trainset=examples, valset=examples)
    except _Stop:
        raise Cancelled from None
    return _chosen(trained, {task.request.report: task.shown for task in tasks})


def _chosen(
    trained: Any, shown: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, tuple[Demonstration, ...]]]:
    """What differs from the program as it is written; whole reports become short ones."""
    original = dict(rewrite_program("together" if trained.program.together else "apart").named_predictors())
    instructions: dict[str, str] = {}
    demonstrations: dict[str, tuple[Demonstration, ...]] = {}
    for name, predictor in trained.program.named_predictors():
        if predictor.signature.instructions != original[name].signature.instructions:
            instructions[name] = predictor.signature.instructions
        listed = tuple(
            Demonstration(
                report=shown.get(demo["report"], demo["report"]),
                diagnosis=demo.get("diagnosis") or "",
                beliefs=getattr(demo.get("beliefs"), "root", ()),
                launch=plain_launch(demo.get("launch") or ""),
                kernel=demo.get("kernel") or "",
            )
            for demo in predictor.demos
        )
        if listed:
            demonstrations[name] = listed
    return instructions, demonstrations


@functools.cache
def _trainee_class() -> Any:
    dspy = load_dspy()

    class Trainee(dspy.Module):  # type: ignore[misc, name-defined]
        """The program as optimizers run it: it can be stopped, and an answer without a kernel is an empty one."""

        def __init__(self, program: Any, run: Run) -> None:
            super().__init__()
            self.program = program
            self.stopped: Callable[[], bool] = lambda: run.cancel is not None and run.cancel.is_set()

        def forward(self, request: Request) -> Any:
            if self.stopped():
                raise _Stop
            try:
                return self.program(request=request)
            except UnreadableAnswer as error:
                raise ValueError(str(error)) from None

    return Trainee
