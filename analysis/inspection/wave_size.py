"""Code that takes a wave for 32 lanes where it has 64: votes and masks in 32 bits, lanes counted by 32.

Takes what the compiler says of a file and the texts, gives notes, with a change where there is one that is certain.
Silent about functions that only workgroups of 32 threads run, about what `warpSize` is asked for, and where the
program splits the 64 bits by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.inspection.notes import NoteFix, SourceNote, TextChange
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import Call, FunctionInstance, Type
from hipscope.analysis.source.nodes import ancestors, arguments_of, bare, called, child_of, text_of, walk
from hipscope.analysis.source.parse import attribute_macros, tree_of
from hipscope.analysis.source.text_queries import constant_value
from hipscope.analysis.source.texts import SourceTexts

WAVE = 64
_HALF = 32
MAY_MATTER = re.compile(
    rb"__ballot|__shfl|_sync\s*\(|__activemask|__match_|__lane_id|__lanemask|__builtin_amdgcn_ballot"
)
"""A text without any of these has nothing that is looked for here."""

_MASKS = re.compile(r"__(?:ballot(?:64|_sync)?|activemask|match_(?:any|all)_sync|lanemask_\w+)")
_WIDER = {"__popc": "__popcll", "__ffs": "__ffsll", "__clz": "__clzll", "__brev": "__brevll"}
_SHUFFLE = re.compile(r"__shfl(?:_(?:up|down|xor))?(?:_sync)?")
_TREE = re.compile(r"__shfl_(?:down|xor)(?:_sync)?")
_BROADCAST = re.compile(r"__shfl(?:_sync)?")
_ASKED = re.compile(
    r"\b(?:warpSize|WARP_?SIZE|WAVE_?(?:FRONT_?)?SIZE|__AMDGCN_WAVEFRONT_SIZE\w*|kWarpSize)\b", re.IGNORECASE
)
_THREAD = re.compile(r"\b(?:threadIdx\.[xyz]|hipThreadIdx_[xyz]|__lane_id\(\)|tid|tx|thread\w*|lane\w*)")
_BY_64 = re.compile(rb"\bthreadIdx\.x\s*(?:[%/]\s*(?:warpSize|64)|&\s*(?:63|0x3[fF]|\(\s*warpSize)|>>\s*6)\b")
_BY_32 = re.compile(rb"[%/]\s*32\b|&\s*(?:31|0x1[fF])\b|>>\s*5\b|[%/&]\s*\(?\s*(?:k|WARP|warp_|Warp)\w*")
_WIDE_BYTES = 8


def wave_size_notes(meaning: Meaning, texts: SourceTexts) -> list[SourceNote]:
    """The notes about the program's own device code, in its order; one for each place."""
    found: dict[tuple[str, int, int], SourceNote] = {}
    blocks = _block_sizes(meaning)
    for function in meaning.by_key.values():
        if function.host or not _runs_in_whole_waves(function, meaning, blocks):
            continue
        reading = _reading(function, texts)
        by_64 = _counts_by_64(function, meaning, texts)
        for note in reading.notes(by_64) if reading is not None else ():
            found.setdefault((note.file, note.line, note.column), note)
    return [found[key] for key in sorted(found)]


def _block_sizes(meaning: Meaning) -> dict[str, list[int | None]]:
    """The sizes of workgroups that each kernel is launched with, None for one that is not constant."""
    sizes: dict[str, list[int | None]] = {}
    for launch in meaning.all_launches:
        sizes.setdefault(str(launch.kernel), []).append(launch.block_value)
    return sizes


def _runs_in_whole_waves(
    function: FunctionInstance, meaning: Meaning, blocks: Mapping[str, list[int | None]]
) -> bool:
    """Whether some kernel runs the function in workgroups that may have more than 32 threads."""
    kernels = [k for k in meaning.by_key.values() if k.kernel and function in meaning.reachable(k.key)]
    sizes = [size for kernel in kernels for size in blocks.get(str(kernel.key), [None])]
    return any(size is None or size > _HALF for size in sizes)


def _counts_by_64(function: FunctionInstance, meaning: Meaning, texts: SourceTexts) -> bool:
    """Whether the kernels that run the function, and what they call, count lanes or waves by 64, and none by 32."""
    kernels = [k for k in meaning.by_key.values() if k.kernel and function in meaning.reachable(k.key)]
    around = {f.place for kernel in kernels for f in meaning.reachable(kernel.key)}
    written = [(texts.read(p.file) or b"")[slice(*p.span)] for p in around]
    return any(_BY_64.search(text) for text in written) and not any(_BY_32.search(text) for text in written)


def _reading(function: FunctionInstance, texts: SourceTexts) -> _Reading | None:
    data = texts.read(function.place.file)
    if data is None:
        return None
    root = tree_of(data, attribute_macros([data]))
    node = root.descendant_for_byte_range(*function.place.span)
    while node is not None and node.type not in ("function_definition", "lambda_expression"):
        if node.parent is None or node.parent.type == "translation_unit":
            node = next((n for n in walk(node) if n.type == "function_definition"), None)
            break
        node = node.parent
    body = node.child_by_field_name("body") if node is not None else None
    if body is None:
        return None
    spans = {place.span: kind for place, kind in function.types.items() if place.file == function.place.file}
    return _Reading(function, texts, data, body, spans, {c.place.span: c for c in function.calls})


@dataclass(frozen=True)
class _Reading:
    """One function: its text, its tree, and the types and calls by their bytes."""

    function: FunctionInstance
    texts: SourceTexts
    data: bytes
    body: Node
    types: Mapping[tuple[int, int], Type]
    calls: Mapping[tuple[int, int], Call]

    def notes(self, by_64: bool) -> Iterator[SourceNote]:
        """All that is found. `by_64`: the kernels that run this count lanes by 64."""
        calls = [
            node for node in walk(self.body) if node.type == "call_expression" and not self._asks_size(node)
        ]
        by_32 = self._lane_of_32()
        wide = self._wide_variables(calls)
        split = any(self._splits(node, wide) for node in walk(self.body))
        for call in calls:
            name = called(call) or ""
            if _MASKS.fullmatch(name) and self._is_builtin(call) and not split:
                yield from self._narrowed(call, by_32)
            if name in _WIDER and not split:
                yield from self._narrow_count(call, wide)
            if name.endswith("_sync") and self._is_builtin(call):
                yield from self._half_mask(call)
            if by_32 is not None and _BROADCAST.fullmatch(name) and self._is_builtin(call):
                yield from self._broadcast(call, by_32)
            if by_32 is not None and _MASKS.fullmatch(name) and self._is_builtin(call) and not split:
                yield from self._vote_of_both(call, by_32)
        if by_64 and by_32 is None:
            yield from self._half_tree(calls)
        for node in walk(self.body):
            if node.type == "binary_expression" and text_of(child_of(node, "operator")) == "<<":
                yield from self._shifted(node)

    def _is_builtin(self, call: Node) -> bool:
        """Whether the compiler calls a function of HIP by that name there, and no macro or function of the program."""
        known = self.calls.get((call.start_byte, call.end_byte))
        return known is not None and known.builtin and known.name == called(call)

    def _asks_size(self, node: Node) -> bool:
        """Whether a condition around asks how large a wave is: the other branch is for other devices."""
        for outer in ancestors(node, self.body):
            if outer.type in ("if_statement", "conditional_expression"):
                condition = outer.child_by_field_name("condition")
                if condition is not None and _ASKED.search(text_of(condition)):
                    return True
        return False

    def _value(self, node: Node) -> int | None:
        return constant_value(self.texts, str(self.function.place.file), text_of(node))

    def _lane_of_32(self) -> Node | None:
        """The declaration of a lane's number among 32 (`threadIdx.x % 32`, `& 31`); None where there is none."""
        for node in walk(self.body):
            if node.type == "init_declarator" and (value := node.child_by_field_name("value")) is not None:
                name = text_of(child_of(node, "declarator"))
                if "lane" in name.lower() and self._modulo(value) == _HALF:
                    return node
        return None

    def _modulo(self, value: Node) -> int | None:
        """32 for `threadIdx.x % 32` and `threadIdx.x & 31`, 64 for the like; None for anything else."""
        while value.type in ("parenthesized_expression", "cast_expression"):
            inner = value.named_children[-1] if value.named_children else None
            if inner is None:
                return None
            value = inner
        if value.type != "binary_expression":
            return WAVE if value.type == "call_expression" and called(value) == "__lane_id" else None
        left, right = child_of(value, "left"), child_of(value, "right")
        operator = text_of(child_of(value, "operator"))
        if not _THREAD.search(text_of(left)):
            return None
        if operator == "%" and text_of(right) == "warpSize":
            return WAVE
        if operator == "&" and re.fullmatch(r"\(?\s*warpSize\s*-\s*1\s*\)?", text_of(right)):
            return WAVE
        number = self._value(right)
        if number is None or operator not in ("%", "&"):
            return None
        return number if operator == "%" else number + 1

    def _wide_variables(self, calls: Sequence[Node]) -> frozenset[str]:
        """Variables of 64 bits that hold a mask of the wave."""
        found = set()
        for call in calls:
            if not (_MASKS.fullmatch(called(call) or "") and self._is_builtin(call)):
                continue
            holder = self._holder(call)
            if (
                holder is not None
                and (kind := self._type_of_holder(holder, call)) is not None
                and kind.bytes == _WIDE_BYTES
            ):
                found.add(self._name_of_holder(holder))
        return frozenset(found)

    def _splits(self, node: Node, wide: frozenset[str]) -> bool:
        """Whether the program takes the upper half of a mask by itself."""
        if node.type != "binary_expression" or text_of(child_of(node, "operator")) != ">>":
            return False
        left = child_of(node, "left")
        masks = any(_MASKS.fullmatch(called(n) or "") for n in walk(left) if n.type == "call_expression")
        return masks or bool({text_of(n) for n in walk(left) if n.type == "identifier"} & wide)

    def _holder(self, call: Node) -> Node | None:
        """The declarator or assignment that a call's value, through operators alone, goes into."""
        node, parent = call, call.parent
        while parent is not None and parent.type in (
            "parenthesized_expression",
            "binary_expression",
            "unary_expression",
        ):
            operator = (
                text_of(child_of(parent, "operator")) if parent.type != "parenthesized_expression" else ""
            )
            if operator in ("==", "!=", "<", ">", "<=", ">=", "&&", "||", "!", ">>"):
                return None
            if operator == "&" and any(self._is_small_constant(c) for c in parent.named_children):
                return None
            node, parent = parent, parent.parent
        if parent is None:
            return None
        if parent.type == "init_declarator" and parent.child_by_field_name("value") == node:
            return parent
        if parent.type == "assignment_expression" and parent.child_by_field_name("right") == node:
            return parent
        return parent if parent.type in ("argument_list", "cast_expression", "return_statement") else None

    def _is_small_constant(self, node: Node) -> bool:
        value = self._value(node)
        return value is not None and 0 <= value < 1 << _HALF

    def _type_of_parameter(self, listed: Node, of: Node) -> Type | None:
        """The type of the parameter that gets the value; None for a function that counts bits."""
        call = listed.parent
        known = self.calls.get((call.start_byte, call.end_byte)) if call is not None else None
        if call is None or known is None or called(call) in _WIDER:
            return None
        index = next(
            (i for i, a in enumerate(arguments_of(call)) if a.start_byte <= of.start_byte < a.end_byte), -1
        )
        return known.parameters[index] if 0 <= index < len(known.parameters) else None

    def _type_of_variable(self, name: str, after: int) -> Type | None:
        """The type of a variable, from its first use behind its declaration."""
        uses = (n for n in walk(self.body) if n.type == "identifier" and text_of(n) == name)
        kinds = (self.types.get((n.start_byte, n.end_byte)) for n in uses if n.start_byte > after)
        return next((kind for kind in kinds if kind is not None), None)

    def _type_of_holder(self, holder: Node, of: Node) -> Type | None:
        """The type that a value gets where it goes to."""
        if holder.type == "assignment_expression":
            left = child_of(holder, "left")
            return self.types.get((left.start_byte, left.end_byte))
        if holder.type == "init_declarator":
            return self._type_of_variable(text_of(child_of(holder, "declarator")), holder.start_byte)
        if holder.type == "argument_list":
            return self._type_of_parameter(holder, of)
        if holder.type == "cast_expression":
            return self.types.get((holder.start_byte, holder.end_byte))
        return None

    def _name_of_holder(self, holder: Node) -> str:
        field = "declarator" if holder.type == "init_declarator" else "left"
        return (
            text_of(child_of(holder, field))
            if holder.type in ("init_declarator", "assignment_expression")
            else ""
        )

    def _narrowed(self, call: Node, by_32: Node | None) -> Iterator[SourceNote]:
        """A vote of 64 lanes that goes into 32 bits."""
        holder = self._holder(call)
        kind = self._type_of_holder(holder, call) if holder is not None else None
        if holder is None or kind is None or not _is_narrow_integer(kind):
            return
        what = f"`{self._name_of_holder(holder)}`" if self._name_of_holder(holder) else f"`{kind.spelling}`"
        message = (
            f"`{called(call)}` answers for the 64 lanes of a wave, and {what} has {8 * (kind.bytes or 0)} bits: "
            "the votes of lanes 32 to 63 are lost"
        )
        if by_32 is not None:
            lane = text_of(child_of(by_32, "declarator"))
            message += f". `{lane}` counts lanes by 32, so two groups of 32 share a wave and see the votes of the first"
            half = f"({text_of(call)} >> (__lane_id() & 32u))"
            fix: NoteFix | None = NoteFix(
                "Take the votes of the own 32 lanes", (TextChange(call.start_byte, call.end_byte, half),)
            )
        else:
            message += "; a mask of a wave needs `unsigned long long`"
            fix = self._widened(holder)
        related = (
            () if by_32 is None else ((self._file, by_32.start_point[0] + 1, "lanes are counted by 32 here"),)
        )
        yield self._note(call, message, fix, related)

    def _widened(self, holder: Node) -> NoteFix | None:
        """The variable in 64 bits, where each of its uses works with either or has a wider twin."""
        declaration = holder.parent
        if holder.type != "init_declarator" or declaration is None or declaration.type != "declaration":
            return None
        if len(declaration.children_by_field_name("declarator")) != 1:
            return None
        kind, name = declaration.child_by_field_name("type"), text_of(child_of(holder, "declarator"))
        if kind is None or child_of(holder, "declarator").type != "identifier":
            return None
        changes = [TextChange(kind.start_byte, kind.end_byte, "unsigned long long")]
        for node in walk(self.body):
            if node.type != "identifier" or text_of(node) != name or node.start_byte <= holder.end_byte:
                continue
            change = _wider_use(node)
            if change is None:
                return None
            changes += change
        return NoteFix(f"Declare `{name}` as unsigned long long", tuple(changes))

    def _narrow_count(self, call: Node, wide: frozenset[str]) -> Iterator[SourceNote]:
        """`__popc` and its like of a mask of 64 bits."""
        known, arguments = self.calls.get((call.start_byte, call.end_byte)), arguments_of(call)
        if known is None or not known.builtin or len(arguments) != 1 or len(known.parameters) != 1:
            return
        if known.parameters[0].bytes == _WIDE_BYTES:
            return
        argument = bare(arguments[0])
        if not self._is_mask(argument, wide):
            return
        name = called(call) or ""
        function = child_of(call, "function")
        yield self._note(
            call,
            f"`{name}` takes 32 bits, and the mask of a wave has 64: lanes 32 to 63 are not counted",
            NoteFix(
                f"Use {_WIDER[name]}", (TextChange(function.start_byte, function.end_byte, _WIDER[name]),)
            ),
        )

    def _is_mask(self, node: Node, wide: frozenset[str]) -> bool:
        """Whether an expression is a mask of 64 bits: of a vote, with nothing that takes less of it."""
        if node.type == "call_expression":
            return bool(_MASKS.fullmatch(called(node) or "")) and self._is_builtin(node)
        if node.type == "identifier":
            return text_of(node) in wide
        if node.type == "parenthesized_expression" and node.named_children:
            return self._is_mask(node.named_children[0], wide)
        if node.type == "binary_expression" and text_of(child_of(node, "operator")) in ("&", "|", "^"):
            sides = (child_of(node, "left"), child_of(node, "right"))
            kind = self.types.get((node.start_byte, node.end_byte))
            is_wide = kind is not None and kind.bytes == _WIDE_BYTES
            return (
                is_wide
                and any(self._is_mask(s, wide) for s in sides)
                and not any(map(self._is_small_constant, sides))
            )
        return False

    def _half_mask(self, call: Node) -> Iterator[SourceNote]:
        """A `_sync` function whose mask names the lanes 0 to 31."""
        arguments = arguments_of(call)
        if not arguments or self._value(arguments[0]) != (1 << _HALF) - 1:
            return
        mask = arguments[0]
        votes = not _SHUFFLE.fullmatch(called(call) or "")
        effect = (
            "votes of lanes 32 to 63 do not count"
            if votes
            else "HIP refuses a mask of 32 bits, and lanes 32 to 63 are not named in it"
        )
        fix = None
        if mask.type == "number_literal":
            change = TextChange(mask.start_byte, mask.end_byte, "0xffffffffffffffffull")
            fix = NoteFix("Name all 64 lanes", (change,))
        yield self._note(
            mask,
            f"the mask `{text_of(mask)}` of `{called(call)}` names 32 lanes, and a wave has 64: {effect}",
            fix,
        )

    def _broadcast(self, call: Node, by_32: Node) -> Iterator[SourceNote]:
        """`__shfl(x, 0)` of a program that counts lanes by 32: both groups of a wave get the first one's value."""
        arguments = arguments_of(call)
        own = arguments[1:] if (called(call) or "").endswith("_sync") else arguments
        if len(own) != 2 or (source := self._value(own[1])) is None or not 0 <= source < _HALF:
            return
        if self._depends_on_thread(call):
            return
        lane = text_of(child_of(by_32, "declarator"))
        last = arguments[-1]
        yield self._note(
            call,
            f"`{called(call)}` without a width takes lane {source} of the 64 lanes of a wave, and `{lane}` counts "
            f"them by 32: the second group of 32 gets the value of the first",
            NoteFix("Shuffle among 32 lanes", (TextChange(last.end_byte, last.end_byte, ", 32"),)),
            ((self._file, by_32.start_point[0] + 1, "lanes are counted by 32 here"),),
        )

    def _vote_of_both(self, call: Node, by_32: Node) -> Iterator[SourceNote]:
        """A vote in 64 bits of a program that counts lanes by 32: each group counts both groups of its wave."""
        holder = self._holder(call)
        if holder is None or self._depends_on_thread(call):
            return
        if holder.type == "argument_list":
            outer = holder.parent
            if outer is None or called(outer) not in _WIDER.values() or holder.named_child_count != 1:
                return
        elif holder.type in ("init_declarator", "assignment_expression"):
            kind = self._type_of_holder(holder, call)
            if kind is None or kind.bytes != _WIDE_BYTES:
                return
        else:
            return
        lane = text_of(child_of(by_32, "declarator"))
        half = f"((unsigned)({text_of(call)} >> (__lane_id() & 32u)))"
        yield self._note(
            call,
            f"`{called(call)}` answers for the 64 lanes of a wave, and `{lane}` counts lanes by 32: a group of 32 "
            "sees the votes of both groups of its wave",
            NoteFix(
                "Take the votes of the own 32 lanes", (TextChange(call.start_byte, call.end_byte, half),)
            ),
            ((self._file, by_32.start_point[0] + 1, "lanes are counted by 32 here"),),
        )

    def _half_tree(self, calls: Sequence[Node]) -> Iterator[SourceNote]:
        """A tree of shuffles that begins at 16 where lanes are counted by 64: half of the wave is left out."""
        shuffles = [c for c in calls if _TREE.fullmatch(called(c) or "") and self._is_builtin(c)]
        offsets = [(c, self._offset_of(c)) for c in shuffles]
        if not offsets or any(offset is None for _, offset in offsets):
            return
        starts = [node for _, node in offsets if node is not None]
        values = [self._value(node) for node in starts]
        if (
            None in values
            or max(v for v in values if v is not None) != _HALF // 2
            or len(set(values)) not in (1, 5)
        ):
            return
        first = starts[values.index(_HALF // 2)]
        change = TextChange(first.start_byte, first.end_byte, str(_HALF))
        certain = len(values) == 1 and first.type == "number_literal"
        yield self._note(
            first,
            "the shuffles begin 16 lanes apart and take 32 lanes together, and the kernel counts lanes by 64: the "
            "other half of each wave is left out",
            NoteFix("Begin 32 lanes apart", (change,)) if certain else None,
        )

    def _offset_of(self, call: Node) -> Node | None:
        """Where the distance of a shuffle without a width begins: itself, or the start of the loop's variable."""
        arguments = arguments_of(call)
        own = arguments[1:] if (called(call) or "").endswith("_sync") else arguments
        if len(own) != 2:
            return None
        if self._value(own[1]) is not None:
            return own[1]
        for outer in ancestors(call, self.body):
            if outer.type != "for_statement" or (start := outer.child_by_field_name("initializer")) is None:
                continue
            for node in walk(start):
                if node.type == "init_declarator" and text_of(child_of(node, "declarator")) == text_of(
                    own[1]
                ):
                    return node.child_by_field_name("value")
        return None

    def _depends_on_thread(self, node: Node) -> bool:
        """Whether a condition around may leave one group of 32 alone: then the broadcast is its own affair."""
        for outer in ancestors(node, self.body):
            if outer.type in ("if_statement", "while_statement", "for_statement", "do_statement"):
                condition = outer.child_by_field_name("condition")
                if condition is not None and outer.type == "if_statement":
                    return True
        return False

    def _shifted(self, node: Node) -> Iterator[SourceNote]:
        """`1 << lane` where lanes go up to 63."""
        left, right = child_of(node, "left"), bare(child_of(node, "right"))
        kind = self.types.get((left.start_byte, left.end_byte))
        if kind is None or kind.bytes is None or kind.bytes > 4 or not self._is_one(left):
            return
        if self._modulo(right) != WAVE and not (
            right.type == "identifier" and self._is_lane_of_64(text_of(right))
        ):
            return
        if self._asks_size(node) or self._depends_on_thread(node):
            return
        literal = left.type == "number_literal"
        changes = (TextChange(left.start_byte, left.end_byte, "1ull"),)
        yield self._note(
            node,
            f"`{text_of(node)}` shifts 32 bits by the number of a lane, which goes up to 63",
            NoteFix("Shift 64 bits", changes) if literal else None,
        )

    def _is_one(self, node: Node) -> bool:
        return self._value(node) == 1

    def _is_lane_of_64(self, name: str) -> bool:
        """Whether a variable starts as the number of a lane among 64, and is never assigned."""
        starts = [
            node.child_by_field_name("value")
            for node in walk(self.body)
            if node.type == "init_declarator" and text_of(child_of(node, "declarator")) == name
        ]
        assigned = any(
            node.type in ("assignment_expression", "update_expression")
            and name in text_of(node).split("=")[0]
            for node in walk(self.body)
        )
        return len(starts) == 1 and starts[0] is not None and not assigned and self._modulo(starts[0]) == WAVE

    @property
    def _file(self) -> str:
        return str(self.function.place.file)

    def _note(
        self, node: Node, message: str, fix: NoteFix | None, related: tuple[tuple[str, int, str], ...] = ()
    ) -> SourceNote:
        line, column = node.start_point
        end = node.end_point[1] + 1 if node.end_point[0] == line else 0
        return SourceNote(
            "wave-size",
            "warning",
            message,
            self.function.name,
            self._file,
            line + 1,
            column + 1,
            end,
            related,
            fix,
        )


def _is_narrow_integer(kind: Type) -> bool:
    """An integer of 32 bits or fewer; a bool asks whether there is any vote."""
    return kind.bytes is not None and kind.bytes <= 4 and kind.plain in _NARROW


_NARROW = frozenset(
    ("int", "unsigned int", "short", "unsigned short", "char", "signed char", "unsigned char")
)


def _wider_use(node: Node) -> list[TextChange] | None:
    """What a use of a mask becomes when it has 64 bits: the same, or the wider function; None where not clear."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type == "argument_list" and parent.parent is not None and called(parent.parent) in _WIDER:
        if called(parent.parent) not in ("__popc", "__ffs"):
            return None
        function = child_of(parent.parent, "function")
        return [TextChange(function.start_byte, function.end_byte, _WIDER[text_of(function)])]
    if parent.type in ("condition_clause", "parenthesized_expression"):
        outer = parent.parent
        return [] if outer is not None and outer.type in ("if_statement", "while_statement") else None
    if parent.type == "unary_expression" and text_of(child_of(parent, "operator")) == "!":
        return []
    if parent.type == "binary_expression" and text_of(child_of(parent, "operator")) in ("==", "!="):
        other = child_of(parent, "right") if child_of(parent, "left") == node else child_of(parent, "left")
        return [] if text_of(other) == "0" else None
    return None
