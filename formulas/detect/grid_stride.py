"""Does a kernel loop over its data by a step that it takes from the launch's sizes, and how often?

Takes the text of a kernel and of what runs with it, gives the places of such steps. A kernel with one does all of its
work with fewer or smaller workgroups, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

_ASKED: dict[str, re.Pattern[bytes]] = {
    "grid": re.compile(
        rb"\b(?:hip)?[gG]ridDim\b|\bhipGridDim_[xyz]\b|\b__ockl_get_num_groups\b|\bthis_grid\b"
    ),
    "launch": re.compile(
        rb"\b(?:hip)?(?:[gG]rid|[bB]lock)Dim\b|\bhip(?:Grid|Block)Dim_[xyz]\b|\b__ockl_get_(?:num_groups|local_size)\b"
        rb"|\bthis_(?:grid|thread_block)\b"
    ),
}
_ADVANCE = re.compile(rb"\+=\s*([^;){}]+)|\b(\w+)\s*=\s*\2\s*\+\s*([^;){}]+)")
_SET = re.compile(rb"\b(\w+)\s*[={(]\s*([^;{}]*)")


def strides(code: bytes, by: Literal["grid", "launch"]) -> Iterator[int]:
    """Where in the text something advances by the number of workgroups ("grid") or also by their size ("launch")."""
    asked = _ASKED[by]
    named = {name for name, value in _SET.findall(code) if asked.search(value)}
    for step in _ADVANCE.finditer(code):
        amount = step[1] or step[3] or b""
        if asked.search(amount) or named & set(re.findall(rb"\w+", amount)):
            yield step.start()
