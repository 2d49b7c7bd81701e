"""A bench line fitted to its kernel: for each size the launch, the buffers and the arguments.

Takes a line and what the kernel takes, gives `FittedBench`. Whatever is missing, too much or of another type is one
error with its place.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hipscope.analysis.benches.elements import (
    BYTES,
    BenchElement,
    NoElement,
    element_of,
    named_element,
    same_layout,
)
from hipscope.analysis.benches.expressions import Expression, NotAnExpression, Number
from hipscope.analysis.benches.grammar import (
    LAUNCH_WORDS,
    WORDS,
    BenchLine,
    BufferValue,
    CodeValue,
    NumbersValue,
    SameValue,
    Setting,
)
from hipscope.analysis.benches.signature import BenchedKernel, KernelParameter
from hipscope.analysis.semantics.records import Type

MOST_THREADS = 1024  # of a workgroup, on every AMD GPU
MOST_BYTES = 16 << 30  # of all buffers of one size
_WARMUP, _REPEAT = 1, 2
_MOST_LAUNCHES = 10_000
_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True)
class BenchBuffer:
    """A buffer of one size. `fill` is its name with two numbers; `restored`: the kernel may write to it.

    `symbol`: a `__constant__` or `__device__` variable that is given these contents.
    """

    name: str
    count: int
    element: BenchElement
    fill: tuple[str, float, float]
    restored: bool
    symbol: bool = False


@dataclass(frozen=True)
class BenchCase:
    """One size. `arguments` are the kernel's in C++: a number, `={...}` an initialiser; `@0@` is the first buffer."""

    label: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds: int
    buffers: tuple[BenchBuffer, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class FittedBench:
    """A bench that is ready to be made a program of."""

    line: BenchLine
    warmup: int
    repeat: int
    cases: tuple[BenchCase, ...]


def fit(line: BenchLine, kernel: BenchedKernel) -> FittedBench:
    """The bench on its kernel. Raises BenchError."""
    given = _Given(line, kernel)
    counts = {len(s.value.steps): s for s in line.settings if isinstance(s.value, NumbersValue)}
    steps = max(counts, default=1)
    for count, setting in counts.items():
        if count not in (1, steps):
            raise line.source.error(
                f"`{setting.name}` has {count} values, another setting {steps}: give one or {steps}",
                setting.value_at,
            )
    cases = tuple(_case(given, step, steps) for step in range(steps))
    sizes = _sizes(given, 0)
    warmup = _launches(given, "warmup", _WARMUP, 0, sizes)
    repeat = _launches(given, "repeat", _REPEAT, 1, sizes)
    return FittedBench(line, warmup, repeat, cases)


class _Given:
    """The settings of a line by what they are."""

    def __init__(self, line: BenchLine, kernel: BenchedKernel) -> None:
        self.line, self.kernel = line, kernel
        names = {p.name for p in kernel.parameters}
        self.launch = {s.name: s for s in line.settings if _is_launch(s)}
        rest = [s for s in line.settings if not _is_launch(s) and not (s.name in WORDS and not s.parameter)]
        self.symbols = [s for s in rest if s.symbol]
        self.by_name: dict[str, Setting] = {s.name: s for s in rest if not s.symbol}
        self.arguments = {name: s for name, s in self.by_name.items() if name in names}
        self.free = [s for name, s in self.by_name.items() if name not in names]
        self._check(names)

    def _check(self, names: set[str]) -> None:
        """Raises BenchError for a setting that nothing uses, and for a parameter without one."""
        for parameter in self.kernel.parameters:
            if parameter.name not in self.arguments:
                raise self.line.source.error(self._missing(parameter), self.start)
        code = " ".join(s.value.text for s in self.by_name.values() if isinstance(s.value, CodeValue))
        in_code = set(_IDENTIFIER.findall(code))
        used = in_code.union(*(_names(s) for s in self.line.settings))
        for setting in self.free:
            number = isinstance(setting.value, NumbersValue)
            if setting.parameter or not (setting.name in used if number else setting.name in in_code):
                close = difflib.get_close_matches(setting.name, names, 1)
                more = f"; did you mean `{close[0]}`?" if close else f"; it has {', '.join(sorted(names))}"
                unused = ", and nothing uses it" if number else ""
                raise self.line.source.error(
                    f"`{self.line.kernel}` has no parameter `{setting.name}`{unused}{more}", setting.at
                )

    def _missing(self, parameter: KernelParameter) -> str:
        close = difflib.get_close_matches(parameter.name, [s.name for s in self.free], 1)
        example = (
            "f32[n]:normal"
            if "*" in parameter.type.canonical
            else "1"
            if _is_number(parameter.type)
            else "{}"
        )
        hint = f"; is `{close[0]}` meant?" if close else f": write {parameter.name}={example}"
        return f"the argument `{parameter.name}` (`{parameter.type.spelling}`) of `{self.line.kernel}` is missing{hint}"

    @property
    def start(self) -> int:
        """Where the line's kernel begins."""
        return len(self.line.source.text) - len(self.line.source.text.lstrip())


def _is_launch(setting: Setting) -> bool:
    return setting.name in LAUNCH_WORDS and not setting.parameter and not setting.symbol


def _names(setting: Setting) -> frozenset[str]:
    """The sizes that a setting uses."""
    value = setting.value
    found: list[Expression] = []
    if isinstance(value, NumbersValue):
        found = [e for step in value.steps for e in step]
    elif isinstance(value, BufferValue):
        found = [*value.dims, *value.fill.arguments]
    return frozenset().union(*(e.names() for e in found))


def _case(given: _Given, step: int, steps: int) -> BenchCase:
    sizes = _sizes(given, step)
    grid = _dimensions(given, "grid", step, sizes)
    block = _dimensions(given, "block", step, sizes)
    if math.prod(block) > MOST_THREADS:
        setting = given.launch["block"]
        raise given.line.source.error(
            f"a workgroup of {math.prod(block)} threads: a GPU takes at most {MOST_THREADS}", setting.value_at
        )
    lds = given.launch.get("lds")
    settings = [s for s in given.by_name.values() if isinstance(s.value, BufferValue)]
    buffers = [_buffer(given, s, sizes) for s in settings]
    buffers += [_buffer(given, s, sizes) for s in given.symbols]
    _check_bytes(given, settings, buffers)
    places = {s.name: i for i, s in enumerate(settings)}
    arguments = tuple(_argument(given, parameter, sizes, places) for parameter in given.kernel.parameters)
    shown = [
        s.name for s in given.by_name.values() if isinstance(s.value, NumbersValue) and len(s.value.steps) > 1
    ]
    label = " ".join([given.line.name, *(f"{name}={_plain(sizes[name])}" for name in shown)])
    return BenchCase(
        label=label if len(shown) or steps == 1 else f"{label} #{step + 1}",
        grid=grid,
        block=block,
        lds=_whole(given, lds, _step(lds, step)[0], sizes) if lds is not None else 0,
        buffers=tuple(buffers),
        arguments=arguments,
    )


def _step(setting: Setting, step: int) -> tuple[Expression, ...]:
    assert isinstance(setting.value, NumbersValue)
    return setting.value.steps[step if len(setting.value.steps) > 1 else 0]


def _sizes(given: _Given, step: int) -> dict[str, Number]:
    """The value of each name that is a number. Raises BenchError for names that need each other."""
    waiting: dict[str, tuple[Setting, Expression]] = {}
    for name, setting in given.by_name.items():
        if isinstance(setting.value, NumbersValue):
            listed = _step(setting, step)
            if len(listed) != 1:
                raise given.line.source.error(f"`{name}` is one number, not {len(listed)}", setting.value_at)
            waiting[name] = setting, listed[0]
    sizes: dict[str, Number] = {}
    while waiting:
        ready = [name for name, (_, e) in waiting.items() if not e.names() & waiting.keys()]
        if not ready:
            name, (setting, _) = next(iter(waiting.items()))
            raise given.line.source.error(f"`{name}` needs its own value", setting.value_at)
        for name in ready:
            setting, expression = waiting.pop(name)
            sizes[name] = _value(given, expression, sizes)
    return sizes


def _value(given: _Given, expression: Expression, sizes: Mapping[str, Number]) -> Number:
    try:
        return expression.value(sizes)
    except NotAnExpression as error:
        raise given.line.source.error(error.message, error.at) from None


def _whole(
    given: _Given, setting: Setting, expression: Expression, sizes: Mapping[str, Number], least: int = 0
) -> int:
    """A whole number. Raises BenchError."""
    value = _value(given, expression, sizes)
    if not math.isfinite(value) or value != math.floor(value):
        raise given.line.source.error(
            f"`{setting.name}` is {_plain(value)}, not a whole number: use ceil(...) or floor(...)",
            expression.at,
        )
    if value < least:
        raise given.line.source.error(
            f"`{setting.name}` is {_plain(value)}, less than {least}", expression.at
        )
    return int(value)


def _launches(given: _Given, name: str, default: int, least: int, sizes: Mapping[str, Number]) -> int:
    setting = given.launch.get(name)
    if setting is None:
        return default
    if not isinstance(setting.value, NumbersValue):
        raise given.line.source.error(f"`{name}` is a number", setting.value_at)
    count = _whole(given, setting, _step(setting, 0)[0], sizes, least)
    if count > _MOST_LAUNCHES:
        raise given.line.source.error(f"{count} launches; at most {_MOST_LAUNCHES}", setting.value_at)
    return count


def _dimensions(given: _Given, name: str, step: int, sizes: Mapping[str, Number]) -> tuple[int, int, int]:
    setting = given.launch.get(name)
    if setting is None:
        raise given.line.source.error(f"`{name}` is missing: write {name}=256", given.start)
    if not isinstance(setting.value, NumbersValue) or len(_step(setting, step)) > 3:
        raise given.line.source.error(f"`{name}` takes one to three numbers", setting.value_at)
    x, y, z = [*(_whole(given, setting, e, sizes, 1) for e in _step(setting, step)), 1, 1][:3]
    return x, y, z


def _buffer(given: _Given, setting: Setting, sizes: Mapping[str, Number]) -> BenchBuffer:
    value = setting.value
    source = given.line.source
    if not isinstance(value, BufferValue):
        raise source.error(
            f"`@{setting.name}` needs contents, as in @{setting.name}=f32[16]:normal", setting.value_at
        )
    parameter = next((p for p in given.kernel.parameters if p.name == setting.name), None)
    pointee = parameter.type.element if parameter is not None and not setting.symbol else None
    element = _element(given, setting, value.type, parameter if not setting.symbol else None)
    count = math.prod(_whole(given, setting, e, sizes) for e in value.dims)
    numbers = [float(_value(given, e, sizes)) for e in value.fill.arguments]
    if value.fill.name in ("normal", "uniform", "arange"):
        defaults = {"normal": (0.0, 1.0), "uniform": (0.0, 1.0), "arange": (0.0, 1.0)}[value.fill.name]
        numbers += defaults[len(numbers) :]
    first, second = [*numbers, 0.0, 0.0][:2]
    return BenchBuffer(
        name=setting.name,
        count=count,
        element=element,
        fill=(value.fill.name, first, second),
        restored=not setting.symbol and (pointee is None or not _constant(pointee)),
        symbol=setting.symbol,
    )


def _element(
    given: _Given, setting: Setting, written: str | None, parameter: KernelParameter | None
) -> BenchElement:
    """What a buffer is made of, by the parameter's type; what the bench says must agree with it."""
    source = given.line.source
    said = named_element(written) if written is not None else None
    pointee = parameter.type.element if parameter is not None else None
    if parameter is not None and (pointee is None or "*" not in parameter.type.canonical):
        example = "{...}" if parameter.type.fields else "1"
        raise source.error(
            f"`{setting.name}` is no pointer but `{parameter.type.spelling}`: write {setting.name}={example}",
            setting.value_at,
        )
    if parameter is None or pointee is None or pointee.plain == "void":
        if said is None:
            raise source.error(f"`{setting.name}` needs a type, as in f32[n]", setting.value_at)
        return said
    try:
        element = element_of(pointee)
    except NoElement as why:
        raise source.error(
            f"`{setting.name}` (`{parameter.type.spelling}`): {why}", setting.value_at
        ) from None
    names = {_bare(pointee.plain), _bare(pointee.spelling)}
    if (
        written is not None
        and _bare(written) not in names
        and (said is None or not same_layout(said, element))
    ):
        raise source.error(
            f"`{setting.name}` is `{parameter.type.spelling}` in the kernel, and {written} here; without a type it is "
            "the kernel's",
            setting.value_at,
        )
    return element


def _bare(name: str) -> str:
    return re.sub(r"\b(?:const|volatile|struct|class|__restrict__?)\b|\s+", "", name)


def _constant(type: Type) -> bool:
    return type.canonical != type.plain and "const" in type.canonical.split()


def _check_bytes(given: _Given, settings: Sequence[Setting], buffers: Sequence[BenchBuffer]) -> None:
    total = sum(b.count * b.element.size for b in buffers)
    if total > MOST_BYTES and settings:
        largest = max(
            zip(settings, buffers, strict=False), key=lambda pair: pair[1].count * pair[1].element.size
        )
        raise given.line.source.error(
            f"the buffers take {total / (1 << 30):.0f} GiB; at most {MOST_BYTES >> 30} GiB are allowed",
            largest[0].value_at,
        )


def _argument(
    given: _Given,
    parameter: KernelParameter,
    sizes: Mapping[str, Number],
    places: Mapping[str, int],
) -> str:
    """The C++ of one argument."""
    setting = given.arguments[parameter.name]
    value, source = setting.value, given.line.source
    pointer = "*" in parameter.type.canonical and not parameter.type.fields
    if isinstance(value, BufferValue):
        return f"@{places[parameter.name]}@"
    if isinstance(value, SameValue):
        if not pointer:
            raise source.error(
                f"`{setting.name}` is no pointer but `{parameter.type.spelling}`", setting.value_at
            )
        if value.name is None:
            return "nullptr"
        if value.name not in places:
            raise source.error(f"there is no buffer `{value.name}`", setting.value_at + 1)
        return f"@{places[value.name]}@"
    if isinstance(value, CodeValue):
        return "=" + _IDENTIFIER.sub(lambda m: _in_code(m[0], sizes, places), value.text)
    if pointer:
        raise source.error(
            f"`{setting.name}` is `{parameter.type.spelling}`: write {setting.name}=[n]:normal",
            setting.value_at,
        )
    assert isinstance(value, NumbersValue)
    return _scalar(given, setting, parameter, sizes[setting.name])


def _in_code(name: str, sizes: Mapping[str, Number], places: Mapping[str, int]) -> str:
    if name in places:
        return f"@{places[name]}@"
    return _plain(sizes[name]) if name in sizes else name


def _is_number(kind: Type) -> bool:
    try:
        return len(element_of(kind).numbers) == 1
    except NoElement:
        return False


def _scalar(given: _Given, setting: Setting, parameter: KernelParameter, value: Number) -> str:
    source, kind_of = given.line.source, parameter.type
    try:
        numbers = element_of(kind_of).numbers
    except NoElement:
        numbers = ()
    if len(numbers) != 1 or (kind_of.fields and kind_of.plain not in ("__half", "__hip_bfloat16")):
        raise source.error(
            f"`{setting.name}` is a `{kind_of.spelling}`: write {setting.name}={{...}}", setting.value_at
        )
    kind = numbers[0][1]
    if kind in ("f16", "bf16", "f32", "f64"):
        if not math.isfinite(value):
            return f"{'-' if value < 0 else ''}__builtin_inf()"
        return f"{float(value)!r}" + ("" if kind == "f64" else "f")
    if not math.isfinite(value) or value != math.floor(value):
        raise source.error(
            f"`{setting.name}` is {_plain(value)}, but the parameter is `{kind_of.spelling}`",
            setting.value_at,
        )
    whole, bits = int(value), 8 * BYTES[kind]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.startswith("i") else (0, (1 << bits) - 1)
    if not low <= whole <= (1 if kind == "bool" else high):
        raise source.error(
            f"`{setting.name}` is {whole}, too much for `{kind_of.spelling}`", setting.value_at
        )
    if whole == -(1 << 63):
        return "(-9223372036854775807ll - 1)"
    return f"{whole}{'ull' if whole >= 1 << 63 else 'll'}"


def _plain(value: Number) -> str:
    if isinstance(value, Fraction) and value.denominator == 1:
        return str(value.numerator)
    return f"{float(value)!r}"
