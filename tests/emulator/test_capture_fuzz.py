"""Damaged captures, their checksums made anew: refused with a line, or a replay that ends; never a crash."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import zlib
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipscope.accordo.dispatch.captured import CaptureUnreadable, read_dispatch
from hipscope.emulator.captures import CaptureDamaged, seal
from hipscope.emulator.replay import ReplayFailed, ReplaySetup, replay
from hipscope.emulator.runner import replay_executable

SAMPLES = Path(__file__).parent / "fuzz" / "samples.py"
ODD: st.SearchStrategy[object] = st.sampled_from(
    [0, -1, 2**31, 2**32, 2**63 - 1, 2**64, -(2**70), 0.5, True, None, "", "buffer_9", "../x", [], {}]
)


@pytest.fixture(scope="module")
def samples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_samples", SAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def captures(samples: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made: list[Path] = samples.write_captures(tmp_path_factory.mktemp("samples"))
    return made


@pytest.mark.slow
def test_damaged_captures_never_bring_the_replay_down(captures: list[Path], tmp_path: Path) -> None:
    fuzzer = replay_executable().with_name("hipscope-capture-fuzz")
    if not fuzzer.exists():
        pytest.skip("hipscope-capture-fuzz is built in a checkout only")
    cache = captures[0].parents[2] / "cache"
    argv = [str(fuzzer), "2000", "1", str(cache), str(tmp_path), *map(str, captures)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    counts = {line.split()[1]: int(line.split()[0]) for line in done.stdout.splitlines()}
    assert sum(counts.values()) == 2000
    assert counts["ok"] > 200  # changes of what a kernel computes with were run
    assert counts["launch_error"] > 500
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_descriptions_are_refused_with_a_line(
    captures: list[Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Values and keys of meta.json, or the text of `checksums`."""
    source = data.draw(st.sampled_from(captures))
    copy = tmp_path_factory.getbasetemp() / "damaged_capture"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    meta = json.loads((copy / "meta.json").read_text())
    _damage(meta, data)
    (copy / "meta.json").write_text(json.dumps(meta))
    seal(copy)
    try:
        _read_all(copy)
    except CaptureUnreadable as error:
        assert "\n" not in str(error)  # noqa: PT017 - it may as well be readable
    try:
        done = replay(copy, setup=ReplaySetup(cache_directory=source.parents[2] / "cache", timeout_s=0.1))
    except (CaptureDamaged, ReplayFailed) as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert done.status in {"ok", "fault", "timeout", "launch_error"}


def _read_all(directory: Path) -> None:
    dispatch = read_dispatch(directory)
    for buffer in dispatch.buffers:
        buffer.before(), buffer.after()
    for variable in dispatch.variables:
        variable.before(), variable.after()


def _damage(meta: object, data: st.DataObject) -> None:
    """Change, drop or add one thing somewhere inside."""
    while isinstance(meta, dict | list) and meta:
        key = data.draw(st.sampled_from(sorted(meta) if isinstance(meta, dict) else list(range(len(meta)))))
        inside = meta[key]
        if isinstance(inside, dict | list) and inside and data.draw(st.booleans()):
            meta = inside
        elif data.draw(st.integers(0, 3)) == 0:
            del meta[key]
            return
        else:
            meta[key] = data.draw(ODD)
            return


@settings(max_examples=30, deadline=None)
@given(at=st.integers(0, 400), text=st.sampled_from(["", " ", "\n", "-1 ", "zz", "\x00", "é", "end "]))
def test_damaged_lists_of_checksums_are_refused_with_a_line(
    captures: list[Path], tmp_path_factory: pytest.TempPathFactory, at: int, text: str
) -> None:
    """With the list's own checksum made anew, so that its lines are looked at."""
    copy = tmp_path_factory.getbasetemp() / "damaged_list"
    if not copy.exists():
        shutil.copytree(captures[0], copy)
    good = (captures[0] / "checksums").read_bytes()
    lines = good[: good.rfind(b"end ")]
    changed = lines[:at] + text.encode() + lines[at + len(text) :]
    (copy / "checksums").write_bytes(changed + b"end %08x\n" % zlib.crc32(changed))
    try:
        _read_all(copy)
    except CaptureUnreadable as error:
        assert "\n" not in str(error)  # noqa: PT017
    setup = ReplaySetup(cache_directory=captures[0].parents[2] / "cache")
    try:
        assert replay(copy, setup=setup).status in {"ok", "launch_error"}
    except CaptureDamaged as error:
        assert "\n" not in str(error)  # noqa: PT017
