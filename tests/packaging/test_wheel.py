"""The wheel in a clean environment: only `hipscope` lands there, with everything that it needs."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"server", "analysis", "formulas", "accordo", "emulator"}
DATA_SUFFIXES = {".py", ".toml", ".md", ".typed", ".json", ".csv", ".css", ".js", ".html", ".txt", ".j2"}

pytestmark = pytest.mark.slow


def run(*command: str | Path) -> str:
    """Output of a command; its messages are in the failure when it fails."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=env, cwd="/", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the checkout, as pip would; what `make` compiled of the native parts is not compiled again."""
    directory = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
        f"--config-settings=build-dir={ROOT / 'build' / 'native'}", "-w", directory, ROOT,
    )  # fmt: skip
    (found,) = directory.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel; what it depends on is taken from the environment of the tests."""
    home = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    run(sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "-q", "--no-deps", wheel)
    return home


def site_packages(home: Path) -> Path:
    (found,) = home.glob("lib/python3*/site-packages")
    return found


def test_nothing_but_hipscope_lands_in_site_packages(clean: Path) -> None:
    names = {path.name for path in site_packages(clean).iterdir()}
    assert {name for name in names if not name.startswith("hipscope-")} == {"hipscope"}
    assert {path.name for path in (site_packages(clean) / "hipscope").iterdir()} == FOLDERS
    assert {path.name for path in (clean / "bin").iterdir() if "hipscope" in path.name} == {"hipscope"}


def test_every_module_and_data_file_of_the_checkout_is_in_it(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "-C", ROOT, "ls-files", *FOLDERS], capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = {
        f"hipscope/{name}"
        for name in tracked
        if Path(name).suffix in DATA_SUFFIXES and "native" not in Path(name).parts
    }
    assert wanted - packed == {name for name in wanted if Path(name).name == "CMakeLists.txt"}


def test_the_schemas_of_the_reports_are_in_it(wheel: Path) -> None:
    packed = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if "reports/schemas/" in name}
    assert packed == {path.name for path in (ROOT / "docs" / "schemas").glob("*.json")}


def test_no_source_of_the_native_parts_and_no_cache_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith((".cpp", ".hpp", ".pyc", "CMakeLists.txt"))] == []


def test_the_native_parts_are_where_the_runner_looks(clean: Path) -> None:
    code = (
        "from hipscope.emulator.runner import native_library_dir, replay_executable\n"
        "import os; print(native_library_dir()); print(replay_executable())\n"
        "assert os.access(replay_executable(), os.X_OK)\n"
        "from hipscope.emulator.extension import native_module; native_module().replay\n"
        "print(sorted(os.listdir(native_library_dir())))"
    )
    library, replay, names = run(clean / "bin" / "python", "-I", "-c", code).splitlines()
    assert Path(library).is_relative_to(site_packages(clean) / "hipscope")
    assert Path(replay).is_relative_to(site_packages(clean) / "hipscope")
    assert all(f"libamdhip64.so{version}" in names for version in ("", ".5", ".6", ".7"))


def test_the_command_runs(clean: Path) -> None:
    (site_packages(clean) / "dependencies.pth").write_text(str(site_packages(Path(sys.prefix))))
    printed = run(clean / "bin" / "hipscope", "version")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] in printed
