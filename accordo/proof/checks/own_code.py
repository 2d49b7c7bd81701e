"""What a candidate's machine code does that the original's does not, and no run need show: the verdict tells it.

Takes both code objects, gives sentences: addresses that are taken for numbers, messages and assertions that are gone.
And which inputs that no trial varied both codes take in the same way: of these the verdict's reason says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.code_addresses import taken_for_numbers
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble, mnemonics
from hipscope.accordo.proof.checks.plan import Proof
from hipscope.accordo.reference.input_coverage import BEYOND, SHAPES
from hipscope.accordo.trials.code_limits import narrower_masks

_AFTER_ALL = re.compile(
    r"v_(?!mul_[iu]32|mad_[iu]32)\w+_f(?:16|32|64)(?:_[iu]32)?$|v_cndmask_b32$|s_cselect_b64$"
    r"|[sv]_(?:mov|nop|accvgpr)|s_(?:waitcnt|and_b64|or_b64|andn2_b64)"
)
"""What works on floats, chooses among values, or moves them."""
_ALONG = {"y": ("10", "10"), "z": ("20", "10")}  # where the numbers of a work-item lie in their register
_BACKWARD = 1 << 15
_TRAP, _MESSAGE, _CALL = "s_trap", "s_sendmsg", "s_swappc_b64"

_IN_HALVES = re.compile(r"v_(?:pk_)?(?:add|sub|subrev|mul|fma|fmac|mad|mac)_f16$")
_IN_SINGLES = re.compile(r"v_(?:pk_)?(?:add|sub|subrev|mul|fma|fmac|mad|mac)_f32$|v_(?:fma|mad)_mix")


def told_by_code(proof: Proof, dispatch: CapturedDispatch) -> Iterator[str]:
    """A sentence for each such difference."""
    if not proof.on("state"):
        return
    objdump, kernel = proof.reference.settings.objdump, dispatch.kernel
    own, known = (disassemble(path, objdump, kernel) for path in (proof.candidate, dispatch.code_object))
    if not own or not known:
        return
    pointers = [a.offset for a in dispatch.explicit_arguments if a.value_kind == "global_buffer"]
    numbers = sorted(taken_for_numbers(own, pointers) - taken_for_numbers(known, pointers))
    if numbers:
        yield f"never with addresses of every value, which the rewrite takes for numbers (`{numbers[0]}`)"
    halves = sorted(set(filter(_IN_HALVES.match, _kinds(own))))
    if (
        halves
        and any(map(_IN_SINGLES.match, _kinds(known)))
        and not any(map(_IN_HALVES.match, _kinds(known)))
    ):
        yield f"never with more than 16 bits of each float, in which the rewrite computes (`{halves[0]}`)"
    if (kept := narrower_masks(own, known)) is not None:
        yield f"never with numbers of more than {kept[0]} bits, which the rewrite keeps of {kept[1]}"
    objects = [mnemonics(path, objdump) for path in (proof.candidate, dispatch.code_object)]
    (now, was), (ours, theirs) = (_kinds(own), _kinds(known)), objects
    if _stops(was, theirs) and not _stops(now, ours):
        yield "never where an assertion of the original fails: the rewrite has none"
    if _asks_the_host(was, theirs) and not _asks_the_host(now, ours):
        yield "never with every message of the original: the rewrite prints none"


def _kinds(code: tuple[AssemblyInstruction, ...]) -> set[str]:
    return {one.mnemonic for one in code}


def _stops(kernel: Collection[str], everything: Collection[str]) -> bool:
    """Whether a kernel may end the program, itself or in what it calls."""
    return _TRAP in kernel or (_CALL in kernel and _TRAP in everything)


def _asks_the_host(kernel: Collection[str], everything: Collection[str]) -> bool:
    return _MESSAGE in kernel or (_CALL in kernel and _MESSAGE in everything)


def taken_alike(proof: Proof, dispatch: CapturedDispatch, names: Iterable[str]) -> set[str]:
    """Those of the inputs that never varied of which the rewrite makes the same as the original does.

    Of more work-items than were tried it makes the same if none of its loops is gone: narrower numbers are told apart.
    Shapes of launches are no concern of code that differs in its arithmetic on floats alone, sizes of workgroups none
    where neither code asks for them.
    """
    objdump, kernel = proof.reference.settings.objdump, dispatch.kernel
    own, known = (disassemble(path, objdump, kernel) for path in (proof.candidate, dispatch.code_object))
    if not own or not known:
        return set()
    counts = Counter(map(_plain, own)), Counter(map(_plain, known))
    differing = [one for one in {*counts[0], *counts[1]} if counts[0][one] != counts[1][one]]
    end = max((a.offset + a.size for a in dispatch.explicit_arguments), default=0)
    unread = not any(_asks_for_shapes(code, end) for code in (own, known))
    floats_alone = all(_AFTER_ALL.match(name) for name, _ in differing)
    found = set()
    for name in names:
        if name == BEYOND:
            alike = _loops(own) >= _loops(known)
        elif name.startswith(SHAPES):
            field = _ALONG.get(name[-1]) if name.startswith(SHAPES[1]) else None
            alike = (
                floats_alone
                or (unread and name.startswith(SHAPES[1]))
                or (field is not None and not any(field == c[-2:] for _, c in differing))
            )
        else:
            alike = False
        if alike:
            found.add(name)
    return found


def _plain(one: AssemblyInstruction) -> tuple[str, tuple[str, ...]]:
    """An instruction without its registers."""
    return one.mnemonic, tuple(text for text in one.operands if re.match(r"-?\d|0x", text))


def _asks_for_shapes(code: tuple[AssemblyInstruction, ...], end: int) -> bool:
    """Whether something behind the arguments is loaded: sizes of the grid and of workgroups lie there."""
    loads = (one.operands[2] for one in code if one.mnemonic.startswith("s_load") and len(one.operands) > 2)
    return any(not text.startswith("0x") or int(text, 16) >= end for text in loads)


def _loops(code: tuple[AssemblyInstruction, ...]) -> int:
    """How many branches lead back."""
    ends = (one.operands[0] for one in code if "branch" in one.mnemonic and one.operands)
    return sum(text.isdigit() and int(text) >= _BACKWARD for text in ends)
