"""Runs unreviewed code: no network, no files but the named ones, limits, and a time-out.

Takes an argument list and what it may read and write, gives how it ended. bubblewrap draws the borders where it works,
else namespaces by `unshare`, else only limits are left; `isolation()` says which it is here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.system.directories import cache_directory, work_directory
from hipscope.analysis.system.process import Completed, Limits, is_secret, run_process, without_secrets

Isolation = Literal["bubblewrap", "namespaces", "limits"]

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")
_SETTINGS = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
)
_PRIVATE = "/.private"  # home and temporary files; a program's own folder, which is shown, may be /tmp itself
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")
_PATHS = re.compile(r"/[^\s:;,='\"]+")
_MIB = 1 << 20
_COPIED_BYTES = 64 * _MIB
_COPIED_FILES = 4000
_NOT_COPIED = {".git", ".hg", ".svn", ".hipscope", "node_modules", "__pycache__"}
_FATAL = range(129, 129 + 64)  # how a shell and bubblewrap report a signal

# What any code of a candidate may use. Device memory is reserved address space, so memory counts as what is resident.
CONFINED = Limits(
    file_bytes=2048 * _MIB,
    tree_processes=256,
    tree_bytes=12288 * _MIB,
    written_bytes=4096 * _MIB,
    no_network=True,
)


@dataclass(frozen=True)
class Box:
    """What the code may see besides the system's programs and libraries. Everything else is not there.

    `shown` maps a path as the code sees it to what stands there, writable.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    shown: Mapping[Path, Path] = field(default_factory=dict)
    limits: Limits = CONFINED


@functools.cache
def isolation() -> Isolation:
    """The strongest borders that work on this machine."""
    kinds: tuple[Isolation, ...] = ("bubblewrap", "namespaces")
    for kind in kinds:
        with contextlib.suppress(HipscopeError):
            argv = _argv(kind, ["/bin/true"], Box(), Path("/"), {})
            if run_process(argv, timeout=20, env=_own_path()).ok:
                return kind
    return "limits"


def run_confined(
    argv: Sequence[str | os.PathLike[str]],
    box: Box,
    *,
    timeout: float,
    cwd: Path,
    env: Mapping[str, str],
    cancel: threading.Event | None = None,
    kind: Isolation | None = None,
) -> Completed:
    """Run to its end, to `timeout` seconds, or to a limit (`Completed.stopped` names it). Everything of it is ended.

    `env` is all of its environment but `HOME` and `TMPDIR`, which are private. It is set behind the borders: what
    draws them is found on our own `PATH`, and loads nothing that `env` names. Raises as `run_process` does.
    """
    chosen = kind or isolation()
    words = [os.fspath(a) for a in argv]
    limits = replace(box.limits, written_below=tuple(str(p) for p in (*box.write, *box.shown.values())))
    if chosen == "limits":
        return _limited(words, box, limits, timeout, cwd, env, cancel)
    inside = without_secrets({**env, "HOME": _PRIVATE, "TMPDIR": _PRIVATE})
    # A command line is there for all users to read.
    hidden = {name: value for name, value in inside.items() if is_secret(name)}
    shown = {name: value for name, value in inside.items() if name not in hidden}
    done = run_process(
        _argv(chosen, words, box, cwd, shown),
        timeout=timeout,
        cwd="/",
        env={**_own_path(), **hidden},
        limits=replace(
            limits, no_network=False
        ),  # the borders leave it out; bubblewrap needs a loopback to set up
        cancel=cancel,
    )
    code = 128 - done.returncode if done.returncode in _FATAL else done.returncode
    # Some kernels tell a program the name that its own file has outside (`/proc/self/exe`).
    return _in_place(replace(done, argv=tuple(words), returncode=code), box)


def _own_path() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath)}


def beside_system(argv: Sequence[str], shown: Mapping[Path, Path]) -> list[str]:
    """The command, started where names that do not exist in the machine's folders lead to folders of ours.

    Everything else is as it is outside. The command itself where there is nothing to show or no way to.
    """
    wanted = {name: real for name, real in shown.items() if name.parent.is_dir() and not name.exists()}
    if not wanted or isolation() == "limits":
        return list(argv)
    lines = ["set -e", *_BINDING, "mount --make-rprivate /"]
    for place in sorted({name.parent for name in wanted}):
        here = quote(str(place))
        lines += [f"o=$(mktemp -d); mount --bind {here} $o 2>/dev/null || mount --rbind {here} $o"]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {here}"]
        for one in sorted(place.iterdir()):
            name = quote(one.name)
            if one.is_symlink():
                lines.append(f"ln -s {quote(str(one.readlink()))} {here}/{name}")
            else:
                made = f"mkdir {here}/{name}" if one.is_dir() else f": > {here}/{name}"
                lines.append(f"{made}; bind $o/{name} {here}/{name}")
        added = sorted(path for path in wanted if path.parent == place)
        lines += [f"ln -s {quote(str(wanted[path]))} {quote(str(path))}" for path in added]
        lines.append("umount -l $o; rmdir $o")
    lines.append('exec "$@"')
    return ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", "\n".join(lines), "sh", *argv]


def plain_environment(more: Mapping[str, str]) -> dict[str, str]:
    """What confined code needs of our environment: no key, no token, no agent socket is among it."""
    return {**{name: os.environ[name] for name in _PASSED_ON if name in os.environ}, **more}


def paths_in(words: Iterable[str]) -> tuple[Path, ...]:
    """The existing files and directories that command-line words or variables name."""
    found = (Path(match) for word in words for match in _PATHS.findall(word))
    return tuple(dict.fromkeys(p for p in found if p != Path("/") and p.exists()))


def tool_directories(search_path: str) -> tuple[Path, ...]:
    """What tools on a `PATH` need to be seen: their directories, with what lies beside them (lib, share, ...).

    Beside `/bin` and `~/bin` lie all of the machine and all that is the user's: of these, only the directory itself.
    """
    try:
        home = Path.home()
    except RuntimeError:  # a user without one
        home = Path("/")
    private = {Path("/"), *home.parents, home, home / ".local"}
    found = [Path(os.path.normpath(p)) for p in search_path.split(os.pathsep) if p.startswith("/")]
    return tuple(dict.fromkeys(p if p.parent in private else p.parent for p in found))


@contextlib.contextmanager
def private_copy(directory: Path) -> Iterator[Mapping[Path, Path]]:
    """A copy for a program to write to in place of `directory`; nothing when it is too large, then it is read-only."""
    size = count = 0
    for folder, below, names in os.walk(directory):
        below[:] = set(below) - _left_out(folder, below)
        for name in names:
            count += 1
            with contextlib.suppress(FileNotFoundError):
                size += Path(folder, name).lstat().st_size
        if size > _COPIED_BYTES or count > _COPIED_FILES:
            yield {}
            return
    with work_directory("copy") as work:
        copy = work / "copy"
        shutil.copytree(directory, copy, symlinks=True, ignore=_left_out)
        yield {directory: copy}


def _left_out(folder: str, names: Iterable[str]) -> set[str]:
    """What a copy does without, and what hipscope itself keeps there: else the copy would hold a copy of itself."""
    temporary = os.path.realpath(folder) == os.path.realpath(tempfile.gettempdir())
    cache = os.path.realpath(cache_directory())
    return {
        name
        for name in names
        if name in _NOT_COPIED
        or (temporary and name.startswith("hipscope-"))
        or os.path.realpath(os.path.join(folder, name)) == cache
    }


def _limited(
    argv: Sequence[str],
    box: Box,
    limits: Limits,
    timeout: float,
    cwd: Path,
    env: Mapping[str, str],
    cancel: threading.Event | None,
) -> Completed:
    """No borders, only limits, an empty home, and no network where the kernel lets us leave it."""
    with work_directory("home") as directory:
        home = str(directory)
        shown = next(
            (real / cwd.relative_to(p) for p, real in box.shown.items() if cwd.is_relative_to(p)), cwd
        )
        variables = {**env, "HOME": home, "TMPDIR": home}
        limits = replace(limits, written_below=(*limits.written_below, home))
        try:
            done = run_process(argv, timeout=timeout, cwd=shown, env=variables, limits=limits, cancel=cancel)
        except HipscopeError as error:
            if "network" not in error.message:
                raise
            limits = replace(limits, no_network=False)
            done = run_process(argv, timeout=timeout, cwd=shown, env=variables, limits=limits, cancel=cancel)
        return _in_place(done, box)


def _in_place(done: Completed, box: Box) -> Completed:
    """What the program printed, with the directories in place of the copies that stood for them."""
    out, err = done.stdout, done.stderr
    for seen, real in box.shown.items():
        out, err = (text.replace(os.fsencode(real), os.fsencode(seen)) for text in (out, err))
    return replace(done, stdout=out, stderr=err)


def _argv(
    kind: Isolation, argv: Sequence[str], box: Box, cwd: Path, variables: Mapping[str, str]
) -> list[str]:
    mounts = _mounts(box)
    system = _system(mounts)
    if kind == "bubblewrap":
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        for path in system:
            link = Path(path)
            words += (
                ["--symlink", str(link.readlink()), path] if link.is_symlink() else ["--ro-bind", path, path]
            )
        words += ["--proc", "/proc", "--dev", "/dev"]
        for path in ("/tmp", _PRIVATE):
            words += ["--size", str(1024 * _MIB), "--tmpfs", path]
        for mount in mounts:
            words += ["--bind" if mount.writable else "--ro-bind", mount.real, mount.seen]
        words += ["--unsetenv", "PATH"]
        for name, value in variables.items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", str(cwd), "--", *argv]
    # `env` would take a program whose path has a "=" in it for one more variable.
    variables_then = [
        *(f"{name}={value}" for name, value in variables.items()),
        "/bin/sh",
        "-c",
        'exec "$@"',
        "sh",
    ]
    return _unshared(system, mounts, cwd, [*variables_then, *argv])


def _system(mounts: Sequence[_Mount]) -> list[str]:
    """The machine's own folders, which are only read. One that lacks a name that we show comes as its entries."""
    found = []
    for path in (p for p in (*_SYSTEM, *_SETTINGS) if os.path.lexists(p)):
        absent = any(one.seen.startswith(f"{path}/") and not os.path.lexists(one.seen) for one in mounts)
        whole = not absent or Path(path).is_symlink()
        found += [path] if whole else sorted(str(entry) for entry in Path(path).iterdir())
    return found


class _Mount(NamedTuple):
    seen: str
    real: str
    writable: bool


def _mounts(box: Box) -> list[_Mount]:
    """What is bound where, in order: what lies inside of another comes after it, or is hidden.

    What is only read comes first, so that a copy hides what it is a copy of; but not what was left out of it.
    """
    outside = tuple(f"{s}/" for s in (*_SYSTEM, "/proc", "/dev", "/sys"))
    read = [p for p in box.read if p.exists() and not f"{p}/".startswith(outside)]
    left_out = [
        p
        for p in read
        for seen, real in box.shown.items()
        if p.is_relative_to(seen) and not (real / p.relative_to(seen)).exists()
    ]
    first = [_Mount(str(p), str(p), False) for p in read if p not in left_out]
    later = [_Mount(str(p), str(p), False) for p in left_out]
    later += [_Mount(str(p), str(p), True) for p in box.write]
    later += [_Mount(str(seen), str(real), True) for seen, real in box.shown.items()]
    return [*sorted(first, key=_depth), *sorted(later, key=_depth)]


def _depth(mount: _Mount) -> int:
    return len(Path(mount.seen).parts)


# What is mounted below a directory belongs to it when another user has mounted it: the kernel refuses to show the
# directory without. A remount must keep the flags that the outer mount has.
_BINDING = r"""
read_only() { mount -o remount,bind,ro "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$1"; }
bind() { mount --bind "$1" "$2" 2>/dev/null || mount --rbind "$1" "$2"; }
bind_to_read() {
    if mount --bind "$1" "$2" 2>/dev/null; then read_only "$2"; return; fi
    mount --rbind "$1" "$2"
    while read -r _ _ _ _ at _; do
        at=$(printf "$at")
        case $at in "$2" | "$2"/*) read_only "$at" ;; esac
    done < /proc/self/mountinfo
}
""".splitlines()


# Nothing but the machine itself can be reached, as bubblewrap has it. Open MPI complains in its output without.
_LOOPBACK = "{ ip link set lo up || ifconfig lo up; } 2>/dev/null || :"


def _unshared(system: Sequence[str], mounts: Sequence[_Mount], cwd: Path, argv: Sequence[str]) -> list[str]:
    """The same borders by mounts of our own: a new root with nothing but the named paths in it.

    `argv` begins with the program's variables.
    """
    lines = ["set -e", *_BINDING, _LOOPBACK, "mount --make-rprivate /", "r=/mnt"]
    lines += [
        "mount -t tmpfs -o size=1g,mode=755 tmpfs $r",
        f"mkdir -p $r/tmp $r{_PRIVATE} $r/proc $r/dev $r/old",
    ]

    def bound(real: str, seen: str, writable: bool) -> None:
        target = f"$r{quote(seen)}"
        if Path(real).is_dir():
            lines.append(f"mkdir -p {target}")
        else:
            lines.append(f"mkdir -p $(dirname {target}); [ -e {target} ] || : > {target}")
        lines.append(f"{'bind' if writable else 'bind_to_read'} {quote(real)} {target}")

    for path in system:
        if Path(path).is_symlink():
            lines.append(f"mkdir -p $r{quote(str(Path(path).parent))}")
            lines.append(f"ln -s {quote(str(Path(path).readlink()))} $r{quote(path)}")
        else:
            bound(path, path, False)
    for path in ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"):
        bound(path, path, True)
    for mount in mounts:
        bound(mount.real, mount.seen, mount.writable)
    lines += [
        "mount -t proc proc $r/proc",
        "cd $r",
        "pivot_root . old",
        "umount -l /old",
        f"cd {quote(str(cwd))}",
    ]
    # The shell stays as the first process of the namespace: as that one, the program could not die of its own signals.
    lines += [
        "set +e",
        'setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- env -u PATH "$@"',
        "exit $?",
    ]
    flags = [
        "--user",
        "--map-root-user",
        "--net",
        "--ipc",
        "--uts",
        "--pid",
        "--mount",
        "--fork",
        "--kill-child",
    ]
    return ["unshare", *flags, "/bin/sh", "-c", "\n".join(lines), "sh", *argv]
