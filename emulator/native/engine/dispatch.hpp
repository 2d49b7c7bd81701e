// Runs one dispatch: plainly, or profiled (exact counts over all waves, timing of one XCD).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/counts.hpp"
#include "engine/held.hpp"
#include "engine/launch.hpp"
#include "engine/pool.hpp"
#include "timing/constants.hpp"
#include "timing/history.hpp"
#include "timing/l2_lines.hpp"
#include "timing/written_lines.hpp"
#include "timing/xcd.hpp"

namespace hipscope {

namespace sanitize {
class NumberKinds;
class Sanitizer;
}

struct DispatchFault {
    std::string kind;      // "out_of_bounds", "unsupported", "trap", ...
    std::string message;   // one line
    std::optional<std::uint64_t> instruction_address;  // in the code object
    std::string instruction;
};

struct DispatchResult {
    std::optional<DispatchFault> fault;
    std::vector<DispatchFault> left_out;     // accesses out of bounds, one of each instruction, where the launch keeps going
    std::uint64_t instructions = 0;          // of all waves of the workgroups that ended
    std::unique_ptr<DispatchCounts> counts;  // profiled dispatches only
    std::optional<TimedResult> timed;
    double time_ns = 0;                      // modelled; 0 when not timed
    std::string bound_by;
    std::vector<std::pair<std::string_view, double>> busy;  // part of `time_ns` for which each unit works at its highest rate
    /// The deadline stopped the launch after so many workgroups; time and counts are extrapolated from what ran to all of them.
    std::optional<std::uint64_t> stopped_after;
    double wall_ms = 0;
    double cpu_ms = 0;                       // of all threads of the process meanwhile
};

struct EngineSettings {
    int threads = 1;
    std::uint64_t seed = 0;
    std::uint64_t max_instructions = ~0ULL;        // of one workgroup
    std::optional<std::chrono::steady_clock::time_point> deadline;  // a dispatch that still runs then faults
    std::chrono::milliseconds time_limit{0};       // how long before the deadline the program began
    std::uint64_t max_timed_instructions = 60'000'000;  // of one dispatch on the timed XCD
    bool code_in_caches = false;                   // as if each kernel had been launched before
    bool timed_only = false;                       // profiled launches run the timed XCD's workgroups, where their order changes nothing
    std::optional<L2Lines> l2_lines;               // what each launch finds in the L2, whatever was before it
};

class Engine {
public:
    Engine(Memory& memory, const EngineSettings& settings, std::optional<TimingConstants> timing);

    DispatchResult run(const PreparedLaunch& launch, bool profile);
    /// Run on one thread and call `observe` for every memory access, in the order of execution.
    DispatchResult trace(const PreparedLaunch& launch, const std::function<void(const MemoryAccess&)>& observe);
    /// The same, several times as slow; `kinds` follows what is stored.
    DispatchResult trace(const PreparedLaunch& launch, sanitize::NumberKinds& kinds, const std::function<void(const MemoryAccess&)>& observe);
    /// Run on one thread under the sanitizers; `observe`, if there is one, gets every memory access as in `trace`.
    DispatchResult check(const PreparedLaunch& launch, sanitize::Sanitizer& sanitizer, const std::function<void(const MemoryAccess&)>& observe = {});
    /// Run on one thread; waves stop at what reaches other workgroups until all others have got as far as they can, and the
    /// one that stopped last goes on first.
    DispatchResult held(const PreparedLaunch& launch, const HeldOrder& order);
    /// A copy or fill went over device memory: it is in the memory-side cache now, and no L2 has what was `written`.
    void touched(std::uint64_t address, std::uint64_t bytes, bool written);
    /// What a launch that begins now finds in the L2 of the XCD that was timed last. None where nothing is known of it: the
    /// last launch was not timed, or the L2 keeps nothing.
    [[nodiscard]] std::optional<L2Lines> l2_lines();
    [[nodiscard]] bool can_profile() const { return timing_.has_value(); }
    [[nodiscard]] const TimingConstants* timing() const { return timing_ ? &*timing_ : nullptr; }

private:
    class Run;
    struct TimedXcd {
        std::uint64_t number = 0;
        bool uneven = false;  // one took longer than another in an earlier launch
    };

    const std::vector<InstructionInfo>& infos(const std::shared_ptr<Disassembly>& code);
    DispatchResult time_busiest(const PreparedLaunch& launch, bool cold);
    [[nodiscard]] const WrittenLines* written_since_launch_of(std::uint64_t xcd) const;
    [[nodiscard]] bool may_run_twice(const PreparedLaunch& launch) const;
    [[nodiscard]] bool has_time_for(double wall_ms) const;
    /// Whether this is the kernel's first launch: its code is in no instruction cache yet.
    bool code_is_cold(const PreparedLaunch& launch);

    Memory& memory_;
    EngineSettings settings_;
    std::optional<TimingConstants> timing_;
    std::unique_ptr<MallHistory> history_;
    std::unique_ptr<WrittenLines> written_;
    std::optional<std::uint64_t> l2_of_;  // the XCD that the last launch was timed on
    TimingStorage storage_;
    std::map<std::shared_ptr<Disassembly>, std::vector<InstructionInfo>> infos_;  // what the timing model worked out
    std::set<std::pair<std::shared_ptr<Disassembly>, std::uint64_t>> launched_;    // code and entry of each kernel
    /// By code and entry of each kernel, and the number of its workgroups.
    std::map<std::tuple<std::shared_ptr<Disassembly>, std::uint64_t, std::uint64_t>, TimedXcd> timed_xcds_;
    ThreadPool pool_;
};

std::string_view fault_name(FaultKind kind);
/// The `kind` of a fault that the program's deadline made of a launch whose workgroups came to their ends.
inline constexpr std::string_view kUnfinished = "unfinished";

}  // namespace hipscope
