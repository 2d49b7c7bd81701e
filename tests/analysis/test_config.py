"""hipscope.toml: defaults, mistakes, and the page that documents it."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hipscope.analysis.config import Config, config_keys, load_config
from hipscope.analysis.config_docs import PAGE, REWRITES_PAGE, SCHEMA, render, schema
from hipscope.analysis.errors import UsageError

ROOT = Path(__file__).parents[2]


def load(tmp_path: Path, text: str) -> Config:
    (tmp_path / "hipscope.toml").write_text(text)
    return load_config(tmp_path)


def test_without_a_file_every_setting_has_its_default(tmp_path: Path) -> None:
    config = load_config(tmp_path)
    assert config == Config()
    assert (config.arch, config.backend, config.device) == ("gfx942", "auto", "mi300x")


def test_settings_are_read(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        'build = "make"\nrun = "./app"\ntolerance = 1e-3\n[emulator]\ntime_budget_s = 5\n[env]\nA = "b"\n',
    )
    assert (config.build, config.run, config.tolerance) == ("make", "./app", 1e-3)
    assert config.emulator.time_budget_s == 5
    assert config.env == {"A": "b"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('archs = "gfx942"', "arch"),
        ('biuld = "make"', "build"),
        ("[emulator]\ntime_budget = 3", "emulator.time_budget_s"),
        ("time_budget_s = 3", "emulator.time_budget_s"),
        ("[accordo]\nmax_byte = 3", "accordo.max_bytes"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_right_one(tmp_path: Path, text: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"hipscope.toml:\\d+: unknown key .*; did you mean `{meant}`"):
        load(tmp_path, text)


def test_a_key_like_no_other_gets_no_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown key `qqqqqq`$"):
        load(tmp_path, "qqqqqq = 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('backend = "cuda"', "backend: input should be 'auto', 'emulator' or 'rocm'"),
        ('arch = "sm_90"', "arch: "),
        (
            'formulas = ["bankConflicts"]',
            "formulas: unknown formula `bankConflicts`; did you mean `bankConflict`?",
        ),
        ("timeout_s = 0", "timeout_s: input should be greater than 0"),
        ("timeout_s = ", "not valid TOML"),
        ('build = "make"', "`build` needs `run` beside it"),
        ('run = "./app"', "`run` needs `build` beside it"),
    ],
)
def test_a_wrong_value_names_its_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, "aarch = 1\ntimeout_s = -1")
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_bytes(b"build = '\xff'")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_config(tmp_path)


def test_every_key_is_described() -> None:
    assert [name for name, _, description in config_keys() if not description] == []


def test_the_documentation_shows_every_key_as_it_is_now() -> None:
    for page, rewrites in ((PAGE, False), (REWRITES_PAGE, True)):
        assert (ROOT / page).read_text() == render(rewrites=rewrites), (
            "run: python -m hipscope.analysis.config_docs"
        )


def test_the_schema_for_toml_plugins_names_each_key_with_its_text() -> None:
    there, now = json.loads((ROOT / SCHEMA).read_text()), json.loads(schema())

    def described(of: dict[str, Any]) -> dict[str, Any]:
        """What each version of pydantic writes alike."""
        parts = {"": of, **of["$defs"]}
        return {
            f"{name}.{key}": field.get("description", "")
            for name, part in parts.items()
            for key, field in part["properties"].items()
        }

    assert described(there) == described(now), "run: python -m hipscope.analysis.config_docs"
    assert there["additionalProperties"] is False
    Draft202012Validator.check_schema(there)
    check = Draft202012Validator(there)
    assert check.is_valid({"build": "make", "run": "./a", "emulator": {"threads": 2}})
    assert not check.is_valid({"buidl": "make"})
    assert not check.is_valid({"emulator": {"time_budget_s": -1}})
