"""Asks the model: prompts in, answers or typed failures out, with retries, a time limit, cancellation and accounts.

Answers are read as they are written, unless the settings say otherwise, so that a caller can show how far they are.

The only module that talks to a network, and only to `ModelSettings.api_base`. Requests of one call run side by side.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from hipscope.analysis.errors import Cancelled, HipscopeError
from hipscope.formulas.propose.llm.answer_schema import (
    Rewrite,
    UnreadableAnswer,
    adapter,
    load_dspy,
    read_answer,
    rewrite_signature,
)
from hipscope.formulas.propose.llm.model_settings import ModelKey, ModelSettings, Price
from hipscope.formulas.propose.llm.prompt import estimate_tokens

_POLL_SECONDS = 0.02
_STOP_SECONDS = 2.0
_LONGEST_PAUSE = 20.0
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

    @property
    def tokens(self) -> int:
        """Sent and received."""
        return self.sent + self.received

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(self.sent + other.sent, self.received + other.received, cost)


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
    """One usable answer. `text` is what the model wrote."""

    rewrite: Rewrite
    usage: Usage
    seconds: float
    text: str


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
    """Where DSPy sends the pieces of one answer. `begun` once one has come."""

    def __init__(self, news: _News) -> None:
        self._news = news
        self.begun = False

    async def send(self, chunk: Any) -> None:
        """Take one piece. The one with the token counts, which ends a stream, has no choice."""
        for choice in chunk.choices or ():
            self.begun = True
            delta = choice.delta or {}
            self._news.add(len(delta.get("content") or delta.get("reasoning_content") or ""))


class ModelClient:
    """One model at one address."""

    def __init__(self, settings: ModelSettings, key: ModelKey | None) -> None:
        self._settings = settings
        self._key = key

    def ask(
        self,
        reports: Sequence[str],
        cancel: threading.Event | None = None,
        timeout: float | None = None,
        heard: Heard = lambda _characters: None,
    ) -> list[Answer | ModelError]:
        """One answer or failure for each report, in their order, from requests made side by side.

        `timeout` in seconds replaces the setting when it is shorter. `heard` is called now and then, in another thread,
        how many characters of the answers have come. Raises `Cancelled` when `cancel` is set, with
        all connections closed, and `MissingTool` without DSPy.
        """
        load_dspy()
        limit = min(timeout or self._settings.timeout_s, self._settings.timeout_s)
        return _run(self._ask_all(reports, limit, _News(heard)), cancel)

    async def _ask_all(self, reports: Sequence[str], limit: float, news: _News) -> list[Answer | ModelError]:
        return list(await asyncio.gather(*(self._ask(report, limit, news) for report in reports)))

    async def _ask(self, report: str, limit: float, news: _News) -> Answer | ModelError:
        started = time.monotonic()
        deadline = started + limit
        tries = 0
        while True:
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    return await self._ask_once(report, _Ear(news))
            except TimeoutError:
                return self._failed("timeout", f"no answer within {limit:g} s", "raise llm.timeout_s")
            except ModelError as failure:
                error = failure
            tries += 1
            pause = (
                error.retry_after if error.retry_after is not None else min(0.5 * 2**tries, _LONGEST_PAUSE)
            )
            if error.kind not in _PASSING or tries > self._settings.retries:
                return error
            if time.monotonic() + pause >= deadline:
                return error
            await asyncio.sleep(pause)

    async def _ask_once(self, report: str, ear: _Ear) -> Answer:
        """One request. Raises `ModelError`."""
        dspy = load_dspy()
        model = self._model(dspy)
        started = time.monotonic()
        stream = ear if self._settings.stream else None
        try:
            with dspy.context(lm=model, adapter=adapter(dspy), track_usage=True, send_stream=stream):
                await dspy.Predict(rewrite_signature(dspy)).acall(report=report)
        except dspy.utils.exceptions.AdapterParseError:
            pass  # the answer is read below, by a reader that forgives more
        except (dspy.utils.exceptions.LMError, OSError) as error:
            raise self._explain(dspy, error, ear.begun) from None
        finally:
            await model.aclose()
        record = model.history[-1]
        text = str((record["outputs"] or [""])[0] or "")
        usage = self._usage(record, report, text)
        if not text.strip() and _finish(record["response"]) != "length":
            raise self._failed(
                "garbage", "the reply is empty", "check llm.model and llm.api_base", usage=usage
            )
        if _finish(record["response"]) == "length":
            raise self._failed(
                "truncated", "the answer was cut off", "raise llm.max_answer_tokens", usage=usage, text=text
            )
        try:
            return Answer(read_answer(text), usage, time.monotonic() - started, text)
        except UnreadableAnswer as error:
            kind: FailureKind = "truncated" if "breaks off" in str(error) else "unreadable"
            raise self._failed(kind, str(error), usage=usage, text=text) from None

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

    def _usage(self, record: Any, report: str, text: str) -> Usage:
        """What the provider counted; our estimate where it counts none, as some do in streams: budgets must hold."""
        counts = record.get("usage") or {}
        sent = int(counts.get("prompt_tokens") or estimate_tokens(report))
        received = int(counts.get("completion_tokens") or estimate_tokens(text))
        price: Price | None = self._settings.price
        if price is not None:
            return Usage(sent, received, (sent * price.sent + received * price.received) / 1e6)
        cost = record.get("cost")
        return Usage(sent, received, float(cost) if cost is not None else None)

    def _explain(self, dspy: Any, error: Exception, begun: bool) -> ModelError:
        """A library's failure as one of ours, in one line, without the key. `begun`: a part of the answer had come."""
        known = dspy.utils.exceptions
        said = self._one_line(str(getattr(error, "message", "") or error))
        status = getattr(error, "status", None)
        where = f" (HTTP {status})" if status else ""
        if isinstance(error, known.LMAuthError):
            source = (
                f"check the key in {self._settings.key_env}" if self._settings.key_env else "set llm.key_env"
            )
            return self._failed("auth", f"the key was not accepted{where}: {said}", source)
        if isinstance(error, known.LMBillingError):
            return self._failed(
                "billing", f"the account has no credit{where}: {said}", "check it at the provider"
            )
        if isinstance(error, known.LMRateLimitError):
            after = getattr(error, "retry_after", None)
            wait = f"; it asks to wait {after:g} s" if after is not None else ""
            return self._failed(
                "rate_limit", f"too many requests{where}{wait}: {said}", "try later", retry_after=after
            )
        if isinstance(error, known.ContextWindowExceededError):
            return self._failed(
                "too_long",
                f"the prompt is too long for the model{where}: {said}",
                "lower llm.max_prompt_tokens",
            )
        if isinstance(error, known.LMTimeoutError):
            return self._failed(
                "timeout", f"the provider gave up waiting{where}: {said}", "raise llm.timeout_s"
            )
        if isinstance(error, known.LMServerError):
            return self._failed("server", f"the provider failed{where}: {said}", "try later")
        if begun and isinstance(error, known.LMStreamAssemblyError):
            return self._failed(
                "connection", f"the answer broke off: {said}", "try later, or set llm.stream = false"
            )
        if isinstance(error, known.LMTransportError | OSError):
            return self._failed("connection", f"no connection: {said}", "check llm.api_base")
        ours = known.LMInvalidRequestError | known.LMConfigurationError | known.LMUnsupportedFeatureError
        if isinstance(error, ours) or (status or 0) >= 400:
            return self._failed("refused", f"the request was refused{where}: {said}", "check llm.model")
        return self._failed(
            "garbage", f"the reply is not what the API defines{where}: {said}", "check llm.api_base"
        )

    def _failed(
        self,
        kind: FailureKind,
        what: str,
        hint: str | None = None,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        text: str = "",
    ) -> ModelError:
        message = f"{self._settings.destination}: {what}"
        return ModelError(kind, message, hint, retry_after=retry_after, usage=usage, text=text)

    def _one_line(self, text: str) -> str:
        """The first line, shortened, with the key blanked: providers quote the key that they refuse."""
        hidden = self._key.hide_in(text) if self._key else text
        first = next((line.strip() for line in hidden.splitlines() if line.strip()), "no reason given")
        return first if len(first) <= 300 else first[:297] + "..."


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
