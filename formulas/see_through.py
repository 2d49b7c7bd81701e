"""What a kernel's calls of the program's own helpers stand for: `grid.at(i, j)`, `idx(i, j, ld)`, `IDX(i, j, ld)`.

Takes a kernel and what its program defines, gives the kernel with the accesses behind such calls among its subscripts.
Substitutes symbolically, and only where a function is one `return` (local constants before it are filled in): all else
is `Opaque`, with the reason. Nothing is guessed about types, overloads or names that mean something else in the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.formulas.aliases import Alias, aliases_in
from hipscope.formulas.callables import Callables, Function
from hipscope.formulas.divergence import thread_dependent_names
from hipscope.formulas.layouts import Definitions, lineage, member_type, structure_of
from hipscope.formulas.nodes import arguments_of, called, child_of, declared_name, squeeze, text_of, walk
from hipscope.formulas.syntax import (
    KernelSyntax,
    Opaque,
    Subscript,
    Through,
    parse_expression,
    span_of,
    use_of,
)

_DEEPEST = 8
_LONGEST = 4000  # characters of an expression that was filled in
_BUILT_INS = re.compile(r"\b(threadIdx|blockIdx|hipThreadIdx|hipBlockIdx|__lane_id)")
_ATOM = re.compile(r"[\w.]+|\(.*\)|[\w.:<>]+\([^()]*\)|[\w.]+\[[^\[\]]*\]", re.DOTALL)
_NARROW = re.compile(r"\b(?:char|short|bool|u?int8_t|u?int16_t|uchar|ushort)\b")
_WHOLE = re.compile(
    r"(?:const )?(?:(?:unsigned|signed|long|int|size_t|u?int(?:32|64)_t|uint|auto|ptrdiff_t) ?)+"
)
_NUMBER = re.compile(
    r"(?:const )?(?:(?:unsigned|signed|long|int|short|char|bool|float|double|size_t|half|__half|_Float16|auto|"
    r"ptrdiff_t|u?int\d+_t|uint|float[234]|int[234]|uint[234]|double[234]) ?)+"
)
_REACHES = (
    "subscript_expression",
    "pointer_expression",
    "gnu_asm_expression",
    "lambda_expression",
    "this",
    "new_expression",
)
_CHANGES = (
    "assignment_expression",
    "update_expression",
    "lambda_expression",
    "gnu_asm_expression",
    "new_expression",
)


class _CannotSee(Exception):
    """The reason, as the end of a sentence."""


@dataclass(frozen=True)
class _Place:
    """Where an expression stands: what its names are (texts of the kernel), and the object whose member it is in."""

    names: Mapping[str, str]
    owner: str | None = None
    given: Mapping[str, str] | None = None


_KERNEL = _Place({})


def see_through(
    kernel: KernelSyntax,
    callables: Callables,
    definitions: Definitions,
    types: Mapping[str, str] | None = None,
) -> KernelSyntax:
    """The kernel with what its calls stand for. `types` are the values of its template parameters, where known."""
    seer = _Seer(kernel, callables, definitions, types or {})
    meanings: dict[int, Node] = {}
    opaque: list[Opaque] = []
    found: list[Subscript] = []
    known = {
        s.node.id
        for s in kernel.subscripts
        if seer.structure(s.base) is None and s.base.partition(".")[0] not in seer.aliases
    }
    for node in _chains(kernel.body_node):
        try:
            text = seer.expand(node, _KERNEL, 0)
        except _CannotSee as reason:
            if seer.may_access(node):
                opaque.append(Opaque(span_of(node), squeeze(text_of(node)), str(reason)))
            continue
        if text == text_of(node) and node.type != "pointer_expression":
            continue
        meaning = parse_expression(text)
        if meaning is None:
            opaque.append(Opaque(span_of(node), squeeze(text_of(node)), "it is no plain expression"))
            continue
        if seer.is_whole_number(node):
            meanings[node.id] = meaning
        if node.id not in known:
            found += _accesses(meaning, node)
    found += (s for s in kernel.subscripts if s.node.id in known)
    named = [a.declaration for name, a in seer.locals.items() if name in seer.aliases]
    found = [s for s in found if s.use != "address" or not any(_within(s.node, d) for d in named)]
    varying = frozenset(
        name for name, listed in callables.macros.items() if any(_BUILT_INS.search(m.text) for m in listed)
    )
    return replace(
        kernel,
        subscripts=tuple(sorted(found, key=lambda s: s.span.start)),
        thread_dependent=kernel.thread_dependent | thread_dependent_names(kernel.body_node, varying),
        through=Through(
            meanings,
            tuple(opaque),
            seer.built_ins(),
            callables.constants,
            frozenset(declaration.id for declaration in named),
        ),
    )


def _within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _chains(body: Node) -> Iterator[Node]:
    """Calls, subscripts and dereferences, seen from the outermost of `g.row(i)[j]` and `*g.pointer(i)`."""
    for node in walk(body):
        if node.type not in ("call_expression", "subscript_expression", "pointer_expression"):
            continue
        if node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "&":
            continue
        if not _goes_on(node):
            yield node


def _goes_on(node: Node) -> bool:
    child, parent = node, node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        child, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "subscript_expression":
        return child_of(parent, "argument").id == child.id
    if parent.type == "pointer_expression":
        return text_of(child_of(parent, "operator")) == "*"
    if parent.type == "field_expression":
        outer = parent.parent
        called_on = outer is not None and outer.type == "call_expression"
        return called_on and outer is not None and child_of(outer, "function").id == parent.id
    return False


def _accesses(meaning: Node, node: Node) -> Iterator[Subscript]:
    """The elements that an expression reads or writes, as subscripts of `node`."""
    inner = meaning
    while inner.type == "parenthesized_expression" and inner.named_children:
        inner = inner.named_children[0]
    for part in walk(inner):
        element = _element(part)
        if element is None or _address_taken(part):
            continue
        whole = part.id == inner.id
        base, index = element
        if (at := parse_expression(index)) is not None:
            yield Subscript(base, (at,), use_of(node) if whole else "read", node, span_of(node), whole)


def _address_taken(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    return (
        outer is not None
        and outer.type == "pointer_expression"
        and text_of(child_of(outer, "operator")) == "&"
    )


def _element(node: Node) -> tuple[str, str] | None:
    """(pointer, index) of `p[i]`, `(p + r)[i]`, `*(p + i)`, `(&p[r])[i]`."""
    if node.type == "subscript_expression":
        listed = [c for c in child_of(node, "indices").named_children if c.type != "comment"]
        pointer = _pointer(child_of(node, "argument"))
        if pointer is None or len(listed) != 1:
            return None
        return pointer[0], _sum(pointer[1], text_of(listed[0]))
    if node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "*":
        return _pointer(child_of(node, "argument"))
    return None


def _pointer(node: Node) -> tuple[str, str] | None:
    """(name or member, offset in elements) of a pointer expression."""
    if node.type == "parenthesized_expression" and node.named_children:
        return _pointer(node.named_children[0])
    if node.type == "identifier" or (node.type == "field_expression" and "->" not in text_of(node)):
        return text_of(node), "0"
    if node.type == "binary_expression" and text_of(child_of(node, "operator")) == "+":
        left = _pointer(child_of(node, "left"))
        return None if left is None else (left[0], _sum(left[1], text_of(child_of(node, "right"))))
    if node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "&":
        return _element(child_of(node, "argument"))
    return None


def _sum(first: str, second: str) -> str:
    return second if first == "0" else f"({first}) + ({second})"


class _Seer:
    """Expands expressions of one kernel."""

    def __init__(
        self, kernel: KernelSyntax, callables: Callables, definitions: Definitions, types: Mapping[str, str]
    ) -> None:
        self.kernel, self.callables, self.definitions, self.types = kernel, callables, definitions, types
        self.declared = {p.name for p in kernel.parameters} | {
            text_of(name)
            for node in walk(kernel.body_node)
            if node.type == "declaration"
            for declarator in node.children_by_field_name("declarator")
            if (name := declared_name(declarator)) is not None
        }
        self.changed = {
            text_of(inner)
            for node in walk(kernel.body_node)
            if node.type in ("assignment_expression", "update_expression")
            for target in [node.child_by_field_name("left") or child_of(node, "argument")]
            if target.type in ("field_expression", "identifier")
            for inner in [child_of(target, "argument")]
        }

        self.locals, self.aliases = aliases_in(kernel), dict[str, str]()
        for alias in self.locals.values():  # in their order: one may be of another
            if (text := self._meant(alias)) is not None:
                self.aliases[alias.name] = text

    def _meant(self, alias: Alias) -> str | None:
        """What a local stands for, if it is a view of the kernel's, or a place that one of its pointers leads to."""
        try:
            text = self.expand(alias.value, _KERNEL, 0)
        except _CannotSee:
            return None
        if self.structure(text) is not None:
            return None if alias.pointer else text
        meaning = parse_expression(text)
        found = _pointer(meaning) if meaning is not None else None
        return f"({text})" if found is not None and self._is_pointer(found[0]) else None

    def _is_pointer(self, name: str) -> bool:
        root, _, path = name.partition(".")
        parameter = self.kernel.parameter(root)
        if parameter is None or root in self.changed:
            return False
        if not path:
            return parameter.pointer
        kind = "".join(self.types.get(w, w) for w in re.split(r"(\w+)", parameter.type))
        return not parameter.pointer and (member_type(self.definitions, kind, path) or "").endswith("*")

    def expand(self, node: Node, place: _Place, depth: int) -> str:
        """The expression in the kernel's own names. Raises _CannotSee."""
        if depth > _DEEPEST:
            raise _CannotSee("it calls too deep")
        if node.type in _CHANGES:
            raise _CannotSee(f"`{squeeze(text_of(node))[:40]}` changes something")
        if node.type == "identifier":
            return self._name(node, place)
        if node.type == "qualified_identifier":
            return text_of(node)
        if node.type == "call_expression":
            return self._call(node, place, depth)
        if node.type == "subscript_expression":
            inner = self.expand(child_of(node, "argument"), place, depth)
            if (structure := self.structure(inner)) is not None:
                listed = [c for c in child_of(node, "indices").named_children if c.type != "comment"]
                return self._method(inner, structure, "operator[]", self._texts(listed, place, depth), depth)
        if node.type == "field_expression":
            argument = child_of(node, "argument")
            if argument.type == "this":
                if place.owner is None:
                    raise _CannotSee("`this` is not known")
                return f"{place.owner}.{text_of(child_of(node, 'field'))}"
            if text_of(child_of(node, "operator")) == "->" and (
                place.owner is not None or self._leads_on(argument, text_of(child_of(node, "field")))
            ):
                raise _CannotSee("it goes through a pointer to a structure")
        pieces, whole, position = [], node.text or b"", node.start_byte
        for child in node.children:
            pieces.append(whole[position - node.start_byte : child.start_byte - node.start_byte].decode())
            pieces.append(self.expand(child, place, depth) if child.is_named else text_of(child))
            position = child.end_byte
        pieces.append(whole[position - node.start_byte :].decode("utf-8", "replace"))
        text = "".join(pieces)
        if len(text) > _LONGEST:
            raise _CannotSee("it grows too long")
        return text

    def _leads_on(self, argument: Node, field: str) -> bool:
        """Whether `argument->field` is a pointer in a structure in memory: where it leads no launch tells."""
        parameter = self.kernel.parameter(text_of(argument))
        if parameter is None or not parameter.pointer:
            return False
        kind = "".join(self.types.get(w, w) for w in re.split(r"(\w+)", parameter.element_type))
        return (member_type(self.definitions, kind, field) or "").endswith("*")

    def _texts(self, nodes: list[Node] | tuple[Node, ...], place: _Place, depth: int) -> list[str]:
        return [self.expand(n, place, depth) for n in nodes]

    def _name(self, node: Node, place: _Place) -> str:
        name = text_of(node)
        if place is _KERNEL:
            return self.aliases.get(name, name)
        if name in place.names:
            return place.names[name]
        if place.owner is not None:
            structure = self.structure(place.owner)
            if structure is not None and member_type(self.definitions, structure, name) is not None:
                return f"{place.owner}.{name}"
        if place.given is not None and name in place.given:
            return f"({place.given[name]})"
        if name in self.declared:
            raise _CannotSee(f"`{name}` means something else in the kernel")
        return name

    def structure(self, text: str) -> str | None:
        """The structure that a parameter, or a member of one, is by value; None for anything else."""
        bare = text.strip()
        while bare.startswith("(") and bare.endswith(")"):
            bare = bare[1:-1].strip()
        if not re.fullmatch(r"\w+(\.\w+)*", bare):
            return None
        root, _, path = bare.partition(".")
        parameter = self.kernel.parameter(root)
        if parameter is None or parameter.pointer or root in self.changed:
            return None
        kind: str | None = "".join(self.types.get(w, w) for w in re.split(r"(\w+)", parameter.type))
        if path and kind is not None:
            kind = member_type(self.definitions, kind, path)
        return kind if kind is not None and structure_of(self.definitions, kind) is not None else None

    def _call(self, node: Node, place: _Place, depth: int) -> str:
        function, arguments = child_of(node, "function"), arguments_of(node)
        if function.type == "field_expression":
            if (
                text_of(child_of(function, "operator")) == "->"
                and child_of(function, "argument").type != "this"
            ):
                raise _CannotSee("it goes through a pointer to a structure")
            inner = child_of(function, "argument")
            if inner.type == "this":
                owner = place.owner or ""
            else:
                owner = self.expand(inner, place, depth)
            structure = self.structure(owner)
            if structure is None:
                raise _CannotSee(f"what `{squeeze(text_of(inner))}` is cannot be told")
            name = re.sub(r"<.*", "", text_of(child_of(function, "field")))
            if (callable_member := self.structure(f"{owner}.{name}")) is not None:
                owner, structure, name = f"{owner}.{name}", callable_member, "operator()"
            return self._method(owner, structure, name, self._texts(arguments, place, depth), depth)
        name = (called(node) or "").rpartition("::")[2]
        object_text = place.names.get(name, self.aliases.get(name, name) if place is _KERNEL else name)
        if (structure := self.structure(object_text)) is not None:
            return self._method(
                object_text, structure, "operator()", self._texts(arguments, place, depth), depth
            )
        if place.owner is not None:
            structure = self.structure(place.owner)
            if structure is not None and self._methods(structure, name):
                return self._method(place.owner, structure, name, self._texts(arguments, place, depth), depth)
        if name in self.callables.macros:
            return self._macro(node, name, [text_of(a) for a in arguments], place, depth)
        if name in self.callables.functions:
            chosen = _only(name, self.callables.functions[name], len(arguments))
            return self._body(chosen, self._texts(arguments, place, depth), None, None, depth)
        return self._plain_call(node, function, arguments, place, depth)

    def _plain_call(
        self, node: Node, function: Node, arguments: tuple[Node, ...], place: _Place, depth: int
    ) -> str:
        """A call of nothing that the program defines, with its arguments filled in."""
        if place is not _KERNEL and called(node) in self.declared:
            raise _CannotSee(f"`{called(node)}` means something else in the kernel")
        head = (node.text or b"")[: function.end_byte - node.start_byte].decode("utf-8", "replace")
        given = self._texts(arguments, place, depth)
        if place is _KERNEL and given == [text_of(a) for a in arguments]:
            return text_of(node)
        return f"{head}({', '.join(given)})"

    def _methods(self, structure: str, name: str) -> tuple[tuple[Function, Mapping[str, str]], ...]:
        """Those of the structure and of its bases, with what template parameters stand for there."""
        return tuple(
            (function, given)
            for node, given in lineage(self.definitions, structure)
            for function in self.callables.methods.get(
                (text_of(child_of(node, "name")).partition("<")[0], name), ()
            )
        )

    def _method(self, owner: str, structure: str, name: str, arguments: list[str], depth: int) -> str:
        listed = self._methods(structure, name)
        if not listed:
            raise _CannotSee(f"no definition of `{name}` was found in `{structure}`")
        chosen = _only(name, tuple(function for function, _ in listed), len(arguments))
        given = next(given for function, given in listed if function is chosen)
        return self._body(chosen, arguments, owner, given, depth)

    def _body(
        self,
        function: Function,
        arguments: list[str],
        owner: str | None,
        given: Mapping[str, str] | None,
        depth: int,
    ) -> str:
        """What the function returns, for these arguments."""
        names: dict[str, str] = {}
        for (name, kind), text in zip(function.parameters, arguments, strict=True):
            if not name:
                raise _CannotSee(f"`{function.name}` has a parameter without a name or with a default value")
            if _NARROW.search(kind) and "*" not in kind and "&" not in kind:
                raise _CannotSee(f"`{function.name}` takes `{name}` as `{kind}`, which may cut its value")
            names[name] = text if _ATOM.fullmatch(text) and _balanced(text) else f"({text})"
        statements = [
            s for s in function.body.named_children if s.type not in ("comment", "static_assert_declaration")
        ]
        if not statements or statements[-1].type != "return_statement" or not statements[-1].named_children:
            raise _CannotSee(f"`{function.name}` is more than one `return`")
        for statement in statements[:-1]:
            if (local := _local_constant(statement)) is None:
                raise _CannotSee(f"`{function.name}` is more than one `return`")
            target, value = local
            place = _Place(names, owner, given)
            names = {**names, target: f"({self.expand(value, place, depth + 1)})"}
        place = _Place(names, owner, given)
        text = self.expand(statements[-1].named_children[0], place, depth + 1)
        return text if function.returns.endswith(("&", "*")) and _ATOM.fullmatch(text) else f"({text})"

    def _macro(self, node: Node, name: str, arguments: list[str], place: _Place, depth: int) -> str:
        listed = self.callables.macros[name]
        macro = listed[0]
        if len({(m.parameters, m.text) for m in listed}) > 1 or name in self.callables.functions:
            raise _CannotSee(f"`{name}` is defined more than once")
        if macro.parameters is None or "..." in macro.parameters or "#" in macro.text:
            raise _CannotSee(f"`{name}` is no plain macro with parameters")
        if len(macro.parameters) != len(arguments):
            raise _CannotSee(f"`{name}` takes {len(macro.parameters)} arguments")
        if not (_ATOM.fullmatch(macro.text) and _balanced(macro.text)) and not _stands_alone(node):
            raise _CannotSee(f"the text of the macro `{name}` is not in parentheses")
        values = dict(zip(macro.parameters, arguments, strict=True))
        inner = parse_expression("".join(values.get(w, w) for w in re.split(r"(\b\w+\b)", macro.text)))
        if inner is None:
            raise _CannotSee(f"the macro `{name}` is no expression")
        return self.expand(inner, place, depth + 1)

    def is_whole_number(self, node: Node) -> bool:
        """Whether the call's value is what its expression says: no conversion cuts it."""
        if node.type != "call_expression":
            return True
        function = child_of(node, "function")
        name = (called(node) or "").rpartition("::")[2]
        listed = [*self.callables.functions.get(name, ())]
        if function.type == "field_expression":
            field = re.sub(r"<.*", "", text_of(child_of(function, "field")))
            listed = [f for (_, n), found in self.callables.methods.items() if n == field for f in found]
        elif self.structure(name) is not None:
            listed = [
                f for (_, n), found in self.callables.methods.items() if n == "operator()" for f in found
            ]
        return all(_WHOLE.fullmatch(f.returns) or f.returns.endswith(("&", "*")) for f in listed)

    def may_access(self, node: Node) -> bool:
        """Whether a call that cannot be seen through may touch memory. What the program does not define may not."""
        if node.type != "call_expression":
            return (
                node.type != "subscript_expression"
                or any(mark in text_of(child_of(node, "argument")) for mark in ("(", "->"))
                or (self.structure(text_of(child_of(node, "argument"))) is not None)
            )
        function = child_of(node, "function")
        if function.type == "field_expression":
            return True
        name = (called(node) or "").rpartition("::")[2]
        if self.structure(name) is not None or name in self.callables.macros or not name:
            return True
        return not self._harmless(name, frozenset())

    def _harmless(self, name: str, seen: frozenset[str]) -> bool:
        """Computes with numbers only, as do the functions that it calls."""
        for function in self.callables.functions.get(name, ()):
            if not all(_NUMBER.fullmatch(kind) for _, kind in function.parameters):
                return False
            for node in walk(function.body):
                if node.type in _REACHES or (node.type == "identifier" and _BUILT_INS.match(text_of(node))):
                    return False
                if node.type == "call_expression":
                    inner = called(node)
                    if inner is None or inner in self.callables.macros:
                        return False
                    if inner not in seen and not self._harmless(inner, seen | {name}):
                        return False
        return True

    def built_ins(self) -> dict[str, str]:
        """`threadIdx` and the like, with a callee of the kernel that asks for it by itself."""
        texts: dict[str, list[str]] = {}
        for name, functions in self.callables.functions.items():
            texts.setdefault(name, []).extend(f.text for f in functions)
        for (_, name), functions in self.callables.methods.items():
            texts.setdefault(name, []).extend(f.text for f in functions)
        for name, macros in self.callables.macros.items():
            texts.setdefault(name, []).extend(m.text for m in macros)
        left, seen, found = [text_of(self.kernel.body_node)], set[str](), dict[str, str]()
        if any(self.structure(p.name) is not None for p in self.kernel.parameters):
            left += [text for name in ("operator()", "operator[]") for text in texts.get(name, ())]
        while left:
            for word in set(re.findall(r"\w+", left.pop())) - seen:
                seen.add(word)
                for text in texts.get(word, ()):
                    left.append(text)
                    for match in _BUILT_INS.finditer(text):
                        found.setdefault(match[1], word)
        return found


def _only(name: str, listed: tuple[Function, ...], count: int) -> Function:
    """The one definition with so many parameters; several that say the same are one."""
    fitting = [f for f in listed if len(f.parameters) == count]
    if not fitting:
        raise _CannotSee(f"no definition of `{name}` takes {count} arguments")
    if len({(f.text, tuple(n for n, _ in f.parameters)) for f in fitting}) > 1:
        raise _CannotSee(f"`{name}` is defined more than once")
    return fitting[0]


def _local_constant(statement: Node) -> tuple[str, Node] | None:
    """(name, value) of `const int row = i * ld;`; None for any other statement."""
    declarators, kind = statement.children_by_field_name("declarator"), statement.child_by_field_name("type")
    if statement.type != "declaration" or kind is None or len(declarators) != 1:
        return None
    target, value = (declarators[0].child_by_field_name(f) for f in ("declarator", "value"))
    if target is None or value is None or target.type != "identifier" or not _WHOLE.fullmatch(text_of(kind)):
        return None
    return text_of(target), value


def _balanced(text: str) -> bool:
    """Whether the first bracket, if the text begins with one, is closed by its last character."""
    if not text.startswith("("):
        return True
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position == len(text) - 1
    return False


def _stands_alone(node: Node) -> bool:
    """Whether nothing next to the call binds stronger than what is in it."""
    parent = node.parent
    return parent is not None and parent.type in (
        "parenthesized_expression", "argument_list", "subscript_argument_list", "init_declarator", "return_statement",
        "expression_statement",
    )  # fmt: skip
