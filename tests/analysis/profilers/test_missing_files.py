"""A program that ends without a kernel because a file is not there: the file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.errors import ProgramFailed
from hipscope.analysis.profilers.missing_files import missing_commands, missing_files
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void k(float* p) { p[threadIdx.x] = 1; }
int main() {
  if (!fopen("../data/matrix.mtx", "r")) return 1;
  k<<<1, 64>>>(nullptr);
}
"""


def test_only_names_of_files_that_are_not_there_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.bin").touch()
    text = b"""#include "gone.h"
// read("remark.txt")
const char* a = "in/there.csv"; const char* b = "there.bin"; const char* c = "%s is done.\\n"; const char* d = "1.5";
const char* e = "v1.2"; const char* f = "A sentence."; const char* g = "r"; const char* h = "in/there.csv";
"""
    argv = ["./main", "100", "1.5", "-f", "../x/image.png", "--in=there.bin", "--data=hash.txt"]
    assert missing_files(argv, tmp_path, [text]) == ("../x/image.png", "hash.txt")
    assert missing_files(["./main"], tmp_path, [text]) == ("in/there.csv",)


def test_what_the_program_printed_is_nearer_than_what_its_sources_name(tmp_path: Path) -> None:
    text = b'const char* a = "meta_build.h"; const char* b = "log.txt";'
    said = "terminate called\n  what():  Bad file: ../data/bm1/ligand.in\nread (there.bin), took 1.5 s.\n"
    (tmp_path / "there.bin").touch()
    assert missing_files(["./main"], tmp_path, [text], said) == ("../data/bm1/ligand.in",)
    assert missing_files(["./main"], tmp_path, [text], "done.") == ("log.txt",)


def test_a_command_that_the_programs_shell_did_not_find_is_named() -> None:
    said = "sh: 1: gm: not found\n/bin/sh: line 1: convert: command not found\nfile: a.png: not found\n"
    assert missing_commands(said) == ("gm", "convert")


def test_a_program_that_lacks_its_input_is_told_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "p.hip"
    file.write_text(PROGRAM)
    with pytest.raises(ProgramFailed, match="exit code 1") as failure:
        profile_project(resolve_project(file), options=ProfileOptions(backend="emulator"))
    assert failure.value.hint == "it names what is not there: ../data/matrix.mtx"
