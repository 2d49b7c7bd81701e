// Decoder: one pass over the disassembler's text. Mnemonics and operands come from the text, modifiers, immediates
// and branch distances from the encoded words in the comment (section numbers: CDNA3 ISA, chapter 13).
#include "core/decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "core/wave.hpp"
#include "isa/indexed.hpp"
#include "isa/lookup.hpp"

namespace hipscope {
namespace {

using isa::Entry;
using isa::Type;

constexpr std::size_t max_operands = 7;
constexpr std::uint16_t source_vccz = 251, source_execz = 252, source_scc = 253;

/// One line cut into its parts.
struct Line {
    std::string_view text;        // mnemonic, operands and modifiers
    std::string_view mnemonic;
    std::array<std::string_view, max_operands> operands;
    std::size_t operand_count = 0;
    std::string_view modifiers;
    std::uint64_t address = 0;
    std::array<std::uint32_t, 4> words{};
    std::size_t word_count = 0;
};

/// Encoding formats that place modifiers differently.
enum class Format { scalar, sopk, sopp, vop, vop3, vop3p, memory, ds };

std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

bool hex(std::string_view& s, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
    if (error != std::errc{}) return false;
    s.remove_prefix(static_cast<std::size_t>(end - s.data()));
    return true;
}

/// Reads `// address: words`. False when the line has no such comment.
bool split_comment(std::string_view raw, Line& line) {
    const std::size_t comment = raw.rfind("// ");
    if (comment == std::string_view::npos) return false;
    line.text = trim(raw.substr(0, comment));
    std::string_view rest = raw.substr(comment + 3);
    if (!hex(rest, line.address) || rest.empty() || rest.front() != ':') return false;
    rest.remove_prefix(1);
    line.word_count = 0;
    while (line.word_count < line.words.size()) {
        rest = trim(rest);
        if (rest.size() < 8) break;
        std::uint64_t word = 0;
        std::string_view token = rest.substr(0, 8);
        if (!hex(token, word) || !token.empty()) break;
        line.words[line.word_count++] = static_cast<std::uint32_t>(word);
        rest.remove_prefix(8);
    }
    return line.word_count != 0;
}

/// Cuts `a, b, c mod1 mod2` at top-level commas; what follows the last operand after a space are modifiers.
bool split_operands(Line& line) {
    const std::string_view text = line.text;
    const std::size_t space = text.find_first_of(" \t");
    line.mnemonic = text.substr(0, space);
    line.operand_count = 0;
    line.modifiers = {};
    if (space == std::string_view::npos) return true;
    const std::string_view rest = trim(text.substr(space));
    int depth = 0;
    bool absolute = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
        const char c = i < rest.size() ? rest[i] : '\0';
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        if (c == '|') absolute = !absolute;
        if (depth != 0 && c != '\0') continue;
        if (c == ',' || c == ' ' || c == '\0') {
            if (i > begin) {
                if (line.operand_count == max_operands) return false;
                line.operands[line.operand_count++] = rest.substr(begin, i - begin);
            }
            if (c == ' ') {
                line.modifiers = trim(rest.substr(i));
                return true;
            }
            begin = i + 1;
            while (begin < rest.size() && rest[begin] == ' ') ++begin;
            i = std::max(i, begin - 1);
        }
    }
    return true;
}

/// The text after `name` in the modifiers (`offset:` -> "16"), or nothing.
std::string_view modifier(std::string_view modifiers, std::string_view name) {
    for (std::size_t at = modifiers.find(name); at != std::string_view::npos; at = modifiers.find(name, at + 1)) {
        if (at != 0 && modifiers[at - 1] != ' ') continue;
        const std::string_view value = modifiers.substr(at + name.size());
        return value.substr(0, value.find(' '));
    }
    return {};
}
bool flag(std::string_view modifiers, std::string_view name) {
    for (std::size_t at = modifiers.find(name); at != std::string_view::npos; at = modifiers.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || modifiers[at - 1] == ' ') && (end == modifiers.size() || modifiers[end] == ' ')) return true;
    }
    return false;
}
std::int32_t number(std::string_view s) {
    const bool negative = !s.empty() && s.front() == '-';
    if (negative) s.remove_prefix(1);
    const bool is_hex = s.starts_with("0x");
    if (is_hex) s.remove_prefix(2);
    std::int64_t value = 0;
    std::from_chars(s.data(), s.data() + s.size(), value, is_hex ? 16 : 10);
    return static_cast<std::int32_t>(negative ? -value : value);
}

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

/// An operand with its sign modifiers. False when the text is not understood.
bool parse_operand(std::string_view s, Type type, const Line& line, Operand& o) {
    o = Operand{};
    if (s == "off") return true;  // no register
    if (s.starts_with("sext(") && s.ends_with(")")) {
        o.sign_extend = true;
        s = s.substr(5, s.size() - 6);
    }
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

Format format_of(std::uint32_t word, std::string_view mnemonic) {
    if ((word >> 28U) == 0xbU && (word >> 23U) != 0x17fU && (word >> 23U) != 0x17eU && (word >> 23U) != 0x17dU) return Format::sopk;
    if ((word >> 23U) == 0x17fU) return Format::sopp;
    if ((word >> 23U) == 0x1a7U) return Format::vop3p;
    if ((word >> 26U) == 0x34U) return Format::vop3;
    if ((word >> 31U) == 0) return Format::vop;
    if ((word >> 26U) == 0x36U) return Format::ds;
    if (mnemonic.starts_with("s_")) return Format::scalar;
    return Format::memory;
}

void decode_dpp(std::uint32_t word, Instruction& in) {
    in.dpp.present = true;
    in.dpp.control = static_cast<std::uint16_t>((word >> 8U) & 0x1ffU);
    in.dpp.bound_control = ((word >> 19U) & 1U) != 0;
    in.dpp.bank_mask = static_cast<std::uint8_t>((word >> 24U) & 15U);
    in.dpp.row_mask = static_cast<std::uint8_t>(word >> 28U);
    in.simple = false;
}

void decode_sdwa(std::uint32_t word, bool compare, Instruction& in) {
    in.source[0].select = static_cast<std::uint8_t>((word >> 16U) & 7U);
    in.source[1].select = static_cast<std::uint8_t>((word >> 24U) & 7U);
    if (!compare) {
        in.modifiers.dst_select = static_cast<std::uint8_t>((word >> 8U) & 7U);
        in.modifiers.dst_unused = static_cast<std::uint8_t>((word >> 11U) & 3U);
        in.modifiers.clamp = ((word >> 13U) & 1U) != 0;
        in.modifiers.omod = static_cast<std::uint8_t>((word >> 14U) & 3U);
        in.simple = false;
    }
}

void decode_vop3(const Line& line, bool two_results, Instruction& in) {
    in.modifiers.clamp = ((line.words[0] >> 15U) & 1U) != 0;
    in.modifiers.omod = static_cast<std::uint8_t>((line.words[1] >> 27U) & 3U);
    if (!two_results) in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 11U) & 15U);
    if (in.modifiers.clamp || in.modifiers.omod != 0 || (in.modifiers.op_sel & 8U) != 0) in.simple = false;
}

void decode_vop3p(const Line& line, Instruction& in) {
    in.packed = true;
    in.modifiers.neg_hi = static_cast<std::uint8_t>((line.words[0] >> 8U) & 7U);
    in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 11U) & 7U);
    in.modifiers.op_sel_hi = static_cast<std::uint8_t>(((line.words[1] >> 27U) & 3U) | (((line.words[0] >> 14U) & 1U) << 2U));
    in.modifiers.neg_lo = static_cast<std::uint8_t>((line.words[1] >> 29U) & 7U);
    in.modifiers.clamp = ((line.words[0] >> 15U) & 1U) != 0;
    if (in.modifiers.clamp) in.simple = false;
}

/// VOP3P-MAI (13.3.7): CBSZ, ABID and BLGP sit where the packed modifiers are.
void decode_matrix(const Line& line, Instruction& in) {
    in.modifiers.neg_hi = static_cast<std::uint8_t>((line.words[0] >> 8U) & 7U);
    in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 11U) & 15U);
    in.modifiers.neg_lo = static_cast<std::uint8_t>((line.words[1] >> 29U) & 7U);
}

/// True when source k can be used as it lies in the register file (see Operand::plain).
bool is_plain(const Instruction& in, std::size_t k, Type type) {
    const Operand& o = in.source[k];
    const unsigned bit = 1U << k;
    if (o.negate || o.absolute || o.sign_extend || o.select != 6 || type == Type::mix) return false;
    if (in.dpp.present && k == 0) return false;
    if (o.kind == OperandKind::sgpr && o.index >= sreg::count) return false;
    if (in.packed && (type == Type::pk16 || type == Type::pk_f16 || type == Type::pk_f32)) {
        return (in.modifiers.op_sel & bit) == 0 && (in.modifiers.op_sel_hi & bit) != 0 && ((in.modifiers.neg_lo | in.modifiers.neg_hi) & bit) == 0;
    }
    return in.packed || (in.modifiers.op_sel & bit) == 0 || (type != Type::f16 && type != Type::b16);
}

std::string_view strip_encoding(std::string_view mnemonic) {
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"}) {
        if (mnemonic.ends_with(suffix)) return mnemonic.substr(0, mnemonic.size() - suffix.size());
    }
    return mnemonic;
}

/// v_cmpx_lt_f32 -> the row of v_cmp_lt_f32.
const Entry* find_row(std::string_view name, bool& writes_exec) {
    writes_exec = false;
    if (const Entry* entry = isa::find(name)) return entry;
    if (!name.starts_with("v_cmpx_")) return nullptr;
    std::string plain = "v_cmp_";
    plain += name.substr(7);
    writes_exec = true;
    return isa::find(plain);
}

bool is_float(Type type) { return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::pk_f16 || type == Type::pk_f32 || type == Type::mix; }

/// Immediates of formats whose text names them in other ways: branch distances, waitcnt fields, SOPK constants.
void decode_immediates(Format format, const Line& line, Instruction& in) {
    const std::uint32_t low = line.words[0] & 0xffffU;
    if (format == Format::sopp || format == Format::sopk) in.target = low;
    if (line.mnemonic == "s_set_gpr_idx_on") in.target = (low >> 8U) & 15U;
    if (format == Format::ds) {
        const std::uint32_t unit = in.extra;  // two-address forms: bytes per unit of offset
        in.modifiers.offset = static_cast<std::int32_t>(unit == 0 ? low : (low & 0xffU) * unit);
        in.modifiers.offset1 = static_cast<std::int32_t>((low >> 8U) * unit);
    }
    if (format == Format::memory) {
        const std::string_view offset = modifier(line.modifiers, "offset:");
        if (!offset.empty()) in.modifiers.offset = number(offset);
        in.modifiers.sc0 = flag(line.modifiers, "sc0");
        in.modifiers.sc1 = flag(line.modifiers, "sc1");
        in.modifiers.nt = flag(line.modifiers, "nt");
        in.target = (flag(line.modifiers, "offen") ? 1U : 0U) | (flag(line.modifiers, "idxen") ? 2U : 0U);
    }
}

/// Scalar loads: `base, offset` where the offset is a register, an immediate, or a register and `offset:`.
void decode_scalar_offset(const Line& line, Instruction& in) {
    if (in.source[1].kind == OperandKind::literal) {
        in.modifiers.offset = static_cast<std::int32_t>(in.source[1].literal);
        in.source[1] = Operand{};
    }
    const std::string_view offset = modifier(line.modifiers, "offset:");
    if (!offset.empty()) in.modifiers.offset = number(offset);
}

/// Fills `in`. Returns why not, or an empty string.
std::string decode_line(const Line& line, Instruction& in) {
    in.address = line.address;
    in.bytes = static_cast<std::uint8_t>(line.word_count * 4);
    in.text.assign(line.text);
    const std::string_view name = strip_encoding(line.mnemonic);
    const Format format = format_of(line.words[0], line.mnemonic);
    bool writes_exec = false;
    const Entry* entry = find_row(name, writes_exec);
    if (entry == nullptr) return "unknown mnemonic " + std::string(line.mnemonic);
    if (format == Format::memory && flag(line.modifiers, "lds")) return "buffer load to LDS";

    const bool compare = name.starts_with("v_cmp");
    if (format == Format::vop3) decode_vop3(line, entry->destinations == 2, in);
    if (format == Format::vop3p && entry->unit == Unit::mfma) decode_matrix(line, in);
    else if (format == Format::vop3p) decode_vop3p(line, in);
    const bool integer_clamp = in.modifiers.clamp && !is_float(entry->source[0]);
    if (integer_clamp && !compare) {
        entry = isa::find(std::string(name) + "_clamp");
        if (entry == nullptr) return "clamp on " + std::string(name);
        in.modifiers.clamp = false;
    }
    in.unit = entry->unit;
    in.passes = entry->passes;
    in.extra = writes_exec ? 1 : entry->extra;
    in.keeps_high = entry->keeps_high;
    decode_immediates(format, line, in);

    // Operands in the order of the text: destinations, then sources.
    const std::size_t results = entry->returns ? (in.modifiers.sc0 ? 1U : 0U) : entry->destinations;
    std::size_t next = 0;
    for (std::size_t d = 0; d < results; ++d) {
        if (next == line.operand_count || !parse_operand(line.operands[next], Type::none, line, in.destination[d])) {
            return "destination of " + in.text;
        }
        ++next;
    }
    in.destinations = static_cast<std::uint8_t>(results);
    std::size_t expected = entry->sources;
    if (entry->accumulates) --expected;
    for (std::size_t k = 0; k < expected && next < line.operand_count; ++k, ++next) {
        const std::string_view text = line.operands[next];
        if (entry->source[k] == Type::none) continue;  // hwreg(...), taken from the encoding
        if (!parse_operand(text, entry->source[k], line, in.source[k])) return "unknown operand " + std::string(text);
        if (format == Format::sopk && in.source[k].kind == OperandKind::literal && in.bytes == 4) {
            in.source[k].literal = static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(line.words[0] & 0xffffU)));
        }
        if (format == Format::scalar && in.unit == Unit::smem && k == 1 && in.source[1].kind == OperandKind::literal) {
            in.source[1].literal = static_cast<std::uint32_t>(number(text));
        }
    }
    if (next < line.operand_count && entry->sources != 0) return "operands of " + in.text;
    if (entry->accumulates) in.source[expected] = in.destination[0];
    if (name.starts_with("v_div_fmas")) {
        in.source[3].kind = OperandKind::sgpr;
        in.source[3].index = sreg::vcc;
        in.source[3].dwords = 2;
    }
    in.sources = entry->sources;
    if (in.unit == Unit::smem) decode_scalar_offset(line, in);
    in.modifiers.scalar_base = format == Format::memory && (in.source[1].kind == OperandKind::sgpr || in.source[2].kind == OperandKind::sgpr);

    if (format == Format::vop && line.word_count == 2) {
        const std::uint32_t source0 = line.words[0] & 0x1ffU;
        if (source0 == 0xf9) decode_sdwa(line.words[1], compare, in);
        if (source0 == 0xfa) decode_dpp(line.words[1], in);
    }
    for (std::size_t k = 0; k < entry->sources; ++k) in.source[k].plain = is_plain(in, k, entry->source[k]);
    if (in.keeps_high) in.simple = false;
    if (name.ends_with("mixhi_f16")) in.modifiers.op_sel |= 8U;  // the result goes to the upper half
    in.run = entry->run;
    return {};
}

bool is_branch(const Instruction& in) {
    return in.unit == Unit::branch && (in.text.starts_with("s_branch") || in.text.starts_with("s_cbranch") || in.text.starts_with("s_call"));
}

/// Vector instructions between s_set_gpr_idx_on and s_set_gpr_idx_off (straight-line code) go through M0's index.
void mark_indexed(Program& program) {
    bool on = false;
    for (Instruction& in : program.instructions) {
        if (in.text.starts_with("s_set_gpr_idx_")) on = !in.text.starts_with("s_set_gpr_idx_off");
        if (!on || in.run == nullptr || !in.text.starts_with("v_")) continue;
        in.unindexed = in.run;
        in.run = &isa::run_indexed;
    }
}

/// Turns branch distances into instruction indices. A target outside the program makes the branch unsupported.
void resolve_branches(Disassembly& result) {
    for (Instruction& in : result.program.instructions) {
        if (!is_branch(in)) continue;
        const auto distance = static_cast<std::int64_t>(static_cast<std::int16_t>(in.target)) * 4;
        const std::int64_t index = result.program.index_of(in.address + 4 + static_cast<std::uint64_t>(distance));
        if (index < 0) {
            result.unsupported.push_back({in.address, in.text, "branch target outside the code"});
            in.run = nullptr;
        } else {
            in.target = static_cast<std::uint32_t>(index);
        }
    }
}

}  // namespace

Disassembly decode(std::string_view text) {
    Disassembly result;
    result.program.instructions.reserve(text.size() / 80);
    Line line;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) end = text.size();
        const std::string_view raw = text.substr(at, end - at);
        at = end + 1;
        if (!split_comment(raw, line)) continue;
        Instruction& in = result.program.instructions.emplace_back();
        const std::string reason = split_operands(line) ? decode_line(line, in) : "too many operands";
        if (!reason.empty()) {
            in.run = nullptr;
            in.address = line.address;
            in.text.assign(line.text);
            in.bytes = static_cast<std::uint8_t>(line.word_count * 4);
            result.unsupported.push_back({line.address, std::string(line.text), reason});
        }
    }
    auto& all = result.program.instructions;
    const auto by_address = [](const Instruction& a, const Instruction& b) { return a.address < b.address; };
    if (!std::is_sorted(all.begin(), all.end(), by_address)) std::sort(all.begin(), all.end(), by_address);
    mark_indexed(result.program);
    resolve_branches(result);
    return result;
}

std::int64_t Program::index_of(std::uint64_t address) const {
    const auto found = std::lower_bound(instructions.begin(), instructions.end(), address, [](const Instruction& in, std::uint64_t a) { return in.address < a; });
    return found == instructions.end() || found->address != address ? -1 : found - instructions.begin();
}

std::vector<std::string_view> supported_mnemonics() { return isa::names(); }

}  // namespace hipscope
