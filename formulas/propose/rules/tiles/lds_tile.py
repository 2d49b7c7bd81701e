"""Elements that many threads of a workgroup load in a loop are loaded once, side by side, into tiles in LDS.

In a product of matrices `acc += a[row * K + k] * b[k * N + col]` all threads of a row load the same element of `a`, and
all of a column the same of `b`. The workgroup loads those of several steps at once, along the axis on which they
are contiguous, waits, and makes the steps from LDS. The loop stays as it was for the last steps, and for workgroups of
another shape. The same operations in the same order: results stay the same bit for bit, unless the compiler fuses
others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    bare,
    called,
    child_of,
    declared_name,
    joins,
    names_in,
    squeeze,
    text_of,
    walk,
    walk_outside,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import NotStatic, evaluate, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    before_directives,
    indentation,
    is_pure,
    line_start,
    negated,
    numbered_name,
    renamed,
    style_of,
    with_steps,
)
from hipscope.formulas.propose.rules.shared.preconditions import (
    first_refusal,
    no_macro_hides,
    seen_through_whole,
    waits_for_no_workgroup,
)
from hipscope.formulas.propose.rules.tiles.thread_parts import place_of
from hipscope.formulas.propose.rules.tiles.tiled_loop import (
    CannotTile,
    LoopGuard,
    Operand,
    TiledLoop,
    assumed_apart,
    own_declarations,
    tiled_loops,
)
from hipscope.formulas.propose.splice import Splice

_STEPS = (8, 16, 32, 64)  # of the loop in a tile
_MOST_BYTES = 32768  # of all tiles: two workgroups of a CU still have room
_MOST = 2  # candidates: tiles of one load for each thread, and of two
_BANK_BYTES = 4
_BYTES_AT_ONCE = 256  # that unrolled steps load from LDS: half of the registers of a full SIMD
_APART = "lets another argument overlap {} (none did in the recorded ones)"
_NUMBERS = integers(8) | {"float", "double", "bool"}
_MATH = re.compile(
    r"(sqrt|rsqrt|fabs|exp|exp2|log|log2|log10|sin|cos|tan|tanh|pow|fma|fmin|fmax|floor|ceil|min|max|abs)f?"
)


@rewrite("lds_tile", "Memory", "memoryAccess", "memoryLocality", "latencyHiding", anywhere=True, rank=20)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """What threads of a workgroup share in a loop is loaded once, into LDS.

    Needs: a loop that counts up by a number between ends that are the same for the workgroup, without barriers and
    ways out in the middle; elements that depend on one part of the thread's number (`threadIdx.y`, `threadIdx.x /
    16`) which four threads or more have in common; the launch stores nothing to these arrays (no overlap in all
    recorded launches, or `__restrict__`); guards like `row < m` that no thread passes if the first does not;
    workgroups of one recorded shape, which the kernel checks.
    Results: same bits, unless the compiler fuses others.
    For: naive matrix products, HeCBench blas-gemm.
    """
    if (why := first_refusal(kernel, _PRECONDITIONS)) is not None:
        return why
    shapes = {launch.workgroup for launch in facts.launches}
    if len(shapes) != 1:
        return "the recorded launches do not have workgroups of one shape"
    reasons: list[str] = []
    file, workgroup = parse(source), next(iter(shapes))
    for tiled in tiled_loops(kernel, file, facts, workgroup):
        if isinstance(tiled, str):
            reasons.append(tiled)
            continue
        try:
            return [
                _candidate(source, _Rewrite(source, file, facts, tiled, steps), facts)
                for steps in _sizes(tiled, facts)
            ]
        except CannotTile as reason:
            reasons.append(f"the loop on line {tiled.loop.node.start_point.row + 1}: {reason}")
    return "; ".join(reasons) or "the kernel has no loop that counts up"


_PRECONDITIONS = (no_macro_hides, seen_through_whole, waits_for_no_workgroup)


def _candidate(source: bytes, rewrite: _Rewrite, facts: LaunchFacts) -> Candidate:
    tiled = rewrite.tiled
    bases = ", ".join(f"`{base}`" for base in dict.fromkeys(operand.base for operand in tiled.operands))
    apart = ", ".join(f"`{base}`" for base in assumed_apart(tiled, facts))
    return edited(
        source,
        rewrite.splices(),
        title=f"Load elements of {bases} once for each workgroup, into LDS, for {rewrite.steps} steps at a time",
        expected=(
            f"An element is loaded once for the workgroup, not by each of its threads; LDS grows by "
            f"{rewrite.bytes} bytes; the same operations in the same order."
        ),
        assumes=(f"no launch of `{tiled.knows.kernel.name}` {_APART.format(apart)}",) if apart else (),
    )


def _sizes(tiled: TiledLoop, facts: LaunchFacts) -> list[int]:
    """How many steps a tile has: as many as give each thread an element to load, and twice that. Raises CannotTile."""
    threads = math.prod(tiled.knows.workgroup)
    most = max(operand.part.count for operand in tiled.operands)
    dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
    room = min(_MOST_BYTES, facts.lds_limit - facts.static_lds - dynamic)
    enough = [s for s in _STEPS if s * most >= threads or s == _STEPS[-1]]
    fitting = [s for s in enough if _most_bytes(tiled.operands, s) <= room]
    if not fitting:
        raise CannotTile(f"its tiles need {_most_bytes(tiled.operands, enough[0])} bytes of LDS, of {room}")
    return fitting[:_MOST]


def _most_bytes(operands: Sequence[Operand], steps: int) -> int:
    """The most LDS that the tiles need."""
    return sum(o.bytes * steps * (o.part.count + _padding(o)) for o in operands)


def _padding(operand: Operand) -> int:
    """Elements at the end of a row, so that a column of a tile lies in different banks."""
    return max(1, _BANK_BYTES // operand.bytes)


@dataclass(frozen=True)
class _Tile:
    """The LDS of one operand: a row for each step, so that successive steps are no neighbours that the compiler packs.

    Packed operations are fused otherwise, and rounded otherwise. `along_steps`: successive steps are neighbours in
    memory, and are loaded by successive threads.
    """

    operand: Operand
    name: str
    along_steps: bool

    @property
    def padding(self) -> int:
        """Elements at the end of each row: what is loaded together stands in a column where steps are neighbours."""
        return _padding(self.operand) if self.along_steps else 0


class _Rewrite:
    """The text of a kernel whose loop goes through tiles of `steps` steps."""

    def __init__(
        self, source: bytes, file: FileSyntax, facts: LaunchFacts, tiled: TiledLoop, steps: int
    ) -> None:
        self.source, self.tiled, self.steps, self.kernel = source, tiled, steps, tiled.knows.kernel
        self.style, self.loop = style_of(source, self.kernel), tiled.loop
        self.given: list[str] = []
        self.first = self._fresh(f"first_{self.loop.counter}")
        self.size = self._fresh(f"tile_{self.loop.counter}")
        self.step = self._fresh("step")
        self.place = self._fresh("place")
        self.counters: dict[str, str] = {}
        self.threads = {f"threadIdx.{axis}": self._fresh(f"thread_{axis}") for axis in "xyz"}
        self.tiles = [
            _Tile(o, self._fresh(f"{_word(o.base)}_tile"), _along_steps(o, tiled, file, facts))
            for o in tiled.operands
        ]
        self.bytes = sum(t.operand.bytes * steps * (t.operand.part.count + t.padding) for t in self.tiles)

    def splices(self) -> list[Splice]:
        """The edits. Raises CannotTile."""
        loop = self.loop.node
        begin = self.loop.begin
        place = before_directives(self.source, loop.start_byte)
        outermost = self.tiled.guards[0].statement if self.tiled.guards else loop
        start = min(before_directives(self.source, outermost.start_byte), place)
        outer = indentation(self.source, outermost.start_byte)
        lines = [*self._between(outer), *self._tiled(outer), *self._guards()]
        text = "".join(line + self.style.newline if line else self.style.newline for line in lines)
        self._check_lines(outermost)
        on_one_line = outermost.start_point.row == loop.start_point.row and outermost.id != loop.id
        if on_one_line:  # `if (i < n) for (...)`
            place, text = loop.start_byte, text + outer + self.style.step
        return [
            Splice(start, place, text.encode("utf-8", "surrogateescape")),
            Splice(begin.start_byte, begin.end_byte, self.first.encode()),
        ]

    def _check_lines(self, outermost: Node) -> None:
        """Raises CannotTile where something else stands before the loop, or before what is around it, on one line."""
        own = [outermost, self.loop.node]
        if outermost.start_point.row == self.loop.node.start_point.row and not self.tiled.between:
            own.pop()
        if any(self.source[line_start(self.source, n.start_byte) : n.start_byte].strip() for n in own):
            raise CannotTile("other code stands before it on its line")

    def _fresh(self, name: str) -> str:
        found = numbered_name(name, self.style, self.given)
        self.given.append(found)
        return found

    def _between(self, outer: str) -> list[str]:
        """What stood between the first guard and the loop, now for all threads: it computes, or is masked."""
        lines: list[str] = []
        row = -1
        for statement in self.tiled.between:
            if statement.start_byte >= before_directives(self.source, self.loop.node.start_byte):
                continue  # the loop's own pragma
            if statement.type == "comment" and statement.start_point.row == row:
                lines[-1] += f"  {text_of(statement)}"
                continue
            text = self._moved(statement) if statement.type != "comment" else text_of(statement)
            lines += _shifted(text, indentation(self.source, statement.start_byte), outer)
            row = statement.end_point.row
        return lines

    def _moved(self, statement: Node) -> str:
        """A declaration or an assignment that all threads make. Raises CannotTile."""
        line = statement.start_point.row + 1
        if statement.type == "declaration":
            names = {text_of(n) for n in _declared_names(statement)}
            if not names <= self.tiled.knows.declared.keys() | self._changing(names):
                raise CannotTile(f"a name of line {line} is declared elsewhere, too")
            values = [d.child_by_field_name("value") for d in statement.children_by_field_name("declarator")]
            replaced = {
                v.id: self._masked(v, statement) for v in values if v is not None and not self._is_quiet(v)
            }
            return renamed(statement, {}, replaced)
        if statement.type == "expression_statement" and self._is_quiet(statement):
            return text_of(statement)
        raise CannotTile(f"line {line} does something under a condition that differs between threads")

    def _changing(self, names: set[str]) -> set[str]:
        """Those that change, and have one declaration."""
        every = [
            text_of(n)
            for d in walk(self.kernel.body_node)
            if d.type == "declaration"
            for n in _declared_names(d)
        ]
        return {name for name in names if every.count(name) == 1}

    def _masked(self, value: Node, declaration: Node) -> str:
        """A value that is loaded by the threads that come to the loop only."""
        kind = text_of(child_of(declaration, "type"))
        if value.type in ("initializer_list", "argument_list") or kind == "auto":
            raise CannotTile(
                f"line {value.start_point.row + 1} loads under a condition that differs between threads"
            )
        return f"{self._condition()} ? {text_of(value)} : {_zero(kind)}"

    def _is_quiet(self, node: Node) -> bool:
        """Whether it computes with variables of the thread only, but for what is staged."""
        staged = {n.id for operand in self.tiled.operands for n in operand.nodes}
        places = {n.id: place for n in walk(node) if (place := place_of(n)) is not None}
        silent = places.keys() | {place.id for place in places.values()}
        return all(n.id in silent or self._quiet_alone(n) for n in walk_outside(node, staged))

    def _quiet_alone(self, node: Node) -> bool:
        if node.type == "pointer_expression" or (node.type == "field_expression" and "->" in text_of(node)):
            return False
        if node.type == "subscript_expression":
            return False
        return node.type != "call_expression" or is_pure(node) or _only_computes(node)

    def _condition(self) -> str:
        """Under what a thread comes to the loop."""
        parts = [
            negated(g.condition, self.kernel) if g.leaves else text_of(g.condition) for g in self.tiled.guards
        ]
        joined = " && ".join(f"({p})" if "||" in p or "?" in p else p for p in parts)
        return squeeze(joined)

    def _guards(self) -> Iterator[str]:
        """The guards, behind the tiles: what they leave out has helped to load these."""
        for guard in self.tiled.guards:
            statement = guard.statement
            start, end = statement.start_byte, _head_end(self.source, guard)
            text = self.source[start:end].decode("utf-8", "surrogateescape")
            yield from (indentation(self.source, start) + text).splitlines()

    def _tiled(self, outer: str) -> Iterator[str]:
        """The tiles and the steps that go through them."""
        loop, step = self.loop, self.style.step
        x, y, z = self.tiled.knows.workgroup
        shape = f"blockDim.x == {x} && blockDim.y == {y} && blockDim.z == {z}"
        asked = " && ".join([shape, *self.tiled.least])
        advance = f"{self.size} * {loop.step}" if loop.step > 1 else self.size
        lines = [
            "// Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.",
            f"constexpr {loop.type} {self.size} = {self.steps};",
            *(self._array(tile) for tile in self.tiles),
            f"{loop.type} {self.first} = {text_of(loop.begin)};",
            f"if ({asked}) {{",
            f"\tfor (; {self._whole()}; {self.first} += {advance}) {{",
            *("\t\t" + line for tile in self.tiles for line in self._loads(tile)),
            "\t\t__syncthreads();",
        ]
        yield from (outer + with_steps(line, step) for line in lines)
        yield from self._steps(outer + step * 2)
        yield from (outer + with_steps(line, step) for line in ("\t\t__syncthreads();", "\t}", "}"))

    def _whole(self) -> str:
        """Whether a whole tile of steps is left."""
        loop = self.loop
        end = text_of(loop.end)
        if loop.step == 1 and loop.operator == "<":
            return f"{self.first} + {self.size} <= {end}"
        last = f"({self.size} - 1) * {loop.step}" if loop.step > 1 else f"({self.size} - 1)"
        return f"{self.first} + {last} {loop.operator} {end}"

    def _array(self, tile: _Tile) -> str:
        operand = tile.operand
        row = f"{operand.part.count} + {tile.padding}" if tile.padding else str(operand.part.count)
        comment = "  // padded: a column lies in different banks" if tile.padding else ""
        return f"__shared__ {operand.element} {tile.name}[{self.size}][{row}];{comment}"

    def _loads(self, tile: _Tile) -> list[str]:
        """The statements by which the workgroup fills a tile."""
        if (own := self._own_axis(tile)) is not None:
            return self._own_loads(tile, own)
        return self._spread_loads(tile)

    def _own_axis(self, tile: _Tile) -> int | None:
        """Along which axis each thread loads steps of its own part: 0 is x. None where it loads for other threads."""
        part = tile.operand.part
        axis = {"threadIdx.x": 1, "threadIdx.y": 0}.get(part.index)
        if not part.whole or axis is None or self.tiled.knows.workgroup[2] != 1 or self._mixed(tile):
            return None
        along = self.tiled.knows.workgroup[axis]
        fitting = tile.along_steps == (axis == 0)
        return axis if fitting and self.steps % along == 0 else None

    def _mixed(self, tile: _Tile) -> bool:
        """Whether a test of the operand depends on other indices of the thread, too."""
        knows = self.tiled.knows
        return any(len({p.index for p in knows.parts(t.value)}) > 1 for t in tile.operand.tests)

    def _own_loads(self, tile: _Tile, axis: int) -> list[str]:
        index, along = f"threadIdx.{'xy'[axis]}", self.tiled.knows.workgroup[axis]
        if along == self.steps:
            return self._load(tile, {}, tile.operand.part.text, index)
        return [
            f"for (unsigned {self.step} = {index}; {self.step} < {self.size}; {self.step} += {along}) {{",
            *("\t" + line for line in self._load(tile, {}, tile.operand.part.text, self.step)),
            "}",
        ]

    def _spread_loads(self, tile: _Tile) -> list[str]:
        """The threads of the workgroup, in their order, load the elements of a tile in the order of memory."""
        part, place, step = tile.operand.part, self.place, self.step
        x, y, z = self.tiled.knows.workgroup
        lane = "threadIdx.x" + (f" + {x} * threadIdx.y" if y > 1 else "")
        lane += f" + {x * y} * threadIdx.z" if z > 1 else ""
        thread = self.threads[part.index]
        fast, slow = (step, thread) if tile.along_steps else (thread, step)
        width = self.size if tile.along_steps else str(part.count)
        others = {f"threadIdx.{axis}": "0" for axis in "xyz"} | {part.index: part.first_thread(thread)}
        return [
            f"for (unsigned {place} = {lane}; {place} < {part.count} * {self.size}; {place} += {x * y * z}) {{",
            f"\tconst unsigned {slow} = {place} / {width}, {fast} = {place} % {width};",
            *("\t" + line for line in self._load(tile, others, thread, step)),
            "}",
        ]

    def _load(self, tile: _Tile, indices: Mapping[str, str], part: str, step: str) -> list[str]:
        """The statements by which one thread loads one element, where the guards let any thread load it."""
        operand, loop, knows = tile.operand, self.loop, self.tiled.knows
        names = dict(indices)
        names |= {f"hipThreadIdx_{index[-1]}": text for index, text in indices.items()}
        known = self.counters.get(step)
        counter = known or self._fresh(f"{_word(operand.base)}_{loop.counter}")
        ahead = f"{step} * {loop.step}" if loop.step > 1 else step
        lines = [] if known else [f"const {loop.type} {counter} = {self.first} + {ahead};"]
        if step != self.step:  # declared beside the loads of other tiles
            self.counters[step] = counter
        names[loop.counter] = counter
        wanted = names_in(operand.node).union(*(names_in(t.value) for t in operand.tests))
        for name, declarator, declaration in own_declarations(wanted, knows):
            value = declarator.child_by_field_name("value")
            again = value is not None and (
                (bool(indices) and not knows.uniform(value)) or self._steps_with(value)
            )
            if again:
                names[name] = self._fresh(f"{_word(operand.base)}_{name}")
                first = declaration.children_by_field_name("declarator")[0]
                head = self.source[declaration.start_byte : first.start_byte].decode("utf-8", "replace")
                lines.append(f"{squeeze(head)} {squeeze(renamed(declarator, names))};")
        element = squeeze(renamed(operand.node, names))
        asked = " && ".join(
            squeeze(f"{renamed(t.value, names)} {t.operator} {text_of(t.bound)}") for t in operand.tests
        )
        value_text = f"{asked} ? {element} : {_zero(operand.element)}" if asked else element
        return [*lines, f"{tile.name}[{step}][{part}] = {value_text};"]

    def _steps_with(self, value: Node) -> bool:
        """Whether it has another value in the next step."""
        names = names_in(value)
        own = [child_of(d, "value") for n, d, _ in own_declarations(names, self.tiled.knows)]
        return self.loop.counter in names.union(*(names_in(v) for v in own))

    def _left_over(self, statements: Sequence[Node], staged: set[int]) -> set[int]:
        """What is staged, and the declarations that nothing else than that uses."""
        gone = set(staged)
        for statement in reversed(statements):
            names = (
                {text_of(n) for n in _declared_names(statement)} if statement.type == "declaration" else set()
            )
            if not names or not names <= self.tiled.knows.declared.keys() or not self._is_quiet(statement):
                continue
            uses = (n for s in statements for n in walk_outside(s, gone) if n.type == "identifier")
            if sum(1 for n in uses if text_of(n) in names) == len(names):
                gone.add(statement.id)
        return gone

    def _unrolled(self) -> str:
        """As many steps side by side as leave room in registers for what they load."""
        together = _BYTES_AT_ONCE // sum(tile.operand.bytes for tile in self.tiles)
        return "#pragma unroll" if together >= self.steps else f"#pragma unroll {max(1, together)}"

    def _steps(self, outer: str) -> Iterator[str]:
        """The steps of a tile."""
        loop, style = self.loop, self.style
        replaced = {
            n.id: f"{tile.name}[{self.step}][{tile.operand.part.text}]"
            for tile in self.tiles
            for n in tile.operand.nodes
        }
        statements = loop.body.named_children if loop.body.type == "compound_statement" else [loop.body]
        gone = self._left_over(statements, set(replaced))
        texts = [(s, renamed(s, {}, replaced)) for s in statements if s.id not in gone]
        ahead = f"{self.step} * {loop.step}" if loop.step > 1 else self.step
        used = any(
            n.type == "identifier" and text_of(n) == loop.counter for n in walk_outside(loop.body, gone)
        )
        masked = self.tiled.guards and not self._is_quiet(loop.body)
        if masked:
            yield f"{outer}if ({self._condition()}) {{"
        inner = outer + (style.step if masked else "")
        yield f"{inner}{self._unrolled()}"
        yield f"{inner}for ({loop.type} {self.step} = 0; {self.step} < {self.size}; ++{self.step}) {{"
        if used:
            yield f"{inner}{style.step}const {loop.type} {loop.counter} = {self.first} + {ahead};"
        for statement, text in texts:
            yield from _shifted(text, indentation(self.source, statement.start_byte), inner + style.step)
        yield f"{inner}}}"
        if masked:
            yield f"{outer}}}"


def _along_steps(operand: Operand, tiled: TiledLoop, file: FileSyntax, facts: LaunchFacts) -> bool:
    """Whether the elements of successive steps are neighbours in memory, and those of successive threads are not.

    By the lane model, from the distances of threads; where these are not known, by whether the counter is added as it
    is.
    """
    kernel = tiled.knows.kernel
    index = next(s for s in kernel.subscripts if s.node.id == operand.node.id).indices[0]
    if not _added(index, tiled):
        return False
    try:
        wave = wave_values(
            kernel, facts.launches[0], file.constants, at=tiled.loop.body, wave_size=facts.wave_size
        )
        lanes = evaluate(index, wave)
    except NotStatic:
        return True
    return min((int(d) for d in abs(lanes - lanes[0]) if d), default=2) > 1


def _added(index: Node, tiled: TiledLoop) -> bool:
    """Whether the counter is a term of the sum that an index is."""
    index = bare(index)
    if (meaning := tiled.knows.kernel.through.meanings.get(index.id)) is not None:
        return _added(meaning, tiled)
    if index.type == "identifier" and (value := tiled.knows.value(text_of(index))) is not None:
        return _added(value, tiled)
    if joins(index, "+", "-"):
        return any(_added(child_of(index, side), tiled) for side in ("left", "right"))
    counter, step = tiled.loop.counter, tiled.loop.step
    return "".join(text_of(index).split()) in (counter, f"{counter}/{step}")


def _shifted(text: str, where: str, to: str) -> Iterator[str]:
    """The lines of a statement that stood at one indentation, at another."""
    first, *rest = text.splitlines()
    yield to + first
    yield from (to + line.removeprefix(where) if line.strip() else "" for line in rest)


def _head_end(source: bytes, guard: LoopGuard) -> int:
    """Where the part of a guard ends that stands before what it guards."""
    if guard.leaves:
        return guard.statement.end_byte
    consequence = child_of(guard.statement, "consequence")
    braces = consequence.type == "compound_statement"
    return consequence.start_byte + 1 if braces else child_of(guard.statement, "condition").end_byte


def _declared_names(declaration: Node) -> Iterator[Node]:
    for declarator in declaration.children_by_field_name("declarator"):
        if (name := declared_name(declarator)) is not None:
            yield name


def _only_computes(call: Node) -> bool:
    """A function of numbers."""
    return _MATH.fullmatch((called(call) or "").removeprefix("std::")) is not None


def _word(base: str) -> str:
    return base.replace(".", "_")


def _zero(kind: str) -> str:
    """A value of a type, of all bits zero."""
    return "0" if kind in _NUMBERS else f"{kind}{{}}"
