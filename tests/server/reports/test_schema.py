"""Records, the JSON of them, and the schemas that describe it: all three say the same."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from hipscope.accordo.model import verdict as proof
from hipscope.analysis import profile as recorded
from hipscope.analysis.metrics import line_costs, occupancy, roofline
from hipscope.analysis.runs import coverage as examined
from hipscope.emulator import sanitize, symbolize
from hipscope.formulas import base as formulas
from hipscope.formulas.judge import outcome
from hipscope.formulas.optimize import result, verified_edit
from hipscope.server.reports.json_schemas import schemas
from hipscope.server.reports.report_reader import (
    ADDED,
    ADDED_TO_OPTIMIZE,
    read_check,
    read_optimization,
    read_report,
)
from hipscope.server.reports.schema import check, optimize, profile, verdict
from hipscope.server.reports.schema.fields import RecordMismatch, record_of, to_json
from hipscope.server.reports.schema.machine import coverage
from tests.server.schemas import FOLDER, problems

READERS = {
    "hipscope.profile/2": read_report,
    "hipscope.check/1": read_check,
    "hipscope.optimize/1": read_optimization,
}
TEXT = (
    "__global__ void k(float* p) {  // races\n  p[0] = 1; // cost 0.5 lds // with // find bankConflict\n}\n"
)
Way = tuple[str | int, ...]


@pytest.fixture(params=["profile", "check", "optimize", "refused"])
def written(request: pytest.FixtureRequest, fake: ModuleType) -> dict[str, Any]:
    """A report of each kind, with something in all its lists."""
    if request.param == "profile":
        report: dict[str, Any] = fake.profile("/a.hip", TEXT)
    elif request.param == "check":
        report = fake.check("/a.hip", TEXT)
    else:
        slow = "/*slow*/" if request.param == "optimize" else ""
        report = fake.optimize({}, "/a.hip", TEXT + slow)
    return report


def keys(data: Any, way: Way = ()) -> Iterator[Way]:
    """The way to each key of each record in a report; keys of tables, which are data, are left out."""
    if isinstance(data, dict):
        table = way and way[-1] in (
            "stalls",
            "limits",
            "ceilings",
            "counters",
            "headers",
            "sources",
            "copies",
            "defects",
            "files",
            "metrics",
            "memory_kinds",
            "library_calls",
            "asked",
        )
        for key, value in data.items():
            if not table:
                yield (*way, key)
            yield from keys(value, (*way, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from keys(value, (*way, index))


def test_the_schemas_in_the_documentation_are_current() -> None:
    there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert there == schemas(), "run: python -m hipscope.server.reports.json_schemas"


def test_a_report_keeps_to_its_schema_and_is_read_as_it_was_written(written: dict[str, Any]) -> None:
    assert problems(written) == []
    asked = written.pop("asked", None)
    again = to_json(READERS[written["schema"]](written))
    assert again == written
    assert list(again) == list(written) or asked


def test_every_key_is_needed_by_the_reader_and_by_the_schema(written: dict[str, Any]) -> None:
    ways = [way for way in keys(written) if way != ("schema",) and not {"asked", "search"} & {*way}]
    assert len(ways) > 20
    for way in ways:
        damaged = copy.deepcopy(written)
        inner: Any = damaged
        for step in way[:-1]:
            inner = inner[step]
        del inner[way[-1]]
        assert problems(damaged), way
        if written["schema"] == profile.PROFILE_SCHEMA and way[-1] in ADDED:
            continue
        if way[-1] in ADDED_TO_OPTIMIZE:
            assert READERS[written["schema"]](damaged) is not None
            continue
        with pytest.raises(RecordMismatch) as failure:
            READERS[written["schema"]](damaged, "last.json")
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)[1:]
        assert failure.value.key == path
        assert failure.value.message == f"last.json: key `{path}` is missing"
        assert failure.value.hint


def test_profiles_that_were_saved_before_a_key_came_are_read(fake: ModuleType) -> None:
    newest = fake.profile("/a.hip", TEXT)
    assert {way[-1] for way in keys(newest)} & ADDED
    older = copy.deepcopy(newest)
    for way in sorted(keys(newest), key=len, reverse=True):
        if way[-1] in ADDED:
            inner: Any = older
            for step in way[:-1]:
                inner = inner[step]
            del inner[way[-1]]
    assert "near" not in older["kernels"][0]["roofline"]
    read = read_report(older)
    assert to_json(read_report(to_json(read))) == to_json(read)
    assert [k.mangled for k in read.kernels] == [k["mangled"] for k in newest["kernels"]]


def test_a_key_of_a_newer_writer_is_ignored(written: dict[str, Any]) -> None:
    newer = {**written, "mood": "good"}
    assert READERS[written["schema"]](newer) == READERS[written["schema"]](written)
    assert problems(newer) == []


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        (("kernels",), {}, "key `kernels`: expected a list, got an object"),
        (("kernels", 0, "lines", 0, "hits"), "64", "`kernels[0].lines[0].hits`: expected a whole number, got '64'"),
        (("kernels", 0, "lines", 0, "hits"), True, "`kernels[0].lines[0].hits`: expected a whole number, got True"),
        (("kernels", 0, "lines", 0, "memory", 0, "lines_used"), None, "[0].lines_used`: expected a number, got null"),
        (("kernels", 0, "counters", "SQ_WAVES"), [], "`kernels[0].counters.SQ_WAVES`: expected a number, got a list"),
        (("provenance",), "guessed", "key `provenance`: expected 'measured' or 'modelled', got 'guessed'"),
        (("schema",), "hipscope.profile/3", "not a hipscope.profile/2 object: `schema` is 'hipscope.profile/3'"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_an_error_that_names_the_key(
    fake: ModuleType, way: Way, value: object, told: str
) -> None:
    report = fake.profile("/a.hip", TEXT)
    inner = report
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    with pytest.raises(RecordMismatch) as failure:
        read_report(report)
    assert told in failure.value.message


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_refused(data: object) -> None:
    with pytest.raises(RecordMismatch, match="expected an object"):
        read_report(data)


def test_memory_of_one_line_is_a_list(fake: ModuleType) -> None:
    report = fake.profile("/a.hip", TEXT)
    row = report["kernels"][0]["lines"][0]
    lists: list[list[object]] = [[], row["memory"], row["memory"] * 2]
    for memory in lists:
        row["memory"] = memory
        read = read_report(report)
        assert len(read.kernels[0].lines[0].memory) == len(memory)
        assert to_json(read) == report
        assert problems(report) == []


def test_a_report_of_the_first_version_is_read(fake: ModuleType) -> None:
    newest = fake.profile("/a.hip", TEXT)
    first = copy.deepcopy(newest) | {"schema": "hipscope.profile/1"}
    for key in ("captures", "parts", "notes", "copies", "defects", "time"):
        del first[key]
    del first["program"]["build_note"]
    del first["device"]["ceilings"], first["kernels"][0]["occupancy"]["next_step"]
    row, again = (report["kernels"][0]["lines"][0] for report in (first, newest))
    (one,) = again["memory"]
    old = {key: value for key, value in one.items() if key != "memory_kinds"}
    for then, now in ((None, []), (old, [one]), ([old, old], [one, one])):
        row["memory"], again["memory"] = then, now
        assert to_json(read_report(first)) == newest
    del row["memory"]
    with pytest.raises(RecordMismatch, match=r"lines\[0\].memory"):
        read_report(first)


def test_a_number_that_json_cannot_hold_is_null_where_it_may_be_and_else_an_error() -> None:
    found = formulas.Evidence("ratio", math.inf, math.nan, "")
    assert record_of(profile.Evidence, found) == profile.Evidence("ratio", None, None, "")
    with pytest.raises(ValueError, match="inf"):
        record_of(profile.Place, formulas.Related("a", math.inf, ""))  # type: ignore[arg-type]


def test_a_record_takes_no_field_that_it_does_not_have() -> None:
    with pytest.raises(TypeError, match="Place has no colour"):
        record_of(profile.Place, formulas.Related("a", 1, ""), colour="red")


@pytest.mark.parametrize(
    ("source", "record", "apart"),
    [
        (recorded.Device, profile.Device, ()),
        (recorded.ProgramRun, profile.Program, ()),
        (recorded.Resources, profile.Resources, ()),
        (recorded.MemoryPattern, profile.Memory, ()),
        (roofline.Roofline, profile.Roofline, ()),
        (occupancy.Occupancy, profile.Occupancy, ()),
        (line_costs.LineCost, profile.Line, ("instructions",)),
        (formulas.Finding, profile.Finding, ()),
        (formulas.Evidence, profile.Evidence, ()),
        (formulas.Related, profile.Place, ()),
        (sanitize.AccessPlace, check.DefectSite, ()),
        (sanitize.AccessedMemory, check.AccessedBytes, ()),
        (sanitize.Allocation, check.AllocatedBlock, ()),
        (symbolize.Position, check.CodePosition, ()),
        (result.OptimizeResult, optimize.Optimization, ("schema_name",)),
        (result.Attempt, optimize.Attempt, ()),
        (result.KernelGain, optimize.KernelGain, ()),
        (result.Side, optimize.Side, ()),
        (outcome.MeasuredTimes, optimize.MeasuredTimes, ()),
        (outcome.PairedRatio, optimize.PairedRatio, ()),
        (outcome.Trade, optimize.Trade, ()),
        (verified_edit.VerifiedEdit, optimize.Edit, ()),
        (proof.Verdict, verdict.Verdict, ()),
        (proof.Verdict, verdict.VerdictReport, ()),
        (proof.Mismatch, verdict.Mismatch, ()),
        (proof.Trial, verdict.Trial, ()),
        (examined.CodeObjectCoverage, coverage.CoveredCode, ()),
        (examined.FunctionCoverage, coverage.CoveredFunction, ()),
        (examined.RuntimeCoverage, coverage.HostCalls, ()),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_report_has_all_that_is_known(source: Any, record: Any, apart: tuple[str, ...]) -> None:
    fields = dataclasses.fields(source) if dataclasses.is_dataclass(source) else ()
    known = set(source.model_fields) if issubclass(source, BaseModel) else {f.name for f in fields}
    assert known - {f.name for f in dataclasses.fields(record)} == set(apart)
