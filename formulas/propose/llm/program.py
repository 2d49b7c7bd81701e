"""The rewriter as a DSPy program: diagnose, plan, write, and repair what the judge sent back.

Takes a `Request` (a report and what came of earlier attempts), gives a kernel with the beliefs behind it. Signatures
type each step, DSPy's adapter words requests and reads answers, and DSPy's optimizers can train each step
(`learn.training`). Its `Refine` and `BestOfN` do not drive it: they are synchronous, print to standard output (the
language server's wire), swallow `Cancelled` as a failed attempt, force temperature 1.0, and `Refine` sends the source
of its reward to the model. `attempts` is the same mechanism with a judge that reports progress and can be cancelled:
the reward is the verdict times the speed-up, the threshold `target_speedup`, and what the judge says is the next input.

Importing this imports no LLM library.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from hipscope.formulas.propose.llm.answer_schema import (
    DATA_RULE,
    RULES,
    Belief,
    Beliefs,
    check_complete,
    load_dspy,
    strip_fence,
)

Steps = Literal["together", "apart"]
"""`together`: one request holds diagnosis, plan and kernel. `apart`: a request each. A repair is always one request."""


@dataclass(frozen=True)
class EarlierAttempt:
    """An earlier attempt: the kernel that the model wrote, and what the judge said of it."""

    kernel: str
    beliefs: tuple[Belief, ...]
    feedback: str
    launch: str = ""


class Demonstration(BaseModel):
    """A verified rewrite that shows the model what one looks like: a short report, the plan, and the kernel."""

    model_config = ConfigDict(frozen=True)

    report: str
    diagnosis: str = ""
    beliefs: tuple[Belief, ...] = ()
    launch: str = ""
    kernel: str = ""


@dataclass(frozen=True)
class Request:
    """What one attempt starts from. `feedback` is of attempts that have no turn, as they left no kernel."""

    report: str
    task: str = ""
    turns: tuple[EarlierAttempt, ...] = ()
    feedback: str = ""
    demonstrations: tuple[Demonstration, ...] = ()


@dataclass(frozen=True)
class Rewrite:
    """What was read from an answer. `launch` is empty where the kernel keeps its launch."""

    kernel: str
    beliefs: tuple[Belief, ...] = ()
    diagnosis: str = ""
    launch: str = ""


@dataclass(frozen=True)
class ProgramState:
    """What training changed, by step: instructions, and demonstrations. Nothing else of a step can be set."""

    instructions: Mapping[str, str] = field(default_factory=dict)
    demonstrations: Mapping[str, tuple[Demonstration, ...]] = field(default_factory=dict)


def rewrite_program(steps: Steps = "together", state: ProgramState | None = None) -> Any:
    """A new `dspy.Module`: `(request)` in, `diagnosis`, `beliefs` and `kernel` out. Raises `MissingTool`."""
    program = _program_class()(steps)
    known = state or ProgramState()
    for name, predictor in program.named_predictors():
        if name in known.instructions:
            trained = known.instructions[name]
            kept = trained if DATA_RULE in trained else f"{trained}\n\n{DATA_RULE}"
            predictor.signature = predictor.signature.with_instructions(kept)
        predictor.demos = examples(known.demonstrations.get(name, ()))
    return program


def adapter() -> Any:
    """Fields between markers; one that is not answered so is not asked for a second time in another form."""
    return _adapter_class()(use_json_adapter_fallback=False)


def messages(
    request: Request, steps: Steps = "together", state: ProgramState | None = None
) -> list[dict[str, str]]:
    """Exactly what is sent first: the messages of one request. Raises `MissingTool` without DSPy."""
    program = rewrite_program(steps, state)
    predictor, inputs = next(program.steps(request))
    listed: list[dict[str, str]] = adapter().format(
        predictor.signature, inputs.pop("demos", predictor.demos), inputs
    )
    return listed


def read_rewrite(prediction: Any) -> Rewrite:
    """A prediction of the program in our types."""
    return Rewrite(
        prediction.kernel, prediction.beliefs.root, prediction.diagnosis, plain_launch(prediction.launch)
    )


def plain_launch(said: str) -> str:
    """The launch that an answer names, without the prose around it; empty where it names none.

    A small model writes "No changes needed for the launch." or repeats the field's mark: its kernel keeps the launch.
    """
    named = _LAUNCH.search(said)
    return named.group() if named else ""


_LAUNCH = re.compile(r"workgroup\s+\d+(?:\s*x\s*\d+){0,2}|workgroups\s*[x*/]\s*\d+", re.IGNORECASE)
_REPORT = "profile, findings and source text of the kernel"
_FIELDS: Mapping[str, tuple[type, str]] = {
    "report": (str, _REPORT),
    "task": (str, "what this attempt should do"),
    "feedback": (str, "what compiler, proof and clock say of the attempt before"),
    "diagnosis": (str, "what limits the kernel and why, from the numbers, in at most three sentences"),
    "beliefs": (
        Beliefs,
        "one belief for each edit: `finding` F1 or none, `metric` as the report names it, the rest in a few words",
    ),
    "launch": (str, "another launch as the rules name it, or empty"),
    "kernel": (str, "the complete new definition of the kernel in one ```cpp block"),
}
_OPTIONAL: Mapping[str, Any] = {
    "diagnosis": "",
    "beliefs": Beliefs(()),
    "launch": "",
}  # a model may leave them out
_REPAIR = """

Earlier attempts and what came of each are part of the conversation. Mend what was wrong with the last one, or improve
on the best."""


def _signature(
    instructions: str, given: Sequence[str], wanted: Sequence[str], *, history: bool = False
) -> Any:
    dspy = load_dspy()
    fields: dict[str, tuple[Any, Any]] = {}
    if history:
        fields["history"] = (dspy.History, dspy.InputField())
    for name in given:
        kind, text = _FIELDS[name]
        fields[name] = (kind, dspy.InputField(desc=text))
    for name in wanted:
        kind, text = _FIELDS[name]
        default = {"default": _OPTIONAL[name]} if name in _OPTIONAL else {}
        fields[name] = (kind, dspy.OutputField(desc=text, **default))
    return dspy.Signature(fields, instructions)


@functools.cache
def _program_class() -> Any:
    dspy = load_dspy()

    class RewriteProgram(dspy.Module):  # type: ignore[misc, name-defined]  # DSPy is imported late
        """`draft` is diagnose, plan and write in one request."""

        def __init__(self, steps: Steps) -> None:
            super().__init__()
            if steps == "together":
                self.draft = dspy.Predict(
                    _signature(RULES, ("report", "task"), ("diagnosis", "beliefs", "launch", "kernel"))
                )
            else:
                self.diagnose = dspy.Predict(_signature(RULES, ("report",), ("diagnosis",)))
                self.plan = dspy.Predict(_signature(RULES, ("report", "diagnosis", "task"), ("beliefs",)))
                self.write = dspy.Predict(
                    _signature(RULES, ("report", "task", "beliefs"), ("launch", "kernel"))
                )
            self.repair = dspy.Predict(
                _signature(
                    RULES + _REPAIR,
                    ("report", "feedback", "task"),
                    ("diagnosis", "beliefs", "launch", "kernel"),
                    history=True,
                )
            )
            self.together = steps == "together"

        def steps(self, request: Request) -> Generator[tuple[Any, dict[str, Any]], Any, Any]:
            """Which predictor is asked with what, one after the other; takes each prediction, returns the last."""
            given: dict[str, Any] = {"report": request.report, "task": request.task}
            if request.turns or request.feedback:
                return (yield self.repair, _conversation(request))
            shown = {"demos": examples(request.demonstrations)} if request.demonstrations else {}
            if self.together:
                return (yield self.draft, given | _with_own(shown, self.draft))
            diagnosis = (yield self.diagnose, {"report": request.report}).diagnosis
            beliefs = (yield self.plan, given | {"diagnosis": diagnosis}).beliefs
            written = yield self.write, given | {"beliefs": beliefs} | _with_own(shown, self.write)
            return dspy.Prediction(
                diagnosis=diagnosis, beliefs=beliefs, launch=written.launch, kernel=written.kernel
            )

        def forward(self, request: Request) -> Any:
            """What DSPy's optimizers call."""
            steps = self.steps(request)
            predictor, inputs = next(steps)
            while True:
                try:
                    predictor, inputs = steps.send(predictor(**inputs))
                except StopIteration as done:
                    return done.value

        async def aforward(self, request: Request) -> Any:
            """What the client calls: cancelling the task closes the connection."""
            steps = self.steps(request)
            predictor, inputs = next(steps)
            while True:
                try:
                    predictor, inputs = steps.send(await predictor.acall(**inputs))
                except StopIteration as done:
                    return done.value

    return RewriteProgram


def _with_own(shown: dict[str, Any], predictor: Any) -> dict[str, Any]:
    """The demonstrations of a request stand behind those that training chose."""
    return {"demos": [*predictor.demos, *shown["demos"]]} if shown else {}


def examples(demonstrations: Sequence[Demonstration]) -> list[Any]:
    """Demonstrations as DSPy shows them: a request and its answer."""
    dspy = load_dspy()
    return [
        dspy.Example(
            report=shown.report,
            task="",
            diagnosis=shown.diagnosis,
            beliefs=Beliefs(shown.beliefs),
            launch=shown.launch,
            kernel=_fenced(shown.kernel),
        )
        for shown in demonstrations
    ]


def _conversation(request: Request) -> dict[str, Any]:
    """The earlier attempts as turns; the report opens it, so that all requests of a kernel begin alike."""
    dspy = load_dspy()
    given: dict[str, Any] = {"report": request.report}
    turns: list[dict[str, Any]] = []
    for turn in request.turns:
        answer = {"beliefs": Beliefs(turn.beliefs), "launch": turn.launch, "kernel": _fenced(turn.kernel)}
        turns.append(given | answer)
        given = {"feedback": turn.feedback}
    said = "\n\n".join(text for text in (given.get("feedback"), request.feedback) if text)
    return {"history": dspy.History(messages=turns), **given, "feedback": said, "task": request.task}


def _fenced(kernel: str) -> str:
    return f"```cpp\n{kernel}\n```"


def _described(info: Any) -> str:
    return str((info.json_schema_extra or {}).get("desc") or "")


@functools.cache
def _adapter_class() -> Any:
    dspy = load_dspy()

    class AnswerAdapter(dspy.ChatAdapter):  # type: ignore[misc, name-defined]
        """DSPy's reader; an answer that keeps to no form is read as a kernel, and a kernel has to be complete."""

        def parse(self, signature: Any, completion: str) -> dict[str, Any]:
            """Raises `UnreadableAnswer`."""
            try:
                fields: dict[str, Any] = super().parse(signature, completion)
            except dspy.utils.exceptions.AdapterParseError:
                if "kernel" not in signature.output_fields:
                    raise
                fields = {n: _OPTIONAL[n] for n in signature.output_fields if n in _OPTIONAL}
            if "kernel" in signature.output_fields:
                fields["kernel"] = check_complete(strip_fence(fields.get("kernel", completion)))
            elif fields.get("diagnosis") == "":
                fields["diagnosis"] = completion.strip()
            return fields

        def format_task_description(self, signature: Any) -> str:
            """The instructions as they are, without the indent of every line."""
            return f"Your objective:\n{signature.instructions}"

        def format_field_description(self, signature: Any) -> str:
            """What each output is; names and order of all fields stand in the structure that follows."""
            return "\n".join(f"`{name}`: {_described(f)}" for name, f in signature.output_fields.items())

        def user_message_output_requirements(self, signature: Any) -> str:
            """The reminder at the end, without the types that the form has already named."""
            names = ", ".join(f"`[[ ## {name} ## ]]`" for name in signature.output_fields)
            return f"Respond with {names}, then `[[ ## completed ## ]]`."

    return AnswerAdapter
