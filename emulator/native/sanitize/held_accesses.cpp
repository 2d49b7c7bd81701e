// What is kept of an access, and how pages are used.
#include "sanitize/held_accesses.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "core/widest.hpp"
#include "sanitize/reserve.hpp"

namespace hipscope::sanitize {
namespace {

/// Lanes that are off get the place of the lowest.
HIPSCOPE_WIDEST void offsets_of(const std::uint64_t* address, std::uint64_t lanes, std::uint64_t lowest, std::uint32_t* out) {
    if (lanes == ~std::uint64_t{0}) {
        for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<std::uint32_t>(address[lane] - lowest);
        return;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<std::uint32_t>(((lanes >> lane) & 1U) != 0 ? address[lane] - lowest : 0);
}

constexpr std::uint64_t few_pages = 32;
constexpr std::uint64_t word_bits = 64;

using MemoryWord [[gnu::may_alias]] = std::uint32_t;

HIPSCOPE_WIDEST void words_at(const MemoryWord* from, const std::uint32_t* offset, std::uint32_t* out) {
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = from[offset[lane] / sizeof *from];
}

/// Pages that an access uses, one after the other.
struct Used {
    std::uint64_t* page;
    std::uint64_t now, since;  // what they are to say, and the least that was said in this time
    bool alike = true, others = false, same = false;

    void at(std::uint64_t number) {
        std::uint64_t& usage = page[number];
        if (usage == now) {
            same = true;
        } else if (usage >= since) {
            alike = false;
            others |= static_cast<Usage>(usage & 3U) != Usage::mixed;
            usage = since + static_cast<std::uint64_t>(Usage::mixed);
        } else {
            usage = now;
        }
    }
};

}  // namespace

bool HeldAccesses::grow(std::size_t size) {
    std::size_t bytes = std::max(first_, bytes_);
    while (bytes < used_ + size) bytes *= 2;
    if (bytes > most_) return false;
    std::unique_ptr<std::byte[]> room(new std::byte[bytes]);  // NOLINT: written before it is read
    if (used_ != 0) std::memcpy(room.get(), room_.get(), used_);
    room_ = std::move(room);
    bytes_ = bytes;
    return true;
}

bool HeldAccesses::keep(const MemoryAccess& made, const Shape& shape, std::uint64_t bits, std::uint64_t content) {
    const std::uint64_t lowest = made.space == Space::lds ? 0 : shape.span.lowest;
    const bool loads = made.kind == AccessKind::load;
    const std::size_t pieces = made.kind == AccessKind::load || made.kind == AccessKind::store ? shape.pieces : 0;
    const std::size_t words = loads ? 0 : made.bytes / sizeof(std::uint32_t);
    std::size_t follows = made.addresses * (1 + words) * kLanes * sizeof(std::uint32_t);
    if (pieces != 0) {
        follows = pieces * sizeof(Piece);
        for (std::size_t p = 0; p < pieces && !loads; ++p) follows += shape.piece[p].bytes;
    }
    const std::size_t size = (sizeof(Held) + follows + alignof(Held) - 1) / alignof(Held) * alignof(Held);
    if (used_ + size > bytes_ && !grow(size)) return false;
    std::byte* const at = room_.get() + used_;
    // In place: a copy of what has just been written field by field would have to wait for it.
    ::new (static_cast<void*>(at)) Held{bits, made.lanes, lowest, static_cast<std::uint32_t>(size), static_cast<std::uint8_t>(pieces), made.bytes, made.addresses, made.kind};
    used_ += size;
    if (pieces != 0) {
        std::byte* out = at + sizeof(Held);
        std::memcpy(out, shape.piece.data(), pieces * sizeof(Piece));
        out += pieces * sizeof(Piece);
        for (std::size_t p = 0; p < pieces && !loads; ++p) {
            const Piece& piece = shape.piece[p];
            std::memcpy(out, reinterpret_cast<const void*>(content + piece.address), piece.bytes);  // NOLINT(performance-no-int-to-ptr)
            out += piece.bytes;
        }
        return true;
    }
    auto* offsets = reinterpret_cast<std::uint32_t*>(at + sizeof(Held));  // NOLINT
    auto* out = offsets + std::size_t{kLanes} * made.addresses;
    const auto* from = reinterpret_cast<const MemoryWord*>(content + lowest);  // NOLINT(performance-no-int-to-ptr)
    for (std::size_t which = 0; which < made.addresses; ++which, offsets += kLanes) {
        offsets_of(made.address[which], made.lanes, lowest, offsets);
        for (std::size_t word = 0; word < words; ++word, out += kLanes) words_at(from + word, offsets, out);
    }
    return true;
}

void StoredWords::start(std::uint32_t bytes) {
    clear();
    bits_.resize((bytes / sizeof(std::uint32_t) + word_bits - 1) / word_bits + 1);
}

bool StoredWords::add(const MemoryAccess& made, const Shape& shape) {
    std::uint64_t met = 0;
    const auto add_to = [&met](std::uint64_t& bits, std::uint64_t added) {
        met |= bits & added;
        bits |= added;
    };
    for (std::size_t p = 0; p < shape.pieces; ++p) {
        const std::uint64_t first = shape.piece[p].address / sizeof(std::uint32_t), end = first + shape.piece[p].bytes / sizeof(std::uint32_t);
        for (std::uint64_t at = first; at < end;) {
            const std::uint64_t from = at % word_bits, count = std::min(word_bits - from, end - at);
            add_to(bits_[at / word_bits], (~std::uint64_t{0} >> (word_bits - count)) << from);
            at += count;
        }
    }
    if (shape.pieces != 0) return met == 0;
    const std::uint64_t words = made.bytes / sizeof(std::uint32_t);
    for (int which = 0; which < made.addresses; ++which)
        for (std::uint64_t rest = made.lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t first = made.address[which][std::countr_zero(rest)] / sizeof(std::uint32_t);
            for (std::uint64_t at = first; at < first + words; ++at) add_to(bits_[at / word_bits], std::uint64_t{1} << (at % word_bits));
        }
    return met == 0;
}

Usages::Found Usages::use(const MemoryAccess& made, std::uint64_t lanes, const Shape& shape, Usage as, std::uint32_t base) const {
    const std::uint64_t since = std::uint64_t{base} << 2U;
    Used used{page, since + static_cast<std::uint64_t>(as), since};
    bool inside = true;
    const auto from_to = [&used, this](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t number = first >> page_bits; number <= last >> page_bits; ++number) used.at(number);
    };
    if (shape.pieces != 0) {
        for (std::size_t p = 0; p < shape.pieces; ++p) {
            const Piece& piece = shape.piece[p];
            const std::uint64_t first = piece.address - start;
            if (first <= bytes - piece.bytes) from_to(first, first + piece.bytes - 1);
            else inside = false;
        }
    } else if (shape.span.lowest >= start && shape.span.highest - shape.span.lowest < few_pages << page_bits && shape.span.highest - start <= bytes - made.bytes) {
        from_to(shape.span.lowest - start, shape.span.highest - start + made.bytes - 1);  // more than it uses does no harm
    } else {
        for (int which = 0; which < made.addresses; ++which)
            for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
                const std::uint64_t first = made.address[which][std::countr_zero(rest)] - start;
                if (first <= bytes - made.bytes) from_to(first, first + made.bytes - 1);
                else inside = false;
            }
    }
    return {inside && used.alike && as != Usage::mixed, used.others || (used.same && as != Usage::mixed)};
}

UsageTable::UsageTable() : page_(static_cast<std::uint64_t*>(reserve((Memory::reserved >> page_bits) * sizeof(std::uint64_t), "the search for races"))) {}
UsageTable::~UsageTable() { munmap(page_, (Memory::reserved >> page_bits) * sizeof(std::uint64_t)); }

}  // namespace hipscope::sanitize
