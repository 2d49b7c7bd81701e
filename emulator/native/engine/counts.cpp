// Adds up what accesses touched.
#include "engine/counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/widest.hpp"
#include "timing/history.hpp"
#include "timing/written_lines.hpp"

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

/// What was like the known access, and that is forgotten now.
void add_again(PatternCounts& row, const KnownTeams& teams) {
    row.accesses += teams.again;
    row.lanes += teams.again * kLanes;
    row.add(teams.cost, teams.again);
}
/// The same; these were counted as accesses already.
void add_again(PatternCounts& row, const KnownLines::Entry& known) {
    row.add(known.totals, static_cast<std::uint64_t>(std::popcount(known.at.lanes)), known.again);
}

std::uint64_t times(std::uint64_t count, double factor) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * factor));
}

constexpr std::size_t kHashes = 16;

/// Those of values that follow each other.
HIPSCOPE_WIDEST void hash_many(std::uint64_t first, std::uint64_t (&hashes)[kHashes]) {
    for (std::size_t i = 0; i < kHashes; ++i) hashes[i] = hash(first + i);
}

}  // namespace

void DistinctCount::add_range(std::uint64_t begin, std::uint64_t end) {
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
    if (other.longest_.empty()) return;
    if (longest_.empty()) longest_.resize(other.longest_.size());
    for (std::size_t i = 0; i < longest_.size(); ++i) longest_[i] = std::max(longest_[i], other.longest_[i]);
}

double DistinctCount::estimate() const {
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
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) of_kind[kind] += other.of_kind[kind];
    for (const auto& [line, count] : other.atomic_lines) count_line(*this, line, count);
    distinct_lines.add(other.distinct_lines);
}

void PatternCounts::scale(double factor) {
    for (std::uint64_t* count : {&accesses, &lanes, &lines_needed, &lines_used, &sectors, &l1_accesses, &l1_lookups, &lds_cycles,
                                 &lds_conflicts, &same_address})
        *count = times(*count, factor);
    for (std::uint64_t& count : of_kind) count = times(count, factor);
    for (auto& [line, count] : atomic_lines) count = times(count, factor);
    distinct_lines = {};
}

void DispatchCounts::scale(double factor) {
    for (ExecutionCounts& at : executions) at = {times(at.hits, factor), times(at.lanes, factor)};
    for (PatternCounts& row : patterns) row.scale(factor);
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

void CountingObserver::note_kind(PatternCounts& row, const MemoryAccess& access) const {
    if (access.lanes == 0 || (access.space != Space::global && access.space != Space::scalar)) return;
    const std::uint64_t address = access.at(0, static_cast<std::size_t>(std::countr_zero(access.lanes)));
    for (const KindRange& range : kinds_)
        if (address >= range.begin && address < range.end) ++row.of_kind[static_cast<std::size_t>(range.kind)];
}

void CountingObserver::other(PatternCounts& row, Known& known, const MemoryAccess& access) {
    row.accesses += 1;
    row.lanes += static_cast<std::uint64_t>(std::popcount(access.lanes));
    if (access.space == Space::global) return global(row, known, access);
    if (access.space != Space::lds) return;
    if (!known.conflicts) known.conflicts = std::make_unique<KnownConflicts>();
    lds_ = lds_cost(access, lds_rows_, *known.conflicts);
    row.add(lds_, 1);
    if (!access.teams) return;
    add_again(row, known.teams);
    known.teams.keep(access, lds_);
}

void CountingObserver::global(PatternCounts& row, Known& known, const MemoryAccess& access) {
    const bool atomic = access.kind != AccessKind::load && access.kind != AccessKind::store;
    like_ = nullptr;
    if (!atomic && access.lanes != 0) {
        if (!known.lines) known.lines = std::make_unique<KnownLines>();
        if (KnownLines::Entry* like = known.lines->find(access, moved_)) {
            like_ = like;
            ++like->again;
            const auto count = static_cast<unsigned>(like->totals.count);
            if (like->follow) {
                went_to(row, known, like->line[0] + moved_, like->line[0] + moved_ + count);
                return;
            }
            if (!known.recent) known.recent = std::make_unique<RecentLines>();
            for (unsigned i = 0; i < count; ++i) {  // a tile's rows, which others go to as well
                const std::uint64_t line = like->line[i] + moved_;
                if (!known.recent->again(line)) went_to(row, known, line, line + 1);
            }
            return;
        }
    }
    collect_lines(access, l1_block_bits_, lines_);
    row.add(lines_, static_cast<std::uint64_t>(std::popcount(access.lanes)), 1);
    for (int i = 0; i < lines_.count; ++i) went_to(row, known, lines_.line[i], lines_.line[i] + 1);
    if (atomic) {
        count_lines(row, access, lines_);
        row.same_address += static_cast<std::uint64_t>(same_address_lanes(access, lines_.index));
    } else if (access.lanes != 0 && lines_.count <= KnownLines::most_lines) {
        KnownLines::Entry& entry = known.lines->place_for(access);
        add_again(row, entry);
        KnownLines::keep(entry, access, lines_);
    }
}

/// The workgroups that a thread executes are not all that there are: those between them belong to the timed XCD, or to the others.
/// So waves that go through memory one after the other leave out some of it in even steps, and the host prefetches what is
/// behind the next one.
void CountingObserver::go_elsewhere(PatternCounts& row, Known& known, std::uint64_t begin, std::uint64_t end) {
    note_lines(row, known);
    const std::uint64_t step = begin - known.begin;
    if (step == known.step)
        for (std::uint64_t half = (begin + step) << 1U; half < (end + step) << 1U; ++half)
            __builtin_prefetch(reinterpret_cast<const void*>(half << kSectorBits));  // NOLINT
    known.step = step;
    known.begin = begin;
    known.end = end;
}

void CountingObserver::note_lines(PatternCounts& row, const Known& known) {
    if (known.begin == known.end) return;
    if (row.kind == AccessKind::load) row.distinct_lines.add_range(known.begin, known.end);
    if (history_ != nullptr) history_->mark_lines(known.begin, known.end);
    if (written_ != nullptr && row.kind != AccessKind::load) written_->mark(known.begin, known.end);
}

void CountingObserver::add_up() {
    for (std::size_t slot = 0; slot < known_.size(); ++slot) {
        PatternCounts& row = patterns_[slot];
        Known& known = known_[slot];
        note_lines(row, known);
        add_again(row, known.teams);
        if (known.lines)
            for (const KnownLines::Entry& entry : *known.lines) add_again(row, entry);
        if (!known.runs) continue;
        for (std::size_t place = 0; place < kRunPlaces; ++place) {
            const std::uint64_t times = (*known.runs)[place];
            if (times == 0) continue;
            lines_of_run(place * 4, row.bytes, lines_);
            row.add(lines_, kLanes, times);
            row.accesses += times;
            row.lanes += times * kLanes;
        }
    }
    known_.clear();
}

}  // namespace hipscope
