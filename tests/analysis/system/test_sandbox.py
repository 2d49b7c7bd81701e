"""Hostile programs and sources: what they may not read, write, start, use up or reach, under each kind of border."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config, OptimizeConfig
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.system.process import Completed, Limits
from hipscope.analysis.system.sandbox import (
    CONFINED,
    Box,
    Isolation,
    isolation,
    plain_environment,
    private_copy,
    run_confined,
    tool_directories,
)
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.unsaved import unsaved

BORDERS: tuple[Isolation, ...] = ("bubblewrap", "namespaces")
ALL: tuple[Isolation, ...] = (*BORDERS, "limits")
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


def works(kind: Isolation) -> bool:
    if kind == "limits":
        return True
    done = run_confined(["/bin/true"], Box(), timeout=20, cwd=Path("/"), env=plain_environment({}), kind=kind)
    return done.ok


@pytest.fixture(scope="module")
def kinds() -> dict[Isolation, bool]:
    found: dict[Isolation, bool] = {}
    for kind in ALL:
        try:
            found[kind] = works(kind)
        except Exception:  # the tool is not installed
            found[kind] = False
    return found


def shell(
    kind: Isolation, script: str, limits: Limits = CONFINED, seconds: float = 30, **box: object
) -> Completed:
    return run_confined(
        ["/bin/sh", "-c", script], Box(limits=limits, **box), timeout=seconds, cwd=Path("/"),  # type: ignore[arg-type]
        env=plain_environment({}), kind=kind,
    )  # fmt: skip


def python(kind: Isolation, code: str, limits: Limits = CONFINED) -> Completed:
    read = (Path(PYTHON).resolve().parents[1],)
    return run_confined(
        [PYTHON, "-c", code], Box(read=read, limits=limits), timeout=30, cwd=Path("/"), env=plain_environment({}),
        kind=kind,
    )  # fmt: skip


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file in the home directory, and a key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with tempfile.NamedTemporaryFile("w", dir=Path.home(), suffix=".secret") as file:
        file.write("hidden")
        file.flush()
        yield Path(file.name)


def test_this_machine_has_borders_or_says_so(kinds: dict[Isolation, bool]) -> None:
    assert isolation() == next(kind for kind in ALL if kinds[kind])


@pytest.mark.parametrize("kind", BORDERS)
def test_files_of_the_user_and_the_system_are_not_there(
    kind: Isolation, kinds: dict[Isolation, bool], secret: Path, tmp_path: Path
) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    done = shell(kind, f"cat {secret}; cat /etc/passwd; cat {__file__}; cat /proc/1/environ; env; ls $HOME")
    assert b"hidden" not in done.stdout
    assert b"root:" not in done.stdout
    assert b"sk-secret" not in done.stdout
    target = tmp_path / "written"
    assert not shell(kind, f"echo x > {target}").ok
    assert not shell(kind, "echo x > /usr/written").ok
    assert not target.exists()


@pytest.mark.parametrize("kind", BORDERS)
def test_what_draws_the_borders_is_not_chosen_by_the_environment_of_the_program(
    kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path
) -> None:
    """Given a project's `PATH` and `LD_PRELOAD`, they are there for the program, behind the borders."""
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    tools, chosen = tmp_path / "tools=x", tmp_path / "chosen"
    tools.mkdir()
    for name in ("bwrap", "unshare", "mount", "mkdir", "setpriv", "env", "sh", "umount", "pivot_root"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} >> {chosen}\n")
        (tools / name).chmod(0o755)
    (tools / "program").write_text('#!/bin/sh\necho "$PATH;$WORD;$API_TOKEN"\n')
    (tools / "program").chmod(0o755)
    env = {"PATH": f"{tools}:/usr/bin:/bin", "WORD": "a b=\n'c'", "API_TOKEN": "t", "LD_PRELOAD": "/none.so"}
    box = Box(read=(tools,))
    done = run_confined([tools / "program"], box, timeout=20, cwd=Path("/"), env=env, kind=kind)
    assert done.stdout.decode() == f"{env['PATH']};{env['WORD']};t\n", done.stderr
    assert not chosen.exists()
    assert done.stderr.count(b"/none.so") <= 2  # by the program and the shell that starts it
    bare = run_confined(["/usr/bin/printenv"], Box(), timeout=20, cwd=Path("/"), env={}, kind=kind)
    assert b"PATH=" not in bare.stdout


@pytest.mark.parametrize("kind", ALL)
def test_a_program_that_prints_where_it_is_names_the_directory_and_not_its_copy(
    kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path
) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    project, copy = tmp_path / "project", tmp_path / "copy"
    project.mkdir()
    copy.mkdir()
    box = Box(read=(project,), shown={project: copy})
    # Some kernels give a program the outer name of its own file, whatever borders are around it.
    command = ["/bin/sh", "-c", f"pwd; pwd >&2; echo {copy}/program"]
    done = run_confined(command, box, timeout=30, cwd=project, env=plain_environment({}), kind=kind)
    assert done.stdout.decode().splitlines() == [str(project), f"{project}/program"], done.stderr
    assert done.stderr.decode().strip() == str(project)


@pytest.mark.parametrize("kind", BORDERS)
def test_a_directory_to_write_to_may_lie_inside_of_one_that_is_shown_as_a_copy(
    kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path
) -> None:
    """Given a cache inside the project, as for a program in one's home, what goes there is kept, the rest is not."""
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    project, copy = tmp_path / "project", tmp_path / "copy"
    out = project / "cache" / "out"
    for directory in (out, copy):
        directory.mkdir(parents=True)
    done = shell(kind, f"echo a > {out}/kept; echo b > {project}/lost", write=(out,), shown={project: copy})
    assert done.ok, done.stderr
    assert (out / "kept").read_text() == "a\n"
    assert not (project / "lost").exists()
    assert (copy / "lost").read_text() == "b\n"


@pytest.mark.parametrize("kind", BORDERS)
def test_what_is_mounted_in_a_directory_is_seen_there_and_not_written(
    kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path
) -> None:
    """As with a volume inside a project, whose mount belongs to the machine and not to the user."""
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    at = tmp_path / "an inner one" / "file"
    at.parent.mkdir()
    confined = f"""
from pathlib import Path
from hipscope.analysis.system.sandbox import Box, run_confined
for box in Box(read=(Path({str(tmp_path)!r}),)), Box(write=(Path({str(tmp_path)!r}),)):
    said = "cat '{at}'; (echo new > '{at}') 2>/dev/null && echo written"
    done = run_confined(["/bin/sh", "-c", said], box, timeout=20, cwd=Path("/"), env={{}}, kind={kind!r})
    print(done.text, end="")
"""
    mounted = f"mount -t tmpfs inner '{at.parent}' && echo old > '{at}' && exec \"$@\""
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"]
    done = subprocess.run(
        [*own, sys.executable, "-c", confined], capture_output=True, text=True, timeout=60, check=False
    )
    if done.stderr.startswith(("mount:", "unshare:")):
        pytest.skip("no mounts of our own here")
    assert done.stdout == "old\nold\nwritten\n", done.stderr


@pytest.mark.parametrize("kind", ALL)
def test_the_environment_holds_no_key(kind: Isolation, kinds: dict[Isolation, bool], secret: Path) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    assert b"sk-secret" not in shell(kind, "env; cat /proc/self/environ").stdout


@pytest.mark.parametrize("kind", ALL)
def test_no_socket_reaches_this_machine(kind: Isolation, kinds: dict[Isolation, bool]) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = python(kind, f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('in')")
    assert b"in" not in done.stdout


@pytest.mark.parametrize("kind", ALL)
def test_a_fork_bomb_is_ended(kind: Isolation, kinds: dict[Isolation, bool]) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    few = replace(CONFINED, tree_processes=40)
    bomb = "import os, time\nfor _ in range(400):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)"
    done = python(kind, bomb, few)
    assert done.stopped == "it started more than 40 processes"
    assert not done.timed_out


@pytest.mark.parametrize("kind", ALL)
def test_the_disk_is_not_filled(kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    little = replace(CONFINED, file_bytes=8 << 20, written_bytes=24 << 20)
    one = shell(kind, f"head -c 100000000 /dev/zero > {tmp_path}/big", little, write=(tmp_path,))
    assert not one.ok
    assert (tmp_path / "big").stat().st_size <= 8 << 20
    many = f"i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > {tmp_path}/f$i; sleep 0.01; done"
    assert shell(kind, many, little, write=(tmp_path,)).stopped == "it wrote more than 24 MiB"


@pytest.mark.parametrize("kind", ALL)
def test_memory_is_bounded(kind: Isolation, kinds: dict[Isolation, bool]) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    little = replace(CONFINED, tree_bytes=200 << 20)
    hungry = "b = []\nimport time\nwhile True: b.append(bytearray(b'x') * (10 << 20)); time.sleep(0.01)"
    assert python(kind, hungry, little).stopped == "it used more than 200 MiB of memory"
    assert not python(kind, "bytearray(30 << 30)", replace(CONFINED, address_space=4 << 30)).ok


@pytest.mark.parametrize("kind", ALL)
def test_it_does_not_sleep_forever(kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    long = f"4242.{os.getpid()}"
    done = shell(kind, f"setsid sleep {long} & sleep {long}", seconds=1)
    assert done.timed_out
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if f"sleep\0{long}".encode() in _bytes(p)]
    assert left == []


@pytest.mark.parametrize("kind", ALL)
def test_a_signal_is_told_as_outside(kind: Isolation, kinds: dict[Isolation, bool]) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    assert shell(kind, "kill -ABRT $$").returncode == -6
    assert shell(kind, "exit 3").returncode == 3


def test_a_program_writes_to_a_copy_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("old")
    with private_copy(tmp_path) as shown:
        box = Box(read=(tmp_path,), shown=shown)
        done = run_confined(
            ["/bin/sh", "-c", "cat data; echo new > data; cat data"], box, timeout=20, cwd=tmp_path,
            env=plain_environment({}),
        )  # fmt: skip
    assert done.stdout == b"oldnew\n"
    assert (tmp_path / "data").read_text() == "old"


def test_a_copy_of_a_project_that_holds_our_own_directories_leaves_them_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would hold a copy of itself, and one of that, without end."""
    scratch, cache = tmp_path / "scratch", tmp_path / "cache"
    (scratch / "theirs").mkdir(parents=True)
    (cache / "hipscope" / "captures").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with private_copy(tmp_path) as shown:
        copy = shown[tmp_path]
        assert sorted(str(p.relative_to(copy)) for p in copy.rglob("*")) == [
            "cache",
            "scratch",
            "scratch/theirs",
        ]


@pytest.mark.parametrize("kind", BORDERS)
def test_what_a_copy_leaves_out_can_be_read_where_it_is_named(
    kind: Isolation, kinds: dict[Isolation, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache in the project: the program that was built there runs, and what else is there is hidden."""
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = tmp_path / "cache" / "hipscope" / "built"
    built.mkdir(parents=True)
    text = "echo started; echo changed > cache/hipscope/built/program\n"
    (built / "program").write_text(text)
    (built.parent / "other").write_text("hidden")
    with private_copy(tmp_path) as shown:
        done = run_confined(
            ["/bin/sh", "-c", ". cache/hipscope/built/program; cat cache/hipscope/other"],
            Box(read=(tmp_path, built), shown=shown), timeout=20, cwd=tmp_path, env=plain_environment({}), kind=kind,
        )  # fmt: skip
    assert done.stdout == b"started\n"
    assert (built / "program").read_text() == text


@pytest.mark.parametrize("kind", BORDERS)
def test_temporary_files_have_a_place_when_the_program_lies_in_tmp(
    kind: Isolation, kinds: dict[Isolation, bool]
) -> None:
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    done = shell(kind, 'f=$(mktemp) && echo kept > "$f" && cat "$f"', read=(Path("/tmp"),))
    assert done.stdout == b"kept\n", done.stderr


def test_tools_are_shown_with_their_libraries_but_not_with_the_users_home(tmp_path: Path) -> None:
    home = Path.home()
    path = f"/bin:/opt/rocm/bin:relative:{home}/bin:{home}/.local/bin:{home}/tools/bin:/usr/bin:/opt/rocm/bin"
    assert tool_directories(path) == (
        Path("/bin"), Path("/opt/rocm"), home / "bin", home / ".local" / "bin", home / "tools", Path("/usr"),
    )  # fmt: skip


KERNEL = "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { *p = 1; }\n"


@pytest.mark.parametrize(
    "what",
    [
        '#include "/etc/passwd"\n',
        '__global__ void j() { asm volatile(".incbin \\"/etc/passwd\\""); }\n',
        '#include "{home}"\n',
    ],
)
def test_a_confined_compiler_reads_no_file_that_is_not_the_projects(
    what: str, tmp_path: Path, secret: Path
) -> None:
    if isolation() == "limits":
        pytest.skip("this machine has no borders")
    file = tmp_path / "k.hip"
    file.write_text(KERNEL + "int main() {}\n")
    project = resolve_project(file, config=Config(backend="emulator"))
    head, _, tail = KERNEL.partition("\n")
    text = "\n".join([head, what.replace("{home}", str(secret)), tail])
    changed = unsaved(file, text.encode())
    with pytest.raises(BuildFailed) as failure:
        compile_device(project, find_toolchain(project.config), file, changed, confined=True)
    assert "root:" not in failure.value.output
    assert "hidden" not in failure.value.output
    assert compile_device(
        project, find_toolchain(project.config), file, unsaved(file, KERNEL.encode()), confined=True
    )


def test_a_whole_program_runs_confined(tmp_path: Path, secret: Path) -> None:
    if isolation() == "limits":
        pytest.skip("this machine has no borders")
    file = tmp_path / "program.hip"
    file.write_text(
        KERNEL + "#include <cstdio>\nint main() { int* p; (void)hipMalloc(&p, 4); k<<<1, 1>>>(p); "
        f'std::printf("%d %d\\n", hipDeviceSynchronize(), std::fopen("{secret}", "r") != nullptr); '
        'return std::fopen("out.txt", "w") == nullptr; }\n'
    )
    project = resolve_project(file, config=Config(backend="emulator"))
    plain = profile_project(project).profile
    assert plain.program.output == "0 1\n"
    os.remove(tmp_path / "out.txt")
    confined = profile_project(project, options=ProfileOptions(confined=True)).profile
    assert (confined.program.output, confined.program.exit_code) == ("0 0\n", 0)
    assert len(confined.kernels) == 1
    assert not (tmp_path / "out.txt").exists()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(isolation() == "limits", reason="needs bubblewrap or namespaces")
@pytest.mark.parametrize("named", [True, False])
def test_a_confined_program_reads_outside_of_its_project_only_what_is_named(
    tmp_path: Path, named: bool
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights.txt").write_text("1")
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "reader.hip"
    weights = tmp_path / "data" / "weights.txt"
    file.write_text(
        KERNEL + "#include <cstdio>\nint main() { int* p; (void)hipMalloc(&p, 4); k<<<1, 1>>>(p); "
        f'std::printf("%d %d\\n", hipDeviceSynchronize(), std::fopen("{weights}", "r") != nullptr); }}\n'
    )
    optimize = OptimizeConfig(read_paths=[tmp_path / "data"] if named else [])
    project = resolve_project(file, config=Config(backend="emulator", optimize=optimize))
    confined = profile_project(project, options=ProfileOptions(confined=True)).profile
    assert confined.program.output == ("0 1\n" if named else "0 0\n")


@pytest.mark.parametrize("path", ["data", "/"])
def test_what_may_be_read_is_an_absolute_path_below_the_root(path: str) -> None:
    with pytest.raises(ValueError, match="not an absolute path below /"):
        OptimizeConfig.model_validate({"read_paths": [path]})


@pytest.mark.parametrize("kind", BORDERS)
def test_the_own_loopback_is_there(kind: Isolation, kinds: dict[Isolation, bool]) -> None:
    """Open MPI's compiler wrapper complains in its output without it, and CMake takes that for no MPI."""
    if not kinds[kind]:
        pytest.skip(f"{kind} does not work here")
    code = (
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('in')"
    )
    assert python(kind, f"import socket; {code}").stdout == b"in\n"
