// Kinds of numbers on their way through registers and memory.
#include "sanitize/number_kinds.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace hipscope::sanitize {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kUpper = 0xffff0000U, kSign = 0x80000000U, kBothSigns = 0x80008000U;
constexpr u32 kRoundsUp = 0x7fff;  // and one for odd numbers: what is added to the bits of a float that becomes bfloat16
constexpr u32 kLowHalves = 0x05040100U, kHighHalves = 0x07060302U;  // what v_perm_b32 is given to put two halves together
constexpr std::uint8_t kWholeRegister = 6, kLowerWord = 4, kUpperWord = 5, kPreserves = 2;  // SDWA

bool is_vector(const Operand& o) { return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr; }
bool is_half(Number n) { return n == Number::half || n == Number::halves || n == Number::brain || n == Number::brains; }

/// The first part of a mnemonic that is a type says what the result is: `v_cvt_f32_u32`, `v_mfma_f64_16x16x4_f64`.
std::string_view result_type(std::string_view name) {
    while (!name.empty()) {
        const std::size_t end = std::min(name.find('_'), name.size());
        const std::string_view part = name.substr(0, end);
        const std::size_t digits = part.find_first_of("0123456789");
        const bool type = digits != std::string_view::npos && part.find_first_not_of("0123456789", digits) == std::string_view::npos;
        const std::string_view letters = part.substr(0, std::min(digits, part.size()));
        if (type && (letters == "f" || letters == "i" || letters == "u" || letters == "b" || letters == "bf" || letters == "fp")) return part;
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return {};
}

KindOf made_by(const Instruction& in, std::string_view name) {
    const std::string_view type = result_type(name);
    if (type == "f32") return {KindRule::makes, Number::f32};
    if (type == "f64") return {KindRule::makes, Number::f64_low};
    if (type != "f16") return {};
    if (name.starts_with("v_pk_") || name.starts_with("v_cvt_pk")) return {KindRule::makes, Number::halves};
    return {KindRule::makes, Number::half, (in.modifiers.op_sel & 8U) != 0 || in.modifiers.dst_select == kUpperWord};
}

/// A constant operand, or what a scalar register holds.
u32 scalar_value(const Wave& wave, const Operand& o) {
    if (o.kind == OperandKind::literal) return static_cast<u32>(o.literal);
    return o.kind == OperandKind::sgpr && o.index < sreg::count ? wave.sgpr[o.index] : 0;
}

/// The kind of a register that was loaded from two cells.
Number joined(Number low, Number high) {
    if (low == Number::half) return high == Number::half ? Number::halves : Number::half;
    if (low == Number::brain) return high == Number::brain ? Number::brains : Number::brain;
    return low == high ? low : Number::none;
}

/// What the cells of a register's 16 bits are once it is stored.
Number cell_of(Number value, bool upper) {
    if (value == Number::half || value == Number::brain) return upper ? Number::none : value;
    if (value == Number::rounded || value == Number::upper) return upper ? Number::brain : Number::none;
    return value == Number::halves ? Number::half : value == Number::brains ? Number::brain : value;
}

/// The kind of the upper 16 bits of a register as a number by themselves.
Number upper_half(Number value) {
    if (value == Number::halves) return Number::half;
    return value == Number::brains || value == Number::rounded || value == Number::upper || value == Number::f32 ? Number::brain : Number::none;
}

/// The lanes in which instructions that exchange lanes write a result for sure.
bool writes_all(const Instruction& in) { return !in.dpp.present || (in.dpp.row_mask == 0xf && in.dpp.bank_mask == 0xf && in.dpp.bound_control); }

/// A value whose bits an instruction clears, sets or turns round by a constant.
void mask(std::string_view text, u32 constant, const KindRow& value, KindRow& result) {
    const bool clears = text.starts_with("v_and"), fills = text.starts_with("v_bfi");
    const u32 bits = clears || fills ? ~constant : constant;
    const auto keep = [&](Number kind) { result.set(value.lanes_of(kind), kind); };
    if (bits == kSign) keep(Number::f32);
    if (bits == kSign) keep(Number::f64_high);
    if (bits == kBothSigns) keep(Number::halves);
    if (bits == kBothSigns) keep(Number::brains);
    if (bits == kSign >> 16U) keep(Number::half);
    if (!clears) return;
    const auto become = [&](Number kind, Number then) { result.set(value.lanes_of(kind), then); };
    if (constant == kUpper)
        for (const Number kind : {Number::f32, Number::rounded, Number::upper, Number::brains}) become(kind, Number::upper);
    if (constant != ~kUpper && constant != ~kUpper >> 1U) return;
    become(Number::half, Number::half);
    become(Number::halves, Number::half);
    if (constant == ~kUpper) become(Number::brain, Number::brain);
    if (constant == ~kUpper) become(Number::brains, Number::brain);
}

/// One with nothing below and one with nothing above, in one register.
void beside_each_other(const KindRow& one, const KindRow& other, KindRow& result) {
    const auto both = [](const KindRow& above, const KindRow& below) { return above.lanes_of(Number::upper) & below.lanes_of(Number::brain); };
    result.set(both(one, other) | both(other, one), Number::brains);
}

}  // namespace

KindOf kind_rule(const Instruction& in) {
    const std::string_view name = mnemonic_of(in);
    if (in.unindexed != nullptr) return {};
    if (name == "v_readfirstlane_b32" || name == "v_readlane_b32") return {KindRule::to_scalar};
    if (name == "v_writelane_b32") return {KindRule::into_lane};
    if (name == "v_swap_b32") return {KindRule::swaps};
    if (name == "ds_bpermute_b32" || name == "ds_permute_b32" || name == "ds_swizzle_b32") return {KindRule::shuffles};
    if (name == "v_mov_b32" || name == "v_mov_b64" || name.starts_with("v_accvgpr_") || name == "s_mov_b32" || name == "s_mov_b64")
        return {in.modifiers.dst_select != kWholeRegister ? KindRule::forgets : in.dpp.present ? KindRule::shuffles : KindRule::copies};
    if (name == "v_pk_mov_b32") return {KindRule::copies};
    if (name == "v_cndmask_b32") return {in.simple ? KindRule::selects : KindRule::forgets};
    if (name == "v_and_b32" || name == "v_or_b32" || name == "v_xor_b32" || name == "v_bfi_b32") return {in.simple ? KindRule::masks : KindRule::forgets};
    if (name == "v_and_or_b32") return {KindRule::masks};
    if (name == "v_pack_b32_f16" || name == "v_perm_b32" || name == "v_lshl_or_b32") return {KindRule::packs};
    if (name == "v_add3_u32") return {KindRule::rounds};
    if (name == "v_lshrrev_b32") return {in.simple ? KindRule::shifts : KindRule::forgets};
    if (name.starts_with("v_cmp")) return {};
    return name.starts_with("v_") ? made_by(in, name) : KindOf{};
}

void NumberKinds::started(const Workgroup& group) {
    GroupKinds& g = groups_[&group];
    g.waves.resize(group.waves.size());
    for (WaveKinds& wave : g.waves) {
        wave.rows.fill({});
        wave.scalars.fill(Number::none);
        wave.scratch.clear();
    }
    g.lds.assign(group.lds.size() / 2 + 1, Number::none);
}

NumberKinds::GroupKinds& NumberKinds::group_of(const Wave& wave) {
    if (recent_group_ != wave.group) {
        recent_group_ = wave.group;
        recent_ = &groups_[wave.group];
    }
    return *recent_;
}

NumberKinds::Known& NumberKinds::known(const Wave& wave, const Instruction& in, u32 pc) {
    if (program_ != wave.program) {
        program_ = wave.program;
        known_.assign(program_->instructions.size(), {});
    }
    Known& k = known_[pc];
    if (!k.known) k = {flow_of(in), kind_rule(in), true};
    return k;
}

void NumberKinds::forget_results(WaveKinds& k, const Instruction& in, u64 exec) {
    for (int d = 0; d < in.destinations; ++d) {
        const Operand& o = in.destination[d];
        for (u32 r = o.index; r < u32{o.index} + o.dwords; ++r) {
            if (is_vector(o) && r < k.rows.size()) k.rows[r].set(exec, Number::none);
            else if (o.kind == OperandKind::sgpr && r < k.scalars.size()) k.scalars[r] = Number::none;
        }
    }
}

void NumberKinds::make(WaveKinds& k, const Instruction& in, const KindOf& rule, u64 exec) {
    const Operand& to = in.destination[0];
    if (!is_vector(to)) return;
    for (u32 d = 0; d < to.dwords && to.index + d < k.rows.size(); ++d) {
        KindRow& row = k.rows[to.index + d];
        Number kind = rule.kind;
        if (kind == Number::f64_low && d % 2 == 1) kind = Number::f64_high;
        u64 lanes = exec;
        if (!writes_all(in)) {  // lanes that are left alone keep what they hold
            lanes &= row.lanes_of(kind);
            row.set(exec & ~lanes, Number::none);
        }
        const u64 pairs = row.lanes_of(Number::halves) & lanes, low = row.lanes_of(Number::half) & lanes;
        const std::uint8_t select = in.modifiers.dst_select;
        if (kind != Number::half) {
            row.set(lanes, select == kWholeRegister ? kind : Number::none);
        } else if (rule.upper) {  // beside a half that stays
            const bool stays = select == kWholeRegister || in.modifiers.dst_unused == kPreserves;
            row.set(lanes, Number::none);
            if (stays) row.set(pairs | low, Number::halves);
        } else {
            const bool stays = in.keeps_high || (select == kLowerWord && in.modifiers.dst_unused == kPreserves);
            row.set(lanes, select == kWholeRegister || select == kLowerWord ? Number::half : Number::none);
            if (stays) row.set(pairs, Number::halves);
        }
    }
}

void NumberKinds::copy(WaveKinds& k, const Instruction& in, u64 exec) {
    const Operand& to = in.destination[0];
    const bool packed = in.packed;  // v_pk_mov_b32: a dword of the first source, and one of the second
    std::array<KindRow, 2> from{};
    for (u32 d = 0; d < std::min<u32>(to.dwords, 2); ++d) {
        const Operand& o = in.source[packed ? d : 0];
        const unsigned select = d == 0 ? in.modifiers.op_sel & 1U : (in.modifiers.op_sel_hi >> 1U) & 1U;
        const u32 r = o.index + (packed ? select : d);
        if (is_vector(o) && r < k.rows.size()) from[d] = k.rows[r];
        else if (o.kind == OperandKind::sgpr && r < k.scalars.size()) from[d].set(~u64{0}, k.scalars[r]);
    }
    for (u32 d = 0; d < std::min<u32>(to.dwords, 2); ++d) {
        if (is_vector(to)) k.rows[to.index + d].take(exec, from[d]);
        else if (to.kind == OperandKind::sgpr && to.index + d < k.scalars.size()) k.scalars[to.index + d] = from[d].at(0);
    }
}

/// Which lane goes where is not looked at: all of them hold the same kind, or it is forgotten.
void NumberKinds::shuffle(WaveKinds& k, const Instruction& in, u64 exec) {
    const Operand& from = in.source[mnemonic_of(in).find("permute") != std::string_view::npos ? 1 : 0];
    const Operand& to = in.destination[0];
    if (!is_vector(to)) return;
    KindRow& row = k.rows[to.index];
    if (!is_vector(from) || exec == 0) return row.set(exec, Number::none);
    const Number kind = k.rows[from.index].at(std::countr_zero(exec));
    const bool same = (k.rows[from.index].lanes_of(kind) & exec) == exec;
    const u64 lanes = !same ? 0 : writes_all(in) ? exec : exec & row.lanes_of(kind);
    row.set(exec & ~lanes, Number::none);
    row.set(lanes, kind);
}

void NumberKinds::half_by_half(const Wave& wave, const Instruction& in, const KindRow& one, const KindRow& other, KindRow& result) {
    const bool permutes = in.text.starts_with("v_perm"), shifts = in.text.starts_with("v_lshl_or");
    const u32 how = permutes ? scalar_value(wave, in.source[2]) : shifts ? scalar_value(wave, in.source[1]) : 0;
    if (permutes ? is_vector(in.source[2]) || (how != kLowHalves && how != kHighHalves) : shifts && (is_vector(in.source[1]) || how != 16)) return;
    if (!permutes && !shifts && (in.modifiers.op_sel & 3U) != 0) return;
    const auto halves = [&](const KindRow& row, Number single, Number both) {
        if (!permutes || how == kLowHalves) return row.lanes_of(single) | row.lanes_of(both);
        const u64 above = single == Number::brain ? row.lanes_of(Number::rounded) | row.lanes_of(Number::upper) | row.lanes_of(Number::f32) : 0;
        return row.lanes_of(both) | above;
    };
    for (const auto& [single, both] : {std::pair{Number::half, Number::halves}, std::pair{Number::brain, Number::brains}})
        // What is shifted over another one has nothing above it.
        result.set(halves(one, single, both) & (shifts ? other.lanes_of(single) : halves(other, single, both)), both);
}

void NumberKinds::executed(const Wave& wave, const Instruction& in, u32 pc, u64 exec) {
    const Known& known_in = known(wave, in, pc);
    WaveKinds& k = of(wave);
    if (in.unindexed != nullptr) return k.rows.fill({});
    if (in.destinations == 0) return;
    const auto row_of = [&](int source) {
        KindRow row;
        const Operand& o = in.source[source];
        if (is_vector(o)) row = k.rows[o.index];
        else if (o.kind == OperandKind::sgpr && o.index < sreg::count) row.set(~u64{0}, k.scalars[o.index]);
        return row;
    };
    const u64 lanes = known_in.flow.reach == Reach::all ? ~u64{0} : exec;
    KindRow result;
    switch (known_in.rule.rule) {
        case KindRule::makes:
            make(k, in, known_in.rule, lanes);
            for (int d = 1; d < in.destinations; ++d)
                if (in.destination[d].kind == OperandKind::sgpr && in.destination[d].index + 1U < k.scalars.size())
                    k.scalars[in.destination[d].index] = k.scalars[in.destination[d].index + 1U] = Number::none;
            return;
        case KindRule::copies: return copy(k, in, exec);
        case KindRule::shuffles: return shuffle(k, in, exec);
        case KindRule::selects: {
            const Operand& mask = in.source[in.source[2].kind == OperandKind::sgpr ? 2 : 3];
            const u64 second = mask.kind == OperandKind::sgpr && mask.index + 1U < sreg::count ? wave.s64(mask.index) : wave.vcc();
            result = row_of(0);
            result.take(second, row_of(1));
            break;
        }
        case KindRule::masks:
            if (in.text.starts_with("v_and_or")) {
                // One half of a register beside the other half of another one.
                const bool first = is_vector(in.source[1]);
                KindRow kept;
                if (first != is_vector(in.source[0])) mask(in.text, scalar_value(wave, in.source[first ? 0 : 1]), row_of(first ? 1 : 0), kept);
                beside_each_other(kept, row_of(2), result);
            } else if (is_vector(in.source[0]) && is_vector(in.source[1])) {
                if (in.text.starts_with("v_or")) beside_each_other(row_of(0), row_of(1), result);
            } else {
                const bool fills = in.text.starts_with("v_bfi"), first = fills || is_vector(in.source[1]);
                mask(in.text, scalar_value(wave, in.source[first ? 0 : 1]), row_of(first ? 1 : 0), result);
            }
            break;
        case KindRule::packs: half_by_half(wave, in, row_of(0), row_of(in.text.starts_with("v_lshl_or") ? 2 : 1), result); break;
        case KindRule::rounds: {
            if (is_vector(in.source[2]) || scalar_value(wave, in.source[2]) != kRoundsUp) break;
            for (int n = 0; n < 2; ++n) result.set(row_of(n).lanes_of(Number::f32), Number::rounded);
            break;
        }
        case KindRule::shifts:
            if (is_vector(in.source[0]) || scalar_value(wave, in.source[0]) != 16) break;
            for (const Number kind : {Number::halves, Number::brains, Number::rounded, Number::upper, Number::f32}) result.set(row_of(1).lanes_of(kind), upper_half(kind));
            break;
        case KindRule::swaps:
            if (!is_vector(in.source[0])) break;
            result = row_of(0);
            k.rows[in.source[0].index].take(exec, k.rows[in.destination[0].index]);
            break;
        case KindRule::to_scalar: {
            const bool first = in.text.starts_with("v_readfirst");
            const int lane = first ? (exec == 0 ? 0 : std::countr_zero(exec)) : static_cast<int>(scalar_value(wave, in.source[1]) & 63U);
            if (in.destination[0].index < k.scalars.size()) k.scalars[in.destination[0].index] = row_of(0).at(lane);
            return;
        }
        case KindRule::into_lane: {
            const u32 lane = scalar_value(wave, in.source[1]) & 63U;
            if (is_vector(in.destination[0])) k.rows[in.destination[0].index].take(u64{1} << lane, row_of(0));
            return;
        }
        case KindRule::forgets: break;
    }
    forget_results(k, in, lanes);
    if (is_vector(in.destination[0]) && in.destination[0].dwords == 1) k.rows[in.destination[0].index].take(exec, result);
}

Number* NumberKinds::cell(const Wave& wave, WaveKinds& k, u64 address, int lane) {
    if (wave.access.space == Space::lds) {
        GroupKinds& g = group_of(wave);
        return address / 2 < g.lds.size() ? &g.lds[address / 2] : nullptr;
    }
    const u64 each = wave.scratch_per_lane / 2;
    if (k.scratch.empty()) k.scratch.assign(each * kLanes, Number::none);
    return address / 2 < each ? &k.scratch[static_cast<u64>(lane) * each + address / 2] : nullptr;
}

/// The kinds of what lanes store, in cells of 16 bits. An update is a number if what it adds is one by the operation's type, or
/// if what it puts there is.
void NumberKinds::store(const Wave& wave, WaveKinds& k, const Instruction& in, const Flow& flow) {
    const MemoryAccess& made = wave.access;
    const std::string_view name = mnemonic_of(in);
    const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    const bool atomic = made.kind != AccessKind::store, swaps_if = has("cmpswap") || has("cmpst"), global = made.space == Space::global;
    const bool keeps_one = flow.swaps || swaps_if || has("min") || has("max");
    const Number fixed = !atomic ? Number::none : has("_f32") ? Number::f32 : has("_f64") ? Number::f64_low : has("pk_add") && has("_f16") ? Number::halves : has("pk_add_bf16") || has("pk_add_rtn_bf16") ? Number::brains : Number::none;
    const u32 dwords = std::max(1U, made.bytes / 4U), cells = std::min(std::max(1U, made.bytes / 2U), 8U);
    stored_.same = true;
    stored_.kind = Number::none;
    for (int which = 0; which < made.addresses; ++which) {
        // Of an operation in LDS the value that is put there comes behind the one that is compared with.
        const int data = made.space == Space::lds && swaps_if ? flow.data_count - 1 : which;
        const Operand* from = data < flow.data_count ? &in.source[flow.data[static_cast<std::size_t>(data)]] : nullptr;
        const auto row = [&](u32 d) {
            KindRow result;
            if (fixed != Number::none) result.set(~u64{0}, fixed == Number::f64_low && d % 2 == 1 ? Number::f64_high : fixed);
            else if (from != nullptr && is_vector(*from) && from->index + d < k.rows.size() && !flow.opaque && (!atomic || keeps_one)) result = k.rows[from->index + d];
            return result;
        };
        if (global && made.bytes >= 2 && !flow.half) {
            const int first = made.lanes == 0 ? 0 : std::countr_zero(made.lanes);
            const Number kind = row(0).at(first);
            bool same = kind != Number::f64_high && (!is_half(kind) || cell_of(kind, true) != Number::none || made.bytes == 2) && kind != Number::rounded && kind != Number::upper && (kind != Number::f64_low || dwords % 2 == 0);
            for (u32 d = 0; d < dwords && same; ++d)
                same = (row(d).lanes_of(kind == Number::f64_low && d % 2 == 1 ? Number::f64_high : kind) & made.lanes) == made.lanes;
            if (same) {
                stored_.kind = made.bytes == 2 && !is_half(kind) ? Number::none : kind;
                continue;
            }
        }
        if (global && made.bytes < 2) continue;
        stored_.same = false;
        std::array<KindRow, 4> rows;
        for (u32 d = 0; d < std::min(dwords, 4U); ++d) rows[d] = row(d);
        for (u64 left = made.lanes; left != 0; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const u64 address = made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane));
            for (u32 c = 0; c < cells; ++c) {
                const Number value = rows[c / 2].at(lane);
                Number kind = flow.high ? upper_half(value) : cell_of(value, c % 2 == 1);
                if (made.bytes < 2 || (made.bytes == 2 && !is_half(kind)) || address % std::min<u64>(made.bytes, 4) != 0) kind = Number::none;
                if (global) stored_.cells[static_cast<std::size_t>(lane)][c] = kind;
                else if (Number* const at = cell(wave, k, address + u64{c} * 2, lane)) *at = kind;
            }
        }
    }
}

void NumberKinds::load(const Wave& wave, WaveKinds& k, const Instruction& in, const Flow& flow) {
    const MemoryAccess& made = wave.access;
    if (!is_vector(in.destination[0])) return;
    const u32 dwords = std::max(1U, made.bytes / 4U);
    for (int which = 0; which < made.addresses; ++which)
        for (u32 d = 0; d < dwords; ++d) {
            const u32 r = in.destination[0].index + static_cast<u32>(which) * dwords + d;
            if (r >= k.rows.size()) return;
            KindRow result;
            for (u64 left = made.bytes < 2 || flow.opaque ? 0 : made.lanes; left != 0; left &= left - 1) {
                const int lane = std::countr_zero(left);
                const u64 address = made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane)) + u64{d} * 4;
                const auto at = [&](u64 place) {
                    if (made.space == Space::global) return loaded_(place);
                    const Number* const found = cell(wave, k, place, lane);
                    return found != nullptr ? *found : Number::none;
                };
                Number kind = Number::none;
                if (made.bytes == 2) {
                    const Number there = at(address), old = k.rows[r].at(lane);
                    const Number both = joined(there, there);
                    const bool beside = flow.half && is_half(there) && (old == both || (flow.high && old == there));
                    kind = !is_half(there) ? Number::none : beside ? both : flow.half ? Number::none : there;
                } else if (address % 4 == 0) {
                    kind = joined(at(address), at(address + 2));
                }
                result.set(u64{1} << static_cast<unsigned>(lane), kind);
            }
            k.rows[r].take(made.lanes, result);
        }
}

void NumberKinds::accessed(const Wave& wave, const Instruction& in, u32 pc) {
    Known& known_in = known(wave, in, pc);
    const MemoryAccess& made = wave.access;
    WaveKinds& k = of(wave);
    stored_.same = true;
    stored_.kind = Number::none;
    if (known_in.rule.rule == KindRule::shuffles) return shuffle(k, in, wave.exec());
    const bool loads = made.kind == AccessKind::load && made.space != Space::none && made.space != Space::scalar && !known_in.flow.to_lds;
    if (loads && in.destinations != 0 && !known_in.flow.half) forget_results(k, in, wave.exec() & ~made.lanes);
    if (loads && in.destinations != 0) return load(wave, k, in, known_in.flow);
    if (known_in.flow.to_lds) {
        GroupKinds& g = group_of(wave);
        std::fill(g.lds.begin(), g.lds.end(), Number::none);
        return;
    }
    if (made.space != Space::none && made.space != Space::scalar && made.kind != AccessKind::load) store(wave, k, in, known_in.flow);
    if (made.space == Space::global && (!stored_.same || stored_.kind != Number::none)) {
        if (known_in.site < 0) known_in.site = sites_++;
        stored_.site = static_cast<unsigned>(known_in.site);
    }
    forget_results(k, in, wave.exec());
    // Buffer atomics return into their data, which is no destination.
    for (u32 n = 0; n < known_in.flow.writes; ++n)
        for (u32 r = known_in.flow.write[n].first; r < u32{known_in.flow.write[n].first} + known_in.flow.write[n].count && r < k.rows.size(); ++r)
            k.rows[r].set(wave.exec(), Number::none);
}

}  // namespace hipscope::sanitize
