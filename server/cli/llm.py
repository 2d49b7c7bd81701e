"""`hipscope llm`: train the rewriter on tasks, and score it on others."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.terminal import failures_reported, progress_shown, say, work_begun


class LlmAction(StrEnum):
    """What to do with tasks."""

    TRAIN = "train"
    EVALUATE = "evaluate"


class TrainedBy(StrEnum):
    """DSPy's optimizers that need no further package."""

    BOOTSTRAP = "bootstrap"
    GEPA = "gepa"


def llm(
    action: Annotated[LlmAction, typer.Argument(help="Train on the tasks, or score the model on them.")],
    tasks: Annotated[Path, typer.Argument(help="A folder of tasks: programs, or AgentKernelArena's.")],
    held_out: Annotated[
        Path | None,
        typer.Option(help="Tasks that training is scored on and does not see."),
    ] = None,
    program: Annotated[
        Path | None,
        typer.Option(help="The program file: written by train, scored by evaluate."),
    ] = None,
    optimizer: Annotated[
        TrainedBy, typer.Option(help="How to train: demonstrations, or instructions by reflection.")
    ] = TrainedBy.BOOTSTRAP,
    yes_send: Annotated[
        bool, typer.Option("--yes-send", help="Agree to send the kernels of all tasks to the model.")
    ] = False,
) -> None:
    """Train the language model's prompts on tasks, or score them. The model is that of `hipscope.toml`."""
    with failures_reported():
        from hipscope.analysis.config import CONFIG_FILE, load_config
        from hipscope.analysis.errors import UsageError
        from hipscope.analysis.run import Run
        from hipscope.formulas.optimize.model_training import evaluate, table, train_on
        from hipscope.formulas.optimize.task_folders import read_tasks
        from hipscope.formulas.propose.llm.learn.program_file import write_program

        home = tasks if (tasks / CONFIG_FILE).is_file() else Path()
        settings = load_config(home).llm
        chosen = program or (home / settings.program if settings.program else None)
        if action is LlmAction.EVALUATE:
            settings = settings.model_copy(update={"program": str(chosen.resolve()) if chosen else None})
            with work_begun() as cancel, progress_shown() as progress:
                rows = evaluate(read_tasks(tasks), settings, Run(cancel, progress), yes_send=yes_send)
            sys.stdout.write(table(rows) + "\n")
            return
        if held_out is None or program is None:
            raise UsageError(
                "training needs --held-out and --program", "a second folder of tasks, and a file"
            )
        with work_begun() as cancel, progress_shown() as progress:
            trained = train_on(
                read_tasks(tasks),
                read_tasks(held_out),
                settings,
                Run(cancel, progress),
                optimizer=optimizer.value,
                yes_send=yes_send,
            )
        write_program(program, trained)
        say(f"{program}: held-out score {trained.before.mean:.2f} before, {trained.after.mean:.2f} after")
