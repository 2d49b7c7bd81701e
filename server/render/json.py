"""The machine's form: one JSON object and a newline, nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def render_json(data: Mapping[str, Any]) -> str:
    """The object as indented JSON. A number that JSON cannot hold is an error of the caller: ValueError."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
