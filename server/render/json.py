"""The machine's form: one JSON object and a newline, nothing else."""

from __future__ import annotations

import json

from hipscope.server.reports.schema.fields import to_json


def render_json(record: object, *, ascii_only: bool = False) -> str:
    """A record as indented JSON, with escapes for all but ASCII if `ascii_only`.

    A number that JSON cannot hold is an error of the caller: ValueError.
    """
    return json.dumps(to_json(record), indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"
