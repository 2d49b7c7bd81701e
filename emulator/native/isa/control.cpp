// Program flow and wave state: SOPP, branches, calls, MODE access, register indexing (manual chapters 4 and 12.5).
#include <algorithm>

#include "core/clock_step.hpp"
#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

Step jump(Wave& w, const Instruction& in, bool taken) {
    if (!taken) return Step::next;
    w.pc = in.target;
    return Step::jump;
}
Step jump_to(Wave& w, u64 address) {
    const i64 index = w.program->index_of(address - w.code_base);
    if (index < 0) return fault(w, FaultKind::out_of_bounds, address, 4, -1, false);
    w.pc = static_cast<u32>(index);
    return Step::jump;
}
u64 after(const Wave& w, const Instruction& in) { return w.code_base + in.address + in.bytes; }

// Hardware registers (LLVM's AMDGPUAsmUtils names them). A kernel never sees outstanding counters or exceptions here, so
// IB_STS and TRAPSTS read zero. Workgroups go to the XCDs in turn, in every run; which CU a wave is on only the timing model knows.
constexpr u32 hwreg_mode = 1, hwreg_status = 2, hwreg_trap_status = 3, hwreg_hw_id = 4, hwreg_lds_alloc = 6, hwreg_ib_status = 7, hwreg_xcc_id = 20;

struct Field {
    u32 id, offset, mask;
};
bool known_hwreg(u32 immediate) {
    const u32 id = immediate & 63U;
    return (id >= hwreg_mode && id <= hwreg_hw_id) || id == hwreg_lds_alloc || id == hwreg_ib_status || id == hwreg_xcc_id;
}
Field hwreg(u32 immediate) {
    const u32 width = ((immediate >> 11U) & 31U) + 1U;
    return {immediate & 63U, (immediate >> 6U) & 31U, width == 32 ? ~0U : (1U << width) - 1U};
}
u32 read_hwreg(const Wave& w, u32 immediate) {
    const Field f = hwreg(immediate);
    u32 value = 0;
    if (f.id == hwreg_mode) value = w.mode;
    if (f.id == hwreg_status) value = static_cast<u32>(w.scc) | static_cast<u32>(w.exec() == 0) << 9U | static_cast<u32>(w.vcc() == 0) << 10U | 1U << 16U;
    if (f.id == hwreg_hw_id) value = w.id_in_group & 15U;
    if (f.id == hwreg_xcc_id) value = w.xcd;
    if (f.id == hwreg_lds_alloc) value = ((w.lds_bytes + 511U) / 512U * 2U) << 12U;  // in units of 64 dwords
    return (value >> f.offset) & f.mask;
}
Step read_hwreg_to(Wave& w, const Instruction& in) {
    if (!known_hwreg(in.target)) return fault(w, FaultKind::unsupported, 0, 0, -1, false);
    w.sgpr[in.destination[0].index] = read_hwreg(w, in.target);
    return Step::next;
}
Step write_hwreg(Wave& w, u32 immediate, u32 value) {
    const Field f = hwreg(immediate);
    if (f.id != hwreg_mode && f.id != hwreg_trap_status) return fault(w, FaultKind::unsupported, 0, 0, -1, true);
    if (f.id == hwreg_mode) w.mode = (w.mode & ~(f.mask << f.offset)) | ((value & f.mask) << f.offset);
    return Step::next;
}

/// Ticks of 10 ns; never less than what another wave of the dispatch has read before, where that matters.
u64 realtime(Wave& w) {
    const u64 own = w.realtime_base + w.clock / 21;
    if (w.realtime == nullptr) return own;
    u64 latest = w.realtime->load();
    while (!w.realtime->compare_exchange_weak(latest, std::max(own, latest + 1))) {}
    return std::max(own, latest + 1);
}

/// M0[7:0] = register offset, M0[15:12] = which operands it applies to.
Step set_index(Wave& w, u32 offset, u32 operands) {
    u32& m0 = w.sgpr[sreg::m0];
    m0 = (m0 & ~0xf0ffU) | (offset & 0xffU) | ((operands & 15U) << 12U);
    return Step::next;
}

}  // namespace

Table control() {
    static constexpr Entry rows[] = {
        special("s_endpgm", Unit::end_program, 0, {}, [](Wave&, const Instruction&) { return Step::end; }),
        special("s_nop", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_waitcnt", Unit::waitcnt, 0, {}, [](Wave& w, const Instruction& in) {
            w.lgkm_waits += (in.target >> 8U & 15U) != 15;  // 15: it does not wait for LDS
            return Step::next;
        }),
        special("s_barrier", Unit::barrier, 0, {}, [](Wave&, const Instruction&) { return Step::barrier; }),
        special("s_sleep", Unit::internal, 0, {}, [](Wave& w, const Instruction& in) { w.clock += 64ULL * (in.target & 127U); return Step::yield; }),
        special("s_setprio", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_sethalt", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::yield; }),
        special("s_setkill", Unit::end_program, 0, {}, [](Wave&, const Instruction& in) { return (in.target & 1U) != 0 ? Step::end : Step::next; }),
        special("s_icache_inv", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_incperflevel", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_decperflevel", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_ttracedata", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_wakeup", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_dcache_inv", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_dcache_inv_vol", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_dcache_wb", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_dcache_wb_vol", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("buffer_wbl2", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("buffer_inv", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_sendmsg", Unit::message, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_sendmsghalt", Unit::message, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        // 3 is the debugger's trap, which goes on when there is no debugger (LLVM AMDGPU usage, "Trap Handler ABI")
        special("s_trap", Unit::message, 0, {}, [](Wave& w, const Instruction& in) { return (in.target & 0xffU) == 3 ? Step::next : fault(w, FaultKind::trap, 0, 0, -1, false); }),
        special("s_endpgm_saved", Unit::end_program, 0, {}, [](Wave&, const Instruction&) { return Step::end; }),
        special("s_atc_probe", Unit::smem, 0, {Type::none, Type::b64, Type::b32}, [](Wave& w, const Instruction&) { w.access.space = Space::none; return Step::next; }),
        special("s_atc_probe_buffer", Unit::smem, 0, {Type::none, Type::wide, Type::b32}, [](Wave& w, const Instruction&) { w.access.space = Space::none; return Step::next; }),
        special("s_dcache_discard", Unit::smem, 0, {Type::b64, Type::b32}, [](Wave& w, const Instruction&) { w.access.space = Space::none; return Step::next; }),
        special("s_dcache_discard_x2", Unit::smem, 0, {Type::b64, Type::b32}, [](Wave& w, const Instruction&) { w.access.space = Space::none; return Step::next; }),
        special("buffer_wbinvl1", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("buffer_wbinvl1_vol", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("buffer_invl2", Unit::internal, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),

        special("s_branch", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, true); }),
        special("s_cbranch_scc0", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, !w.scc); }),
        special("s_cbranch_scc1", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, w.scc); }),
        special("s_cbranch_vccz", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, w.vcc() == 0); }),
        special("s_cbranch_vccnz", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, w.vcc() != 0); }),
        special("s_cbranch_execz", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, w.exec() == 0); }),
        special("s_cbranch_execnz", Unit::branch, 0, {}, [](Wave& w, const Instruction& in) { return jump(w, in, w.exec() != 0); }),
        special("s_cbranch_cdbgsys", Unit::branch, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_cbranch_cdbguser", Unit::branch, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_cbranch_cdbgsys_or_user", Unit::branch, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("s_cbranch_cdbgsys_and_user", Unit::branch, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),

        special("s_getpc_b64", Unit::salu, 1, {}, [](Wave& w, const Instruction& in) { w.set_s64(in.destination[0].index, after(w, in)); return Step::next; }),
        special("s_setpc_b64", Unit::branch, 0, {Type::b64}, [](Wave& w, const Instruction& in) { return jump_to(w, scalar64(w, in.source[0])); }),
        special("s_swappc_b64", Unit::branch, 1, {Type::b64}, [](Wave& w, const Instruction& in) { const u64 to = scalar64(w, in.source[0]); w.set_s64(in.destination[0].index, after(w, in)); return jump_to(w, to); }),
        special("s_call_b64", Unit::branch, 1, {}, [](Wave& w, const Instruction& in) { w.set_s64(in.destination[0].index, after(w, in)); return jump(w, in, true); }),

        special("s_getreg_b32", Unit::salu, 1, {}, [](Wave& w, const Instruction& in) { return read_hwreg_to(w, in); }),
        special("s_setreg_b32", Unit::salu, 0, {Type::none, Type::b32}, [](Wave& w, const Instruction& in) { return write_hwreg(w, in.target, scalar32(w, in.source[1])); }),
        special("s_setreg_imm32_b32", Unit::salu, 0, {Type::none, Type::b32}, [](Wave& w, const Instruction& in) { return write_hwreg(w, in.target, scalar32(w, in.source[1])); }),

        special("s_memtime", Unit::smem, 1, {}, [](Wave& w, const Instruction& in) { w.set_s64(in.destination[0].index, w.clock); w.access.space = Space::none; return kReadClock; }),
        special("s_memrealtime", Unit::smem, 1, {}, [](Wave& w, const Instruction& in) { w.set_s64(in.destination[0].index, realtime(w)); w.access.space = Space::none; return kReadClock; }),

        special("s_set_gpr_idx_on", Unit::salu, 0, {Type::b32, Type::none}, [](Wave& w, const Instruction& in) { return set_index(w, scalar32(w, in.source[0]), in.target); }),
        special("s_set_gpr_idx_idx", Unit::salu, 0, {Type::b32}, [](Wave& w, const Instruction& in) { return set_index(w, scalar32(w, in.source[0]), w.sgpr[sreg::m0] >> 12U); }),
        special("s_set_gpr_idx_mode", Unit::salu, 0, {}, [](Wave& w, const Instruction& in) { return set_index(w, w.sgpr[sreg::m0], in.target); }),
        special("s_set_gpr_idx_off", Unit::salu, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),

        special("s_movrels_b32", Unit::salu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { w.sgpr[in.destination[0].index] = w.sgpr[(in.source[0].index + w.sgpr[sreg::m0]) & 127U]; return Step::next; }),
        special("s_movreld_b32", Unit::salu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { w.sgpr[(in.destination[0].index + w.sgpr[sreg::m0]) & 127U] = scalar32(w, in.source[0]); return Step::next; }),
        special("s_movrels_b64", Unit::salu, 1, {Type::b64}, [](Wave& w, const Instruction& in) { w.set_s64(in.destination[0].index, w.s64(static_cast<int>((in.source[0].index + w.sgpr[sreg::m0]) & 126U))); return Step::next; }),
        special("s_movreld_b64", Unit::salu, 1, {Type::b64}, [](Wave& w, const Instruction& in) { w.set_s64(static_cast<int>((in.destination[0].index + w.sgpr[sreg::m0]) & 126U), scalar64(w, in.source[0])); return Step::next; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
