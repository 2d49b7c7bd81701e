// Adds up what accesses touched.
#include "engine/counts.hpp"

#include <bit>

namespace hipscope {
namespace {

/// Lines remembered per atomic instruction. Beyond it only lines seen before are counted: the hottest line of a
/// contended atomic shows up early, and one without a hot line needs no exact maximum.
constexpr std::size_t kAtomicLines = 4096;

void count_line(PatternCounts& row, std::uint64_t line, std::uint64_t lanes) {
    const auto known = row.atomic_lines.find(line);
    if (known != row.atomic_lines.end()) known->second += lanes;
    else if (row.atomic_lines.size() < kAtomicLines) row.atomic_lines.emplace(line, lanes);
}

}  // namespace

MemorySlots::MemorySlots(const Program& program) {
    slot.reserve(program.instructions.size());
    for (const Instruction& i : program.instructions)
        slot.push_back(accesses_memory(i.unit) ? static_cast<std::int32_t>(count++) : -1);
}

void PatternCounts::add(const PatternCounts& other) {
    if (other.accesses == 0) return;
    space = other.space;
    kind = other.kind;
    bytes = other.bytes;
    accesses += other.accesses;
    lanes += other.lanes;
    lines_needed += other.lines_needed;
    lines_used += other.lines_used;
    sectors += other.sectors;
    l1_accesses += other.l1_accesses;
    l1_lookups += other.l1_lookups;
    lds_cycles += other.lds_cycles;
    lds_conflicts += other.lds_conflicts;
    same_address += other.same_address;
    for (const auto& [line, count] : other.atomic_lines) count_line(*this, line, count);
}

void DispatchCounts::add(const DispatchCounts& other) {
    for (std::size_t i = 0; i < executions.size(); ++i) {
        executions[i].hits += other.executions[i].hits;
        executions[i].lanes += other.executions[i].lanes;
    }
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i].add(other.patterns[i]);
}

void CountingObserver::accessed(std::uint32_t pc, const MemoryAccess& access) {
    if (access.space == Space::none) return;
    PatternCounts& row = patterns_[slots_[pc]];
    row.space = access.space;
    row.kind = access.kind;
    row.bytes = access.bytes;
    ++row.accesses;
    const auto lanes = static_cast<std::uint64_t>(std::popcount(access.lanes));
    row.lanes += lanes;
    switch (access.space) {
        case Space::lds:
            lds = lds_cost(access);
            row.lds_cycles += static_cast<std::uint64_t>(lds.cycles);
            row.lds_conflicts += static_cast<std::uint64_t>(lds.conflicts);
            break;
        case Space::global: {
            collect_lines(access, lines);
            row.lines_used += static_cast<std::uint64_t>(lines.count);
            row.sectors += static_cast<std::uint64_t>(lines.sectors);
            row.l1_accesses += static_cast<std::uint64_t>(lines.accesses);
            row.l1_lookups += static_cast<std::uint64_t>(lines.lookups);
            row.lines_needed += (lanes * access.bytes + (1U << kLineBits) - 1) >> kLineBits;
            if (access.kind == AccessKind::load || access.kind == AccessKind::store) break;
            same_address = same_address_lanes(access, lines.index);
            row.same_address += static_cast<std::uint64_t>(same_address);
            for (std::uint64_t rest = access.lanes; rest != 0;) {
                const std::uint64_t line = access.address[0][std::countr_zero(rest)] >> kLineBits;
                std::uint64_t count = 0;
                while (rest != 0 && access.address[0][std::countr_zero(rest)] >> kLineBits == line) {
                    ++count;
                    rest &= rest - 1;
                }
                count_line(row, line, count);
            }
            break;
        }
        default: break;
    }
}

}  // namespace hipscope
