"""Long tables of cases: a sample of them runs always, the rest with `make test-exhaustive`."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], one_in: int, name: Callable[[Any], str] = str) -> list[Any]:
    """The cases as parameters of a test; all but one in `one_in`, chosen by their names, are marked `exhaustive`.

    A case stays in or out of the sample when others are added, and the first one is always in it.
    """
    found: list[Any] = []
    for case in cases:
        chosen = not found or zlib.crc32(name(case).encode()) % one_in == 0
        found.append(case if chosen else pytest.param(case, marks=pytest.mark.exhaustive))
    return found
