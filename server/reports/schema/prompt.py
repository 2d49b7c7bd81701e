"""`hipscope.prompt/1`: what a language model would be sent for a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

PROMPT_SCHEMA = "hipscope.prompt/1"


@dataclass(frozen=True, slots=True)
class PromptReport:
    """The text and the whole request; `messages` is empty and `complete` false when the model's library is not here.

    `profile_bytes` of recorded data became about `tokens` tokens; `left_out` says what did not fit, and how much of it.
    """

    TAG: ClassVar = ("schema", PROMPT_SCHEMA)
    text: str
    messages: tuple[Mapping[str, str], ...]
    profile_bytes: int
    tokens: int
    left_out: Mapping[str, int]
    complete: bool
