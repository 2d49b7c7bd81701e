// What the timing model must know about an instruction, worked out once per code object.
#pragma once

#include <cstdint>
#include <vector>

#include "core/instruction.hpp"
#include "timing/constants.hpp"

namespace hipscope {

/// What a load or store asks of the caches. LLVM's memory model of gfx942 and its SIMemoryLegalizer: a nontemporal access
/// (nt) misses in the L1 and streams through the L2; a load of device scope (sc1) misses in the L1.
struct CachePolicy {
    bool past_l1 = false;
    bool streams = false;
};

struct InstructionInfo {
    /// The result of the instruction `distance` places earlier may be read `cycles` after it was issued.
    struct Dependency {
        std::uint8_t distance = 0;
        std::uint16_t cycles = 0;
    };

    Unit unit = Unit::internal;
    std::uint16_t port_cycles = 4;   // how long its pipe is busy
    std::uint8_t dependency_count = 0;
    bool invalidates_l1 = false;
    CachePolicy policy;
    std::uint16_t cache_cycles = 0;  // until a write-back or invalidation of caches is done, counted like a store; 0: it is none
    /// Why it may make no difference when the instruction is executed.
    enum Early : std::uint8_t {
        alone = 1,                   // reads and changes nothing but the wave's own registers and place in the code
        plain_access = 2,            // a load or store that says nothing about order or about who else may look at it
        plain_lds = 4,               // the same of LDS
    };
    std::uint8_t early = 0;
    bool leaves_kernel = false;      // calls, and returns of what was called
    bool communicates = false;       // what other waves do at the same time may matter, but for its workgroup's barriers and LDS
    bool starts_fetch = false;       // first instruction of a fetched block: straight code asks for it here
    std::uint16_t idle_cycles = 4;   // s_nop and friends: cycles until the wave goes on; compilers put it where a result is not there yet
    std::uint32_t fetch_line = 0;
    std::uint32_t target = 0;        // s_waitcnt: its immediate
    Dependency dependency[4];
};

inline constexpr std::uint32_t kDependencyReach = 16;  // instructions; results older than that are always ready

inline constexpr unsigned kFetchBytes = 32;             // one request of a wave to its instruction cache

/// Whether waves of the kernel at [entry, end) may meet in another way than through LDS and their workgroup's barriers. If not,
/// plain accesses to memory may come at any time between those: a program that sees the difference has a race.
bool waves_communicate(const Program& program, const std::vector<InstructionInfo>& infos, std::uint64_t entry, std::uint64_t end);

/// Whether a wave of the kernel, whose waves do not communicate, may wait for another one of its workgroup by looking at LDS: in
/// a loop without a barrier, or by atomics. If not, plain accesses to LDS may come at any time between barriers, too.
bool waves_meet_in_lds(const Program& program, const std::vector<InstructionInfo>& infos, std::uint64_t entry, std::uint64_t end);

std::vector<InstructionInfo> instruction_infos(const Program& program, const TimingConstants& constants);

}  // namespace hipscope
