"""What a candidate may change, checked before anything of it runs: first its text, then its code object.

Takes the original and the candidate, gives sentences that say why the candidate is refused; none means it may go on to
the proof. Nothing in here asks whether the result is right: that is accordo's part.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tree_sitter import Node

from hipscope.analysis.source.declarations import needed_declarations
from hipscope.analysis.source.nodes import (
    BARRIERS,
    ancestors,
    arguments_of,
    called,
    declared_name,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, Span
from hipscope.analysis.toolchain.code_object import CodeObject, KernelMetadata, kernel_code
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.directives import directive_reasons
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.judge.guard_added_code import (
    added_nodes,
    helper_reasons,
    moved_barriers,
    open_end,
    rewritten_functions,
)
from hipscope.formulas.judge.guard_stores import barrier_reasons, store_reasons
from hipscope.formulas.propose.rules.shared.loop_pragmas import UNROLL_PRAGMA
from hipscope.formulas.tables import table

ALLOWED_ATTRIBUTES = ("__launch_bounds__",)


def check_source(
    original: bytes,
    candidate: bytes,
    kernel: KernelSyntax,
    disjoint: Collection[str] = (),
    headers: Sequence[bytes] = (),
    others: Sequence[bytes] = (),
) -> tuple[str, ...]:
    """Why the candidate's text is refused. `kernel` is the one of `original` that may change, or a device function.
    With a kernel the device functions of its file may change that no host code can run.

    `disjoint` names the pointers that no recorded launch showed to overlap another: they may become `__restrict__`.
    `headers` are the texts of the project that the source includes, `others` those of all its other files.
    """
    if candidate == original:
        return ("the candidate is the original, byte for byte",)
    if kernel.is_kernel and (found := rewritten_functions(original, candidate, kernel, headers)).changed:
        reasons = [
            reason
            for function, alone in found.changed
            for reason in _function_reasons(original, alone, function, headers)
        ]
        if found.rest != original:
            reasons += check_source(original, found.rest, kernel, disjoint, headers, others)
        return tuple(dict.fromkeys(reasons))
    before, after = parse(original), parse(candidate)
    inner = _changed_bytes(before, after, original, candidate, kernel)
    if inner is None:
        return (f"it changes text outside {_what(kernel)}",)
    start, end = inner
    if (why := open_end(candidate[start:end])) is not None:
        return (why,)
    if len(after.errors) > len(before.errors) and _errors(candidate) > _errors(original):
        return (f"it has a syntax error{_first_error(before, after)}",)
    among = after.kernels if kernel.is_kernel else device_functions(candidate)
    inside = [k for k in among if start <= k.span.start and k.span.end <= end]
    changed = next((k for k in inside if k.name == kernel.name), None)
    if changed is None:
        return (f"{_what(kernel)} is gone",)
    added = added_nodes(after.root, start, end, changed.span)
    if isinstance(added, str):
        return (added,)
    return (
        *_signature_reasons(kernel, changed, disjoint),
        *_denied_reasons(kernel, changed, added),
        *_hidden_reasons((original, kernel), (candidate, changed), added, headers),
        *barrier_reasons(kernel, changed),
        *store_reasons(kernel, changed),
        *helper_reasons(original, added, others),
        *directive_reasons(
            original[kernel.span.start : kernel.span.end], candidate[changed.span.start : changed.span.end]
        ),
    )


def _function_reasons(
    original: bytes, alone: bytes, function: KernelSyntax, headers: Sequence[bytes]
) -> list[str]:
    moved = moved_barriers(function, alone)
    return [*check_source(original, alone, function, (), headers), *([moved] if moved is not None else [])]


def check_pragmas(original: bytes, candidate: bytes) -> tuple[str, ...]:
    """Why a text is refused that may differ in the unroll pragmas of loops inside functions, and in nothing else."""
    if candidate == original:
        return ("the candidate is the original, byte for byte",)
    before, after = parse(original), parse(candidate)
    nowhere = Span(0, 0, 1, 1)
    if _without_unroll_pragmas(before, original, nowhere) != _without_unroll_pragmas(
        after, candidate, nowhere
    ):
        return ("it changes more than unroll pragmas",)
    return tuple(directive_reasons(original, candidate))


def check_code_object(
    original: CodeObject,
    candidate: CodeObject,
    launches: Mapping[str, LaunchFacts],
    *,
    proved: bool = False,
    not_launched: Collection[str] = (),
    unknown: Collection[str] = (),
) -> tuple[str, ...]:
    """Why the candidate's machine code is refused. `launches`: the changed kernel's symbols, with what was captured.
    `proved`: other kernels may be compiled differently, since they will be proved, too. `not_launched` are those that
    may be compiled differently without: other instances of the kernel's template; `unknown` are such that may not.
    """
    old, new = original.kernels.keys(), candidate.kernels.keys()
    reasons = [f"the kernel symbol {symbol} is gone: the signature changed" for symbol in sorted(old - new)]
    reasons += [f"there is a new kernel symbol {symbol}" for symbol in sorted(new - old)]
    for symbol in sorted(old & new):
        before, after = original.kernels[symbol], candidate.kernels[symbol]
        if symbol in launches:
            reasons += _abi_reasons(before, after)
            reasons += _resource_reasons(before, after, launches[symbol])
        elif proved or symbol in not_launched:
            reasons += _abi_reasons(before, after)
        elif before != after and symbol in unknown:
            reasons.append(
                f"it changes {demangle(symbol)} as well, of which no launch shows that it may: a run that launches it, "
                "too, would"
            )
        elif before != after:
            reasons.append(f"another kernel, {demangle(symbol)}, is compiled differently")
    return tuple(reasons)


def check_instructions(original: Mapping[str, int], candidate: Mapping[str, int]) -> tuple[str, ...]:
    """Why the candidate's machine code is refused by what it executes; both are mnemonics, with how many there are.

    A name that macros of the project put together is in no text that `check_source` reads. What could not be
    disassembled has no mnemonics: nothing is known of it.
    """
    if not candidate:
        return ("its machine code cannot be disassembled",)
    return tuple(
        sorted(
            f"its machine code {what} (`{word}`)"
            for word, what in _DENIED_CODE.items()
            if candidate.get(word, 0) > original.get(word, 0)
        )
    )


def elsewhere(text: bytes, kernel_start: int) -> bytes:
    """The text as if the kernel stood at another place and were compiled at another time."""
    start = text.rfind(b"\n", 0, kernel_start) + 1
    return text[:start] + _ELSEWHERE + text[start:]


def adds_no_names(original: bytes, candidate: bytes, unit: KernelSyntax | None) -> bool:
    """Whether a candidate's changed lines have no words but the `unit`'s before, keywords and what it declares.

    Then nothing new in them can name a place or a time, whatever the macros of other headers stand for: such a macro
    is a number or a string, which cannot be declared. Those of the project are left to `check_source`.
    """
    before, after = _changed_lines(original.splitlines(), candidate.splitlines())
    added = b"\n".join(Counter(after) - Counter(before))
    known = original[unit.span.start : unit.span.end] if unit is not None else b""
    new = {*_PLAIN_WORD.findall(_LINE_COMMENT.sub(rb"\1", added))} - {*_PLAIN_WORD.findall(known), *_KEYWORDS}
    return not new or (unit is not None and new <= _declared_in(candidate, unit.name))


def _declared_in(text: bytes, function: str) -> set[bytes]:
    """The variables that functions of that name declare."""
    found = (f for f in (*parse(text).kernels, *device_functions(text)) if f.name == function)
    nodes = (n for f in found for n in walk(f.body_node) if n.type == "declaration")
    declarators = (d for n in nodes for d in n.children_by_field_name("declarator"))
    return {text_of(name).encode() for d in declarators if (name := declared_name(d)) is not None}


def _changed_lines(before: list[bytes], after: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """From the first to the last line that differs, in both texts."""

    def same(pairs: Iterable[tuple[bytes, bytes]]) -> int:
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    start = same(zip(before, after, strict=False))
    before, after = before[start:], after[start:]
    end = same(zip(reversed(before), reversed(after), strict=False))
    return before[: len(before) - end], after[: len(after) - end]


def others_compiled_differently(
    original: CodeObject, candidate: CodeObject, proved: Collection[str], *, code: bool = False
) -> tuple[str, ...]:
    """The symbols of the kernels that need other resources than before, without those that are `proved`.

    With `code` all whose instructions, constants or callees are not the same, byte for byte.
    """
    shared = original.kernels.keys() & candidate.kernels.keys() - set(proved)
    differ = {s for s in shared if original.kernels[s] != candidate.kernels[s]}
    if code:
        before, after = kernel_code(original.path), kernel_code(candidate.path)
        differ |= {s for s in shared if before[""] != after[""] or before.get(s) != after.get(s)}
    return tuple(sorted(differ))


def changes_helpers(original: bytes, candidate: bytes, kernel: KernelSyntax) -> bool:
    """Whether text outside the kernel differs: a function that it calls, or unroll pragmas elsewhere."""
    head, tail = original[: kernel.span.start], original[kernel.span.end :]
    return not (candidate.startswith(head) and candidate.endswith(tail))


def _what(kernel: KernelSyntax) -> str:
    return f"the {'kernel' if kernel.is_kernel else 'function'} `{kernel.name}`"


def _changed_bytes(
    before: FileSyntax, after: FileSyntax, original: bytes, candidate: bytes, kernel: KernelSyntax
) -> tuple[int, int] | None:
    """The bytes of the candidate in place of the kernel; None when more than unroll pragmas changes around it.

    Such a pragma may stand before any loop: it changes how a loop is compiled, never what it computes.
    """
    head, tail = original[: kernel.span.start], original[kernel.span.end :]
    end = len(candidate) - len(tail)
    if kernel.span.start <= end and candidate.startswith(head) and candidate.endswith(tail):
        return kernel.span.start, end
    changed = after.kernel(kernel.name)
    if changed is None or before.kernel(kernel.name) is None:
        return None
    was = _without_unroll_pragmas(before, original, kernel.span)
    now = _without_unroll_pragmas(after, candidate, changed.span)
    return (changed.span.start, changed.span.end) if was == now else None


def _without_unroll_pragmas(file: FileSyntax, text: bytes, kernel: Span) -> tuple[bytes, bytes]:
    """The text before the kernel and that behind it, without the lines of unroll pragmas inside functions."""
    pieces: list[tuple[int, int]] = []
    position = 0
    for node in walk(file.root):
        if node.type != "preproc_call" or not UNROLL_PRAGMA.match(text_of(node)):
            continue
        inside = kernel.start <= node.start_byte < kernel.end
        if inside or not any(a.type == "function_definition" for a in ancestors(node, file.root)):
            continue
        start = text.rfind(b"\n", 0, node.start_byte) + 1
        end = text.find(b"\n", node.start_byte) + 1 or len(text)
        pieces.append((start, end))
    kept = []
    for start, end in [*pieces, (len(text), len(text))]:
        kept.append((position, start))
        position = end
    parts = [
        b"".join(text[max(a, low) : min(b, high)] for a, b in kept if max(a, low) < min(b, high))
        for low, high in ((0, kernel.start), (kernel.end, len(text)))
    ]
    return parts[0], parts[1]


def _errors(text: bytes) -> int:
    """Syntax errors beside the pragmas of loops, which the parser takes for statements: before a loop that is alone in
    another one, it misses a semicolon.
    """
    return len(parse(_PRAGMA_LINES.sub(lambda line: b" " * len(line[0]), text)).errors)


def _first_error(before: FileSyntax, after: FileSyntax) -> str:
    new = Counter(after.errors) - Counter(before.errors)
    return f" (line {min(new)})" if new else ""


def _signature_reasons(before: KernelSyntax, after: KernelSyntax, disjoint: Collection[str]) -> list[str]:
    reasons = []
    if before.template_head != after.template_head:
        reasons.append(f"the template head changed from `{before.template_head}` to `{after.template_head}`")
    if before.return_type != after.return_type:
        reasons.append(f"the return type changed to `{after.return_type}`")
    promised = {p.name for p in before.parameters if _RESTRICT.search(p.type)}
    old = [(_unrestricted(p.type), p.name) for p in before.parameters]
    new = [(_unrestricted(p.type), p.name) for p in after.parameters]
    reasons += [
        f"`{p.name}` becomes __restrict__, but no recorded launch shows that nothing overlaps it"
        for p in after.parameters
        if _RESTRICT.search(p.type) and p.name not in promised | set(disjoint)
    ]
    if old != new:
        was, now = (", ".join(f"{t} {n}" for t, n in side) for side in (old, new))
        reasons.append(f"the parameters changed from ({was}) to ({now})")
    gone = [a for a in before.attributes if a not in after.attributes]
    added = [a for a in after.attributes if a not in before.attributes]
    if gone and not all(a.startswith(ALLOWED_ATTRIBUTES) for a in gone):
        reasons.append(f"the attribute `{gone[0]}` is gone")
    if added and not all(a.startswith(ALLOWED_ATTRIBUTES) for a in added):
        reasons.append(f"the attribute `{added[0]}` is new")
    return reasons


_RESTRICT = re.compile(r"\b(?:__restrict__|__restrict|restrict)\b")


def _unrestricted(type_: str) -> str:
    """The type without `__restrict__`, which changes neither the symbol nor the arguments."""
    return re.sub(r"\s*\*\s*", "*", " ".join(_RESTRICT.sub(" ", type_).split()))


_DENIED_WORDS, _DENIED_CODE = (
    {name: does for does, row in table("denied").items() for name in row.get(kind, ())}
    for kind in ("words", "code")
)
# What the compiler defines by itself, or a build: C++ [cpp.predefined], clang's "Builtin Macros" and "Source Location
# Builtins", LLVM's AMDGPU targets, assert.h.
_BUILD_WORDS = re.compile(
    r"__(?:TIME|DATE|TIMESTAMP|FILE|FILE_NAME|BASE_FILE|LINE|INCLUDE_LEVEL|VERSION|OPTIMIZE|OPTIMIZE_SIZE|FAST_MATH)__"
    r"|N?_?DEBUG|__gfx\w+|__GFX\w+|__(?:AMDGCN|AMDGPU|HIP(?!_MEMORY_SCOPE_)|HIPCC|CUDA|clang|has|is_target|is_identifier)_\w+"
    r"|__(?:AMDGCN|AMDGPU|HIP|HIPCC|CUDACC|GNUC|cplusplus)(?:__)?|__builtin_(?:FILE|LINE|COLUMN|FUNCTION|source_location)\w*"
    r"|source_location"
)
_ELSEWHERE = b"""#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#define __TIME__ "23:59:59"
#define __DATE__ "Jan  1 1970"
#define __TIMESTAMP__ "Thu Jan  1 23:59:59 1970"
#pragma clang diagnostic pop
#line 30001 "elsewhere.hip"
"""
_PLAIN_WORD = re.compile(rb"(?<!\w)[A-Za-z_]\w*")
# None on a line with what could begin or end a string, or another comment.
_LINE_COMMENT = re.compile(rb"^((?:(?!/\*)[^\"'\n])*?)//(?:(?!\*/)[^\"'\n])*$", re.MULTILINE)
# C++ [lex.key], types and statements, which no macro of a header in use stands for; what hints are written in; and
# HIP's own names in the text of recipes (hip/amd_detail/host_defines.h, amd_hip_runtime.h, amd_warp_functions.h).
_KEYWORDS = (
    b"auto bool break case char const constexpr continue default do double else false float for if int long return "
    b"short signed static static_cast true unsigned void while pragma unroll nounroll clang loop vectorize_width "
    b"interleave_count disable enable __restrict__ __launch_bounds__ __shared__ __syncthreads __shfl_down __shfl_xor "
    b"threadIdx blockIdx blockDim gridDim warpSize x y z".split()
)
_BARRIERS = BARRIERS | {"__builtin_amdgcn_s_barrier"}
_PRAGMA_LINES = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(unroll|nounroll|clang[ \t]+loop)\b.*$", re.MULTILINE)
_PRAGMAS = re.compile(r"#\s*pragma\s+(unroll|nounroll|clang loop)")
_MORE = 1.25  # times the spills of a kernel that has some: there the time decides whether a rewrite may have a few more
_INTEGER_CAST = re.compile(r"\b(long|size_t|u?int64_t|u?intptr_t|unsigned|int)\b[^*]*$")


def _denied_reasons(before: KernelSyntax, after: KernelSyntax, helpers: Collection[Node]) -> list[str]:
    """What the new kernel and its helpers do that they may not, unless the old kernel did it as often."""
    found = _denied(after.body_node, {p.name for p in after.parameters if p.pointer})
    for helper in helpers:
        # Every name in a helper may be a pointer, and its own `static` and `__device__` are no state.
        body = next((b for n in walk(helper) if (b := n.child_by_field_name("body")) is not None), None)
        if body is not None:
            found += _denied(body, set(names_in(helper)))
    new = found - _denied(before.body_node, {p.name for p in before.parameters if p.pointer})
    return [f"the new kernel {what}" for what in sorted(new)]


def _hidden_reasons(
    before: tuple[bytes, KernelSyntax],
    after: tuple[bytes, KernelSyntax],
    helpers: Collection[Node],
    headers: Sequence[bytes],
) -> list[str]:
    """What the new kernel does that it may not through macros, constants and functions of the project, at any remove.

    What the old kernel uses already may stay.
    """
    used = {*names_in(after[1].body_node), *(name for node in helpers for name in names_in(node))}
    added = used - set(names_in(before[1].body_node))
    if not any(
        re.search(rb"\b%s\b" % name.encode(), text) for name in added for text in (before[0], *headers)
    ):
        return []
    around = {str(number): text for number, text in enumerate(headers)}
    known = {d.text for d in needed_declarations(*before, around)}
    reasons = []
    for declaration in needed_declarations(*after, around):
        name = min(declaration.names)
        if declaration.text in known:
            continue
        words = {*_WORD.findall(_COMMENT.sub(" ", declaration.text)), *declaration.conditions}
        if any(map(_BUILD_WORDS.fullmatch, words)):
            reasons.append(f"it uses `{name}`, which depends on how or where it is compiled")
        elif denied := sorted(words & _DENIED_WORDS.keys()):
            reasons.append(f"it uses `{name}`, which {_DENIED_WORDS[denied[0]]}")
    return reasons


_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_Rule = Callable[[Node, set[str]], str | None]


def _always(sentence: str) -> _Rule:
    return lambda _node, _pointers: sentence


def _word(node: Node, _: set[str]) -> str | None:
    """By any mention of a name: who calls it through a pointer or a reference cannot be seen."""
    word = text_of(node)
    if word in _BARRIERS and (node.parent is None or called(node.parent) != word):
        return "takes a barrier for a value, and who calls it cannot be seen"
    if _BUILD_WORDS.fullmatch(word):
        return "depends on how or where it is compiled"
    return _DENIED_WORDS.get(word)


def _integer(node: Node, pointers: set[str]) -> str | None:
    return "turns pointers into integers" if _cast_to_integer(node, pointers) else None


def _storage(node: Node, _: set[str]) -> str | None:
    shared = node.parent is not None and "__shared__" in text_of(node.parent)
    if text_of(node) == "extern":
        return "asks for dynamic LDS that no launch provides" if shared else "uses extern state"
    return "keeps static state" if text_of(node) == "static" and not shared else None


def _directive(node: Node, _: set[str]) -> str | None:
    return None if _PRAGMAS.match(text_of(node)) else "contains a directive other than #pragma unroll"


def _qualifier(node: Node, pointers: set[str]) -> str | None:
    device = text_of(node) in ("__device__", "__constant__")
    return "keeps state in device memory" if device else _word(node, pointers)


def _loop(node: Node, _: set[str]) -> str | None:
    return "waits for other workgroups in a loop" if _waits(node) else None


def _lambda(node: Node, _: set[str]) -> str | None:
    barrier = any(text_of(n) in _BARRIERS for n in walk(node) if n.type == "identifier")
    return "has a barrier in a lambda, and who calls it cannot be seen" if barrier else None


_CONDITIONAL = "is compiled otherwise where other macros are defined"
_DENIED: Mapping[str, _Rule] = {
    "gnu_asm_expression": _always("contains inline assembly"),
    "preproc_include": _always("includes a file"),
    "preproc_def": _always("defines a macro"),
    "preproc_function_def": _always("defines a macro"),
    "preproc_if": _always(_CONDITIONAL),
    "preproc_ifdef": _always(_CONDITIONAL),
    "preproc_call": _directive,
    "__device__": _always("keeps state in device memory"),
    "type_qualifier": _qualifier,
    "storage_class_specifier": _storage,
    "call_expression": _integer,
    "cast_expression": _integer,
    "identifier": _word,
    "type_identifier": _word,
    "namespace_identifier": _word,
    "lambda_expression": _lambda,
    "while_statement": _loop,
    "do_statement": _loop,
}
"""By type of node what a rewrite may not do more often than the original."""


def _denied(body: Node, pointers: set[str]) -> Counter[str]:
    rules = ((_DENIED.get(node.type), node) for node in walk(body))
    return Counter(what for rule, node in rules if rule is not None and (what := rule(node, pointers)))


def _cast_to_integer(node: Node, pointers: set[str]) -> bool:
    """True for `(size_t)p` and `reinterpret_cast<size_t>(p)` on a pointer itself, not on an element."""
    if node.type == "cast_expression":
        target = node.child_by_field_name("type")
        operand = node.child_by_field_name("value")
        kind = text_of(target) if target is not None else ""
    else:
        function = node.child_by_field_name("function")
        head = text_of(function) if function is not None else ""
        if not head.startswith(("reinterpret_cast", "static_cast", "__builtin_bit_cast")):
            return False
        kind, listed = head[head.find("<") + 1 : head.rfind(">")], arguments_of(node)
        operand = listed[0] if listed else None
    if operand is None or not _INTEGER_CAST.search(kind):
        return False
    for name in walk(operand):
        if name.type == "identifier" and text_of(name) in pointers:
            around = [a.type for a in ancestors(name, node)]
            starred = any(
                a.type == "pointer_expression" and text_of(a).startswith("*") for a in ancestors(name, node)
            )
            if "subscript_expression" not in around and "call_expression" not in around and not starred:
                return True
    return False


def _waits(loop: Node) -> bool:
    condition = loop.child_by_field_name("condition")
    return condition is not None and any(
        (called(n) or "").startswith(("atomic", "__hip_atomic", "__atomic")) for n in walk(condition)
    )


def _abi_reasons(before: KernelMetadata, after: KernelMetadata) -> list[str]:
    reasons = []
    if before.layout != after.layout:
        reasons.append(f"the arguments of {before.symbol} lie differently in memory")
    if before.wavefront_size != after.wavefront_size:
        reasons.append(f"the wave size changed from {before.wavefront_size} to {after.wavefront_size}")
    if after.dynamic_stack and not before.dynamic_stack:
        reasons.append("the kernel now needs a stack of unknown size")
    return reasons


def _resource_reasons(before: KernelMetadata, after: KernelMetadata, facts: LaunchFacts) -> list[str]:
    reasons = []
    for launch in facts.launches:
        x, y, z = launch.workgroup
        if x * y * z > after.max_flat_workgroup_size:
            reasons.append(
                f"the program launches workgroups of {x * y * z} threads, the candidate allows "
                f"{after.max_flat_workgroup_size}"
            )
            break
    needed = after.lds + max((launch.dynamic_lds for launch in facts.launches), default=0)
    if needed > facts.lds_limit:
        reasons.append(f"a workgroup would need {needed} bytes of LDS; the device has {facts.lds_limit}")
    if after.vgpr_spills > _MORE * before.vgpr_spills or after.sgpr_spills > _MORE * before.sgpr_spills:
        was, now = before.vgpr_spills + before.sgpr_spills, after.vgpr_spills + after.sgpr_spills
        reasons.append(f"more registers are spilled to memory ({now}, before {was})")
    if after.scratch > _MORE * before.scratch:
        reasons.append(
            f"each thread needs more scratch memory ({after.scratch} bytes, before {before.scratch})"
        )
    return reasons
