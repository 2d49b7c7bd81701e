"""Damaged captures: what is bad is lost with one line, the rest is read; never a traceback, never a hang."""

from __future__ import annotations

import gzip
import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.ingest import read_captures
from hipscope.analysis.ingest.recognise import is_capture
from hipscope.analysis.profile import Kernel, Profile, Provenance
from tests.analysis.ingest.capture_files import (
    ALL,
    NAME,
    counter_table,
    kernel_trace,
    pc_samples,
    results_json,
    rocpd,
    sysinfo,
    thread_trace,
)
from tests.analysis.ingest.damage import with_odd_values
from tests.analysis.ingest.tool_files import OTHERS

BINARY = frozenset({"rocpd", "rocprof database", "rocmProfileData", "nsys", "PyTorch packed"})
TEXTS = {kind: form for kind, form in {**ALL, **OTHERS}.items() if kind not in BINARY}
TRACE = "1_kernel_trace.csv"
FOLDER = "ui_output_agent_1_dispatch_1"


def read(tmp_path: Path) -> tuple[Kernel, str]:
    """The one kernel, and all that is said about files."""
    profile = read_captures([tmp_path])
    (kernel,) = profile.kernels
    said = " | ".join(f"{Path(c.path).name}: {c.why}" for c in profile.captures if c.why)
    assert "\n" not in said
    return kernel, said


def edited(path: Path, change: Callable[[Any], Any]) -> None:
    """The JSON of a file with a change."""
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


@pytest.mark.parametrize(
    ("damage", "launches", "told"),
    [
        (lambda text: text.replace("\n", "\n\n"), 2, ""),
        (lambda text: text.rstrip("\n").rsplit(",", 4)[0], 1, "line 3 is cut off"),
        (lambda text: text + "7,8\n", 2, "line 4 has 2 cells where the header has 17"),
        (lambda text: text + "," * 40 + "x\n", 2, "line 4 has 41 cells"),
        (lambda text: text.replace("3000", "soon"), 1, ""),
        (lambda text: text.replace("3000", str(1 << 64)), 1, ""),
        (lambda text: text.replace("3000", ""), 1, ""),
        (lambda text: text.replace("3000", "3.0E+03"), 1, ""),
        (lambda text: text + '"unclosed,1,2,3\n', 2, "line 4"),
        (lambda text: text.replace(",36,", ",many,"), 2, ""),
        (lambda text: text.replace("\n", "\r\n"), 2, ""),
    ],
)
def test_a_damaged_row_of_a_table_costs_itself(
    tmp_path: Path, damage: Callable[[str], str], launches: int, told: str
) -> None:
    path = tmp_path / TRACE
    kernel_trace(path)
    path.write_text(damage(path.read_text()), newline="")
    kernel, said = read(tmp_path)
    assert len(kernel.dispatches) == launches
    assert told in said


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_a_table_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / TRACE
    kernel_trace(path, ((1, "größe(int)", 10, 30),))
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    kernel, _ = read(tmp_path)
    assert kernel.time_ns == 20
    assert kernel.name == ("gr\ufffd\ufffde(int)" if encoding == "latin-1" else "größe(int)")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_of_any_format_is_read_in_the_encodings_that_have_a_mark(
    tmp_path: Path, kind: str, encoding: str
) -> None:
    name, write = TEXTS[kind]
    write(tmp_path / name)
    plain = told(read_captures([tmp_path]))
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert told(read_captures([tmp_path])) == plain


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if kind != "thread trace"])
def test_a_packed_text_of_any_format_is_read_as_the_plain_one(tmp_path: Path, kind: str) -> None:
    name, write = TEXTS[kind]
    write(tmp_path / name)
    plain = told(read_captures([tmp_path]))
    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert told(read_captures([tmp_path])) == plain


def test_a_cut_packed_table_gives_what_is_left_or_a_line(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "2_kernel_trace.csv", [(n, NAME, 1000 * n, 1000 * n + n) for n in range(1, 900)])
    path = tmp_path / "2_kernel_trace.csv"
    packed = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_name("2_kernel_trace.csv.gz").write_bytes(packed[: len(packed) // 2])
    profile = read_or_refused(tmp_path)
    assert profile is not None
    assert 0 < len(profile.kernels[0].dispatches) < 899


def told(profile: Profile) -> list[object]:
    """What a capture gave."""
    return [
        (k.name, len(k.dispatches), k.time_ns, dict(k.counters), len(k.instructions)) for k in profile.kernels
    ]


@pytest.mark.parametrize(
    "row",
    [
        [],
        None,
        {"ISA": "s_nop 0"},
        "s_nop 0",
        7,
        ["s_nop 0", 0, None, "a:1", 1, 300, 1, 1, 0, 0],
        ["s_nop 0", 0, 9, "a:1", 1, 300, "often", 1, 0, 0],
        ["s_nop 0", 0, 9, "a:1", 1, 300, 1, [3], 0, 0],
        ["s_nop 0", 0, 9, "a:1", 1, 300, 1, -4, 0, 0],
        ["s_nop 0", 0],
    ],
)
def test_a_damaged_row_of_a_trace_costs_itself(tmp_path: Path, row: object) -> None:
    thread_trace(tmp_path / FOLDER)
    edited(tmp_path / FOLDER / "code.json", lambda data: {**data, "code": [*data["code"], row]})
    kernel, said = read(tmp_path)
    assert sum(i.latency for i in kernel.instructions) == 100_000
    assert "1 of 5 rows of code.json are damaged" in said


def test_numbers_that_are_null_in_a_trace_are_zero_as_empty_lists_are(tmp_path: Path) -> None:
    thread_trace(tmp_path / FOLDER)
    more = ["s_nop 0", 0, 9, None, None, 300, None, None, None, None]
    edited(tmp_path / FOLDER / "code.json", lambda data: {**data, "code": [*data["code"], more]})
    kernel, said = read(tmp_path)
    assert (len(kernel.instructions), said) == (4, "")


def test_a_list_at_the_top_of_a_trace_is_its_rows(tmp_path: Path) -> None:
    thread_trace(tmp_path / FOLDER)
    edited(tmp_path / FOLDER / "code.json", lambda data: data["code"])
    assert len(read(tmp_path)[0].instructions) == 3


@pytest.mark.parametrize(
    "waits", [7, "text", [None], [[2]], [[2, 7]], [[2, [[]]]], [["x", [[1, 0]]]], {"2": 1}]
)
def test_odd_waits_cost_the_blame_and_no_more(tmp_path: Path, waits: object) -> None:
    thread_trace(tmp_path / FOLDER)
    edited(tmp_path / FOLDER / "se0_sm0_sl0_wv0.json", lambda data: {"wave": {"waitcnt": waits}})
    kernel, _ = read(tmp_path)
    assert sum(i.stall for i in kernel.instructions) == 62_000


@pytest.mark.parametrize("text", ["{", "[]", "7", '"x"', "null", "\0\0"])
def test_a_damaged_file_beside_a_trace_costs_itself(tmp_path: Path, text: str) -> None:
    thread_trace(tmp_path / FOLDER)
    for name in (
        "se0_sm0_sl1_wv0.json",
        "filenames.json",
        "hipscope.json",
        "occupancy.json",
        "snapshots.json",
    ):
        (tmp_path / FOLDER / name).write_text(text)
    kernel, _ = read(tmp_path)
    assert sum(i.latency for i in kernel.instructions) == 100_000


def test_times_of_unknown_provenance_are_never_measured_ones(tmp_path: Path) -> None:
    kernel_trace(tmp_path / TRACE)
    (tmp_path / "hipscope.json").write_text('{"schema": "hipscope.capture/1", "source": "emul')
    profile = read_captures([tmp_path])
    assert profile.provenance is Provenance.MODELLED
    assert "is damaged" in profile.notes[-1]


def test_a_truncated_json_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    kernel_trace(tmp_path / TRACE)
    results_json(tmp_path / "9_results.json")
    path = tmp_path / "9_results.json"
    path.write_text(path.read_text()[:-400])
    kernel, said = read(tmp_path)
    assert len(kernel.dispatches) == 2
    assert "9_results.json: " in said


@pytest.mark.parametrize("kind", [kind for kind, (name, _) in TEXTS.items() if name.endswith(".json")])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_truncated_json_of_any_format_is_one_line(tmp_path: Path, kind: str, share: float) -> None:
    kernel_trace(tmp_path / TRACE)
    name, write = TEXTS[kind]
    path = tmp_path / name
    write(path)
    path.write_bytes(path.read_bytes()[: int(len(path.read_bytes()) * share)])
    profile = read_captures([tmp_path])
    assert profile.kernels[0].time_ns == 1500
    (line,) = [c for c in profile.captures if Path(c.path).name == name]
    assert line.why
    assert "\n" not in line.why


@pytest.mark.parametrize("huge", [1 << 64, -(1 << 64), 1e300])
def test_a_time_that_no_clock_has_costs_its_launch(tmp_path: Path, huge: float) -> None:
    path = tmp_path / "9_results.json"
    results_json(path, samples=False)
    data = json.loads(path.read_text())
    data["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][0]["end_timestamp"] = huge
    path.write_text(json.dumps(data))
    kernel, _ = read(tmp_path)
    assert (len(kernel.dispatches), kernel.without_time) == (1, 1)


@pytest.mark.parametrize(
    "part", ["agents", "kernel_symbols", "buffer_records", "counters", "strings", "metadata"]
)
@pytest.mark.parametrize("value", [None, [], {}, "x", 3, [None, 3, "x", {}]])
def test_any_part_of_results_json_may_be_something_else(tmp_path: Path, part: str, value: object) -> None:
    path = tmp_path / "9_results.json"
    results_json(path)
    edited(path, lambda data: {"rocprofiler-sdk-tool": [{**data["rocprofiler-sdk-tool"][0], part: value}]})
    read_or_refused(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "noise", "other"])
def test_a_damaged_database_is_one_line(tmp_path: Path, damage: str) -> None:
    kernel_trace(tmp_path / TRACE)
    path = tmp_path / "9_results.db"
    rocpd(path)
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        noise = bytes(random.Random(3).randrange(256) for _ in range(4096))
        path.write_bytes(
            data[:4096] + noise * (len(data) // 4096) if damage == "noise" else data[:100] + noise
        )
    kernel, said = read(tmp_path)
    assert len(kernel.dispatches) == 2
    assert "9_results.db: " in said


def test_what_is_no_file_or_not_whole_is_listed_and_not_read(tmp_path: Path) -> None:
    kernel_trace(tmp_path / TRACE)
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "empty.csv").touch()
    with (tmp_path / "zeros.csv").open("wb") as stream:
        stream.truncate(10 << 30)
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "app").write_bytes(b"\x7fELF" + bytes(14) + b"\x3e\0" + bytes(100))
    profile = read_captures([tmp_path])
    unread = {Path(c.path).name: c.why for c in profile.captures if not c.read}
    assert unread.keys() == {"pipe.csv", "empty.csv", "zeros.csv", "gone.csv", "notes.txt", "app"}
    assert (unread["pipe.csv"], unread["empty.csv"]) == ("it is no regular file", "it is empty")
    assert "holes" in (unread["zeros.csv"] or "")
    assert unread["app"] == "it is a program of the host"
    assert is_capture(tmp_path)
    assert not is_capture(tmp_path / "pipe.csv")


def test_a_table_that_goes_on_in_holes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "1_kernel_trace.csv"
    kernel_trace(path)
    with path.open("r+b") as stream:
        stream.truncate(10 << 30)
    with pytest.raises(HipscopeError, match="holes"):
        read_captures([path])


@pytest.mark.parametrize("copy", ["a\0b", "n" * 10_000, "", "/etc/passwd", ".", 7])
def test_a_copy_with_a_name_that_no_file_has_is_none(tmp_path: Path, copy: object) -> None:
    thread_trace(tmp_path / FOLDER)
    tree = {"/": {"cluster": {"scale.hip": copy}}}
    (tmp_path / FOLDER / "snapshots.json").write_text(json.dumps(tree))
    assert read(tmp_path)[0].line == 3


def test_a_copy_outside_of_the_capture_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("__global__ void scale(float*) {}\n")
    thread_trace(tmp_path / "capture" / FOLDER)
    tree = {"/": {"cluster": {"scale.hip": "../../secret.txt"}}}
    (tmp_path / "capture" / FOLDER / "snapshots.json").write_text(json.dumps(tree))
    profile = read_captures([tmp_path / "capture"])
    assert profile.kernels[0].line == 3


@pytest.mark.parametrize("kind", ["thread trace", "Omniprobe", "Omniprobe text", "ncu source page"])
def test_a_zero_byte_in_the_name_of_a_source_is_no_path(tmp_path: Path, kind: str) -> None:
    name, write = ALL[kind]
    write(tmp_path / name)
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        path.write_bytes(
            path.read_bytes().replace(
                b"scale.hip", b"sc\\u0000ale.hip" if path.suffix == ".json" else b"sc\0ale.hip"
            )
        )
        path.write_bytes(path.read_bytes().replace(b"k.cu", b"k\0.cu"))
    assert read_or_refused(tmp_path) is not None


def test_names_with_control_characters_and_very_long_ones_are_read(tmp_path: Path) -> None:
    for number, name in enumerate(("\x1b[31mred\x07", "n" * 200_000, "π::κ<λ>"), start=1):
        folder = tmp_path / str(number)
        folder.mkdir()
        kernel_trace(folder / TRACE, ((1, name, 10, 20),))
        assert read(folder)[0].name == name


def read_or_refused(path: Path) -> Profile | None:
    """The profile; None where it is refused in one line. Anything else is a failure of the test."""
    refused: HipscopeError | None = None
    profile: Profile | None = None
    try:
        profile = read_captures([path])
    except HipscopeError as error:
        refused = error
    if refused is not None or profile is None:
        assert "\n" not in str(refused)
        return None
    profile.model_dump_json()
    assert all("\n" not in (c.why or "") for c in profile.captures)
    return profile


def mutated(data: bytes, draw: random.Random, edits: int) -> bytes:
    """Bytes with some cut out, doubled, or replaced by others that formats are made of."""
    pieces = (
        b'"',
        b",",
        b"\n",
        b"null",
        b"-1",
        b"{",
        b"]",
        b"1e999",
        b"\0",
        b"18446744073709551616",
        b"\xff\xfe",
    )
    for _ in range(edits):
        at, to = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        to = min(to, at + draw.choice((1, 4, 64)))
        put = draw.choice((b"", data[at:to] * 2, draw.choice(pieces)))
        data = data[:at] + put + data[to:]
    return data


def fuzz(kind: str, seed: int, edits: int) -> None:
    """One damaged capture of a format."""
    name, write = KINDS[kind]
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        files = [p for p in (path.rglob("*") if path.is_dir() else [path]) if p.is_file()]
        file = draw.choice(sorted(files))
        if draw.random() < 0.3 or not with_odd_values(file, draw, edits):
            file.write_bytes(mutated(file.read_bytes(), draw, edits))
        profile = read_or_refused(Path(folder))
    for kernel in profile.kernels if profile is not None else ():
        assert all(0 < launch.time_ns < 1e17 for launch in kernel.dispatches)


KINDS = {**ALL, **OTHERS}
QUIET = list(HealthCheck)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=QUIET, database=None)
@given(seed=st.integers(0, 1 << 32), edits=st.integers(1, 4))
def test_no_damage_is_more_than_a_line(kind: str, seed: int, edits: int) -> None:
    fuzz(kind, seed, edits)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=QUIET, database=None)
@given(seed=st.integers(0, 1 << 32), edits=st.integers(1, 12))
def test_no_damage_of_some_is_more_than_a_line(kind: str, seed: int, edits: int) -> None:
    fuzz(kind, seed, edits)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=1500, deadline=None, suppress_health_check=QUIET, database=None)
@given(seed=st.integers(0, 1 << 32), edits=st.integers(1, 12))
def test_no_damage_of_many_is_more_than_a_line(kind: str, seed: int, edits: int) -> None:
    fuzz(kind, seed, edits)


def test_files_of_every_format_together_are_read(tmp_path: Path) -> None:
    for name, write in ALL.values():
        write(tmp_path / name)
    sysinfo(tmp_path / "sysinfo.csv")
    pc_samples(tmp_path / "2_pc_sampling_stochastic.csv")
    counter_table(tmp_path / "2_counter_collection.csv", [(1, NAME, "SQ_WAVES", 1.0, 1000, 2000)])
    profile = read_captures([tmp_path])
    assert all(c.read for c in profile.captures)
    assert profile.kernel(NAME) is not None
