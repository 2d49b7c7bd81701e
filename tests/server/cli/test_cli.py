"""The command line as a user meets it: a real process, real programs, every kind of bad input."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.command_line import Cli
from tests.server.schemas import problems

HOST = """\
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
static void launch() {
  int* p;
  hipMalloc(&p, 256);
  fill<<<1, 64>>>(p);
  hipDeviceSynchronize();
}
"""
GOOD = HOST + 'int main() { launch(); std::puts("PASS"); return 0; }\n'


def test_a_syntax_error_is_shown_in_the_compilers_words_with_its_line(cli: Cli) -> None:
    source = cli.write(HOST.replace("= threadIdx.x;", "= threadIdx.x") + "int main() { launch(); }\n")
    outcome = cli("profile", source)
    assert outcome.code == 4
    assert "program.hip:4" in outcome.line
    assert "expected ';'" in outcome.line
    assert "expected ';'" in outcome.stderr.split("hipscope: ")[0]
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HOST, "no `main`"),
        ("", "empty"),
        ("  \n\t\n", "empty"),
        (b"\xff\xfei\0n\0t\0 \0m\0", "UTF-16"),
        (b"\x7fELF\x00\x01\x02", "not a source file"),
    ],
)
def test_a_file_that_cannot_be_a_program_is_bad_input(cli: Cli, text: str | bytes, words: str) -> None:
    outcome = cli("profile", cli.write(text))
    assert outcome.code == 2
    assert words in outcome.line


@pytest.mark.parametrize(
    "words",
    [
        ("profile", "none.hip"),
        ("check", "none.hip"),
        ("optimize", "none.hip"),
        ("prompt", "none.hip"),
        ("validate", "--kernel", "k", "none.hip", "other.hip"),
        ("emulator", "--coverage", "none.hip"),
        ("show", "none.hip"),
    ],
)
def test_one_source_that_fails_is_an_object_of_json_as_one_of_two_is(
    cli: Cli, words: tuple[str, ...]
) -> None:
    outcome = cli(*words, "--format", "json")
    found = json.loads(outcome.stdout)
    assert not problems(found)
    assert (found["schema"], found["source"], found["exit_code"]) == ("hipscope.failure/1", "none.hip", 2)
    assert found["error"]["message"] in outcome.line


def test_a_file_that_is_not_there_is_bad_input(cli: Cli) -> None:
    outcome = cli("profile", "nothing.hip")
    assert outcome.code == 2
    assert "nothing.hip" in outcome.line


def test_a_missing_compiler_is_named_with_the_way_to_get_it(cli: Cli, tmp_path: Path) -> None:
    cli.write('[toolchain]\nclang = "/nowhere/clang++"\n', "hipscope.toml")
    outcome = cli("profile", cli.write(GOOD))
    assert outcome.code == 3
    assert "/nowhere/clang++" in outcome.line


def test_an_unknown_architecture_is_bad_input(cli: Cli) -> None:
    cli.write('arch = "gfx000"\n', "hipscope.toml")
    outcome = cli("profile", cli.write(GOOD))
    assert outcome.code in (2, 4)
    assert "gfx000" in outcome.line


def test_an_unknown_device_is_bad_input_and_the_known_ones_are_named(cli: Cli) -> None:
    outcome = cli("profile", "--device", "voodoo2", cli.write(GOOD))
    assert outcome.code == 2
    assert "voodoo2" in outcome.line
    assert "mi300x" in outcome.stderr


def test_an_unknown_setting_is_bad_input_with_a_suggestion(cli: Cli) -> None:
    cli.write("timeout = 3\n", "hipscope.toml")
    outcome = cli("profile", cli.write(GOOD))
    assert outcome.code == 2
    assert "timeout_s" in outcome.stderr


def test_an_unknown_option_is_a_usage_error(cli: Cli) -> None:
    outcome = cli("profile", "--colour", "red", "x.hip")
    assert outcome.code == 2
    assert "--colour" in outcome.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('std::puts("so far"); std::fflush(stdout); std::abort();', "SIGABRT"),
        ('std::puts("so far"); launch(); return 7;', "7"),
        ('std::puts("so far"); std::fflush(stdout); volatile int* p = nullptr; *p = 1;', "SIGSEGV"),
    ],
)
def test_a_program_that_fails_is_told_with_what_it_printed(cli: Cli, body: str, words: str) -> None:
    outcome = cli("profile", cli.write(HOST + f"int main() {{ {body} }}\n"))
    assert outcome.code == 4
    assert words in outcome.line
    assert "so far" in outcome.stderr


def test_a_program_that_hangs_is_stopped_after_the_set_time(cli: Cli) -> None:
    cli.write("timeout_s = 2\n", "hipscope.toml")
    begun = time.monotonic()
    outcome = cli(
        "profile", cli.write(HOST + "int main() { launch(); for (volatile int i = 0;; i = 0) {} }\n")
    )
    assert outcome.code == 4
    assert "2 s" in outcome.line
    assert time.monotonic() - begun < 60


def test_a_kernel_that_never_ends_is_stopped_too(cli: Cli) -> None:
    cli.write("timeout_s = 3\n", "hipscope.toml")
    endless = HOST.replace("p[threadIdx.x] = threadIdx.x;", "while (atomicAdd(p, 0) == 0) {}")
    outcome = cli("profile", cli.write(endless + "int main() { launch(); }\n"))
    assert outcome.code == 4
    assert "program.hip:4: kernel fill: runaway kernel" in outcome.line
    assert "at the end of the program's time" in outcome.line


@pytest.mark.parametrize(
    ("header", "advice"),
    [("cuda_runtime.h", "convert it to HIP first"), ("mesh/cells.h", "or `flags = [")],
)
def test_a_header_that_is_not_found_comes_with_what_to_do(cli: Cli, header: str, advice: str) -> None:
    outcome = cli("profile", cli.write(f"#include <{header}>\nint main() {{}}\n"))
    assert outcome.code == 4
    assert f"program.hip:1:10: error: '{header}' file not found" in outcome.stderr
    assert advice in outcome.stderr


@pytest.mark.slow
def test_many_launches_that_take_too_long_together_are_not_a_runaway_kernel(cli: Cli) -> None:
    cli.write("timeout_s = 4\n", "hipscope.toml")
    busy = HOST.replace("p[threadIdx.x] = threadIdx.x;", "for (int i = 0; i < 20000; ++i) atomicAdd(p, i);")
    outcome = cli(
        "profile", cli.write(busy + "int main() { while (hipGetLastError() == hipSuccess) launch(); }\n")
    )
    assert outcome.code == 4
    assert "program.hip:4: kernel fill: not finished within " in outcome.line
    assert "raise the limit (timeout_s, --timeout of emulate) or shrink the work" in outcome.line


@pytest.mark.slow
def test_one_launch_that_takes_too_long_has_a_profile_of_what_ran(cli: Cli) -> None:
    cli.write("timeout_s = 6\n", "hipscope.toml")
    long = HOST.replace("p[threadIdx.x] = threadIdx.x;", "for (int i = 0; i < 20; ++i) atomicAdd(p, i);")
    long = long.replace("<<<1, 64>>>", "<<<20000000, 64>>>")
    outcome = cli("profile", "--format", "json", cli.write(long + "int main() { launch(); }\n"))
    assert outcome.code == 4
    assert "program.hip:4: kernel fill: not finished within " in outcome.line
    report = json.loads(outcome.stdout)
    (kernel,) = report["kernels"]
    assert " of 20000000 workgroups; its time and counts are extrapolated" in kernel["partial"]
    assert "was stopped at the program's time limit after " in report["partial"]
    assert [f["formula"] for f in report["findings"]] == ["atomicContention"]


def test_a_program_that_prints_garbage_is_profiled_and_the_json_stays_valid(cli: Cli) -> None:
    noise = r'std::fwrite("\xff\xfe\x00\x1b[31m\n", 1, 9, stdout);'
    outcome = cli("profile", "--format", "json", cli.write(HOST + f"int main() {{ launch(); {noise} }}\n"))
    assert outcome.code == 0, outcome.stderr
    report = json.loads(outcome.stdout)
    assert report["program"]["exit_code"] == 0
    assert report["program"]["output"] == "\ufffd\ufffd\0\n"  # without the colour


def test_a_program_that_launches_no_kernel_is_told_so(cli: Cli) -> None:
    outcome = cli("profile", cli.write('#include <cstdio>\nint main() { std::puts("hi"); }\n'))
    assert outcome.code == 4
    assert "no kernel" in outcome.line


def test_an_instruction_that_the_emulator_does_not_know_is_named_with_its_line(cli: Cli) -> None:
    odd = HOST.replace(
        "p[threadIdx.x] = threadIdx.x;", '\n  asm volatile("ds_append v0" ::: "v0");\n  p[threadIdx.x] = 1;'
    )
    outcome = cli("profile", cli.write(odd + "int main() { launch(); return hipGetLastError(); }\n"))
    assert outcome.code == 4
    assert "ds_append" in outcome.stdout
    assert "program.hip:5" in outcome.stderr


def test_a_profile_as_json_has_the_promised_fields_and_nothing_else_is_printed(cli: Cli) -> None:
    outcome = cli("profile", "--format", "json", cli.write(GOOD))
    assert outcome.code == 0, outcome.stderr
    assert outcome.stderr == ""
    report = json.loads(outcome.stdout)
    assert report["schema"] == "hipscope.profile/2"
    assert problems(report) == []
    assert {"device", "provenance", "kernels", "findings", "program", "partial"} <= set(report)
    kernel = report["kernels"][0]
    expected = {"name", "mangled", "file", "line", "time_ns", "share", "dispatches", "bound", "roofline"}
    assert expected | {"occupancy", "resources", "counters", "lines"} <= set(kernel)
    assert (kernel["name"], kernel["line"]) == ("fill(int*)", 4)
    assert {"file", "line", "hits", "latency", "stall", "stalls", "memory"} <= set(kernel["lines"][0])
    assert report["provenance"] == "modelled"
    assert kernel["time_ns_low"] < kernel["time_ns"] < kernel["time_ns_high"]
    assert report["program"]["output"] == "PASS\n"


def test_a_profile_as_text_names_kernel_device_and_provenance(cli: Cli) -> None:
    outcome = cli("profile", cli.write(GOOD))
    assert outcome.code == 0, outcome.stderr
    for part in ("fill", "modelled", "mi300x", "No formula has a finding"):
        assert part in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_the_result_goes_to_the_named_file_and_a_bad_place_is_one_line(cli: Cli) -> None:
    source = cli.write(GOOD)
    assert cli("profile", "--format", "json", "-o", "out.json", source).stdout == ""
    assert json.loads((cli.folder / "out.json").read_text())["schema"] == "hipscope.profile/2"
    outcome = cli("profile", "-o", "no/such/folder/out.txt", source)
    assert outcome.code == 2
    assert "no/such/folder" in outcome.line


def test_what_follows_two_dashes_is_given_to_the_program(cli: Cli) -> None:
    text = HOST + 'int main(int n, char** v) { launch(); std::printf("%s\\n", v[n - 1]); }\n'
    outcome = cli("profile", "--format", "json", cli.write(text), "--", "--size", "12")
    assert outcome.code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["program"]["output"] == "12\n"


@pytest.mark.slow
def test_no_command_hands_the_models_key_to_what_it_builds_or_runs(cli: Cli) -> None:
    names = ["MY_KEY", "OPENAI_API_KEY"]
    seen = cli.folder / "seen.txt"
    looks = "".join(f'std::fprintf(f, "{n} %d\\n", std::getenv("{n}") != nullptr); ' for n in names)
    source = cli.write(
        HOST + f'int main() {{ launch(); FILE* f = std::fopen("{seen}", "w"); {looks}std::fclose(f); }}\n'
    )
    optimize = ("optimize", "--rewriter", "recipes")
    named = 'key_env = "MY_KEY"'
    for command, model in (
        (("profile",), named), (("profile",), ""), (("check",), named), (("prompt",), named), (optimize, named),
    ):  # fmt: skip
        seen.unlink(missing_ok=True)
        (cli.folder / "hipscope.toml").write_text(f'[llm]\nmodel = "openai/m"\n{model}\n')
        cli(*command, source, MY_KEY="sk-1", OPENAI_API_KEY="sk-2")
        # What looks like a key is kept back too when it is not the model's.
        kept = [] if model else ["MY_KEY"]
        assert seen.read_text() == "".join(f"{n} {int(n in kept)}\n" for n in names), command


@pytest.mark.parametrize(
    ("command", "number"),
    [("profile", signal.SIGINT), ("profile", signal.SIGTERM), ("optimize", signal.SIGINT)],
)
def test_stopping_it_is_clean(cli: Cli, command: str, number: signal.Signals) -> None:
    source = cli.write(HOST + "int main() { launch(); for (volatile int i = 0;; i = 0) {} }\n")
    process = cli.start(command, source)
    wait_for(lambda: any(argv(pid).endswith("/program") for pid in cli.running()))
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert stderr == "hipscope: stopped\n"
    cli.assert_nothing_left()


def test_a_time_limit_that_is_over_before_there_is_a_profile_is_one_line(cli: Cli) -> None:
    source = cli.write(HOST + "int main() { launch(); for (volatile int i = 0;; i = 0) {} }\n")
    outcome = cli("optimize", "--time-limit", "1", source)
    assert outcome.code == 2
    assert "ended by its limit of 1 s before the program was profiled" in outcome.stderr
    cli.assert_nothing_left()


def test_killing_it_leaves_no_program_running(cli: Cli) -> None:
    source = cli.write(HOST + "int main() { launch(); for (volatile int i = 0;; i = 0) {} }\n")
    process = cli.start("profile", source)
    wait_for(lambda: any(argv(pid).endswith("/program") for pid in cli.running()))
    process.kill()
    process.communicate(timeout=20)
    wait_for(lambda: cli.running() == [])


def test_a_port_that_is_taken_is_one_line(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = cli("lsp", "--tcp", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 2
    assert "cannot listen" in outcome.line


def test_doctor_lists_the_compiler_and_version_prints_one_line(cli: Cli) -> None:
    assert "compiler" in cli("doctor").stdout
    for words in ("version", "--version"):
        outcome = cli(words)
        assert (outcome.code, outcome.stdout.split()[0]) == (0, "hipscope")


def test_doctor_without_an_emulator_is_a_missing_tool_also_as_json(cli: Cli) -> None:
    outcome = cli("doctor", "--format", "json", HIPSCOPE_NATIVE_DIR=str(cli.folder))
    assert outcome.code == 3
    found = json.loads(outcome.stdout)
    assert found["schema"] == "hipscope.doctor/1"
    assert not found["works"]
    assert {t["status"] for t in found["tools"] if t["name"] in ("emulator", "replay")} == {"missing"}


def test_a_reader_that_leaves_early_is_no_verdict(cli: Cli) -> None:
    """1 would mean that no improvement was found, or a defect."""
    process = cli.start("doctor")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    assert (process.wait(timeout=60), said) == (128 + signal.SIGPIPE, "")


def test_the_worker_answers_a_failure_as_one_message_with_its_diagnostics(cli: Cli) -> None:
    source = cli.folder / cli.write(HOST.replace("= threadIdx.x;", "= threadIdx.x") + "int main() {}\n")
    *_, last = work(cli, {"kind": "profile", "target": str(source)})
    assert (last["type"], last["exit_code"]) == ("error", 4)
    place = last["diagnostics"][0]
    assert (place["file"], place["line"], place["severity"]) == (os.path.realpath(source), 4, "error")


def test_the_worker_profiles_text_that_is_not_on_disk(cli: Cli) -> None:
    source = cli.folder / cli.write(GOOD)
    unsaved = GOOD.replace("PASS", "OTHER")
    *_, last = work(cli, {"kind": "profile", "target": str(source), "overlays": {str(source): unsaved}})
    assert last["type"] == "result", last
    assert last["report"]["program"]["output"] == "OTHER\n"
    assert source.read_text() == GOOD


def work(cli: Cli, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one request in a worker; its messages."""
    done = subprocess.run(
        [sys.executable, "-m", "hipscope.server.jobs.worker"],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        env=cli.environment,
        timeout=180,
        check=False,
    )
    cli.assert_nothing_left()
    return [json.loads(x) for x in done.stdout.splitlines()]


def argv(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


SLOW = (Path(__file__).parents[3] / "examples" / "lds_column_read.hip").read_text()
SLOW = SLOW.replace("width = 1530, height = 1070", "width = 250, height = 130")


@pytest.mark.slow
def test_an_optimization_shows_finding_change_proof_and_speed_and_writes_only_when_told(cli: Cli) -> None:
    source = cli.write(SLOW)
    outcome = cli("optimize", "--formula", "bankConflict", source)
    assert outcome.code == 0, outcome.stderr
    stake = "is at stake: without that the kernel is about "
    for part in (
        "bankConflict  program.hip:31",
        stake,
        "+  __shared__",
        "Equivalent bit for bit on 1",
        "modelled",
        "as fast",
        "--apply",
    ):
        assert part in outcome.stdout
    assert (cli.folder / source).read_text() == SLOW

    outcome = cli("optimize", "--formula", "bankConflict", "--apply", "--format", "json", source)
    assert outcome.code == 0, outcome.stderr
    report = json.loads(outcome.stdout)
    assert (report["schema"], report["status"]) == ("hipscope.optimize/1", "verified")
    assert problems(report) == []
    assert {"formula", "kernel", "diff", "speedup", "before", "after", "verdict", "attempts"} <= set(report)
    assert report["verdict"]["outcome"] == "equivalent"
    assert report["speedup"] > 1.03
    edited = (cli.folder / source).read_text()
    assert edited != SLOW

    outcome = cli("optimize", "--formula", "bankConflict")  # the only program of the current directory
    assert outcome.code == 0  # no finding is left
    assert "bankConflict" not in outcome.stdout
    assert "The file stays as it is." in outcome.stdout
    assert (cli.folder / source).read_text() == edited


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [("--formula", "bankconflict", "bankConflict"), ("--kernel", "nope", "smooth_transpose")],
)
def test_an_unknown_formula_or_kernel_is_bad_input_and_the_known_ones_are_named(
    cli: Cli, option: str, value: str, words: str
) -> None:
    outcome = cli("optimize", option, value, cli.write(SLOW))
    assert outcome.code == 2
    assert value in outcome.line
    assert words in outcome.stderr


def test_a_fault_leaves_nothing_to_optimize_and_is_named_with_its_line(cli: Cli) -> None:
    wild = HOST.replace("p[threadIdx.x] = threadIdx.x;", "p[threadIdx.x + (1 << 24)] = 1;")
    source = cli.write(wild + "int main() { launch(); return 0; }\n")
    for command in ("profile", "optimize"):
        outcome = cli(command, source)
        assert outcome.code == 4
        assert "program.hip:4" in outcome.line
        assert "fill" in outcome.line


@pytest.mark.parametrize(
    "arguments",
    [
        ("profile", ""),
        ("optimize", "--apply", ""),
        ("check", " "),
        ("validate", "--kernel", "k", "program.hip", ""),
        ("restore", ""),
        ("doctor", ""),
    ],
)
def test_an_empty_name_is_not_the_working_directory(cli: Cli, arguments: tuple[str, ...]) -> None:
    cli.write(GOOD)
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "the name is empty" in outcome.stderr
    assert outcome.stdout == ""


def test_an_empty_program_is_no_program_to_emulate(cli: Cli) -> None:
    outcome = cli("emulate", "--", "")
    assert outcome.code == 2
    assert outcome.line == "hipscope: no program"
