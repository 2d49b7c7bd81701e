"""What the build files beside a program say reaches the editor with the program's arguments."""

from pathlib import Path

from hipscope.analysis.run import Run
from hipscope.server.jobs.builds import proposed_builds

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
    found = proposed_builds(source, Run())
    assert [(one.origin, one.build, one.run, one.arguments) for one in found.builds] == [
        ("Makefile", "make", "./main -s 512", ("-s", "512"))
    ]
    assert found.builds[0].settings == '# From Makefile.\nbuild = "make"\nrun = "./main -s 512"\n'
