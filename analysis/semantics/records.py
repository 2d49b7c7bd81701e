"""What the compiler knows of a program, as data: places, types, parameters, calls, launches.

Data only, nothing of libclang in it: records outlive the translation unit that they were read from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NewType

Span = tuple[int, int]
"""Bytes [start, end) of a file."""

FunctionKey = NewType("FunctionKey", str)
"""The mangled name of a function or an instance of one; a kernel's is its symbol in the code object."""


@dataclass(frozen=True)
class Library:
    """One libclang. `resource_directory` holds the headers of the compiler that builds, not those of the library."""

    path: Path
    resource_directory: Path
    beside_compiler: bool


@dataclass(frozen=True)
class SourceCommand:
    """How one file is compiled. `roots` are the directories of the program: what lies elsewhere is a library's.

    `extracts` are files of which the compiler sees a part only, each with what leaves the rest out. `copy` is a built
    copy of a directory, and that directory: a header that is found in the copy is the user's.
    """

    file: Path
    directory: Path
    flags: tuple[str, ...]
    roots: tuple[Path, ...]
    extracts: tuple[tuple[Path, Callable[[bytes], bytes]], ...] = ()
    copy: tuple[Path, Path] | None = None

    def of_the_user(self, path: Path) -> Path:
        """The user's file that a file of the copy stands for; files elsewhere are where they are."""
        if self.copy is None or not path.is_relative_to(self.copy[0]):
            return path
        return self.copy[1] / path.relative_to(self.copy[0])

    def names_of(self, path: Path) -> tuple[Path, ...]:
        """The names by which the compiler may ask for a user's file."""
        if self.copy is None or not path.is_relative_to(self.copy[1]):
            return (path,)
        return (path, self.copy[0] / path.relative_to(self.copy[1]))

    def seen(self, texts: Mapping[Path, bytes], read: Callable[[Path], bytes]) -> dict[Path, bytes]:
        """These texts as the compiler sees them; `read` gives the others."""
        return {**texts, **{path: leave(texts.get(path) or read(path)) for path, leave in self.extracts}}


@dataclass(frozen=True)
class Place:
    """Where something stands. `macro` is the macro's name when the span is its use: what is inside has no bytes."""

    file: Path
    span: Span
    macro: str | None = None

    def holds(self, other: Place) -> bool:
        """Whether `other` lies in here."""
        return self.file == other.file and self.span[0] <= other.span[0] and other.span[1] <= self.span[1]


@dataclass(frozen=True)
class Diagnostic:
    """An error of the compiler; a warning is none. `place` is None when it belongs to no file."""

    message: str
    place: Place | None
    line: int


@dataclass(frozen=True)
class Field:
    """A member of a structure; `offset` in bytes, None for a bit-field or where it depends on a template."""

    name: str
    type: Type
    offset: int | None


@dataclass(frozen=True)
class Type:
    """A type as written and as the compiler resolves it.

    `plain` is the canonical name without const and volatile. `bytes` is its size, None when it depends on a template's
    arguments or is incomplete. `element` is what a pointer, reference, array or vector is made of; `dims` the sizes of
    an array, outermost first (0: not said). `fields` are those of a structure, `bases` its base classes. `whole`: these
    are all that it holds, one behind the other: it is no union, has none without a name in it, and nothing virtual.
    """

    spelling: str
    canonical: str
    plain: str
    bytes: int | None
    element: Type | None = None
    dims: tuple[int, ...] = ()
    fields: tuple[Field, ...] = ()
    bases: tuple[Type, ...] = ()
    whole: bool = True
    dependent: bool = False


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a function. `assigned`: its value may change in the body."""

    name: str
    type: Type
    place: Place | None
    assigned: bool = False


@dataclass(frozen=True)
class Call:
    """A call. `callee` is its definition in the program; `builtin`: it is the toolchain's or the compiler's own.

    `parameters` and `result` are the types that the chosen overload has. An argument without bytes of its own (a
    default) is left out.
    """

    place: Place
    name: str
    callee: FunctionKey | None
    arguments: tuple[Place, ...]
    builtin: bool
    parameters: tuple[Type, ...] = ()
    result: Type | None = None


@dataclass(frozen=True)
class HostParameter:
    """A parameter of a function by that function's name and its position; `side` is that of a `dim3` (0, 1, 2)."""

    function: str
    index: int
    side: int | None = None


@dataclass(frozen=True)
class HostVariable:
    """A member of a class, or a variable outside of functions (`owner` is then empty), by its name."""

    owner: str
    name: str


@dataclass(frozen=True)
class HostExpression:
    """How host code computes a number, through its variables, macros and helpers of one `return`.

    `operator` is "number", "name" (what only a run says), "cast", "call", "?" or an operator of C with its `operands`.
    A number has its `place` where its digits are written, also inside a macro's definition; None where that is no file
    of the program. A call has one, too. `integer`: its type is one, so that divisions round towards 0.
    What a name stands for may have several values: those of `values`, and those that the program gives to the `origin`,
    a parameter that its function leaves alone or a variable that is not the function's own. `limit` is what a loop's
    variable does not go beyond in the loop. Without all of these a run says.
    """

    operator: str
    operands: tuple[HostExpression, ...] = ()
    value: int | float | None = None
    name: str = ""
    place: Place | None = None
    integer: bool = True
    values: tuple[HostExpression, ...] = ()
    origin: HostParameter | HostVariable | None = None
    limit: HostExpression | None = None

    def walk(self) -> Iterator[HostExpression]:
        """This and everything below."""
        yield self
        for operand in self.operands:
            yield from operand.walk()


HostSizes = tuple[HostExpression, HostExpression, HostExpression]


@dataclass(frozen=True)
class HostCall:
    """A call of a function of the program in host code. `name_at` is where the function is named; None in a macro.

    `arguments` are by the position of the parameter how a number is computed, or the sides of a `dim3`; None for
    other types, and for a parameter without an argument of its own.
    """

    function: str
    name_at: Place | None
    arguments: tuple[HostExpression | HostSizes | None, ...]


@dataclass(frozen=True)
class HostAssignment:
    """A value that host code gives to a member or a variable outside of functions; None: any, by whatever way.

    Without a name in `variable` all members of the class are meant.
    """

    variable: HostVariable
    value: HostExpression | None


@dataclass(frozen=True)
class KernelLaunch:
    """A launch in host code. `block_value` is the number of threads of a workgroup where it is constant.

    `grid_sizes` and `block_sizes` are how the program computes their three sides; None where that is not said.
    `function` is where the launch stands.
    """

    place: Place
    kernel: FunctionKey
    grid: Place
    block: Place
    shared: Place | None
    block_value: int | None
    grid_sizes: HostSizes | None = field(default=None, repr=False)
    block_sizes: HostSizes | None = field(default=None, repr=False)
    function: Place | None = None


@dataclass(frozen=True)
class FunctionInstance:
    """One function, or one instance of a template: `arguments` are then its template's, `template` where that stands.

    `declared` are the parameters as the template has them: their types are dependent where the instance decides.
    `host`: it is `__host__` by its own words, perhaps beside `__device__`.
    `errors` are those of the compiler in it, or in a declaration that it uses: what is said of it may then be
    incomplete. `types` are those of all its expressions that have bytes of their own.
    """

    key: FunctionKey
    name: str
    place: Place
    template: Place | None
    arguments: tuple[Type | int | str, ...]
    parameters: tuple[FunctionParameter, ...]
    declared: tuple[FunctionParameter, ...]
    kernel: bool
    calls: tuple[Call, ...]
    errors: tuple[Diagnostic, ...]
    host: bool = False
    types: Mapping[Place, Type] = field(default_factory=dict, repr=False, hash=False, compare=False)
