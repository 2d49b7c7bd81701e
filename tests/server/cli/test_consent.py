"""`hipscope consent`: what may be sent where, and taking it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hipscope.analysis.config import LlmConfig
from hipscope.formulas.propose.llm.consent import give_consent, has_consent
from hipscope.formulas.propose.llm.model_settings import model_settings
from hipscope.server.cli.main import app


def test_a_consent_is_shown_and_taken_back_for_its_project_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    model = model_settings(LlmConfig(model="openai/m", api_base="https://models.example/v1"), {})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.hip").write_text("int main() { return 0; }\n")
        give_consent(tmp_path / name, model)
    shown = CliRunner().invoke(app, ["consent", str(tmp_path / "one" / "main.hip")])
    assert shown.exit_code == 0, shown.output
    assert (
        f"kernels of {tmp_path / 'one'} may be sent to openai/m at https://models.example/v1" in shown.output
    )
    back = CliRunner().invoke(app, ["consent", "--withdraw", str(tmp_path / "one")])
    assert "taken back" in back.output
    assert not has_consent(tmp_path / "one", model)
    assert has_consent(tmp_path / "two", model)
    nothing = CliRunner().invoke(app, ["consent", str(tmp_path / "one")])
    assert "nothing of" in nothing.output


def test_a_source_beside_the_current_project_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "projA").mkdir()
    (tmp_path / "projA" / "hipscope.toml").write_text('build = "make"\nrun = "./app"\n')
    (tmp_path / "victim.hip").write_text("int main() { return 0; }\n")
    monkeypatch.chdir(tmp_path / "projA")
    shown = CliRunner().invoke(app, ["consent", "../victim.hip"])
    assert shown.output == f"nothing of {tmp_path} may be sent to a language model\n"
