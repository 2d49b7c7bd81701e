"""Loops of compare-and-swap that emulate one atomic operation, in the forms that programs give them.

Takes a function's syntax, gives a `CasLoop`, or the reason why a loop is none. A step begins with what the memory held,
as the last swap or a read says, swaps once, and is the last one where the swap succeeds:

    do { was = old; old = atomicCAS(p, was, f(was)); } while (old != was);
    do { old = *p; } while (atomicCAS(p, old, f(old)) != old);
    while (x < old) { was = old; if ((old = atomicCAS(p, was, x)) == was) break; }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import variables_set
from hipscope.analysis.source.nodes import (
    LOOPS,
    TOGETHER,
    ancestors,
    arguments_of,
    called,
    child_of,
    declarations_in,
    joins,
    names_in,
    operator_of,
    sets,
    squeeze,
    statements_of,
    takes_address,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import INTEGERS
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.texts import SourceTexts

# A number type: i, u or f, and its bytes.
SPELLINGS = {
    "i4": "int", "u4": "unsigned int", "i8": "long long", "u8": "unsigned long long", "f4": "float", "f8": "double",
}  # fmt: skip
# Functions of HIP and CUDA that read the bits of one type as another one.
BIT_CASTS = {
    "__float_as_int": ("f4", "i4"), "__float_as_uint": ("f4", "u4"), "__int_as_float": ("i4", "f4"),
    "__uint_as_float": ("u4", "f4"), "__double_as_longlong": ("f8", "i8"), "__longlong_as_double": ("i8", "f8"),
}  # fmt: skip
_ARITHMETIC = {"+": "Add", "-": "Sub", "&": "And", "|": "Or", "^": "Xor"}
_EXTREMES = {"min": "Min", "max": "Max"}
_LOADS = re.compile(r"__(?:hip_atomic_load|atomic_load_n|nv_atomic_load_n)")
_POINTER_CASTS = re.compile(r"(?:reinterpret|static|const)_cast\s*<\s*([^<>]*?)\s*\*\s*>")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|__shared__|register|static)\b")
_ONE_OPERAND = re.compile(r"[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])?")
_OLD, _FOUND = "old", "found"


class _NotRead(Exception):
    """Why a loop is not read, as the end of a sentence."""


@dataclass(frozen=True)
class Value:
    """A number of a step, and the type as which its bits are read.

    `kind` is `old` for what the memory held when the step began, `found` for what the swap gives, `given` for what no
    step changes, or an operation of what the memory held and `text`. `type` is that of the operation.
    """

    kind: str
    type: str
    read: str
    text: str = ""


@dataclass(frozen=True)
class CasLoop:
    """One loop, the address that it swaps at, and the operation that it emulates: `name` as in `atomicAdd`.

    `kept` are the variables that are used after the loop, all of them with the value that was found, by their types.
    `pointed` is the type that the uncast `pointer` leads to, "" where it is not known.
    """

    node: Node = field(repr=False)
    pointer: Node = field(repr=False)
    pointed: str
    name: str
    type: str
    operand: str
    kept: Mapping[str, str]

    @property
    def line(self) -> int:
        """The line it begins on, from 1."""
        return self.node.start_point.row + 1


Types = Callable[[Node], str | None]


def loops_with_cas(body: Node) -> list[Node]:
    """The innermost loops that swap, in the order of the text."""
    swaps = (n for n in walk(body) if called(n) == "atomicCAS")
    loops = (next((a for a in ancestors(n, body) if a.type in LOOPS), None) for n in swaps)
    return list({loop.id: loop for loop in loops if loop is not None}.values())


def cas_loop(loop: Node, function: Node, types: Types | None = None) -> CasLoop | str:
    """What the loop emulates, or why it is nothing of the kind, as the end of a sentence; `types` say more of types."""
    try:
        return _Step(loop, function, types).emulated()
    except _NotRead as reason:
        return str(reason)


def emulated_at(texts: SourceTexts, file: str, line: int) -> str | None:
    """What the compare-and-swap loop on that line emulates, as in "atomicMax"; "" where its text does not show that.

    None where there is none.
    """
    text = texts.read(file)
    for function in walk(tree_of(text)) if text is not None else ():
        if function.type != "function_definition":
            continue
        for loop in loops_with_cas(child_of(function, "body")):
            if loop.start_point.row < line <= loop.end_point.row + 1:
                found = cas_loop(loop, function)
                return "" if isinstance(found, str) else f"atomic{found.name}"
    return None


def code_of(kind: str) -> str:
    """The number type of a spelling; "" for anything else."""
    bare = squeeze(_QUALIFIERS.sub(" ", kind))
    whole = INTEGERS.get(bare)
    if whole is not None:
        return f"{'i' if whole.signed else 'u'}{whole.bits // 8}"
    return {"float": "f4", "double": "f8"}.get(bare, "")


def bit_cast(text: str, old: str, new: str) -> str:
    """An expression of type `old` with its bits read as `new`."""
    if old == new:
        return text
    names = {pair: name for name, pair in BIT_CASTS.items()}
    if (old, new) in names:
        return f"{names[old, new]}({text})"
    if new[0] == "f":
        return f"{names[f'i{old[1:]}', new]}({text})"
    if old[0] == "f":
        text = f"{names[old, f'i{new[1:]}']}({text})"
    return f"({SPELLINGS[new]}){text if _ONE_OPERAND.fullmatch(text) else f'({text})'}"


class _Step:
    """One step of a loop, followed from its begin to its end."""

    def __init__(self, loop: Node, function: Node, types: Types | None) -> None:
        swaps = [n for n in walk(loop) if called(n) == "atomicCAS"]
        if loop.has_error or len(swaps) != 1 or len(arguments_of(swaps[0])) != 3:
            raise _NotRead("it swaps at more than one place, or is not read")
        self.loop, self.function, self.types, self.swap = loop, function, types, swaps[0]
        self.pointer = self._origin(arguments_of(self.swap)[0])
        self.memory = self._pointed(arguments_of(self.swap)[0])
        if self.memory not in SPELLINGS or self.memory[0] == "f":
            raise _NotRead("the type of what it swaps is not known")
        self.changed = variables_set(loop, {self.swap.id}) | {n for n, _, _ in declarations_in(loop)}
        if names_in(self.pointer) & self.changed or any(n.type in _EFFECTS for n in walk(self.pointer)):
            raise _NotRead("its address changes from step to step")
        self.values: dict[str, Value] = {}
        self.start = ""  # the variable that a step begins with; "" where it reads the memory
        self.desired: Value | None = None

    def emulated(self) -> CasLoop:
        """The operation. Raises _NotRead."""
        statements = statements_of(child_of(self.loop, "body"))
        if self.loop.type not in ("do_statement", "while_statement"):
            raise _NotRead("it is no `do` or `while`")
        guard = self._guard() if self.loop.type == "while_statement" else None
        ends: dict[str, Value] | None = None
        for statement in statements:
            if guard is None or ends is not None or statement.type != "if_statement":
                self._run(statement)
            else:
                self._end_by_break(statement)
                ends = dict(self.values)
        if guard is None:
            self._end(child_of(self.loop, "condition"), "!=")
            ends = self.values
        desired = self.desired
        if desired is None or (self.start and self.values.get(self.start, _NONE).kind != _FOUND):
            raise _NotRead("a step that failed does not go on from the value that it found")
        if guard is not None:
            if (
                not self.start
                or (desired.kind, desired.text) != ("given", guard.text)
                or guard.read != desired.type
            ):
                raise _NotRead("it ends without a swap where something would change")
            self._check_first_read()
            desired = guard
        name = "Exch" if desired.kind == "given" else desired.kind
        if name in (_OLD, _FOUND) or desired.type[1:] != self.memory[1:] or desired.type not in SPELLINGS:
            raise _NotRead("no atomic operation of the hardware computes its new value")
        kept = self._kept(guard is not None, ends or {})
        return CasLoop(
            self.loop,
            self.pointer,
            self._pointed(self.pointer),
            name,
            desired.type,
            desired.text,
            kept,
        )

    # -- statements

    def _run(self, statement: Node) -> None:
        if statement.type == "declaration":
            for declarator in statement.children_by_field_name("declarator"):
                if declarator.type == "init_declarator":
                    self._set(child_of(declarator, "declarator"), self.value(child_of(declarator, "value")))
                elif declarator.type != "identifier":
                    raise _NotRead("it declares something else than a number")
        elif statement.type == "expression_statement" and statement.named_children:
            if statement.named_children[0].type != "assignment_expression":
                raise _NotRead("it does something else than computing a value")
            self.value(statement.named_children[0])
        else:
            raise _NotRead("it does something else than computing a value")

    def _set(self, target: Node, value: Value) -> Value:
        """A variable gets a value, as its own type: between integers of one size the bits stay."""
        code = self._type_of(target) if target.type == "identifier" else ""
        code = value.read if code == "auto" else code
        same = code == value.read or ("f" not in code + value.read and code[1:] == value.read[1:])
        if not code or not same or text_of(target) not in self.changed:
            raise _NotRead(f"`{text_of(target)}` is no number of the type that it is given")
        self.values[text_of(target)] = Value(value.kind, value.type, code, value.text)
        return self.values[text_of(target)]

    def _end_by_break(self, statement: Node) -> None:
        """`if (found == was) break;`."""
        inner = child_of(statement, "consequence")
        inner = inner.named_children[0] if len(inner.named_children) == 1 else inner
        if inner.type != "break_statement" or statement.child_by_field_name("alternative") is not None:
            raise _NotRead("it does more than end where it has swapped")
        self._end(child_of(statement, "condition"), "==")

    def _end(self, condition: Node, operator: str) -> None:
        """The condition that the swap failed (`!=`) or succeeded (`==`)."""
        condition = _inside(condition)
        sides = [child_of(condition, side) for side in ("left", "right")]
        if not joins(condition, operator):
            raise _NotRead("its end is not that the swap succeeds")
        set_here = {
            text_of(child_of(n, "left")) for n in walk(condition) if n.type == "assignment_expression"
        }
        if any(set_here & names_in(_inside(side)) for side in sides if _inside(side).type == "identifier"):
            raise _NotRead("its end is not that the swap succeeds")
        found = [self.value(side) for side in sides]
        if {v.kind for v in found} != {_OLD, _FOUND} or any(v.read[0] == "f" for v in found):
            raise _NotRead("its end is not that the swap succeeds")

    def _guard(self) -> Value:
        """`x < old`, under which a step is made: the minimum or maximum."""
        condition = _inside(child_of(self.loop, "condition"))
        operator = operator_of(condition)
        if condition.type != "binary_expression" or operator not in ("<", ">"):
            raise _NotRead("its condition is no comparison")
        left, right = (self.value(child_of(condition, side)) for side in ("left", "right"))
        if left.kind == _OLD:
            left, right, operator = right, left, "<" if operator == ">" else ">"
        if (left.kind, right.kind) != ("given", _OLD) or left.read != right.read:
            raise _NotRead("its condition does not compare a number with the memory's of the same type")
        return Value("Min" if operator == "<" else "Max", left.read, left.read, left.text)

    # -- values

    def value(self, node: Node) -> Value:
        """What an expression is. Raises _NotRead for what is neither given nor one operation of the memory's value."""
        node = _inside(node)
        if node.id == self.swap.id:
            return self._swapped()
        if sets(node):
            return self._set(child_of(node, "left"), self.value(child_of(node, "right")))
        name = called(node)
        if name in BIT_CASTS or node.type == "cast_expression":
            inner = self.value(arguments_of(node)[0] if name else child_of(node, "value"))
            taken, code = (
                BIT_CASTS[name] if name in BIT_CASTS else ("", code_of(text_of(child_of(node, "type"))))
            )
            whole = "f" not in inner.read + (taken or code) and inner.read[1:] == (taken or code)[1:]
            if code and (whole or inner.read == (taken or code)):
                return Value(inner.kind, inner.type, code, inner.text)
            if code and inner.kind == "given" and not names_in(node) & self.changed:
                return Value("given", code, code, text_of(node))
        elif node.type == "identifier" and text_of(node) in self.changed:
            return self._variable(node)
        elif self._is_read(node):
            code = self._type_of_read(node)
            if not self.start and code[1:] == self.memory[1:]:
                return Value(_OLD, self.memory, code)
        elif not names_in(node) & self.changed and not any(n.type in _EFFECTS for n in walk(node)):
            code = self._type_of(node)
            if code in ("", "auto"):
                raise _NotRead(f"the type of `{squeeze(text_of(node))}` is not known")
            return Value("given", code, code, squeeze(text_of(node)))
        elif node.type == "binary_expression":
            return self._operation(node)
        elif name in _EXTREMES and len(arguments_of(node)) == 2:
            sides = [self.value(a) for a in arguments_of(node)]
            return _of_old(_EXTREMES[name or ""], sides)
        raise _NotRead(f"`{squeeze(text_of(node))}` is not followed")

    def _swapped(self) -> Value:
        _, expected, desired = arguments_of(self.swap)
        was, self.desired = self.value(expected), self.value(desired)
        if was.kind != _OLD or any(
            v.read[0] == "f" or v.read[1:] != self.memory[1:] for v in (was, self.desired)
        ):
            raise _NotRead("it does not swap what a step began with")
        return Value(_FOUND, self.memory, self.memory)

    def _variable(self, node: Node) -> Value:
        name = text_of(node)
        if name in self.values:
            return self.values[name]
        code = self._type_of(node)
        if self.start not in ("", name) or code[1:] != self.memory[1:] or name in _declared_in(self.loop):
            raise _NotRead(f"`{name}` changes from step to step")
        self.start = name
        self.values[name] = Value(_OLD, self.memory, code)
        return self.values[name]

    def _operation(self, node: Node) -> Value:
        operator = operator_of(node)
        sides = [self.value(child_of(node, side)) for side in ("left", "right")]
        if operator not in _ARITHMETIC or (operator == "-" and sides[0].kind != _OLD):
            raise _NotRead("no atomic operation of the hardware computes its new value")
        return _of_old(_ARITHMETIC[operator], sides)

    # -- types and addresses

    def _type_of(self, node: Node) -> str:
        """The number type of an expression; "auto" for a variable that is declared so, "" where it is not known."""
        node = _inside(node)
        text = text_of(node)
        if node.type == "identifier":
            listed = [one for one in self._declared(self.loop) if one[0] == text]
            listed = listed or [one for one in self._declared(self.function) if one[0] == text]
            if not all(plain for _, _, plain in listed):
                return ""  # a pointer, a reference, or memory that others change
            kinds = {kind for _, kind, _ in listed}
            code = code_of(next(iter(kinds))) if len(kinds) == 1 else ""
            return code or ("auto" if kinds == {"auto"} else code_of(self._told(node))) if kinds else ""
        if node.type == "number_literal":
            if re.search(r"[.eE]", text) and not text.lower().startswith("0x"):
                return "f4" if text.lower().endswith("f") else "f8"
            return ("u" if "u" in text.lower() else "i") + ("8" if "l" in text.lower() else "4")
        if (told := code_of(self._told(node))) or node.type == "call_expression":
            return told or BIT_CASTS.get(called(node) or "", ("", ""))[1]
        if node.type == "cast_expression":
            return code_of(text_of(child_of(node, "type")))
        if node.type == "subscript_expression":
            base = text_of(child_of(node, "argument"))
            return (
                self._element(base)
                if any(n == base and "const" in k for n, k, _ in self._declared(self.function))
                else ""
            )
        if node.type == "unary_expression" and text[0] in "-~":
            return self._type_of(child_of(node, "argument"))
        if node.type == "binary_expression" and (operator := operator_of(node)) in _COMPUTED:
            sides = [self._type_of(child_of(node, side)) for side in ("left", "right")]
            return common_type(*(sides[:1] * 2 if operator in ("<<", ">>") else sides))
        return ""

    def _told(self, node: Node) -> str:
        return (self.types(node) if self.types is not None else None) or ""

    def _declared(self, around: Node) -> Iterator[tuple[str, str, bool]]:
        """Names with their types as they are written, `const` included, and whether each is a plain variable."""
        for node in walk(around):
            if node.type not in ("declaration", "parameter_declaration"):
                continue
            for declarator in node.children_by_field_name("declarator"):
                shape = (
                    child_of(declarator, "declarator") if declarator.type == "init_declarator" else declarator
                )
                name = next((text_of(n) for n in walk(shape) if n.type == "identifier"), "")
                words = {text_of(c) for c in node.children}
                plain = shape.type == "identifier" and not words & {
                    "__shared__",
                    "static",
                    "volatile",
                    "extern",
                }
                kind = text_of(child_of(node, "type"))
                yield name, f"const {kind}" if "const" in words and not plain else kind, plain

    def _element(self, name: str) -> str:
        """The number type of what a pointer or an array leads to."""
        codes = {
            code_of(kind)
            for listed, kind, plain in self._declared(self.function)
            if listed == name and not plain
        }
        return next(iter(codes)) if len(codes) == 1 else ""

    def _pointed(self, pointer: Node) -> str:
        """The number type that a pointer leads to."""
        pointer = _inside(pointer)
        if pointer.type == "cast_expression":
            return code_of(text_of(child_of(pointer, "type")).replace("*", " "))
        if pointer.type == "call_expression" and (cast := _POINTER_CASTS.match(text_of(pointer))) is not None:
            return code_of(cast[1])
        if takes_address(pointer):
            inner = child_of(pointer, "argument")
            base = child_of(inner, "argument") if inner.type == "subscript_expression" else inner
            return self._element(text_of(base)) or code_of(self._told(inner))
        if pointer.type == "binary_expression":
            return self._pointed(child_of(pointer, "left"))
        declared = [d for n, d, _ in declarations_in(self.function) if n == text_of(pointer)]
        if (
            len(declared) == 1
            and declared[0].type == "init_declarator"
            and not self._element(text_of(pointer))
        ):
            return self._pointed(child_of(declared[0], "value"))
        return self._element(text_of(pointer))

    def _origin(self, pointer: Node) -> Node:
        """The pointer without casts, and without a variable that only gives it another name."""
        pointer = _inside(pointer)
        if pointer.type == "cast_expression":
            return self._origin(child_of(pointer, "value"))
        if pointer.type == "call_expression" and _POINTER_CASTS.match(text_of(pointer)):
            return self._origin(arguments_of(pointer)[0])
        declared = [d for n, d, _ in declarations_in(self.function) if n == text_of(pointer)]
        if pointer.type != "identifier" or len(declared) != 1 or declared[0].type != "init_declarator":
            return pointer
        value = child_of(declared[0], "value")
        moved = variables_set(child_of(self.function, "body"), {self.swap.id})
        steady = not (names_in(value) | {text_of(pointer)}) & moved
        # An address stays, and what a constant pointer leads to.
        reads = (n for n in walk(value) if n.type == "subscript_expression")
        kept = all(text_of(n.parent or n).startswith("&") or self._type_of(n) for n in reads)
        return self._origin(value) if steady and kept and self._pointed(value) else pointer

    def _is_read(self, node: Node) -> bool:
        """Whether an expression reads the memory that is swapped."""
        if (name := called(node)) is not None:
            return _LOADS.fullmatch(name) is not None and _same(
                self._origin(arguments_of(node)[0]), self.pointer
            )
        if node.type == "pointer_expression" and text_of(node).startswith("*"):
            return _same(self._origin(child_of(node, "argument")), self.pointer)
        place = self.pointer
        return place.type == "pointer_expression" and _same(node, child_of(place, "argument"))

    def _type_of_read(self, node: Node) -> str:
        if called(node) is not None:
            return self._pointed(arguments_of(node)[0])
        return self._pointed(
            child_of(node, "argument") if node.type == "pointer_expression" else self.pointer
        )

    # -- around the loop

    def _check_first_read(self) -> None:
        """A loop that may end at once compares what was read there just before. Raises _NotRead."""
        uses = [n for n in walk(self.function) if n.type == "identifier" and text_of(n) == self.start]
        before = [n for n in uses if n.end_byte <= self.loop.start_byte]
        values = []
        for use in before:
            outer = use.parent
            kind = outer.type if outer is not None else ""
            field_name = {"init_declarator": "declarator", "assignment_expression": "left"}.get(kind)
            if outer is not None and field_name and child_of(outer, field_name).id == use.id:
                side = "value" if kind == "init_declarator" else "right"
                if kind == "assignment_expression" and operator_of(outer) != "=":
                    raise _NotRead(f"`{self.start}` is changed before it")
                values.append(child_of(outer, side))
            elif kind not in ("declaration", "binary_expression"):
                raise _NotRead(f"`{self.start}` may be changed before it")
        read = _Step(self.loop, self.function, self.types)
        if not values or any(read.value(value).kind != _OLD or read.start for value in values):
            raise _NotRead("it compares a value that was not read there")
        begin = self.function.start_byte
        between = (self.function.text or b"")[values[-1].end_byte - begin : self.loop.start_byte - begin]
        if TOGETHER.search(between.decode("utf-8", "replace")):
            raise _NotRead("threads wait for each other between its first read and the loop")

    def _kept(self, guarded: bool, ends: Mapping[str, Value]) -> dict[str, str]:
        """The variables that are read after the loop, by their types. Raises _NotRead for one with another value."""
        again = [a for a in ancestors(self.loop, self.function) if a.type in LOOPS]
        kept = {}
        for name in sorted(self.changed - _declared_in(self.loop)):
            later = (n for n in walk(self.function) if n.type == "identifier" and text_of(n) == name)
            if not any(n.start_byte >= self.loop.end_byte or _around(n, again, self.loop) for n in later):
                continue
            held = ends.get(name, _NONE)
            plain = held.kind in (_OLD, _FOUND) and (not guarded or name == self.start)
            if not plain:
                raise _NotRead(f"`{name}` is used after it")
            kept[name] = held.read
        return kept


_NONE = Value("", "", "")
_EFFECTS = frozenset(
    {"assignment_expression", "update_expression", "lambda_expression", "gnu_asm_expression"}
)
_COMPUTED = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"})


def common_type(left: str, right: str) -> str:
    """C++'s type of an operation on two numbers; "" where one is not known."""
    if not left or not right:
        return ""
    if "f" in left + right:
        return max(code for code in (left, right) if code[0] == "f")
    left, right = (code if code[1:] >= "4" else "i4" for code in (left, right))
    size = max(left[1], right[1])
    return ("u" if f"u{size}" in (left, right) else "i") + size


def _of_old(kind: str, sides: list[Value]) -> Value:
    """An operation of what the memory held and a number that is given. Raises _NotRead for another one."""
    old = next((v for v in sides if v.kind == _OLD), None)
    given = next((v for v in sides if v.kind == "given"), None)
    code = common_type(*(v.read for v in sides))
    plain = old is not None and old.read == code and (code[:1] in "iu" or kind in ("Add", "Sub"))
    if (
        given is None
        or not plain
        or (given.read != code and ("f" in given.read + code or kind in ("Min", "Max")))
    ):
        raise _NotRead("no atomic operation of the hardware computes its new value")
    text = given.text if given.read == given.type else bit_cast(given.text, given.type, given.read)
    return Value(kind, code, code, text)


def _inside(node: Node) -> Node:
    """The expression in parentheses, or in the clause of a condition."""
    while node.type in ("parenthesized_expression", "condition_clause") and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def _same(one: Node, other: Node) -> bool:
    return re.sub(r"\s|^&|\[0\]$", "", text_of(one)) == re.sub(r"\s|^&|\[0\]$", "", text_of(other))


def _declared_in(loop: Node) -> frozenset[str]:
    return frozenset(name for name, _, _ in declarations_in(loop))


def _around(node: Node, loops: list[Node], loop: Node) -> bool:
    outside = not loop.start_byte <= node.start_byte < loop.end_byte
    return outside and any(a.start_byte <= node.start_byte < a.end_byte for a in loops)
