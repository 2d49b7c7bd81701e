"""A program that ends without a kernel because a file is not there: the file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.errors import ProgramFailed
from hipscope.analysis.profilers.missing_files import (
    ASKS_FOR_ARGUMENTS,
    Lacking,
    files_of_sources,
    missing_commands,
    missing_files,
    what_is_missing,
)
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
    assert missing_files(argv, tmp_path) == ("../x/image.png", "hash.txt")
    assert files_of_sources(tmp_path, [text]) == ("in/there.csv",)


def test_what_the_program_printed_is_nearer_than_what_its_sources_name(tmp_path: Path) -> None:
    text = b'const char* a = "meta_build.h"; const char* b = "log.txt";'
    said = "terminate called\n  what():  Bad file: ../data/bm1/ligand.in\nread (there.bin), took 1.5 s.\n"
    (tmp_path / "there.bin").touch()
    named = "it names what is not there: ../data/bm1/ligand.in"
    assert what_is_missing(["./main"], tmp_path, [text], said) == Lacking(
        named, (tmp_path / "../data/bm1/ligand.in",)
    )
    sources = "its sources name files that are not there: log.txt"
    assert what_is_missing(["./main"], tmp_path, [text], "done.") == Lacking(sources, (tmp_path / "log.txt",))


def test_the_number_of_a_copy_belongs_to_the_name(tmp_path: Path) -> None:
    (tmp_path / "a(1).wav").touch()
    assert missing_files(
        ["./main"], tmp_path, "cannot open ../not(1).wav (2).\nread(1).\nfound a(1).wav"
    ) == ("../not(1).wav",)
    assert files_of_sources(tmp_path, [b'open("in/b(2).wav")']) == ("in/b(2).wav",)


def test_the_words_of_a_shell_command_are_looked_at_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    for name in ("build/there.bin", "build/main", "main"):
        (tmp_path / name).touch()
    run = "cd build && ./main -grid ../data/asia.grd -source 'my faults.flt' there.bin"
    assert missing_files(("/bin/sh", "-c", run), tmp_path) == ("../data/asia.grd",)
    assert missing_files(("/bin/sh", "-c", "./main 'a.bin"), tmp_path) == ()


def test_a_path_needs_no_extension(tmp_path: Path) -> None:
    (tmp_path / "main").touch()
    run = ("/bin/sh", "-c", "./main 512 8 5000 data/power_512x8 1/2 out")
    assert missing_files(run, tmp_path) == ("data/power_512x8",)
    assert missing_files(["./main"], tmp_path, "no such file (../kdd_cup), 5 km/h") == ("../kdd_cup",)


def test_a_file_that_the_program_names_itself_comes_first(tmp_path: Path) -> None:
    argv = ["./main", "out.png", "in.png"]
    assert missing_files(argv, tmp_path, "cannot open in.png, see manual.txt") == ("in.png",)


def test_files_that_are_written_and_programs_that_speak_of_arguments(tmp_path: Path) -> None:
    text = b"""FILE* a = fopen("poi.lst", "wt"); std::ofstream log("log.txt"); FILE* b = fopen("in.dat", "rb");"""
    assert files_of_sources(tmp_path, [text]) == ("in.dat",)
    said = 'use the event-based method with "-m event" argument.'
    clause = what_is_missing(["./main"], tmp_path, [text], said)
    assert clause is not None
    assert clause == Lacking(ASKS_FOR_ARGUMENTS)


def test_a_command_that_the_programs_shell_did_not_find_is_named() -> None:
    said = "sh: 1: gm: not found\n/bin/sh: line 1: convert: command not found\nfile: a.png: not found\n"
    assert missing_commands(said) == ("gm", "convert")


def test_a_program_that_lacks_its_input_is_told_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "p.hip"
    file.write_text(PROGRAM)
    with pytest.raises(ProgramFailed, match="exit code 1") as failure:
        profile_project(resolve_project(file), options=ProfileOptions(backend="emulator"))
    assert failure.value.hint == "its sources name files that are not there: ../data/matrix.mtx"
    assert failure.value.lacks_files
    assert failure.value.absent == (tmp_path / "../data/matrix.mtx",)


def test_plain_words_of_a_command_that_are_no_files_are_named_with_what_fetches_them(tmp_path: Path) -> None:
    (tmp_path / "main").touch()
    (tmp_path / "data.tar.gz.dvc").touch()
    (tmp_path / "there").touch()
    said = what_is_missing(
        ["/bin/sh", "-c", "./main 500 data there result"],
        tmp_path,
        [],
        "usage: ./app.exe clusters infile outfile",
    )
    assert said is not None
    assert said.clause == (
        "of its arguments no file is called data, result; data.tar.gz.dvc stands for it: `dvc pull` fetches it"
    )
    asks = what_is_missing(["./main"], tmp_path, [], "Usage: ./app.exe <path>")
    assert asks == Lacking(ASKS_FOR_ARGUMENTS)


def test_an_abbreviation_is_no_file(tmp_path: Path) -> None:
    said = "e.g. app test/scores.blob 3, i.e., what e.g.txt has\n"
    assert missing_files(["./app"], tmp_path, said) == ("test/scores.blob", "e.g.txt")


def test_addresses_of_people_and_pages_are_no_files(tmp_path: Path) -> None:
    printed = "by Q. Fang <q.fang at neu.edu>, me@home.org\nhttps://here.io/mcx, Here.io\nopen data.inp\n"
    assert missing_files(("./app",), tmp_path, printed) == ("data.inp",)
