"""Arguments of the command line in place of those in `run`."""

import subprocess

import pytest

from hipscope.analysis.toolchain.run_command import arguments_in, with_arguments


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("./app one", "./app 7 'a b'"),
        ("app", "app 7 'a b'"),
        ("cd sub && ./app 'x y' \"z w\"", "cd sub && ./app 7 'a b'"),
        ("OMP_NUM_THREADS=2 ./app 1 2", "OMP_NUM_THREADS=2 ./app 7 'a b'"),
        ("timeout 9 ./app 1", "timeout 9 ./app 7 'a b'"),
        ("./app 1 > out.txt 2>&1", "./app 7 'a b' > out.txt 2>&1"),
        ("./app 1 < in.txt | tail -1", "./app 7 'a b' < in.txt | tail -1"),
        ("make data; build/app data/in 5", "make data; build/app 7 'a b'"),
        ("'my dir/app' 3", "'my dir/app' 7 'a b'"),
    ],
)
def test_only_the_programs_arguments_are_replaced(run: str, expected: str) -> None:
    assert with_arguments(run, ["7", "a b"]) == expected


def test_the_shell_agrees() -> None:
    command = with_arguments("printf '%s;' old words", ["%s|", "it's", "$HOME"])
    assert (
        subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout
        == "it's|$HOME|"
    )


@pytest.mark.parametrize(
    "run", ["./app 7 'a b'", "cd sub && timeout 9 ./app 7 'a b' > out.txt", "app 7 'a b' | tail -1"]
)
def test_the_programs_arguments_are_found_again(run: str) -> None:
    assert arguments_in(run) == ("7", "a b")
