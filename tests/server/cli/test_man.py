"""`hipscope man`: the manual page has all that the parser has."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from hipscope.server.cli.main import app
from hipscope.server.cli.man import page
from hipscope.server.cli.reference import MAN_PAGE, all_parameters


def test_the_man_page_names_every_command_and_option() -> None:
    text = page().replace("\\-", "-")
    for name, _, parameters in all_parameters(app):
        assert f".SS hipscope {name}" in text
        for option in parameters:
            assert all(word in text for word in option.names)
    assert "--kernel-iteration-range" in text  # emulate has a help of its own


def test_the_man_page_of_the_wheel_is_as_the_parser_is() -> None:
    written = Path(__file__).parents[3] / MAN_PAGE
    assert written.read_text(encoding="utf-8") == page(), "run `python -m hipscope.server.cli.reference`"


def test_every_line_of_the_man_page_is_a_request_or_plain_text() -> None:
    known = {".TH", ".SH", ".SS", ".TP", ".B", ".nf", ".fi"}
    for line in CliRunner().invoke(app, ["man"]).output.splitlines():
        assert not line.startswith(".") or line.split()[0] in known
        assert not re.search(r"(?<!\\)\\(?![-e&fBR])", line), line
