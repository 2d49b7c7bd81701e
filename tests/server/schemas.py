"""Does a report of hipscope keep to the JSON schema that is shipped for it?"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


@cache
def _validator(name: str) -> Any:
    schema = json.loads((FOLDER / f"{name.replace('/', '-')}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def problems(report: dict[str, Any]) -> list[str]:
    """What the schema that a report names has against it; empty for a report that keeps to it."""
    return [
        f"{error.json_path}: {error.message}" for error in _validator(report["schema"]).iter_errors(report)
    ]
