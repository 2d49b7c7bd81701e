// Counter definitions follow AMD's counter tables for MI300 (rocprofiler-sdk counter_defs and the descriptions in
// ROCm Compute Profiler's documentation). SQ cycle counters tick once in four cycles.
#include "engine/counters.hpp"

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
        out["SQ_INSTS_VALU_MFMA_TOTAL"] += hits;
        out["SQ_INSTS_MFMA"] += hits;
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
    if (contains(m, "_u64") || contains(m, "_i64") || contains(m, "_b64")) out["SQ_INSTS_VALU_INT64"] += hits;
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
    out[std::string("SQ_INSTS_VALU_MFMA_MOPS_") + type] += hits * 2.0 * dims[0] * dims[1] * dims[2] * blocks / 512.0;
}

void count_instruction(std::map<std::string, double>& out, const Instruction& i, const ExecutionCounts& n) {
    const auto hits = static_cast<double>(n.hits);
    out["SQ_INSTS"] += hits;
    const std::string_view m = mnemonic(i);
    const bool flat = m.starts_with("flat_");
    switch (i.unit) {
        case Unit::valu: case Unit::valu_half: case Unit::valu_trans: case Unit::mfma:
            out["SQ_INSTS_VALU"] += hits;
            out["SQ_THREAD_CYCLES_VALU"] += static_cast<double>(n.lanes) * i.passes;
            out["SQ_ACTIVE_INST_VALU"] += hits * i.passes;
            count_valu(out, i, hits);
            if (i.unit == Unit::mfma) count_mfma_operations(out, i, hits);
            break;
        case Unit::salu: out["SQ_INSTS_SALU"] += hits; break;
        case Unit::smem: out["SQ_INSTS_SMEM"] += hits; break;
        case Unit::lds: out["SQ_INSTS_LDS"] += hits; break;
        case Unit::branch: out["SQ_INSTS_BRANCH"] += hits; break;
        case Unit::message: out["SQ_INSTS_SENDMSG"] += hits; break;
        case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch: {
            out["SQ_INSTS_VMEM"] += hits;
            if (flat) out["SQ_INSTS_FLAT"] += hits;
            const bool store = i.unit == Unit::vmem_store || (i.unit == Unit::scratch && contains(m, "store"));
            out[store || i.unit == Unit::vmem_atomic ? "SQ_INSTS_VMEM_WR" : "SQ_INSTS_VMEM_RD"] += hits;
            break;
        }
        case Unit::waitcnt: case Unit::barrier: case Unit::internal: case Unit::end_program: break;
    }
}

void count_accesses(std::map<std::string, double>& out, const PatternCounts& p) {
    const auto accesses = static_cast<double>(p.accesses);
    const auto lanes = static_cast<double>(p.lanes);
    switch (p.space) {
        case Space::lds:
            out["SQ_LDS_IDX_ACTIVE"] += static_cast<double>(p.lds_cycles);
            out["SQ_LDS_BANK_CONFLICT"] += static_cast<double>(p.lds_conflicts);
            if (p.kind == AccessKind::atomic_return) out["SQ_LDS_ATOMIC_RETURN"] += accesses;
            break;
        case Space::global:
            out["TA_TOTAL_WAVEFRONTS_sum"] += accesses;
            out["TCP_TOTAL_ACCESSES_sum"] += lanes;
            out["TCP_TOTAL_CACHE_ACCESSES_sum"] += std::max(lanes / 4, static_cast<double>(p.lines_used));
            if (p.kind == AccessKind::load) {
                out["TA_FLAT_READ_WAVEFRONTS_sum"] += accesses;
                out["TCP_TOTAL_READ_sum"] += lanes;
            } else if (p.kind == AccessKind::store) {
                out["TA_FLAT_WRITE_WAVEFRONTS_sum"] += accesses;
                out["TCP_TOTAL_WRITE_sum"] += lanes;
                out["TCP_TCC_WRITE_REQ_sum"] += static_cast<double>(p.sectors);
            } else {
                out["TA_FLAT_ATOMIC_WAVEFRONTS_sum"] += accesses;
                out[p.kind == AccessKind::atomic ? "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum" : "TCP_TCC_ATOMIC_WITH_RET_REQ_sum"] +=
                    static_cast<double>(p.sectors);
                out["TCC_ATOMIC_sum"] += static_cast<double>(p.sectors);
            }
            break;
        default: break;
    }
}

}  // namespace

double wave_scale(const PreparedLaunch& launch, const TimedResult& timed) {
    return timed.waves > 0 ? static_cast<double>(launch.waves()) / static_cast<double>(timed.waves) : 0;
}

std::map<std::string, double> hardware_counters(const PreparedLaunch& launch, const DispatchResult& result,
                                                const TimingConstants& c) {
    std::map<std::string, double> out;
    for (const char* always : {"SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_VMEM_RD",
                               "SQ_INSTS_VMEM_WR", "SQ_INSTS_FLAT", "SQ_INSTS_BRANCH", "SQ_LDS_BANK_CONFLICT",
                               "SQ_LDS_IDX_ACTIVE", "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum",
                               "TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "TCC_ATOMIC_sum"})
        out[always] = 0;
    const auto& code = launch.launch.object->code->program.instructions;
    for (std::size_t i = 0; i < code.size(); ++i)
        if (result.counts->executions[i].hits != 0) count_instruction(out, code[i], result.counts->executions[i]);
    for (const PatternCounts& p : result.counts->patterns)
        if (p.accesses != 0) count_accesses(out, p);
    out["SQ_WAVES"] = static_cast<double>(launch.waves());
    const TimedResult& t = *result.timed;
    const double scale = wave_scale(launch, t);
    double l2_hits = 0;
    double l2_misses = 0;
    double reads = 0;
    for (std::size_t i = 0; i < t.caches.size(); ++i) {
        const CacheCounts& cache = t.caches[i];
        l2_hits += static_cast<double>(cache.l2_hits);
        l2_misses += static_cast<double>(cache.memory_lines);
        if (result.counts->patterns[i].kind == AccessKind::load) reads += static_cast<double>(cache.requests);
    }
    out["TCP_TCC_READ_REQ_sum"] = reads * scale;
    const double writes = out["TCP_TCC_WRITE_REQ_sum"];
    out["TCC_REQ_sum"] = reads * scale + writes + out["TCC_ATOMIC_sum"];
    out["TCC_READ_sum"] = reads * scale;
    out["TCC_WRITE_sum"] = writes;
    out["TCC_MISS_sum"] = l2_misses * scale;
    out["TCC_HIT_sum"] = l2_hits * scale + writes;
    out["TCC_EA0_RDREQ_sum"] = l2_misses * scale;
    out["TCC_EA0_RDREQ_32B_sum"] = 0;
    out["TCC_BUBBLE_sum"] = l2_misses * scale;  // 128-byte reads
    out["TCC_EA0_WRREQ_sum"] = t.memory_write_bytes / 64 * scale;
    out["TCC_EA0_WRREQ_64B_sum"] = t.memory_write_bytes / 64 * scale;
    out["SQ_WAVE_CYCLES"] = t.wave_cycles * scale / 4;
    out["SQ_BUSY_CU_CYCLES"] = t.busy_cu_cycles * scale / 4;
    const double cycles = result.time_ns * c.clock_mhz / 1e3;
    out["GRBM_GUI_ACTIVE"] = cycles * c.xcds;
    double stall = 0;
    for (const InstructionTime& row : t.times)
        for (const std::int64_t s : row.stall) stall += static_cast<double>(s);
    out["SQ_WAIT_ANY"] = stall * scale / 4;
    return out;
}

}  // namespace hipscope
