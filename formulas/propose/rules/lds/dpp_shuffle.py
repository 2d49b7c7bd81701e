"""Any hot kernel: `__shfl_xor` within a row of 16 lanes as a DPP move, which goes from register to register.

`__shfl_xor` goes through the LDS unit, even between neighbours. The patterns of DPP reach the lanes whose numbers
differ in 1, 2, 4 or 8; every other mask stays a `__shfl_xor`. Each lane gets the same value, so that results stay the
same bit for bit. Sums over a wave (reductions, norms, softmax) and bitonic sorts are made of these steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, called, child_of, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    helper_above,
    indentation,
    style_of,
)
from hipscope.formulas.propose.splice import Splice

_MASKS = (1, 2, 4, 8)
# The controls are those of the AMD "Instinct MI300" ISA, table "DPP_CTRL enumerations", which RDNA has, too; behind
# them is what LLVM's assembler calls them. Each move reads the lane itself that is asked for: a way through a third one
# (3 and then 7 make 4) would find nothing where that one is not active. A lane that is not active gives 0.
_HELPER = """\
// What `__shfl_xor` gives, on AMD GPUs: within rows of 16 lanes a DPP move brings it, without a way through LDS.
static __device__ int WORD(int word, int mask, int width) {
\tif (mask >= width) return __shfl_xor(word, mask, width);
\tswitch (mask) {
\t\tcase 1: return __builtin_amdgcn_mov_dpp(word, 0xB1, 0xF, 0xF, true);  // quad_perm:[1,0,3,2]
\t\tcase 2: return __builtin_amdgcn_mov_dpp(word, 0x4E, 0xF, 0xF, true);  // quad_perm:[2,3,0,1]
\t\tcase 4: {
\t\t\tconst int even = __builtin_amdgcn_update_dpp(0, word, 0x104, 0xF, 0x5, true);  // row_shl:4, even quads
\t\t\treturn __builtin_amdgcn_update_dpp(even, word, 0x114, 0xF, 0xA, true);  // row_shr:4, odd quads
\t\t}
\t\tcase 8: return __builtin_amdgcn_mov_dpp(word, 0x128, 0xF, 0xF, true);  // row_ror:8
\t\tdefault: return __shfl_xor(word, mask, width);
\t}
}

template <typename T>
static __device__ T LANE(T value, int mask, int width = warpSize) {
\tint words[(sizeof(T) + sizeof(int) - 1) / sizeof(int)] = {};
\t__builtin_memcpy(words, &value, sizeof(T));
\tfor (int& word : words) word = WORD(word, mask, width);
\t__builtin_memcpy(&value, words, sizeof(T));
\treturn value;
}

"""
_DPP = ("__builtin_amdgcn_mov_dpp", "__builtin_amdgcn_update_dpp")
_TILE = re.compile(r"\b(?:thread_block_tile|tiled_partition)\s*<")


@dataclass(frozen=True)
class _Shuffle:
    """One call, with the values that are exchanged and the mask. `tile` is the group whose member it is."""

    call: Node
    value: Node
    mask: Node
    tile: Node | None = None


@rewrite("dpp_shuffle", "LDS and reductions", anywhere=True, function=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`__shfl_xor` within 16 lanes becomes a DPP move (AMD GPUs only).

    Needs: a mask that is a number within a row, or a variable.
    Assumes: AMD GPUs only.
    """
    every = list(_shuffles(kernel))
    chosen = [s for s in every if _number(s.mask) in (None, *_MASKS)]
    if any(called(n) in _DPP for n in walk(kernel.body_node)):
        return "the kernel itself exchanges values by DPP already"
    if not every:
        return "the kernel itself exchanges nothing by `__shfl_xor`"
    if not chosen:
        return "every `__shfl_xor` of the kernel reaches beyond the 16 lanes of a row"
    name, helper = _helper(source, kernel)
    splices = [Splice(kernel.span.start, kernel.span.start, helper.encode())]
    splices += [splice for shuffle in chosen for splice in _through(name, shuffle)]
    lines = ", ".join(str(line) for line in dict.fromkeys(s.call.start_point.row + 1 for s in chosen))
    return edited(
        source,
        splices,
        title=f"Exchange values within rows of 16 lanes by DPP (line {lines})",
        expected=(
            "Values of near lanes come from their registers and no longer through the LDS unit. Every lane "
            "gets the value that it got, so results stay the same bit for bit. Only AMD's compiler knows DPP."
        ),
    )


def _shuffles(kernel: KernelSyntax) -> Iterator[_Shuffle]:
    """The exchanges of the kernel whose arguments are all there."""
    for node in walk(kernel.body_node):
        if node.type != "call_expression":
            continue
        given, function = arguments_of(node), child_of(node, "function")
        if function.type == "field_expression" and text_of(child_of(function, "field")) == "shfl_xor":
            group = child_of(function, "argument")
            if len(given) == 2 and _is_tile(text_of(group), kernel):
                yield _Shuffle(node, *given, tile=group)
        elif called(node) in ("__shfl_xor", "__shfl_xor_sync"):
            # `_sync` names the lanes that take part first: on AMD GPUs those are the ones that are active.
            given = given[called(node) == "__shfl_xor_sync" :]
            if len(given) in (2, 3):
                yield _Shuffle(node, *given[:2])


def _is_tile(group: str, kernel: KernelSyntax) -> bool:
    """Whether a group is a tile of neighbouring lanes; those of other groups may be any."""
    parameter = kernel.parameter(group)
    if parameter is not None:
        return _TILE.search(parameter.type) is not None
    declared = [
        text_of(node)
        for node in walk(kernel.body_node)
        if node.type == "declaration" and re.search(rf"\b{re.escape(group)}\b", text_of(node).split("=")[0])
    ]
    return len(declared) == 1 and _TILE.search(declared[0]) is not None


def _number(node: Node) -> int | None:
    """The value of a literal; None of anything else."""
    try:
        return int(text_of(node).rstrip("uUlL"), 0) if node.type == "number_literal" else None
    except ValueError:
        return None


def _helper(source: bytes, kernel: KernelSyntax) -> tuple[str, str]:
    """The name of the helper and the text that defines it; no text where it stands above the kernel already."""
    style, indent = style_of(source, kernel), indentation(source, kernel.span.start)
    stem = "xorLane" if style.camel_case else "xor_lane"
    return helper_above(source, kernel, stem, lambda name: _definition(name, style, indent))


def _definition(name: str, style: Style, indent: str) -> str:
    """The helper as it stands before a kernel with this indentation, which the kernel's own line begins with."""
    word = f"{name}Word" if style.camel_case else f"{name}_word"
    lines = _HELPER.replace("LANE", name).replace("WORD", word).replace("\t", style.step).splitlines()
    return style.newline.join(indent + line if line else "" for line in [*lines, ""]).lstrip() + indent


def _through(name: str, shuffle: _Shuffle) -> Iterator[Splice]:
    """The call as one of the helper; what it is given stays as it is written."""
    yield Splice(shuffle.call.start_byte, shuffle.value.start_byte, f"{name}(".encode())
    if shuffle.tile is not None:
        end = shuffle.mask.end_byte
        yield Splice(end, end, f", {text_of(shuffle.tile)}.size()".encode())
