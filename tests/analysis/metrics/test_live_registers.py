"""Vector registers in use, counted by hand, and not told where lanes that are not active decide it."""

from hipscope.analysis.metrics.live_registers import registers_in_use
from hipscope.analysis.profile import Instruction, Kernel, Resources


def in_use(*texts: str) -> list[int | None]:
    """Of instructions of 4 bytes each."""
    code = tuple(Instruction(index=n, address=4 * n, text=text) for n, text in enumerate(texts))
    kernel = Kernel(name="k", mangled="k", dispatches=(), resources=Resources(), instructions=code)
    found = registers_in_use(kernel)
    return [found.get(n) for n in range(len(texts))]


def test_straight_code() -> None:
    assert in_use(
        "v_lshlrev_b32_e32 v2, 2, v0",  # v2
        "global_load_dwordx2 v[4:5], v2, s[0:1]",  # v4 v5, and v2 for the store
        "s_waitcnt vmcnt(0)",
        "v_add_f32_e32 v4, v4, v5",  # v4, v2
        "global_store_dword v2, v4, s[2:3]",
        "s_endpgm",
    ) == [1, 3, 3, 2, 0, 0]


def test_a_value_that_a_loop_comes_back_to_stays_in_use() -> None:
    assert in_use(
        "v_mov_b32_e32 v1, 0",  # v1, v0
        "v_add_u32_e32 v1, v1, v0",  # v1, v0: the next time round
        "s_cbranch_scc1 65534",  # two words back
        "global_store_dword v0, v1, s[2:3]",
        "s_endpgm",
    ) == [2, 2, 2, 0, 0]


def test_lanes_that_left_for_good_need_nothing() -> None:
    assert in_use(
        "s_and_saveexec_b64 s[0:1], vcc",
        "s_cbranch_execz 2",
        "v_mov_b32_e32 v1, 1.0",
        "global_store_dword v0, v1, s[2:3]",
        "s_endpgm",
    ) == [1, 1, 2, 0, 0]


def test_what_other_lanes_still_need_is_counted_once_they_come_back() -> None:
    # v1 is 1.0 for some lanes and what was loaded for the others: the write keeps theirs.
    assert in_use(
        "global_load_dword v1, v0, s[4:5]",  # v0, v1
        "s_and_saveexec_b64 s[0:1], vcc",
        "v_mov_b32_e32 v1, 1.0",
        "s_or_b64 exec, exec, s[0:1]",
        "global_store_dword v0, v1, s[2:3]",
        "s_endpgm",
    ) == [2, None, 2, 2, 0, 0]


def test_nothing_is_said_of_code_that_calls_or_chooses_registers_by_number() -> None:
    assert in_use("v_mov_b32_e32 v1, v0", "s_swappc_b64 s[30:31], s[4:5]", "s_endpgm") == [None] * 3
    assert in_use("v_movrels_b32_e32 v1, v2", "s_endpgm") == [None] * 2


def test_an_atomic_gives_a_value_only_where_it_returns_one() -> None:
    assert in_use("global_atomic_add v0, v1, s[0:1]", "s_endpgm") == [0, 0]
    assert in_use(
        "global_atomic_add v2, v0, v1, s[0:1] sc0", "global_store_dword v0, v2, s[2:3]", "s_endpgm"
    ) == [2, 0, 0]
