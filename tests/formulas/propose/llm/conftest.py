"""A loopback model server, settings that point to it, and no way out of this machine."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from hipscope.formulas.propose.llm.client import ModelClient
from hipscope.formulas.propose.llm.model_settings import Budget, ModelKey, ModelSettings

if TYPE_CHECKING:
    from tests.formulas.propose.llm.loopback import Loopback

KEY = "sk-test-5f2b"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"llm_test_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


loopback = _load("loopback")


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every connection is kept; one that would leave this machine fails, and so does looking up a name."""
    pytest.importorskip("dspy", reason="needs the packages of the extra llm")
    seen: list[Any] = []
    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(address: Any) -> None:
        seen.append(address)
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a connection to {address} would leave this machine")

    def checked(self: socket.socket, address: Any) -> None:
        check(address)
        connect(self, address)

    def checked_ex(self: socket.socket, address: Any) -> int:
        check(address)
        return connect_ex(self, address)

    def checked_name(host: Any, *args: Any, **kwargs: Any) -> Any:
        check((host, None))
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", checked)
    monkeypatch.setattr(socket.socket, "connect_ex", checked_ex)
    monkeypatch.setattr(socket, "getaddrinfo", checked_name)
    return seen


@pytest.fixture
def serve() -> Iterator[Callable[..., Loopback]]:
    """Start a server: `serve(Reply(...), ...)`."""
    started: list[Loopback] = []

    def start(*steps: Any, **options: Any) -> Loopback:
        server: Loopback = loopback.Loopback(*steps, **options)
        started.append(server)
        return server

    yield start
    for server in started:
        server.close()


@pytest.fixture
def wire() -> ModuleType:
    """The steps that a server can take: `wire.Reply`, `wire.Raw`, `wire.Hang`, and `wire.said`."""
    return loopback


@pytest.fixture
def key() -> ModelKey:
    """The key that tests send."""
    return ModelKey(KEY)


@pytest.fixture
def settings_for() -> Callable[..., ModelSettings]:
    """Settings for a server: `settings_for(server, retries=0)`."""

    def build(server: Loopback, **changes: Any) -> ModelSettings:
        values: dict[str, Any] = {"timeout_s": 10.0, "retries": 2, "budget": Budget()}
        return ModelSettings("openai/test-model", "openai", server.url, "TEST_KEY", **(values | changes))

    return build


@pytest.fixture
def client_for(settings_for: Callable[..., ModelSettings], key: ModelKey) -> Callable[..., ModelClient]:
    """A client for a server."""
    return lambda server, **changes: ModelClient(settings_for(server, **changes), key)


@pytest.fixture
def given() -> ModuleType:
    """What reports are built from: `given.subject()`, `given.measured()`, `given.FASTER`."""
    return _load("subjects")
