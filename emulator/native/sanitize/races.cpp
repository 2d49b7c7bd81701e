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
constexpr std::size_t kChanges = 1U << 20U;  // remembered atomic changes; they only tell a stale read from a race

std::uint32_t atomic_scope(const Instruction& in, const MemoryAccess& made) {
    if (made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return) return scope::device;
    if (made.space != Space::global) return scope::plain;
    if (in.modifiers.sc1) return scope::device;
    return in.modifiers.sc0 ? scope::workgroup : scope::plain;
}

/// Compare-and-swap, and what is built like it.
bool swaps(const Instruction& in) { return in.text.find("cmpswap") != std::string::npos || in.text.find("cmpst") != std::string::npos; }

/// The register row that holds the data of a store.
const std::uint32_t (*data_row(const Wave& wave, const Instruction& in, int which))[kLanes] {
    const bool buffer = in.text.starts_with("buffer_");
    return wave.vgpr + in.source[buffer ? 0 : 1 + which].index;
}

/// What waves of one workgroup know: the first `waves` entries and the last.
void join(Clocks& into, const Clocks& from, std::size_t waves) {
    for (std::size_t i = 0; i < waves; ++i) into[i] = std::max(into[i], from[i]);
    into[kGrid] = std::max(into[kGrid], from[kGrid]);
}

/// A plain store that is worth more than the atomic operation of the same wave that follows in this segment: who comes
/// after the one comes after both, but only the store races with other waves' atomic operations.
bool outlasts(Trace store, std::uint64_t atomic) {
    return store.segment() == Trace{atomic}.segment() && store.scope() == scope::plain && store.mask() == 15;
}

/// Each of `lanes` has a whole word of its own: notes an access to those that meet nobody, and gives the lanes of the others.
/// `block_of` finds the notes of a word, `content` lies at the word with address 0.
template <bool store, bool atomic, class BlockOf>
std::uint64_t note_quiet(const std::uint64_t* address, std::uint64_t lanes, Foreign foreign, std::uint64_t bits, std::uint64_t content, BlockOf block_of) {
    // Atomic operations do not race with their like.
    const auto meets = [foreign](std::uint64_t by) { return foreign(by) && !(atomic && Trace{by}.scope() == scope::device); };
    std::uint64_t others = 0;
    for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t at = address[lane];
        WordBlock& block = *block_of(at);
        const std::size_t i = (at >> 2U) % WordBlock::words;
        const std::uint64_t wrote = block.write[i], read = block.read[i], now = bits | std::uint64_t{lane} << 4U;
        const bool met = meets(wrote) || (store && meets(read));
        others |= std::uint64_t{met} << lane;
        if (!store) {
            block.read[i] = met || foreign(read) ? read : now;
        } else if (!met) {
            if (!atomic || !outlasts(Trace{wrote}, now)) block.write[i] = now;
            block.read[i] = 0;
            block.value[i] = *reinterpret_cast<const std::uint32_t*>(content + at);  // NOLINT
        }
    }
    return others;
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

void Races::begin(const std::shared_ptr<Disassembly>& code) {
    auto [entry, fresh] = known_roles_.try_emplace(code);
    if (fresh) entry->second = roles_of(code->program);
    roles_ = &entry->second;
    base_ += static_cast<std::uint32_t>(segments_.size());
    segments_.clear();
    fences_.clear();
    changes_ = 0;
    grid_opened_ = 0;
    seeds_.clear();
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
    order.lds.resize((lds_bytes + sizeof WordBlock::value - 1) / sizeof WordBlock::value);  // what it holds is older than `epoch`
    for (std::uint32_t w = 0; w < waves; ++w) next_segment(order, group, w);
}

void Races::barrier(GroupOrder& order, std::uint64_t group) {
    Clocks all{};
    for (const WaveOrder& w : order.waves) join(all, w.clocks);
    order.epoch = base_ + static_cast<std::uint32_t>(segments_.size());
    for (std::uint32_t w = 0; w < order.waves.size(); ++w) {
        order.waves[w].clocks = all;
        next_segment(order, group, w);
    }
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
        if (s.wave == a.wave.id_in_group || a.order.waves[a.wave.id_in_group].clocks[s.wave] >= s.clock) return true;
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
    if (s.group != a.group) {
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
        const std::uint64_t word = a.made.address[0][std::countr_zero(rest)];
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

WordBlock* Races::block_at(const Access& a, std::uint64_t address) {
    return a.lds ? a.order.lds.data() + (address >> WordBlock::address_bits) : words_.block(address);
}

Word Races::word_at(const Access& a, std::uint64_t address) {
    WordBlock& block = *block_at(a, address);
    const std::size_t i = (address >> 2U) % WordBlock::words;
    return {block.write[i], block.read[i], block.value[i]};
}

/// Words that follow each other, whole ones, word i by lane (first_word + i) / words per lane.
void Races::touch(const Access& a, const WordRow& row, std::uint64_t address, std::uint32_t first_word) {
    const auto* content = reinterpret_cast<const std::uint32_t*>(a.lds ? reinterpret_cast<std::uint64_t>(a.wave.lds) + address : address);  // NOLINT
    const std::uint64_t bits = a.mine.with(0, 15).bits;
    const bool met = a.store ? a.swap || meets_others(row, a.foreign()) : note_loads(row, first_word, a.foreign(), bits);
    if (met) [[unlikely]]
        for (std::size_t i = 0; i < row.count; ++i)
            touch_one(a, word_at(a, address + i * 4), address + i * 4, static_cast<int>((first_word + i) / row.per_lane), 15, content[i]);
    if (a.store) note_stores(row, first_word, bits, content);
}

/// A plain store to LDS that the same wave made since the last barrier: waves meet there, at barriers above all.
bool Races::stored_in_epoch(const Access& a, Trace wrote) const {
    return a.lds && a.foreign()(wrote.bits) && wrote.scope() == scope::plain && wrote.mask() == 15 &&
           segment(wrote.segment()).wave == a.wave.id_in_group;
}

/// One word of one lane: conflicts first, then the note.
void Races::touch_one(const Access& a, Word word, std::uint64_t address, int lane, std::uint32_t mask, std::uint32_t content) {
    const auto foreign = [&](Trace t) { return a.foreign()(t.bits) && (t.mask() & mask) != 0; };
    const Trace wrote{word.write}, read{word.read};
    if (a.swap && read.segment() == a.mine.segment() && read.scope() == scope::plain) seeds_.insert(read.pc());
    if (foreign(wrote) && !ordered(a, wrote, true, address) && !(a.store && !a.load && word.value == content)) conflict(a, wrote, true, address, lane);
    else if (a.store && foreign(read) && !ordered(a, read, false, address)) conflict(a, read, false, address, lane);
    const std::uint64_t now = a.mine.with(static_cast<std::uint32_t>(lane), mask).bits;
    if (a.store) {
        if (!(a.load && (outlasts(wrote, now) || stored_in_epoch(a, wrote)))) word.write = now;
        word.read = 0;
        word.value = content;
    } else if (!foreign(read)) {
        word.read = now;
    }
}

void Races::row_of_words(const Access& a) {
    std::uint64_t address = a.made.address[0][0];
    std::size_t left = std::size_t{a.made.bytes} / 4 * (a.made.space == Space::scalar ? 1 : kLanes);
    const bool one_piece = a.lds || WordShadow::in_one_piece(address, left * 4);
    std::uint32_t first = 0;
    while (left != 0) {
        const std::size_t at = (address >> 2U) % WordBlock::words;
        const std::size_t here = one_piece ? left : std::min(left, WordBlock::words - at);
        touch(a, {block_at(a, address), at, here, a.made.bytes / 4U}, address, first);
        address += here * 4;
        first += static_cast<std::uint32_t>(here);
        left -= here;
    }
}

/// Whole aligned dwords in any order, each lane with one of its own: most meet nobody, or only atomic operations that do
/// not race with their like. Notes these, and gives the lanes of the others.
std::uint64_t Races::quiet_words(const Access& a) {
    const std::uint64_t* address = a.made.address[0];
    const std::uint64_t bits = a.mine.with(0, 15).bits, content = a.lds ? reinterpret_cast<std::uint64_t>(a.wave.lds) : 0;
    const auto note = [&](auto block_of) {
        if (!a.store) return note_quiet<false, false>(address, a.lanes, a.foreign(), bits, content, block_of);
        if (!a.load) return note_quiet<true, false>(address, a.lanes, a.foreign(), bits, content, block_of);
        return note_quiet<true, true>(address, a.lanes, a.foreign(), bits, content, block_of);
    };
    if (a.lds) return note([blocks = a.order.lds.data()](std::uint64_t at) { return blocks + (at >> WordBlock::address_bits); });
    return note([this](std::uint64_t at) { return words_.block(at); });
}

void Races::scattered_words(const Access& a) {
    struct Slot {
        std::uint64_t word;
        int lane;
        int part;
    };
    Slot seen[256];
    std::uint64_t lanes = a.lanes;
    if (!a.lds && a.made.space != Space::scalar)  // so that the words of all lanes are on their way at the same time
        for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t address = a.made.address[0][std::countr_zero(rest)];
            const Word word = word_at(a, address);
            __builtin_prefetch(&word.write, 1);
            __builtin_prefetch(&word.read, 1);
            if (a.store) __builtin_prefetch(&word.value, 1);
        }
    if (a.made.bytes == 4 && a.made.addresses == 1 && a.made.space != Space::scalar && !a.swap) {
        const bool apart = !a.store || a.load || ascending(a.made.address[0], lanes, 4);
        if ((a.shape.bits & 3U) == 0 && apart) lanes = quiet_words(a);
        if (lanes == 0) return;
    }
    const std::uint64_t limit = a.lds ? a.wave.lds_bytes : ~0ULL;
    for (int which = 0; which < a.made.addresses; ++which) {
        const bool compare = a.store && !a.load && a.made.bytes >= 4 && !ascending(a.made.address[which], lanes, a.made.bytes);
        if (compare) std::memset(seen, 0xff, sizeof seen);
        const std::uint32_t(*data)[kLanes] = compare ? data_row(a.wave, a.in, which) : nullptr;
        for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            const std::uint64_t start = a.made.address[which][lane], end = start + a.made.bytes;
            for (std::uint64_t word = start & ~std::uint64_t{3}; word < end; word += 4) {
                const auto low = static_cast<std::uint32_t>(start > word ? start - word : 0);
                const auto high = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - word, 4));
                const std::uint32_t mask = (1U << high) - (1U << low);
                std::uint32_t content = 0;
                const std::uint64_t from = a.lds ? reinterpret_cast<std::uint64_t>(a.wave.lds) + word : word;
                if (a.store && word + 4 <= limit) std::memcpy(&content, reinterpret_cast<const void*>(from), 4);  // NOLINT
                touch_one(a, word_at(a, word), word, lane, mask, content);
                if (!compare || (start & 3U) != 0) continue;
                // Lanes of one store that write different values to one word: which one stays is not defined.
                const auto part = static_cast<int>((word - start) / 4);
                std::size_t at = (word >> 2U) * 0x9e37U % 256;
                while (seen[at].word != ~0ULL && seen[at].word != word) at = (at + 1) % 256;
                if (seen[at].word == word && data[seen[at].part][seen[at].lane] != data[part][lane])
                    conflict(a, a.mine.with(static_cast<std::uint32_t>(seen[at].lane), 15), true, word, lane);
                if (seen[at].word == ~0ULL) seen[at] = {word, lane, part};
            }
        }
    }
}

void Races::access(GroupOrder& order, const Wave& wave, const Instruction& in, const Shape& shape, const Found& found) {
    const MemoryAccess& made = wave.access;
    if (made.space == Space::scratch || wave.pc > Trace::max_pc) return;
    WaveOrder& w = order.waves[wave.id_in_group];
    const bool lds = made.space == Space::lds;
    const bool atomic = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    const std::uint32_t level = atomic_scope(in, made);
    if (lds && order.waves.size() == 1 && (atomic || made.kind == AccessKind::load)) return;  // nobody to race with
    Access a{order, wave, in, made, found, wave.group->number, {}, lds ? order.epoch : base_, made.kind == AccessKind::load || atomic,
             made.kind != AccessKind::load, lds, atomic && swaps(in), made.lanes, shape};
    if (!lds && in.text.starts_with("flat_"))
        for (std::uint64_t rest = made.lanes; rest != 0; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            const std::uint64_t high = made.address[0][lane] >> 32U;
            if (high == aperture::shared_base >> 32U || high == aperture::private_base >> 32U) a.lanes &= ~(std::uint64_t{1} << static_cast<unsigned>(lane));
        }
    if (role(wave.pc) == Role::poll && made.kind == AccessKind::load && level == scope::plain) {
        // It waits for a store: whoever made it is before us from now on. Neither side of this meeting is a race.
        for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const Trace wrote{word_at(a, made.address[0][std::countr_zero(rest)]).write};
            if (wrote.segment() < a.base || segment(wrote.segment()).group != a.group) continue;
            const std::uint32_t by = segment(wrote.segment()).wave;
            join(w.clocks, order.waves[by].clocks);
            next_segment(order, a.group, by);
        }
        if (lds) return;
    }
    const bool meets = (atomic || level != scope::plain) && made.space != Space::scalar;
    if (meets && a.load && made.kind != AccessKind::atomic) synchronise(a, true, false);
    a.mine = Trace::make(w.segment, wave.pc, level);
    w.used = true;
    const bool row = made.space == Space::scalar ? !a.store : shape.row && !atomic && a.lanes == ~0ULL;
    if (row && made.addresses == 1 && made.bytes % 4 == 0 && (made.address[0][0] & 3U) == 0) row_of_words(a);
    else scattered_words(a);
    if (atomic && !lds && !slabs_.empty()) heap_operation(a);
    if (meets && a.store) synchronise(a, false, true);
}

}  // namespace hipscope::sanitize
