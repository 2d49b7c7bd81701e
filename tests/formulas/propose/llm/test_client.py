"""Asking a model over the wire: answers, every kind of failure, cancelling, and what must never happen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.analysis.errors import Cancelled
from hipscope.formulas.propose.llm.answer_schema import load_dspy
from hipscope.formulas.propose.llm.client import Answer, ModelClient, ModelError
from hipscope.formulas.propose.llm.model_settings import Price
from hipscope.formulas.propose.llm.program import Demonstration, EarlierAttempt, Request, messages

Serve = Callable[..., Any]
ClientFor = Callable[..., ModelClient]

KERNEL = "__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }"
BELIEF = {
    "finding": "F1", "edit": "constant", "mechanism": "less work", "metric": "time_ns", "direction": "down",
    "expected_percent": 20,
}  # fmt: skip
SECRET = "sk-test-5f2b"


def answered(client: ModelClient, report: str = "a report") -> Answer:
    (answer,) = client.ask([Request(report)])
    assert isinstance(answer, Answer), answer
    return answer


def failed(client: ModelClient) -> ModelError:
    (answer,) = client.ask([Request("a report")])
    assert isinstance(answer, ModelError), answer
    return answer


def test_an_answer_is_kernel_beliefs_and_what_it_used(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL, [BELIEF]), sent=1234, received=56))
    answer = answered(client_for(server, price=Price(sent=2.0, received=10.0)))
    assert answer.rewrite.kernel == KERNEL
    assert [b.metric for b in answer.rewrite.beliefs] == ["time_ns"]
    assert (answer.usage.sent, answer.usage.received) == (1234, 56)
    assert answer.usage.cost == pytest.approx(1234 * 2e-6 + 56 * 10e-6)


def test_what_is_shown_is_what_is_sent(serve: Serve, wire: ModuleType, client_for: ClientFor) -> None:
    server = serve(wire.Reply(wire.said(KERNEL)))
    answered(client_for(server, temperature=0.5, max_answer_tokens=99), "the whole report")
    (request,) = server.requests
    assert request.body["messages"] == messages(Request("the whole report"))
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {SECRET}"
    assert (request.body["model"], request.body["temperature"]) == ("test-model", 0.5)
    assert 99 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))


@pytest.mark.parametrize("engine", ["lm15", "litellm"])
def test_an_answer_is_heard_while_it_is_written(
    serve: Serve, wire: ModuleType, client_for: ClientFor, engine: str
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL, [BELIEF]), sent=1234, received=56))
    heard: list[int] = []
    (answer,) = client_for(server, engine=engine, timeout_s=300).ask(
        [Request("a report")], heard=heard.append
    )
    assert isinstance(answer, Answer), answer
    assert answer.rewrite.kernel == KERNEL
    assert (answer.usage.sent, answer.usage.received) == (1234, 56)
    assert server.requests[0].body["stream"] is True
    assert heard[0] == 24  # the first piece


def test_a_streams_last_piece_has_token_counts_and_no_choice(
    serve: Serve, wire: ModuleType, client_for: ClientFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given litellm 1.107 or newer, which hands on the piece that older versions keep. The piece is made by hand."""
    load_dspy()  # before litellm, which would fetch a price list
    litellm = pytest.importorskip("litellm")
    ask = litellm.acompletion

    async def newer(**request: Any) -> Any:
        pieces = await ask(**request)

        async def all_pieces() -> Any:
            async for piece in pieces:
                yield piece
            yield litellm.ModelResponseStream(
                id="chatcmpl-1",
                created=1,
                model="test-model",
                object="chat.completion.chunk",
                choices=[],
                usage=litellm.Usage(completion_tokens=56, prompt_tokens=1234, total_tokens=1290),
            )

        return all_pieces()

    monkeypatch.setattr(litellm, "acompletion", newer)
    client = client_for(serve(wire.Reply(wire.said(KERNEL, [BELIEF]))), engine="litellm", timeout_s=300.0)
    answer = answered(client)
    assert answer.rewrite.kernel == KERNEL
    assert (answer.usage.sent, answer.usage.received) == (1234, 56)


def test_a_server_that_cannot_stream_is_asked_for_the_whole(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL)))
    assert answered(client_for(server, stream=False)).rewrite.kernel == KERNEL
    assert not server.requests[0].body.get("stream")


def test_a_connection_that_breaks_in_an_answer_is_tried_again(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    cut = wire.said(KERNEL).partition("= 1.0f")[0]
    server = serve(wire.Broken(cut), wire.Reply(wire.said(KERNEL), sent=1000, received=200))
    answer = answered(client_for(server))
    assert answer.rewrite.kernel == KERNEL
    assert answer.usage.calls == 2
    assert answer.usage.received > 200, "what broke off was paid for, too"
    assert len(server.requests) == 2


def test_an_answer_that_breaks_off_behind_its_kernel_is_kept(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    """It was paid for, and its kernel is whole: the judge decides on it as on any other."""
    server = serve(wire.Broken(wire.said(KERNEL, [BELIEF])))
    answer = answered(client_for(server))
    assert (answer.rewrite.kernel, len(answer.rewrite.beliefs)) == (KERNEL, 1)
    assert "broke off" in (answer.partial or "")
    assert answer.usage.received > 10
    assert len(server.requests) == 1


@pytest.mark.parametrize("engine", ["lm15", "litellm"])
def test_an_answer_that_stops_coming_is_left_and_its_text_kept(
    serve: Serve, wire: ModuleType, client_for: ClientFor, engine: str
) -> None:
    cut = wire.said(KERNEL).partition("= 1.0f")[0]
    server = serve(wire.Stalled(cut))
    error = failed(client_for(server, engine=engine, timeout_s=300.0, idle_timeout_s=0.3))
    assert error.kind == "timeout"
    assert "llm.idle_timeout_s" in str(error)
    assert f"nothing more came for 0.3 s after {len(cut)} characters" in str(error)
    assert error.text == cut
    assert error.usage.tokens > 10
    assert server.hung_up.wait(2.0)


def test_an_answer_that_stops_coming_behind_its_kernel_is_kept(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    answer = answered(client_for(serve(wire.Stalled(wire.said(KERNEL))), idle_timeout_s=0.3))
    assert answer.rewrite.kernel == KERNEL
    assert "nothing more came" in (answer.partial or "")


def test_the_first_piece_may_take_longer_than_the_idle_time(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL), after=0.6))
    assert answered(client_for(server, idle_timeout_s=0.2)).partial is None


def test_an_answer_that_keeps_coming_may_take_longer_than_the_time_to_its_beginning(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL, [BELIEF]), between=0.3))
    answer = answered(client_for(server, timeout_s=1.0, idle_timeout_s=5.0))
    assert answer.rewrite.kernel == KERNEL
    assert answer.partial is None


def test_what_is_left_of_the_budget_ends_an_answer_that_keeps_coming(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply("word " * 1000, between=0.1))
    started = time.monotonic()
    (error,) = client_for(server, timeout_s=30.0, idle_timeout_s=5.0).ask([Request("x")], timeout=1.0)
    assert isinstance(error, ModelError)
    assert time.monotonic() - started < 4.0
    assert (error.kind, "llm.max_seconds" in str(error)) == ("timeout", True)
    assert error.text.startswith("word word")


def test_what_a_model_says_behind_its_answer_is_not_waited_for(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    """As Qwen2.5-Coder-1.5B does, which goes on with the prompt until it may say no more."""
    text = wire.said(KERNEL, [BELIEF])
    server = serve(
        wire.Reply(f"{text}\nYour objective:\n" + "You make one HIP kernel faster. " * 400, between=0.02)
    )
    started = time.monotonic()
    answer = answered(client_for(server))
    assert time.monotonic() - started < 8.0
    assert (answer.rewrite.kernel, answer.partial) == (KERNEL, None)
    assert answer.rewrite.beliefs
    assert answer.text.startswith(text)
    assert server.requests[0].body["stream"] is True


def test_steps_apart_are_three_requests_and_each_reads_the_one_before(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    done = "\n\n[[ ## completed ## ]]"
    server = serve(
        wire.Reply(f"[[ ## diagnosis ## ]]\nLDS banks collide.{done}"),
        wire.Reply(f"[[ ## beliefs ## ]]\n{json.dumps([BELIEF])}{done}"),
        wire.Reply(f"[[ ## kernel ## ]]\n```cpp\n{KERNEL}\n```{done}"),
    )
    answer = answered(client_for(server, steps="apart"))
    assert answer.rewrite.diagnosis == "LDS banks collide."
    assert [b.metric for b in answer.rewrite.beliefs] == ["time_ns"]
    assert answer.rewrite.kernel == KERNEL
    assert (answer.usage.calls, answer.usage.sent, answer.usage.received) == (3, 3000, 600)
    _, plan, write = (r.text for r in server.requests)
    assert "LDS banks collide." in plan
    assert '"metric": "time_ns"' in write.replace("\n", " ")


@pytest.mark.parametrize("steps", ["together", "apart"])
def test_mending_an_attempt_is_one_request_that_holds_it(
    serve: Serve, wire: ModuleType, client_for: ClientFor, steps: str
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL)))
    turn = EarlierAttempt("__global__ void first() { }", (), "line 3: expected ';'")
    (answer,) = client_for(server, steps=steps).ask([Request("a report", "now pad", (turn,))])
    assert isinstance(answer, Answer), answer
    assert answer.usage.calls == 1
    (request,) = server.requests
    roles = [(m["role"], m["content"]) for m in request.body["messages"]]
    assert [role for role, _ in roles] == ["system", "user", "assistant", "user"]
    assert "a report" in roles[1][1]
    assert "void first()" in roles[2][1]
    assert "line 3: expected ';'" in roles[3][1]
    assert "a report" not in roles[3][1]


def test_demonstrations_are_shown_as_turns_before_the_request(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL)))
    shown = Demonstration(
        report="another report", diagnosis="columns collide", kernel="__global__ void padded() { }"
    )
    client_for(server).ask([Request("a report", demonstrations=(shown,))])
    texts = [m["content"] for m in server.requests[0].body["messages"]]
    assert len(texts) == 4
    assert "another report" in texts[1]
    assert "void padded()" in texts[2]
    assert "a report" in texts[3]


def test_uncounted_tokens_are_estimated(serve: Serve, wire: ModuleType, client_for: ClientFor) -> None:
    """Given a provider that leaves the counts out of its stream, budgets still fill up."""
    server = serve(wire.Reply(wire.said(KERNEL), sent=0, received=0))
    usage = answered(client_for(server), "word " * 100).usage
    assert usage.sent == pytest.approx(100, rel=0.5)
    assert usage.received > 10


def test_a_price_that_is_not_known_is_not_zero(serve: Serve, wire: ModuleType, client_for: ClientFor) -> None:
    assert answered(client_for(serve(wire.Reply(wire.said(KERNEL))))).usage.cost is None


def test_several_reports_are_asked_side_by_side(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL), after=0.5))
    client = client_for(server)
    client.ask([Request("warm up")])
    started = time.monotonic()
    answers = client.ask([Request("one"), Request("two"), Request("three")])
    assert all(isinstance(a, Answer) for a in answers)
    assert time.monotonic() - started < 1.4
    assert len(server.requests) == 4


def test_an_answer_without_the_form_is_still_read(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Reply(f"Here you are:\n```c++\n{KERNEL}\n```\nIt is faster."))
    answer = answered(client_for(server))
    assert (answer.rewrite.kernel, answer.rewrite.beliefs) == (KERNEL, ())
    assert len(server.requests) == 1


def test_a_refused_key_is_not_tried_again_and_not_shown(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    body = b'{"error": {"message": "Incorrect API key provided: @KEY@"}}'
    server = serve(wire.Raw(401, body, echo_key=True))
    error = failed(client_for(server))
    assert error.kind == "auth"
    assert len(server.requests) == 1
    assert "TEST_KEY" in str(error)
    assert SECRET not in str(error)
    assert "\n" not in str(error)


def test_too_many_requests_waits_as_long_as_it_is_told(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(
        wire.Raw(429, b'{"error": {"message": "slow"}}', {"Retry-After": "1"}), wire.Reply(wire.said(KERNEL))
    )
    started = time.monotonic()
    answered(client_for(server))
    assert 1.0 <= time.monotonic() - started < 4.0
    assert len(server.requests) == 2


def test_too_many_requests_for_an_hour_is_said_at_once(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Raw(429, b'{"error": {"message": "slow"}}', {"Retry-After": "3600"}))
    started = time.monotonic()
    error = failed(client_for(server))
    assert time.monotonic() - started < 3.0
    assert (error.kind, error.retry_after) == ("rate_limit", 3600)
    assert "3600 s" in str(error)
    assert len(server.requests) == 1


def test_a_server_failure_is_tried_again(serve: Serve, wire: ModuleType, client_for: ClientFor) -> None:
    server = serve(wire.Raw(503, b"overloaded"), wire.Reply(wire.said(KERNEL)))
    answered(client_for(server))
    assert len(server.requests) == 2


def test_a_server_that_keeps_failing_is_given_up(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Raw(500, b"oops"))
    error = failed(client_for(server, retries=1))
    assert error.kind == "server"
    assert "HTTP 500" in str(error)
    assert len(server.requests) == 2


def test_a_server_that_does_not_answer_is_left(serve: Serve, wire: ModuleType, client_for: ClientFor) -> None:
    server = serve(wire.Hang())
    started = time.monotonic()
    error = failed(client_for(server, timeout_s=0.6))
    assert error.kind == "timeout"
    assert time.monotonic() - started < 3.0
    assert server.hung_up.wait(2.0), "the connection was left open"


def test_no_server_at_all_is_said_with_its_address(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Hang())
    server.close()
    error = failed(client_for(server, retries=0))
    assert error.kind == "connection"
    assert server.url in str(error)


@pytest.mark.parametrize("body", [b"<html>a proxy's page</html>", b"{}", b"\xff\xfe\x00", b"[1, 2]"])
def test_garbage_is_a_failure_with_one_line(
    serve: Serve, wire: ModuleType, client_for: ClientFor, body: bytes
) -> None:
    error = failed(client_for(serve(wire.Raw(200, body)), retries=0))
    assert (error.kind, error.about_the_answer) == ("garbage", False), error
    assert "\n" not in str(error)


def test_prose_without_a_kernel_is_about_the_answer(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    error = failed(client_for(serve(wire.Reply("I cannot help with that."))))
    assert (error.kind, error.about_the_answer) == ("unreadable", True)
    assert error.usage.tokens == 1200


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_code_that_breaks_off_is_not_used(
    serve: Serve, wire: ModuleType, client_for: ClientFor, finish: str, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = wire.said("__global__ void k(float* p) {\n  p[threadIdx.x] = 1.0f;\n}")
    error = failed(client_for(serve(wire.Reply(whole[: whole.index("= 1.0f")], finish=finish))))
    assert (error.kind, error.about_the_answer) == ("truncated", True)
    assert capfd.readouterr() == ("", "")


def test_a_prompt_that_is_too_long_names_the_setting(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    body = b'{"error": {"message": "maximum context length is 10", "code": "context_length_exceeded"}}'
    error = failed(client_for(serve(wire.Raw(400, body))))
    assert error.kind == "too_long"
    assert "llm.max_prompt_tokens" in str(error)


def test_an_unknown_model_is_refused_without_a_retry(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    server = serve(wire.Raw(404, b'{"error": {"message": "no such model"}}'))
    assert failed(client_for(server)).kind == "refused"
    assert len(server.requests) == 1


def test_a_redirect_does_not_carry_the_key_elsewhere(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    other = serve(wire.Reply(wire.said(KERNEL)))
    server = serve(wire.Raw(302, b"", {"Location": f"{other.url}/chat/completions"}))
    failed(client_for(server, retries=0))
    assert other.requests == []


@pytest.mark.parametrize("beginning", [False, True], ids=["before the answer", "in the middle of the answer"])
def test_cancelling_closes_the_connection_at_once(
    serve: Serve, wire: ModuleType, client_for: ClientFor, beginning: bool
) -> None:
    server = serve(wire.Hang(beginning))
    cancel = threading.Event()

    def stop() -> None:
        server.answering.wait(10)
        cancel.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        client_for(server, timeout_s=30).ask([Request("one")], cancel)
    assert time.monotonic() - started < 5.0
    assert server.hung_up.wait(2.0)
    stopper.join()


async def test_it_can_be_asked_where_an_event_loop_runs(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    assert answered(client_for(serve(wire.Reply(wire.said(KERNEL))))).rewrite.kernel == KERNEL


def test_the_environment_does_not_change_where_it_goes(
    serve: Serve, wire: ModuleType, client_for: ClientFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, server = serve(wire.Reply(wire.said(KERNEL))), serve(wire.Reply(wire.said(KERNEL)))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.setenv(name, evil.url)
    answered(client_for(server))
    assert (len(server.requests), len(evil.requests)) == (1, 0)


def test_nothing_but_the_server_is_connected_to(
    serve: Serve, wire: ModuleType, client_for: ClientFor, only_loopback: list[Any]
) -> None:
    server = serve(wire.Reply(wire.said(KERNEL)))
    answered(client_for(server))
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    reached = [a for a in only_loopback if isinstance(a, tuple)]
    assert {a[1] for a in reached if a[1] is not None} == {port}
    assert {a[0] for a in reached} == {"127.0.0.1"}


def test_nothing_of_the_source_is_kept_on_disk(tmp_path: Path, serve: Serve, wire: ModuleType) -> None:
    """A whole process with an empty home directory: afterwards no file in it holds the report."""
    server = serve(wire.Reply(wire.said(KERNEL)))
    script = (
        "from hipscope.formulas.propose.llm.client import *\n"
        "from hipscope.formulas.propose.llm.model_settings import *\n"
        "from hipscope.formulas.propose.llm.program import Request\n"
        f"s = ModelSettings('openai/m', 'openai', {server.url!r}, None)\n"
        "assert isinstance(ModelClient(s, None).ask([Request('a very secret report')])[0], Answer)\n"
    )
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/evil\n")
    subprocess.run([sys.executable, "-c", script], check=True, env=env, cwd=tmp_path, timeout=120)
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != ".env"]
    assert not [p for p in files if b"very secret" in p.read_bytes()]
    assert len(server.requests) == 1


def test_litellm_asks_the_same_where_it_is_chosen(
    serve: Serve, wire: ModuleType, client_for: ClientFor
) -> None:
    pytest.importorskip("litellm")
    server = serve(wire.Reply(wire.said(KERNEL, [BELIEF])))
    answer = answered(client_for(server, engine="litellm", timeout_s=300.0))
    assert answer.rewrite.kernel == KERNEL
    assert server.requests[0].body["messages"] == messages(Request("a report"))


def test_what_was_recorded_is_replayed_without_the_model(
    serve: Serve, wire: ModuleType, client_for: ClientFor, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    model = serve(wire.Reply(wire.said(KERNEL, [BELIEF])))
    recorder = serve(record_from=model.url, tape=tape)
    live = answered(client_for(recorder))
    model.close()
    replayed = answered(client_for(serve(tape=tape)))
    assert replayed.rewrite == live.rewrite
    assert SECRET not in tape.read_text()
    assert failed_kind(client_for(serve(tape=tape)), "another report") == "refused"


def failed_kind(client: ModelClient, report: str) -> str:
    (answer,) = client.ask([Request(report)])
    assert isinstance(answer, ModelError)
    return answer.kind
