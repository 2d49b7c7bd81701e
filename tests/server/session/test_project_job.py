"""What an editor says of a failed job begins with the reason."""

from pathlib import Path

import pytest

from hipscope.server.session.project_job import reason_first


@pytest.mark.parametrize(
    ("message", "hint", "said"),
    [
        ("/home/me/a.hip:3:7: expected ';'", None, "expected ';': /home/me/a.hip:3:7"),
        ("/home/me/a b.hip: no `main` function", "add one", "no `main` function (add one): /home/me/a b.hip"),
        (
            "the program left with exit code 2",
            "give it a file",
            "the program left with exit code 2 (give it a file)",
        ),
        (
            "/a/hipscope.toml:1: x\n/a/hipscope.toml:3: y",
            "z",
            "x: /a/hipscope.toml:1\ny (z): /a/hipscope.toml:3",
        ),
    ],
)
def test_the_reason_comes_first_and_the_path_last(message: str, hint: str | None, said: str) -> None:
    assert reason_first(message, hint) == said


def test_places_and_programs_are_called_as_the_user_knows_them() -> None:
    folders = (Path("/home/me"), Path("/home/me/work"))
    assert reason_first("/home/me/work/src/a.hip:3: wrong", None, folders) == "wrong: src/a.hip:3"
    assert reason_first("/home/other/a.hip: wrong", None, folders) == "wrong: /home/other/a.hip"
    assert (
        reason_first("the program left with exit code 1", None, folders, "a.hip")
        == "a.hip left with exit code 1"
    )
