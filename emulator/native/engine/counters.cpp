// Counter definitions follow AMD's counter tables for MI300 (rocprofiler-sdk counter_defs and the descriptions in
// ROCm Compute Profiler's documentation) and what the same programs gave on an MI300X; docs/emulator/timing.md has the
// comparison. SQ_WAVE_CYCLES, SQ_WAIT_* and SQ_ACTIVE_* tick once in four cycles, the other cycle counters in each.
#include "engine/counters.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>

namespace hipscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view mnemonic(const Instruction& i) {
    const std::string_view text = i.text;
    return text.substr(0, text.find(' '));
}

/// "F16", "F32", "F64" of an arithmetic instruction, or empty.
std::string_view float_type(std::string_view m) {
    for (const std::string_view type : {"f64", "f32", "f16"})
        if (contains(m, type)) return type == "f64" ? "F64" : type == "f32" ? "F32" : "F16";
    return {};
}

void count_valu(std::map<std::string, double>& out, const Instruction& i, double hits) {
    const std::string_view m = mnemonic(i);
    if (i.unit == Unit::mfma) {
        out["SQ_INSTS_MFMA"] += hits;
        out["SQ_VALU_MFMA_BUSY_CYCLES"] += hits * i.passes * 4;
        return;
    }
    if (m.starts_with("v_cvt")) {
        out["SQ_INSTS_VALU_CVT"] += hits;
        return;
    }
    const std::string_view type = float_type(m);
    if (!type.empty()) {
        // A packed instruction does two operations per lane and counts twice.
        const double n = m.starts_with("v_pk_") ? 2 * hits : hits;
        std::string_view operation;
        if (i.unit == Unit::valu_trans) operation = "TRANS";
        else if (contains(m, "fma") || contains(m, "_mac_") || contains(m, "_mad_")) operation = "FMA";
        else if (contains(m, "_add_") || contains(m, "_sub_") || contains(m, "_subrev_")) operation = "ADD";
        else if (contains(m, "_mul_")) operation = "MUL";
        if (!operation.empty()) out["SQ_INSTS_VALU_" + std::string(operation) + "_" + std::string(type)] += n;
        return;
    }
    // Moves, shifts and logic on untyped bits (b32, b64) count as neither.
    if (contains(m, "_u64") || contains(m, "_i64")) out["SQ_INSTS_VALU_INT64"] += hits;
    else if (contains(m, "_u32") || contains(m, "_i32")) out["SQ_INSTS_VALU_INT32"] += hits;
}

/// Operations of an MFMA instruction in units of 512, by the shape in its name ("v_mfma_f32_16x16x16_f16").
void count_mfma_operations(std::map<std::string, double>& out, const Instruction& i, double hits) {
    const std::string_view m = mnemonic(i);
    int dims[3] = {0, 0, 0};
    std::size_t at = m.find('x');
    if (at == std::string_view::npos) return;
    while (at > 0 && m[at - 1] >= '0' && m[at - 1] <= '9') --at;
    for (int& d : dims) {
        while (at < m.size() && m[at] >= '0' && m[at] <= '9') d = d * 10 + (m[at++] - '0');
        if (at < m.size() && m[at] == 'x') ++at;
    }
    const std::string_view input = m.substr(at);
    const char* type = contains(input, "f64") ? "F64" : contains(input, "bf16") ? "BF16" : contains(input, "f16") ? "F16"
                     : contains(input, "f8") ? "F8" : contains(input, "i8") ? "I8" : contains(input, "f32") ? "F32" : nullptr;
    if (type == nullptr) return;
    int blocks = 1;  // small shapes do several matrices at once, "_4b_" or by the older names' convention
    if (const std::size_t b = m.find("b_"); b != std::string_view::npos && b > 0 && m[b - 1] >= '0' && m[b - 1] <= '9')
        blocks = m[b - 1] - '0' + (b > 1 && m[b - 2] == '1' ? 10 : 0);
    out[std::string("SQ_INSTS_VALU_MFMA_") + type] += hits;
    out[std::string("SQ_INSTS_VALU_MFMA_MOPS_") + type] += hits * 2.0 * dims[0] * dims[1] * dims[2] * blocks / 512.0;
}

void count_instruction(std::map<std::string, double>& out, const Instruction& i, const ExecutionCounts& n) {
    const auto hits = static_cast<double>(n.hits);
    out["SQ_INSTS"] += hits;
    const std::string_view m = mnemonic(i);
    switch (i.unit) {
        case Unit::valu: case Unit::valu_half: case Unit::valu_trans: case Unit::mfma:
            out["SQ_INSTS_VALU"] += hits;
            out["SQ_THREAD_CYCLES_VALU"] += static_cast<double>(n.lanes) * i.passes;
            out["SQ_ACTIVE_INST_VALU"] += hits * i.passes;
            count_valu(out, i, hits);
            if (i.unit == Unit::mfma) count_mfma_operations(out, i, hits);
            break;
        case Unit::salu:
            out["SQ_INSTS_SALU"] += hits;
            out["SQ_ACTIVE_INST_SCA"] += hits;
            break;
        case Unit::smem:
            out["SQ_INSTS_SMEM"] += hits;
            out["SQ_ACTIVE_INST_SCA"] += hits;
            break;
        case Unit::lds: out["SQ_INSTS_LDS"] += hits; break;
        case Unit::branch:
            out["SQ_INSTS_BRANCH"] += hits;
            out["SQ_ACTIVE_INST_MISC"] += hits;
            break;
        case Unit::message: case Unit::end_program:  // the end of a wave is a message to the dispatcher
            out["SQ_INSTS_SENDMSG"] += hits;
            out["SQ_ACTIVE_INST_MISC"] += hits;
            break;
        case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch: {
            out["SQ_INSTS_VMEM"] += hits;
            const bool buffer = m.starts_with("buffer_");  // global_ and scratch_ are encoded as FLAT
            if (!buffer) out["SQ_INSTS_FLAT"] += hits;
            out[buffer ? "SQ_ACTIVE_INST_VMEM" : "SQ_ACTIVE_INST_FLAT"] += hits;
            const bool store = i.unit == Unit::vmem_store || (i.unit == Unit::scratch && contains(m, "store"));
            out[store || i.unit == Unit::vmem_atomic ? "SQ_INSTS_VMEM_WR" : "SQ_INSTS_VMEM_RD"] += hits;
            break;
        }
        case Unit::waitcnt: case Unit::barrier: case Unit::internal: break;
    }
}

void count_accesses(std::map<std::string, double>& out, const Instruction& i, const PatternCounts& p) {
    const auto accesses = static_cast<double>(p.accesses);
    switch (p.space) {
        case Space::lds:
            out["SQ_LDS_IDX_ACTIVE"] += static_cast<double>(p.lds_cycles);
            out["SQ_LDS_BANK_CONFLICT"] += static_cast<double>(p.lds_conflicts);
            if (p.kind == AccessKind::atomic_return) out["SQ_LDS_ATOMIC_RETURN"] += accesses;
            break;
        case Space::global: {
            const std::string unit = i.text.starts_with("buffer_") ? "TA_BUFFER_" : "TA_FLAT_";
            const auto l1 = static_cast<double>(p.l1_accesses);
            const auto lanes = static_cast<double>(p.lanes);
            out["TA_TOTAL_WAVEFRONTS_sum"] += accesses;
            out[unit + "WAVEFRONTS_sum"] += accesses;
            out["TD_LOAD_WAVEFRONT_sum"] += accesses;  // counts all of them on hardware, stores too
            out["TCP_TOTAL_ACCESSES_sum"] += l1;
            out["TCP_TOTAL_CACHE_ACCESSES_sum"] += static_cast<double>(p.l1_lookups);
            out["TCP_UTCL1_REQUEST_sum"] += static_cast<double>(p.l1_lookups);
            if (p.kind == AccessKind::load) {
                out[unit + "READ_WAVEFRONTS_sum"] += accesses;
                out["TCP_TOTAL_READ_sum"] += l1;
            } else if (p.kind == AccessKind::store) {
                out[unit + "WRITE_WAVEFRONTS_sum"] += accesses;
                out["TD_STORE_WAVEFRONT_sum"] += accesses;
                out["TCP_TOTAL_WRITE_sum"] += l1;
                out["TCP_TCC_WRITE_REQ_sum"] += static_cast<double>(p.sectors);
            } else {
                const bool returns = p.kind == AccessKind::atomic_return;
                out[unit + "ATOMIC_WAVEFRONTS_sum"] += accesses;
                out["TD_ATOMIC_WAVEFRONT_sum"] += accesses;
                out[returns ? "TCP_TOTAL_ATOMIC_WITH_RET_sum" : "TCP_TOTAL_ATOMIC_WITHOUT_RET_sum"] += lanes;
                out[returns ? "TCP_TCC_ATOMIC_WITH_RET_REQ_sum" : "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"] += static_cast<double>(p.sectors);
                out["TCC_ATOMIC_sum"] += static_cast<double>(p.sectors);
            }
            break;
        }
        case Space::scalar: {
            const auto dwords = std::max(1U, p.bytes / 4U);
            out["SQC_DCACHE_REQ"] += accesses;
            if (std::has_single_bit(dwords) && dwords <= 16) out["SQC_DCACHE_REQ_READ_" + std::to_string(dwords)] += accesses;
            break;
        }
        default: break;
    }
}

/// What is counted for every wave of the dispatch: where nothing occurs, 0 is the count.
void zero_exact_counters(std::map<std::string, double>& out) {
    for (const char* name :
         {"SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_GDS", "SQ_INSTS_VMEM", "SQ_INSTS_VMEM_RD",
          "SQ_INSTS_VMEM_WR", "SQ_INSTS_FLAT", "SQ_INSTS_BRANCH", "SQ_INSTS_SENDMSG", "SQ_INSTS_MFMA", "SQ_INSTS_VALU_CVT",
          "SQ_INSTS_VALU_INT32", "SQ_INSTS_VALU_INT64", "SQ_ACTIVE_INST_VMEM", "SQ_ACTIVE_INST_FLAT", "SQ_ACTIVE_INST_SCA",
          "SQ_ACTIVE_INST_MISC", "SQ_ACTIVE_INST_VALU", "SQ_THREAD_CYCLES_VALU", "SQ_VALU_MFMA_BUSY_CYCLES", "SQ_LDS_BANK_CONFLICT",
          "SQ_LDS_IDX_ACTIVE", "SQ_LDS_ATOMIC_RETURN", "SQC_DCACHE_REQ", "SQC_DCACHE_REQ_READ_1", "SQC_DCACHE_REQ_READ_2",
          "SQC_DCACHE_REQ_READ_4", "SQC_DCACHE_REQ_READ_8", "SQC_DCACHE_REQ_READ_16", "TA_TOTAL_WAVEFRONTS_sum",
          "TA_FLAT_WAVEFRONTS_sum", "TA_FLAT_READ_WAVEFRONTS_sum", "TA_FLAT_WRITE_WAVEFRONTS_sum", "TA_FLAT_ATOMIC_WAVEFRONTS_sum",
          "TA_BUFFER_WAVEFRONTS_sum", "TA_BUFFER_READ_WAVEFRONTS_sum", "TA_BUFFER_WRITE_WAVEFRONTS_sum",
          "TA_BUFFER_ATOMIC_WAVEFRONTS_sum", "TD_LOAD_WAVEFRONT_sum", "TD_STORE_WAVEFRONT_sum", "TD_ATOMIC_WAVEFRONT_sum",
          "TCP_TOTAL_ACCESSES_sum", "TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_UTCL1_REQUEST_sum", "TCP_TOTAL_READ_sum",
          "TCP_TOTAL_WRITE_sum", "TCP_TOTAL_ATOMIC_WITH_RET_sum", "TCP_TOTAL_ATOMIC_WITHOUT_RET_sum", "TCP_TCC_WRITE_REQ_sum",
          "TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "TCC_ATOMIC_sum"})
        out[name] = 0;
    for (const char* operation : {"ADD", "MUL", "FMA", "TRANS"})
        for (const char* type : {"F16", "F32", "F64"}) out[std::string("SQ_INSTS_VALU_") + operation + "_" + type] = 0;
    for (const char* type : {"F8", "I8", "F16", "BF16", "F32", "F64"}) {
        out[std::string("SQ_INSTS_VALU_MFMA_") + type] = 0;
        out[std::string("SQ_INSTS_VALU_MFMA_MOPS_") + type] = 0;
    }
}

/// Requests of the timed waves, and the same of all.
struct Scaled {
    double timed = 0, all = 0;
    void add(double requests, double scale) {
        timed += requests;
        all += requests * scale;
    }
    [[nodiscard]] double scale(double otherwise) const { return timed > 0 ? all / timed : otherwise; }
};

/// What vector requests of the timed waves stand for: each instruction's by its lines.
struct RequestScales {
    double loads, stores, atomics;
};

RequestScales request_scales(const DispatchResult& result, double waves) {
    const TimedResult& t = *result.timed;
    Scaled loads, stores, atomics;
    for (std::size_t i = 0; i < t.caches.size(); ++i) {
        const PatternCounts& pattern = result.counts->patterns[i];
        const double scale = line_scale(pattern, t.caches[i], waves);
        if (pattern.kind == AccessKind::load) loads.add(static_cast<double>(t.caches[i].requests), scale);
        else (pattern.kind == AccessKind::store ? stores : atomics).add(static_cast<double>(t.caches[i].lines), scale);
    }
    return {loads.scale(waves), stores.scale(waves), atomics.scale(waves)};
}

/// Requests of the L1s, the scalar caches and the L2, and what leaves the L2: of the timed XCD, scaled to all.
void add_cache_counters(std::map<std::string, double>& out, const DispatchResult& result, double waves) {
    const TimedResult& t = *result.timed;
    const L2Counts& l2 = t.l2;
    const auto [loads, stores, atomics] = request_scales(result, waves);
    const auto set = [&](const char* name, double scale, auto... counts) { out[name] = (static_cast<double>(counts) + ...) * scale; };
    double requests = 0;
    for (std::size_t i = 0; i < t.caches.size(); ++i) {
        const PatternCounts& pattern = result.counts->patterns[i];
        if (pattern.kind == AccessKind::load) requests += static_cast<double>(t.caches[i].requests) * line_scale(pattern, t.caches[i], waves);
    }
    // Reads of the scalar caches are among the L2's; there is as much of them for each wave.
    const auto scalar_misses = static_cast<double>(l2.fabric_reads_64), scalar_hits = static_cast<double>(l2.scalar_reads) - scalar_misses;
    const double read_hits = scalar_hits * waves + (static_cast<double>(l2.read_hits) - scalar_hits) * loads;
    const double read_misses = scalar_misses * waves + (static_cast<double>(l2.read_misses) - scalar_misses) * loads;
    const double hits = read_hits + static_cast<double>(l2.write_hits) * stores + static_cast<double>(l2.atomic_hits) * atomics;
    const double misses = read_misses + static_cast<double>(l2.write_misses) * stores + static_cast<double>(l2.atomic_misses) * atomics;
    Scaled fabric_reads;
    fabric_reads.add(static_cast<double>(l2.fabric_reads_128), loads);
    fabric_reads.add(scalar_misses, waves);
    set("TCP_TCC_READ_REQ_sum", 1, requests);
    set("TCC_READ_sum", 1, read_hits, read_misses);
    set("TCC_WRITE_sum", stores, l2.write_hits, l2.write_misses);
    set("TCC_REQ_sum", 1, hits, misses);
    set("TCC_HIT_sum", 1, hits);
    set("TCC_MISS_sum", 1, misses);
    set("TCC_EA0_RDREQ_sum", 1, fabric_reads.all);
    set("TCC_EA0_RDREQ_DRAM_sum", 1, fabric_reads.all);  // all memory is the device's own
    set("TCC_BUBBLE_sum", loads, l2.fabric_reads_128);
    set("TCC_EA0_RDREQ_32B_sum", 1, 0);
    set("TCC_EA0_RDREQ_LEVEL_sum", fabric_reads.scale(waves), l2.fabric_read_cycles);
    set("TCC_EA0_WRREQ_sum", stores, l2.fabric_writes_64, l2.fabric_writes_32);
    set("TCC_EA0_WRREQ_DRAM_sum", stores, l2.fabric_writes_64, l2.fabric_writes_32);
    set("TCC_EA0_WRREQ_64B_sum", stores, l2.fabric_writes_64);
    set("TCC_WRITEBACK_sum", stores, l2.evicted_lines, l2.written_back_lines);
    set("TCC_NORMAL_WRITEBACK_sum", stores, l2.evicted_lines);
    set("TCC_ALL_TC_OP_WB_WRITEBACK_sum", stores, l2.written_back_lines);
    set("SQC_DCACHE_HITS", waves, t.scalar_cache.hits);
    set("SQC_DCACHE_MISSES", waves, t.scalar_cache.misses);
    set("SQC_DCACHE_MISSES_DUPLICATE", waves, t.scalar_cache.duplicates);
    set("SQC_TC_DATA_READ_REQ", waves, l2.scalar_reads);
    set("SQC_ICACHE_MISSES", waves, t.icache.misses);
}

double stalled(const TimedResult& t, std::initializer_list<StallReason> reasons) {
    double cycles = 0;
    for (const InstructionTime& row : t.times)
        for (const StallReason reason : reasons) cycles += static_cast<double>(row.stall[static_cast<std::size_t>(reason)]);
    return cycles;
}

void add_cycle_counters(std::map<std::string, double>& out, const DispatchResult& result, const TimingConstants& c, double scale) {
    using enum StallReason;
    const TimedResult& t = *result.timed;
    const auto set = [&](const char* name, double value) { out[name] = value * scale; };
    set("SQ_WAVE_CYCLES", t.wave_cycles / 4);
    set("SQ_LEVEL_WAVES", t.wave_cycles);
    set("SQ_BUSY_CU_CYCLES", t.busy_cu_cycles);
    set("SQ_INST_LEVEL_VMEM", t.level_vmem);
    set("SQ_INST_LEVEL_SMEM", t.level_smem);
    set("SQ_INST_LEVEL_LDS", t.level_lds);
    set("SQ_WAIT_ANY", stalled(t, {global_memory, scratch_memory, scalar_memory, lds, atomic, barrier, sleep, instruction_fetch}) / 4);
    set("SQ_WAIT_INST_ANY", stalled(t, {dependency, issue_contention, pipe_busy, other}) / 4);
    out["SQ_ACTIVE_INST_ANY"] = out["SQ_ACTIVE_INST_VALU"] + out["SQ_ACTIVE_INST_SCA"] + out["SQ_ACTIVE_INST_FLAT"] +
                                out["SQ_ACTIVE_INST_VMEM"] + out["SQ_ACTIVE_INST_MISC"] + out["SQ_INSTS_LDS"];
    out["GRBM_GUI_ACTIVE"] = result.time_ns * c.clock_mhz / 1e3 * c.xcds;
    out["GRBM_SPI_BUSY"] = t.waves_end / std::max(t.covered, 1e-9) * c.xcds;
}

}  // namespace

double wave_scale(const PreparedLaunch& launch, const TimedResult& timed) {
    return timed.waves > 0 ? static_cast<double>(launch.waves()) / static_cast<double>(timed.waves) : 0;
}

double line_scale(const PatternCounts& all, const CacheCounts& timed, double waves) {
    return timed.lines > 0 && all.lines_used > 0 ? static_cast<double>(all.lines_used) / static_cast<double>(timed.lines) : waves;
}

std::map<std::string, double> hardware_counters(const PreparedLaunch& launch, const DispatchResult& result,
                                                const TimingConstants& c) {
    std::map<std::string, double> out;
    zero_exact_counters(out);
    const auto& code = launch.launch.object->code->program.instructions;
    const TimedResult& t = *result.timed;
    const double scale = wave_scale(launch, t);
    double fetches = static_cast<double>(t.refetches) * scale;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const bool memory = accesses_memory(code[i].unit);
        const ExecutionCounts& n = result.counts->executions[i];
        if (n.hits != 0) {
            count_instruction(out, code[i], n);
            if (i == 0 || code[i].address / kFetchBytes != code[i - 1].address / kFetchBytes) fetches += static_cast<double>(n.hits);
            if (memory && result.counts->patterns[slot].accesses != 0) count_accesses(out, code[i], result.counts->patterns[slot]);
        }
        if (memory) ++slot;
    }
    out["SQ_WAVES"] = out["SPI_CSN_WAVE"] = static_cast<double>(launch.waves());
    out["SPI_CSN_NUM_THREADGROUPS"] = static_cast<double>(launch.group_count);
    out["SQ_IFETCH"] = out["SQC_ICACHE_REQ"] = fetches;
    add_cache_counters(out, result, scale);
    add_cycle_counters(out, result, c, scale);
    return out;
}

}  // namespace hipscope
