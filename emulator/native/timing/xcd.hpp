// Event-driven timing model of one XCD: its CUs in deterministic order, caches, LDS and memory queues. It executes
// the workgroups it times, so that addresses, divergence and contention are those of the program's own data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/counts.hpp"
#include "engine/groups.hpp"
#include "engine/standstill.hpp"
#include "engine/workgroup.hpp"
#include "timing/constants.hpp"
#include "timing/history.hpp"
#include "timing/instruction_info.hpp"
#include "timing/l2_lines.hpp"
#include "timing/memory_counts.hpp"
#include "timing/stalls.hpp"
#include "timing/written_lines.hpp"

namespace hipscope {

/// Cycles of one instruction, summed over the timed waves.
struct InstructionTime {
    std::int64_t issue = 0;
    std::int64_t stall[kStallReasons] = {};
    std::vector<std::pair<std::uint32_t, std::int64_t>> waited_for;  // producer's index -> cycles
};

struct TraceStep {
    std::int64_t time, stall, duration;
    std::uint32_t pc;
};

struct WaveTrace {
    int cu, simd, slot;
    std::int64_t begin = 0, end = 0;
    std::vector<TraceStep> steps;
};

struct TimedResult {
    double cycles = 0;                   // of the whole dispatch on this XCD, extrapolated when `covered` < 1
    double covered = 1;                  // share of the XCD's workgroups that were timed; of its work, when it was stopped
    std::uint64_t waves = 0;             // timed; as many as would have done what was timed, when it was stopped
    std::uint64_t instructions = 0;      // timed
    std::uint64_t started = 0;           // workgroups that were timed
    EndedGroups ended;                   // those of them that came to their ends
    double beyond = 0;                   // instructions that stopped workgroups had executed beyond those of a whole one
    double wave_cycles = 0;              // sum of wave lifetimes
    double busy_cu_cycles = 0;
    double waves_end = 0;                // when the last timed wave ended, before modified lines are written back
    std::uint64_t refetches = 0;         // taken branches into the middle of a fetched block
    double level_vmem = 0, level_smem = 0, level_lds = 0;  // sums of cycles from issue to result
    double occupancy = 0;                // waves per SIMD that the resources allow
    L2Counts l2;                         // of this XCD
    LineCacheCounts icache, scalar_cache;
    double hottest_atomic_cycles = 0;    // time that the most used atomic line of this XCD was busy
    double valu_busy = 0, lds_busy = 0, vmem_busy = 0;  // cycles, summed over CUs (VALU: over SIMDs / 4)
    std::vector<InstructionTime> times;  // per instruction
    std::vector<CacheCounts> caches;     // per memory slot
    std::vector<WaveTrace> traces;
};

struct TimingLimits {
    std::uint64_t max_instructions = ~0ULL;  // wave instructions to time before the rest is extrapolated
    std::uint64_t runaway = ~0ULL;           // instructions of one workgroup
    int traced_waves = 8;
};

struct TimedFault {
    std::uint64_t group = 0;
    Fault fault;
    std::uint32_t pc = 0;
};

/// Memory of the model that the next launch takes over: all of it new for each costs more than a small launch does.
class TimingStorage {
public:
    struct Parts;

    TimingStorage();
    ~TimingStorage();
    TimingStorage(const TimingStorage&) = delete;
    TimingStorage& operator=(const TimingStorage&) = delete;

    Parts& parts() { return *parts_; }
    /// What the next launch finds in the L2 but for what was `written`.
    L2Lines l2_lines(const TimingConstants& constants, const WrittenLines& written);

private:
    std::unique_ptr<Parts> parts_;
};

/// What the model looks at; all of it outlives the simulator.
struct TimedLaunch {
    const TimingConstants& constants;
    const PreparedLaunch& launch;
    Memory& memory;
    GroupSource& groups;
    const MemorySlots& slots;
    const std::vector<InstructionInfo>& info;
    MallHistory& history;
    TimingStorage& storage;
    const WrittenLines* written;  // since the last launch, of which the L2 keeps the rest; nullptr: it keeps nothing
    const L2Lines* l2_lines;  // what the L2 holds in place of that; nullptr: `written` tells it
    bool code_is_cold;  // the kernel's first launch
};

class XcdSimulator {
public:
    struct Model;

    XcdSimulator(const TimedLaunch& timed, DispatchCounts& counts, TimingLimits limits);
    ~XcdSimulator();
    XcdSimulator(const XcdSimulator&) = delete;
    XcdSimulator& operator=(const XcdSimulator&) = delete;

    /// Go on for about `instructions` wave instructions. False when all timed workgroups have ended or one faulted.
    bool run(std::uint64_t instructions);
    [[nodiscard]] const std::optional<TimedFault>& fault() const;
    /// Of a launch that does not go on: it may change its waves.
    [[nodiscard]] std::vector<Rest> rest();
    /// `whole`: the workgroups of the launch that came to their ends. The timed ones that did not are extrapolated to what those did.
    TimedResult take_result(const EndedGroups& whole);

private:
    std::unique_ptr<Model> model_;
};

/// Workgroups of this launch that fit on one CU together.
int workgroups_per_cu(const TimingConstants& constants, const PreparedLaunch& launch);

}  // namespace hipscope
