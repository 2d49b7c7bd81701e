// An order of waves in which those that have come to an operation on shared memory (an atomic, an access or a fence of the
// device's scope) stop there, and all others get past them: who took a ticket before its work was done shows it.
// In: the code of a launch. Out: an observer for run_group that stops waves, and says which of them goes on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/functional.hpp"

namespace hipscope {

/// Where waves stop: nowhere, in front of such an operation, or behind it.
enum class Hold : std::uint8_t { none, before, after };

struct HeldOrder {
    Hold hold = Hold::none;
    std::optional<std::uint32_t> only;  // at the instruction that the launch comes to as the first, second (1) ... of them
    std::uint64_t seed = 0;             // not 0: by chance, some times at each; and any wave that is held goes on next
};

/// Atomics, accesses past the caches of the XCD, and fences between workgroups. gfx90a and older have glc and
/// buffer_wbinvl1 for them.
inline bool reaches_other_groups(const Instruction& in) {
    if (in.unit == Unit::vmem_atomic) return true;
    if (in.unit == Unit::vmem_load || in.unit == Unit::vmem_store) return in.modifiers.sc1 || in.text.find(" glc") != std::string::npos;
    if (in.text.starts_with("buffer_wbinvl1")) return true;
    return (in.text.starts_with("buffer_wbl2") || in.text.starts_with("buffer_inv")) && in.text.find("sc1") != std::string::npos;
}

/// Stops each wave once at each such instruction; in a random order several times, or never.
class HoldingObserver {
public:
    static constexpr bool active = true;

    HoldingObserver(const Program& program, const HeldOrder& order) : order_(order), random_(order.seed) {
        stops_.reserve(program.instructions.size());
        for (const Instruction& in : program.instructions) stops_.push_back(reaches_other_groups(in));
    }

    void accessed(std::uint32_t, MemoryAccess&) {}

    Step step(Wave& wave, const Instruction& instruction) {
        const std::uint32_t pc = wave.pc;
        if (!stops_[pc] || !stops_now(wave, pc)) return instruction.run(wave, instruction);
        if (order_.hold == Hold::before) {
            hold(wave);
            return Step::retry;
        }
        const Step result = instruction.run(wave, instruction);
        if (result != Step::next) return result;
        hold(wave);
        return Step::yield;
    }

    void started(const Workgroup& group) { of_.insert_or_assign(&group, State(group.waves.size())); }
    void ended(const Workgroup& group) { of_.erase(&group); }

    [[nodiscard]] bool held(const Workgroup& group, std::size_t wave) const { return of_.at(&group).held[wave]; }
    /// Whether nothing but waves that are held could go on.
    [[nodiscard]] bool stuck(const Workgroup& group) const {
        const State& state = of_.at(&group);
        for (std::size_t i = 0; i < group.waves.size(); ++i)
            if (group.state[i] == WaveState::ready && !state.held[i]) return false;
        return !state.order.empty();
    }
    /// Let the wave go on that stopped last.
    void release(const Workgroup& group) {
        State& state = of_.at(&group);
        const auto at = state.order.begin() + static_cast<std::ptrdiff_t>(next_of(state.order.size()));
        state.held[*at] = false;
        state.order.erase(at);
    }
    /// Which of `count` that are held, in the order in which they stopped, goes on next. There is one.
    [[nodiscard]] std::size_t next_of(std::size_t count) { return order_.seed == 0 ? count - 1 : next_random() % count; }

private:
    static constexpr std::uint8_t kMostTimes = 4;  // that a wave stops at one instruction, in a random order

    struct State {
        explicit State(std::size_t waves) : held(waves), passed(waves) {}
        std::vector<bool> held;
        std::vector<std::unordered_map<std::uint32_t, std::uint8_t>> passed;  // by wave: how often it came to an instruction
        std::vector<std::size_t> order;                                      // the waves that are held, the last one at the end
    };

    bool stops_now(const Wave& wave, std::uint32_t pc) {
        if (order_.only && place_of(pc) != *order_.only) return false;
        std::uint8_t& times = of_.at(wave.group).passed[wave.id_in_group][pc];
        if (times == (order_.seed == 0 ? 1 : kMostTimes)) return false;
        if (order_.hold == Hold::before && times % 2 == 1) {  // it comes to the same instruction again when it goes on
            ++times;
            return false;
        }
        ++times;
        if (order_.seed == 0 || next_random() % 2 == 0) return true;
        if (order_.hold == Hold::before) ++times;
        return false;
    }
    /// As the how many-th of them the launch has come to this one.
    std::uint32_t place_of(std::uint32_t pc) {
        const auto found = std::ranges::find(places_, pc);
        if (found == places_.end()) places_.push_back(pc);
        return static_cast<std::uint32_t>(std::ranges::find(places_, pc) - places_.begin());
    }
    void hold(const Wave& wave) {
        State& state = of_.at(wave.group);
        state.held[wave.id_in_group] = true;
        state.order.push_back(wave.id_in_group);
    }
    std::uint32_t next_random() {
        random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::uint32_t>(random_ >> 33U);
    }

    HeldOrder order_;
    std::uint64_t random_;
    std::vector<bool> stops_;
    std::vector<std::uint32_t> places_;
    std::unordered_map<const Workgroup*, State> of_;
};

}  // namespace hipscope
