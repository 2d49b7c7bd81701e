"""What a candidate's machine code does that the original's does not, and no run need show: the verdict tells it.

Takes both code objects, gives sentences: addresses that are taken for numbers, messages and assertions that are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.code_addresses import taken_for_numbers
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble, mnemonics
from hipscope.accordo.proof.checks.plan import Proof

_TRAP, _MESSAGE, _CALL = "s_trap", "s_sendmsg", "s_swappc_b64"


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
