"""A captured dispatch on disk: whole, damaged, foreign, of another version, and cut short by a full disk."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipscope.accordo.dispatch.captured import CaptureUnreadable, read_capture_set, read_dispatch
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.captures import read_checksums, seal, share
from hipscope.emulator.runner import EmulatorOptions, emulator_environment, replay_executable

PROGRAM = Path(__file__).parent / "programs" / "device_variables.hip"
OBJDUMP = find_toolchain(Config()).objdump


@pytest.fixture(scope="module")
def program() -> BuiltProgram:
    config = Config()
    return build_program(resolve_project(PROGRAM, config=config), find_toolchain(config))


def run(
    program: BuiltProgram, kept: Path, captures: Path, file_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes beyond the limit fail, as on a full disk
        if file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    # The disassembly is kept, so that a limited run writes captures only.
    options = EmulatorOptions(objdump=OBJDUMP, capture=captures, cache=kept)
    return subprocess.run(
        program.argv,
        env={**os.environ, **program.env, **emulator_environment(options)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the disassembly is kept."""
    return tmp_path_factory.mktemp("disassembly")


@pytest.fixture(scope="module")
def whole(program: BuiltProgram, kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    done = run(program, kept, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "PASS\n", "")
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "dispatch_1"
    shutil.copytree(whole / "dispatch_1", folder)
    yield folder
    shutil.rmtree(folder)


def read_all(directory: Path) -> None:
    """Read everything that a replay reads. Raises CaptureUnreadable."""
    dispatch = read_dispatch(directory)
    dispatch.kernarg()
    for buffer in dispatch.buffers:
        buffer.before(), buffer.after()
    for variable in dispatch.variables:
        variable.before(), variable.after()


def replayed(directory: Path, out: Path) -> dict[str, object]:
    argv = [
        str(replay_executable()),
        "--dispatch",
        str(directory),
        "--out",
        str(out),
        "--objdump",
        str(OBJDUMP),
    ]
    subprocess.run(argv, check=True, timeout=60)
    result: dict[str, object] = json.loads((out / "result.json").read_text())
    return result


def test_what_the_runtime_writes_is_read_by_python_and_by_the_replay(whole: Path, tmp_path: Path) -> None:
    dispatches = read_capture_set(whole)
    assert [d.kernel for d in dispatches] == ["_Z4linkv", "_Z4walkv"]
    for dispatch in dispatches:
        read_all(dispatch.directory)
        assert set(read_checksums(dispatch.directory)) == {p.name for p in dispatch.directory.iterdir()} - {
            "checksums"
        }
        assert replayed(dispatch.directory, tmp_path / dispatch.kernel)["status"] == "ok"


def test_a_launch_is_recorded_for_each_way_in_which_its_pointers_share_memory(
    kept: Path, tmp_path: Path
) -> None:
    source = tmp_path / "product.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        "__global__ void product(const float* a, const float* b, float* out) { if (b) *out = *a * *b; }\n"
        "int main() { float* p[3]; for (float*& x : p) (void)hipMalloc(&x, 256);\n"
        "  auto run = [](float* a, float* b, float* out) { product<<<1, 1>>>(a, b, out); };\n"
        "  run(p[0], p[0], p[2]); run(p[1], p[1] + 1, p[2]);  // the same way\n"
        "  run(p[0], p[1], p[2]); run(p[2], p[0], p[1]);\n"
        "  run(p[0], nullptr, p[1]); run(p[0], p[1], p[0]); run(p[0], p[0], p[0]);  // the last is one too many\n"
        "  return hipDeviceSynchronize(); }\n"
    )
    config = Config()
    built = build_program(resolve_project(source, config=config), find_toolchain(config))
    done = run(built, kept, tmp_path / "captures")
    assert (done.returncode, done.stderr) == (0, "")
    # Each way once, and those with other arguments up to a number: the second and the last.
    assert [d.id for d in read_capture_set(tmp_path / "captures")] == [1, 2, 3, 5, 6, 7]


def test_python_and_the_runtime_write_the_same_checksums(copy: Path) -> None:
    before = (copy / "checksums").read_bytes()
    seal(copy)
    assert (copy / "checksums").read_bytes() == before


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_or_missing_byte_anywhere_is_refused(whole: Path, data: st.DataObject) -> None:
    directory = whole / "dispatch_2"
    files = sorted(p for p in directory.iterdir() if p.stat().st_size > 0 and p.name != "code_object.co")
    path = data.draw(st.sampled_from(files), label="file")
    good = path.read_bytes()
    at = data.draw(st.integers(0, len(good) - 1), label="at")
    flip = data.draw(st.integers(0, 255), label="flip")
    try:
        path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :] if flip else good[:at])
        with pytest.raises(CaptureUnreadable) as caught:
            read_all(directory)
        assert "\n" not in str(caught.value)
    finally:
        path.write_bytes(good)


@pytest.mark.parametrize("name", ["meta.json", "kernarg.bin", "global_0.before", "checksums"])
@pytest.mark.parametrize("how", ["changed", "cut", "gone"])
def test_the_replay_refuses_a_damaged_capture_and_names_the_file(
    copy: Path, tmp_path: Path, name: str, how: str
) -> None:
    path = copy / name
    good = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(good[:-1] if good else b"more")
    else:
        path.write_bytes(bytes([good[0] ^ 1]) + good[1:] if good else b"x")
    result = replayed(copy, tmp_path / "out")
    assert result["status"] == "launch_error"
    assert name in str(result["message"])
    with pytest.raises(CaptureUnreadable, match=name):
        read_all(copy)


def test_other_versions_and_foreign_folders_are_refused(copy: Path, tmp_path: Path) -> None:
    text = (copy / "checksums").read_text()
    for first, words in (
        ("hipscope-dispatch 2", "version 2 of the format"),
        ("hipscope-dispatch 4", "version 4 of the format"),
        ("something 3", "not from hipscope"),
    ):
        (copy / "checksums").write_text(text.replace("hipscope-dispatch 3", first, 1))
        assert words in str(replayed(copy, tmp_path / first)["message"])
        with pytest.raises(CaptureUnreadable, match=words):
            read_dispatch(copy)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "meta.json").write_text("{}")
    assert "not a captured dispatch" in str(replayed(foreign, tmp_path / "out")["message"])
    with pytest.raises(CaptureUnreadable, match="not a captured dispatch"):
        read_dispatch(foreign)


def test_a_full_disk_stops_the_recording_and_not_the_program(
    program: BuiltProgram, kept: Path, whole: Path, tmp_path: Path
) -> None:
    done = run(program, kept, tmp_path / "captures", file_bytes=2000)
    assert (done.returncode, done.stdout) == (0, "PASS\n")
    assert "cannot write" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    # What was launched is listed; nothing is recorded of it.
    assert [path.name for path in (tmp_path / "captures").iterdir()] == ["launches"]


def test_a_disassembly_that_did_not_fit_is_not_kept(
    program: BuiltProgram, kept: Path, whole: Path, tmp_path: Path
) -> None:
    """Else the next run, on a disk with room, would read half of the code."""
    room = (whole / "dispatch_1" / "code_object.co").stat().st_size
    assert all(file.stat().st_size > room for file in kept.iterdir())
    cache = tmp_path / "cache"
    done = run(program, cache, tmp_path / "captures", file_bytes=room)
    assert (done.returncode, done.stdout) == (0, "PASS\n")
    assert list(cache.iterdir()) == []


def test_a_file_is_shared_again_in_place_of_what_has_its_name(tmp_path: Path) -> None:
    source, target = tmp_path / "buffer_0.before", tmp_path / "derived"
    source.write_bytes(b"recorded")
    target.write_bytes(b"of an earlier derivation")
    for _ in range(2):  # a work folder may be used twice
        share(source, target)
        assert target.read_bytes() == b"recorded"
        assert target.stat().st_ino == source.stat().st_ino
