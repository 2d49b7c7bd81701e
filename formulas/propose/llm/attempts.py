"""The loop: request, judge, report the outcome, request again from the best so far, up to the target or a budget.

Takes what the report is about, a way to ask and a judge; gives the best verified rewrite and all attempts. It verifies
nothing itself: only what the judge accepts counts. This is `dspy.Refine` with the judge as reward; `program` says why
it is not DSPy's own.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hipscope.analysis.errors import UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.source.parse import device_functions, exact_tree, parse
from hipscope.analysis.source.syntax import KernelSyntax, Span
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.llm.answer_schema import Belief
from hipscope.formulas.propose.llm.attempt_hints import direction
from hipscope.formulas.propose.llm.beliefs import Alignment, BeliefTrace, CheckedBelief, align, check_beliefs
from hipscope.formulas.propose.llm.client import Answer, ModelError, Usage
from hipscope.formulas.propose.llm.model_settings import ModelSettings
from hipscope.formulas.propose.llm.program import Demonstration, EarlierAttempt, Request
from hipscope.formulas.propose.llm.prompt import Prompt, Subject, build_prompt
from hipscope.formulas.propose.llm.roof import at_roof
from hipscope.formulas.propose.llm.tokens import estimate_tokens
from hipscope.formulas.propose.splice import Splice, apply_splices

_TURNS_SHOWN = 6
_SHARE_OF_TURNS = 0.5  # of the tokens of a prompt
_FORM_OF_A_TURN = 80  # markers and reminder
_FACT_LENGTH = 600
_SECRETS_OF_THE_JUDGE = re.compile(r"\b(seeds?|tolerances?|rtol|atol)\b", re.IGNORECASE)
_PASSED_OVER = ("comment", "preproc_include")
_HELPER = re.compile(rb"[^{}=;]*\b(?:__device__|constexpr)\b")


class Ask(Protocol):
    """How the model is asked; `ModelClient.ask` is one."""

    def __call__(
        self,
        requests: Sequence[Request],
        cancel: threading.Event | None = None,
        timeout: float | None = None,
        heard: Callable[[int], None] = ...,
    ) -> list[Answer | ModelError]:
        """One answer or failure for each request; `heard` gets the number of characters so far."""


@dataclass(frozen=True)
class Ruling:
    """The judgement on a candidate, as the model may see it.

    `accepted`: equivalent, faster, and the objective moved. `facts` are sentences for the model: compiler
    errors, refusals, how outputs differ, what it measured. `before` and `after` are metrics of the kernel over the same
    launches, empty when it did not come to a measurement. `roof` says why nothing more can be gained, where that is so.
    """

    accepted: bool
    facts: tuple[str, ...]
    speedup: float | None = None
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)
    roof: str | None = None

    @property
    def reward(self) -> float:
        """The verdict times the speed-up: what attempts are compared by, and what training makes larger."""
        return (self.speedup or 1.0) if self.accepted else 0.0


@dataclass(frozen=True)
class Proposal:
    """What the judge gets: a candidate, the number of its attempt, what the model believes of it and what it wrote."""

    number: int
    candidate: Candidate
    beliefs: tuple[Belief, ...]
    kernel: str = ""
    launch: str = ""


Judge = Callable[[Proposal], Ruling]


@dataclass(frozen=True)
class ModelAttempt:
    """One answer and what came of it. `failure` says why there was nothing to judge."""

    number: int
    direction: str
    candidate: Candidate | None = None
    kernel: str | None = None
    launch: str = ""
    diagnosis: str = ""
    failure: str | None = None
    ruling: Ruling | None = None
    beliefs: tuple[CheckedBelief, ...] = ()
    alignment: Alignment | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """The judgement on it in sentences."""
        if self.ruling is not None:
            return self.ruling.facts
        return (self.failure,) if self.failure else ()


@dataclass(frozen=True)
class Conversation:
    """The best accepted attempt, or None, all attempts, what they used up, and why it ended."""

    best: ModelAttempt | None
    attempts: tuple[ModelAttempt, ...]
    usage: Usage
    stopped: str


def rewrite_with_model(
    subject: Subject,
    settings: ModelSettings,
    ask: Ask,
    judge: Judge,
    run: Run | None = None,
    *,
    trace: BeliefTrace | None = None,
    clock: Callable[[], float] = time.monotonic,
    profile_bytes: int | None = None,
) -> Conversation:
    """Rounds of attempts until one reaches `settings.target_speedup` or a budget ends.

    Raises `ModelError` when the very first round gets no answer at all, `Cancelled` when `cancel` is set, and
    `UsageError` when the report does not fit its budget.
    """
    work = _Work(
        subject,
        settings,
        ask,
        judge,
        run or Run(),
        trace or BeliefTrace(None),
        clock,
        profile_bytes,
    )
    return work.conversation()


class UnusableAnswer(ValueError):
    """The answer cannot be put in place of the kernel; the message is a fact for the model."""


def splice(source: bytes, syntax: KernelSyntax, answer: str) -> bytes:
    """The whole file with the kernel of `answer` in place of the old one, with the file's line ends.

    Device functions that the file has take their places, and helpers come before the kernel; what the file has word for
    word is passed over. Raises `UnusableAnswer` when the kernel has another name or something else comes along.
    """
    text = answer.replace("\r\n", "\n").encode()
    found = parse(text).kernel(syntax.name)
    if found is None:
        raise UnusableAnswer(f"the answer does not define exactly one kernel named {syntax.name}")
    places = {f.name: f.span for f in device_functions(source)}
    edits: dict[Span, bytes] = {}
    for function in device_functions(text):
        if function.name in places and not found.span.start <= function.span.start < found.span.end:
            edits[places[function.name]] = text[function.span.start : function.span.end]
    helpers = _helpers(text, found.span, _plain(source), list(edits.values()))
    edits[syntax.span] = b"\n\n".join([*helpers, text[found.span.start : found.span.end]])
    if b"\r\n" in source[syntax.span.start : syntax.span.end]:
        edits = {span: new.replace(b"\n", b"\r\n") for span, new in edits.items()}
    return apply_splices(source, [Splice(span.start, span.end, new) for span, new in edits.items()])


def _helpers(text: bytes, kernel: Span, known: bytes, placed: Sequence[bytes]) -> list[bytes]:
    """What an answer holds beside the kernel, functions that are `placed`, comments, includes and what is `known`."""
    found = []
    for node in exact_tree(text).children:
        piece = text[node.start_byte : node.end_byte]
        inside = kernel.start <= node.start_byte and node.end_byte <= kernel.end
        if inside or piece in placed or node.type in (*_PASSED_OVER, ";") or _plain(piece) in known:
            continue
        if not _HELPER.match(piece):
            shown = " ".join(piece.decode("utf-8", "replace").split())
            raise UnusableAnswer(f"the answer holds more than kernel and helpers: `{_short(shown, 80)}`")
        found.append(piece)
    return found


def _plain(text: bytes) -> bytes:
    """Without blanks: two texts of one declaration."""
    return b"".join(text.split())


@dataclass
class _Work:
    """The state of one run of the loop."""

    subject: Subject
    settings: ModelSettings
    ask: Ask
    judge: Judge
    run: Run
    trace: BeliefTrace
    clock: Callable[[], float]
    profile_bytes: int | None
    attempts: list[ModelAttempt] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    best: ModelAttempt | None = None
    usage: Usage = field(default_factory=Usage)
    ends: float = 0.0

    def conversation(self) -> Conversation:
        self.ends = self.clock() + self.settings.budget.seconds
        subject = self.subject
        roof = at_roof(subject.kernel, subject.profile.device, subject.profile.provenance, subject.facts)
        reason = f"the kernel is at a roof: {roof}" if roof is not None else self._over()
        while reason is None:
            prompts = self._prompts()
            if self.usage.tokens + sum(a.tokens for a in prompts) > self.settings.budget.tokens:
                reason = f"the budget of {self.settings.budget.tokens} tokens does not allow another round"
                break
            reason = self._round(prompts) or self._over()
        self.trace.write(
            "stop", reason=reason, usage=self.usage, best=self.best.number if self.best else None
        )
        return Conversation(self.best, tuple(self.attempts), self.usage, reason)

    def _over(self) -> str | None:
        """Why there is no further round, or None."""
        budget, target = self.settings.budget, self.settings.target_speedup
        speedup = self.best.ruling.speedup if self.best and self.best.ruling else None
        if target is not None and speedup is not None and speedup >= target:
            return f"the target is reached: {speedup:.2f} times as fast"
        if self.best and self.best.ruling and (roof := self.best.ruling.roof) is not None:
            return f"attempt {self.best.number} is at a roof: {roof}"
        if len(self.attempts) >= budget.attempts:
            return f"all {budget.attempts} attempts are used"
        if self.usage.tokens >= budget.tokens:
            return f"the budget of {budget.tokens} tokens is used"
        if self.clock() >= self.ends:
            return f"the budget of {budget.seconds:g} s is used"
        if budget.calls is not None and self.usage.calls >= budget.calls:
            return f"all {budget.calls} requests are used"
        if budget.cost is not None and self.usage.cost is None:
            return (
                "the price of this model is not known: set llm.price_in and llm.price_out, or no llm.max_cost"
            )
        if budget.cost is not None and self.usage.cost is not None and self.usage.cost >= budget.cost:
            return f"the budget of {budget.cost:g} US dollars is used"
        return None

    def _prompts(self) -> list[_Asked]:
        """What the attempts of the next round are asked: the report, the earlier attempts, and a direction each."""
        budget = self.settings.budget
        count = min(self.settings.candidates, budget.attempts - len(self.attempts))
        if budget.calls is not None:
            count = min(count, budget.calls - self.usage.calls)
        formulas = [f.formula for f in self.subject.findings]
        first = len(self.attempts)
        earlier, prompt = self._fitting()
        shown = () if earlier else self.subject.demonstrations
        size = sum(_size(a) for a in earlier) + sum(_size_shown(d) for d in shown)
        turns = tuple(
            EarlierAttempt(a.kernel, _beliefs(a), _told(a), a.launch) for a in earlier if a.kernel is not None
        )
        feedback = "\n\n".join(_told(a) for a in earlier if a.kernel is None)
        ways = [direction(formulas, first + offset) for offset in range(count)]
        base = f"Start from attempt {self.best.number}, the best version so far. " if self.best else ""
        return [
            _Asked(
                way, prompt, Request(prompt.report, base + way, turns, feedback, shown), prompt.tokens + size
            )
            for way in ways
        ]

    def _fitting(self) -> tuple[list[ModelAttempt], Prompt]:
        """As many of the latest attempts as fit beside the report, and the report. Raises `UsageError`."""
        most = self.settings.max_prompt_tokens
        earlier = self._earlier()
        while True:
            try:
                prompt = build_prompt(
                    self.subject,
                    sources=self.settings.sources,
                    max_tokens=most - sum(_size(a) for a in earlier),
                    profile_bytes=self.profile_bytes,
                )
            except UsageError:
                if not earlier:
                    raise
                earlier = earlier[1:]
            else:
                return earlier, prompt

    def _earlier(self) -> list[ModelAttempt]:
        """The latest attempts, within their share of the tokens, and the best one, which is the last."""
        others = [a for a in self.attempts if a is not self.best and a.facts]
        chosen = [self.best] if self.best else []
        left = _SHARE_OF_TURNS * self.settings.max_prompt_tokens - sum(_size(a) for a in chosen)
        for attempt in reversed(others[-_TURNS_SHOWN:]):
            if (left := left - _size(attempt)) < 0:
                break
            chosen.append(attempt)
        return chosen[::-1]

    def _round(self, prompts: Sequence[_Asked]) -> str | None:
        """One round; why it must be the last one, or None."""
        first = len(self.attempts) + 1
        for number, asked in enumerate(prompts, first):
            self.trace.write(
                "prompt",
                attempt=number,
                direction=asked.way,
                tokens=asked.tokens,
                profile_bytes=asked.prompt.profile_bytes,
                shown=asked.prompt.shown,
                left_out=asked.prompt.left_out,
                report=asked.request.report,
                turns=asked.request.turns,
                feedback=asked.request.feedback,
                demonstrations=asked.request.demonstrations,
            )
        what = "a rewrite" if len(prompts) == 1 else f"{len(prompts)} rewrites"
        self._say(f"asking {self.settings.model} for {what}")
        left = max(0.1, self.ends - self.clock())
        requests = [asked.request for asked in prompts]
        answers = self.ask(
            requests, self.run.cancel, left, lambda n: self._say(f"{n} characters of {what} so far")
        )
        final: ModelError | None = None
        for way, answer in zip((asked.way for asked in prompts), answers, strict=True):
            number = len(self.attempts) + 1
            self.run.check()
            self.usage += answer.usage
            if isinstance(answer, ModelError):
                self.trace.write(
                    "failure", attempt=number, kind=answer.kind, message=str(answer), text=answer.text
                )
                self.attempts.append(ModelAttempt(number, way, failure=_without_address(answer)))
                final = final if answer.about_the_answer else answer
            elif self.clock() >= self.ends:
                self.attempts.append(ModelAttempt(number, way, failure="there was no time left to judge it"))
            else:
                self.attempts.append(self._judged(number, way, answer))
        if final is None:
            return None
        if first == 1 and all(isinstance(a, ModelError) for a in answers):
            self.trace.write("stop", reason=str(final), usage=self.usage, best=None)
            raise final
        return str(final)

    def _judged(self, number: int, way: str, answer: Answer) -> ModelAttempt:
        rewrite = answer.rewrite
        self.trace.write(
            "answer",
            attempt=number,
            text=answer.text,
            diagnosis=rewrite.diagnosis,
            beliefs=rewrite.beliefs,
            launch=rewrite.launch,
            partial=answer.partial,
            usage=answer.usage,
            seconds=answer.seconds,
        )
        attempt = ModelAttempt(
            number, way, kernel=rewrite.kernel, launch=rewrite.launch, diagnosis=rewrite.diagnosis
        )
        try:
            text = splice(self.subject.source, self.subject.syntax, rewrite.kernel)
        except UnusableAnswer as error:
            return self._failed(attempt, str(error))
        if text == self.subject.source and not rewrite.launch:
            return self._failed(attempt, "the answer is the kernel as it was")
        digest = hashlib.sha256(b"".join([*text.split(), rewrite.launch.encode()])).hexdigest()
        if digest in self.seen:
            return self._failed(attempt, f"the same kernel as attempt {self.seen[digest]}")
        self.seen[digest] = number
        edits = "; ".join(dict.fromkeys(b.edit for b in rewrite.beliefs))
        expected = "; ".join(dict.fromkeys(f"{b.metric} goes {b.direction}" for b in rewrite.beliefs))
        candidate = Candidate(
            recipe="llm",
            title=f"{_short(edits) or 'Rewrite'} ({self.settings.model}, attempt {number})",
            text=text,
            expected=_short(expected) or "nothing stated",
            exact=False,
        )
        self._say(f"judging attempt {number}")
        ruling = self.judge(Proposal(number, candidate, rewrite.beliefs, rewrite.kernel, rewrite.launch))
        ruling = replace(ruling, facts=tuple(f for f in map(_fact, ruling.facts) if f))
        checked = check_beliefs(rewrite.beliefs, ruling.before, ruling.after)
        span = self.subject.syntax.span
        original = self.subject.source[span.start : span.end].decode("utf-8", "replace")
        alignment = align(checked, self.subject.findings, original, rewrite.kernel, span.line)
        self.trace.write(
            "judged",
            attempt=number,
            accepted=ruling.accepted,
            speedup=ruling.speedup,
            facts=ruling.facts,
            beliefs=checked,
            alignment=alignment,
        )
        attempt = replace(attempt, candidate=candidate, ruling=ruling, beliefs=checked, alignment=alignment)
        if ruling.reward > (self.best.ruling.reward if self.best and self.best.ruling else 0.0):
            self.best = attempt
        return attempt

    def _failed(self, attempt: ModelAttempt, why: str) -> ModelAttempt:
        self.trace.write("unusable", attempt=attempt.number, reason=why)
        return replace(attempt, failure=why)

    def _say(self, message: str) -> None:
        self.run.say(message, len(self.attempts) / self.settings.budget.attempts)


@dataclass(frozen=True)
class _Asked:
    """What one attempt is asked: its direction, the report with its account, the request, and its tokens."""

    way: str
    prompt: Prompt
    request: Request
    tokens: int


def _beliefs(attempt: ModelAttempt) -> tuple[Belief, ...]:
    return tuple(checked.belief for checked in attempt.beliefs)


def _size(attempt: ModelAttempt) -> int:
    """About how many tokens an attempt takes as a turn."""
    return _FORM_OF_A_TURN + estimate_tokens(
        f"{attempt.kernel or ''}{_told(attempt)}{[b.model_dump_json() for b in _beliefs(attempt)]}"
    )


def _size_shown(shown: Demonstration) -> int:
    beliefs = [b.model_dump_json() for b in shown.beliefs]
    return _FORM_OF_A_TURN + estimate_tokens(f"{shown.report}{shown.diagnosis}{beliefs}{shown.kernel}")


def _told(attempt: ModelAttempt) -> str:
    """What came of an attempt, as the model hears of it."""
    ruling = attempt.ruling
    facts = list(attempt.facts)
    facts += [
        f"you expected {c.belief.metric} to go {c.belief.direction}: {c.reason}"
        for c in attempt.beliefs
        if c.after is not None
    ]
    if ruling is not None and ruling.accepted:
        title = f"Attempt {attempt.number}, verified, {ruling.speedup or 1:.3g} times as fast as the source:"
    else:
        title = f"Attempt {attempt.number}, not accepted:"
    return "\n".join([title, *(f"- {fact}" for fact in facts)])


def _fact(text: str) -> str:
    """A fact as the model may see it: nothing of how the judge tests, and not endless."""
    kept = "\n".join(line for line in text.splitlines() if not _SECRETS_OF_THE_JUDGE.search(line)).strip()
    return kept if len(kept) <= _FACT_LENGTH else kept[: _FACT_LENGTH - 3] + "..."


def _without_address(error: ModelError) -> str:
    return error.message.partition(": ")[2] or error.message


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
