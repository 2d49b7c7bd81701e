"""Settings from whatever a client sends."""

from __future__ import annotations

import pytest

from hipscope.server.session.editor_settings import EditorSettings, read_settings


def test_the_section_may_come_bare_or_wrapped() -> None:
    assert read_settings({"profileOnSave": False})[0] == EditorSettings(profile_on_save=False)
    assert read_settings({"hipscope": {"profileOnSave": False}})[0] == EditorSettings(profile_on_save=False)


@pytest.mark.parametrize("nothing", [None, [], 3, {}, {"hipscope": None}, {"someOther": {"a": 1}}])
def test_no_settings_are_the_defaults(nothing: object) -> None:
    assert read_settings(nothing) == (EditorSettings(), [])


def test_every_kind_of_value_is_taken() -> None:
    given = {"timeBudget": 3, "programArguments": ["-n", "4"], "backend": "emulator", "device": "mi300a"}
    settings, problems = read_settings(given)
    assert problems == []
    assert settings == EditorSettings(
        time_budget=3.0, program_arguments=("-n", "4"), backend="emulator", device="mi300a"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("backend", "cray"), ("profileOnSave", "yes"), ("timeBudget", True), ("programArguments", "-n 4")],
)
def test_a_wrong_value_keeps_the_default_and_says_so(name: str, value: object) -> None:
    settings, problems = read_settings({name: value})
    assert settings == EditorSettings()
    assert len(problems) == 1
    assert f"hipscope.{name}" in problems[0]


def test_an_empty_text_means_not_set() -> None:
    assert read_settings({"device": "", "arch": ""}) == (EditorSettings(), [])
