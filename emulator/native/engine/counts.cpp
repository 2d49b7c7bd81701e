// Adds up what accesses touched.
#include "engine/counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/widest.hpp"

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

/// Lanes of an atomic on each line: added up here first, since looking a line up costs much more.
void count_lines(PatternCounts& row, const MemoryAccess& access, Lines& lines) {
    std::uint8_t lanes[kMostLines];
    std::fill_n(lanes, lines.count, std::uint8_t{0});
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1)
        ++lanes[lines.position(access.address[0][std::countr_zero(rest)] >> kLineBits)];
    for (int i = 0; i < lines.count; ++i)
        if (lanes[i] != 0) count_line(row, lines.line[i], lanes[i]);
}

/// SplitMix64's finisher: neighbouring lines end up far apart.
constexpr std::uint64_t hash(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31U);
}

constexpr std::size_t kHashes = 16;

/// Those of values that follow each other.
HIPSCOPE_WIDEST void hash_many(std::uint64_t first, std::uint64_t (&hashes)[kHashes]) {
    for (std::size_t i = 0; i < kHashes; ++i) hashes[i] = hash(first + i);
}

}  // namespace

void DistinctCount::count(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    if (longest_.empty()) longest_.resize(std::size_t{1} << kBits);
    const auto count_hash = [&](std::uint64_t value) {
        std::uint8_t& longest = longest_[value >> (64U - kBits)];
        const auto zeros = static_cast<std::uint8_t>(std::countl_zero((value << kBits) | (1ULL << (kBits - 1))) + 1);
        if (zeros > longest) longest = zeros;
    };
    std::uint64_t hashes[kHashes];
    for (; end - begin >= kHashes; begin += kHashes) {
        hash_many(begin, hashes);
        for (const std::uint64_t value : hashes) count_hash(value);
    }
    for (; begin != end; ++begin) count_hash(hash(begin));
}

void DistinctCount::add(const DistinctCount& other) {
    count(other.begin_, other.end_);
    if (other.longest_.empty()) return;
    if (longest_.empty()) longest_.resize(other.longest_.size());
    for (std::size_t i = 0; i < longest_.size(); ++i) longest_[i] = std::max(longest_[i], other.longest_[i]);
}

double DistinctCount::estimate() const {
    if (begin_ != end_) {
        DistinctCount all;
        all.add(*this);
        return all.estimate();
    }
    if (longest_.empty()) return 0;
    const auto m = static_cast<double>(longest_.size());
    double sum = 0;
    std::size_t unused = 0;
    for (const std::uint8_t zeros : longest_) {
        sum += std::ldexp(1.0, -zeros);
        unused += zeros == 0 ? 1 : 0;
    }
    const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return raw <= 2.5 * m && unused > 0 ? m * std::log(m / static_cast<double>(unused)) : raw;
}

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
    distinct_lines.add(other.distinct_lines);
}

void DispatchCounts::add(const DispatchCounts& other) {
    for (std::size_t i = 0; i < executions.size(); ++i) {
        executions[i].hits += other.executions[i].hits;
        executions[i].lanes += other.executions[i].lanes;
    }
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i].add(other.patterns[i]);
}

void DispatchCounts::sum_up() {
    ExecutionCounts sum;
    for (ExecutionCounts& at : executions) {
        sum.hits += at.hits;
        sum.lanes += at.lanes;
        at = sum;
    }
    executions.pop_back();
}

void CountingObserver::other(PatternCounts& row, Known& known, const MemoryAccess& access) {
    switch (access.space) {
        case Space::lds:
            if (!known.conflicts) known.conflicts = std::make_unique<KnownConflicts>();
            lds = lds_cost(access, *known.conflicts);
            if (access.teams) known.teams.keep(access, lds);
            row.lds_cycles += static_cast<std::uint64_t>(lds.cycles);
            row.lds_conflicts += static_cast<std::uint64_t>(lds.conflicts);
            break;
        case Space::global: {
            const bool atomic = access.kind != AccessKind::load && access.kind != AccessKind::store;  // these ask which line a lane is in
            if (!atomic && !known.lines) known.lines = std::make_unique<KnownLines>();
            collect_lines(access, lines, atomic ? nullptr : known.lines.get());
            row.add(lines, static_cast<std::uint64_t>(std::popcount(access.lanes)), access.bytes);
            if (access.kind == AccessKind::load)
                for (int i = 0; i < lines.count; ++i) row.distinct_lines.add(lines.line[i]);
            if (!atomic) break;
            count_lines(row, access, lines);
            same_address = same_address_lanes(access, lines.index);
            row.same_address += static_cast<std::uint64_t>(same_address);
            break;
        }
        default: break;
    }
}

}  // namespace hipscope
