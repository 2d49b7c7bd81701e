"""`hipscope.cache/1`: where the cache lies, what it holds and what it may hold. Sizes are bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

CACHE_SCHEMA = "hipscope.cache/1"


@dataclass(frozen=True, slots=True)
class CacheReport:
    """`kinds` are the sizes of what there is, by what it is; `cleared` is what was removed just now.

    `put_off`: nothing was, as a running command uses it; it will be cleared when none does.
    """

    TAG: ClassVar = ("schema", CACHE_SCHEMA)
    path: str
    size: int
    limit: int
    kinds: Mapping[str, int]
    cleared: int
    put_off: bool = False
