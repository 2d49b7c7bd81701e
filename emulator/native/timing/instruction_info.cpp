// Pipe occupancy and in-order result latencies. Dependencies are followed within a basic block only: a branch takes
// longer than any ALU result.
#include "timing/instruction_info.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/counts.hpp"

namespace hipscope {
namespace {

bool vector_alu(Unit unit) {
    return unit == Unit::valu || unit == Unit::valu_half || unit == Unit::valu_trans || unit == Unit::mfma;
}

bool overlap(const Operand& a, const Operand& b) {
    if (a.kind != b.kind || a.kind == OperandKind::none || a.kind == OperandKind::literal) return false;
    return a.index < b.index + b.dwords && b.index < a.index + a.dwords;
}

bool reads(const Instruction& reader, const Operand& written) {
    return std::any_of(std::begin(reader.source), std::end(reader.source),
                       [&](const Operand& source) { return overlap(source, written); });
}

bool writes(const Instruction& writer, const Operand& register_range) {
    return std::any_of(std::begin(writer.destination), std::end(writer.destination),
                       [&](const Operand& destination) { return overlap(destination, register_range); });
}

/// Conversions between single precision and integers, halves or bytes go at the rate of the transcendental unit (LLVM's
/// WriteFloatCvt, read with llvm-mca); those of doubles, of 16-bit integers and of parts of a byte do not.
bool slow_conversion(const Instruction& i) {
    static constexpr std::string_view names[] = {
        "v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_i32_f32", "v_cvt_u32_f32", "v_cvt_rpi_i32_f32", "v_cvt_flr_i32_f32", "v_cvt_off_f32_i4",
        "v_cvt_f32_f16", "v_cvt_f16_f32", "v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8", "v_cvt_pk_fp8_f32",
        "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"};
    return i.unit == Unit::valu && std::any_of(std::begin(names), std::end(names), [&](std::string_view name) { return i.text.starts_with(name); });
}

/// A matrix instruction that adds to exactly what another one has written gets it forwarded (LLVM's hazard table asks for
/// no wait states there); as one of the factors it must be in the registers.
bool accumulates(const Instruction& reader, const Operand& result) {
    if (reader.unit != Unit::mfma || reader.sources < 3) return false;
    const Operand& addend = reader.source[2];
    if (addend.index != result.index || addend.dwords != result.dwords || !overlap(addend, result)) return false;
    return !overlap(reader.source[0], result) && !overlap(reader.source[1], result);
}

/// Cycles from the issue of `writer` until `reader` can issue when it reads the result.
int latency(const Instruction& writer, const Instruction& reader, const Operand& result, const TimingConstants& c) {
    if (writer.unit == Unit::mfma && accumulates(reader, result)) return 0;  // the pipe itself is busy as long
    if (writer.unit == Unit::mfma) return c.mfma_latency + writer.passes * c.mfma_pass_cycles;
    if (writer.unit == Unit::valu_trans) return c.trans_latency;
    if (vector_alu(writer.unit)) {
        if (result.kind == OperandKind::sgpr && !vector_alu(reader.unit)) return c.valu_to_scalar_latency;
        if (slow_conversion(writer)) return c.valu_latency + c.conversion_cycles - c.valu_cycles;
        return writer.unit == Unit::valu_half ? c.valu_latency + c.valu_half_cycles - c.valu_cycles : c.valu_latency;
    }
    if (writer.unit == Unit::salu) return c.salu_latency;
    return 0;  // memory results are waited for by s_waitcnt
}

std::uint16_t port_cycles(const Instruction& i, const TimingConstants& c) {
    switch (i.unit) {
        case Unit::valu: return static_cast<std::uint16_t>(slow_conversion(i) ? c.conversion_cycles : c.valu_cycles);
        case Unit::valu_half: return static_cast<std::uint16_t>(c.valu_half_cycles);
        case Unit::valu_trans: return static_cast<std::uint16_t>(c.trans_cycles);
        case Unit::mfma: return static_cast<std::uint16_t>(std::max<int>(1, i.passes) * c.mfma_pass_cycles);
        case Unit::smem: return static_cast<std::uint16_t>(c.smem_issue_cycles);
        case Unit::lds: return static_cast<std::uint16_t>(c.lds_issue_cycles);
        case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch:
            return static_cast<std::uint16_t>(c.vmem_issue_cycles);
        case Unit::message: return static_cast<std::uint16_t>(c.message_cycles);
        default: return static_cast<std::uint16_t>(c.salu_cycles);
    }
}

void find_dependencies(const std::vector<Instruction>& code, const std::vector<bool>& leader, std::size_t at,
                       const TimingConstants& c, InstructionInfo& info) {
    const Instruction& reader = code[at];
    for (std::size_t distance = 1; distance < kDependencyReach && distance <= at; ++distance) {
        if (leader[at - distance + 1] || info.dependency_count == 4) return;
        const Instruction& writer = code[at - distance];
        for (const Operand& result : writer.destination) {
            if (!reads(reader, result)) continue;
            bool newer = false;  // a later write hides this one
            for (std::size_t d = 1; d < distance; ++d) newer = newer || writes(code[at - d], result);
            const int cycles = latency(writer, reader, result, c);
            if (newer || cycles <= c.valu_cycles * static_cast<int>(distance)) continue;
            if (info.dependency_count < 4)
                info.dependency[info.dependency_count++] = {static_cast<std::uint8_t>(distance),
                                                            static_cast<std::uint16_t>(cycles)};
        }
    }
}

bool exchanges_lanes(std::string_view text) {
    for (const std::string_view name : {"ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop"})
        if (text.starts_with(name)) return true;
    return false;
}

/// Global memory and what the wave has for itself. Loads and stores of wider scope and volatile ones say so. Not LDS, where
/// one wave may wait for another by the plainest of loads.
bool plain_access(const Instruction& in) {
    const std::string_view text = in.text;
    for (const std::string_view scope : {" sc0", " sc1", " glc"})
        if (text.find(scope) != std::string_view::npos) return false;
    switch (in.unit) {
        case Unit::smem: return text.starts_with("s_load") || text.starts_with("s_buffer_load");
        case Unit::vmem_load: case Unit::vmem_store: case Unit::scratch: return true;
        case Unit::lds: return exchanges_lanes(text);
        default: return false;
    }
}

bool communicates(const Instruction& in, bool plain) {
    if (in.unit == Unit::lds) return false;  // see waves_meet_in_lds
    if (accesses_memory(in.unit)) return !plain && !in.text.starts_with("s_memtime") && !in.text.starts_with("s_memrealtime");
    if (in.unit == Unit::message) return true;
    if (in.unit != Unit::internal) return false;
    return !in.text.starts_with("s_nop") && !in.text.starts_with("s_setprio");
}

/// The instructions at [entry, end), as indices.
std::pair<std::size_t, std::size_t> range_of(const std::vector<Instruction>& code, std::uint64_t entry, std::uint64_t end) {
    const auto before = [](const Instruction& in, std::uint64_t address) { return in.address < address; };
    const auto index = [&](std::uint64_t address) {
        return static_cast<std::size_t>(std::lower_bound(code.begin(), code.end(), address, before) - code.begin());
    };
    return {index(entry), index(end)};
}

/// What the parts of a fence take. By LLVM's memory model of gfx942 `sc1` is the device, `sc0 sc1` the system; gfx90a, which writes back for the
/// system only, says neither. Narrower ones have to wait for stores alone.
std::uint16_t cache_cycles(const Instruction& in, const TimingConstants& c) {
    const bool sc0 = in.text.find(" sc0") != std::string::npos, sc1 = in.text.find(" sc1") != std::string::npos;
    if (in.text.starts_with("buffer_wbl2")) {
        if (sc0 && !sc1) return static_cast<std::uint16_t>(c.store_latency);
        return static_cast<std::uint16_t>(c.fence_release_cycles * (sc0 == sc1 ? c.fence_system_factor : 1));
    }
    if (in.text.starts_with("buffer_inv")) return static_cast<std::uint16_t>(sc1 ? c.fence_acquire_cycles : c.store_latency);
    return 0;
}

}  // namespace

bool waves_communicate(const Program& program, const std::vector<InstructionInfo>& infos, std::uint64_t entry, std::uint64_t end) {
    const auto [first, last] = range_of(program.instructions, entry, end);
    const auto any = [](auto from, auto to) { return std::any_of(from, to, [](const InstructionInfo& i) { return i.communicates; }); };
    const auto begin = infos.begin() + static_cast<std::ptrdiff_t>(first), stop = infos.begin() + static_cast<std::ptrdiff_t>(last);
    const bool calls = std::any_of(begin, stop, [](const InstructionInfo& i) { return i.leaves_kernel; });
    return calls ? any(infos.begin(), infos.end()) : any(begin, stop);
}

bool waves_meet_in_lds(const Program& program, const std::vector<InstructionInfo>& infos, std::uint64_t entry, std::uint64_t end) {
    const std::vector<Instruction>& code = program.instructions;
    const auto [first, last] = range_of(code, entry, end);
    for (std::size_t i = first; i < last; ++i) {
        if (infos[i].leaves_kernel) return true;
        if (infos[i].unit == Unit::lds && infos[i].early == 0) return true;
        if (infos[i].unit != Unit::branch) continue;
        if (infos[i].target < first || infos[i].target >= last) return true;
        if (infos[i].target > i) continue;
        bool looks = false, barrier = false;
        for (std::size_t k = infos[i].target; k <= i; ++k) {
            looks = looks || infos[k].early == InstructionInfo::plain_lds;
            barrier = barrier || infos[k].unit == Unit::barrier;
        }
        if (looks && !barrier) return true;
    }
    return false;
}

std::vector<InstructionInfo> instruction_infos(const Program& program, const TimingConstants& constants) {
    const std::vector<Instruction>& code = program.instructions;
    std::vector<bool> leader(code.size() + 1, false);
    for (std::size_t i = 0; i < code.size(); ++i)
        if (code[i].unit == Unit::branch) {
            leader[i + 1] = true;
            if (code[i].target < code.size()) leader[code[i].target] = true;
        }
    std::vector<InstructionInfo> infos(code.size());
    for (std::size_t i = 0; i < code.size(); ++i) {
        InstructionInfo& info = infos[i];
        info.unit = code[i].unit;
        info.target = code[i].target;
        const bool alone = !accesses_memory(info.unit) && info.unit != Unit::message, plain = plain_access(code[i]);
        const bool plain_lds = info.unit == Unit::lds && (code[i].text.starts_with("ds_read") || code[i].text.starts_with("ds_write"));
        info.early = alone ? InstructionInfo::alone : plain ? InstructionInfo::plain_access : plain_lds ? InstructionInfo::plain_lds : 0;
        info.communicates = communicates(code[i], plain);
        info.leaves_kernel = code[i].text.starts_with("s_swappc") || code[i].text.starts_with("s_setpc");
        info.port_cycles = port_cycles(code[i], constants);
        info.fetch_line = static_cast<std::uint32_t>(code[i].address / static_cast<unsigned>(constants.icache_line_bytes));
        info.invalidates_l1 = code[i].text.starts_with("buffer_inv");
        const bool load = info.unit == Unit::vmem_load, nt = code[i].modifiers.nt, device_scope = code[i].modifiers.sc1;
        info.policy = {load && (nt || device_scope), nt && (load || info.unit == Unit::vmem_store)};
        info.cache_cycles = cache_cycles(code[i], constants);
        info.starts_fetch = i == 0 || code[i].address / kFetchBytes != code[i - 1].address / kFetchBytes;
        if (code[i].text.starts_with("s_nop")) info.idle_cycles = static_cast<std::uint16_t>(4 * (code[i].target + 1));
        find_dependencies(code, leader, i, constants, info);
    }
    return infos;
}

}  // namespace hipscope
