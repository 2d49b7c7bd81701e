// Shadows on their way between registers and memory, and stores of undefined values to global memory.
//
// LDS and private memory take undefined values silently: compilers spill and copy what they do not know to be unused. So
// does global memory where it may be the padding of a structure; any other undefined value that is stored there is reported.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/widest.hpp"
#include "sanitize/lanes.hpp"
#include "sanitize/uninitialised.hpp"

namespace hipscope::sanitize {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Whether all these lanes access the same offset of their private memory, as where a loop's counter is the index.
bool lanes_agree(const u64* address, u64 lanes) {
    if (lanes == 0) return false;
    const u64 first = address[std::countr_zero(lanes)];
    u64 other = 0;
    for (std::size_t i = 0; i < kLanes; ++i) other |= (address[i] ^ first) & (u64{0} - ((lanes >> i) & 1U));
    return other == 0;
}

/// A spill or a fixed stack slot: no VGPR in the address, which is the same in all lanes.
bool is_one_place(const Instruction& in) { return in.unit == Unit::scratch && in.source[0].kind != OperandKind::vgpr && in.source[0].kind != OperandKind::agpr; }

/// Names a word in the maps of origins. Private memory has one for each lane.
u64 key_of(Space space, u64 address, int lane) { return space == Space::scratch ? ((address & ~u64{3}) << 6U) + static_cast<u64>(lane) : address & ~u64{3}; }

u32 word_of(const u8* bits) {
    u32 word = 0;
    std::memcpy(&word, bits, 4);
    return word;
}

bool any_set(const u8* bits, u32 bytes) {
    u64 any = 0, next = 0;
    for (; bytes >= sizeof next; bytes -= sizeof next, bits += sizeof next) {
        std::memcpy(&next, bits, sizeof next);
        any |= next;
    }
    if (bytes == sizeof(u32)) return (any | word_of(bits)) != 0;
    for (; bytes != 0; --bytes, ++bits) any |= *bits;
    return any != 0;
}

using Cells [[gnu::may_alias]] = u32;

/// The bits of 64 words, one at each address, taken together.
HIPSCOPE_WIDEST u32 any_of_words(const Cells* cells, const u64* address) {
    u32 any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= cells[address[lane] / sizeof *cells];
    return any;
}

void clear(u8* bits, u32 bytes) {
    constexpr u32 defined = 0;
    if (bytes == sizeof defined) std::memcpy(bits, &defined, sizeof defined);  // by far the most frequent
    else std::memset(bits, 0, bytes);
}

/// How the undefined bits of a dword, or of a byte or short, look to who stores them.
enum class Looks : u8 { defined, undefined, padding, computed };

/// Padding follows a member: the first byte of an aligned dword is only padding when all four are.
Looks looks(const u8* bits, u32 bytes) {
    u32 undefined = 0;
    for (u32 i = 0; i < bytes; ++i) {
        if (bits[i] != 0 && bits[i] != 0xff) return Looks::computed;
        undefined += bits[i] != 0 ? 1U : 0U;
    }
    if (undefined == 0) return Looks::defined;
    if (undefined == bytes) return Looks::undefined;
    return bits[0] != 0 ? Looks::computed : Looks::padding;
}

}  // namespace

void Uninitialised::accessed(const Wave& wave, const Instruction& in, const Shape& shape) {
    shape_ = &shape;
    const Flow& f = flow(wave);
    if (f.kind != FlowKind::memory) return;
    WaveShadow& s = shadow(wave);
    const MemoryAccess& made = wave.access;
    const bool nothing = made.space == Space::none || made.lanes == 0;
    const bool atomic_made = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    if (!nothing && f.to_lds) return load_to_lds(wave, in);
    if (!nothing && made.kind == AccessKind::store) return store(wave, in, f, s);
    if (!nothing && atomic_made && made.space != Space::scalar) return atomic(wave, in, f, s);
    // Lanes that are out of a buffer's range load zero.
    if (!f.half)
        for (u32 n = 0; n < f.writes; ++n)
            for (u32 r = f.write[n].first; r < u32{f.write[n].first} + f.write[n].count; ++r) s.dirty[r] &= ~wave.exec();
    s.scalar_dirty.remove(f.scalar_write);
    if (nothing || made.kind != AccessKind::load) return;
    if (made.space == Space::scalar) scalar_load(wave, in, f, s);
    else load(wave, in, f, s);
}

/// True when all of LDS from the lowest address of the access to the highest has been seen to be defined.
bool Uninitialised::known_defined(u32 bytes) const { return shape_->span.lowest >= recent_->defined_from && shape_->span.highest + bytes <= recent_->defined_to; }

/// The same, after a look at it. False says nothing.
bool Uninitialised::lds_span_defined(u32 bytes) {
    constexpr u64 most = 4096;  // to look at
    GroupShadow& g = *recent_;
    const u64 first = shape_->span.lowest, end = shape_->span.highest + bytes;
    if (end - first > most || any_set(g.lds.data() + first, static_cast<u32>(end - first))) return false;
    const bool apart = end < g.defined_from || first > g.defined_to;
    g.defined_from = apart ? first : std::min(first, g.defined_from);
    g.defined_to = apart ? end : std::max(end, g.defined_to);
    return true;
}

/// True when all that the access touched is defined.
bool Uninitialised::defined(const Wave& wave, const Instruction& in, const WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const u32 bytes = made.bytes;
    if (made.space == Space::scratch) {
        const u64* address = made.address[0];
        if (is_one_place(in) || lanes_agree(address, made.lanes)) return s.scratch.defined(made.lanes, address[std::countr_zero(made.lanes)], bytes);
        for (u64 left = made.lanes; left != 0; left &= left - 1)
            if (!s.scratch.defined(left & (~left + 1), address[std::countr_zero(left)], bytes)) return false;
        return true;
    }
    const bool lds = made.space == Space::lds;
    if (lds && known_defined(bytes)) return true;
    const u8* cells = lds ? recent_->lds.data() : nullptr;
    if (shape_->pieces != 0) {
        for (std::size_t p = 0; p < shape_->pieces; ++p) {
            const Piece& piece = shape_->piece[p];
            if (lds ? any_set(cells + piece.address, piece.bytes) : !memory_.defined(piece.address, piece.bytes)) return false;
        }
        return true;
    }
    if (lds ? lds_span_defined(bytes) : memory_.defined_span(shape_->span, bytes)) return true;
    const bool words = lds && bytes == sizeof(u32);
    u32 any = 0;
    if (words && made.lanes == ~u64{0} && shape_->bits % sizeof(u32) == 0) {
        for (int which = 0; which < made.addresses; ++which) any |= any_of_words(reinterpret_cast<const Cells*>(cells), made.address[which]);  // NOLINT
        return any == 0;
    }
    for (int which = 0; which < made.addresses; ++which)
        for (u64 left = made.lanes; left != 0; left &= left - 1) {
            const u64 address = made.address[which][std::countr_zero(left)];
            if (words) any |= word_of(cells + address);
            else if (lds ? any_set(cells + address, bytes) : !memory_.defined(address, bytes)) return false;
        }
    return any == 0;
}

/// All that the access touched is defined from now on.
void Uninitialised::define(const Wave& wave, const Instruction& in, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const bool lds = made.space == Space::lds;
    if (lds && known_defined(made.bytes)) return;
    if (shape_->pieces != 0) {
        for (std::size_t p = 0; p < shape_->pieces; ++p) {
            const Piece& piece = shape_->piece[p];
            if (lds) std::memset(recent_->lds.data() + piece.address, 0, piece.bytes);
            else memory_.define(piece.address, piece.bytes);
        }
        return;
    }
    for (int which = 0; which < made.addresses; ++which) {
        const u64* address = made.address[which];
        if (lds) {
            for (u64 left = made.lanes; left != 0; left &= left - 1) clear(recent_->lds.data() + address[std::countr_zero(left)], made.bytes);
        } else if (made.space == Space::scratch) {
            if (is_one_place(in) || lanes_agree(address, made.lanes)) return s.scratch.define(made.lanes, address[std::countr_zero(made.lanes)], made.bytes);
            for (u64 left = made.lanes; left != 0; left &= left - 1) s.scratch.define(left & (~left + 1), address[std::countr_zero(left)], made.bytes);
        } else if (!memory_.defined_span(shape_->span, made.bytes)) {
            for (u64 left = made.lanes; left != 0; left &= left - 1) memory_.define(address[std::countr_zero(left)], made.bytes);
        }
    }
}

void Uninitialised::read_cell(const Wave& wave, WaveShadow& s, int lane, u64 address, u32 bytes, u8* out) {
    if (wave.access.space == Space::lds) std::memcpy(out, recent_->lds.data() + address, bytes);
    else if (wave.access.space == Space::scratch) s.scratch.get(lane, address, bytes, out);
    else memory_.get(address, bytes, out);
}

void Uninitialised::write_cell(const Wave& wave, WaveShadow& s, int lane, u64 address, u32 bytes, const u8* in) {
    if (wave.access.space == Space::lds) {
        std::memcpy(recent_->lds.data() + address, in, bytes);
        recent_->defined_to = recent_->defined_from;
    } else if (wave.access.space == Space::scratch) {
        s.scratch.set(lane, address, bytes, in);
    } else {
        memory_.set(address, bytes, in);
    }
}

Uninitialised::Origins& Uninitialised::origins_in(const Wave& wave, WaveShadow& s) {
    if (wave.access.space == Space::lds) return recent_->lds_origins;
    return wave.access.space == Space::scratch ? s.scratch_origins : memory_origins_;
}

/// Where the undefined bits that an access meets come from: what was stored there, else the access itself.
u32 Uninitialised::origin_of_access(const Wave& wave, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const Origins& stored = origins_in(wave, s);
    std::array<u8, 64> bits{};
    u64 lanes = 0;
    UndefinedOrigin origin;
    for (int which = 0; which < made.addresses; ++which)
        for (u64 left = made.lanes; left != 0; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const u64 address = made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane)), bit = u64{1} << static_cast<unsigned>(lane);
            read_cell(wave, s, lane, address, made.bytes, bits.data());
            u32 first = 0, end = made.bytes;
            while (first < end && bits[first] == 0) ++first;
            if (first == end || (lanes & bit) != 0) continue;
            while (bits[end - 1] == 0) --end;
            if (const auto known = stored.find(key_of(made.space, address + first, lane)); known != stored.end()) return known->second;
            if (lanes == 0) origin.bytes = end - first;
            lanes |= bit;
            origin.address[static_cast<std::size_t>(lane)] = address + first;
        }
    origin.space = made.space;
    origin.pc = wave.pc;
    origin.lanes = lanes;
    return number_of(wave, origin);
}

/// There is one for each instruction and wave of a workgroup: the latest.
u32 Uninitialised::number_of(const Wave& wave, UndefinedOrigin origin) {
    origin.group = wave.group->number;
    origin.wave = wave.id_in_group;
    const auto [number, fresh] = origin_numbers_.try_emplace(u64{origin.pc} << 8U | wave.id_in_group, static_cast<u32>(origins_.size()));
    if (fresh) origins_.push_back(origin);
    else origins_[number->second] = origin;
    return number->second;
}

void Uninitialised::load(const Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const u32 dwords = made.bytes < 4 || f.opaque ? in.destination[0].dwords : made.bytes / 4U;
    const bool all_defined = defined(wave, in, s);
    if (all_defined && !f.half) return;
    u64 dirty = 0;
    for (u32 row = 0; row < dwords * made.addresses; ++row) dirty |= s.dirty[in.destination[0].index + row];
    if (all_defined && (dirty & made.lanes) == 0) return;
    const u32 origin = all_defined ? 0 : origin_of_access(wave, s);
    const u32 keep = !f.half || f.opaque ? 0U : f.high ? 0xffffU : 0xffff0000U;
    std::array<u8, 16> bits{};
    for (int which = 0; which < made.addresses; ++which) {
        const u32 row = in.destination[0].index + static_cast<u32>(which) * dwords;
        for (u64 left = made.lanes; left != 0; left &= left - 1) {
            const int lane = std::countr_zero(left);
            if (!all_defined) read_cell(wave, s, lane, made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane)), made.bytes, bits.data());
            if (f.opaque) {
                const bool any = std::any_of(bits.begin(), bits.begin() + made.bytes, [](u8 b) { return b != 0; });
                for (u32 d = 0; d < dwords; ++d) s.set_lane(row + d, lane, any ? ~0U : 0U);
            } else if (made.bytes < 4) {
                u32 value = bits[0];
                if (made.bytes == 2) value |= u32{bits[1]} << 8U;
                const u32 sign = made.bytes == 1 ? 0x80U : 0x8000U;
                if (f.sign && (value & sign) != 0) value |= ~(sign - 1U);
                if (f.half) value = (s.lane(row, lane) & keep) | (f.high ? value << 16U : value & 0xffffU);
                s.set_lane(row, lane, value);
            } else {
                for (u32 d = 0; d < dwords; ++d) s.set_lane(row + d, lane, word_of(bits.data() + std::size_t{d} * 4));
            }
        }
        if (!all_defined)
            for (u32 d = 0; d < dwords; ++d) s.origin[row + d] = origin;
    }
}

void Uninitialised::scalar_load(const Wave& wave, const Instruction& in, const Flow&, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    if (defined(wave, in, s)) return;
    const u32 origin = origin_of_access(wave, s);
    std::array<u8, 64> bits{};
    memory_.get(made.address[0][0], made.bytes, bits.data());
    for (u32 d = 0; d < made.bytes / 4U; ++d) s.set_scalar(in.destination[0].index + d, word_of(bits.data() + std::size_t{d} * 4), origin);
}

/// The record is that of the load; lane i's slot in LDS follows from M0 (manual section 9.1.9).
void Uninitialised::load_to_lds(const Wave& wave, const Instruction& in) {
    const MemoryAccess& made = wave.access;
    WaveShadow& s = shadow(wave);
    const u64 base = (wave.sgpr[sreg::m0] & 0xffffU) + static_cast<u64>(std::int64_t{in.modifiers.offset});
    const u64 slot = made.bytes < 4 ? 4 : made.bytes;
    recent_->defined_to = recent_->defined_from;
    for (u64 left = wave.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        std::array<u8, 16> bits{};
        if (((made.lanes >> static_cast<unsigned>(lane)) & 1U) != 0) read_cell(wave, s, lane, made.at(0, static_cast<std::size_t>(lane)), made.bytes, bits.data());
        const u64 at = base + slot * static_cast<u64>(lane);
        if (at + slot <= recent_->lds.size()) std::memcpy(recent_->lds.data() + at, bits.data(), slot);
    }
}

/// Lanes of `lanes` whose data operands have undefined bits.
u64 Uninitialised::undefined_data(const Instruction& in, const Flow& f, const WaveShadow& s, u64 lanes) const {
    u64 any = 0;
    for (u32 n = 0; n < f.data_count; ++n) {
        const Operand& o = in.source[f.data[n]];
        if (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr)
            for (u32 d = 0; d < o.dwords; ++d) any |= s.dirty[o.index + d];
    }
    return any & lanes;
}

/// Those dwords of a store's data are no padding: they do get values. Their held reports are made.
void Uninitialised::seen_defined(u32 pc, unsigned dwords) {
    u8& seen = known_->stores[pc];
    const auto fresh = static_cast<unsigned>(dwords & ~unsigned{seen});
    if (fresh == 0) return;
    seen = static_cast<u8>(seen | fresh);
    for (unsigned d = 0; d < 4; ++d) {
        const auto held = ((fresh >> d) & 1U) != 0 ? padding_.find({pc, d}) : padding_.end();
        if (held == padding_.end()) continue;
        found_(held->second);
        padding_.erase(held);
    }
}

/// True when the undefined bits of this store have been reported.
bool Uninitialised::judge_store(const Wave& wave, int lane, u32 bytes, const u8* bits, u32 origin) {
    const Place at{wave.pc, wave.group->number, wave.id_in_group, lane};
    unsigned undefined = 0, known = 0;
    bool told = false;
    const u32 step = std::min<u32>(bytes, 4);
    for (u32 d = 0; d * step < bytes; ++d) {
        const Looks how = looks(bits + std::size_t{d} * step, step);
        if (how == Looks::undefined) undefined |= 1U << d;
        if (how == Looks::defined) known |= 1U << d;
        told |= how == Looks::computed;
    }
    seen_defined(wave.pc, known);
    const unsigned all = (1U << (bytes / step)) - 1U;
    told |= undefined == all || (undefined & known_->stores[wave.pc]) != 0;
    if (told) {
        found(UndefinedUse::store, at, bytes, origin);
        return true;
    }
    for (unsigned d = 0; d < 4; ++d)
        if (((undefined >> d) & 1U) != 0) padding_.try_emplace({wave.pc, d}, UndefinedFound{UndefinedUse::store, at, bytes, origins_[origin]});
    return false;
}

void Uninitialised::store(const Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const bool global = made.space == Space::global;
    if (made.space == Space::scalar) return define(wave, in, s);
    if (undefined_data(in, f, s, made.lanes) == 0) {
        define(wave, in, s);
        if (global && known_->stores[wave.pc] != 0xf) seen_defined(wave.pc, 0xf);
        return;
    }
    for (int which = 0; which < made.addresses && which < f.data_count; ++which) {
        const Operand& data = in.source[f.data[static_cast<std::size_t>(which)]];
        for (u64 left = made.lanes; left != 0; left &= left - 1) {
            const int lane = std::countr_zero(left);
            std::array<u8, 16> bits{};
            u32 origin = 0;
            for (u32 d = 0; d < data.dwords && d < 4; ++d) {
                u32 value = s.lane(data.index + d, lane);
                if (value != 0) origin = s.origin[data.index + d];
                if (f.opaque) {
                    if (value != 0) bits.fill(0xff);
                    continue;
                }
                if (f.high) value >>= 16U;
                std::memcpy(bits.data() + std::size_t{d} * 4, &value, 4);
            }
            const u64 address = made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane));
            const bool any = std::any_of(bits.begin(), bits.begin() + made.bytes, [](u8 b) { return b != 0; });
            if (global && judge_store(wave, lane, made.bytes, bits.data(), origin)) bits.fill(0);
            else if (any)
                for (u64 word = address & ~u64{3}; word < address + made.bytes; word += 4) origins_in(wave, s)[key_of(made.space, word, lane)] = origin;
            write_cell(wave, s, lane, address, made.bytes, bits.data());
        }
    }
}

/// What an atomic operation finds and what it brings are both used, unless it only exchanges them.
void Uninitialised::atomic(const Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    const MemoryAccess& made = wave.access;
    const u64 data = undefined_data(in, f, s, made.lanes);
    const bool found_defined = defined(wave, in, s);
    const Place at{wave.pc, wave.group->number, wave.id_in_group, -1};
    if (data != 0) {
        const int lane = std::countr_zero(data);
        u32 origin = 0;
        for (u32 n = 0; n < f.data_count; ++n)
            for (u32 d = 0; d < in.source[f.data[n]].dwords; ++d)
                if (s.lane(in.source[f.data[n]].index + d, lane) != 0) origin = s.origin[in.source[f.data[n]].index + d];
        found(UndefinedUse::atomic_operand, {at.pc, at.group, at.wave, lane}, made.bytes, origin);
    }
    for (u32 n = 0; n < f.writes; ++n)
        for (u32 r = f.write[n].first; r < u32{f.write[n].first} + f.write[n].count; ++r) s.dirty[r] &= ~wave.exec();
    if (!found_defined) {
        const u32 origin = origin_of_access(wave, s);
        const u64 lanes = origins_[origin].pc == at.pc ? origins_[origin].lanes : made.lanes;
        if (!f.swaps) found(UndefinedUse::atomic_memory, {at.pc, at.group, at.wave, std::countr_zero(lanes)}, made.bytes, origin);
        else if (f.writes != 0) load(wave, in, f, s);
        define(wave, in, s);
    }
}

}  // namespace hipscope::sanitize
