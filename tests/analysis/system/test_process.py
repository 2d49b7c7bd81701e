"""Programs that hipscope runs: limits, time-outs, and that nothing of them is left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from hipscope.analysis.errors import Cancelled, HipscopeError, MissingTool
from hipscope.analysis.system.process import Limits, ProcessStreams, run_process


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def alive(pid_file: Path) -> bool:
    """Whether the process whose number a script wrote still runs; waits a moment for it to go."""
    pid = int(pid_file.read_text())
    for _ in range(40):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):  # it may end between the two
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def wait_for(path: Path) -> None:
    for _ in range(200):
        if path.exists() and path.read_text().strip():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


def test_output_and_status_of_a_program_are_returned() -> None:
    done = run_process(shell("echo out; echo err >&2; exit 7"), timeout=10)
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)
    assert not done.timed_out
    assert not done.ok


def test_a_signal_is_a_negative_status() -> None:
    assert run_process(shell("kill -SEGV $$"), timeout=10).returncode == -signal.SIGSEGV


def test_input_reaches_the_program_and_ours_does_not() -> None:
    assert run_process(["cat"], timeout=10, given=ProcessStreams(b"x" * 300_000)).stdout == b"x" * 300_000
    assert run_process(["cat"], timeout=10).stdout == b""


def test_a_program_that_ignores_its_input_is_no_error() -> None:
    assert run_process(["true"], timeout=10, given=ProcessStreams(b"x" * 1_000_000)).ok


def test_arguments_environment_and_directory_arrive_unchanged(tmp_path: Path) -> None:
    done = run_process(
        [
            sys.executable,
            "-c",
            "import os,sys; print(sys.argv[1:], os.environ['A'], os.getcwd())",
            "a b",
            "ü",
            "",
        ],
        timeout=20,
        cwd=tmp_path,
        env={"A": "1 2"},
    )
    assert done.stdout.decode() == f"['a b', 'ü', ''] 1 2 {tmp_path}\n"


def test_a_hanging_program_ends_at_its_time_limit_with_all_its_descendants(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/child; setsid sleep 300 & echo $! > {tmp_path}/daemon; wait"
    done = run_process(shell(script), timeout=1)
    assert done.timed_out
    assert done.returncode == -signal.SIGKILL
    assert done.seconds < 8
    assert not alive(tmp_path / "child")
    assert not alive(tmp_path / "daemon")


def test_a_program_that_closes_its_output_still_has_a_time_limit() -> None:
    assert run_process(shell("exec >&- 2>&-; sleep 300"), timeout=0.5).timed_out


def test_a_daemon_that_a_finished_program_left_is_ended(tmp_path: Path) -> None:
    script = f"(setsid sleep 300 >/dev/null 2>&1 & echo $! > {tmp_path}/daemon); exit 3"
    assert run_process(shell(script), timeout=10).returncode == 3
    assert not alive(tmp_path / "daemon")


def test_cancelling_ends_the_program(tmp_path: Path) -> None:
    cancel = threading.Event()

    def stop() -> None:
        wait_for(tmp_path / "pid")
        cancel.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(Cancelled):
        run_process(shell(f"echo $$ > {tmp_path}/pid; sleep 300"), timeout=60, cancel=cancel)
    stopper.join()
    assert not alive(tmp_path / "pid")


def test_a_job_that_is_cancelled_before_it_starts_runs_nothing(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        run_process(shell(f"touch {tmp_path}/ran"), timeout=10, cancel=cancel)
    assert not (tmp_path / "ran").exists()


def test_the_program_ends_when_hipscope_is_killed(tmp_path: Path) -> None:
    code = textwrap.dedent(f"""
        from hipscope.analysis.system.process import run_process
        run_process(["/bin/sh", "-c", "echo $$ > {tmp_path}/pid; setsid sleep 300 & echo $! > {tmp_path}/daemon; wait"],
                    timeout=300)
    """)
    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_for(tmp_path / "daemon")
    parent.kill()
    parent.wait()
    assert not alive(tmp_path / "pid")
    assert not alive(tmp_path / "daemon")


def test_output_beyond_the_bound_is_dropped_and_said_so() -> None:
    done = run_process(shell("yes | head -c 3000000"), timeout=20, given=ProcessStreams(max_output=1000))
    assert len(done.stdout) == 1000
    assert done.truncated
    assert done.ok


def test_a_missing_program_is_one_clear_line() -> None:
    with pytest.raises(MissingTool, match=r"^cannot run no-such-program: not found on PATH$"):
        run_process(["no-such-program"], timeout=1)
    with pytest.raises(MissingTool, match="/etc/hostname-none: it does not exist"):
        run_process(["/etc/hostname-none"], timeout=1)


def test_a_directory_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(HipscopeError, match="cannot start /bin/true"):
        run_process(["/bin/true"], timeout=5, cwd=tmp_path / "none")


def test_memory_processor_time_and_file_size_are_limited(tmp_path: Path) -> None:
    memory = run_process(
        [sys.executable, "-c", "b = bytearray(2_000_000_000)"],
        timeout=20,
        limits=Limits(address_space=1_000_000_000),
    )
    assert b"MemoryError" in memory.stderr
    spin = run_process(shell("while :; do :; done"), timeout=20, limits=Limits(cpu_seconds=1))
    assert spin.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    assert not spin.timed_out
    big = run_process(
        shell(f"head -c 100000 /dev/zero > {tmp_path}/big"), timeout=20, limits=Limits(file_bytes=1000)
    )
    assert not big.ok
    assert (tmp_path / "big").stat().st_size <= 1000


def test_without_network_there_is_no_interface_that_is_up() -> None:
    if not run_process(["unshare", "--user", "--net", "true"], timeout=10).ok:
        pytest.skip("this system has no user namespaces")
    done = run_process(["cat", "/proc/net/route"], timeout=10, limits=Limits(no_network=True))
    assert len(done.stdout.splitlines()) <= 1


def test_what_a_program_printed_is_read_without_its_colours() -> None:
    done = run_process(["printf", "\\033[1m\\033[36musage:\\033[0m ./app\\n"], timeout=10)
    assert done.text == "usage: ./app\n"
