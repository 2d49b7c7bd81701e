// Typed buffer loads and stores: buffer_load/store_format_* take the format from the descriptor, tbuffer_* (MTBUF) from the
// instruction (manual section 9.1.6). Components that a format lacks read as 0, 0, 0 and one.
#include "isa/buffer.hpp"
#include "isa/families.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

enum Number : u32 { unorm, snorm, uscaled, sscaled, uint_number, sint_number, float_number = 7 };

/// Bits of each component, x first; x is in the lowest bits.
struct Layout {
    u32 components;
    u32 bits[4];
};
constexpr Layout layouts[16] = {
    {0, {}}, {1, {8}}, {1, {16}}, {2, {8, 8}}, {1, {32}}, {2, {16, 16}}, {3, {11, 11, 10}}, {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}}, {4, {10, 10, 10, 2}}, {4, {8, 8, 8, 8}}, {2, {32, 32}}, {4, {16, 16, 16, 16}}, {3, {32, 32, 32}}, {4, {32, 32, 32, 32}}, {0, {}},
};
constexpr u32 total_bits(const Layout& l) { return l.bits[0] + l.bits[1] + l.bits[2] + l.bits[3]; }

bool integral(u32 number) { return number == uint_number || number == sint_number; }
i32 sign_extended(u32 value, u32 width) { return static_cast<i32>(value << (32U - width)) >> (32U - width); }

/// 10- and 11-bit floats have five exponent bits and no sign: a half without its lowest mantissa bits.
f32 small_float(u32 value, u32 width) { return widen(f16{static_cast<u16>(value << (15U - width))}); }

/// The 32-bit result of one component: a float's bits, or an integer.
u32 from_format(u32 value, u32 width, u32 number) {
    const f32 most_signed = static_cast<f32>((u64{1} << (width - 1)) - 1), most = static_cast<f32>((u64{1} << width) - 1);
    switch (number) {
        case unorm: return bits<u32>(static_cast<f32>(value) / most);
        case snorm: return bits<u32>(std::fmax(static_cast<f32>(sign_extended(value, width)) / most_signed, -1.0F));
        case uscaled: return bits<u32>(static_cast<f32>(value));
        case sscaled: return bits<u32>(static_cast<f32>(sign_extended(value, width)));
        case sint_number: return static_cast<u32>(sign_extended(value, width));
        case float_number: return width == 32 ? value : width == 16 ? bits<u32>(widen(f16{static_cast<u16>(value)})) : bits<u32>(small_float(value, width));
        default: return value;
    }
}
u32 to_format(u32 value, u32 width, u32 number) {
    const f32 x = bits<f32>(value);
    const auto scaled = [&](f32 low, f32 high, f32 by) { return is_nan(x) ? 0 : static_cast<i64>(round_even(std::fmin(std::fmax(x, low), high) * by)); };
    const f32 most_signed = static_cast<f32>((u64{1} << (width - 1)) - 1), most = static_cast<f32>((u64{1} << width) - 1);
    u32 result = value;
    switch (number) {
        case unorm: result = static_cast<u32>(scaled(0, 1, most)); break;
        case snorm: result = static_cast<u32>(scaled(-1, 1, most_signed)); break;
        case uscaled: result = static_cast<u32>(scaled(0, most, 1)); break;
        case sscaled: result = static_cast<u32>(scaled(-most_signed - 1, most_signed, 1)); break;
        case float_number: result = width == 16 ? narrow(x).bits : value; break;
        default: break;
    }
    return width == 32 ? result : result & ((1U << width) - 1U);
}

/// The component that a half of a register stands for.
u32 d16_component(u32 half, u32 number) {
    if (number == sint_number) return static_cast<u32>(sign_extended(half, 16));
    return number == uint_number ? half : bits<u32>(widen(f16{static_cast<u16>(half)}));
}

struct Typed {
    Layout layout;
    u32 number;
    bool from_descriptor;
};
Typed typed(const Wave& w, const Instruction& in, const Operand& resource) {
    if (in.extra != 0) return {layouts[in.modifiers.op_sel], in.modifiers.op_sel_hi, false};  // MTBUF
    const Descriptor d = descriptor(w, resource);
    return {layouts[d.data_format], d.number_format, true};
}
/// Formats that the manual does not define: no components, SNORM_NZ, or small floats as anything but floats.
bool undefined(const Typed& t) { return t.layout.components == 0 || t.number == 6 || (t.number == float_number && t.layout.bits[0] == 8); }

Step refuse(Wave& w) { return fault(w, FaultKind::unsupported, 0, 0, -1, false); }

/// A lane's element in memory, as one little-endian number.
struct Raw {
    u8 byte[16] = {};
    [[nodiscard]] u32 field(u32 first, u32 width) const {
        u64 value = 0;
        std::memcpy(&value, byte + first / 8, 4 + (first / 8 <= 8 ? 4 : 0));
        value >>= first % 8;
        return width == 32 ? static_cast<u32>(value) : static_cast<u32>(value) & ((1U << width) - 1U);
    }
    void set(u32 first, u32 width, u32 value) {
        for (u32 i = 0; i < width; ++i) byte[(first + i) / 8] = static_cast<u8>(byte[(first + i) / 8] | (((value >> i) & 1U) << ((first + i) % 8)));
    }
};

enum class Result : u8 { whole, half, high_half };

template <u32 components, Result kind>
Step load_format(Wave& w, const Instruction& in) {
    const Typed t = typed(w, in, in.source[1]);
    if (undefined(t)) return refuse(w);
    const u32 bytes = total_bits(t.layout) / 8;
    u8* at[1][kLanes];
    if (!buffer_addresses(w, in, {in.source[0], in.source[1], in.source[2]}, {1, bytes, true, false}, at)) return Step::fault;
    record_buffer(w, AccessKind::load, bytes);
    const u32 one = integral(t.number) ? 1U : bits<u32>(1.0F);
    const Descriptor d = descriptor(w, in.source[1]);
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        Raw raw;
        const bool inside = at[0][lane] != nullptr;
        if (inside) std::memcpy(raw.byte, at[0][lane], bytes);
        u32 value[4] = {0, 0, 0, inside ? one : 0};
        for (u32 c = 0, first = 0; c < t.layout.components && inside; first += t.layout.bits[c++]) value[c] = from_format(raw.field(first, t.layout.bits[c]), t.layout.bits[c], t.number);
        for (u32 c = 0; c < components; ++c) {
            const u32 select = t.from_descriptor ? d.select[c] : 4U + c;
            const u32 chosen = select >= 4 ? value[select - 4] : select == 1 ? one : 0;
            if constexpr (kind == Result::whole) {
                to[c][lane] = chosen;
            } else {
                const u32 half = integral(t.number) ? chosen & 0xffffU : narrow(bits<f32>(chosen)).bits;
                const bool high = kind == Result::high_half || c % 2 != 0;
                u32& r = to[c / 2][lane];
                r = high ? (r & 0xffffU) | (half << 16U) : (r & 0xffff0000U) | half;
            }
        }
    }
    return Step::next;
}

template <u32 components, Result kind>
Step store_format(Wave& w, const Instruction& in) {
    const Typed t = typed(w, in, in.source[2]);
    // What is written beyond the instruction's components, and 10- and 11-bit floats, the manual does not say.
    if (undefined(t) || t.layout.components > components || (t.number == float_number && t.layout.bits[0] < 16)) return refuse(w);
    const u32 bytes = total_bits(t.layout) / 8;
    u8* at[1][kLanes];
    if (!buffer_addresses(w, in, {in.source[1], in.source[2], in.source[3]}, {1, bytes, true, true}, at)) return Step::fault;
    record_buffer(w, AccessKind::store, bytes);
    const Descriptor d = descriptor(w, in.source[2]);
    const u32(*from)[kLanes] = w.vgpr + in.source[0].index;
    for (u64 left = w.access.lanes; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        Raw raw;
        u32 value[4] = {};
        for (u32 c = 0; c < components; ++c) {
            u32 part = kind == Result::whole ? from[c][lane] : from[c / 2][lane] >> (kind == Result::high_half || c % 2 != 0 ? 16U : 0U);
            if (kind != Result::whole) part = d16_component(part & 0xffffU, t.number);
            const u32 select = t.from_descriptor ? d.select[c] : 4U + c;
            if (select >= 4) value[select - 4] = part;
        }
        for (u32 c = 0, first = 0; c < t.layout.components; first += t.layout.bits[c++]) raw.set(first, t.layout.bits[c], to_format(value[c], t.layout.bits[c], t.number));
        std::memcpy(at[0][lane], raw.byte, bytes);
    }
    return Step::next;
}

template <u32 components, Result kind>
constexpr Entry loads(std::string_view name, u32 typed_by_instruction) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_load;
    e.run = &load_format<components, kind>;
    e.destinations = 1;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, Type::b32};
    e.extra = typed_by_instruction;
    e.data_format = typed_by_instruction != 0;
    return e;
}
template <u32 components, Result kind>
constexpr Entry stores(std::string_view name, u32 typed_by_instruction) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_store;
    e.run = &store_format<components, kind>;
    e.sources = 4;
    e.source = {Type::wide, Type::wide, Type::wide, Type::b32};
    e.extra = typed_by_instruction;
    e.data_format = typed_by_instruction != 0;
    return e;
}

}  // namespace

Table buffer_format() {
    using enum Result;
    static constexpr Entry rows[] = {
        loads<1, whole>("buffer_load_format_x", 0), loads<2, whole>("buffer_load_format_xy", 0),
        loads<3, whole>("buffer_load_format_xyz", 0), loads<4, whole>("buffer_load_format_xyzw", 0),
        loads<1, half>("buffer_load_format_d16_x", 0), loads<2, half>("buffer_load_format_d16_xy", 0),
        loads<3, half>("buffer_load_format_d16_xyz", 0), loads<4, half>("buffer_load_format_d16_xyzw", 0),
        loads<1, high_half>("buffer_load_format_d16_hi_x", 0),
        stores<1, whole>("buffer_store_format_x", 0), stores<2, whole>("buffer_store_format_xy", 0),
        stores<3, whole>("buffer_store_format_xyz", 0), stores<4, whole>("buffer_store_format_xyzw", 0),
        stores<1, half>("buffer_store_format_d16_x", 0), stores<2, half>("buffer_store_format_d16_xy", 0),
        stores<3, half>("buffer_store_format_d16_xyz", 0), stores<4, half>("buffer_store_format_d16_xyzw", 0),
        stores<1, high_half>("buffer_store_format_d16_hi_x", 0),
        loads<1, whole>("tbuffer_load_format_x", 1), loads<2, whole>("tbuffer_load_format_xy", 1),
        loads<3, whole>("tbuffer_load_format_xyz", 1), loads<4, whole>("tbuffer_load_format_xyzw", 1),
        loads<1, half>("tbuffer_load_format_d16_x", 1), loads<2, half>("tbuffer_load_format_d16_xy", 1),
        loads<3, half>("tbuffer_load_format_d16_xyz", 1), loads<4, half>("tbuffer_load_format_d16_xyzw", 1),
        stores<1, whole>("tbuffer_store_format_x", 1), stores<2, whole>("tbuffer_store_format_xy", 1),
        stores<3, whole>("tbuffer_store_format_xyz", 1), stores<4, whole>("tbuffer_store_format_xyzw", 1),
        stores<1, half>("tbuffer_store_format_d16_x", 1), stores<2, half>("tbuffer_store_format_d16_xy", 1),
        stores<3, half>("tbuffer_store_format_d16_xyz", 1), stores<4, half>("tbuffer_store_format_d16_xyzw", 1),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
