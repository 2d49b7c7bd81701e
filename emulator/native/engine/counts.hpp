// Exact per-instruction counts of a dispatch: executions, active lanes and memory patterns, over all its waves.
#pragma once

#include <algorithm>
#include <bit>
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
    void add(std::uint64_t value) { add_range(value, value + 1); }
    /// All of [begin, end). Ranges that follow each other or overlap are counted in one piece.
    void add_range(std::uint64_t begin, std::uint64_t end) {
        if (begin - begin_ <= end_ - begin_) [[likely]] {
            end_ = std::max(end_, end);
            return;
        }
        count(begin_, end_);
        begin_ = begin;
        end_ = end;
    }
    void add(const DistinctCount& other);
    double estimate() const;

private:
    static constexpr unsigned kBits = 11;
    void count(std::uint64_t begin, std::uint64_t end);

    std::vector<std::uint8_t> longest_;    // per counter: most leading zeros + 1; empty until the first value
    std::uint64_t begin_ = 0, end_ = 0;    // what it was shown last and is not in `longest_` yet
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
    /// The lines of an access.
    void add(const Lines& lines, std::uint64_t of_lanes, std::uint8_t bytes_each) {
        lines_used += static_cast<std::uint64_t>(lines.count);
        sectors += static_cast<std::uint64_t>(lines.sectors);
        l1_accesses += static_cast<std::uint64_t>(lines.accesses);
        l1_lookups += static_cast<std::uint64_t>(lines.lookups);
        lines_needed += (of_lanes * bytes_each + (1U << kLineBits) - 1) >> kLineBits;
    }
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
    /// Per instruction. Until `sum_up`: by how much more it counts than the one before it, so that a piece of straight code
    /// takes two additions; there is one behind the last instruction.
    std::vector<ExecutionCounts> executions;
    std::vector<PatternCounts> patterns;  // per memory slot

    DispatchCounts(std::size_t instructions, std::uint32_t slots) : executions(instructions + 1), patterns(slots) {}
    void add(const DispatchCounts& other);
    void sum_up();
};

/// Observer of the functional engine that only counts. `lines` is scratch space and holds the lines of the access
/// that was observed last; those of a run are not spelled out.
class CountingObserver {
public:
    static constexpr bool active = true;
    CountingObserver(const MemorySlots& slots, DispatchCounts& counts)
        : slots_(slots.slot.data()), executions_(counts.executions.data()), patterns_(counts.patterns.data()), known_(slots.count) {}

    /// The instructions [first, end), one after the other.
    void executed(std::uint32_t first, std::uint32_t end, std::uint64_t exec) {
        const auto lanes = static_cast<std::uint64_t>(__builtin_popcountll(exec));
        executions_[first].hits += 1;
        executions_[first].lanes += lanes;
        executions_[end].hits -= 1;
        executions_[end].lanes -= lanes;
    }
    void accessed(std::uint32_t pc, const MemoryAccess& access) {
        if (access.space == Space::none) return;
        const auto slot = static_cast<std::size_t>(slots_[pc]);
        PatternCounts& row = patterns_[slot];
        row.space = access.space;
        if (row.accesses++ == 0) {  // all that the instruction makes are alike
            row.kind = access.kind;
            row.bytes = access.bytes;
        }
        row.lanes += static_cast<std::uint64_t>(std::popcount(access.lanes));
        if (access.space == Space::scalar) return;
        Known& known = known_[slot];
        if (access.run && access.space == Space::global) run(row, access);
        else if (!access.teams || access.space != Space::lds || !counted_again(row, known, access)) other(row, known, access);
    }

    Lines lines;
    LdsCost lds;
    int same_address = 0;

private:
    /// What is known from earlier accesses of an instruction, once it has made one that needs it.
    struct Known {
        std::unique_ptr<KnownLines> lines;
        std::unique_ptr<KnownConflicts> conflicts;
        KnownTeams teams;
    };

    /// False unless the access by teams is like the last one of its instruction.
    bool counted_again(PatternCounts& row, const Known& known, const MemoryAccess& access) {
        if (!known.teams.moved_to(access)) return false;
        lds = known.teams.cost;
        row.lds_cycles += static_cast<std::uint64_t>(lds.cycles);
        row.lds_conflicts += static_cast<std::uint64_t>(lds.conflicts);
        return true;
    }

    /// The usual case: a load or store of all lanes, one behind the other.
    void run(PatternCounts& row, const MemoryAccess& access) {
        lines_of_run(access, lines);
        row.add(lines, kLanes, access.bytes);
        const std::uint64_t first = lines.line[0];
        if (access.kind == AccessKind::load) row.distinct_lines.add_range(first, first + static_cast<unsigned>(lines.count));
    }
    void other(PatternCounts& row, Known& known, const MemoryAccess& access);

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
