"""Which model, where, with which key: what is filled in, what is refused, and that the key stays where it is."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.config import Config, LlmConfig, load_config
from hipscope.analysis.errors import UsageError
from hipscope.formulas.propose.llm.consent import (
    ConsentNeeded,
    give_consent,
    given_consents,
    has_consent,
    require_consent,
    withdraw_consents,
)
from hipscope.formulas.propose.llm.model_settings import ModelKey, model_settings, read_stored_keys, take_key


def settings(**values: object) -> object:
    return model_settings(LlmConfig.model_validate(values), {})


def test_no_model_is_asked_unless_one_is_named() -> None:
    assert Config().llm.model is None
    with pytest.raises(UsageError, match=r"no language model is set \(name one in hipscope.toml"):
        model_settings(LlmConfig())


def test_the_table_of_the_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text(
        '[llm]\nmodel = "openai/m"\napi_base = "http://127.0.0.1:8080/v1/"\ncandidates = 3\nsources = ["isa"]\n'
        "max_attempts = 4\nmax_tokens = 5000\nmax_seconds = 60\nmax_cost = 0.5\nprice_in = 1\nprice_out = 2\n"
    )
    found = model_settings(load_config(tmp_path).llm)
    assert found.destination == "openai/m at http://127.0.0.1:8080/v1"
    assert (found.candidates, found.sources, found.key_env) == (3, ("isa",), None)
    assert (found.budget.attempts, found.budget.tokens, found.budget.seconds, found.budget.cost) == (
        4,
        5000,
        60,
        0.5,
    )
    assert found.price is not None


def test_a_known_provider_needs_only_the_model() -> None:
    found = model_settings(LlmConfig(model="anthropic/claude"), {})
    assert (found.api_base, found.key_env) == ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")


def test_the_variable_that_is_set_is_taken() -> None:
    found = model_settings(LlmConfig(model="gemini/g"), {"GOOGLE_API_KEY": "x"})
    assert found.key_env == "GOOGLE_API_KEY"


def test_a_server_on_this_machine_needs_no_key() -> None:
    found = model_settings(LlmConfig(model="ollama/qwen2.5-coder"), {})
    assert found.key_env is None
    assert take_key(found, {}) is None


def test_the_usual_key_does_not_go_to_an_address_that_a_project_chose() -> None:
    found = model_settings(
        LlmConfig(model="openai/m", api_base="https://evil.example/v1"), {"OPENAI_API_KEY": "x"}
    )
    assert found.key_env is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "gpt"}, "does not name a provider"),
        ({"model": "nobody/m"}, "not one of openai"),
        ({"model": "nobody/m", "engine": "litellm"}, "llm.api_base"),
        ({"model": "openai/m", "api_base": "http://example.com/v1", "key_env": "K"}, "unencrypted"),
        ({"model": "openai/m", "price_in": 1.0}, "belong together"),
    ],
)
def test_what_cannot_work_is_refused_with_the_key_to_change(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings(**values)


def test_a_missing_key_names_its_variable() -> None:
    found = model_settings(LlmConfig(model="openai/m"), {})
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        take_key(found, {})


def test_a_key_from_the_editor_goes_to_its_own_address_only() -> None:
    stored = read_stored_keys(
        '{"https://api.openai.com/v1/": "sk-ui", "https://mine.example/v1": "sk-mine", "x": 3}'
    )
    openai = model_settings(LlmConfig(model="openai/m"), {})
    mine = model_settings(LlmConfig(model="openai/m", api_base="https://mine.example/v1"), {})
    evil = model_settings(LlmConfig(model="openai/m", api_base="https://evil.example/v1"), {})
    found = [take_key(settings, {}, stored) for settings in (openai, mine, evil)]
    assert [key.reveal() if key else None for key in found] == ["sk-ui", "sk-mine", None]


def test_a_key_in_the_environment_goes_before_the_editors() -> None:
    settings = model_settings(LlmConfig(model="openai/m"), {})
    key = take_key(settings, {"OPENAI_API_KEY": "sk-env"}, {"https://api.openai.com/v1": "sk-ui"})
    assert key is not None
    assert key.reveal() == "sk-env"


def test_a_key_from_the_editor_is_not_sent_unencrypted() -> None:
    plain = model_settings(LlmConfig(model="openai/m", api_base="http://models.example/v1"), {})
    with pytest.raises(UsageError, match="unencrypted"):
        take_key(plain, {}, {"http://models.example/v1": "sk-ui"})


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '"sk"', '{"a": 1}'])
def test_a_store_that_holds_something_else_counts_as_empty(text: str) -> None:
    assert read_stored_keys(text) == {}


def test_a_key_with_stray_characters_is_refused_without_showing_it() -> None:
    found = model_settings(LlmConfig(model="openai/m"), {})
    with pytest.raises(UsageError) as refused:
        take_key(found, {"OPENAI_API_KEY": "sk-one\nX-Evil: two"})
    assert "sk-one" not in str(refused.value)


def test_the_key_is_shown_and_written_nowhere() -> None:
    key = ModelKey("sk-secret")
    assert "sk-secret" not in f"{key} {key!r} {[key]} {vars(ModelKey).get('x')}"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)
    assert key.hide_in("Bearer sk-secret!") == "Bearer ***!"


def test_no_child_process_inherits_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    key = take_key(model_settings(LlmConfig(model="openai/m")))
    assert key is not None
    assert key.reveal() == "sk-secret"
    seen = subprocess.run(
        [sys.executable, "-c", "import os; print(dict(os.environ))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "sk-secret" not in seen.stdout


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def test_nothing_is_sent_before_the_user_agreed(tmp_path: Path, state: dict[str, str]) -> None:
    model = model_settings(LlmConfig(model="openai/m"), {})
    with pytest.raises(ConsentNeeded) as refused:
        require_consent(tmp_path, model, env=state)
    said = str(refused.value)
    where = ("openai/m", "https://api.openai.com/v1", "OPENAI_API_KEY")
    for part in (*where, "--yes-send", "hipscope prompt", "nothing was sent"):
        assert part in said
    assert refused.value.exit_code == 2


def test_agreeing_once_is_enough_until_it_is_withdrawn(tmp_path: Path, state: dict[str, str]) -> None:
    model = model_settings(LlmConfig(model="openai/m"), {})
    require_consent(tmp_path, model, yes_send=True, env=state)
    require_consent(tmp_path, model, env=state)
    assert [c.model for c in given_consents(tmp_path, state)] == ["openai/m"]
    withdraw_consents(tmp_path / "another", state)
    assert has_consent(tmp_path, model, env=state)
    withdraw_consents(tmp_path, state)
    assert not has_consent(tmp_path, model, env=state)
    assert given_consents(tmp_path, state) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "openai/other"},
        {"api_base": "https://elsewhere.example/v1"},
        {"key_env": "OTHER_KEY"},
    ],
)
def test_another_destination_needs_another_consent(
    tmp_path: Path, state: dict[str, str], changed: dict[str, str]
) -> None:
    agreed = {"model": "openai/m", "api_base": "https://here.example/v1", "key_env": "KEY"}
    give_consent(tmp_path, model_settings(LlmConfig.model_validate(agreed), {}), env=state)
    assert has_consent(tmp_path, model_settings(LlmConfig.model_validate(agreed), {}), env=state)
    assert not has_consent(
        tmp_path, model_settings(LlmConfig.model_validate(agreed | changed), {}), env=state
    )


def test_another_project_needs_another_consent(tmp_path: Path, state: dict[str, str]) -> None:
    model = model_settings(LlmConfig(model="openai/m"), {})
    give_consent(tmp_path / "one", model, env=state)
    assert not has_consent(tmp_path / "two", model, env=state)


def test_a_repository_cannot_bring_its_own_consent(tmp_path: Path, state: dict[str, str]) -> None:
    model = model_settings(LlmConfig(model="openai/m"), {})
    project = tmp_path / "project"
    project.mkdir()
    give_consent(project, model, env=state)
    assert list(project.iterdir()) == []
    assert os.listdir(tmp_path / "state" / "hipscope" / "consent")
