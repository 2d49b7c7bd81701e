"""The flags of a recorded compiler call, as the program was built with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.toolchain.compile_commands import from_record


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        (["-g", "-DN=4"], ("-O3", "-DN=4")),
        (["-O1", "-DN=4"], ("-O1", "-DN=4")),
        (["-Ofast"], ("-Ofast",)),
    ],
)
def test_gpu_code_is_optimized_unless_the_call_says_how_far(
    tmp_path: Path, given: list[str], flags: tuple[str, ...]
) -> None:
    record, source = tmp_path / "record", tmp_path / "main.hip"
    record.mkdir()
    source.write_text("")
    words = [str(tmp_path), "-c", *given, "main.hip", "-o", "main.o"]
    (record / "1-1").write_bytes(b"\0".join(word.encode() for word in words))
    command = from_record(source, record)
    assert command is not None
    assert command.flags == flags
