"""Asks the model: prompts in, answers or typed failures out, with retries, a time limit, cancellation and accounts.

Answers are read as they are written, unless the settings say otherwise, so that a caller can show how far they are.

The only module that talks to a network, and only to `ModelSettings.api_base`. Requests of one call run side by side.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from hipscope.analysis.errors import Cancelled, HipscopeError
from hipscope.formulas.propose.llm.answer_schema import UnreadableAnswer, load_dspy
from hipscope.formulas.propose.llm.model_settings import ModelKey, ModelSettings, Price
from hipscope.formulas.propose.llm.program import (
    ProgramState,
    Request,
    Rewrite,
    adapter,
    plain_launch,
    read_rewrite,
    rewrite_program,
)
from hipscope.formulas.propose.llm.tokens import estimate_tokens

_POLL_SECONDS = 0.02
_STOP_SECONDS = 2.0
_LONGEST_PAUSE = 20.0
_BEHIND_END = 40  # characters
_NEWS_SECONDS = 0.5  # between two signs of progress

FailureKind = Literal[
    "auth",
    "billing",
    "rate_limit",
    "server",
    "timeout",
    "connection",
    "too_long",
    "refused",
    "garbage",
    "unreadable",
    "truncated",
]
_PASSING: frozenset[FailureKind] = frozenset({"rate_limit", "server", "connection"})
_ABOUT_THE_ANSWER: frozenset[FailureKind] = frozenset({"unreadable", "truncated"})


@dataclass(frozen=True)
class Usage:
    """What requests used up. `cost` is US dollars, None when a price is not known; the provider counts the tokens."""

    sent: int = 0
    received: int = 0
    cost: float | None = 0.0
    calls: int = 0

    @property
    def tokens(self) -> int:
        """Sent and received."""
        return self.sent + self.received

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(self.sent + other.sent, self.received + other.received, cost, self.calls + other.calls)


class ModelError(HipscopeError):
    """The model could not be asked, or its answer could not be used. `usage` is what it cost nevertheless."""

    exit_code = 4

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        hint: str | None = None,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        text: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.text = text

    @property
    def about_the_answer(self) -> bool:
        """The model answered, only not usably: asking again is worth an attempt, other failures end the work."""
        return self.kind in _ABOUT_THE_ANSWER


@dataclass(frozen=True)
class Answer:
    """One usable answer. `text` is what the model wrote last; `partial` says why that is not all of it."""

    rewrite: Rewrite
    usage: Usage
    seconds: float
    text: str
    partial: str | None = None


Heard = Callable[[int], None]


class _News:
    """Adds up the characters of all answers of a call, and now and then says how many there are."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._characters = 0
        self._last = 0.0

    def add(self, characters: int) -> None:
        """So many more have come."""
        self._characters += characters
        if characters and time.monotonic() - self._last >= _NEWS_SECONDS:
            self._last = time.monotonic()
            self._heard(self._characters)


class _Ear:
    """Where DSPy sends the pieces of one answer; keeps them. `begun` once one has come.

    Each piece puts `silence` off by `idle` seconds. The first one moves `whole`, the time until an answer has to begin,
    to `end`, that of all work: a model that writes slowly does not hang.
    """

    def __init__(
        self, news: _News, idle: float, silence: asyncio.Timeout, whole: asyncio.Timeout, end: float | None
    ) -> None:
        self._news = news
        self._idle = idle
        self._silence = silence
        self._whole = whole
        self._end = end
        self._step: object = None
        self._pieces: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether any piece has come."""
        return self._step is not None

    @property
    def text(self) -> str:
        """What has come of the last step."""
        return "".join(self._pieces)

    @property
    def completed(self) -> bool:
        """Whether a small model goes on behind the end of an answer with a kernel, where others stop."""
        answer, end, behind = self.text.partition("[[ ## completed ## ]]")
        return bool(end) and "[[ ## kernel ## ]]" in answer and len(behind.strip()) > _BEHIND_END

    async def send(self, chunk: Any) -> None:
        """Take one piece. The one with the token counts, which ends a stream, has no choice."""
        if not self.begun:
            self._whole.reschedule(self._end)
        step = getattr(chunk, "predict_id", None) or "step"
        if step != self._step:
            self._step, self._pieces = step, []
        for choice in chunk.choices or ():
            # At its end the next step may take its time to the first piece.
            ended = bool(choice.finish_reason)
            self._silence.reschedule(None if ended else asyncio.get_running_loop().time() + self._idle)
            delta = choice.delta or {}
            content = delta.get("content") or ""
            self._pieces.append(content)
            if self.completed:
                self._silence.reschedule(0.0)
            self._news.add(len(content or delta.get("reasoning_content") or ""))


class ModelClient:
    """One model at one address."""

    def __init__(
        self, settings: ModelSettings, key: ModelKey | None, state: ProgramState | None = None
    ) -> None:
        self._settings = settings
        self._key = key
        self._state = state

    def ask(
        self,
        requests: Sequence[Request],
        cancel: threading.Event | None = None,
        timeout: float | None = None,
        heard: Heard = lambda _characters: None,
    ) -> list[Answer | ModelError]:
        """One answer or failure for each request, in their order, from programs that run side by side.

        `timeout` is how many seconds are left for all of it. `heard` is called now and then, in another thread, how
        many characters of the answers have come. Raises `Cancelled` when `cancel` is set, with
        all connections closed, and `MissingTool` without DSPy.
        """
        load_dspy()
        return _run(self._ask_all(requests, timeout, _News(heard)), cancel)

    def language_model(self) -> Any:
        """DSPy's own model at the same address with the same key, for its optimizers. Raises `ModelError`."""
        return self._model(load_dspy())

    async def _ask_all(
        self, requests: Sequence[Request], left: float | None, news: _News
    ) -> list[Answer | ModelError]:
        return list(await asyncio.gather(*(self._ask(request, left, news) for request in requests)))

    async def _ask(self, request: Request, left: float | None, news: _News) -> Answer | ModelError:
        """DSPy's own retry is off: it waits however long a provider asks, past any limit, and never repeats an answer
        that broke off in its middle.
        """
        started = time.monotonic()
        end = None if left is None else started + left
        deadline = min(started + self._settings.timeout_s, math.inf if end is None else end)
        tries = 0
        spent = Usage()
        while True:
            answer = await self._ask_once(request, news, deadline, end)
            spent += answer.usage
            if isinstance(answer, Answer):
                return replace(answer, usage=spent)
            answer.usage = spent
            tries += 1
            pause = (
                answer.retry_after if answer.retry_after is not None else min(0.5 * 2**tries, _LONGEST_PAUSE)
            )
            if answer.kind not in _PASSING or tries > self._settings.retries:
                return answer
            if time.monotonic() + pause >= deadline:
                return answer
            await asyncio.sleep(pause)

    async def _ask_once(
        self, request: Request, news: _News, deadline: float, end: float | None
    ) -> Answer | ModelError:
        """The program once; its answer has to begin by `deadline`, on the clock of the event loop.

        What has come of an answer that broke off counts if the kernel in it is complete.
        """
        dspy = load_dspy()
        model = self._model(dspy)
        started = time.monotonic()
        silence, whole = asyncio.timeout(None), asyncio.timeout_at(deadline)
        ear = _Ear(news, self._settings.idle_timeout_s, silence, whole, end)
        program = rewrite_program(self._settings.steps, self._state)
        stream = ear if self._settings.stream else None
        with dspy.track_usage() as tracker:
            failure: ModelError | None = None
            rewrite: Rewrite | None = None
            try:
                async with whole, silence:
                    with dspy.context(lm=model, adapter=adapter(), send_stream=stream, track_usage=True):
                        rewrite = read_rewrite(await program.acall(request=request))
            except TimeoutError:
                failure = self._too_slow(ear, silent=silence.expired())
            except UnreadableAnswer as error:
                failure = self._unreadable(model, str(error))
            except (dspy.utils.exceptions.LMError, OSError) as error:
                failure = self._explain(dspy, error, ear.begun)
            finally:
                await model.aclose()
        said = _said(model, ear) if failure is None or not ear.begun or failure.about_the_answer else ear.text
        usage = self._usage(tracker, model, request, said, failed=failure is not None)
        seconds = time.monotonic() - started
        if failure is None:
            assert rewrite is not None
            return Answer(rewrite, usage, seconds, said)
        if not failure.about_the_answer and (kept := _kept(program, ear)) is not None:
            return Answer(kept, usage, seconds, said, partial=None if ear.completed else failure.message)
        failure.usage, failure.text = usage, said
        return failure

    def _too_slow(self, ear: _Ear, *, silent: bool) -> ModelError:
        if silent:
            idle = self._settings.idle_timeout_s
            return self._failed(
                "timeout",
                f"nothing more came for {idle:g} s after {len(ear.text)} characters",
                "raise llm.idle_timeout_s",
            )
        if ear.begun:
            what = f"the time for all requests ended after {len(ear.text)} characters"
            return self._failed("timeout", what, "raise llm.max_seconds")
        what = f"no answer within {self._settings.timeout_s:g} s"
        return self._failed("timeout", what, "raise llm.timeout_s, or llm.max_seconds if that is shorter")

    def _unreadable(self, model: Any, reason: str) -> ModelError:
        """Why the last answer holds no kernel: cut off, empty, or something else."""
        record = model.history[-1]
        text = str((record["outputs"] or [""])[0] or "")
        if _finish(record["response"]) == "length":
            return self._failed("truncated", "the answer was cut off", "raise llm.max_answer_tokens")
        if not text.strip():
            return self._failed("garbage", "the reply is empty", "check llm.model and llm.api_base")
        return self._failed("truncated" if "breaks off" in reason else "unreadable", reason)

    def _model(self, dspy: Any) -> Any:
        settings = self._settings
        options: dict[str, Any] = {}
        if settings.max_answer_tokens is not None:
            options["max_tokens"] = settings.max_answer_tokens
        if settings.temperature is not None:
            options["temperature"] = settings.temperature
        try:
            return dspy.LM(
                settings.model,
                api_base=settings.api_base,
                api_key=self._key.reveal() if self._key else "none",
                engine=settings.engine,
                timeout=settings.timeout_s,
                num_retries=0,
                cache=False,
                **options,
            )
        except (dspy.utils.exceptions.LMError, ValueError) as error:
            raise self._failed("refused", self._one_line(str(error)), "see docs/llm.md") from None

    def _usage(self, tracker: Any, model: Any, request: Request, said: str, *, failed: bool) -> Usage:
        """What DSPy tracked; our estimate where a provider counts no tokens, as some do in streams: budgets must hold.

        An answer that broke off is estimated too: its provider counted it but did not say.
        """
        counts = tracker.get_total_tokens().get(model.model, {})
        answered = bool(model.history)
        sent = int(counts.get("prompt_tokens") or 0)
        received = int(counts.get("completion_tokens") or 0)
        if answered or said:
            sent, received = sent or estimate_tokens(request.report), received or estimate_tokens(said)
        calls = len(model.history) + (failed and not answered)
        price: Price | None = self._settings.price
        if price is not None:
            return Usage(sent, received, (sent * price.sent + received * price.received) / 1e6, calls)
        costs = [record.get("cost") for record in model.history]
        unknown = any(cost is None for cost in costs) or (bool(said) and not answered)
        return Usage(sent, received, None if unknown else float(sum(costs)), calls)

    def _explain(self, dspy: Any, error: Exception, begun: bool) -> ModelError:
        """A library's failure as one of ours, in one line, without the key. `begun`: a part of the answer had come."""
        known, settings = dspy.utils.exceptions, self._settings
        said = self._one_line(str(getattr(error, "message", "") or error))
        status, after = getattr(error, "status", None), getattr(error, "retry_after", None)
        where = f" (HTTP {status})" if status else ""
        wait = f"; it asks to wait {after:g} s" if after is not None else ""
        key = f"check the key in {settings.key_env}" if settings.key_env else "set llm.key_env"
        kinds: tuple[tuple[Any, FailureKind, str, str], ...] = (
            (known.LMAuthError, "auth", f"the key was not accepted{where}", key),
            (known.LMBillingError, "billing", f"the account has no credit{where}", "check it at the provider"),
            (known.LMRateLimitError, "rate_limit", f"too many requests{where}{wait}", "try later"),
            (known.ContextWindowExceededError, "too_long", f"the prompt is too long for the model{where}",
             "lower llm.max_prompt_tokens"),
            (known.LMTimeoutError, "timeout", f"the provider gave up waiting{where}", "raise llm.timeout_s"),
            (known.LMServerError, "server", f"the provider failed{where}", "try later"),
            (known.LMStreamAssemblyError if begun else (), "connection", "the answer broke off",
             "try later, or set llm.stream = false"),
            (known.LMTransportError | OSError, "connection", "no connection", "check llm.api_base"),
            (known.LMInvalidRequestError | known.LMConfigurationError | known.LMUnsupportedFeatureError, "refused",
             f"the request was refused{where}", "check llm.model"),
        )  # fmt: skip
        for types, kind, what, hint in kinds:
            if isinstance(error, types) or (kind == "refused" and (status or 0) >= 400):
                retry = after if kind == "rate_limit" else None
                return self._failed(kind, f"{what}: {said}", hint, retry_after=retry)
        what = f"the reply is not what the API defines{where}: {said}"
        return self._failed("garbage", what, "check llm.api_base")

    def _failed(
        self, kind: FailureKind, what: str, hint: str | None = None, *, retry_after: float | None = None
    ) -> ModelError:
        return ModelError(kind, f"{self._settings.destination}: {what}", hint, retry_after=retry_after)

    def _one_line(self, text: str) -> str:
        """The first line, shortened, with the key blanked: providers quote the key that they refuse."""
        hidden = self._key.hide_in(text) if self._key else text
        first = next((line.strip() for line in hidden.splitlines() if line.strip()), "no reason given")
        return first if len(first) <= 300 else first[:297] + "..."


def _said(model: Any, ear: _Ear) -> str:
    """What the model wrote last."""
    if not model.history:
        return ear.text
    return str((model.history[-1]["outputs"] or [""])[0] or "")


def _kept(program: Any, ear: _Ear) -> Rewrite | None:
    """The rewrite in an answer that broke off, if its kernel had come whole."""
    try:
        fields = adapter().parse(program.repair.signature, ear.text)
    except UnreadableAnswer:
        return None
    launch = plain_launch(fields["launch"])
    return Rewrite(fields["kernel"], fields["beliefs"].root, fields["diagnosis"], launch)


def _finish(response: Any) -> str:
    """Why the model stopped, from either engine's response."""
    choices = getattr(response, "choices", None)
    reason = choices[0].finish_reason if choices else getattr(response, "finish_reason", None)
    return str(reason or "")


def _run(
    work: Coroutine[Any, Any, list[Answer | ModelError]], cancel: threading.Event | None
) -> list[Answer | ModelError]:
    """Run `work` in a thread of its own, so that callers may have an event loop; stop it when `cancel` is set."""
    stop = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="hipscope-llm") as pool:
        answers = pool.submit(asyncio.run, _until(work, (stop, cancel) if cancel else (stop,)))
        try:
            return answers.result()
        except BaseException:
            stop.set()
            raise


async def _until(
    work: Coroutine[Any, Any, list[Answer | ModelError]], stops: Sequence[threading.Event]
) -> list[Answer | ModelError]:
    task = asyncio.ensure_future(work)
    while not task.done() and not any(stop.is_set() for stop in stops):
        await asyncio.wait({task}, timeout=_POLL_SECONDS)
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_STOP_SECONDS)
        raise Cancelled
    return task.result()
