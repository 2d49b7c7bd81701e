"""The machine's form: one JSON object and a newline, nothing else."""

from __future__ import annotations

import json

from hipscope.server.reports.schema.fields import to_json


def render_json(record: object) -> str:
    """A record as indented JSON. A number that JSON cannot hold is an error of the caller: ValueError."""
    return json.dumps(to_json(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
