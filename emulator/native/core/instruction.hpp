// One decoded gfx9 instruction: what the decoder writes and what handlers, timing model and observers read.
// In: nothing. Out: plain data, no behaviour. Section numbers are those of AMD's CDNA3 ISA reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hipscope {

struct Wave;
struct Instruction;

inline constexpr int kLanes = 64;

/// The pipe an instruction issues to. The timing model's tables are keyed on it.
enum class Unit : std::uint8_t {
    valu,           // full-rate vector ALU
    valu_half,      // half-rate vector ALU (32-bit integer multiply, quad sums of differences)
    valu_trans,     // quarter-rate transcendental
    mfma,           // matrix core
    salu,           // scalar ALU
    smem,           // scalar memory
    vmem_load,      // global/flat/buffer loads
    vmem_store,     // global/flat/buffer stores
    vmem_atomic,    // global/flat/buffer atomics
    scratch,        // private memory
    lds,            // DS instructions, permutes included
    branch,         // jumps and branches
    barrier,        // s_barrier
    waitcnt,        // s_waitcnt*
    message,        // s_sendmsg, traps
    internal,       // s_nop, s_sleep, s_setprio, cache write-backs
    end_program,    // s_endpgm
};
inline constexpr int kUnits = static_cast<int>(Unit::end_program) + 1;

/// What the scheduler does after a handler returns.
enum class Step : std::uint8_t {
    next,      // go on with the following instruction
    jump,      // the handler set Wave::pc
    barrier,   // wait for the other waves of the workgroup
    yield,     // s_sleep and friends: let other waves run
    retry,     // nothing has happened yet: let other waves run, then execute the same instruction again
    end,       // the wave is done
    fault,     // Wave::fault says why; the dispatch stops
};

using Handler = Step (*)(Wave&, const Instruction&);

enum class OperandKind : std::uint8_t { none, vgpr, agpr, sgpr, literal };

/// A register range or a constant. `index` counts 32-bit registers in Wave::sgpr (see RegisterFile) or VGPR rows.
struct Operand {
    OperandKind kind = OperandKind::none;
    std::uint8_t dwords = 1;      // width as written in the assembly
    std::uint16_t index = 0;
    std::uint64_t literal = 0;    // bit pattern, already widened to the operand's type
    bool negate = false;
    bool absolute = false;
    bool sign_extend = false;     // SDWA sext()
    std::uint8_t select = 6;      // SDWA: 0-3 byte, 4 word0, 5 word1, 6 dword
    bool plain = false;           // whole VGPR or AGPR rows, nothing to do before use
};

/// How lanes are exchanged before a VOP executes (DPP, section 6.7); `none` on most instructions.
struct Dpp {
    bool present = false;
    std::uint16_t control = 0;    // the dpp_ctrl field
    std::uint8_t row_mask = 0xf;
    std::uint8_t bank_mask = 0xf;
    bool bound_control = false;
};

struct Modifiers {
    std::int32_t offset = 0;       // memory: byte offset; DS: offset0
    std::int32_t offset1 = 0;      // DS two-address forms, already scaled to bytes
    std::uint8_t op_sel = 0;       // VOP3/VOP3P bit per source, bit 3 = destination
    std::uint8_t op_sel_hi = 0;
    std::uint8_t neg_lo = 0;
    std::uint8_t neg_hi = 0;
    std::uint8_t omod = 0;         // 0 none, 1 *2, 2 *4, 3 /2
    std::uint8_t dst_select = 6;   // SDWA
    std::uint8_t dst_unused = 0;   // SDWA: 0 pad, 1 sext, 2 preserve
    bool clamp = false;
    bool sc0 = false, sc1 = false, nt = false;
    bool scalar_base = false;      // global_*: address = sgpr base + 32-bit vgpr offset
};

struct Instruction {
    Handler run = nullptr;         // nullptr: not supported; the dispatch must not start
    Unit unit = Unit::internal;
    std::uint8_t bytes = 4;
    std::uint8_t passes = 1;       // MFMA passes, else 1 (4 cycles per VALU pass of 16 lanes)
    std::uint8_t destinations = 0;
    std::uint8_t sources = 0;
    std::uint64_t address = 0;     // in the code object's virtual address space
    std::uint32_t target = 0;      // branch target as instruction index, waitcnt immediate, or s_nop count
    Operand destination[2];
    Operand source[5];
    Modifiers modifiers;
    Dpp dpp;
    std::uint32_t extra = 0;       // per-opcode constant from the table
    bool simple = true;            // no DPP, SDWA, op_sel, clamp or omod: results go straight to the register
    bool keeps_high = false;       // a 16-bit result leaves the upper half of its register alone
    Handler unindexed = nullptr;   // between s_set_gpr_idx_on and _off: the handler proper, `run` moves registers by M0
    bool packed = false;           // VOP3P: op_sel/op_sel_hi/neg_lo/neg_hi apply to the halves of each source
    std::string text;              // assembly as LLVM prints it, without comment
};

/// The instructions of one code object's executable section, in address order.
struct Program {
    std::vector<Instruction> instructions;
    /// Index of the instruction at `address`, or -1.
    [[nodiscard]] std::int64_t index_of(std::uint64_t address) const;
};

}  // namespace hipscope
