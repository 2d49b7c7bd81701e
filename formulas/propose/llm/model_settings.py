"""What the LLM rewriter may do: which model, at which address, with which key, within which budget.

Takes the `[llm]` table of `hipscope.toml` and the environment, gives `ModelSettings` and, apart from them, the key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NoReturn, get_args
from urllib.parse import urlsplit

from hipscope.analysis.config import LlmConfig, PromptSource
from hipscope.analysis.errors import UsageError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Budget:
    """What all rounds together may use up. `cost` is US dollars, `calls` requests; None is no limit."""

    attempts: int = 6
    tokens: int = 200_000
    seconds: float = 900.0
    cost: float | None = None
    calls: int | None = None


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    sent: float
    received: float


@dataclass(frozen=True)
class ModelSettings:
    """Everything about the model but the key. `api_base` is always explicit, so no environment variable moves it."""

    model: str
    provider: str
    api_base: str
    key_env: str | None
    engine: Literal["lm15", "litellm"] = "lm15"
    stream: bool = True
    steps: Literal["together", "apart"] = "together"
    learn: bool = False
    sources: tuple[PromptSource, ...] = get_args(PromptSource)
    max_prompt_tokens: int = 12_000
    max_answer_tokens: int | None = None
    temperature: float | None = None
    candidates: int = 2
    budget: Budget = Budget()
    price: Price | None = None
    target_speedup: float | None = None
    timeout_s: float = 180.0
    idle_timeout_s: float = 60.0
    retries: int = 2

    @property
    def destination(self) -> str:
        """Where the prompt would go, in words for the user."""
        return f"{self.model} at {self.api_base}"


class ModelKey:
    """A secret that no `repr`, log or pickle shows; `reveal` is called where the request is made."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        """The key itself."""
        return self._secret

    def hide_in(self, text: str) -> str:
        """The text with every occurrence of the key blanked, for messages that a provider wrote."""
        return text.replace(self._secret, "***") if self._secret else text

    def __repr__(self) -> str:
        return "ModelKey(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere")


@dataclass(frozen=True)
class Provider:
    """A place that models are asked at. `keys` are the usual variables, none for a server on this machine."""

    api_base: str | None
    keys: tuple[str, ...] = ()


# Addresses and variables as each provider's API reference gives them; DSPy's own engine knows the same ones.
PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": Provider("https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",)),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta", ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "openrouter": Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "deepseek": Provider("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "xai": Provider("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "moonshot": Provider("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    "ollama": Provider("http://localhost:11434/v1"),
    "ollama_chat": Provider("http://localhost:11434/v1"),
    "hosted_vllm": Provider("http://localhost:8000/v1"),
}


def model_settings(config: LlmConfig, env: Mapping[str, str] = os.environ) -> ModelSettings:
    """The settings with every default filled in. Raises `UsageError` when no model is named or its place is unknown."""
    if config.model is None:
        raise UsageError(
            "no language model is set", 'name one in hipscope.toml: [llm] model = "ollama/qwen2.5-coder"'
        )
    provider_name, separator, model_name = config.model.partition("/")
    if not separator or not provider_name or not model_name:
        raise UsageError(
            f"llm.model: {config.model!r} does not name a provider",
            "write it as provider/name, as in openai/gpt-4.1",
        )
    provider = PROVIDERS.get(provider_name)
    if provider is None and config.engine == "lm15":
        raise UsageError(
            f"llm.model: the provider {provider_name!r} is not one of {', '.join(PROVIDERS)}",
            'set llm.engine = "litellm" and llm.api_base, or use openai/NAME with the api_base of a compatible server',
        )
    default_base = provider.api_base if provider else None
    api_base = config.api_base or default_base
    if api_base is None:
        raise UsageError(f"llm.api_base: needed for the provider {provider_name!r}", "the address of its API")
    key_env = config.key_env
    at_home = provider is not None and api_base == default_base
    # The usual key goes only to the provider's own address: another one must name the key it is to get.
    if key_env is None and provider is not None and at_home and provider.keys:
        key_env = next((name for name in provider.keys if name in env), provider.keys[0])
    if key_env is not None:
        _check_encrypted(api_base)
    if (config.price_in is None) != (config.price_out is None):
        raise UsageError("llm.price_in and llm.price_out belong together", "set both or none")
    price = (
        Price(config.price_in, config.price_out)
        if config.price_in is not None and config.price_out is not None
        else None
    )
    return ModelSettings(
        model=config.model,
        provider=provider_name,
        api_base=api_base.rstrip("/"),
        key_env=key_env,
        engine=config.engine,
        stream=config.stream,
        steps=config.steps,
        learn=config.learn,
        sources=tuple(config.sources),
        max_prompt_tokens=config.max_prompt_tokens,
        max_answer_tokens=config.max_answer_tokens,
        temperature=config.temperature,
        candidates=config.candidates,
        budget=Budget(
            config.max_attempts, config.max_tokens, config.max_seconds, config.max_cost, config.max_calls
        ),
        price=price,
        target_speedup=config.target_speedup,
        timeout_s=config.timeout_s,
        idle_timeout_s=config.idle_timeout_s,
        retries=config.retries,
    )


def take_key(
    settings: ModelSettings,
    env: MutableMapping[str, str] = os.environ,
    stored: Mapping[str, str] = MappingProxyType({}),
) -> ModelKey | None:
    """The key, taken out of the environment so that no process started from here on inherits it.

    `stored` are keys that an editor keeps, by the address that each was stored for; the environment goes first. None
    when the model needs none. Raises `UsageError` naming the variable when the key is missing.
    """
    name = settings.key_env
    kept = stored.get(settings.api_base, "")
    secret = (env.pop(name, "") if name is not None else "").strip() or kept.strip()
    if not secret:
        if name is None:
            return None
        raise UsageError(
            f"{settings.model}: no key",
            f"put it in the environment variable {name}, or store it in the editor; it is never written to a file",
        )
    _check_encrypted(settings.api_base)
    if not (secret.isascii() and secret.isprintable()):
        raise UsageError(
            f"the key for {settings.destination} holds characters that no key has", "copy it again"
        )
    return ModelKey(secret)


def withhold_key(config: LlmConfig, env: MutableMapping[str, str] = os.environ) -> None:
    """Take what may be the model's key out of the environment: no process started from here on needs it."""
    provider = PROVIDERS.get((config.model or "").partition("/")[0])
    for name in (config.key_env,) if config.key_env else provider.keys if provider is not None else ():
        env.pop(name, None)


def read_stored_keys(text: str) -> Mapping[str, str]:
    """The keys that an editor hands over as a JSON object, by address.

    Anything but an object of strings counts as none: an editor's store may hold what an older version wrote.
    """
    try:
        listed = json.loads(text or "{}")
    except ValueError:
        return {}
    entries = listed.items() if isinstance(listed, dict) else ()
    return {base.rstrip("/"): key for base, key in entries if isinstance(key, str)}


def _check_encrypted(api_base: str) -> None:
    if urlsplit(api_base).scheme == "http" and not is_loopback(api_base):
        raise UsageError(f"llm.api_base: {api_base} would carry the key unencrypted", "use https, or no key")


def is_loopback(api_base: str) -> bool:
    """Whether the address is on this machine."""
    return (urlsplit(api_base).hostname or "") in _LOOPBACK
