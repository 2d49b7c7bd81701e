"""Where a mistake in a `hipscope.toml` stands, for the editor's cursor and for the line of a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import load_config, read_settings_text
from hipscope.analysis.errors import UsageError
from hipscope.analysis.settings_places import key_places, mistake_place

TEXT = """\
# how it is built
device = "mi300x"

[toolchain]
  clang = "clang++"

[[bench]]
file = "a.hip"
[[bench]]
file = "b.hip"
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("device", 1),
        ("toolchain.clang", 4),
        ("toolchain.rocm", 3),
        ("bench.1.file", 9),
        ("bench.0.line", 6),
        ("x", 0),
    ],
)
def test_a_mistake_stands_at_its_key_else_at_the_head_of_its_table(key: str, line: int) -> None:
    assert mistake_place(TEXT, key).line == line


def test_a_key_has_its_path_and_its_characters() -> None:
    assert [(k.path, k.start, k.end) for k in key_places(TEXT)][1] == ("toolchain.clang", 2, 7)


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = = 2\n", 1), ('a = 1\nb = "c', 1), ("a = [1,\n\n", 0)]
)
def test_text_that_is_no_toml_is_wrong_where_its_reader_says(text: str, line: int) -> None:
    (mistake,) = read_settings_text(text)[1]
    assert mistake_place(text, mistake.key, mistake.message).line == line


def test_the_message_of_wrong_settings_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "hipscope.toml"
    file.write_text("# mine\ndevice = 3\ntimout_s = 3\n")
    with pytest.raises(UsageError) as failure:
        load_config(tmp_path)
    first, second = failure.value.message.split("\n")
    assert first.startswith(f"{file}:2: device")
    assert second == f"{file}:3: unknown key `timout_s`; did you mean `timeout_s`?"
