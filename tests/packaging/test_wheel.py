"""The wheel in a clean environment: only `hipscope` lands there, with everything that it needs."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
FOLDERS = {"server", "analysis", "formulas", "accordo", "emulator"}
DATA_SUFFIXES = {
    ".py",
    ".toml",
    ".md",
    ".typed",
    ".json",
    ".csv",
    ".css",
    ".js",
    ".html",
    ".txt",
    ".j2",
    ".cmake",
}

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
    assert {path.name for path in (site_packages(clean) / "hipscope").iterdir()} == {*FOLDERS, "py.typed"}
    assert {path.name for path in (clean / "bin").iterdir() if "hipscope" in path.name} == {"hipscope"}


def test_the_man_page_is_in_it(wheel: Path) -> None:
    assert any(
        name.endswith(".data/data/share/man/man1/hipscope.1") for name in zipfile.ZipFile(wheel).namelist()
    )


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


def test_the_page_of_each_formula_is_in_it(wheel: Path) -> None:
    packed = {
        Path(name).name for name in zipfile.ZipFile(wheel).namelist() if "render/docs/formulas/" in name
    }
    assert packed == {path.name for path in (ROOT / "docs" / "formulas").glob("*.md")}


def test_the_schemas_of_the_reports_are_in_it(wheel: Path) -> None:
    packed = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if "reports/schemas/" in name}
    assert packed == {path.name for path in (ROOT / "docs" / "schemas").glob("*.json")}


def test_no_source_of_the_native_parts_and_no_cache_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    given_to_a_compiler = {"hipscope/analysis/benches/support.hpp"}  # a part of each bench's program
    built = {name for name in names if name.endswith((".cpp", ".hpp", ".pyc", "CMakeLists.txt"))}
    given_to_a_compiler |= {name for name in built if name.startswith("hipscope/emulator/stand_ins/hipcub/")}
    assert built == given_to_a_compiler


def test_it_is_small_for_every_python_and_holds_each_library_once(wheel: Path) -> None:
    assert wheel.name.startswith(f"hipscope-{VERSION}-py3-none-")
    assert wheel.stat().st_size < 40e6
    archive = zipfile.ZipFile(wheel)
    large = {info.filename: info for info in archive.infolist() if info.file_size > 100_000}
    assert len({info.CRC for info in large.values()}) == len(large), sorted(large)
    assert sum(info.file_size for info in archive.infolist()) < 60e6  # on disk
    for name in large:
        assert b".symtab" not in archive.read(name), f"{name} is not stripped"


# A program that names one version of the runtime, and opens another, as a library that it uses may.
SONAMES = """
import ctypes, os, re
from hipscope.emulator.runner import native_library_dir
folder = native_library_dir()
for name, function in (("libamdhip64.so", "hipGetDeviceCount"), ("libhiprtc.so", "hiprtcVersion")):
    found = {ctypes.cast(getattr(ctypes.CDLL(os.path.join(folder, name + version)), function), ctypes.c_void_p).value
             for version in ("", ".5", ".6", ".7")}
    print(len(found))
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libamdhip64" in line and " r-xp " in line}
print(len({os.path.basename(path) for path in mapped if os.path.getsize(path) > 100_000}))
"""


def test_every_soname_leads_to_one_and_the_same_library(clean: Path) -> None:
    assert run(clean / "bin" / "python", "-I", "-c", SONAMES).split() == ["1", "1", "1"]


def test_a_program_that_wants_versions_of_another_soname_runs(clean: Path, tmp_path: Path) -> None:
    """The loader asks the soname for the versions (hip_4.2), and finds the functions behind it."""
    folder = site_packages(clean) / "hipscope" / "emulator" / "lib"
    (tmp_path / "versions").write_text("hip_4.2 { global: hipGetDeviceCount; };\n")
    (tmp_path / "rocm.c").write_text("int hipGetDeviceCount(int* count) { return 1; }\n")
    (tmp_path / "main.c").write_text(
        "int hipGetDeviceCount(int*);\nint main() { int n = 0; return hipGetDeviceCount(&n) || n < 1; }\n"
    )
    for soname in ("5", "6", "7"):
        name = f"libamdhip64.so.{soname}"
        run("cc", "-shared", "-o", tmp_path / name, tmp_path / "rocm.c", f"-Wl,-soname,{name}",
            f"-Wl,--version-script={tmp_path / 'versions'}")  # fmt: skip
        run("cc", "-o", tmp_path / "main", tmp_path / "main.c", tmp_path / name)
        done = subprocess.run(
            [tmp_path / "main"], env={"LD_LIBRARY_PATH": str(folder)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), done


def test_the_native_parts_are_where_the_runner_looks(clean: Path) -> None:
    code = (
        "from hipscope.emulator.runner import native_library_dir, replay_executable\n"
        "import os; print(native_library_dir()); print(replay_executable())\n"
        "assert os.access(replay_executable(), os.X_OK)\n"
        "from hipscope.emulator.native_library import native_library; native_library().replay\n"
        "print(sorted(os.listdir(native_library_dir())))"
    )
    library, replay, names = run(clean / "bin" / "python", "-I", "-c", code).splitlines()
    assert Path(library).is_relative_to(site_packages(clean) / "hipscope")
    assert Path(replay).is_relative_to(site_packages(clean) / "hipscope")
    assert all(f"libamdhip64.so{version}" in names for version in ("", ".5", ".6", ".7"))


@pytest.fixture(scope="module")
def complete(clean: Path) -> Path:
    """The same with what it depends on."""
    (site_packages(clean) / "dependencies.pth").write_text(str(site_packages(Path(sys.prefix))))
    return clean


def test_the_command_runs(complete: Path) -> None:
    assert VERSION in run(complete / "bin" / "hipscope", "version")


def test_a_rewrite_is_proved_with_it(complete: Path, tmp_path: Path) -> None:
    source = tmp_path / "demo.hip"
    source.write_text((ROOT / "examples" / "lds_column_read.hip").read_text())
    said = run(
        "env", f"XDG_CACHE_HOME={tmp_path / 'cache'}",
        complete / "bin" / "hipscope", "optimize", "--formula", "bankConflict", "--format", "json", source,
    )  # fmt: skip
    result = json.loads(said)
    assert result["status"] == "verified", result["message"]
    assert result["verdict"]["outcome"] == "equivalent"


def test_uninstalling_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(sys.executable, "-m", "venv", "--without-pip", home)

    def files() -> list[Path]:
        """All but folders: pip leaves the empty ones of the manual page."""
        return sorted(path for path in home.rglob("*") if not path.is_dir())

    before = files()
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python")
    run(*pip, "install", "-q", "--no-deps", wheel)
    library = "from hipscope.emulator.native_library import native_library; native_library()"
    run(home / "bin" / "python", "-I", "-c", library)
    run(*pip, "uninstall", "-q", "-y", "hipscope")
    assert files() == before


def test_the_source_distribution_has_what_a_build_needs_and_no_tests(tmp_path: Path) -> None:
    build = (
        "import os, sys; os.chdir(sys.argv[1]);"
        "from scikit_build_core.build import build_sdist; build_sdist(sys.argv[2])"
    )
    run(sys.executable, "-c", build, ROOT, tmp_path)
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert sdist.stat().st_size < 4e6  # a third of it are the pictures of docs/, which the wheel shows, too
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not [
        name for name in names if name.startswith(("tests/", "benchmarks/", "vscode-extension/", ".ci/"))
    ]
    tracked = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "emulator", "accordo"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(tracked) | {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= names
