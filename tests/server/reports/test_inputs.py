"""Which files a profile says that it depends on, and the digests of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.file_digests import file_digest
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.server.reports.inputs_writer import other_files, source_files

MAIN = "int main() { return 0; }\n"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_single_source_depends_on_settings_that_are_not_there_yet(tmp_path: Path) -> None:
    source, data = tmp_path / "a.hip", tmp_path / "grid.csv"
    source.write_text(MAIN)
    data.write_text("1,2\n")
    unsaved = SourceTexts({source: (MAIN + "// typed\n").encode()})
    project = resolve_project(source, ("--steps=3", "--in=grid.csv", "missing.csv"))
    assert source_files(project, unsaved) == {str(source): sha256(MAIN + "// typed\n")}
    found = other_files(project, unsaved)
    names = ("hipscope.toml", "compile_commands.json", "build/compile_commands.json")
    assert found == {str(data): sha256("1,2\n")} | {str(tmp_path / name): "" for name in names}


def test_a_build_command_depends_on_its_build_files_and_scripts_but_not_on_what_it_makes(
    tmp_path: Path,
) -> None:
    texts = {
        "hipscope.toml": 'build = "sh build.sh"\nrun = "./app data/in.txt"\n',
        "build.sh": "make\n",
        "Makefile": "app: src/main.cpp\n",
        "src/main.cpp": MAIN,
        "src/CMakeLists.txt": "",
        "data/in.txt": "7\n",
        "README": "",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "app").write_bytes(b"\x7fELF...")
    project = resolve_project(tmp_path)
    found = {**other_files(project, SourceTexts()), **source_files(project, SourceTexts())}
    assert found == {str(tmp_path / name): sha256(text) for name, text in texts.items() if name != "README"}


def test_a_digest_is_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    assert file_digest(file) == file_digest(tmp_path) == ""
    for text in ("1530", "3000"):
        file.write_text(text)
        assert file_digest(file) == sha256(text)
