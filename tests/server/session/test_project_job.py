"""What an editor says of a failed job begins with the reason."""

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
        ("/a/hipscope.toml: x\n/a/hipscope.toml: y", None, "/a/hipscope.toml: x\n/a/hipscope.toml: y"),
    ],
)
def test_the_reason_comes_first_and_the_path_last(message: str, hint: str | None, said: str) -> None:
    assert reason_first(message, hint) == said
