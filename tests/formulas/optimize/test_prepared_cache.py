"""What is prepared for rewrites: the same result as without, and never used when it is stale or damaged."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hipscope.accordo.reference import double_precision, prepare
from hipscope.analysis.config import Config, OptimizeConfig
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain import build, command_build
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.formulas.judge import bench
from hipscope.formulas.optimize import loop, prepared_cache
from hipscope.formulas.optimize.loop import OptimizeOptions, OptimizeResult, optimize_project
from hipscope.formulas.optimize.prepared_cache import prepare_project, prepared_session
from tests.unsaved import unsaved

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "lds_column_read.hip"
TEXT = EXAMPLE.read_text().replace("width = 1530, height = 1070", "width = 250, height = 140")
OPTIONS = OptimizeOptions(formula="bankConflict")


@pytest.fixture(scope="module", autouse=True)
def _one_environment() -> Iterator[None]:
    """pytest puts the name of the test into the environment of programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared_cache, "_PASSING", {*prepared_cache._PASSING, "PYTEST_CURRENT_TEST"})
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "smooth.hip").write_text(TEXT)
    return resolve_project(folder / "smooth.hip", config=Config(backend="emulator"))


@pytest.fixture(scope="module")
def cold(project: Project) -> OptimizeResult:
    """The result with nothing prepared."""
    found = optimize_project(project, options=OPTIONS)
    assert found.status == "verified"
    return found


@pytest.fixture(scope="module")
def original(project: Project, cold: OptimizeResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what was prepared."""
    assert prepare_project(project)
    (entry,) = home(project).iterdir()
    kept = tmp_path_factory.mktemp("kept") / entry.name
    shutil.copytree(entry, kept, symlinks=True)
    return kept


@pytest.fixture
def entry(project: Project, original: Path) -> Path:
    """What was prepared, in its place."""
    at = home(project) / original.name
    shutil.rmtree(home(project), ignore_errors=True)
    shutil.copytree(original, at, symlinks=True)
    return at


def home(project: Project) -> Path:
    return prepared_cache._home(project)


def found(project: Project, run: Run | None = None) -> bool:
    with prepared_session(project, run or Run()) as session:
        return session is not None


def found_by(result: OptimizeResult) -> OptimizeResult:
    """The result without what the search cost: what is prepared is not replayed again."""
    return result.model_copy(update={"replays": 0})


def test_the_result_is_the_same_with_and_without(
    project: Project, cold: OptimizeResult, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("this was prepared")

    monkeypatch.setattr(loop, "profile_project", never)
    monkeypatch.setattr(bench, "prepare_reference", never)
    monkeypatch.setattr(build, "_call", never)
    monkeypatch.setattr(build, "_check", never)  # also of the linker
    monkeypatch.setattr(prepare, "replay_all", never)
    assert found_by(optimize_project(project, options=OPTIONS)) == found_by(cold)
    assert entry.exists()


@pytest.mark.slow
def test_the_results_in_double_precision_are_prepared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = EXAMPLE.with_name("accidental_double.hip")
    (tmp_path / example.name).write_bytes(example.read_bytes())
    project = resolve_project(tmp_path / example.name, config=Config(backend="emulator"))
    cold = optimize_project(project, options=OptimizeOptions(formula="precision"))
    assert cold.status == "verified"
    assert prepare_project(project)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("this was prepared")

    monkeypatch.setattr(double_precision, "write_widened", never)
    assert found_by(optimize_project(project, options=OptimizeOptions(formula="precision"))) == found_by(cold)


@pytest.mark.parametrize(
    "damage",
    [
        "prepared.json",
        "kernel_*/reference.json",
        "kernel_*/proof/dispatch_*/inputs_1/buffer_*.before",
        "kernel_*/proof/dispatch_*/reference/buffer_*.runs",
        "kernel_*/proof/dispatch_*/trial_0/result.json",
        "kernel_*/baseline/profile.json",
        "profile.json",
        "run/dispatches/dispatch_*/buffer_*.before*",
        "run/dispatches/dispatch_*/meta.json",
    ],
)
def test_what_is_damaged_is_removed_and_not_used(project: Project, entry: Path, damage: str) -> None:
    assert found(project)
    file = next(p for p in sorted(entry.glob(damage)) if p.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.unlink()  # other names of the file keep what it held
    file.write_bytes(data)
    assert not found(project)
    assert not entry.exists()


@pytest.mark.parametrize("change", ["more", "less", "another name"])
def test_an_entry_with_other_files_is_not_used(project: Project, entry: Path, change: str) -> None:
    if change == "more":
        (entry / "more").touch()
    elif change == "less":
        next(entry.glob("kernel_*/reference.json")).unlink()
    else:
        entry = entry.rename(entry.with_name("0" * 32))
    assert not found(project)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: replace(p, config=p.config.model_copy(update={"tolerance": 1e-3})),
        lambda p: replace(p, config=p.config.model_copy(update={"device": "mi300a"})),
        lambda p: replace(p, program_args=("7",)),
    ],
)
def test_other_settings_find_nothing(
    project: Project, entry: Path, change: Callable[[Project], Project]
) -> None:
    assert not found(change(project))
    assert found(project)


def test_another_text_environment_file_or_engine_finds_nothing(
    project: Project, entry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert project.main_source is not None
    assert not found(project, unsaved(project.main_source, TEXT.replace("* 7 % 101", "* 7 % 103").encode()))
    beside = project.root / "data.bin"
    beside.touch()
    assert not found(project)
    beside.unlink()
    with monkeypatch.context() as other:
        other.setenv("SIZE", "7")
        assert not found(project)
    with monkeypatch.context() as other:
        engine = tmp_path / "hipscope-replay"
        engine.touch()
        other.setattr(prepared_cache, "replay_executable", lambda: engine)
        assert not found(project)
    assert found(project)


def test_only_the_newest_of_a_program_is_kept_and_not_twice(project: Project, entry: Path) -> None:
    assert not prepare_project(project)
    assert project.main_source is not None
    changed = unsaved(project.main_source, TEXT.replace("* 7 % 101", "* 7 % 103").encode())
    assert prepare_project(project, changed)
    assert len(list(home(project).iterdir())) == 1
    assert found(project, changed)
    assert not found(project)


def test_a_file_with_many_names_counts_once(
    project: Project, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {p.stat().st_ino: p.stat().st_size for p in entry.rglob("*") if p.is_file()}
    named = sum(p.stat().st_size for p in entry.rglob("*") if p.is_file())
    shutil.rmtree(home(project))
    monkeypatch.setattr(prepared_cache, "_MAX_BYTES", (sum(sizes.values()) + named) // 2)
    assert prepare_project(project)


def test_nothing_is_left_of_a_preparation_that_is_cancelled_or_too_large(
    project: Project, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(home(project), ignore_errors=True)
    cancel = threading.Event()

    def stop(message: str, _share: float | None) -> None:
        if "replaying" in message:
            cancel.set()

    with pytest.raises(Cancelled):
        prepare_project(project, Run(cancel, stop))
    assert list(home(project).iterdir()) == []
    monkeypatch.setattr(prepared_cache, "_MAX_BYTES", 1000)
    assert not prepare_project(project)
    assert list(home(project).iterdir()) == []


@pytest.mark.slow
def test_a_program_with_other_data_is_judged_on_what_it_does_now(tmp_path: Path) -> None:
    data, folder = tmp_path / "data" / "seed.txt", tmp_path / "program"
    data.parent.mkdir()
    folder.mkdir()
    data.write_text("101")
    text = TEXT.replace("i * 7 % 101", "i * 7 % modulus")
    text = text.replace(
        "  std::vector<float> in(count), out(count);", _READS.replace("SEED", json.dumps(str(data)))
    )
    text = text.replace('std::printf("', 'std::printf("modulus %d: ", modulus);\n  std::printf("')
    (folder / "smooth.hip").write_text(text)
    config = Config(backend="emulator", optimize=OptimizeConfig(read_paths=[str(data.parent)]))
    project = resolve_project(folder / "smooth.hip", config=config)
    assert prepare_project(project)
    data.write_text("97")
    result = optimize_project(project, options=OPTIONS)
    assert result.status == "verified"
    assert not found(project)


@pytest.fixture(scope="module")
def made_by_a_command(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a Makefile of its own, prepared."""
    folder = tmp_path_factory.mktemp("make")
    (folder / "smooth.hip").write_text('#include "factor.h"\n' + TEXT.replace("* 7 % 101", "* FACTOR % 101"))
    (folder / "factor.h").write_text("#define FACTOR 7\n")
    (folder / "Makefile").write_text(
        "smooth: smooth.hip factor.h Makefile\n\thipcc -std=c++17 -O3 smooth.hip -o smooth\n"
        "\techo built >> builds.log\n"
    )
    (folder / "hipscope.toml").write_text('backend = "emulator"\nbuild = "make"\nrun = "./smooth"\n')
    project = resolve_project(folder / "smooth.hip")
    assert project.build_kind == "command"
    return project


@pytest.mark.slow
def test_a_project_with_a_build_command_is_prepared_too(
    made_by_a_command: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made_by_a_command
    cold = optimize_project(project, options=OPTIONS)
    assert cold.status == "verified"
    with monkeypatch.context() as patch:
        patch.setattr(build, "build_in_tree", only_as_it_is)
        assert prepare_project(project)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("this was prepared")

    monkeypatch.setattr(loop, "profile_project", never)
    monkeypatch.setattr(bench, "prepare_reference", never)
    monkeypatch.setattr(prepare, "replay_all", never)
    assert found_by(optimize_project(project, options=OPTIONS)) == found_by(cold)


def only_as_it_is(
    project: Project, toolchain: Toolchain, run: Run, **options: Any
) -> command_build.BuildTree:
    """A build command may run what it has built, so it runs with a rewrite only on request."""
    assert not run.texts.unsaved
    return command_build.build_in_tree(project, toolchain, run, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        pytest.param("a header", marks=pytest.mark.slow),
        pytest.param("the command", marks=pytest.mark.slow),
        "the program that was made",
        "nothing",
    ],
)
def test_what_a_build_command_made_is_part_of_what_was_prepared(
    made_by_a_command: Project, change: str
) -> None:
    project = made_by_a_command
    prepare_project(project)
    assert found(project)
    with prepared_session(project, Run()) as session:
        assert session is not None
        program = session.built.directory / "smooth"
    if change == "a header":
        (project.root / "factor.h").write_text("#define FACTOR 9\n")
    elif change == "the command":
        project = replace(project, config=project.config.model_copy(update={"build": "make -s"}))
    elif change == "the program that was made":
        os.utime(program)
    assert found(project) == (change == "nothing")


_READS = """  std::vector<float> in(count), out(count);
  int modulus = 0;
  std::FILE* file = std::fopen(SEED, "r");
  if (!file || std::fscanf(file, "%d", &modulus) != 1) return 3;
"""


def test_of_programs_used_longest_ago_what_another_process_is_filling_stays(tmp_path: Path) -> None:
    """Several editors at once prepare more programs than are kept."""
    homes = [tmp_path / "prepared" / f"program_{n}" for n in range(5)]
    for age, home in enumerate(homes):
        (home / "entry").mkdir(parents=True)
        (home / ".draft-1-x").mkdir()
        os.utime(home, (1000 - age, 1000 - age))
    prepared_cache._prune(homes[0], "entry")
    assert [(home / "entry").exists() for home in homes] == [True, True, True, False, False]
    assert all((home / ".draft-1-x").exists() for home in homes)
