// Decoder: one pass over the disassembler's text. Mnemonics and operands come from the text, modifiers, immediates
// and branch distances from the encoded words in the comment (section numbers: CDNA3 ISA, chapter 13).
#include "core/decode.hpp"

#include <algorithm>

#include "core/assembly_line.hpp"
#include "core/operands.hpp"
#include "core/wave.hpp"
#include "isa/indexed.hpp"
#include "isa/lookup.hpp"
#include "isa/refused.hpp"

namespace hipscope {
namespace {

using isa::Entry;
using isa::Type;

/// Encoding formats that place modifiers differently.
enum class Format { scalar, sopk, sopp, vop, vop3, vop3p, memory, ds };

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

bool sdwa_clamps(std::uint32_t word) { return ((word >> 13U) & 1U) != 0; }

void decode_sdwa(std::uint32_t word, bool compare, Instruction& in) {
    in.source[0].select = static_cast<std::uint8_t>((word >> 16U) & 7U);
    in.source[1].select = static_cast<std::uint8_t>((word >> 24U) & 7U);
    if (!compare) {
        in.modifiers.dst_select = static_cast<std::uint8_t>((word >> 8U) & 7U);
        in.modifiers.dst_unused = static_cast<std::uint8_t>((word >> 11U) & 3U);
        in.modifiers.clamp = sdwa_clamps(word);
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

/// VOP3P-MAI (13.3.7): CBSZ, ABID and BLGP sit where the packed modifiers are. With scales (gfx950), two words before
/// them say which bytes of the scale registers count.
void decode_matrix(const Line& line, Instruction& in) {
    if (line.word_count == 4) {
        in.modifiers.neg_hi = static_cast<std::uint8_t>((line.words[2] >> 8U) & 7U);
        in.modifiers.neg_lo = static_cast<std::uint8_t>((line.words[3] >> 29U) & 7U);
        in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 11U) & 3U);
        in.modifiers.op_sel_hi = static_cast<std::uint8_t>((line.words[1] >> 27U) & 3U);
        return;
    }
    in.modifiers.neg_hi = static_cast<std::uint8_t>((line.words[0] >> 8U) & 7U);
    in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 11U) & 15U);
    in.modifiers.neg_lo = static_cast<std::uint8_t>((line.words[1] >> 29U) & 7U);
}

/// True when source k is a whole register or constant, and nothing moves between lanes.
bool is_whole(const Instruction& in, std::size_t k, Type type) {
    const Operand& o = in.source[k];
    if (o.sign_extend || o.select != 6 || type == Type::mix) return false;
    if (in.dpp.present && k == 0) return false;
    return o.kind != OperandKind::sgpr || o.index < sreg::count;
}

/// True when nothing but the sign of source k changes before use.
bool is_plain_but_for_sign(const Instruction& in, std::size_t k, Type type) {
    const unsigned bit = 1U << k;
    if (!is_whole(in, k, type)) return false;
    if (in.packed && (type == Type::pk16 || type == Type::pk_f16 || type == Type::pk_f32)) {
        return (in.modifiers.op_sel & bit) == 0 && (in.modifiers.op_sel_hi & bit) != 0 && ((in.modifiers.neg_lo | in.modifiers.neg_hi) & bit) == 0;
    }
    return in.packed || (in.modifiers.op_sel & bit) == 0 || (type != Type::f16 && type != Type::b16);
}

/// True when source k can be used as it lies in the register file (see Operand::plain).
bool is_plain(const Instruction& in, std::size_t k, Type type) {
    return !in.source[k].negate && !in.source[k].absolute && is_plain_but_for_sign(in, k, type);
}

/// True when the handlers for plain operands take source k. They choose the dwords of two packed floats themselves.
bool fits_form(const Instruction& in, std::size_t k, Type type) {
    if (in.packed && type == Type::pk_f32) return is_whole(in, k, type) && ((in.modifiers.neg_lo | in.modifiers.neg_hi) & (1U << k)) == 0;
    return is_plain_but_for_sign(in, k, type);
}

bool is_vector(const Operand& o) { return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr; }

/// The handler for the operands that the instruction has.
Handler handler_for(const Entry& entry, const Instruction& in) {
    if (!in.simple || in.sources > 3) return entry.run;
    std::size_t form = 0;
    bool signs = false;
    for (unsigned k = 0; k < in.sources; ++k) {
        const Operand& o = in.source[k];
        if (!fits_form(in, k, entry.source[k])) return entry.run;
        if (!is_vector(o) && entry.source[k] != Type::mask) form |= 1U << k;
        signs = signs || o.negate || o.absolute;
    }
    if (signs) form += isa::signed_forms;
    return entry.forms[form] == nullptr ? entry.run : entry.forms[form];
}

std::string_view strip_encoding(std::string_view mnemonic) {
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"}) {
        if (mnemonic.ends_with(suffix)) return mnemonic.substr(0, mnemonic.size() - suffix.size());
    }
    return mnemonic;
}

/// The row of a name: the target's own where it differs ("v_cvt_f32_fp8@gfx950"), else the common one.
/// v_cmpx_lt_f32 -> the row of v_cmp_lt_f32.
const Entry* find_row(std::string_view name, std::string_view target, bool& writes_exec) {
    writes_exec = false;
    if (target != "gfx942") {
        std::string own(name);
        own += '@';
        own += target;
        if (const Entry* entry = isa::find(own)) return entry;
    }
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
        in.modifiers.sc0 = flag(line.modifiers, "sc0") || flag(line.modifiers, "glc");  // gfx90a's names of the bits
        in.modifiers.sc1 = flag(line.modifiers, "sc1") || flag(line.modifiers, "scc");
        in.modifiers.nt = flag(line.modifiers, "nt") || flag(line.modifiers, "slc");
        in.target = (flag(line.modifiers, "offen") ? 1U : 0U) | (flag(line.modifiers, "idxen") ? 2U : 0U);
    }
}

/// Scalar loads: `base, offset` where the offset is a register, an immediate, or a register and `offset:`.
void decode_scalar_offset(const Line& line, std::size_t k, Instruction& in) {
    if (in.source[k].kind == OperandKind::literal) {
        in.modifiers.offset = static_cast<std::int32_t>(in.source[k].literal);
        in.source[k] = Operand{};
    }
    const std::string_view offset = modifier(line.modifiers, "offset:");
    if (!offset.empty()) in.modifiers.offset = number(offset);
    in.modifiers.sc0 = flag(line.modifiers, "glc");
}

/// MTBUF (13.6): the format is part of the instruction.
void decode_buffer_format(const Line& line, Instruction& in) {
    in.modifiers.op_sel = static_cast<std::uint8_t>((line.words[0] >> 19U) & 15U);
    in.modifiers.op_sel_hi = static_cast<std::uint8_t>((line.words[0] >> 23U) & 7U);
}

/// Why an instruction of the table is refused all the same in this form, or nothing.
std::string_view form_not_supported(Format format, const Line& line, const Entry& entry) {
    if (format == Format::memory && flag(line.modifiers, "tfe")) return "texture fail enable";
    if (format == Format::ds && !entry.all_waves && flag(line.modifiers, "gds")) return "global data share, which these devices lack";
    return {};
}

/// Why no row has this mnemonic.
std::string no_row(const Line& line, std::string_view name, std::string_view target) {
    if (line.mnemonic.starts_with(".")) return "these bytes are no instruction of " + std::string(target);  // .long, .byte
    const std::string_view why = isa::reason_for(name);
    return why.empty() ? "unknown mnemonic " + std::string(line.mnemonic) : "refused: " + std::string(why);
}

/// Where an encoding of VOP carries a second word of modifiers (13.3.8, 13.3.9).
bool has_sdwa(Format format, const Line& line) { return format == Format::vop && line.word_count == 2 && (line.words[0] & 0x1ffU) == 0xf9; }
bool has_dpp(Format format, const Line& line) { return format == Format::vop && line.word_count == 2 && (line.words[0] & 0x1ffU) == 0xfa; }

/// The modifiers of the formats that have them in fixed places.
void decode_modifiers(Format format, const Line& line, const Entry& entry, Instruction& in) {
    if (format == Format::vop3) decode_vop3(line, entry.destinations == 2, in);
    if (entry.truth_table) in.target = (in.modifiers.omod << 6U) | ((line.words[0] >> 8U) & 7U) << 3U | line.words[1] >> 29U;
    if (format == Format::vop3p && entry.unit == Unit::mfma) decode_matrix(line, in);
    else if (format == Format::vop3p) decode_vop3p(line, in);
}

/// Source k as written, with the constants that the encoding holds in fewer bits than the text shows.
bool decode_source(Format format, const Line& line, std::string_view text, Type type, std::size_t k, Instruction& in) {
    if (!parse_operand(text, type, line, in.source[k])) return false;
    if (in.source[k].kind != OperandKind::literal) return true;
    if (format == Format::sopk && in.bytes == 4) {
        in.source[k].literal = static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(line.words[0] & 0xffffU)));
    }
    if (format == Format::scalar && in.unit == Unit::smem && k >= 1) in.source[k].literal = static_cast<std::uint32_t>(number(text));
    return true;
}

/// Operands in the order of the text: destinations, then sources. Returns why not, or an empty string.
std::string decode_operands(Format format, const Line& line, const Entry& entry, Instruction& in) {
    const std::size_t results = entry.returns ? (in.modifiers.sc0 ? 1U : 0U) : entry.destinations;
    std::size_t next = 0;
    for (; next < results; ++next) {
        if (next == line.operand_count || !parse_operand(line.operands[next], Type::none, line, in.destination[next])) {
            return "destination of " + in.text;
        }
    }
    in.destinations = static_cast<std::uint8_t>(results);
    const std::size_t expected = entry.sources - (entry.accumulates ? 1U : 0U);
    for (std::size_t k = 0; k < expected && next < line.operand_count; ++k, ++next) {
        if (entry.source[k] == Type::none) continue;  // hwreg(...), taken from the encoding
        if (!decode_source(format, line, line.operands[next], entry.source[k], k, in)) return "unknown operand " + std::string(line.operands[next]);
    }
    if (next < line.operand_count && entry.sources != 0) return "operands of " + in.text;
    if (entry.accumulates) in.source[expected] = in.destination[0];
    if (entry.reads_vcc) {
        in.source[3].kind = OperandKind::sgpr;
        in.source[3].index = sreg::vcc;
        in.source[3].dwords = 2;
    }
    in.sources = entry.sources;
    return {};
}

/// Fills `in`. Returns why not, or an empty string.
std::string decode_line(const Line& line, std::string_view target, Instruction& in) {
    in.address = line.address;
    in.bytes = static_cast<std::uint8_t>(line.word_count * 4);
    in.text.assign(line.text);
    const bool to_lds = line.mnemonic.starts_with("buffer_") && flag(line.modifiers, "lds");
    std::string with_suffix;
    if (to_lds) (with_suffix = line.mnemonic) += "_lds";
    const std::string_view name = to_lds ? std::string_view(with_suffix) : strip_encoding(line.mnemonic);
    const Format format = format_of(line.words[0], line.mnemonic);
    bool writes_exec = false;
    const Entry* entry = find_row(name, target, writes_exec);
    if (entry == nullptr) return no_row(line, name, target);
    if (const std::string_view why = form_not_supported(format, line, *entry); !why.empty()) return std::string(why);
    decode_modifiers(format, line, *entry, in);

    const bool sdwa = has_sdwa(format, line);
    const bool clamp = in.modifiers.clamp || (sdwa && sdwa_clamps(line.words[1]));
    const bool integer_clamp = clamp && !entry->mask_result && !entry->float_result && !is_float(entry->source[0]);
    if (integer_clamp) {
        entry = isa::find(std::string(name) + "_clamp");
        if (entry == nullptr) return "clamp on " + std::string(name);
    }
    in.unit = entry->unit;
    in.passes = entry->passes;
    in.extra = writes_exec ? 1 : entry->extra;
    in.keeps_high = entry->keeps_high;
    decode_immediates(format, line, in);
    if (std::string why = decode_operands(format, line, *entry, in); !why.empty()) return why;
    if (in.unit == Unit::smem) decode_scalar_offset(line, entry->destinations == 0 ? 2 : 1, in);
    if (entry->data_format) decode_buffer_format(line, in);
    in.modifiers.scalar_base = format == Format::memory && (in.source[1].kind == OperandKind::sgpr || in.source[2].kind == OperandKind::sgpr);

    if (sdwa) {
        decode_sdwa(line.words[1], entry->mask_result, in);
        if (in.modifiers.dst_select == 7) return "its destination selects a reserved part of a register";
    }
    if (has_dpp(format, line)) decode_dpp(line.words[1], in);
    if (integer_clamp) in.modifiers.clamp = false;  // the row does it
    for (std::size_t k = 0; k < entry->sources; ++k) in.source[k].plain = is_plain(in, k, entry->source[k]);
    if (in.keeps_high) in.simple = false;
    if (entry->upper_half) in.modifiers.op_sel |= 8U;
    in.run = handler_for(*entry, in);
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

Disassembly decode(std::string_view text, std::string_view target) {
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
        const std::string reason = split_operands(line) ? decode_line(line, target, in) : "too many operands";
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
