"""Code without lines that the program's lines call."""

from __future__ import annotations

from collections.abc import Mapping

from hipscope.analysis.ingest.called import placed_at_calls
from hipscope.analysis.profile import Frame, Instruction


def placed(code: Mapping[int, str], lines: Mapping[int, int]) -> dict[int, int | None]:
    """The line of each address; `lines` has those with a line of their own."""
    rows = [
        Instruction(
            index=n,
            address=at,
            text=text,
            hits=1,
            source=(Frame(file="/k.hip", line=lines[at]),) if at in lines else (),
        )
        for n, (at, text) in enumerate(code.items())
    ]
    return {i.address: i.source[0].line if i.source else None for i in placed_at_calls(rows)}


# A call at 0 of the function at 100, which calls the one at 200 by a copy of the address that it computed.
CODE = {
    0: "s_getpc_b64 s[0:1]",
    4: "s_add_u32 s0, s0, 0x60",
    12: "s_addc_u32 s1, s1, 0",
    20: "s_swappc_b64 s[30:31], s[0:1]",
    24: "s_endpgm",
    100: "s_waitcnt vmcnt(0)",
    104: "s_getpc_b64 s[4:5]",
    108: "s_add_u32 s4, s4, 0x5c",
    116: "s_mov_b64 s[0:1], s[4:5]",
    120: "s_swappc_b64 s[30:31], s[0:1]",
    200: "v_mov_b32_e32 v0, 0",
    204: "s_setpc_b64 s[30:31]",
}
OWN = {0: 7, 4: 7, 12: 7, 20: 7, 24: 8}


def test_library_code_stands_on_the_line_that_calls_it_through_calls_of_its_own() -> None:
    assert placed(CODE, OWN) == OWN | dict.fromkeys((100, 104, 108, 116, 120, 200, 204), 7)


def test_what_two_lines_call_belongs_to_neither() -> None:
    code = CODE | {
        300: "s_getpc_b64 s[0:1]",
        304: "s_add_u32 s0, s0, 0xffffff98",
        320: "s_swappc_b64 s[30:31], s[0:1]",
    }
    own = OWN | {300: 12, 304: 12, 320: 12}
    assert placed(code, own) == own | dict.fromkeys((100, 104, 108, 116, 120), 7) | dict.fromkeys((200, 204))
    back = code | {304: "s_add_u32 s0, s0, 0x1000"}  # nobody knows this function
    assert placed(back, own)[200] == 7


def test_an_address_that_is_not_computed_here_and_a_function_that_calls_itself_place_nothing() -> None:
    assert placed({**CODE, 12: "s_mov_b64 s[0:1], s[8:9]"}, OWN)[104] == 7  # no held address is moved
    assert placed({**CODE, 20: "s_swappc_b64 s[30:31], s[2:3]"}, OWN)[200] is None
    recursive = CODE | {108: "s_add_u32 s4, s4, 0xfffffff8"}
    assert placed(recursive, OWN)[116] == 7
