// Exact per-instruction counts of a dispatch: executions, active lanes and memory patterns, over all its waves.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/memory_kind.hpp"
#include "core/wave.hpp"
#include "engine/access.hpp"

namespace hipscope {

class MallHistory;
class WrittenLines;

/// Estimates how many different values it was shown (HyperLogLog, Flajolet et al. 2007): 2048 counters, a standard
/// error of 2.3 %; a few thousand values are counted almost exactly (linear counting). Merging does not depend on
/// the order, so threads do not change the result.
class DistinctCount {
public:
    /// All of [begin, end).
    void add_range(std::uint64_t begin, std::uint64_t end);
    void add(const DistinctCount& other);
    double estimate() const;
    [[nodiscard]] bool empty() const { return longest_.empty(); }

private:
    static constexpr unsigned kBits = 11;

    std::vector<std::uint8_t> longest_;    // per counter: most leading zeros + 1; empty until the first value
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
    std::array<std::uint64_t, kMemoryKinds> of_kind{};  // accesses, by where their first lane's memory is; those to plain device memory are not told

    void add(const PatternCounts& other);
    void scale(double factor);
    /// The lines of so many accesses that are alike.
    void add(const LineTotals& lines, std::uint64_t of_lanes, std::uint64_t times) {
        lines_used += times * static_cast<std::uint64_t>(lines.count);
        sectors += times * static_cast<std::uint64_t>(lines.sectors);
        l1_accesses += times * static_cast<std::uint64_t>(lines.accesses);
        l1_lookups += times * static_cast<std::uint64_t>(lines.lookups);
        lines_needed += times * ((of_lanes * bytes + (1U << kLineBits) - 1) >> kLineBits);
    }
    void add(const LdsCost& cost, std::uint64_t times) {
        lds_cycles += times * static_cast<std::uint64_t>(cost.cycles);
        lds_conflicts += times * static_cast<std::uint64_t>(cost.conflicts);
    }
};

struct ExecutionCounts {
    std::uint64_t hits = 0;
    std::uint64_t lanes = 0;
};

/// Lines that were noted lately: noting one again changes nothing. Forgets those that share a place with a later one.
class RecentLines {
public:
    /// Whether the line is among them; it is from now on.
    bool again(std::uint64_t line) {
        const auto rest = static_cast<std::uint32_t>(line >> kBits);  // addresses have 48 bits
        std::uint32_t& place = rest_[(line ^ rest ^ rest >> kBits) % kPlaces];
        return std::exchange(place, rest) == rest;
    }

private:
    static constexpr unsigned kBits = 9;
    static constexpr std::size_t kPlaces = 1U << kBits;
    std::array<std::uint32_t, kPlaces> rest_{};  // 0 is no line of a program's
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
    /// Make them those of so many times the work. How many different lines that goes to is not known.
    void scale(double factor);
};

/// Observer of the functional engine that only counts. Accesses that are like earlier ones of their instruction are counted by
/// their kind first; `add_up` makes sums of them at the end.
class CountingObserver {
public:
    static constexpr bool active = true;
    /// `history`: where the pages of global memory are marked that accesses go to, or nullptr. The next dispatch finds them in the MALL.
    /// `written`: where the lines are marked that are written, or nullptr.
    /// `l1_block_bits`: see collect_lines; no count depends on it, only the cycles of Lines.
    /// `kinds`: where memory is that is no plain device memory.
    CountingObserver(const MemorySlots& slots, DispatchCounts& counts, const LdsRows& lds_rows, const std::vector<KindRange>& kinds,
                     MallHistory* history, WrittenLines* written,
                     unsigned l1_block_bits = kLineBits)
        : slots_(slots.slot.data()),
          executions_(counts.executions.data()),
          patterns_(counts.patterns.data()),
          lds_rows_(lds_rows),
          kinds_(kinds),
          other_kinds_(!kinds.empty()),
          history_(history),
          written_(written),
          l1_block_bits_(l1_block_bits),
          known_(slots.count) {}

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
        if (row.bytes == 0) [[unlikely]] {  // all that the instruction makes are alike
            row.kind = access.kind;
            row.bytes = access.bytes;
        }
        if (other_kinds_) [[unlikely]] note_kind(row, access);
        if (access.space == Space::scalar) {
            row.accesses += 1;
            row.lanes += static_cast<std::uint64_t>(std::popcount(access.lanes));
            return;
        }
        Known& known = known_[slot];
        if (access.run) run(row, known, access);
        else if (!access.teams || access.space != Space::lds || !counted_again(known, access)) other(row, known, access);
    }
    /// Nothing is observed after that.
    void add_up();

    /// The lines of the access that was observed last, if it went to global memory. Those of a run are not spelled out.
    Lines& lines_of(const MemoryAccess& access) {
        if (access.space != Space::global) return lines_;
        if (access.run) lines_of_run(access.address[0][0], access.bytes, lines_);
        else if (like_ != nullptr) like_->give(moved_, lines_);
        return lines_;
    }
    /// What the last access to LDS cost.
    [[nodiscard]] const LdsCost& lds() const { return lds_; }

private:
    static constexpr std::size_t kRunPlaces = (1U << kLineBits) / 4;
    /// Runs by the dword of a line that they begin at.
    using Runs = std::array<std::uint64_t, kRunPlaces>;

    /// What is known from earlier accesses of an instruction, once it has made one that needs it.
    struct Known {
        std::unique_ptr<Runs> runs;
        std::uint64_t begin = 0, end = 0;  // lines that it went to last, which are not noted yet
        std::uint64_t step = 0;            // to their first one from that of the lines before
        std::unique_ptr<KnownLines> lines;
        std::unique_ptr<RecentLines> recent;
        std::unique_ptr<KnownConflicts> conflicts;
        KnownTeams teams;
    };

    /// False unless the access by teams is like the last one of its instruction.
    bool counted_again(Known& known, const MemoryAccess& access) {
        if (!known.teams.moved_to(access)) return false;
        lds_ = known.teams.cost;
        ++known.teams.again;
        return true;
    }

    /// The usual case: an access of all lanes, one behind the other.
    void run(PatternCounts& row, Known& known, const MemoryAccess& access) {
        if (access.space == Space::lds) {
            const LdsRow& of = lds_rows_.of(access.kind, access.bytes);
            const int conflicts = of.run_conflicts * access.addresses;
            lds_ = {of.sets * access.addresses + conflicts, conflicts};
            row.accesses += 1;
            row.lanes += kLanes;
            row.add(lds_, 1);
            return;
        }
        const std::uint64_t begin = access.address[0][0], last = begin + std::uint64_t{kLanes} * access.bytes - 1;
        if (!known.runs) [[unlikely]] known.runs = std::make_unique<Runs>();
        ++(*known.runs)[begin / 4 % kRunPlaces];
        went_to(row, known, begin >> kLineBits, (last >> kLineBits) + 1);
    }
    void note_kind(PatternCounts& row, const MemoryAccess& access) const;
    void other(PatternCounts& row, Known& known, const MemoryAccess& access);
    void global(PatternCounts& row, Known& known, const MemoryAccess& access);

    /// The lines [begin, end) of global memory. Those that follow each other or overlap are noted in one piece.
    void went_to(PatternCounts& row, Known& known, std::uint64_t begin, std::uint64_t end) {
        if (begin - known.begin <= known.end - known.begin) [[likely]] {
            known.end = std::max(known.end, end);
            return;
        }
        go_elsewhere(row, known, begin, end);
    }
    void go_elsewhere(PatternCounts& row, Known& known, std::uint64_t begin, std::uint64_t end);
    void note_lines(PatternCounts& row, const Known& known);

    const std::int32_t* slots_;
    ExecutionCounts* executions_;
    PatternCounts* patterns_;
    const LdsRows& lds_rows_;
    const std::vector<KindRange>& kinds_;
    bool other_kinds_;
    MallHistory* history_;
    WrittenLines* written_;
    unsigned l1_block_bits_;
    Lines lines_;
    const KnownLines::Entry* like_ = nullptr;  // the last access to global memory was like this one, else `lines_` has it
    std::uint64_t moved_ = 0;                  // by so many lines
    LdsCost lds_;
    std::vector<Known> known_;  // per memory slot
};

/// For plain runs: costs nothing.
struct NoObserver {
    static constexpr bool active = false;
    void accessed(std::uint32_t, const MemoryAccess&) {}
};

}  // namespace hipscope
