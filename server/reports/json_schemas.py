"""JSON schemas of the objects that hipscope prints, from the records that it builds them of.

`python -m hipscope.server.reports.json_schemas` writes them to `docs/schemas`, or to the folder that is named.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hipscope.server.reports.schema.builds import BuildsReport
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.compare import CompareReport
from hipscope.server.reports.schema.fields import Key, keys_of, tag_of
from hipscope.server.reports.schema.isa import IsaListing, IsaReport
from hipscope.server.reports.schema.machine.cache import CacheReport
from hipscope.server.reports.schema.machine.coverage import CoverageReport
from hipscope.server.reports.schema.machine.doctor import DoctorReport, GpuCheckReport
from hipscope.server.reports.schema.metrics import MetricsReport
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Report
from hipscope.server.reports.schema.programs import FailureReport, ProgramsReport
from hipscope.server.reports.schema.prompt import PromptReport
from hipscope.server.reports.schema.recipes import RecipesReport
from hipscope.server.reports.schema.resources import ResourcesReport
from hipscope.server.reports.schema.verdict import VerdictReport

FOLDER = "docs/schemas"
OBJECTS: tuple[type, ...] = (
    Report,
    CheckReport,
    CompareReport,
    Optimization,
    VerdictReport,
    CoverageReport,
    PromptReport,
    ProgramsReport,
    FailureReport,
    DoctorReport,
    GpuCheckReport,
    MetricsReport,
    IsaReport,
    CacheReport,
    ResourcesReport,
    RecipesReport,
    BuildsReport,
    IsaListing,
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def schemas() -> dict[str, str]:
    """The text of each schema by its file's name: `hipscope.profile-1.json`."""
    return {file_name(kind): json.dumps(schema_of(kind), indent=2) + "\n" for kind in OBJECTS}


def file_name(kind: type) -> str:
    """`hipscope.profile/1` -> `hipscope.profile-1.json`."""
    tag = tag_of(kind)
    assert tag is not None, f"{kind.__name__} is a part of an object"
    return tag[1].replace("/", "-") + ".json"


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of one object. Keys that it does not name are allowed: they are added over time."""
    parts: dict[str, Any] = {}
    whole = _object(kind, parts)
    return {"$schema": _DRAFT, "$id": file_name(kind), **whole, "$defs": dict(sorted(parts.items()))}


def _object(kind: type, parts: dict[str, Any]) -> dict[str, Any]:
    keys: tuple[Key, ...] = keys_of(kind)
    properties = {key.key: _type(key.type, parts) for key in keys}
    required = [key.key for key in keys if key.required]
    tag = tag_of(kind)
    if tag is not None:
        properties = {tag[0]: {"const": tag[1]}, **properties}
        required = [tag[0], *required]
    return {
        "description": inspect.getdoc(kind),
        "type": "object",
        "properties": properties,
        "required": required,
    }


def _type(annotation: Any, parts: dict[str, Any]) -> dict[str, Any]:
    while isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return {}
    if dataclasses.is_dataclass(annotation):
        kind = typing.cast("type[Any]", annotation)
        if kind.__name__ not in parts:
            parts[kind.__name__] = {}  # it may hold others of its kind
            parts[kind.__name__] = _object(kind, parts)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return _union([_type(option, parts) for option in arguments])
    if origin is tuple:
        items = _type(arguments[0], parts)
        size = {} if arguments[1:] == (...,) else {"minItems": len(arguments), "maxItems": len(arguments)}
        return {"type": "array", "items": items, **size}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(arguments[1], parts)}
    return {"type": _TYPES[annotation]}


def _union(options: list[dict[str, Any]]) -> dict[str, Any]:
    if all(option.keys() == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def main(folder: Path) -> None:
    """Write the schemas into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER))
