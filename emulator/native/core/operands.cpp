// See the header (section 5.1 of the manual).
#include "core/operands.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "core/wave.hpp"

namespace hipscope {
namespace {

using isa::Type;

constexpr std::uint16_t source_vccz = 251, source_execz = 252, source_scc = 253;

struct NamedRegister {
    std::string_view name;
    OperandKind kind;
    std::uint16_t index;
    std::uint8_t dwords;
    std::uint64_t literal;
};
constexpr NamedRegister named[] = {
    {"vcc", OperandKind::sgpr, sreg::vcc, 2, 0},
    {"vcc_lo", OperandKind::sgpr, sreg::vcc, 1, 0},
    {"vcc_hi", OperandKind::sgpr, sreg::vcc + 1, 1, 0},
    {"exec", OperandKind::sgpr, sreg::exec, 2, 0},
    {"exec_lo", OperandKind::sgpr, sreg::exec, 1, 0},
    {"exec_hi", OperandKind::sgpr, sreg::exec + 1, 1, 0},
    {"m0", OperandKind::sgpr, sreg::m0, 1, 0},
    {"flat_scratch", OperandKind::sgpr, sreg::flat_scratch, 2, 0},
    {"flat_scratch_lo", OperandKind::sgpr, sreg::flat_scratch, 1, 0},
    {"flat_scratch_hi", OperandKind::sgpr, sreg::flat_scratch + 1, 1, 0},
    {"xnack_mask", OperandKind::sgpr, sreg::xnack_mask, 2, 0},
    {"xnack_mask_lo", OperandKind::sgpr, sreg::xnack_mask, 1, 0},
    {"xnack_mask_hi", OperandKind::sgpr, sreg::xnack_mask + 1, 1, 0},
    {"src_vccz", OperandKind::sgpr, source_vccz, 1, 0},
    {"src_execz", OperandKind::sgpr, source_execz, 1, 0},
    {"src_scc", OperandKind::sgpr, source_scc, 1, 0},
    {"src_shared_base", OperandKind::literal, 0, 2, aperture::shared_base},
    {"src_shared_limit", OperandKind::literal, 0, 2, aperture::shared_base | aperture::limit},
    {"src_private_base", OperandKind::literal, 0, 2, aperture::private_base},
    {"src_private_limit", OperandKind::literal, 0, 2, aperture::private_base | aperture::limit},
};

bool is_wide(Type type) { return type == Type::b64 || type == Type::i64 || type == Type::f64 || type == Type::mask; }

std::uint16_t half_bits(double value) {  // only the inline constants occur: all are exact or listed
    if (value == 0.15915494) return 0x3118;
    const bool negative = value < 0;
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(value), &exponent);
    if (mantissa == 0) return 0;
    const auto fraction = static_cast<unsigned>(std::lround((mantissa * 2 - 1) * 1024));
    return static_cast<std::uint16_t>((negative ? 0x8000U : 0U) | (static_cast<unsigned>(exponent + 14) << 10U) | fraction);
}

/// Bit pattern of an inline constant or literal in an operand of this type (section 5.1.3).
std::uint64_t constant(std::string_view s, Type type, const Line& line) {
    if (s.find('.') != std::string_view::npos) {
        double value = 0;
        std::from_chars(s.data(), s.data() + s.size(), value);
        const bool inverse_2pi = std::fabs(value - 0.15915494) < 1e-8;
        if (type == Type::f64 || type == Type::b64 || type == Type::i64) return inverse_2pi ? 0x3fc45f306dc9c882ULL : std::bit_cast<std::uint64_t>(value);
        if (type == Type::f16 || type == Type::pk_f16 || type == Type::b16) return half_bits(inverse_2pi ? 0.15915494 : value);
        const std::uint64_t single = inverse_2pi ? 0x3e22f983U : std::bit_cast<std::uint32_t>(static_cast<float>(value));
        return type == Type::pk_f32 ? single | (single << 32U) : single;
    }
    if (s.starts_with("0x")) {
        const std::uint64_t word = line.words[line.word_count - 1];
        if (type == Type::f64) return word << 32U;
        if (type == Type::i64) return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)));
        return word;
    }
    const auto value = static_cast<std::uint64_t>(std::int64_t{number(s)});
    if (type == Type::pk_f32) return (value & 0xffffffffU) | (value << 32U);
    return is_wide(type) ? value : value & 0xffffffffU;
}

bool parse_range(std::string_view s, unsigned limit, std::uint16_t& first, std::uint8_t& dwords) {
    unsigned a = 0, b = 0;
    if (!s.empty() && s.front() == '[') {
        const char* end = s.data() + s.size();
        auto [colon, e1] = std::from_chars(s.data() + 1, end, a);
        if (e1 != std::errc{}) return false;
        b = a;
        if (colon != end && *colon == ':') {
            auto [close, e2] = std::from_chars(colon + 1, end, b);
            if (e2 != std::errc{}) return false;
            colon = close;
        }
        if (colon + 1 != end || *colon != ']') return false;
    } else {
        auto [stop, e] = std::from_chars(s.data(), s.data() + s.size(), a);
        if (e != std::errc{} || stop != s.data() + s.size()) return false;
        b = a;
    }
    if (b < a || b >= limit) return false;
    first = static_cast<std::uint16_t>(a);
    dwords = static_cast<std::uint8_t>(b - a + 1);
    return true;
}

bool parse_register(std::string_view s, Operand& o) {
    if (s.empty()) return false;
    for (const NamedRegister& r : named) {
        if (r.name == s) {
            o.kind = r.kind;
            o.index = r.index;
            o.dwords = r.dwords;
            o.literal = r.literal;
            return true;
        }
    }
    if (s.starts_with("ttmp") && parse_range(s.substr(4), 16, o.index, o.dwords)) {
        o.kind = OperandKind::sgpr;
        o.index = static_cast<std::uint16_t>(o.index + sreg::ttmp);
        return true;
    }
    const char c = s.front();
    if (c == 'v' && parse_range(s.substr(1), 256, o.index, o.dwords)) {
        o.kind = OperandKind::vgpr;
        return true;
    }
    if (c == 's' && parse_range(s.substr(1), 102, o.index, o.dwords)) {
        o.kind = OperandKind::sgpr;
        return true;
    }
    if (c == 'a' && parse_range(s.substr(1), 256, o.index, o.dwords)) {
        o.kind = OperandKind::agpr;
        o.index = static_cast<std::uint16_t>(o.index + 256);
        return true;
    }
    return false;
}

}  // namespace

bool parse_operand(std::string_view s, Type type, const Line& line, Operand& o) {
    o = Operand{};
    if (s == "off") return true;  // no register
    if (s.starts_with("sext(") && s.ends_with(")")) {
        o.sign_extend = true;
        s = s.substr(5, s.size() - 6);
    }
    // LLVM 22 marks literals whose value an inline constant could also give.
    if (s.starts_with("lit(") && s.ends_with(")")) s = s.substr(4, s.size() - 5);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool is_constant = is_digit(s.front()) || (s.size() > 1 && s.front() == '-' && is_digit(s[1]));
    if (is_constant) {
        o.kind = OperandKind::literal;
        o.literal = constant(s, type, line);
        return true;
    }
    if (s.starts_with("neg(") && s.ends_with(")")) {
        o.negate = true;
        s = s.substr(4, s.size() - 5);
    }
    if (s.front() == '-') {
        o.negate = true;
        s.remove_prefix(1);
    }
    if (s.size() > 2 && s.front() == '|' && s.back() == '|') {
        o.absolute = true;
        s = s.substr(1, s.size() - 2);
    }
    if (s.starts_with("abs(") && s.ends_with(")")) {
        o.absolute = true;
        s = s.substr(4, s.size() - 5);
    }
    if (s.empty()) return false;
    if (is_digit(s.front()) || (s.size() > 1 && s.front() == '-' && is_digit(s[1]))) {
        o.kind = OperandKind::literal;
        o.literal = constant(s, type, line);
        return true;
    }
    return parse_register(s, o);
}

}  // namespace hipscope
