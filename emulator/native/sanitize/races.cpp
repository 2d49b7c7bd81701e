// Race detection: segments and clocks, the memory of each word, and the order of two accesses.
#include "sanitize/races.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/workgroup.hpp"

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

std::uint64_t pair_key(std::uint64_t high, std::uint64_t low) { return high * 0x9e3779b97f4a7c15ULL ^ low; }

/// Compare-and-swap, and what is built like it.
bool swaps(const Instruction& in) { return in.text.find("cmpswap") != std::string::npos || in.text.find("cmpst") != std::string::npos; }

/// The register row that holds the data of a store.
const std::uint32_t (*data_row(const Wave& wave, const Instruction& in, int which))[kLanes] {
    const bool buffer = in.text.starts_with("buffer_");
    return wave.vgpr + in.source[buffer ? 0 : 1 + which].index;
}

/// True when each lane's bytes lie behind those of the lanes before it, so that no two lanes meet on a word.
bool ascending(const std::uint64_t* address, std::uint64_t lanes, std::uint64_t bytes) {
    std::uint64_t end = 0;
    for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t start = address[std::countr_zero(rest)];
        if (start < end) return false;
        end = start + bytes;
    }
    return true;
}

}  // namespace

void join(Clocks& into, const Clocks& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// One instruction's access on its way through the checks.
struct Races::Access {
    GroupOrder& order;
    const Wave& wave;
    const Instruction& in;
    const MemoryAccess& made;
    const Found& found;
    std::uint64_t group;
    Trace mine;
    std::uint32_t base;   // segments before it cannot conflict
    bool load, store, lds, swap;
    std::uint64_t lanes;  // of a flat atomic operation only those in global memory
};

Races::Races() { recent_.fill({~0ULL, nullptr}); }
Races::~Races() = default;

void Races::begin(const std::shared_ptr<Disassembly>& code) {
    auto [entry, fresh] = known_roles_.try_emplace(code);
    if (fresh) entry->second = roles_of(code->program);
    roles_ = &entry->second;
    base_ += static_cast<std::uint32_t>(segments_.size());
    segments_.clear();
    fences_.clear();
    changes_.clear();
    clocks_.clear();
    grid_opened_ = 0;
    seeds_.clear();
}

void Races::next_segment(GroupOrder& order, std::uint64_t group, std::uint32_t wave) {
    WaveOrder& w = order.waves[wave];
    const auto fences = fences_.find(group);
    const auto releases = fences == fences_.end() ? 0U : static_cast<std::uint32_t>(fences->second.releases.size());
    w.segment = base_ + static_cast<std::uint32_t>(segments_.size());
    w.used = false;
    segments_.push_back({group, time_, ++w.clocks[wave], releases, static_cast<std::uint8_t>(wave)});
}

void Races::started(GroupOrder& order, std::uint64_t group, std::size_t waves, std::uint32_t lds_bytes) {
    order.waves.assign(waves, {});
    order.epoch = base_ + static_cast<std::uint32_t>(segments_.size());
    const std::size_t words = (lds_bytes + 3) / 4;
    order.lds_write.assign(words, 0);
    order.lds_read.assign(words, 0);
    order.lds_value.assign(words, 0);
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
        fences_[group].acquired = ++time_;
    } else if (role == Role::release) {
        fences_[group].releases.push_back(++time_);
        next_segment(order, group, wave);
    }
}

bool Races::ordered(const Access& a, Trace earlier, bool wrote) const {
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
    const auto writer = fences_.find(s.group);
    if (writer == fences_.end() || writer->second.releases.size() <= s.releases) return false;
    const auto reader = fences_.find(a.group);
    return reader != fences_.end() && reader->second.acquired > writer->second.releases[s.releases];
}

/// True when `reader` has looked at a word that the writer's workgroup changed atomically after what it did.
bool Races::met(std::uint64_t reader, const Segment& writer) const {
    const auto own = fences_.find(reader);
    if (own == fences_.end()) return false;
    for (const std::uint64_t word : own->second.watched) {
        const auto change = changes_.find(pair_key(writer.group, word));
        if (change != changes_.end() && change->second > writer.begun) return true;
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

/// An atomic operation on `word` by one wave: it learns what others knew when they changed it, and leaves what it knows.
void Races::synchronise(const Access& a, std::uint64_t word, bool reads, bool changes) {
    WaveOrder& w = a.order.waves[a.wave.id_in_group];
    ++time_;
    if (a.order.waves.size() > 1) {
        Clocks& known = clocks_[pair_key(a.group + 1, a.lds ? word : ~word)];
        if (reads) join(w.clocks, known);
        if (changes) join(known, w.clocks);
    }
    if (!a.lds) {
        if (reads) {
            GroupFences& own = fences_[a.group];
            if (own.watched.size() < kWatched) own.watched.push_back(word);
            else if (own.watched[own.next_watched] != word) own.watched[own.next_watched = (own.next_watched + 1) % kWatched] = word;
        }
        if (changes && (changes_.size() < kChanges || changes_.contains(pair_key(a.group, word)))) changes_[pair_key(a.group, word)] = time_;
    }
    if (changes && w.used) next_segment(a.order, a.group, a.wave.id_in_group);
}

Words Races::words_at(const Access& a, std::uint64_t address) {
    if (a.lds) {
        const std::size_t at = address >> 2U;
        return {&a.order.lds_write[at], &a.order.lds_read[at], &a.order.lds_value[at]};
    }
    const std::uint64_t number = address >> page_bits;
    auto& [held, page] = recent_[number % recent_.size()];
    if (held != number) {
        auto& known = pages_[number];
        if (!known) known = std::make_unique<Page>();
        held = number;
        page = known.get();
    }
    const std::size_t at = (address >> 2U) % page_words;
    return {&page->write[at], &page->read[at], &page->value[at]};
}

/// Words that follow each other, whole ones, word i by lane (first_word + i) / words per lane.
void Races::touch(const Access& a, const Words& words, std::size_t count, std::uint64_t address, std::uint32_t first_word) {
    const std::uint32_t segment = a.mine.segment(), base = a.base, per_lane = a.made.bytes / 4U;
    const auto foreign = [=](std::uint64_t bits) {
        const auto by = static_cast<std::uint32_t>(bits >> 32U);
        return static_cast<unsigned>(by >= base) & static_cast<unsigned>(by != segment);
    };
    unsigned suspect = 0;
    for (std::size_t i = 0; i < count; ++i) suspect |= foreign(words.write[i]);
    if (a.store)
        for (std::size_t i = 0; i < count; ++i) suspect |= foreign(words.read[i]);
    const auto* content = reinterpret_cast<const std::uint32_t*>(a.lds ? reinterpret_cast<std::uint64_t>(a.wave.lds) + address : address);  // NOLINT
    if (suspect != 0 || a.swap) [[unlikely]]
        for (std::size_t i = 0; i < count; ++i)
            touch_one(a, {words.write + i, words.read + i, words.value + i}, address + i * 4, static_cast<int>((first_word + i) / per_lane), 15, content[i]);
    const std::uint64_t bits = a.mine.with(0, 15).bits;
    const unsigned shift = static_cast<unsigned>(std::countr_zero(per_lane == 3 ? 1U : per_lane));
    if (a.store) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t lane = per_lane == 3 ? (first_word + i) / 3 : (first_word + i) >> shift;
            words.write[i] = bits | lane << 4U;
        }
        std::memset(words.read, 0, count * sizeof *words.read);
        std::memcpy(words.value, content, count * 4);
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t lane = per_lane == 3 ? (first_word + i) / 3 : (first_word + i) >> shift;
            const std::uint64_t keep = 0ULL - foreign(words.read[i]);
            words.read[i] = (words.read[i] & keep) | ((bits | lane << 4U) & ~keep);
        }
    }
}

/// One word of one lane: conflicts first, then the note.
void Races::touch_one(const Access& a, const Words& words, std::uint64_t address, int lane, std::uint32_t mask, std::uint32_t content) {
    const std::uint32_t segment = a.mine.segment();
    const auto foreign = [&](Trace t) { return t.segment() >= a.base && t.segment() != segment && (t.mask() & mask) != 0; };
    const Trace wrote{*words.write}, read{*words.read};
    if (a.swap && read.segment() == segment && read.scope() == scope::plain) seeds_.insert(read.pc());
    if (foreign(wrote) && !ordered(a, wrote, true) && !(a.store && !a.load && *words.value == content)) conflict(a, wrote, true, address, lane);
    else if (a.store && foreign(read) && !ordered(a, read, false)) conflict(a, read, false, address, lane);
    const std::uint64_t now = a.mine.with(static_cast<std::uint32_t>(lane), mask).bits;
    if (a.store) {
        *words.write = now;
        *words.read = 0;
        *words.value = content;
    } else if (!foreign(read)) {
        *words.read = now;
    }
}

void Races::row_of_words(const Access& a) {
    std::uint64_t address = a.made.address[0][0];
    std::size_t left = std::size_t{a.made.bytes} / 4 * kLanes;
    std::uint32_t first = 0;
    while (left != 0) {
        const std::size_t here = a.lds ? left : std::min(left, page_words - (address >> 2U) % page_words);
        touch(a, words_at(a, address), here, address, first);
        address += here * 4;
        first += static_cast<std::uint32_t>(here);
        left -= here;
    }
}

/// Whole aligned dwords of loads in any order: most meet no store of anybody else's. Gives the lanes that do.
std::uint64_t Races::quiet_loads(const Access& a) {
    const std::uint32_t segment = a.mine.segment(), base = a.base;
    const auto foreign = [=](std::uint64_t bits) {
        const auto by = static_cast<std::uint32_t>(bits >> 32U);
        return by >= base && by != segment;
    };
    std::uint64_t others = 0;
    for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const Words words = words_at(a, a.made.address[0][lane]);
        if (foreign(*words.write)) others |= rest & (~rest + 1);
        else if (!foreign(*words.read)) *words.read = a.mine.with(static_cast<std::uint32_t>(lane), 15).bits;
    }
    return others;
}

void Races::scattered_words(const Access& a) {
    struct Slot {
        std::uint64_t word;
        int lane;
        int part;
    };
    Slot seen[256];
    std::uint64_t lanes = a.lanes;
    if (!a.store && a.made.bytes == 4 && a.made.addresses == 1 && a.made.space != Space::scalar) {
        std::uint64_t low = 0;
        for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) low |= a.made.address[0][std::countr_zero(rest)];
        if ((low & 3U) == 0) lanes = quiet_loads(a);
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
                touch_one(a, words_at(a, word), word, lane, mask, content);
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

void Races::access(GroupOrder& order, const Wave& wave, const Instruction& in, const Found& found) {
    const MemoryAccess& made = wave.access;
    if (made.space == Space::scratch || wave.pc > Trace::max_pc) return;
    WaveOrder& w = order.waves[wave.id_in_group];
    const bool lds = made.space == Space::lds;
    const bool atomic = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    const std::uint32_t level = atomic_scope(in, made);
    if (lds && order.waves.size() == 1 && (atomic || made.kind == AccessKind::load)) return;  // nobody to race with
    Access a{order, wave, in, made, found, wave.group->number, {}, lds ? order.epoch : base_, made.kind == AccessKind::load || atomic,
             made.kind != AccessKind::load, lds, atomic && swaps(in), made.lanes};
    if (!lds && in.text.starts_with("flat_"))
        for (std::uint64_t rest = made.lanes; rest != 0; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            const std::uint64_t high = made.address[0][lane] >> 32U;
            if (high == aperture::shared_base >> 32U || high == aperture::private_base >> 32U) a.lanes &= ~(std::uint64_t{1} << static_cast<unsigned>(lane));
        }
    if (role(wave.pc) == Role::poll && made.kind == AccessKind::load && level == scope::plain) {
        // It waits for a store: whoever made it is before us from now on. Neither side of this meeting is a race.
        for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const Trace wrote{*words_at(a, made.address[0][std::countr_zero(rest)]).write};
            if (wrote.segment() < a.base || segment(wrote.segment()).group != a.group) continue;
            const std::uint32_t by = segment(wrote.segment()).wave;
            join(w.clocks, order.waves[by].clocks);
            next_segment(order, a.group, by);
        }
        if (lds) return;
    }
    const bool meets = (atomic || level != scope::plain) && made.space != Space::scalar;
    if (meets && a.load && made.kind != AccessKind::atomic) {
        std::uint64_t last = ~0ULL;
        for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t word = made.address[0][std::countr_zero(rest)];
            if (word != last) synchronise(a, word, true, false);
            last = word;
        }
    }
    a.mine = Trace::make(w.segment, wave.pc, level);
    w.used = true;
    const std::uint64_t* address = made.address[0];
    bool row = a.lanes == ~0ULL && made.addresses == 1 && made.bytes % 4 == 0 && (address[0] & 3U) == 0 && made.space != Space::scalar;
    if (row) {
        std::uint64_t difference = 0;
        for (std::uint64_t i = 0; i < kLanes; ++i) difference |= address[i] ^ (address[0] + i * made.bytes);
        row = difference == 0;
    }
    if (row) row_of_words(a);
    else scattered_words(a);
    if (meets && a.store) {
        std::uint64_t last = ~0ULL;
        for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t word = made.address[0][std::countr_zero(rest)];
            if (word != last) synchronise(a, word, false, true);
            last = word;
        }
    }
}

}  // namespace hipscope::sanitize
