// Race detection: an access's way to the notes of its words. Pieces go as rows of words, others lane by lane.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/workgroup.hpp"
#include "sanitize/races_access.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::uint64_t most_apart = 1ULL << 32U;  // bytes between the lanes of an access that is held

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

/// A plain store that is worth more than the atomic operation of the same wave that follows in this segment: who comes
/// after the one comes after both, but only the store races with other waves' atomic operations.
bool outlasts(Trace store, std::uint64_t atomic) {
    return store.segment() == Trace{atomic}.segment() && store.scope() == scope::plain && store.mask() == 15;
}

/// One instruction's lanes that touch parts of one word are noted together.
std::uint64_t with_mask_of(std::uint64_t before, std::uint64_t now) { return ((before ^ now) >> 12U) == 0 ? now | (before & 15U) : now; }

/// A wave comes after the atomic operations that its own one found done, unless that returned no value. Then the one that
/// it overwrites in the notes is kept in place of a load: those of other waves are not ordered by it. `own`: by the same wave.
template <class Own>
[[gnu::always_inline]] inline std::uint64_t kept_after(std::uint64_t wrote, std::uint64_t read, bool returns, Foreign foreign, Own own) {
    if (returns) return 0;
    if (foreign(wrote) && Trace{wrote}.scope() == scope::device && !own(Trace{wrote})) return Trace{wrote}.kept().bits;
    return foreign(read) && Trace{read}.is_kept() ? read : 0;
}

/// Lanes with whole words, or with one part of a word each.
struct Scattered {
    const std::uint64_t* address;
    std::uint64_t lanes;
    std::uint32_t bytes;
    Foreign foreign;
    std::uint64_t bits;  // Trace of the access, but for lanes and mask
    bool returns;
};
struct Noted {
    std::uint64_t others = 0;  // lanes with a conflict, not noted
    bool twice = false;        // two lanes may have stored to one word
};

/// Notes those lanes of an access that meet no other. `one_word`: each has a whole one. `block_of` finds the notes of a word,
/// `content_of` what the access left there.
template <bool store, bool atomic, bool one_word, class BlockOf, class ContentOf, class Own>
Noted note_quiet(const Scattered& access, BlockOf block_of, ContentOf content_of, Own own) {
    const std::uint32_t words = one_word || access.bytes < 4 ? 1 : access.bytes / 4, part = one_word || access.bytes >= 4 ? 15 : (1U << access.bytes) - 1;
    const Foreign foreign = access.foreign;
    Noted noted;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t start = access.address[lane], mask = one_word ? part : std::uint64_t{part} << (start & 3U);
        const std::uint64_t now = access.bits | std::uint64_t{lane} << 4U | mask;
        const auto meets = [&](std::uint64_t by, bool as_read) {
            if (!foreign(by) || (by & mask) == 0) return false;
            if (atomic) return Trace{by}.scope() < scope::device;  // they do not race with their like
            return !as_read || store || Trace{by}.is_kept();
        };
        for (std::uint32_t k = 0; k < words; ++k) {
            const std::uint64_t at = start + std::uint64_t{k} * 4;
            const WordBlock block = block_of(at);
            const std::size_t i = (at >> 2U) % WordBlock::words;
            std::uint64_t* const writes = store ? block.writes() : nullptr;
            std::uint64_t* const reads = block.reads();
            const std::uint64_t wrote = store ? writes[i] : block.writer(i), read = reads[i];
            const bool met = meets(wrote, false) || meets(read, true);
            noted.others |= std::uint64_t{met} << lane;
            if (!store) {
                reads[i] = met || foreign(read) ? read : with_mask_of(read, now);
                continue;
            }
            if (!atomic) noted.twice |= ((wrote ^ now) >> 12U) == 0 && static_cast<unsigned>(Trace{wrote}.lane()) < lane;
            if (met) continue;
            if (!atomic || !outlasts(Trace{wrote}, now)) writes[i] = with_mask_of(wrote, now);
            reads[i] = atomic ? kept_after(wrote, read, access.returns, foreign, own) : 0;
            block.value[i] = content_of(at, lane, k);
        }
    }
    return noted;
}

/// Calls `row(words, address, before)` for rows of whole words of a piece, `before` of which come before the row, and
/// `part(first, end, lane)` where it starts or ends within a word.
template <class BlockOf, class Part, class Row>
void by_rows(const Piece& piece, std::uint32_t bytes, bool one_piece, BlockOf block_of, Part part, Row row) {
    const std::uint64_t end = piece.address + piece.bytes;
    const auto lane_at = [&](std::uint64_t address) {
        return piece.lane + (piece.shared || address == piece.address ? 0U : static_cast<std::uint32_t>(address - piece.address) / bytes);
    };
    std::uint64_t address = piece.address;
    if ((address & 3U) != 0) {
        const std::uint64_t next = std::min(end, (address | 3U) + 1);
        part(address, next, lane_at(address));
        address = next;
    }
    std::size_t left = (end - address) / 4;
    WordRow words{{}, 0, 0, lane_at(address), std::max(1U, bytes / 4), bytes < 4 ? 4 / bytes : 1U};
    for (std::uint32_t before = 0; left != 0;) {
        words.block = block_of(address);
        words.first = (address >> 2U) % WordBlock::words;
        words.count = one_piece ? left : std::min(left, WordBlock::words - words.first);
        row(words, address, before);
        address += words.count * 4;
        before += static_cast<std::uint32_t>(words.count);
        left -= words.count;
    }
    if (address < end) part(address, end, lane_at(address));
}

/// The bytes [first, end) of one word, as a mask.
std::uint32_t mask_of(std::uint64_t first, std::uint64_t end) {
    const std::uint64_t word = first & ~std::uint64_t{3};
    return (1U << (end - word)) - (1U << (first - word));
}

}  // namespace

void Races::prefetch(const MemoryAccess& made, const Shape& shape) const {
    if (made.space != Space::global || made.kind == AccessKind::load) return;  // LDS is near, and most loads are held
    for (std::size_t p = 0; p < shape.pieces; ++p) words_.prefetch(shape.piece[p].address);
}

/// Whether an access needs no notes for now. When it needs some, those of earlier ones that it may meet are made.
bool Races::hold(const Access& a) {
    const MemoryAccess& made = a.made;
    const std::uint64_t within = std::min<std::uint64_t>(made.bytes, 4) - 1;
    const bool whole_words = (a.shape.bits & within) == 0 && made.bytes != 3 && (!a.lds || a.wave.lds_bytes % 4 == 0);
    const bool all = a.lanes == made.lanes && a.shape.span.highest - a.shape.span.lowest < most_apart;
    Usage as = Usage::mixed;
    if (!a.store && all && (a.shape.pieces != 0 || whole_words)) as = Usage::loads;
    else if (a.store && !a.load && a.lds && all && whole_words && made.bytes >= 4 && a.shape.span.highest + made.bytes <= a.wave.lds_bytes) as = Usage::stores;
    else if (a.store && a.load && all && !a.swap && whole_words && made.bytes >= 4 && made.addresses == 1) as = Usage::atomics;
    const Usages usages = a.lds ? Usages{a.order.lds_usage.data(), kLdsPageBits, 0, a.wave.lds_bytes} : usage_.usages();
    HeldAccesses& held = a.lds ? a.order.lds_held : held_;
    const bool again = as == Usage::stores && !a.order.lds_stored.add(made, a.shape);
    const Usages::Found found = usages.use(made, a.lanes, a.shape, again ? Usage::mixed : as, a.base);
    WordBlocks* const lds = a.lds ? &a.order.lds : nullptr;
    if (!found.alone) {
        if (found.held) note_held(held, a.base, lds);
        return false;
    }
    if (held.keep(made, a.shape, a.mine.bits, a.content())) return true;
    note_held(held, a.base, lds);
    return false;
}

/// Notes all that was held, in the order in which it was made. None of it meets another access.
void Races::note_held(HeldAccesses& all, std::uint32_t base, WordBlocks* lds) {
    const auto block_of = [this, lds](std::uint64_t at) { return lds != nullptr ? lds->block(at) : words_.block(at); };
    all.give_up([&](const Held& held, const std::byte* follows) {
        const Trace mine{held.bits};
        const Foreign foreign{base, mine.segment()};
        const auto* left = reinterpret_cast<const std::uint32_t*>(follows + held.pieces * sizeof(Piece));  // NOLINT
        for (std::size_t p = 0; p < held.pieces; ++p) {
            Piece piece;
            std::memcpy(&piece, follows + p * sizeof piece, sizeof piece);
            const auto part = [&](std::uint64_t first, std::uint64_t end, std::uint32_t lane) {
                const WordBlock block = block_of(first);
                const std::uint32_t mask = mask_of(first, end);
                std::uint64_t& noted = block.reads()[(first >> 2U) % WordBlock::words];
                if (!foreign(noted) || (noted & mask) == 0) noted = with_mask_of(noted, mine.with(lane, mask).bits);
            };
            const std::uint64_t bits = mine.with(0, 15).bits;
            const auto row = [&](const WordRow& words, std::uint64_t, std::uint32_t before) {
                if (held.kind == AccessKind::load) note_loads(words, before, foreign, bits);
                else note_stores(words, before, bits, left + before);
            };
            by_rows(piece, held.bytes, true, block_of, part, row);
            left += piece.bytes / sizeof *left;
        }
        if (held.pieces != 0) return;
        const auto* offset = reinterpret_cast<const std::uint32_t*>(follows);  // NOLINT
        left = offset + std::size_t{kLanes} * held.addresses;
        const auto content_of = [&](std::uint64_t, unsigned lane, std::uint32_t word) { return left[std::size_t{kLanes} * word + lane]; };
        const auto own = [&](Trace t) { return is_own(mine, t); };
        std::uint64_t address[kLanes];
        for (unsigned which = 0; which < held.addresses; ++which) {
            for (unsigned lane = 0; lane < kLanes; ++lane) address[lane] = held.lowest + offset[kLanes * which + lane];
            const Scattered access{address, held.lanes, held.bytes, foreign, held.bits, held.kind == AccessKind::atomic_return};
            if (held.kind == AccessKind::load) note_quiet<false, false, false>(access, block_of, content_of, own);
            else if (held.kind == AccessKind::store) note_quiet<true, false, false>(access, block_of, content_of, own);
            else note_quiet<true, true, false>(access, block_of, content_of, own);
            left += std::size_t{kLanes} * (held.bytes / sizeof *left);
        }
    });
}

WordBlock Races::block_at(const Access& a, std::uint64_t address) {
    return a.lds ? a.order.lds.block(address) : words_.block(address);
}

Word Races::word_at(const Access& a, std::uint64_t address) {
    const WordBlock block = block_at(a, address);
    const std::size_t i = (address >> 2U) % WordBlock::words;
    return {block.writes()[i], block.reads()[i], block.value[i]};
}

/// Whether both were made by the same wave.
bool Races::is_own(Trace mine, Trace other) const {
    const Segment &one = segment(mine.segment()), &two = segment(other.segment());
    return one.group == two.group && one.wave == two.wave;
}

/// Words that follow each other, whole ones. `before`: words of the piece that come before the row.
void Races::touch(const Access& a, const WordRow& row, std::uint64_t address, std::uint32_t before) {
    const auto* content = reinterpret_cast<const std::uint32_t*>(a.content() + address);  // NOLINT
    const std::uint64_t bits = a.mine.with(0, 15).bits;
    const bool met = a.store ? a.swap || meets_others(row, a.foreign()) : note_loads(row, before, a.foreign(), bits);
    if (met) [[unlikely]]
        for (std::size_t i = 0; i < row.count; ++i) touch_one(a, word_at(a, address + i * 4), address + i * 4, static_cast<int>(row.lane_of(before + i)), 15, content[i]);
    if (a.store) note_stores(row, before, bits, content);
}

/// A plain store to LDS that the same wave made since the last barrier: waves meet there, at barriers above all.
bool Races::stored_in_epoch(const Access& a, Trace wrote) const {
    return a.lds && a.foreign()(wrote.bits) && wrote.scope() == scope::plain && wrote.mask() == 15 && is_own(a.mine, wrote);
}

/// One word of one lane: conflicts first, then the note.
void Races::touch_one(const Access& a, Word word, std::uint64_t address, int lane, std::uint32_t mask, std::uint32_t content) {
    const auto foreign = [&](Trace t) { return a.foreign()(t.bits) && (t.mask() & mask) != 0; };
    const Trace wrote{word.write}, noted{word.read};
    const bool kept = noted.is_kept();
    const Trace read = kept ? noted.given_back() : noted;
    if (a.swap && read.segment() == a.mine.segment() && read.scope() == scope::plain) seeds_.insert(read.pc());
    if (foreign(wrote) && !ordered(a, wrote, true, address) && !(a.store && !a.load && word.value == content)) conflict(a, wrote, true, address, lane);
    else if ((a.store || kept) && foreign(read) && !ordered(a, read, kept, address)) conflict(a, read, kept, address, lane);
    const std::uint64_t now = a.mine.with(static_cast<std::uint32_t>(lane), mask).bits;
    if (a.store) {
        const bool atomic = a.load;
        if (!(atomic && (outlasts(wrote, now) || stored_in_epoch(a, wrote)))) word.write = with_mask_of(wrote.bits, now);
        word.read = atomic ? kept_after(wrote.bits, noted.bits, a.returns(), a.foreign(), [&](Trace t) { return is_own(a.mine, t); }) : 0;
        word.value = content;
    } else if (kept || !foreign(read)) {
        word.read = with_mask_of(noted.bits, now);
    }
}

/// Some bytes of one word.
void Races::part_of_word(const Access& a, std::uint64_t first, std::uint64_t end, int lane) {
    const std::uint64_t word = first & ~std::uint64_t{3}, limit = a.lds ? a.wave.lds_bytes : ~0ULL;
    const std::uint32_t mask = mask_of(first, end);
    std::uint32_t content = 0;
    if (a.store && word + 4 <= limit) std::memcpy(&content, reinterpret_cast<const void*>(a.content() + word), 4);  // NOLINT
    touch_one(a, word_at(a, word), word, lane, mask, content);
}

void Races::piece_of_words(const Access& a, const Piece& piece) {
    const bool one_piece = a.lds || WordShadow::in_one_piece(piece.address, piece.bytes);
    const auto block_of = [&](std::uint64_t address) { return block_at(a, address); };
    const auto part = [&](std::uint64_t first, std::uint64_t end, std::uint32_t lane) { part_of_word(a, first, end, static_cast<int>(lane)); };
    const auto row = [&](const WordRow& words, std::uint64_t address, std::uint32_t before) { touch(a, words, address, before); };
    by_rows(piece, a.made.bytes, one_piece, block_of, part, row);
}

/// Lanes in any order, whose words are whole ones or hold them: most meet no other. Notes these, gives the lanes of the others.
std::uint64_t Races::quiet_words(const Access& a, int which, std::uint64_t lanes) {
    const Scattered access{a.made.address[which], lanes, a.made.bytes, a.foreign(), a.mine.bits, a.returns()};
    const auto own = [&](Trace t) { return is_own(a.mine, t); };
    const auto content_of = [start = a.content()](std::uint64_t at, unsigned, std::uint32_t) {
        return *reinterpret_cast<const std::uint32_t*>(start + (at & ~std::uint64_t{3}));  // NOLINT
    };
    const auto note_as = [&]<bool one_word>(auto block_of) {
        if (!a.store) return note_quiet<false, false, one_word>(access, block_of, content_of, own);
        if (!a.load) return note_quiet<true, false, one_word>(access, block_of, content_of, own);
        return note_quiet<true, true, one_word>(access, block_of, content_of, own);
    };
    const auto note = [&](auto block_of) {
        return a.made.bytes == 4 ? note_as.template operator()<true>(block_of) : note_as.template operator()<false>(block_of);
    };
    const Noted noted = a.lds ? note([first = a.order.lds.block(0)](std::uint64_t at) { return first.after(at >> WordBlock::address_bits); })
                              : note([this](std::uint64_t at) { return words_.block(at); });
    const bool store = a.store && !a.load && a.made.bytes >= 4;
    // Lanes with a conflict left no notes for those after them.
    if (store && (noted.twice || (noted.others != 0 && !ascending(access.address, lanes, a.made.bytes)))) compare_lanes(a, which);
    return noted.others;
}

/// Lanes of one store that write different values to one word: which one stays is not defined.
void Races::compare_lanes(const Access& a, int which) {
    struct Slot {
        std::uint64_t word;
        int lane;
        int part;
    };
    Slot seen[512];
    std::memset(seen, 0xff, sizeof seen);
    const std::uint32_t(*data)[kLanes] = data_row(a.wave, a.in, which);
    for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const std::uint64_t start = a.made.address[which][lane];
        if ((start & 3U) != 0) continue;
        for (int part = 0; part < a.made.bytes / 4; ++part) {
            const std::uint64_t word = start + static_cast<std::uint64_t>(part) * 4;
            std::size_t at = (word >> 2U) * 0x9e37U % std::size(seen);
            while (seen[at].word != ~0ULL && seen[at].word != word) at = (at + 1) % std::size(seen);
            if (seen[at].word == word && data[seen[at].part][seen[at].lane] != data[part][lane])
                conflict(a, a.mine.with(static_cast<std::uint32_t>(seen[at].lane), 15), true, word, lane);
            if (seen[at].word == ~0ULL) seen[at] = {word, lane, part};
        }
    }
}

void Races::scattered_words(const Access& a) {
    if (!a.lds)  // so that the words of all lanes are on their way at the same time
        for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t address = a.made.address[0][std::countr_zero(rest)];
            const WordBlock block = words_.block(address);
            const std::size_t i = (address >> 2U) % WordBlock::words;
            __builtin_prefetch(block.head, 1);
            __builtin_prefetch(block.traces->write + i, 1);
            __builtin_prefetch(block.traces->read + i, 1);
            if (a.store) __builtin_prefetch(block.value, 1);
        }
    const std::uint64_t within = std::min<std::uint64_t>(a.made.bytes, 4) - 1;
    const bool quiet = !a.swap && a.made.bytes != 3 && (!a.lds || a.wave.lds_bytes % 4 == 0);
    for (int which = 0; which < a.made.addresses; ++which) {
        std::uint64_t lanes = a.lanes;
        if (quiet && (a.shape.bits & within) == 0) lanes = quiet_words(a, which, lanes);
        else if (a.store && !a.load && a.made.bytes >= 4 && !ascending(a.made.address[which], lanes, a.made.bytes)) compare_lanes(a, which);
        for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            const std::uint64_t start = a.made.address[which][lane], end = start + a.made.bytes;
            for (std::uint64_t word = start & ~std::uint64_t{3}; word < end; word += 4) part_of_word(a, std::max(start, word), std::min(end, word + 4), lane);
        }
    }
}

/// The lanes of a flat access that do not go to global memory.
std::uint64_t lanes_in_apertures(const MemoryAccess& made) {
    std::uint64_t found = 0;
    for (std::uint64_t rest = made.lanes; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const std::uint64_t high = made.address[0][lane] >> 32U;
        if (high == aperture::shared_base >> 32U || high == aperture::private_base >> 32U) found |= std::uint64_t{1} << static_cast<unsigned>(lane);
    }
    return found;
}

/// A load that waits for a store: the storing wave is before this one from now on. Neither side of this meeting is a race.
void Races::follow_stores(const Access& a) {
    GroupOrder& order = a.order;
    if (a.lds) note_held(order.lds_held, order.epoch, &order.lds);
    else note_held(held_, base_, nullptr);
    WaveOrder& w = order.waves[a.wave.id_in_group];
    for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const Trace wrote{word_at(a, a.made.at(0, static_cast<std::size_t>(std::countr_zero(rest)))).write};
        if (wrote.segment() < a.base || segment(wrote.segment()).group != a.group) continue;
        const std::uint32_t by = segment(wrote.segment()).wave;
        join(w.clocks, order.waves[by].clocks);
        next_segment(order, a.group, by);
    }
}

void Races::access(GroupOrder& order, const Wave& wave, const Instruction& in, const Shape& shape, const Found& found) {
    const MemoryAccess& made = wave.access;
    if (made.space == Space::scratch || wave.pc > Trace::max_pc) return;
    WaveOrder& w = order.waves[wave.id_in_group];
    const bool lds = made.space == Space::lds;
    const bool atomic = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    const std::uint32_t level = atomic_scope(in, made);
    if (lds && order.waves.size() == 1 && (atomic || made.kind == AccessKind::load)) return;  // no other wave to race with
    if (lds && bare_) note_in_flight(order, wave);
    Access a{order, wave, in, made, found, wave.group->number, {}, lds ? order.epoch : base_, made.kind == AccessKind::load || atomic,
             made.kind != AccessKind::load, lds, atomic && swaps(in), made.lanes, shape};
    if (!lds && in.text.starts_with("flat_")) a.lanes &= ~lanes_in_apertures(made);
    if (role(wave.pc) == Role::poll && made.kind == AccessKind::load && level == scope::plain) {
        follow_stores(a);
        if (lds) return;
    }
    const bool meets = learns_ && (atomic || level != scope::plain) && made.space != Space::scalar;
    if (meets && a.load && made.kind != AccessKind::atomic) synchronise(a, true, false);
    a.mine = Trace::make(w.segment, wave.pc, level);
    w.used = true;
    if (!hold(a)) {
        if (shape.pieces == 0 || atomic || a.lanes != made.lanes) scattered_words(a);
        else
            for (std::size_t p = 0; p < shape.pieces; ++p) piece_of_words(a, shape.piece[p]);
    }
    if (atomic && !lds && !slabs_.empty()) heap_operation(a);
    if (meets && a.store) synchronise(a, false, true);
}

}  // namespace hipscope::sanitize
