"""Loops of compare-and-swap that emulate one atomic operation: which one, of what type, and what they leave behind.

Takes a function's syntax, gives a `CasLoop`, or the reason why a loop is none. A loop is one where each step reads the
value or takes what the last swap has found, makes the new value of it and of what stays the same in all steps, and ends
where the swap succeeds, or where the new value is the old one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    LOOPS,
    TOGETHER,
    ancestors,
    arguments_of,
    child_of,
    declared_name,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.cas_names import FunctionNames, bare_pointer
from hipscope.formulas.detect.cas_paths import NotFollowed, Path, Step, is_exchange, steps_of
from hipscope.formulas.detect.cas_values import (
    SYMBOLS,
    UNKNOWN,
    Term,
    TypeCode,
    core,
    is_integer,
    symbols_in,
    written,
)

_BITWISE = {"&": "And", "|": "Or", "^": "Xor"}
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class Operation:
    """What is done with the value in memory: `name` as in `atomicAdd`, its type, and the other operand.

    `strict`: of minima and maxima, whether the value is only replaced where `<` or `>` says so. NaN and zeros of the
    other sign then stay.
    """

    name: str
    type: TypeCode
    operand: Term
    strict: bool = True


@dataclass(frozen=True)
class CasLoop:
    """One loop, the address it swaps at, and the operation. `order` and `scope` are those of HIP's built-in function.

    `kept` has the variables that are used after the loop, all of them with the value that was found, by their types;
    `result` is the type in which the loop returns it. `returns`: the loop ends by returning, or a `return` of it stands
    right behind and ends at the byte `end`. `guarded`: it leaves the memory alone where nothing would change.
    """

    node: Node = field(repr=False)
    end: int
    pointer: Node = field(repr=False)
    operation: Operation
    memory: TypeCode
    guarded: bool
    kept: Mapping[str, TypeCode]
    returns: bool
    result: TypeCode | None
    order: str = ""
    scope: str = ""

    @property
    def line(self) -> int:
        """The line it begins on, from 1."""
        return self.node.start_point.row + 1


def loops_with_cas(body: Node) -> list[Node]:
    """The innermost loops that swap, in the order of the text."""
    found = {}
    for node in walk(body):
        if is_exchange(node):
            loop = next((n for n in ancestors(node, body) if n.type in LOOPS), None)
            if loop is not None:
                found[loop.id] = loop
    return list(found.values())


def cas_loop(loop: Node, names: FunctionNames) -> CasLoop | str:
    """What the loop emulates, or why it is nothing of the kind, as the end of a sentence."""
    try:
        return _read(loop, names)
    except NotFollowed as reason:
        return str(reason)


def emulated_at(texts: SourceTexts, file: str, line: int) -> str | None:
    """What the compare-and-swap loop on that line emulates, as in "atomicMax"; "" where its text does not show that.

    None where there is none.
    """
    text = texts.read(file)
    if text is None:
        return None
    for function in walk(tree_of(text)):
        if function.type != "function_definition":
            continue
        if not function.start_point.row < line <= function.end_point.row + 1:
            continue
        for loop in loops_with_cas(child_of(function, "body")):
            if loop.start_point.row < line <= loop.end_point.row + 1:
                found = cas_loop(loop, FunctionNames(function))
                return "" if isinstance(found, str) else f"atomic{found.operation.name}"
    return None


def _read(loop: Node, names: FunctionNames) -> CasLoop:
    calls = [n for n in walk(loop) if is_exchange(n)]
    if len(calls) != 1:
        raise NotFollowed("it swaps at more than one place")
    call = calls[0]
    pointer = arguments_of(call)[0]
    memory = names.pointee(pointer)
    if memory is None or memory[1:] not in ("4", "8"):
        raise NotFollowed("the type of what it swaps is not known")
    changed = frozenset(_changed(loop, pointer))
    origin = names.origin(pointer)
    if names_in(origin) & changed:
        raise NotFollowed("its address changes from step to step")
    if (other := _other_names(changed, call, names.function)) is not None:
        raise NotFollowed(f"`{other}` has another name, too")
    step = Step(names, call, bare_pointer(pointer, names), memory, changed)
    outside = [n for n in changed if n in names.declared and not _declared_within(loop, n)]
    heads = {n: Term("head", text=n, type=names.type_of(n)) for n in outside if names.is_local(n)}
    known = _asked_before(loop, step, heads)
    paths = steps_of(loop, step, Path(heads, known))
    if known and not _holds_again(known, paths, heads.values()):
        paths = steps_of(loop, step, Path(heads))
    after, paths = _returning(loop, step, paths)
    swaps = [p for p in paths if p.swap is not None and p.swap.done]
    if not swaps:
        raise NotFollowed("no way through it swaps")
    current = _current(swaps)
    operation = _operation_of(swaps, current)
    news = {core(p.swap.desired) for p in swaps if p.swap is not None}
    _check_ends(paths, current, operation, news)
    guarded = any(p.swap is None for p in paths)
    if guarded:
        _check_first_read(loop, current, step, names)
    endless = any(p.end == "next" for p in swaps)
    ends = [p for p in paths if p.end != "next"]
    if not ends:
        raise NotFollowed("it does not end")
    kept = _kept(loop, after, ends, current, changed, names, endless=endless)
    returns = any(p.end == "return" for p in ends)
    if returns and (endless or not all(p.end == "return" for p in ends)):
        raise NotFollowed("it returns on some ways only")
    results = {_found(p.result, current) for p in ends if p.result is not None}
    if len(results) > 1 or None in results:
        raise NotFollowed("it returns something else than the value that it found")
    order, scope = _order(call)
    own = names.uncast(pointer)
    place = own if names.pointee(own) == operation.type else origin
    return CasLoop(
        loop,
        after.end_byte,
        place,
        operation,
        memory,
        guarded,
        kept,
        returns,
        next(iter(results), None),
        order,
        scope,
    )


def _asked_before(loop: Node, step: Step, heads: Mapping[str, Term]) -> tuple[tuple[Term, bool], ...]:
    """What `if (old >= value) return;` right before a loop says of its first step; nothing for other statements."""
    before = loop.prev_named_sibling
    while before is not None and before.type in ("comment", "declaration"):
        before = before.prev_named_sibling
    if loop.type != "do_statement" or before is None or before.type != "if_statement":
        return ()
    ends = child_of(before, "consequence")
    inner = (
        [c for c in ends.named_children if c.type != "comment"]
        if ends.type == "compound_statement"
        else [ends]
    )
    if before.child_by_field_name("alternative") is not None or [n.type for n in inner] != [
        "return_statement"
    ]:
        return ()
    try:
        ways = [path for path, truth in step.truths(child_of(before, "condition"), Path(heads)) if not truth]
    except NotFollowed:
        return ()
    return ways[0].asked if len(ways) == 1 and dict(ways[0].values) == dict(heads) else ()


def _holds_again(known: tuple[tuple[Term, bool], ...], paths: list[Path], heads: Collection[Term]) -> bool:
    """Whether every step that goes on has found that the next one starts from a value that compares alike."""
    wanted = {one[:3] for asked, truth in known for h in heads if (one := _comparison(asked, truth, h))}
    return len(wanted) == len(known) and all(
        wanted <= {one[:3] for asked, truth in path.asked[path.before :] if (one := _of_seen(asked, truth))}
        for path in paths
        if path.end == "next"
    )


def _of_seen(asked: Term, truth: bool) -> tuple[str, Term, TypeCode, bool] | None:
    """What a condition says of the value that the last swap has found."""
    seen = next((s for s in symbols_in(asked) if s.kind == "seen"), None)
    return _comparison(asked, truth, seen) if seen is not None else None


def _returning(loop: Node, step: Step, paths: list[Path]) -> tuple[Node, list[Path]]:
    """The paths through a `return` that stands right behind the loop, too, if it returns what was found."""
    after = loop.next_named_sibling
    if after is None or after.type != "return_statement" or not after.named_children:
        return loop, paths
    found: list[Path] = []
    try:
        for path in paths:
            found += step.body(after, replace(path, end="next")) if path.end == "break" else [path]
    except NotFollowed:
        return loop, paths
    results = [p.result for p in found if p.end == "return"]
    return (
        (after, found) if all(r is not None and core(r).kind in SYMBOLS for r in results) else (loop, paths)
    )


def _changed(loop: Node, pointer: Node) -> Iterator[str]:
    """Names that some statement of the loop, or of its header, changes; the swap at `pointer` left out."""
    for node in walk(loop):
        if pointer.start_byte <= node.start_byte < pointer.end_byte:
            continue
        if node.type in ("init_declarator", "declaration"):
            named = [node] if node.type == "init_declarator" else node.children_by_field_name("declarator")
            yield from (text_of(n) for d in named if (n := declared_name(d)) is not None)
        elif node.type == "assignment_expression":
            yield from names_in(child_of(node, "left"))
        elif node.type == "update_expression" or (
            node.type == "pointer_expression"
            and text_of(node).startswith("&")
            and child_of(node, "argument").type == "identifier"
        ):
            yield text_of(child_of(node, "argument"))


def _other_names(changed: frozenset[str], call: Node, function: Node) -> str | None:
    """A variable of the loop that a reference, a pointer or a lambda may stand for as well."""
    for node in walk(function):
        named: frozenset[str] = frozenset()
        if node.type == "reference_declarator" and node.parent is not None:
            named = names_in(node.parent)
        elif node.type == "lambda_expression":
            named = names_in(node)
        elif node.type == "pointer_expression" and text_of(node).startswith("&"):
            inside = call.start_byte <= node.start_byte < call.end_byte
            named = frozenset() if inside or _is_read_at_once(node) else names_in(node)
        if found := sorted(named & changed):
            return found[0]
    return None


def _is_read_at_once(address: Node) -> bool:
    """`*(int*)&x` and `*reinterpret_cast<int*>(&x)`: nothing keeps the address."""
    outer = address.parent
    while outer is not None and outer.type in (
        "parenthesized_expression", "cast_expression", "argument_list", "call_expression",
    ):  # fmt: skip
        if outer.type == "call_expression" and not text_of(outer).startswith("reinterpret_cast"):
            return False
        outer = outer.parent
    return outer is not None and outer.type == "pointer_expression" and text_of(outer).startswith("*")


def _declared_within(loop: Node, name: str) -> bool:
    """Whether the loop's body declares the name: it then has no value from the step before."""
    inside = (n for n in walk(child_of(loop, "body")) if n.type == "declaration")
    return any(
        (n := declared_name(d)) is not None and text_of(n) == name
        for one in inside
        for d in one.children_by_field_name("declarator")
    )


def _current(swaps: list[Path]) -> Term:
    """The symbol for the value that a step starts from: what it expects."""
    expected = {core(p.swap.expected) for p in swaps if p.swap is not None}
    current = expected.pop()
    if expected or current.kind not in ("head", "load"):
        raise NotFollowed("it expects no value that was read there")
    return current


def _operation_of(swaps: list[Path], current: Term) -> Operation:
    found = {_one_operation(p, current) for p in swaps}
    if len(found) > 1:
        raise NotFollowed("it does different things on different ways")
    return found.pop()


def _one_operation(path: Path, current: Term) -> Operation:
    assert path.swap is not None
    new = core(path.swap.desired)
    if any(s != current for s in symbols_in(new)):
        raise NotFollowed("the new value depends on more than the old one")
    guards = [g for g in path.asked[: path.before] if not _asks_for_change(g, path)]
    if not any(True for _ in symbols_in(new)):
        operand = new
        if not guards:
            return Operation("Exch", _type_of_operand(path, operand), operand)
        return _guarded(guards, path.swap.desired, current)
    operation = _computed(path.swap.desired, current)
    for asked, truth in guards:
        compared = _comparison(asked, truth, current)
        if compared is None or compared[0] != operation.name or compared[1] != operation.operand:
            raise NotFollowed("it also ends where the new value would be another one")
    return operation


def _type_of_operand(path: Path, operand: Term) -> TypeCode:
    """An exchange is one of bits, whatever they stand for."""
    assert path.swap is not None
    memory = path.swap.desired.type
    code = operand.type
    if code is None or memory is None or code[1:] != memory[1:]:
        raise NotFollowed("the type of the new value is not known")
    return code


def _asks_for_change(guard: tuple[Term, bool], path: Path) -> bool:
    """Whether a condition only asks if the new value is another one than the old one."""
    asked, truth = guard
    if path.swap is None or asked.kind != "binary" or asked.text != ("!=" if truth else "=="):
        return False
    return {core(p) for p in asked.parts} == {core(path.swap.expected), core(path.swap.desired)}


def _guarded(guards: list[tuple[Term, bool]], desired: Term, current: Term) -> Operation:
    """A value that replaces the old one where it is larger, or smaller."""
    found = {_comparison(asked, truth, current) for asked, truth in guards}
    one = found.pop()
    if found or one is None:
        raise NotFollowed("it also ends on a condition that is no comparison of the two values")
    name, operand, code, strict = one
    if core(operand) != core(desired):
        raise NotFollowed("it compares another value than the one that it stores")
    return Operation(name, code, operand, strict)


def _comparison(asked: Term, truth: bool, current: Term) -> tuple[str, Term, TypeCode, bool] | None:
    """Min or Max where the condition says that the operand beats the old value, with the operand and its type, and
    whether `<` or `>` said so.
    """
    while asked.kind == "unary" and asked.text == "!":
        asked, truth = asked.parts[0], not truth
    if asked.kind != "binary" or asked.text not in _MIRRORED:
        return None
    (left, right), operator = asked.parts, asked.text
    if core(left) == current:
        left, right, operator = right, left, _MIRRORED[operator]
    code = _same_type(right, left)
    if core(right) != current or code is None or any(True for _ in symbols_in(left)):
        return None
    strict = truth and operator in ("<", ">")
    operator = operator if truth else _OPPOSITE[operator]
    return ("Max" if operator[0] == ">" else "Min"), left, code, strict or is_integer(code)


def _same_type(old: Term, operand: Term) -> TypeCode | None:
    """The type in which both are compared: that of the old value, which a literal may take."""
    if old.type is None or old.type[1:] not in ("4", "8"):
        return None
    literal = operand.kind == "given" and operand.text.isdigit()
    return old.type if operand.type == old.type or literal else None


def _computed(desired: Term, current: Term) -> Operation:
    new = core(desired)
    if new.kind == "converted" and is_integer(new.type) and is_integer(new.parts[0].type):
        inner = new.parts[0]
        if inner.kind == "binary" and inner.text in ("+", "-", *_BITWISE):
            new = inner  # what is cut off does not reach the bits below
    if new.kind == "binary":
        return _arithmetic(new, current)
    if new.kind == "call" and new.text in ("min", "max"):
        for old, operand in (new.parts, new.parts[::-1]):
            code = _same_type(old, operand)
            if core(old) == current and code is not None and not any(True for _ in symbols_in(operand)):
                return Operation(new.text.capitalize(), code, operand, is_integer(code))
    if new.kind == "choice":
        return _chosen(new, current)
    raise NotFollowed("no atomic operation of the hardware computes its new value")


def _arithmetic(new: Term, current: Term) -> Operation:
    left, right = new.parts
    if core(left) != current and new.text != "-":
        left, right = right, left
    code = left.type
    if core(left) != current or code is None or any(True for _ in symbols_in(right)):
        raise NotFollowed("no atomic operation of the hardware computes its new value")
    integers = is_integer(code) and is_integer(right.type)
    if new.text in _BITWISE and integers:
        return Operation(_BITWISE[new.text], code, right)
    floats = code in ("f4", "f8") and right.type is not None and new.type == code
    if new.text in ("+", "-") and (integers or floats):
        return Operation("Add" if new.text == "+" else "Sub", code, right)
    raise NotFollowed("no atomic operation of the hardware computes its new value")


def _chosen(new: Term, current: Term) -> Operation:
    """`a > b ? a : b`, and counting up to a limit."""
    asked, one, other = new.parts
    if (counted := _counting(asked, one, other, current)) is not None:
        return counted
    replaces = core(other) == current
    kept, operand = (other, one) if replaces else (one, other)
    compared = _comparison(asked, replaces, current)
    if core(kept) != current or compared is None or core(compared[1]) != core(operand):
        raise NotFollowed("no atomic operation of the hardware computes its new value")
    return Operation(compared[0], compared[2], compared[1], compared[3])


def _counting(asked: Term, one: Term, other: Term, current: Term) -> Operation | None:
    """`old >= limit ? 0 : old + 1` of an unsigned int."""
    counts = other.kind == "binary" and other.text == "+" and core(other.parts[0]) == current
    if not counts or asked.kind != "binary" or asked.text != ">=" or core(asked.parts[0]) != current:
        return None
    limit = asked.parts[1]
    numbers = written(one) in ("0", "0u", "0U") and written(other.parts[1]) in ("1", "1u", "1U")
    unsigned = asked.parts[0].type == "u4" and _same_type(asked.parts[0], limit) == "u4"
    plain = numbers and unsigned and not any(True for _ in symbols_in(limit))
    return Operation("Inc", "u4", limit) if plain else None


def _check_ends(paths: list[Path], current: Term, operation: Operation, news: set[Term]) -> None:
    """A step that swapped ends the loop, one that failed goes on from what it found, one that did not try ends it."""
    for path in paths:
        if path.swap is None:
            if path.end == "next":
                raise NotFollowed("a step may do nothing")
            _check_harmless(path.asked, current, operation, news)
        elif not path.swap.done and path.end == "next":
            last = path.values.get(current.text, UNKNOWN)
            if current.kind == "head" and core(last).kind not in ("seen", "load"):
                raise NotFollowed("a step that failed does not go on from the value that it found")
        elif not path.swap.done:
            seen = next((s for asked, _ in path.asked for s in symbols_in(asked) if s.kind == "seen"), None)
            if seen is None:
                raise NotFollowed("it gives up where another thread was faster")
            _check_harmless(path.asked[path.before :], seen, operation, set())
        elif path.end == "next" and not _ends_by_guard(path, current, operation):
            raise NotFollowed("it goes on after it has swapped")


def _check_harmless(
    asked: tuple[tuple[Term, bool], ...], current: Term, operation: Operation, news: set[Term]
) -> None:
    """The conditions under which a step ends the loop without a swap: the last one says that nothing would change."""
    if not asked:
        raise NotFollowed("it ends without a swap")
    last, truth = asked[-1]
    compared = _comparison(last, not truth, current)
    if (
        compared is not None
        and compared[0] == operation.name
        and core(compared[1]) == core(operation.operand)
    ):
        return
    same = last.kind == "binary" and last.text == ("==" if truth else "!=")
    if same and len(news) == 1 and {core(p) for p in last.parts} == {current, *news}:
        return
    raise NotFollowed("it ends without a swap where something would change")


def _ends_by_guard(path: Path, current: Term, operation: Operation) -> bool:
    """`while (value < old) old = atomicCAS(...)`: a swap is followed by a step that fails, and ends. To do it twice is
    as good as once.
    """
    goes_on = core(path.values.get(current.text, UNKNOWN)) == current
    return goes_on and operation.name in ("Min", "Max")


def _check_first_read(loop: Node, current: Term, step: Step, names: FunctionNames) -> None:
    """Before a loop that may end at once, its variable holds what was read there just before."""
    if current.kind == "load":
        return
    values = [value for name, value in _set_before(loop, names.function) if name == current.text]
    if not values:
        raise NotFollowed("it compares a value that was not read there")
    for value in values:
        ways = list(replace(step, call=loop).value(value, Path({})))
        if any(core(term).kind != "load" for _, term in ways):
            raise NotFollowed("it compares a value that was not read there")
        between = names.text(value.end_byte, loop.start_byte)
        if TOGETHER.search(between):
            raise NotFollowed("threads wait for each other between its first read and the loop")


def _set_before(loop: Node, function: Node) -> Iterator[tuple[str, Node]]:
    """What variables are set to outside of the loop's body."""
    body = child_of(loop, "body")
    for node in walk(function):
        if body.start_byte <= node.start_byte < body.end_byte or node.start_byte > body.end_byte:
            continue
        sides = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}
        if node.type in sides and not _in_condition(node, loop):
            name, value = (child_of(node, side) for side in sides[node.type])
            yield text_of(name), value


def _in_condition(node: Node, loop: Node) -> bool:
    parts = [loop.child_by_field_name(part) for part in ("condition", "update")]
    return any(p is not None and p.start_byte <= node.start_byte < p.end_byte for p in parts)


def _kept(
    loop: Node,
    after: Node,
    ends: list[Path],
    current: Term,
    changed: frozenset[str],
    names: FunctionNames,
    *,
    endless: bool,
) -> dict[str, TypeCode]:
    """Variables that are read after the loop, by what they hold then."""
    kept = {}
    for name in sorted(changed):
        if not _used_after(loop, after.end_byte, name, names.function):
            continue
        found = {_found(path.values.get(name), current) for path in ends}
        code = found.pop() if len(found) == 1 else None
        if endless or code is None:
            raise NotFollowed(f"`{name}` is used after it")
        kept[name] = code
    return kept


def _found(value: Term | None, current: Term) -> TypeCode | None:
    """The type in which a term is the value that the step started from, or has seen last; None where it is another."""
    if value is None or (core(value) != current and core(value).kind != "seen"):
        return None
    return value.type


def _used_after(loop: Node, start: int, name: str, function: Node) -> bool:
    """Whether the variable may be read once the loop has ended: behind it, or anywhere in a loop around it."""
    if _declared_within(loop, name) or _declared_in_header(loop, name):
        return False
    around = [n for n in ancestors(loop, function) if n.type in (*LOOPS, "lambda_expression")]
    again = [n for n in around if not _declared_within(n, name)]
    return any(
        n.type == "identifier" and text_of(n) == name and (n.start_byte >= start or _within(n, again, loop))
        for n in walk(function)
    )


def _declared_in_header(loop: Node, name: str) -> bool:
    first = loop.child_by_field_name("initializer")
    return (
        first is not None
        and first.type == "declaration"
        and any(
            (n := declared_name(d)) is not None and text_of(n) == name
            for d in first.children_by_field_name("declarator")
        )
    )


def _within(node: Node, around: list[Node], loop: Node) -> bool:
    outside = not loop.start_byte <= node.start_byte < loop.end_byte
    return outside and any(n.start_byte <= node.start_byte < n.end_byte for n in around)


def _order(call: Node) -> tuple[str, str]:
    """The memory order and scope of HIP's built-in function; empty for `atomicCAS`."""
    arguments = [text_of(a) for a in arguments_of(call)]
    if len(arguments) == 3:
        return "", ""
    if len(arguments) != 6:
        raise NotFollowed("its order and scope are not given")
    return arguments[3], arguments[5]
