"""Source positions of machine instructions, read from a code object's DWARF.

Takes an AMDGPU ELF file, gives for each address the inline chain, innermost first: where the instruction comes from
and, level by level, the calls that it was inlined through. Works with `-gline-tables-only` and with `-g`.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import posixpath
import shutil
import subprocess
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_LONGEST_S = 10.0  # for a demangler that is a program
_KEPT = 8  # read files: the one that is rewritten, and the rewrites that are looked at beside it
_reading = threading.Lock()


_AMDGPU = 224  # ELF's number of the machine, where pyelftools has no name for it
_S_BARRIER = bytes.fromhex("00008abf")


@dataclass(frozen=True)
class Position:
    """One level of an inline chain. Lines and columns count from 1; column 0 means that there is none."""

    file: str
    line: int
    column: int
    function: str


@dataclass(frozen=True)
class Symbol:
    """A function of the code object: mangled name, address and size in bytes."""

    name: str
    address: int
    size: int


class Symbolizer:
    """Addresses of one code object to source positions.

    A file without debug information gives empty chains. Raises `ValueError` when `path` is not an ELF file.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            try:
                elf = ELFFile(stream)
            except ELFError as error:
                raise ValueError(f"{path}: not an ELF file ({error})") from error
            self.functions = tuple(sorted(_function_symbols(elf), key=lambda s: s.address))
            self._entries = [symbol.address for symbol in self.functions]
            self.barriers = tuple(_barriers(elf))
            self._starts: list[int] = []
            self._rows: list[_Row] = []
            roots = self._read_dwarf(elf) if elf.has_dwarf_info() else []
            self._roots = _ScopeIndex(roots)

    def positions(self, address: int) -> tuple[Position, ...]:
        """The inline chain of the instruction at `address`, innermost first; empty when nothing is known."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or self._rows[index].end <= address or self._rows[index].line == 0:
            return ()
        row = self._rows[index]
        chain = list(_enclosing(self._roots, address))
        names = [scope.name for scope in reversed(chain)] or [self._symbol_name(address)]
        if not names[-1]:
            names[-1] = self._symbol_name(address)
        positions = [Position(row.file, row.line, row.column, names[0])]
        for scope, name in zip(reversed(chain[1:]), names[1:], strict=True):
            positions.append(Position(scope.call_file, scope.call_line, scope.call_column, name))
        return tuple(positions)

    def has_line(self, address: int) -> bool:
        """Whether the compiler gave the instruction at `address` a line: what it moved or merged may have none."""
        index = bisect_right(self._starts, address) - 1
        return index >= 0 and self._rows[index].end > address and self._rows[index].own

    def function_at(self, address: int) -> Symbol | None:
        """The function whose code holds `address`."""
        index = bisect_right(self._entries, address) - 1
        if index < 0:
            return None
        symbol = self.functions[index]
        return symbol if address < symbol.address + max(symbol.size, 1) else None

    def _symbol_name(self, address: int) -> str:
        symbol = self.function_at(address)
        return demangle(symbol.name) if symbol else ""

    def _read_dwarf(self, elf: ELFFile) -> list[_Scope]:
        """Read the rows of the line tables; gives the functions."""
        roots: list[_Scope] = []
        # A code object is fully linked: its debug sections carry no relocations that still wait.
        dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        for unit in dwarf.iter_CUs():
            try:
                program = dwarf.line_program_for_CU(unit)
                files = _file_names(program, unit) if program is not None else []
                if program is not None:
                    self._rows.extend(_line_rows(program, files))
                roots.extend(_scopes(unit.get_top_DIE(), files, dwarf))
            except (DWARFError, KeyError, AttributeError):
                continue  # one damaged unit must not hide the others
        self._rows.sort(key=lambda row: row.start)
        self._starts = [row.start for row in self._rows]
        return roots


def symbolizer_of(path: Path) -> Symbolizer:
    """The Symbolizer of a file. Files of the same contents are read once: that takes seconds for one of many kernels,
    and a proof asks after every run.

    Raises as `Symbolizer` does, and `OSError`.
    """
    with _reading:
        return _read(FileContents.of(path))


@dataclass(frozen=True)
class FileContents:
    """A file by what it holds, wherever it lies: what is known of one is known of every copy."""

    digest: bytes
    path: Path = field(compare=False)

    @classmethod
    def of(cls, path: Path) -> FileContents:
        """A file as it is now. Raises `OSError`."""
        return cls(hashlib.sha256(path.read_bytes()).digest(), path)


@functools.lru_cache(maxsize=_KEPT)
def _read(file: FileContents) -> Symbolizer:
    return Symbolizer(file.path)


@functools.lru_cache(maxsize=4096)
def demangle(symbol: str) -> str:
    """The C++ name of a mangled symbol, by libstdc++'s own demangler, or LLVM's for what that one does not know.

    The symbol itself when it has none.
    """
    library = _cxx_library()
    if not symbol.startswith("_Z"):
        return symbol
    if library is None:
        return _demangled_by_llvm(symbol)
    status = ctypes.c_int(0)
    known = with_known_floats(symbol)
    result = library.__cxa_demangle(known.encode(), None, None, ctypes.byref(status))
    if not result:
        return _demangled_by_llvm(symbol)
    try:
        name = ctypes.string_at(result).decode("utf-8", errors="replace")
    finally:
        library.free(ctypes.c_void_p(result))
    return name if known == symbol else with_short_floats(name)


# What the Itanium ABI calls `__bf16` and `_Float16`: demanglers take them for something else or do not know them. None
# of the types that stand in for them exists on a GPU.
_SHORT_FLOATS = (("DF16b", "g", "__float128", "__bf16"), ("DF16_", "e", "long double", "_Float16"))


def with_known_floats(symbol: str) -> str:
    """A mangled name with types for its 16-bit floats that every demangler knows."""
    for short, known, _, _ in _SHORT_FLOATS:
        symbol = symbol.replace(short, known)
    return symbol


def with_short_floats(name: str) -> str:
    """The demangled name with its 16-bit floats again."""
    for _, _, known, short in _SHORT_FLOATS:
        name = name.replace(known, short)
    return name


def _demangled_by_llvm(symbol: str) -> str:
    """By the tool that lies beside the compiler: it knows what came with C++20, such as constrained parameters."""
    tool = _llvm_demangler()
    if tool is None:
        return symbol
    try:
        done = subprocess.run(
            [tool, symbol],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_S,
            start_new_session=True,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return symbol
    return done.stdout.decode("utf-8", errors="replace").strip() or symbol


@functools.cache
def _llvm_demangler() -> str | None:
    """The newest one of those that are where compilers for HIP are."""
    name = "llvm-cxxfilt"
    debian = sorted(Path("/usr/lib").glob(f"llvm-*/bin/{name}"), key=lambda p: (len(p.parts[3]), p.parts[3]))
    rocm = sorted(Path("/opt").glob(f"rocm*/llvm/bin/{name}"))
    found = [*rocm, *debian]
    return str(found[-1]) if found else shutil.which(name)


@functools.cache
def _cxx_library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")  # its dependency libc gives `free`
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        library.free.restype = None
    except (OSError, AttributeError):
        return None
    return library


@dataclass(frozen=True)
class _Row:
    """Addresses [start, end) come from one source position; not their `own`: they have none, it is the one before."""

    start: int
    end: int
    file: str
    line: int
    column: int
    own: bool


@dataclass
class _Scope:
    """A function, or a function inlined into the scope around it, with the position of that call."""

    ranges: list[tuple[int, int]]
    name: str
    call_file: str = ""
    call_line: int = 0
    call_column: int = 0
    inner: list[_Scope] = field(default_factory=list)

    @functools.cached_property
    def index(self) -> _ScopeIndex:
        """The scopes inside this one, by address."""
        return _ScopeIndex(self.inner)


class _ScopeIndex:
    """Scopes beside each other, found by an address in the time that a search in a sorted list takes."""

    def __init__(self, scopes: Sequence[_Scope]) -> None:
        ranges = [(low, high, scope) for scope in scopes for low, high in scope.ranges if low < high]
        self._ranges = sorted(ranges, key=lambda one: one[0])
        self._lows = [low for low, _, _ in self._ranges]

    def at(self, address: int) -> _Scope | None:
        """The scope that holds `address`."""
        index = bisect_right(self._lows, address) - 1
        if index < 0 or address >= self._ranges[index][1]:
            return None
        return self._ranges[index][2]


def _enclosing(scopes: _ScopeIndex, address: int) -> Iterator[_Scope]:
    """The scopes around `address`, outermost first."""
    scope = scopes.at(address)
    while scope is not None:
        yield scope
        scope = scope.index.at(address)


def _function_symbols(elf: ELFFile) -> Iterator[Symbol]:
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return
    for symbol in table.iter_symbols():
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
            yield Symbol(symbol.name, symbol["st_value"], symbol["st_size"])


def _barriers(elf: ELFFile) -> Iterator[int]:
    """The addresses of GPU code's `s_barrier`."""
    text = elf.get_section_by_name(".text")
    if text is None or elf["e_machine"] not in ("EM_AMDGPU", _AMDGPU):
        return
    code = text.data()
    at = code.find(_S_BARRIER)
    while at >= 0:
        if at % 4 == 0:
            yield text["sh_addr"] + at
        at = code.find(_S_BARRIER, at + 1)


def _line_rows(program: Any, files: list[str]) -> Iterator[_Row]:
    previous = None
    known: tuple[str, int, int] = ("", 0, 0)
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if previous is not None and state.address > previous.address:
            # Line 0 marks instructions that belong to no single line: they stay with the line before them.
            if previous.line:
                known = (_file(files, previous.file), previous.line, previous.column)
            yield _Row(previous.address, state.address, *known, own=previous.line != 0)
        if state.end_sequence:
            previous, known = None, ("", 0, 0)
        else:
            previous = state


def _file_names(program: Any, unit: Any) -> list[str]:
    """Full paths by the number that line rows and call_file use."""
    header = program.header
    top = unit.get_top_DIE()
    compiled_in = _text(top.attributes["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in top.attributes else ""
    directories = [_text(d) for d in header["include_directory"]]
    entries = list(header["file_entry"])
    if header["version"] < 5:  # the numbers start at 1, directory 0 is the compilation's own
        directories = [compiled_in, *directories]
        names = [""]
    else:
        names = []
    for entry in entries:
        directory = directories[entry.dir_index] if entry.dir_index < len(directories) else ""
        names.append(posixpath.normpath(posixpath.join(compiled_in, directory, _text(entry.name))))
    return names


def _file(files: list[str], number: int) -> str:
    return files[number] if 0 <= number < len(files) else ""


def _scopes(die: Any, files: list[str], dwarf: Any) -> list[_Scope]:
    """The functions below `die` with everything inlined into them."""
    found: list[_Scope] = []
    for child in die.iter_children():
        if child.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
            ranges = _ranges(child, dwarf)
            if ranges:
                attributes = child.attributes
                found.append(
                    _Scope(
                        ranges,
                        _name(child),
                        _file(files, _number(attributes, "DW_AT_call_file")),
                        _number(attributes, "DW_AT_call_line"),
                        _number(attributes, "DW_AT_call_column"),
                        _scopes(child, files, dwarf),
                    )
                )
        elif child.has_children:  # lexical blocks, namespaces
            found.extend(_scopes(child, files, dwarf))
    return found


def _ranges(die: Any, dwarf: Any) -> list[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low = attributes["DW_AT_low_pc"].value
        high = attributes["DW_AT_high_pc"]
        return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]
    if "DW_AT_ranges" not in attributes:
        return []
    lists = dwarf.range_lists()
    if lists is None:
        return []
    top = die.cu.get_top_DIE().attributes
    base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
    found = []
    for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=die.cu):
        if hasattr(entry, "base_address"):
            base = entry.base_address
        else:
            offset = 0 if entry.is_absolute else base
            found.append((entry.begin_offset + offset, entry.end_offset + offset))
    return found


def _name(die: Any) -> str:
    """The demangled linkage name, else the plain name, followed through abstract origins."""
    for _ in range(4):
        for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
            if attribute in die.attributes:
                return demangle(_text(die.attributes[attribute].value))
        for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if attribute in die.attributes:
                die = die.get_DIE_from_attribute(attribute)
                break
        else:
            return ""
    return ""


def _number(attributes: Any, name: str) -> int:
    return int(attributes[name].value) if name in attributes else 0


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
