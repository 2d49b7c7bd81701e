// The state of all checks over the life of a process, and the observer that feeds them one instruction at a time.
// In: what the host does with device memory, and every executed instruction. Out: reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "engine/dispatch.hpp"
#include "engine/workgroup.hpp"
#include "sanitize/races.hpp"
#include "sanitize/report.hpp"
#include "sanitize/uninitialised.hpp"
#include "sanitize/wave_order.hpp"

namespace hipscope::sanitize {

/// What is known about one wave of a workgroup in flight.
struct WaveRecord {
    std::uint64_t lanes = 0;       // EXEC at the start
    std::uint32_t last_pc = 0;     // the barrier it waits at
};

/// What is known about one workgroup in flight.
struct GroupRecord {
    std::uint64_t number = 0;
    std::vector<WaveRecord> waves;
    GroupOrder order;
    LaneExchanges lanes;
};

/// A load that met an atomic operation: a race, unless the load only starts a loop of compare-and-swap.
struct PendingRace {
    Case found;
    std::uint32_t seed = 0;
    std::uint64_t count = 0;
};

class Sanitizer {
public:
    Sanitizer(Checks checks, Memory& memory);
    Sanitizer(const Sanitizer&) = delete;
    Sanitizer& operator=(const Sanitizer&) = delete;

    // What the host does. `frames` are return addresses, innermost first.
    /// `written`: the host may have put values there without a call that says so (pinned and managed memory).
    void allocated(std::uint64_t address, std::vector<std::uint64_t> frames, bool written);
    void released(std::uint64_t address, std::vector<std::uint64_t> frames);

    /// The device heap has taken this slab from device memory.
    void heap_slab(std::uint64_t address) { races_.heap_slab(address); }

    /// Copies and fills; each pointer may be one of the host's.
    void copied(const void* to, const void* from, std::uint64_t bytes);
    void filled(const void* to, std::uint64_t bytes);
    /// All of these bytes will be accessed.
    void populate(std::uint64_t address, std::uint64_t bytes) {
        if (checks_.races || checks_.stale) races_.populate(address, bytes);
    }
    /// This memory counts as unwritten, whatever it holds.
    void undefined(std::uint64_t address, std::uint64_t bytes);

    /// Before and after each dispatch.
    void begin(const PreparedLaunch& launch, std::uint64_t dispatch);
    void end();
    Reports& reports() { return reports_; }
    [[nodiscard]] const Checks& checks() const { return checks_; }

    // What the engine does, in order. `step` executes the instruction.
    void started(Workgroup& group);
    Step step(Wave& wave, const Instruction& instruction);
    using Ahead = Uninitialised::Ahead;
    Ahead step_ahead(Wave& wave, std::uint32_t limit) { return uninitialised_ ? uninitialised_->execute_ahead(wave, limit) : Ahead{0, limit}; }
    void barrier_released(Workgroup& group);

private:
    Step run(Wave& wave, const Instruction& instruction) { return uninitialised_ ? uninitialised_->execute(wave, instruction) : instruction.run(wave, instruction); }
    Step access(Wave& wave, const Instruction& instruction);
    void stray(const Wave& wave, const Instruction& instruction);
    void check_kernarg(const Wave& wave, const MemoryAccess& access, const Shape& shape);
    void check_alignment(const Wave& wave, const Instruction& instruction, const MemoryAccess& access, const Shape& shape);
    void check_races(const Wave& wave, const Instruction& instruction, const Shape& shape);
    void report_conflict(const Wave& wave, const Conflict& conflict);
    void report_exchange(const Wave& wave, const LaneExchange& exchange);
    [[nodiscard]] bool is_internal(std::uint64_t address) const;
    void reached_barrier(const Wave& wave);
    void report_undefined(const UndefinedFound& found);

    [[nodiscard]] Place place(const Wave& wave, int lane) const { return {wave.pc, wave.group->number, wave.id_in_group, lane}; }
    [[nodiscard]] std::optional<AllocationNote> note_of(const Allocation* block, bool freed) const;
    GroupRecord& record(const Workgroup& group) {
        if (recent_group_ != &group) {
            recent_group_ = &group;
            recent_ = &groups_[&group];
        }
        return *recent_;
    }

    Checks checks_;
    Memory& memory_;
    Reports reports_;
    const PreparedLaunch* launch_ = nullptr;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> allocated_by_, freed_by_;  // by Allocation::id
    std::unordered_map<const Workgroup*, GroupRecord> groups_;
    const Workgroup* recent_group_ = nullptr;
    GroupRecord* recent_ = nullptr;
    Races races_;
    std::optional<Uninitialised> uninitialised_;  // when it is checked
    std::map<std::pair<std::uint32_t, std::uint32_t>, PendingRace> pending_;  // by the two pcs
    std::set<std::uint64_t> internal_;  // blocks of the runtime's own that kernels use
};

/// Passes every step of the functional engine to a Sanitizer, and what it accessed on.
class SanitizeObserver {
public:
    static constexpr bool active = true;
    SanitizeObserver(Sanitizer& sanitizer, const std::function<void(const MemoryAccess&)>& observe) : sanitizer_(sanitizer), observe_(observe) {}
    void started(Workgroup& group) { sanitizer_.started(group); }
    Sanitizer::Ahead step_ahead(Wave& wave, std::uint32_t limit) { return sanitizer_.step_ahead(wave, limit); }
    Step step(Wave& wave, const Instruction& instruction) {
        const Step result = sanitizer_.step(wave, instruction);
        if (accesses_memory(instruction.unit) && result == Step::next && wave.access.space != Space::none && observe_) {
            wave.access.spell_out();
            observe_(wave.access);
        }
        return result;
    }
    void barrier_released(Workgroup& group) { sanitizer_.barrier_released(group); }

private:
    Sanitizer& sanitizer_;
    const std::function<void(const MemoryAccess&)>& observe_;  // called for each access, if set
};

}  // namespace hipscope::sanitize
