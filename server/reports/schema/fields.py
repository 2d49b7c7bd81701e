"""From records to JSON and back, by the types of their fields.

Takes frozen dataclasses of plain values, gives plain JSON data. A key that is missing, or a value of another type, is
an error that names the key; nothing is filled in. Light: the language server imports it before it answers `initialize`.
"""

from __future__ import annotations

import dataclasses
import math
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, NewType, TypeVar

from hipscope.analysis.errors import HipscopeError

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])
Converter = Callable[[Any], Any]

_KINDS: Mapping[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
_HINT = "it is of another version of hipscope: make it again with this one"
JSON_KEY = "key"
"""In the metadata of a field: its key in JSON where that is no name in Python."""


def _cached(function: C) -> C:
    """`functools.cache`; its stub does not know that types can be hashed."""
    return lru_cache(maxsize=None)(function)  # type: ignore[return-value]


class RecordMismatch(HipscopeError):
    """JSON data that is not the record that was asked for. `key` is the path of what is wrong in it, "" for all."""

    def __init__(self, key: str, problem: str, where: str, hint: str) -> None:
        super().__init__(f"{where}: {problem}", hint)
        self.key = key


class _Wrong(Exception):
    """What is wrong with a value; the way to it is put in front on the way out."""

    def __init__(self, problem: str, *, missing: bool = False, path: Sequence[str] = ()) -> None:
        self.problem = problem
        self.missing = missing
        self.path = list(path)

    def line(self) -> str:
        path = "".join(reversed(self.path)).lstrip(".")
        if not path:
            return self.problem
        return f"key `{path}` is missing" if self.missing else f"key `{path}`: {self.problem}"


class Key(typing.NamedTuple):
    """A field of a record: its name, its key in JSON, its type, and whether the key must be there."""

    name: str
    key: str
    type: Any
    required: bool


@_cached
def keys_of(kind: type) -> tuple[Key, ...]:
    """The fields of a record. Only one that has a default may be left out in JSON."""
    hints = typing.get_type_hints(kind)
    return tuple(
        Key(f.name, f.metadata.get(JSON_KEY, f.name), hints[f.name], _is_required(f))
        for f in dataclasses.fields(kind)
    )


def tag_of(kind: type) -> tuple[str, str] | None:
    """The key that says what an object is, and its value; it comes first. None for a part of an object."""
    tag: tuple[str, str] | None = getattr(kind, "TAG", None)
    return tag


def read_record(kind: type[T], data: object, where: str, hint: str = _HINT) -> T:
    """The record in parsed JSON data. Raises `RecordMismatch`: `where` (a file, a sender) and the key that is wrong."""
    try:
        value: T = _reader(kind)(data)
    except _Wrong as wrong:
        raise RecordMismatch("".join(reversed(wrong.path)).lstrip("."), wrong.line(), where, hint) from None
    return value


def to_json(record: Any) -> dict[str, Any]:
    """A record as the JSON object that `read_record` reads. ValueError for a number that JSON cannot hold."""
    data: dict[str, Any] = _plain(record)
    return data


def record_of(kind: type[T], source: object, **given: object) -> T:
    """A record of the attributes of `source` of the same names, and of those given.

    What is inside becomes records, too; enums become their values, paths strings. A number that JSON cannot hold is
    None where that is allowed, else ValueError.
    """
    fitters = _fitters(kind)
    if unknown := given.keys() - fitters.keys():
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    values = {
        name: fit(given[name] if name in given else getattr(source, name)) for name, fit in fitters.items()
    }
    return kind(**values)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@_cached
def _reader(annotation: Any) -> Converter:
    """A function that turns parsed JSON into a value of that type or raises `_Wrong`."""
    annotation = _base(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return lambda value: value
    if dataclasses.is_dataclass(annotation):
        return _record_reader(typing.cast("type[Any]", annotation))
    if origin is Literal:
        return _choice_reader(arguments)
    if origin in (typing.Union, types.UnionType):
        return _union_reader(arguments)
    if origin is tuple:
        return _list_reader(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(arguments[1])
    return _plain_reader(annotation)


def _record_reader(kind: type[Any]) -> Converter:
    keys = [(k.name, k.key, _reader(k.type), k.required) for k in keys_of(kind)]
    tag = tag_of(kind)

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _Wrong(f"expected an object, got {_shown(data)}")
        if tag is not None and data.get(tag[0]) != tag[1]:
            raise _Wrong(f"not a {tag[1]} object: `{tag[0]}` is {_shown(data.get(tag[0]))}")
        values = {}
        for name, key, convert, required in keys:
            if key in data:
                try:
                    values[name] = convert(data[key])
                except _Wrong as wrong:
                    wrong.path.append(f".{key}")
                    raise
            elif required:
                raise _Wrong("", missing=True, path=[f".{key}"])
        return kind(**values)

    return read


def _choice_reader(choices: tuple[Any, ...]) -> Converter:
    expected = " or ".join(repr(c) for c in choices)

    def read(data: Any) -> Any:
        if data not in choices:
            raise _Wrong(f"expected {expected}, got {_shown(data)}")
        return data

    return read


def _union_reader(options: tuple[Any, ...]) -> Converter:
    optional = type(None) in options
    readers = [_reader(option) for option in options if option is not type(None)]

    def read(data: Any) -> Any:
        if data is None and optional:
            return None
        found: list[_Wrong] = []
        for convert in readers:
            try:
                return convert(data)
            except _Wrong as wrong:
                found.append(wrong)
        # The option that was followed furthest is the one that was meant.
        raise max(found, key=lambda wrong: len(wrong.path))

    return read


def _list_reader(arguments: tuple[Any, ...]) -> Converter:
    convert = _reader(arguments[0])
    size = None if arguments[1:] == (...,) else len(arguments)

    def read(data: Any) -> Any:
        if not isinstance(data, list):
            raise _Wrong(f"expected a list, got {_shown(data)}")
        if size is not None and len(data) != size:
            raise _Wrong(f"expected {size} values, got {len(data)}")
        values = []
        for index, value in enumerate(data):
            try:
                values.append(convert(value))
            except _Wrong as wrong:
                wrong.path.append(f"[{index}]")
                raise
        return tuple(values)

    return read


def _mapping_reader(annotation: Any) -> Converter:
    convert = _reader(annotation)

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _Wrong(f"expected an object, got {_shown(data)}")
        values = {}
        for key, value in data.items():
            try:
                values[key] = convert(value)
            except _Wrong as wrong:
                wrong.path.append(f".{key}")
                raise
        return values

    return read


def _plain_reader(kind: type) -> Converter:
    accepted = (int, float) if kind is float else (kind,)

    def read(data: Any) -> Any:
        if not isinstance(data, accepted) or (isinstance(data, bool) and kind is not bool):
            raise _Wrong(f"expected {_KINDS[kind]}, got {_shown(data)}")
        return data

    return read


@_cached
def _fitters(kind: type) -> dict[str, Converter]:
    return {k.name: _fitter(k.type) for k in keys_of(kind)}


@_cached
def _fitter(annotation: Any) -> Converter:
    """A function that turns one of our values into what a field of that type holds."""
    annotation = _base(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if dataclasses.is_dataclass(annotation):
        kind = typing.cast("type[Any]", annotation)
        return lambda value: value if isinstance(value, kind) else record_of(kind, value)
    if origin in (typing.Union, types.UnionType):
        return _union_fitter(arguments)
    if origin is tuple:
        item = _fitter(arguments[0])
        return lambda value: tuple(item(v) for v in value)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        item = _fitter(arguments[1])
        return lambda value: {str(_fit_plain(k)): item(v) for k, v in value.items()}
    return _fit_plain


def _union_fitter(options: tuple[Any, ...]) -> Converter:
    optional = type(None) in options
    several = next((o for o in options if typing.get_origin(o) is tuple), None)
    many = _fitter(several) if several is not None else None
    single = [o for o in options if o is not type(None) and o is not several]
    one = _fitter(single[0]) if single else _fit_plain

    def fit(value: Any) -> Any:
        if value is None or (optional and isinstance(value, float) and not math.isfinite(value)):
            return None
        return many(value) if many is not None and isinstance(value, list | tuple) else one(value)

    return fit


def _fit_plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number that JSON can hold")
    return value


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        tag = tag_of(type(value))
        rest = {key: _plain(getattr(value, name)) for name, key in _written(type(value))}
        return rest if tag is None else {tag[0]: tag[1], **rest}
    if isinstance(value, Mapping):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, Sequence):
        return [_plain(v) for v in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


@_cached
def _written(kind: type) -> list[tuple[str, str]]:
    return [(k.name, k.key) for k in keys_of(kind)]


def _base(annotation: Any) -> Any:
    """The type under a NewType."""
    while isinstance(annotation, NewType):
        annotation = annotation.__supertype__
    return annotation


def _shown(data: object) -> str:
    if data is None:
        return "null"
    if isinstance(data, dict):
        return "an object"
    if isinstance(data, list):
        return "a list"
    text = repr(data)
    return text if len(text) <= 40 else f"{text[:37]}..."
