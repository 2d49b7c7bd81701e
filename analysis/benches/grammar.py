"""The grammar of a bench line: `softmax<float> grid=rows block=256 x=f32[rows,cols]:normal rows=4096 cols=1024`.

Takes a text with the places of its parts, gives a `BenchLine`. Knows nothing of kernels; docs/benches.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hipscope.analysis.benches.expressions import Expression, NotAnExpression, parse_expression
from hipscope.analysis.errors import CompilerDiagnostic, UsageError

LAUNCH_WORDS = ("grid", "block", "lds", "warmup", "repeat")
"""Settings of the launch. A parameter of such a name is given with a dot before it: `.grid=4`."""
WORDS = ("name", "include")
"""Settings whose value is a word."""
FILLS = {
    "zeros": 0,
    "ones": 0,
    "fill": 1,
    "normal": 2,
    "uniform": 2,
    "arange": 2,
    "index": 1,
    "sorted": 1,
    "offsets": 1,
    "permutation": 0,
}
"""What a buffer may hold at first, with the greatest number of arguments."""
NEEDED = {"fill": 1, "index": 1, "sorted": 1, "offsets": 1}
"""How many arguments must be there, where that is not none."""

_SETTING = re.compile(r"(?P<dot>\.?)(?P<symbol>@?)(?P<name>[A-Za-z_][\w:]*)=")
_TYPE_AND_OPEN = re.compile(r"(?P<type>[A-Za-z_][\w:]*(?:<[^\[\]]*>)?)?\[")
_SCOPE = re.compile(r"(?:::)?[A-Za-z_]\w*(?:\s*<)?")  # of a kernel's name: one part of it
_OPEN, _CLOSE = "([{<", ")]}>"
_PAIRS = dict(zip(_CLOSE, _OPEN, strict=True))


@dataclass(frozen=True)
class BenchPiece:
    """A part of a bench's text: where its first character stands, `line` and `column` from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class BenchText:
    """The text of one bench in a file, of one line or of several that follow each other."""

    file: str
    pieces: tuple[BenchPiece, ...]

    @property
    def text(self) -> str:
        """All of it, one line for each piece."""
        return "\n".join(piece.text for piece in self.pieces)

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of a character of `text`."""
        for piece in self.pieces:
            if at <= len(piece.text):
                return piece.line, piece.column + at
            at -= len(piece.text) + 1
        last = self.pieces[-1]
        return last.line, last.column + len(last.text)

    def error(self, message: str, at: int = 0) -> BenchError:
        """The error to raise about a character of `text`."""
        line, column = self.place(at)
        return BenchError(self.file, line, column, message)


class BenchError(UsageError):
    """A bench line that cannot be read or does not fit its kernel: one line with the place."""

    def __init__(self, file: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{file}:{line}:{column}: bench: {message}", "docs/benches.md has the grammar")
        self.line, self.column = line, column
        self.diagnostics = (CompilerDiagnostic(file, line, column, "error", f"bench: {message}"),)


@dataclass(frozen=True)
class Fill:
    """What a buffer holds at first: `normal`, `uniform(0,1)`, `index(n)`."""

    name: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class BufferValue:
    """`f32[rows,cols]:normal`. `type` None is the element type of the kernel's parameter."""

    type: str | None
    dims: tuple[Expression, ...]
    fill: Fill


@dataclass(frozen=True)
class NumbersValue:
    """`1024|4096`, `ceil(n/256),m`: for each size of the bench one list."""

    steps: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class CodeValue:
    """`{1, 2.f}`: an initialiser in C++, with its braces."""

    text: str


@dataclass(frozen=True)
class SameValue:
    """`&x`: the buffer of another parameter; `null` without a name."""

    name: str | None


@dataclass(frozen=True)
class WordValue:
    """`name=large`, `include="params.h"`: a word as it stands, without quotation marks."""

    text: str


Value = BufferValue | NumbersValue | CodeValue | SameValue | WordValue


@dataclass(frozen=True)
class Setting:
    """`name=value`; `parameter`: it has a dot and is of the kernel in any case; `symbol`: `@name`, a global variable.

    `at` is the place of the name in the text, `value_at` that of the value.
    """

    name: str
    value: Value
    at: int = field(default=0, compare=False)
    value_at: int = field(default=0, compare=False)
    parameter: bool = False
    symbol: bool = False


@dataclass(frozen=True)
class BenchLine:
    """One bench: the kernel as C++ names it, with its template's arguments, and the settings in their order."""

    kernel: str
    settings: tuple[Setting, ...]
    source: BenchText = field(compare=False)

    @property
    def name(self) -> str:
        """What `--bench` calls it: its `name`, else the kernel without blanks."""
        given = self.word("name")
        return given if given is not None else re.sub(r"\s+", "", self.kernel)

    @property
    def base_name(self) -> str:
        """The kernel's name without namespaces and template arguments."""
        bare = self.kernel
        while (inner := re.sub(r"<[^<>]*>", "", bare)) != bare:
            bare = inner
        return bare.strip().rpartition("::")[2]

    def word(self, name: str) -> str | None:
        """The value of a setting that is a word."""
        return next(
            (s.value.text for s in self.settings if s.name == name and isinstance(s.value, WordValue)), None
        )


def parse_bench(source: BenchText) -> BenchLine:
    """The bench that a text is. Raises BenchError."""
    text = source.text
    settings: list[Setting] = []
    kernel, at = _kernel(source)
    for start, end in _words(source, at):
        match = _SETTING.match(text, start, end)
        if match is None:
            raise source.error(f"`{text[start:end]}` is not `name=value`", start)
        setting = _setting(source, match, end)
        same = next((s for s in settings if (s.name, s.parameter) == (setting.name, setting.parameter)), None)
        if same is not None:
            raise source.error(f"`{setting.name}` is given twice", start)
        settings.append(setting)
    return BenchLine(kernel, tuple(settings), source)


def _kernel(source: BenchText) -> tuple[str, int]:
    """The kernel's name with its template arguments, and where it ends."""
    text = source.text
    start = end = len(text) - len(text.lstrip())
    while (match := _SCOPE.match(text, end)) is not None:
        opened = match.end() - 1
        end = _closing(source, opened) + 1 if text[opened] == "<" else match.end()
        if not text.startswith("::", end):
            break
    if end == start or text.startswith("=", end):
        raise source.error("the name of a kernel is missing", start)
    if end < len(text) and not text[end].isspace():
        raise source.error(f"unexpected `{text[end]}` behind the kernel's name", end)
    return " ".join(text[start:end].split()), end


def _closing(source: BenchText, opened: int) -> int:
    """The place of the bracket that closes the one at `opened`."""
    stack: list[str] = []
    for at in range(opened, len(source.text)):
        character = source.text[at]
        if character in _OPEN:
            stack.append(character)
        elif character in _CLOSE:
            if not stack or stack.pop() != _PAIRS[character]:
                raise source.error(f"unexpected `{character}`", at)
            if not stack:
                return at
    raise source.error(f"`{source.text[opened]}` is not closed", opened)


def _words(source: BenchText, start: int) -> Iterator[tuple[int, int]]:
    """Where the settings are: blanks part them, but for those in brackets and quotation marks."""
    text, at = source.text, start
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return
        begin = at
        while at < len(text) and not text[at].isspace():
            if text[at] in "([{" or (text[at] == "<" and text[at - 1 : at].isidentifier()):
                at = _closing(source, at)
            elif text[at] == '"':
                closing = text.find('"', at + 1)
                if closing < 0:
                    raise source.error('`"` is not closed', at)
                at = closing
            at += 1
        yield begin, at


def _setting(source: BenchText, match: re.Match[str], end: int) -> Setting:
    name, at, value_at = match["name"], match.start(), match.end()
    parameter, symbol = bool(match["dot"]), bool(match["symbol"])
    text = source.text[value_at:end]
    if not text:
        raise source.error(f"`{name}` has no value", value_at)
    try:
        value = _value(source, name, text, value_at, word=name in WORDS and not parameter)
    except NotAnExpression as error:
        raise source.error(error.message, error.at) from None
    if "::" in name and not symbol:
        raise source.error(f"`{name}` is no name of a parameter or size", at)
    return Setting(name, value, at, value_at, parameter, symbol)


def _value(source: BenchText, name: str, text: str, at: int, *, word: bool) -> Value:
    if word:
        return WordValue(text.strip('"'))
    if text == "null":
        return SameValue(None)
    if text.startswith("&"):
        if not text[1:].isidentifier():
            raise NotAnExpression("the name of another parameter is missing behind `&`", at + 1)
        return SameValue(text[1:])
    if text.startswith("{"):
        closing = _closing(source, at)
        if closing != at + len(text) - 1:
            raise NotAnExpression("unexpected text behind `}`", closing + 1)
        return CodeValue(text)
    if (match := _TYPE_AND_OPEN.match(text)) is not None:
        return _buffer(source, match["type"], at + match.end() - 1, at + len(text))
    if not name:
        raise NotAnExpression("a name is missing", at)
    return NumbersValue(tuple(tuple(_list(part, start)) for part, start in _parts(text, at, "|")))


def _buffer(source: BenchText, type_name: str | None, opened: int, end: int) -> BufferValue:
    closing = _closing(source, opened)
    dims = tuple(_list(source.text[opened + 1 : closing], opened + 1))
    rest = source.text[closing + 1 : end]
    if not rest:
        return BufferValue(type_name, dims, Fill("zeros"))
    if not rest.startswith(":"):
        raise NotAnExpression("expected `:` and what it holds, as in `:normal`", closing + 1)
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:\((.*)\))?", rest[1:], re.DOTALL)
    known = ", ".join(FILLS)
    if match is None or match[1] not in FILLS:
        raise NotAnExpression(
            f"`{rest[1:]}` is nothing that a buffer can hold; there are {known}", closing + 2
        )
    given = tuple(_list(match[2], closing + 2 + match.start(2))) if match[2] is not None else ()
    least, most = NEEDED.get(match[1], 0), FILLS[match[1]]
    if not least <= len(given) <= most:
        count = f"{least}" if least == most else f"{least} to {most}"
        raise NotAnExpression(f"`{match[1]}` takes {count} arguments, not {len(given)}", closing + 2)
    return BufferValue(type_name, dims, Fill(match[1], given))


def _list(text: str, at: int) -> Iterator[Expression]:
    for part, start in _parts(text, at, ","):
        yield parse_expression(part, start)


def _parts(text: str, at: int, separator: str) -> Iterator[tuple[str, int]]:
    """The parts of a text between separators outside of brackets, with their places."""
    depth = begin = 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == separator and depth == 0:
            yield text[begin:i], at + begin
            begin = i + 1
    yield text[begin:], at + begin
