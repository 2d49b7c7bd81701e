"""Libraries to link with, so that what this machine's compiler makes runs with an old C library.

    old_glibc.py 2.28 FOLDER

Takes the table of symbols of this machine's C library, gives FOLDER with stand-ins of it: each symbol in the newest
version that is not newer than the one asked for, and nothing behind it. The linker writes it into the program.
A younger symbol is missing there, so linking fails and names it; the few that the compiler itself asks for are in
`old_glibc.c`, which is linked in. `LDFLAGS="-LFOLDER -Wl,-z,defs"` uses the folder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

LIBRARIES = ["libc.so.6", "libm.so.6"]
# What was in libraries of its own until 2.32 or 2.34: beginnings of names.
ONCE_APART = {
    "libpthread.so.0": ("pthread_", "__pthread_", "sem_"),
    "libdl.so.2": ("dl",),
    "librt.so.1": ("aio_", "lio_", "mq_", "shm_", "timer_"),
}
SHIMS = Path(__file__).with_suffix(".c")
# What C23 renamed does the same but for binary digits.
RENAMED = "__isoc23_"


@dataclass(frozen=True)
class Symbol:
    """A symbol as the library offers it: `version` such as (2, 17), `kind` and `size` as the linker must know them."""

    name: str
    version: tuple[int, ...]
    kind: str
    size: int

    @property
    def node(self) -> str:
        """The version as symbols are marked with it."""
        return "GLIBC_" + ".".join(map(str, self.version))


def main(limit: str, folder: Path) -> None:
    """Write the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    most = tuple(map(int, limit.split(".")))
    loader = "ld-linux-x86-64.so.2" if machine() == "x86_64" else f"ld-linux-{machine()}.so.1"
    tables = {soname: list(offered(path_of(soname))) for soname in [*LIBRARIES, *ONCE_APART, loader]}
    for soname, beginnings in ONCE_APART.items():
        tables[soname] += moved(tables["libc.so.6"], beginnings, most)
    for soname, table in tables.items():
        elsewhere = {symbol.name for apart in ONCE_APART for symbol in tables[apart] if soname == "libc.so.6"}
        stand_in(
            folder / soname, soname, newest((each for each in table if each.name not in elsewhere), most)
        )
    shims = compiled_shims(folder, renamed(tables["libc.so.6"], most))
    shared = " ".join([*ONCE_APART, loader])
    ever = path_of("libc_nonshared.a")  # what every C library leaves to the program, such as atexit
    (folder / "libc.so").write_text(f"GROUP ( {shims.name} {ever} libc.so.6 AS_NEEDED ( {shared} ) )\n")
    for soname in ["libm.so.6", *ONCE_APART]:
        (folder / f"{soname.partition('.')[0]}.so").write_text(f"INPUT ( AS_NEEDED ( {soname} ) )\n")


def moved(table: list[Symbol], beginnings: tuple[str, ...], most: tuple[int, ...]) -> list[Symbol]:
    """The symbols that the C library offers anew since it took in the library of these beginnings."""
    young = {symbol.name for symbol in table if symbol.version > most and symbol.name.startswith(beginnings)}
    return [symbol for symbol in table if symbol.name in young]


def machine() -> str:
    """The processor as the compiler calls it."""
    return said("cc", "-dumpmachine").partition("-")[0]


def path_of(name: str) -> Path:
    """A library of the system, found by the compiler."""
    return Path(said("cc", f"-print-file-name={name}")).resolve(strict=True).with_name(name)


def said(*command: str | Path) -> str:
    """The output of a command."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def offered(library: Path) -> Iterator[Symbol]:
    """Every symbol of a library in every version that is open to programs."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        table, versions, nodes = None, None, {}
        for section in elf.iter_sections():
            if isinstance(section, GNUVerDefSection):
                nodes = {entry["vd_ndx"]: next(iter(names)).name for entry, names in section.iter_versions()}
            elif isinstance(section, GNUVerSymSection):
                versions = section
            elif isinstance(section, SymbolTableSection) and section.name == ".dynsym":
                table = section
        if table is None or versions is None:
            raise SystemExit(f"hipscope: {library} has no versions of symbols")
        for symbol, mark in zip(table.iter_symbols(), versions.iter_symbols(), strict=True):
            index = mark.entry["ndx"]
            node = nodes.get(index & 0x7FFF, "") if isinstance(index, int) else ""
            start, _, number = node.partition("GLIBC_")
            kind = symbol["st_info"]["type"]
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or start or not number[:1].isdigit():
                continue
            version = tuple(map(int, number.split(".")))
            yield Symbol(symbol.name, version, kind.removeprefix("STT_"), symbol["st_size"])


def newest(symbols: Iterable[Symbol], most: tuple[int, ...]) -> list[Symbol]:
    """Each symbol in its newest version up to `most`, by name."""
    best: dict[str, Symbol] = {}
    for symbol in sorted(symbols, key=lambda symbol: symbol.version):
        if symbol.version <= most:
            best[symbol.name] = symbol
    return [best[name] for name in sorted(best)]


def stand_in(path: Path, soname: str, symbols: list[Symbol]) -> None:
    """A library of that name with these symbols and no code."""
    lines, nodes = [], dict[str, list[str]]()
    for symbol in symbols:
        nodes.setdefault(symbol.node, []).append(symbol.name)
        lines += assembly(symbol)
    script = "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in nodes.items())
    path.with_suffix(".map").write_text(script or "{ local: *; };\n")
    path.with_suffix(".s").write_text("\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""]))
    said("cc", "-shared", "-nostdlib", f"-Wl,-soname,{soname},--version-script={path.with_suffix('.map')}",
         "-o", path, path.with_suffix(".s"))  # fmt: skip


def assembly(symbol: Symbol) -> list[str]:
    """The symbol in the words of the assembler; its size counts where a program has a copy of a variable."""
    thread = symbol.kind == "TLS"
    data = thread or symbol.kind == "OBJECT"
    section = '.section .tbss,"awT",%nobits' if thread else ".bss" if data else ".text"
    kind = "tls_object" if thread else "object" if data else "function"
    size = max(symbol.size, 8) if data else 8
    return [
        section,
        ".balign 16",
        f".globl {symbol.name}",
        f".type {symbol.name}, %{kind}",
        f"{symbol.name}: .skip {size}",
        f".size {symbol.name}, {symbol.size if data else size}",
    ]


def renamed(table: list[Symbol], most: tuple[int, ...]) -> dict[str, str]:
    """The old names of functions that the headers of this C library call by new ones."""
    old = {symbol.name for symbol in table if symbol.version <= most}
    new = {symbol.name.removeprefix(RENAMED) for symbol in table if symbol.name.startswith(RENAMED)}
    return {
        RENAMED + name: f"__isoc99_{name}" if f"__isoc99_{name}" in old else name
        for name in sorted(new)
        if {name, f"__isoc99_{name}"} & old
    }


def compiled_shims(folder: Path, aliases: dict[str, str]) -> Path:
    """The archive of what old C libraries lack, a member for each, hidden from other libraries."""
    jump = "jmp %s@PLT" if machine() == "x86_64" else "b %s"
    objects = []
    text = SHIMS.read_text(encoding="utf-8")
    names = [line.split()[-1] for line in text.splitlines() if line.startswith("#ifdef SHIM_")]
    for name in names:
        objects.append(folder / f"{name.lower()}.o")
        said("cc", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", f"-D{name}",
             "-c", "-o", objects[-1], SHIMS)  # fmt: skip
    for new, old in aliases.items():
        source, built = folder / f"{new}.s", folder / f"{new}.o"
        source.write_text(
            f".text\n.globl {new}\n.hidden {new}\n.type {new}, %function\n{new}: {jump % old}\n"
            '.section .note.GNU-stack,"",%progbits\n'
        )
        said("cc", "-c", "-o", built, source)
        objects.append(built)
    archive = folder / "libshims.a"
    archive.unlink(missing_ok=True)
    said("ar", "rcs", archive, *objects)
    return archive


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
