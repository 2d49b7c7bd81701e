// Race detection: segments and clocks, the memory of each word, and the order of two accesses.
#include "sanitize/races.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/workgroup.hpp"
#include "sanitize/races_access.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::size_t kWatched = 64;       // words that a workgroup is remembered to have read atomically
constexpr std::size_t kChanges = 1U << 20U;  // remembered atomic changes; they only separate a stale read from a race

/// What waves of one workgroup know: the first `waves` entries and the last.
void join(Clocks& into, const Clocks& from, std::size_t waves) {
    for (std::size_t i = 0; i < waves; ++i) into[i] = std::max(into[i], from[i]);
    into[kGrid] = std::max(into[kGrid], from[kGrid]);
}

/// Whether an instruction shows its wave the results of other waves' atomic operations.
bool learns(const Instruction& in) {
    if (in.unit == Unit::vmem_atomic) return in.modifiers.sc0;
    if (in.unit == Unit::vmem_load) return in.modifiers.sc0 || in.modifiers.sc1;
    const auto is = [&](const char* name) { return in.text.starts_with(name); };
    return in.unit == Unit::lds && in.destinations != 0 && !is("ds_read") && !is("ds_bpermute") && !is("ds_permute") && !is("ds_swizzle");
}

/// Whether a wave may reach a barrier of the code before it has waited for what it asked of LDS: a compiler puts the wait
/// that belongs to __syncthreads right before it, or leaves it out where nothing can be in flight.
bool has_bare_barrier(std::span<const Instruction> code) {
    constexpr std::size_t kBack = 64;
    for (std::size_t at = 0; at < code.size(); ++at) {
        if (code[at].unit != Unit::barrier) continue;
        bool waited = false;
        for (std::size_t back = 1; back <= std::min(at, kBack) && !waited; ++back) {
            const Instruction& before = code[at - back];
            if (before.unit == Unit::lds || before.unit == Unit::branch) break;
            waited = before.unit == Unit::waitcnt && (before.target >> 8U & 15U) != 15;
        }
        if (!waited) return true;
    }
    return false;
}

}  // namespace

void join(Clocks& into, const Clocks& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void AtomicWords::clear() {
    known_.clear();
    std::fill(slots_.begin(), slots_.end(), 0);
}

void AtomicWords::grow() {
    slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), 0);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots_.size()));
    for (std::size_t i = 0; i < known_.size(); ++i) {
        std::size_t slot = slot_of(known_[i].word);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
}

AtomicWords::Known& AtomicWords::at(std::uint64_t word) {
    if (2 * known_.size() >= slots_.size()) grow();
    std::size_t slot = slot_of(word);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
        if (known_[slots_[slot] - 1].word == word) return known_[slots_[slot] - 1];
    known_.push_back({word, 0, none, {}});
    slots_[slot] = static_cast<std::uint32_t>(known_.size());
    return known_.back();
}

Races::Races() = default;
Races::~Races() = default;

void Races::begin(const Launch& launch) {
    const std::shared_ptr<Disassembly>& code = launch.object->code;
    auto [entry, fresh] = known_roles_.try_emplace(code);
    if (fresh) entry->second = roles_of(code->program);
    roles_ = &entry->second;
    bare_ = has_bare_barrier(code_of(launch));
    learns_ = std::ranges::any_of(code_of(launch), learns);
    base_ += static_cast<std::uint32_t>(segments_.size());
    segments_.clear();
    fences_.clear();
    changes_ = 0;
    grid_opened_ = 0;
    seeds_.clear();
    held_.clear();
}

void Races::next_segment(GroupOrder& order, std::uint64_t group, std::uint32_t wave) {
    WaveOrder& w = order.waves[wave];
    const auto releases = order.fences == nullptr ? 0U : static_cast<std::uint32_t>(order.fences->releases.size());
    w.segment = base_ + static_cast<std::uint32_t>(segments_.size());
    w.used = false;
    segments_.push_back({group, time_, ++w.clocks[wave], releases, static_cast<std::uint8_t>(wave)});
}

void Races::started(GroupOrder& order, std::uint64_t group, std::size_t waves, std::uint32_t lds_bytes) {
    order.waves.assign(waves, {});
    order.fences = nullptr;
    order.atomics.clear();
    order.epoch = base_ + static_cast<std::uint32_t>(segments_.size());
    order.lds.resize((lds_bytes >> WordBlock::address_bits) + 1);  // what it holds is older than `epoch`
    order.lds_usage.resize((lds_bytes >> kLdsPageBits) + 1);       // the same
    order.lds_held.clear();
    order.lds_stored.start(lds_bytes);
    for (std::uint32_t w = 0; w < waves; ++w) next_segment(order, group, w);
}

void Races::barrier(GroupOrder& order, const Workgroup& group) {
    Clocks all{};
    for (const WaveOrder& w : order.waves) join(all, w.clocks);
    if (!bare_ || !leave_in_flight(order, group)) {
        order.epoch = base_ + static_cast<std::uint32_t>(segments_.size());
        order.lds_held.clear();
        order.lds_stored.clear();
    }
    for (std::uint32_t w = 0; w < order.waves.size(); ++w) {
        order.waves[w].clocks = all;
        next_segment(order, group.number, w);
    }
}

/// An access to LDS that its wave has not waited for yet. Those that it has waited for lie in segments of their own.
void Races::note_in_flight(GroupOrder& order, const Wave& wave) {
    WaveOrder& w = order.waves[wave.id_in_group];
    if (w.in_flight == 0 || w.waits != wave.lgkm_waits) {
        if (w.used) next_segment(order, wave.group->number, wave.id_in_group);
        w.in_flight = w.clocks[wave.id_in_group];
    }
    w.waits = wave.lgkm_waits;
}

/// Takes note, at a barrier, of what waves have not waited for; false when they have waited for all.
bool Races::leave_in_flight(GroupOrder& order, const Workgroup& group) const {
    bool any = false;
    for (std::size_t i = 0; i < order.waves.size(); ++i) {
        WaveOrder& w = order.waves[i];
        const bool waited = w.in_flight == 0 || w.waits != group.waves[i].lgkm_waits || group.state[i] == WaveState::done;
        if (waited) w.in_flight = 0;
        w.stuck_from = w.in_flight;
        w.stuck_to = waited ? 0 : w.clocks[i];
        any |= !waited;
    }
    return any;
}

bool Races::is_in_flight(const Access& a, const Segment& earlier) {
    const WaveOrder& by = a.order.waves[earlier.wave];
    return a.lds && by.stuck_from != 0 && by.stuck_from <= earlier.clock && earlier.clock <= by.stuck_to;
}

void Races::fence(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role) {
    if (role == Role::acquire) {
        fences_of(order, group).acquired = ++time_;
    } else if (role == Role::release) {
        fences_of(order, group).releases.push_back(++time_);
        next_segment(order, group, wave);
    }
}

bool Races::ordered(const Access& a, Trace earlier, bool wrote, std::uint64_t address) const {
    const Segment& s = segment(earlier.segment());
    const std::uint32_t mine = a.mine.scope();
    if (s.group == a.group) {
        if (s.wave == a.wave.id_in_group) return true;
        if (a.order.waves[a.wave.id_in_group].clocks[s.wave] >= s.clock && !is_in_flight(a, s)) return true;
        if (earlier.scope() != scope::plain && mine != scope::plain) return true;
    } else if (earlier.scope() == scope::device && mine == scope::device) {
        return true;
    }
    const Arrival* met = arrival_between(s, a.order.waves[a.wave.id_in_group].clocks);
    if (met != nullptr && (!wrote || grid_fenced(*met, s, a.group))) return true;
    const GroupFences* reader = a.order.fences;
    const auto writer = fences_.find(s.group);
    if (reader == nullptr || writer == fences_.end()) return false;
    if (handed_on(writer->second, s, *reader, address)) return true;
    return writer->second.releases.size() > s.releases && reader->acquired > writer->second.releases[s.releases];
}

/// True when `reader` has looked at a word that the writer's workgroup changed atomically after what it did.
bool Races::met(std::uint64_t reader, const Segment& writer) {
    const auto own = fences_.find(reader);
    const auto other = fences_.find(writer.group);
    if (own == fences_.end() || other == fences_.end()) return false;
    const auto& changes = other->second.changes;
    auto& by_word = other->second.change_of;
    for (std::size_t i = by_word.size(); i < changes.size(); ++i) by_word.emplace(changes[i].first, static_cast<std::uint32_t>(i));
    for (const std::uint64_t word : own->second.watched) {
        const auto change = by_word.find(word);
        if (change != by_word.end() && changes[change->second].second > writer.begun) return true;
    }
    return false;
}

void Races::conflict(const Access& a, Trace earlier, bool wrote, std::uint64_t address, int lane) {
    const Segment& s = segment(earlier.segment());
    Conflict c;
    c.first = earlier;
    c.by = s;
    c.address = address;
    c.bytes = a.made.bytes;
    c.lane = lane;
    c.wrote_first = wrote;
    c.writes = a.store;
    if (a.load && a.store && !wrote && earlier.scope() == scope::plain) c.seed = earlier.pc();
    if (a.load && !a.store && wrote && earlier.scope() == scope::device && a.mine.scope() == scope::plain) c.seed = a.mine.pc();
    if (s.group == a.group) {
        c.in_flight = a.order.waves[a.wave.id_in_group].clocks[s.wave] >= s.clock && is_in_flight(a, s);
    } else {
        const bool grid = arrival_between(s, a.order.waves[a.wave.id_in_group].clocks) != nullptr;
        c.synchronised = wrote && !a.store && (grid || met(a.group, s));
        const auto writer = fences_.find(s.group);
        c.released = writer != fences_.end() && writer->second.releases.size() > s.releases;
    }
    a.found(c);
}

/// Atomic operations of one wave: it learns what others knew when they changed the words, and leaves what it knows.
void Races::synchronise(const Access& a, bool reads, bool changes) {
    WaveOrder& w = a.order.waves[a.wave.id_in_group];
    ++time_;
    std::uint64_t last = ~0ULL;
    for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t word = a.made.at(0, static_cast<std::size_t>(std::countr_zero(rest)));
        if (word != last) synchronise_on(a, word, reads, changes);
        last = word;
    }
    if (changes && w.used) next_segment(a.order, a.group, a.wave.id_in_group);
}

void Races::synchronise_on(const Access& a, std::uint64_t word, bool reads, bool changes) {
    WaveOrder& w = a.order.waves[a.wave.id_in_group];
    const std::size_t waves = a.order.waves.size();
    const bool alone = waves == 1;
    if (!a.lds && reads) {
        GroupFences& own = fences_of(a.order, a.group);
        if (own.watched.size() < kWatched) own.watched.push_back(word);
        else if (own.watched[own.next_watched] != word) own.watched[own.next_watched = (own.next_watched + 1) % kWatched] = word;
    }
    if (!alone || (!a.lds && changes)) {
        AtomicWords::Known& known = a.order.atomics.at(a.lds ? word : ~word);
        if (known.met == time_) return;  // by another lane
        known.met = time_;
        if (!alone && reads) join(w.clocks, known.clocks, waves);
        if (!alone && changes) join(known.clocks, w.clocks, waves);
        if (!a.lds && changes) {
            auto& all = fences_of(a.order, a.group).changes;
            if (known.change != AtomicWords::none) {
                all[known.change].second = time_;
            } else if (changes_ < kChanges) {
                ++changes_;
                known.change = static_cast<std::uint32_t>(all.size());
                all.emplace_back(word, time_);
            }
        }
    }
}

}  // namespace hipscope::sanitize
