"""About how many tokens a text is, without a model's tokenizer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

TOKENS_PER_CHARACTER: Sequence[tuple[re.Pattern[str], float]] = (
    (re.compile(r"[0-9]"), 1.4),
    (re.compile(r"[A-Za-z_]"), 0.25),
    (re.compile(r"[!-/:-@\[-^`{-~]"), 0.8),
    (re.compile(r"\n"), 1.0),
    (re.compile(r"[^\x00-\x7f]"), 1.0),
)
"""By kind of character: digits are most of a report, and some tokenizers make a token of each.

Fitted to Qwen2.5's tokenizer on reports of the examples: 2 to 4 % above its count for whole requests, 15 % below for
the worst single part. Tokenizers that join digits need fewer.
"""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is, without the model's tokenizer."""
    return math.ceil(sum(len(kind.findall(text)) * weight for kind, weight in TOKENS_PER_CHARACTER))
