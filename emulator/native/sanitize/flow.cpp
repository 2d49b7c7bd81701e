// Registers of an instruction, from its operands; the few that say more or less than their operands are in a table.
#include "sanitize/flow.hpp"

#include <algorithm>
#include <string_view>

#include "core/wave.hpp"

namespace hipscope::sanitize {
namespace {

constexpr unsigned kSourceVccz = 251;  // and 252 EXECZ, 253 SCC: sources that are no registers (manual section 5.1)

/// What the operands do not say. A name ending in '*' is a prefix.
enum class Special : std::uint8_t {
    copy,          // whole registers, bits stay where they are
    first_active,  // reads one lane: the first active one
    chosen,        // reads or writes one lane, which an operand names
    crosses,       // lanes that are off take part
    keeps,         // a part of the destination stays as it was, or a source is written too
    reads_scc,
    swaps_rows,    // the first source is written too
    any_scalar,    // M0 chooses the SGPR
    index,         // the value chooses registers
    branch_scc, branch_vcc, branch_to,
    lane_only,     // on a memory unit, but lanes exchange registers
    no_memory,     // on a memory unit, reads a clock
};
struct Row {
    std::string_view name;
    Special special;
};
constexpr Row kSpecial[] = {
    {"v_mov_b32", Special::copy}, {"v_accvgpr_*", Special::copy}, {"s_mov_b32", Special::copy}, {"s_mov_b64", Special::copy},
    {"v_readfirstlane_b32", Special::first_active}, {"v_readlane_b32", Special::chosen}, {"v_writelane_b32", Special::chosen},
    {"v_mfma_*", Special::crosses}, {"v_smfmac_*", Special::crosses}, {"v_permlane*", Special::crosses},
    {"v_cvt_pk_fp8_f32", Special::keeps}, {"v_cvt_pk_bf8_f32", Special::keeps}, {"v_cvt_sr_*", Special::keeps}, {"v_cvt_scalef32_*", Special::keeps},
    {"v_permlane*", Special::swaps_rows}, {"v_swap_b32", Special::swaps_rows},
    {"s_addc_u32", Special::reads_scc}, {"s_subb_u32", Special::reads_scc}, {"s_cselect_*", Special::reads_scc}, {"s_cmov_*", Special::reads_scc}, {"s_cmovk_*", Special::reads_scc},
    {"s_movrel*", Special::any_scalar},
    {"s_set_gpr_idx_on", Special::index}, {"s_set_gpr_idx_idx", Special::index},
    {"s_cbranch_scc*", Special::branch_scc}, {"s_cbranch_vcc*", Special::branch_vcc}, {"s_setpc_b64", Special::branch_to}, {"s_swappc_b64", Special::branch_to},
    {"ds_bpermute_b32", Special::lane_only}, {"ds_permute_b32", Special::lane_only}, {"ds_swizzle_b32", Special::lane_only},
    {"s_memtime", Special::no_memory}, {"s_memrealtime", Special::no_memory},
};

bool matches(std::string_view pattern, std::string_view name) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

bool is_vector(const Operand& o) { return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr; }

void note_read(Flow& flow, const Operand& o) {
    if (is_vector(o)) {
        if (flow.reads < flow.read.size()) flow.read[flow.reads++] = {o.index, o.dwords};
    } else if (o.kind == OperandKind::sgpr) {
        if (o.index < sreg::count) flow.scalar_read.add(o.index, o.dwords);
        else flow.scalar_read.add(sreg::vcc, 2);
        if (o.index >= kSourceVccz) flow.reads_scc = true;
    }
}

void note_write(Flow& flow, const Operand& o) {
    if (is_vector(o)) {
        if (flow.writes < flow.write.size()) flow.write[flow.writes++] = {o.index, o.dwords};
    } else if (o.kind == OperandKind::sgpr && o.index < sreg::count) {
        flow.scalar_write.add(o.index, o.dwords);
    }
}

/// Address operands into `read`, the others into `data`.
void memory_flow(Flow& flow, const Instruction& in, std::string_view name) {
    const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    const bool buffer = name.starts_with("buffer_") || name.starts_with("tbuffer_") || name.starts_with("s_");
    const bool loads = has("load") || has("_read");
    flow.kind = FlowKind::memory;
    flow.sign = has("sbyte") || has("_i8") || has("sshort") || has("_i16");
    flow.half = has("_d16");
    flow.high = has("_d16_hi");
    flow.opaque = has("_format_");
    flow.to_lds = loads && in.destinations == 0 && !name.starts_with("s_");
    flow.swaps = (has("_swap") || has("wrxchg")) && !has("cmpswap");
    for (std::uint8_t k = 0; k < in.sources; ++k) {
        const Operand& o = in.source[k];
        const bool data = !loads && o.kind != OperandKind::none && (buffer || has("addtid") ? k == 0 : name.starts_with("ds_") ? k > 0 : k == 1);
        if (!data) note_read(flow, o);
        else if (flow.data_count < flow.data.size()) flow.data[flow.data_count++] = k;
    }
    if (has("addtid") || has("ds_append") || has("ds_consume") || flow.to_lds) flow.scalar_read.add(sreg::m0, 1);
    for (int d = 0; d < in.destinations; ++d) note_write(flow, in.destination[d]);
    // Buffer atomics and scalar ones return into their data.
    if (in.destinations == 0 && in.modifiers.sc0 && has("_atomic_") && flow.data_count > 0) note_write(flow, in.source[flow.data[0]]);
}

bool computes(Unit unit) {
    return unit == Unit::valu || unit == Unit::valu_half || unit == Unit::valu_trans || unit == Unit::mfma || unit == Unit::salu || unit == Unit::branch;
}

}  // namespace

std::string_view mnemonic_of(const Instruction& in) {
    std::string_view name(in.text);
    name = name.substr(0, name.find(' '));
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"})
        if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
    return name;
}

Flow flow_of(const Instruction& in) {
    Flow flow;
    const std::string_view name = mnemonic_of(in);
    const auto special = [name](Special what) {
        return std::any_of(std::begin(kSpecial), std::end(kSpecial), [=](const Row& row) { return row.special == what && matches(row.name, name); });
    };
    const bool lane_only = special(Special::lane_only) || special(Special::no_memory);
    if (!lane_only && !computes(in.unit)) {
        const bool memory = in.unit == Unit::smem || in.unit == Unit::vmem_load || in.unit == Unit::vmem_store || in.unit == Unit::vmem_atomic ||
                            in.unit == Unit::scratch || in.unit == Unit::lds;
        flow.kind = FlowKind::none;
        if (memory) memory_flow(flow, in, name);
        return flow;
    }
    flow.kind = FlowKind::compute;
    flow.reads_scc = special(Special::reads_scc);
    flow.shuffles = name == "ds_bpermute_b32";
    for (int k = 0; k < in.sources; ++k) note_read(flow, in.source[k]);
    for (int d = 0; d < in.destinations; ++d) note_write(flow, in.destination[d]);
    if (special(Special::branch_scc)) flow.kind = FlowKind::branch_scc;
    else if (special(Special::branch_vcc)) flow.kind = FlowKind::branch_vcc;
    else if (special(Special::branch_to)) flow.kind = FlowKind::branch_to;
    else if (special(Special::index)) flow.kind = FlowKind::index;
    if (special(Special::first_active)) flow.reach = Reach::first_active;
    if (special(Special::chosen)) flow.reach = Reach::chosen;
    if (special(Special::crosses)) flow.reach = Reach::all;
    if (special(Special::swaps_rows)) note_write(flow, in.source[0]);
    if (special(Special::any_scalar)) {
        flow.scalar_read.add(0, sreg::count - 2);
        flow.scalar_write.add(0, 102);
    }
    if (name.find("saveexec") != std::string_view::npos || name.find("wrexec") != std::string_view::npos || (in.extra == 1 && name.starts_with("v_cmpx")))
        flow.scalar_write.add(sreg::exec, 2);
    const bool source_is_register = is_vector(in.source[0]) || in.source[0].kind == OperandKind::sgpr;
    if (special(Special::copy) && in.simple && in.source[0].plain && source_is_register && is_vector(in.source[0]) == is_vector(in.destination[0]))
        flow.kind = FlowKind::copy;
    flow.wide_sum = name == "v_mad_u64_u32" && in.simple && in.destinations == 2 && is_vector(in.source[2]) && is_vector(in.destination[0]) &&
                    in.destination[1].kind == OperandKind::sgpr && in.destination[1].index + 1U < sreg::count;
    // Where not the whole destination is written, what stays is an input like any other.
    if (!in.simple || special(Special::keeps) || special(Special::swaps_rows) || in.keeps_high)
        for (int d = 0; d < in.destinations; ++d)
            if (is_vector(in.destination[d])) note_read(flow, in.destination[d]);
    return flow;
}

}  // namespace hipscope::sanitize
