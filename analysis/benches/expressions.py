"""Arithmetic in a bench line: `ceil(n/256)`, `rows*cols`, `0.5`.

Takes text, gives expressions and their values. Division is exact, so that `ceil(n/256)` says what it means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float
"""Exact, but for roots, logarithms and infinity."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>[-+*/%(),]))"
)
_CONSTANTS: Mapping[str, Number] = {
    "true": Fraction(1),
    "false": Fraction(0),
    "inf": math.inf,
    "pi": math.pi,
}
_LONGEST = 2000  # characters: nothing that a person writes, and far from what recursion bears
_MOST_DIGITS = 400  # of a number's exponent: doubles end at 308


def _root(value: Number) -> Number:
    return Fraction(root) if (root := math.sqrt(value)).is_integer() else root


def _logarithm(value: Number) -> Number:
    return Fraction(log) if (log := math.log2(value)).is_integer() else log


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Number]]] = {
    "ceil": (1, lambda value: Fraction(math.ceil(value))),
    "floor": (1, lambda value: Fraction(math.floor(value))),
    "min": (2, min),
    "max": (2, max),
    "sqrt": (1, _root),
    "log2": (1, _logarithm),
}
"""What may be called, with the number of arguments."""


class NotAnExpression(ValueError):
    """What is wrong, and the place of it in the text, from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message, self.at = message, at


@dataclass(frozen=True)
class Expression:
    """A number, a name, or an operator or function with its operands; `at` is its place in the line."""

    operator: str
    operands: tuple[Expression, ...] = ()
    number: Number = Fraction(0)
    at: int = 0

    def names(self) -> frozenset[str]:
        """The sizes that it needs."""
        own = frozenset((self.operator[1:],)) if self.operator.startswith("$") else frozenset()
        return own.union(*(operand.names() for operand in self.operands))

    def value(self, sizes: Mapping[str, Number]) -> Number:
        """Its value. Raises NotAnExpression for a size that is not known and for what has no value."""
        if self.operator == "number":
            return self.number
        if self.operator.startswith("$"):
            name = self.operator[1:]
            if name not in sizes:
                raise NotAnExpression(f"`{name}` has no value: write {name}=...", self.at)
            return sizes[name]
        given = [operand.value(sizes) for operand in self.operands]
        try:
            return _applied(self.operator, given)
        except ZeroDivisionError:
            raise NotAnExpression("division by zero", self.at) from None
        except (ValueError, OverflowError, TypeError):
            shown = ", ".join(f"{float(v):g}" for v in given)
            raise NotAnExpression(f"`{self.operator}` has no value for {shown}", self.at) from None


def _applied(operator: str, given: list[Number]) -> Number:
    if operator in FUNCTIONS:
        return FUNCTIONS[operator][1](*given)
    if len(given) == 1:
        return -given[0]
    left, right = given
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    return left / right if operator == "/" else left % right


def parse_expression(text: str, start: int = 0) -> Expression:
    """The expression that all of `text` is; `start` is added to places. Raises NotAnExpression."""
    reader = _Reader(text[:_LONGEST], start)
    if len(text) > _LONGEST:
        raise NotAnExpression(f"longer than {_LONGEST} characters", start)
    found = reader.sum()
    if (left := reader.peek()) is not None:
        raise NotAnExpression(f"unexpected `{left}`", reader.place())
    return found


class _Reader:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str, start: int) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        self._at, self._depth = 0, 0
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                bad = position + len(text[position:]) - len(text[position:].lstrip())
                raise NotAnExpression(f"unexpected `{text[bad]}`", start + bad)
            kind = match.lastgroup or ""
            self._tokens.append((kind, match[kind], start + match.start(kind)))
            position = match.end()
        self._end = start + len(text)

    def peek(self) -> str | None:
        """The next token, None at the end."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else None

    def place(self) -> int:
        """Where the next token is."""
        return self._tokens[self._at][2] if self._at < len(self._tokens) else self._end

    def sum(self) -> Expression:
        """product { (+|-) product }."""
        return self._chain(("+", "-"), lambda: self._chain(("*", "/", "%"), self._factor))

    def _chain(self, operators: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        found = operand()
        while (sign := self.peek()) in operators and sign is not None:
            at = self.place()
            self._at += 1
            found = Expression(sign, (found, operand()), at=at)
        return found

    def _factor(self) -> Expression:
        at = self.place()
        if self._at >= len(self._tokens):
            raise NotAnExpression("a number or a name is missing", at)
        kind, text, _ = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return Expression("number", number=_number(text, at), at=at)
        if kind == "name":
            return self._called(text, at) if self.peek() == "(" else _named(text, at)
        if text == "-":
            return Expression("-", (self._nested(self._factor),), at=at)
        if text == "(":
            found = self._nested(self.sum)
            self._expect(")")
            return found
        raise NotAnExpression(f"unexpected `{text}`", at)

    def _called(self, name: str, at: int) -> Expression:
        if name not in FUNCTIONS:
            raise NotAnExpression(
                f"there is no function `{name}`; there are {', '.join(sorted(FUNCTIONS))}", at
            )
        self._expect("(")
        given = [self._nested(self.sum)]
        while self.peek() == ",":
            self._at += 1
            given.append(self._nested(self.sum))
        self._expect(")")
        wanted = FUNCTIONS[name][0]
        if len(given) != wanted:
            raise NotAnExpression(
                f"`{name}` takes {wanted} argument{'s' * (wanted > 1)}, not {len(given)}", at
            )
        return Expression(name, tuple(given), at=at)

    def _nested(self, inner: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > 60:
            raise NotAnExpression("nested too deeply", self.place())
        found = inner()
        self._depth -= 1
        return found

    def _expect(self, text: str) -> None:
        if self.peek() != text:
            raise NotAnExpression(f"`{text}` is missing", self.place())
        self._at += 1


def _number(text: str, at: int) -> Fraction:
    exponent = re.search(r"[eE][-+]?(\d+)$", text) if text[:2].lower() != "0x" else None
    if exponent is not None and (len(exponent[1]) > 4 or int(exponent[1]) > _MOST_DIGITS):
        raise NotAnExpression(f"{text} is out of range", at)
    return Fraction(int(text, 16)) if text[:2].lower() == "0x" else Fraction(text)


def _named(name: str, at: int) -> Expression:
    if name in _CONSTANTS:
        return Expression("number", number=_CONSTANTS[name], at=at)
    return Expression(f"${name}", at=at)
