// Exact per-instruction counts of a dispatch: executions, active lanes and memory patterns, over all its waves.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/wave.hpp"
#include "engine/access.hpp"

namespace hipscope {

/// Estimates how many different values it was shown (HyperLogLog, Flajolet et al. 2007): 2048 counters, a standard
/// error of 2.3 %; a few thousand values are counted almost exactly (linear counting). Merging does not depend on
/// the order, so threads do not change the result.
class DistinctCount {
public:
    void add(std::uint64_t value) {
        if (value != last_) add_range(value, value + 1);
    }
    /// All of [begin, end).
    void add_range(std::uint64_t begin, std::uint64_t end);
    void add(const DistinctCount& other);
    double estimate() const;

private:
    static constexpr unsigned kBits = 11;
    std::vector<std::uint8_t> longest_;  // per counter: most leading zeros + 1; empty until the first value
    std::uint64_t last_ = ~std::uint64_t{0};
};

struct PatternCounts {
    Space space = Space::none;
    AccessKind kind = AccessKind::load;
    std::uint8_t bytes = 0;
    std::uint64_t accesses = 0;
    std::uint64_t lanes = 0;
    std::uint64_t lines_needed = 0;
    std::uint64_t lines_used = 0;
    std::uint64_t sectors = 0;           // 64-byte halves touched
    std::uint64_t l1_accesses = 0, l1_lookups = 0;  // see Lines
    std::uint64_t lds_cycles = 0;
    std::uint64_t lds_conflicts = 0;
    std::uint64_t same_address = 0;      // lanes behind another lane of their wave on the same address
    std::unordered_map<std::uint64_t, std::uint64_t> atomic_lines;  // line -> lanes; bounded, see counts.cpp
    DistinctCount distinct_lines;        // of global loads

    void add(const PatternCounts& other);
};

struct ExecutionCounts {
    std::uint64_t hits = 0;
    std::uint64_t lanes = 0;
};

/// Which instructions access memory, and where their PatternCounts are.
struct MemorySlots {
    std::vector<std::int32_t> slot;  // per instruction: index, or -1
    std::uint32_t count = 0;

    explicit MemorySlots(const Program& program);
};

inline bool accesses_memory(Unit unit) { return unit >= Unit::smem && unit <= Unit::lds; }

struct DispatchCounts {
    std::vector<ExecutionCounts> executions;  // per instruction
    std::vector<PatternCounts> patterns;      // per memory slot

    DispatchCounts(std::size_t instructions, std::uint32_t slots) : executions(instructions), patterns(slots) {}
    void add(const DispatchCounts& other);
};

/// Observer of the functional engine that only counts. `lines` is scratch space and holds the lines of the access
/// that was observed last.
class CountingObserver {
public:
    static constexpr bool active = true;
    CountingObserver(const MemorySlots& slots, DispatchCounts& counts)
        : slots_(slots.slot.data()), executions_(counts.executions.data()), patterns_(counts.patterns.data()), known_(slots.count) {}

    /// The instructions [first, end), one after the other.
    void executed(std::uint32_t first, std::uint32_t end, std::uint64_t exec) {
        const auto lanes = static_cast<std::uint64_t>(__builtin_popcountll(exec));
        for (std::uint32_t pc = first; pc < end; ++pc) {
            ++executions_[pc].hits;
            executions_[pc].lanes += lanes;
        }
    }
    void accessed(std::uint32_t pc, const MemoryAccess& access) {
        if (access.space == Space::none) return;
        if (access.run && access.space == Space::global) run(patterns_[slots_[pc]], access);
        else other(pc, access);
    }

    Lines lines;
    LdsCost lds;
    int same_address = 0;

private:
    /// What is known from earlier accesses of an instruction, once it has made one that needs it.
    struct Known {
        std::unique_ptr<KnownLines> lines;
        std::unique_ptr<KnownConflicts> conflicts;
    };

    /// The usual case: a load or store of all lanes, one behind the other.
    void run(PatternCounts& row, const MemoryAccess& access);
    void other(std::uint32_t pc, const MemoryAccess& access);

    const std::int32_t* slots_;
    ExecutionCounts* executions_;
    PatternCounts* patterns_;
    std::vector<Known> known_;  // per memory slot
};

/// For plain runs: costs nothing.
struct NoObserver {
    static constexpr bool active = false;
    void accessed(std::uint32_t, const MemoryAccess&) {}
};

}  // namespace hipscope
