"""What the build files beside a program say reaches the editor with the program's arguments."""

import tomllib
from dataclasses import replace
from pathlib import Path

from hipscope.analysis.build_files.proposal import BuildProposal
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.try_build import project_of
from hipscope.server.jobs.builds import adopted_settings, proposed_builds

MAKEFILE = """\
main: main.cpp
\thipcc -o $@ $<
run: main
\t./main -s 512
"""


def test_the_run_goal_of_a_makefile_names_arguments_and_the_settings_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    source = tmp_path / "main.cpp"
    source.write_text("#include <hip/hip_runtime.h>\nint main() { return 0; }\n")
    found = proposed_builds(source, None, Run())
    assert [(one.origin, one.build, one.run, one.arguments) for one in found.builds] == [
        ("Makefile", "make", "./main -s 512", ("-s", "512"))
    ]
    assert found.builds[0].settings == '# From Makefile.\nbuild = "make"\nrun = "./main -s 512"\n'


def test_the_settings_of_an_adopted_build_are_those_that_it_was_built_with(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text("int main() { return 0; }\n")
    proposal = BuildProposal("Makefile", "make", "./main", source_dirs=("../common",))
    (tmp_path.parent / "common").mkdir(exist_ok=True)
    project = project_of(tmp_path, proposal, Config(), ["-s", "512"])
    assert adopted_settings(project) is None
    text = adopted_settings(replace(project, build_note="built with `make`")) or ""
    assert tomllib.loads(text) == {
        "build": "make",
        "run": "./main -s 512",
        "source_dirs": [".", "../common"],
    }
