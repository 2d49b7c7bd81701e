// The architectural state of one wave, and the record of the memory access that its last instruction made.
// Handlers change it; the scheduler, the timing model and the observers read it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "core/instruction.hpp"
#include "core/memory.hpp"

namespace hipscope {

/// Scalar register file numbering (operand encodings of section 5.1): 0-101 s0..s101.
namespace sreg {
inline constexpr int flat_scratch = 102, xnack_mask = 104, vcc = 106, ttmp = 108, m0 = 124, exec = 126;
inline constexpr int count = 128;
}  // namespace sreg

/// High halves of the flat address ranges that stand for LDS and scratch (src_shared_base, src_private_base).
namespace aperture {
inline constexpr std::uint64_t shared_base = 0x0001'0000'0000'0000ULL;
inline constexpr std::uint64_t private_base = 0x0002'0000'0000'0000ULL;
inline constexpr std::uint64_t limit = 0xffff'ffffULL;  // last byte of each, relative to its base
/// Where the scratch descriptor of gfx90a points: stands for the private memory of whichever wave uses it.
inline constexpr std::uint64_t scratch_descriptor_base = 0x0000'6f00'0000'0000ULL;
}  // namespace aperture

/// MODE at the start of a kernel that clang compiles: round to nearest even, denormals on, IEEE, DX10 clamp.
inline constexpr std::uint32_t default_mode = 0x3f0;

enum class Space : std::uint8_t { none, global, lds, scratch, scalar };
enum class AccessKind : std::uint8_t { load, store, atomic, atomic_return };

/// Lanes that are looked at together where the addresses of a wave are no single run: those of one row of a small tile.
inline constexpr int kTeam = 16;
inline constexpr int kTeams = kLanes / kTeam;

/// What one memory instruction of one wave touched. Valid after a handler of a memory unit returned `next`, for observed waves.
struct MemoryAccess {
    Space space = Space::none;
    AccessKind kind = AccessKind::load;
    std::uint8_t bytes = 0;            // per lane and address
    std::uint8_t addresses = 1;        // 2 for ds_read2/ds_write2
    bool run = false;                  // all lanes, one behind the other: only lane 0's addresses are filled in
    bool teams = false;                // all lanes, evenly spaced within each team: only the teams' first addresses are filled in,
                                       // one behind the other
    std::array<std::uint8_t, kTeams> step{};  // of teams: bytes from one lane to the next
    std::uint64_t lanes = 0;           // execution mask of the access; 1 for scalar loads
    std::uint64_t address[2][kLanes];  // absolute for global/scalar, LDS offset for lds

    /// Fill in the addresses of a run or of teams, for those who look at them one by one.
    void spell_out() {
        if (teams) {
            teams = false;
            for (std::size_t which = 0; which < addresses; ++which) spell_out_teams(which, address[which]);
        }
        if (!run) return;
        run = false;
        for (std::size_t which = 0; which < addresses; ++which)
            for (std::size_t lane = 1; lane < kLanes; ++lane) address[which][lane] = address[which][0] + lane * bytes;
    }
    /// One lane's address, spelled out or not.
    [[nodiscard]] std::uint64_t at(std::size_t which, std::size_t lane) const {
        if (run) return address[which][0] + lane * bytes;
        if (teams) return address[which][lane / kTeam] + lane % kTeam * step[lane / kTeam];
        return address[which][lane];
    }
    /// The addresses of all lanes, of an access in teams. They may be its own.
    void spell_out_teams(std::size_t which, std::uint64_t* to) const {
        std::uint64_t first[kTeams];
        std::copy_n(address[which], kTeams, first);
        for (std::size_t t = 0; t < kTeams; ++t)
            for (std::size_t i = 0; i < kTeam; ++i) to[t * kTeam + i] = first[t] + i * step[t];
    }
};

enum class FaultKind : std::uint8_t { none, out_of_bounds, unsupported, trap, misaligned, stack_overflow, assertion, runaway };

struct Fault {
    FaultKind kind = FaultKind::none;
    bool write = false;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    int lane = -1;
    std::string message;
};

struct Workgroup;
struct GlobalSync;

struct alignas(64) Wave {
    std::uint32_t (*vgpr)[kLanes] = nullptr;  // 512 rows: 0-255 v0.., 256-511 a0..
    std::array<std::uint32_t, sreg::count> sgpr{};
    bool scc = false;
    std::uint32_t pc = 0;                     // index into Program::instructions
    std::uint32_t mode = default_mode;        // MODE register: rounding, denormals, clamp...
    std::uint32_t id_in_group = 0;
    std::uint32_t xcd = 0;                    // where its workgroup runs
    std::uint64_t code_base = 0;              // where the code object's address 0 lies in `memory`
    const Program* program = nullptr;
    Memory* memory = nullptr;
    std::uint8_t* lds = nullptr;
    std::uint32_t lds_bytes = 0;
    std::uint8_t* scratch = nullptr;          // scratch_per_lane bytes for each lane, lane-major
    std::uint32_t scratch_per_lane = 0;
    Workgroup* group = nullptr;
    GlobalSync* sync = nullptr;               // the dispatch's global wave sync resources
    std::uint32_t lgkm_waits = 0;             // how often it has waited for what it asked of LDS
    std::uint32_t sync_wait = 0;              // what a ds_gws instruction waits for: a resource's generation + 1, or 0
    std::uint64_t clock = 0;                  // what s_memtime reads: modelled cycles, as of the begin of the turn when untimed
    std::uint64_t realtime_base = 0;          // what s_memrealtime read when the dispatch began: ticks of 10 ns
    std::atomic<std::uint64_t>* realtime = nullptr;  // the latest value, when waves of the dispatch compare theirs
    bool observed = true;                     // `access` is read: false lets handlers leave addresses out
    MemoryAccess access;
    Fault fault;

    [[nodiscard, gnu::always_inline]] std::uint64_t exec() const { return s64(sreg::exec); }
    [[nodiscard, gnu::always_inline]] std::uint64_t vcc() const { return s64(sreg::vcc); }
    [[nodiscard, gnu::always_inline]] std::uint64_t s64(int i) const {
        return sgpr[static_cast<std::size_t>(i)] | (std::uint64_t{sgpr[static_cast<std::size_t>(i) + 1]} << 32U);
    }
    [[gnu::always_inline]] void set_s64(int i, std::uint64_t value) {
        sgpr[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(value);
        sgpr[static_cast<std::size_t>(i) + 1] = static_cast<std::uint32_t>(value >> 32U);
    }
};

}  // namespace hipscope
