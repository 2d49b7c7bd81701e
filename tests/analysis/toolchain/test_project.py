"""What a file or a directory stands for, and a clear line for everything that is not a program."""

from pathlib import Path

import pytest

from hipscope.analysis.benches.project import resolve_benched
from hipscope.analysis.build_files.source_files import has_main
from hipscope.analysis.errors import UsageError
from hipscope.analysis.toolchain.project import file_settings, resolve_config, resolve_project

MAIN = "int main() { return 0; }\n"


def said(target: Path) -> str:
    with pytest.raises(UsageError) as caught:
        resolve_project(target)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".hip", ".cu", ".cpp"])
def test_a_single_file_with_main_needs_no_configuration(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"a{suffix}"
    source.write_text(MAIN)
    project = resolve_project(source, ["--size", "3"])
    assert (project.build_kind, project.main_source, project.root) == ("single", source, tmp_path)
    assert project.program_args == ("--size", "3")


def test_a_directory_stands_for_its_only_program(tmp_path: Path) -> None:
    (tmp_path / "main.hip").write_text(MAIN)
    (tmp_path / "kernels.hip").write_text("__global__ void k() {}\n")
    assert resolve_project(tmp_path).main_source == tmp_path / "main.hip"


def test_a_build_command_makes_a_command_project_also_for_a_file_below(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text('build = "make"\nrun = "./app"\nsource_dirs = ["src"]\n')
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.hip").write_text("__global__ void k() {}\n")
    for target in (tmp_path, tmp_path / "src" / "k.hip"):
        project = resolve_project(target)
        assert (project.build_kind, project.root) == ("command", tmp_path)
        assert project.sources == (tmp_path / "src" / "k.hip",)


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `victim.hip` and the project projA, which is the current directory, and with links into it."""
    for name in ("victim.hip", "projA/main.hip", "projA/src/k.hip"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MAIN)
    (tmp_path / "projA" / "hipscope.toml").write_text('build = "make"\nrun = "./app"\n')
    (tmp_path / "projA" / "out").symlink_to("..")
    (tmp_path / "work").symlink_to("projA")
    (tmp_path / "k.hip").symlink_to("projA/src/k.hip")
    monkeypatch.chdir(tmp_path / "projA")
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        "../victim.hip",
        "src/../../victim.hip",
        "../projA/../victim.hip",
        "out/victim.hip",
        "../work/../victim.hip",
    ],
)
def test_apply_to_victim_hip_beside_a_project_is_not_about_its_main_hip(beside: Path, given: str) -> None:
    for project in (resolve_project(Path(given)), resolve_benched(Path(given))):
        assert (project.build_kind, project.home) == ("single", None)
        assert project.main_source is not None
        assert project.main_source.samefile(beside / "victim.hip")
        assert ".." not in project.main_source.parts
    assert resolve_config(Path(given)).build is None
    assert file_settings(Path(given)).build is None


@pytest.mark.parametrize(
    "given", ["src/k.hip", "../projA/src/k.hip", "../k.hip", "src/../main.hip", ".", "src/.."]
)
def test_a_source_of_the_project_belongs_to_it_by_any_name(beside: Path, given: str) -> None:
    project = resolve_project(Path(given))
    assert (project.build_kind, project.directory) == ("command", beside / "projA")
    assert project.main_source is None or project.main_source.is_relative_to(beside / "projA")


def test_a_project_behind_a_link_keeps_the_name_that_it_was_given(beside: Path) -> None:
    project = resolve_project(beside / "work" / "src" / "k.hip")
    assert (project.directory, project.main_source) == (beside / "work", beside / "work" / "src" / "k.hip")


def test_a_project_behind_a_link_finds_the_folders_beside_it(beside: Path) -> None:
    home = beside / "deep" / "projB"
    (home.parent / "common").mkdir(parents=True)
    home.mkdir()
    (home.parent / "common" / "c.hip").write_text(MAIN)
    (home / "hipscope.toml").write_text('build = "make"\nrun = "./app"\nsource_dirs = [".", "../common"]\n')
    (beside / "linked").symlink_to(home)
    project = resolve_project(beside / "linked")
    assert (project.root, project.directory) == (home.parent, home)
    assert project.sources == (home.parent / "common" / "c.hip",)


def test_a_config_above_the_repository_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text('arch = "gfx90a"\n')
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "a.hip").write_text(MAIN)
    assert resolve_project(tmp_path / "repository" / "a.hip").config.arch == "gfx942"


def test_folders_of_headers_are_looked_for_from_the_config_above_the_source(tmp_path: Path) -> None:
    flags = ["-Iinclude", "-I", "other", "-isystem", "nowhere", "-O2", "-Ibeside"]
    (tmp_path / "hipscope.toml").write_text(f"flags = {flags}\n")
    for folder in ("include", "other", "src/beside", "beside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "main.hip").write_text(MAIN)
    project = resolve_project(tmp_path / "src" / "main.hip")
    expected = [f"-I{tmp_path}/include", "-I", f"{tmp_path}/other", "-isystem", "nowhere", "-O2", "-Ibeside"]
    assert project.config.flags == expected
    again = resolve_project(tmp_path / "src" / "main.hip", config=project.config)
    assert again.config.flags == expected


def test_a_config_without_a_build_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text("args = []\n")
    assert f"no `build` in {tmp_path / 'hipscope.toml'}" in said(tmp_path)


def test_arguments_come_from_the_config_when_none_are_given(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text('args = ["7"]\n')
    (tmp_path / "a.hip").write_text(MAIN)
    assert resolve_project(tmp_path / "a.hip").program_args == ("7",)
    assert resolve_project(tmp_path / "a.hip", ["8"]).program_args == ("8",)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert said(tmp_path / "none.hip") == f"{tmp_path}/none.hip: no such file or directory"


def test_no_main_says_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text("// int main() {\n__global__ void k() { }\n")
    line = said(tmp_path / "k.hip")
    assert "k.hip: no `main` function" in line
    assert "hipscope.toml" in line


@pytest.mark.parametrize("content", [b"", b"  \n\n"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e.hip").write_bytes(content)
    assert said(tmp_path / "e.hip").endswith("e.hip: the file is empty")


def test_a_binary_file_is_not_a_source(tmp_path: Path) -> None:
    (tmp_path / "b.hip").write_bytes(b"\x7fELF\0\0\0")
    assert "not a source file" in said(tmp_path / "b.hip")


def test_a_directory_without_programs_says_so(tmp_path: Path) -> None:
    assert "no source file" in said(tmp_path)
    (tmp_path / "k.hip").write_text("void f();\n")
    assert "no source file here has a `main`" in said(tmp_path)


def test_a_directory_with_several_programs_asks_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.hip").write_text(MAIN)
    (tmp_path / "b.hip").write_text(MAIN)
    assert "2 programs (a.hip, b.hip)" in said(tmp_path)


def test_a_source_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text('build = "make"\nrun = "./app"\nsource_dirs = ["sorce"]\n')
    assert f"source_dirs: {tmp_path}/sorce is neither a directory nor a file" in said(tmp_path)


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("int main() {}", True),
        ("auto main(int argc, char** argv) -> int { }", True),
        ("int\nmain ( void )\n{}", True),
        ("// int main() {}", False),
        ("/* int main() {} */", False),
        ('const char* s = "int main() {}";', False),
        ('const char* s = R"(int main() {})";', False),
        ("int domain() {}", False),
        ("int main_loop() {}", False),
    ],
)
def test_main_is_found_in_code_only(text: str, defines: bool) -> None:
    assert has_main(text) is defines


def test_latin_1_comments_are_the_compilers_affair(tmp_path: Path) -> None:
    (tmp_path / "a.hip").write_bytes(b"// caf\xe9\n" + MAIN.encode())
    assert resolve_project(tmp_path / "a.hip").main_source == tmp_path / "a.hip"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a\\b.hip", MAIN.encode(), "compilers read the `\\` in its name as `/`"),
        ("\udce4.hip", MAIN.encode(), "its name is not UTF-8"),
        ("a.hip", MAIN.encode("utf-16"), "the file is UTF-16"),
    ],
)
def test_a_name_or_text_that_no_compiler_reads_is_one_line(
    tmp_path: Path, name: str, text: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(text)
    assert words in said(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "what", "advice"),
    [
        ("x.py", b"def main(): pass\nmain()\n", "is Python", "hipscope show DIR"),
        ("x.ipynb", b"{}", "is a notebook", "hipscope show DIR"),
        ("x.jl", b"main()", "is Julia", "hipscope emulate"),
        ("app", b"\x7fELF\x02\x01\0", "is compiled", "hipscope emulator --coverage app"),
        ("run", b"#!/bin/sh\nmain() { :; }\n", "is a script", "hipscope emulate"),
        ("Makefile", b"all:\n", "says how something is built", "name its directory"),
        ("trace.csv", b"a,b\n", "is no source", "hipscope show trace.csv"),
        ("notes", b"read me", "is no HIP source", ".hip"),
    ],
)
def test_profile_x_py_says_what_can_be_done_instead(
    tmp_path: Path, name: str, text: bytes, what: str, advice: str
) -> None:
    (tmp_path / name).write_bytes(text)
    for settings in ("", 'build = "make"\nrun = "./app"\n'):  # nor is it a name for the project around it
        (tmp_path / "hipscope.toml").write_text(settings)
        line = said(tmp_path / name)
        assert line.startswith(f"{tmp_path / name}: {what}")
        assert advice in line


@pytest.mark.parametrize("name", ["a.c", "a.C", "a.hip.in", "program"])
def test_a_source_may_have_another_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(f"#include <hip/hip_runtime.h>\n{MAIN}")
    assert resolve_project(tmp_path / name).main_source == tmp_path / name


def test_a_run_line_of_the_source_names_its_arguments_below_the_command_line_and_above_the_toml(
    tmp_path: Path,
) -> None:
    source = tmp_path / "a.hip"
    (tmp_path / "hipscope.toml").write_text('args = ["7"]\n')
    source.write_text(f"// hipscope: run --size 'a b'\n{MAIN}")
    assert resolve_project(source).program_args == ("--size", "a b")
    assert resolve_project(source, ["3"]).program_args == ("3",)
    source.write_text(f"/* hipscope: run */ {MAIN}")
    assert resolve_project(source).program_args == ()
    source.write_text(f'const char* s = "// hipscope: run 5"; // hipscope: runs 6\n{MAIN}')
    assert resolve_project(source).program_args == ("7",)
    source.write_text(f"\n// hipscope: run 'a\n{MAIN}")
    assert said(source) == f"{source}:2: `hipscope: run`: a quote has no end (close the quote)"
