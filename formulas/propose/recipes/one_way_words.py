"""Words of memory that a kernel moves one way only, so that one look at a word tells what can no longer happen to it.

Takes the atomics of a kernel, gives for each the word that it changes, or the sentence of what stands in the way. A
word moves one way where all that changes it are atomics of one kind: minima, maxima, bits that are set, bits that are
cleared, one constant that is stored, or one constant that is replaced. A read may then be old: it still shows a state
that the word has passed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared, relies_on_others
from hipscope.analysis.source.nodes import child_of, code_of, declarations_in, names_in, text_of, walk
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.parse import use_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of

ARGUMENTS = {"atomicMin": 2, "atomicMax": 2, "atomicOr": 2, "atomicAnd": 2, "atomicExch": 2, "atomicCAS": 3}
_CONSTANT = {"atomicExch": 1, "atomicCAS": 1}  # the argument that has to be the same in all of them

_BY_VALUE = re.compile(
    r"(atomic\w+|(std::)?(min|max|abs)|static_cast\s*<[^&]*>|int|unsigned|float|double)\s*\("
)
_ELSEWHERE = re.compile(r"\b(__device__|__managed__|__constant__|extern)\b[^;(){}=]*$")


@dataclass(frozen=True)
class Word:
    """Which words an atomic may change: the pointer they are reached by, the members behind it, and their type."""

    base: str
    members: tuple[str, ...]
    type: str

    def may_be(self, members: tuple[str, ...]) -> bool:
        """Whether a place behind the same pointer with these members may be, or hold, such a word."""
        shared = min(len(members), len(self.members))
        return members[:shared] == self.members[:shared]


@dataclass(frozen=True)
class OneWayWords:
    """A kernel's words; `names` are the locals that point to one place throughout, with what they are declared as."""

    kernel: KernelSyntax
    facts: LaunchFacts
    source: bytes
    pointers: frozenset[str]
    names: dict[str, Node]

    def word_of(self, atomic: Atomic) -> Word | str:
        """The word that an atomic changes, or why it may move another way, too."""
        where = f"the {atomic.function} on line {atomic.span.line}"
        if ARGUMENTS.get(atomic.function) != len(atomic.arguments):
            return f"{where} may change a word that it has passed"
        constant = _constant_of(atomic)
        if constant is not None and not self.is_constant(constant):
            return f"`{text_of(constant)}` of {where} is not a constant"
        place = self._place(atomic.arguments[0])
        kind = self._type(atomic.arguments[0], place)
        if place is None or kind is None:
            return f"which integers {where} changes is not known"
        if place[1] and re.search(rb"\bunion\b", self.source):
            return f"{where} changes a member, and the file has a union"
        word = Word(place[0], place[1], kind)
        return self._other_change(atomic, word) or word

    def is_constant(self, node: Node) -> bool:
        """Whether an expression has one value for all threads of a launch."""
        own = {name for name, _, _ in declarations_in(self.kernel.body_node)} | changed_once_declared(
            self.kernel
        )
        for part in walk(node):
            if part.type in (
                "call_expression",
                "subscript_expression",
                "field_expression",
                "lambda_expression",
            ):
                return False
            if part.type == "pointer_expression" or part.type.startswith(("assignment", "update")):
                return False
        for name in names_in(node):
            parameter = self.kernel.parameter(name)
            if name in own | self.kernel.state or name in ("threadIdx", "blockIdx"):
                return False
            if parameter is not None and (parameter.pointer or "&" in parameter.type):
                return False
            if parameter is None and self._is_variable(name):
                return False
        return True

    def _is_variable(self, name: str) -> bool:
        text = self.source.decode("utf-8", "replace")
        return any(_ELSEWHERE.search(text[: found.start()]) for found in re.finditer(rf"\b{name}\b", text))

    def _type(self, address: Node, place: tuple[str, tuple[str, ...]] | None) -> str | None:
        """The integer type that an address leads to, as the compiler or the text says."""
        told = self.facts.types.of(self.source, address)
        if told is not None:
            kind = told.removesuffix("*").strip() if told.endswith("*") else None
        elif address.type == "cast_expression":
            kind = text_of(child_of(address, "type")).rstrip("* ")
        else:
            kind = pointers_of(self.kernel, self.facts).get(place[0]) if place and not place[1] else None
        number = NUMBER_TYPES.get(kind or "")
        whole = number is not None and number.count == 1 and number.element.kind == "integer"
        return kind if whole and number is not None and number.element.size in (4, 8) else None

    def _place(self, node: Node) -> tuple[str, tuple[str, ...]] | None:
        """(pointer, members) of an address: `&t[i].key`, `p + i`, `&b->x`, where `b` begins in a pointer."""
        if node.type == "parenthesized_expression" and node.named_children:
            return self._place(node.named_children[0])
        if node.type == "cast_expression":
            return self._place(child_of(node, "value"))
        if text_of(node) in self.pointers:
            return text_of(node), ()
        if node.type == "identifier":
            begin = self.names.get(text_of(node))
            return self._place(begin) if begin is not None else None
        if node.type == "binary_expression" and text_of(child_of(node, "operator")) in "+-":
            return self._place(child_of(node, "left"))
        if node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "&":
            return self.element(child_of(node, "argument"))
        return None

    def element(self, node: Node) -> tuple[str, tuple[str, ...]] | None:
        """(pointer, members) of a place in memory: `t[i].key`, `*p`, `b->x`."""
        if node.type == "parenthesized_expression" and node.named_children:
            return self.element(node.named_children[0])
        if node.type == "subscript_expression":
            inner = child_of(node, "argument")
            return self._place(inner) or self.element(inner)
        if node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "*":
            return self._place(child_of(node, "argument"))
        if node.type == "field_expression":
            inner = child_of(node, "argument")
            outer = self._place(inner) if text_of(child_of(node, "operator")) == "->" else self.element(inner)
            return None if outer is None else (outer[0], (*outer[1], text_of(child_of(node, "field"))))
        return None

    def _other_change(self, atomic: Atomic, word: Word) -> str | None:
        """What else may change such a word, or may be told by when it changes."""
        if why := relies_on_others(self.kernel):
            return f"the kernel uses {why}: others may rely on when each word changes"
        for other in self.kernel.atomics:
            if (reason := self._other_atomic(atomic, word, other)) is not None:
                return reason
        return self._other_use(word) or self._alias(word)

    def _other_atomic(self, atomic: Atomic, word: Word, other: Atomic) -> str | None:
        place = self._place(other.arguments[0]) if other.arguments else None
        if self._is_apart(other.arguments[0] if other.arguments else other.node):
            return None
        if place is not None and (place[0] != word.base or not word.may_be(place[1])):
            return None
        same = other.function == atomic.function and self._type(other.arguments[0], place) == word.type
        first, second = _constant_of(atomic), _constant_of(other)
        if first is not None and second is not None:
            same = same and code_of(first) == code_of(second)
        if place is not None and same:
            return None
        return f"the {other.function} on line {other.span.line} may change the same words"

    def _other_use(self, word: Word) -> str | None:
        """Where the pointer is used for anything but reads, atomics, and members beside the word's."""
        addresses = {n.id for a in self.kernel.atomics for n in walk(a.arguments[0])}
        known = [begin for begin in self.names.values() if self._place(begin) is not None]
        begins = {n.id for begin in known for n in walk(begin)}
        root = word.base.partition(".")[0]
        names = {root} | {
            name for name, begin in self.names.items() if (self._place(begin) or ("",))[0] == word.base
        }
        if names & _names_of_macros(self.kernel.body_node):
            return f"a macro uses `{word.base}`"
        for node in walk(self.kernel.body_node):
            if node.type != "identifier" or text_of(node) not in names or node.id in addresses | begins:
                continue
            if node.parent is not None and _declares(node):
                continue
            if not self._harmless(node, word):
                return f"`{word.base}` is also used on line {node.start_point.row + 1}"
        return None

    def _harmless(self, name: Node, word: Word) -> bool:
        """Whether this use of a pointer only reads, or is of a place that holds no such word."""
        if any(o.span.start <= name.start_byte < o.span.end for o in self.kernel.through.opaque):
            return False
        outer, place = name, self._place(name)
        while (parent := outer.parent) is not None and _carries(parent, outer):
            outer, place = parent, self._place(parent) or self.element(parent)
        if place is None:
            return False
        if place[0] != word.base:
            return True
        if self.element(outer) is None or not word.may_be(place[1]):
            return self.element(outer) is not None
        call = parent.parent if parent is not None and parent.type == "argument_list" else None
        # A function of the program may take its argument by reference.
        if (
            call is not None
            and call.id not in self.kernel.through.meanings
            and not _BY_VALUE.match(text_of(call))
        ):
            return False
        return use_of(outer) == "read"

    def _alias(self, word: Word) -> str | None:
        """Whether something else that the kernel stores to may be the same memory."""
        if word.base in self.facts.disjoint:
            return None
        body = self.kernel.body_node
        stored = [s for s in walk(body) if s.type in ("assignment_expression", "update_expression")]
        targets = [child_of(s, "left" if s.type == "assignment_expression" else "argument") for s in stored]
        places = [self.element(t) for t in targets if t.type != "identifier" and not self._is_apart(t)]
        atomics = [a.arguments[0] for a in self.kernel.atomics if a.arguments]
        places += [self._place(address) for address in atomics if not self._is_apart(address)]
        others = any(place is None or place[0] != word.base for place in places)
        if not others and not self.kernel.through.opaque:
            return None
        return f"`{word.base}` may lead to the same memory as another pointer that the kernel stores to"

    def _is_apart(self, place: Node) -> bool:
        """Whether a place lies in an array of the kernel itself, LDS included."""
        first = next((n for n in walk(place) if n.type == "identifier"), None)
        name = text_of(first) if first is not None else ""
        if name in {array.name for array in self.kernel.shared}:
            return True
        for listed, declarator, _ in declarations_in(self.kernel.body_node):
            inner = declarator
            if declarator.type == "init_declarator":
                inner = child_of(declarator, "declarator")
            if listed == name and inner.type == "array_declarator":
                return "*" not in text_of(inner)
        return False


def one_way_words(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> OneWayWords:
    """The words of a kernel."""
    changed = changed_once_declared(kernel)
    declared = list(declarations_in(kernel.body_node))
    listed = [name for name, _, _ in declared]
    pointers = frozenset(pointers_of(kernel, facts)) - set(listed) - changed
    names = {}
    for node in walk(kernel.body_node):
        if node.type != "init_declarator":
            continue
        inner = child_of(node, "declarator")
        name = (
            inner.named_children[-1] if inner.type == "pointer_declarator" and inner.named_children else inner
        )
        text = text_of(name)
        once = listed.count(text) == 1 and text not in changed and kernel.parameter(text) is None
        if inner.type == "pointer_declarator" and name.type == "identifier" and once:
            names[text] = child_of(node, "value")
    return OneWayWords(kernel, facts, source, pointers, names)


def _constant_of(atomic: Atomic) -> Node | None:
    position = _CONSTANT.get(atomic.function)
    return atomic.arguments[position] if position is not None and len(atomic.arguments) > position else None


def _names_of_macros(body: Node) -> set[str]:
    """What the macros of the file name beside their own parameters."""
    root = body
    while root.parent is not None:
        root = root.parent
    found: set[str] = set()
    for node in walk(root):
        value = node.child_by_field_name("value") if node.type.startswith("preproc_") else None
        if value is not None:
            parameters = node.child_by_field_name("parameters")
            own = names_in(parameters) if parameters is not None else frozenset()
            found |= set(re.findall(r"[A-Za-z_]\w*", text_of(value))) - own
    return found


def _carries(parent: Node, child: Node) -> bool:
    """Whether the expression around a place is of the same memory; not so where the place is an index."""
    if parent.type == "parenthesized_expression":
        return True
    if parent.type == "binary_expression":
        return text_of(child_of(parent, "operator")) in "+-" and child_of(parent, "left").id == child.id
    if parent.type == "pointer_expression":
        return text_of(child_of(parent, "operator")) == "*"
    argument = parent.child_by_field_name("argument")
    return (
        parent.type in ("subscript_expression", "field_expression")
        and argument is not None
        and argument.id == child.id
    )


def _declares(name: Node) -> bool:
    outer = name.parent
    while outer is not None and outer.type == "pointer_declarator":
        outer = outer.parent
    first = (
        outer.child_by_field_name("declarator")
        if outer is not None and outer.type == "init_declarator"
        else None
    )
    return first is not None and first.start_byte <= name.start_byte < first.end_byte
