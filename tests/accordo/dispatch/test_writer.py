"""Dispatches that are derived from a captured one: what they share with it, and what is their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import (
    CapturedDispatch,
    CaptureUnreadable,
    read_capture_set,
    read_dispatch,
)
from hipscope.accordo.dispatch.writer import Contents, write_dispatch
from tests.accordo.conftest import KERNEL, write_capture


def captured(folder: Path) -> CapturedDispatch:
    return read_capture_set(write_capture(folder / "capture", KERNEL))[0]


def test_memory_that_stays_is_shared_and_memory_that_does_not_is_written(tmp_path: Path) -> None:
    old = captured(tmp_path)
    first, second = old.buffers
    new = write_dispatch(old, tmp_path / "new", old.kernarg(), {second.before_file.name: b"x" * second.size})
    assert (new.directory / first.before_file.name).samefile(first.before_file)
    assert new.buffers[1].before() == b"x" * second.size
    assert second.before() != b"x" * second.size
    assert new.buffers[0].before() == first.before()


def test_what_was_written_reads_back_as_what_was_asked_for(tmp_path: Path) -> None:
    old = captured(tmp_path)
    first, second = old.buffers
    added = replace(first, index=2, address=1 << 40, before_file=Path("buffer_2.before"), arguments=())
    wanted = replace(
        old, grid=(128, 1, 1), workgroup=(32, 1, 1), dynamic_lds=64,
        buffers=(replace(first, address=1 << 30), replace(second, size=second.size + 4), added),
    )  # fmt: skip
    contents = {"buffer_1.before": second.before() + b"more", "buffer_2.before": first.before()}
    new = write_dispatch(wanted, tmp_path / "new", b"\1" * 24, contents, {"kernarg_bytes": 24})
    again = read_dispatch(new.directory)
    assert (again.grid, again.workgroup, again.dynamic_lds) == ((128, 1, 1), (32, 1, 1), 64)
    assert [(b.index, b.address, b.size, b.arguments) for b in again.buffers] == [
        (b.index, b.address, b.size, b.arguments) for b in wanted.buffers
    ]
    assert [b.before() for b in again.buffers] == [first.before(), second.before() + b"more", first.before()]
    assert again.kernarg() == b"\1" * 24
    assert again.code_object.read_bytes() == old.code_object.read_bytes()


def test_memory_is_looked_at_in_parts_and_a_change_in_it_is_seen(tmp_path: Path) -> None:
    old = captured(tmp_path)
    first, second = old.buffers
    contents: dict[str, Contents] = {
        "buffer_0.before": (first.before(), b"more"),
        "buffer_1.before": b"y" * second.size,
    }
    longer = replace(old, buffers=(replace(first, size=first.size + 4), second))
    new = write_dispatch(longer, tmp_path / "new", old.kernarg(), contents)
    assert new.buffers[0].mapped().tobytes() == first.before() + b"more"
    damaged = new.buffers[1]
    damaged.before_file.write_bytes(b"z" * second.size)
    for read in (damaged.mapped, damaged.before):
        with pytest.raises(CaptureUnreadable, match="damaged"):
            read()
