"""What a program's sources say of the arguments that set how much it computes, and whether on the GPU.

Takes the texts of sources, gives options with their defaults, arguments for a smaller problem where a default is
known, and switches. It reads usage texts and conversions of `argv`; a value that is computed is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_OPTION = re.compile(r"^\s*[\[(<]?(?P<name>--?[A-Za-z][\w-]*)(?P<rest>[^A-Za-z-].*)$")
_SIZE = re.compile(
    r"\b(?:size|number|num|count|elements?|particles?|bodies|iter(?:ation)?s?|steps?|samples?|points?|width|height"
    r"|rows?|col(?:umn)?s?|length|lookups?|dim(?:ension)?s?|cells?|grid|repeat|times|[nmk]x?|problem)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(r"\bdefault\w*\W{0,4}(?:is\s+|value\W+)?(\d{1,12})\b", re.IGNORECASE)
_SMALL = re.compile(r"\b(?:tiny|mini|small)\b")
_CONVERTED = re.compile(
    r"(?P<name>\w+)\s*=\s*(?:\([\w ]+\)\s*)?(?:std::)?(?:ato[ilf]l?|strto\w+|sto\w+)\s*\(\s*argv\s*\[\s*(?P<at>\d)\s*\]"
)
# Numbers that are no amount of work: the shape of a workgroup, a choice of GPU or of random numbers.
_NO_SIZE = re.compile(r"bl(?:oc)?k|thread|tile|warp|wave|group|dev|gpu|seed|rank|tb", re.IGNORECASE)
_TIMES = re.compile(r"\b(?:iter\w*|repeat\w*|repetitions?|times|steps?|loops?)\b", re.IGNORECASE)
_NO_AMOUNT = re.compile(r"file|path|name|dir|block|thread|device|gpu|mode|type", re.IGNORECASE)
_SWITCH = re.compile(r"^--?(?:(?:use|run|with|enable)[-_]?)?(?:hip|rocm|gpu|amd)$", re.IGNORECASE)
_FEW, _SMALL_SIZE = "2", "256"  # times that something is done; a side, or a number of elements
_SMALLER = 8
_LEAST = 32  # a smaller number than that is a choice or a count of few things
_MOST = 6


@dataclass(frozen=True)
class SizeOptions:
    """`said`: the options as they are written, or names of what stands where. `smaller`: arguments, or nothing."""

    said: tuple[str, ...] = ()
    smaller: tuple[str, ...] = ()


def size_options(texts: Iterable[str], given: Sequence[str] = ()) -> SizeOptions:
    """What sources say of sizes. `given`: the arguments that the program has now; its numbers are made smaller."""
    said: dict[str, str] = {}
    less: dict[str, str] = {}
    positions: dict[int, tuple[str, int | None]] = {}
    for text in texts:
        for literal in _LITERAL.findall(text):
            _read_usage(literal.replace("\\t", " "), said, less)
        for match in _CONVERTED.finditer(text):
            set_before = re.search(rf"\b{match['name']}\s*=\s*(\d+)\s*[,;]", text)
            positions[int(match["at"])] = (match["name"], int(set_before[1]) if set_before else None)
    in_order = [positions[at] for at in sorted(positions) if at > 0]
    named = tuple(list(said.values())[:_MOST]) or tuple(name for name, _ in in_order)
    options = tuple(word for name, value in less.items() if name not in given for word in (name, value))
    if given:
        fewer = tuple(_fewer(word, positions.get(at, ("", None))[0]) for at, word in enumerate(given, 1))
        return SizeOptions(named, (*fewer, *options) if options or fewer != tuple(given) else ())
    if options:
        return SizeOptions(named, options)
    values = [value for _, value in in_order]
    if not said and values and all(value is not None for value in values):
        smaller = tuple(_fewer(str(value), name) for name, value in in_order)
        return SizeOptions(named, smaller if smaller != tuple(map(str, values)) else ())
    return SizeOptions(named)


def guessed_arguments(printed: str) -> tuple[str, ...]:
    """Small numbers for what a usage text wants, where each is an amount: `usage: <# iterations> <array size>`."""
    for line in printed.splitlines():
        if re.search(r"\busage\b", line, re.IGNORECASE) is None:
            continue
        wanted = re.findall(r"<([^<>]+)>", re.sub(r"\[[^\[\]]*\]", " ", line))
        rest = re.sub(r"\[[^\[\]]*\]|<[^<>]+>", " ", line.partition(":")[2]).split()
        if (
            wanted
            and len(rest) <= 1
            and all(_SIZE.search(name) and not _NO_AMOUNT.search(name) for name in wanted)
        ):
            return tuple(_FEW if _TIMES.search(name) else _SMALL_SIZE for name in wanted)
    return ()


def gpu_switches(texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The switches that sources compare their arguments with and that are called after AMD's GPUs: `--hip`, `-gpu`."""
    literals = (literal for text in texts for literal in _LITERAL.findall(text))
    return tuple((one,) for one in sorted({one for one in literals if _SWITCH.match(one)}, key=len))


def _read_usage(literal: str, said: dict[str, str], less: dict[str, str]) -> None:
    """Note the options that lines of a usage text name, and values for less work: an eighth, or `small`."""
    for line in literal.split("\\n"):
        match = _OPTION.match(line)
        if match is None or _SIZE.search(match["rest"]) is None:
            continue
        said.setdefault(match["name"], " ".join(line.split())[:60])
        default, small = _DEFAULT.search(match["rest"]), _SMALL.search(match["rest"])
        if small is not None:
            less.setdefault(match["name"], small[0])
        elif default is not None and int(default[1]) >= _LEAST:
            less.setdefault(match["name"], str(int(default[1]) // _SMALLER))


def _fewer(word: str, name: str) -> str:
    """An argument for less work: a whole number becomes an eighth, everything else stays."""
    stays = _NO_SIZE.search(name) is not None or not word.isdecimal() or int(word) < _LEAST
    return word if stays else str(int(word) // _SMALLER)
