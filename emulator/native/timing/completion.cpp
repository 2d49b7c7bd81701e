// When an executed memory instruction's result is there: caches, LDS and the memory path, pushed into the queue that
// s_waitcnt looks at.
#include <algorithm>

#include "timing/model.hpp"

namespace hipscope {

void XcdSimulator::Model::complete_memory(Cu& cu, TimedWave& w, const InstructionInfo& i, const Touched& access,
                                          std::int64_t t, std::uint32_t pc) {
    if (access.space == Space::scalar) {
        const std::int64_t done = scalar_load(cu, access, t);
        result.level_smem += static_cast<double>(done - t);
        w.local_and_scalar.push({done, pc, StallReason::scalar_memory});
        return;
    }
    if (access.space == Space::lds || i.unit == Unit::lds) {
        complete_lds(cu, w, access, i.unit != Unit::lds, t, pc);
        return;
    }
    std::int64_t done = t + c.l1_latency;
    StallReason reason = StallReason::global_memory;
    if (access.space == Space::scratch) {
        done = scratch(cu, access, t);
        reason = StallReason::scratch_memory;
    } else if (access.space == Space::global && access.lanes != 0) {
        if (t >= cu.memory.address_free) cu.memory.held = CuMemory::Held::no;
        CacheCounts& counts = result.caches[static_cast<std::size_t>(slots.slot[pc])];
        const std::int64_t start = std::max(t, cu.memory.address_free);
        switch (access.kind) {
            case AccessKind::load: done = shared.load(cu.memory, access, i.policy, pc, start, counts); break;
            case AccessKind::store: done = shared.store(cu.memory, access, i.policy, pc, start, counts); break;
            case AccessKind::atomic: case AccessKind::atomic_return:
                done = shared.atomic(cu.memory, access, pc, start, counts);
                reason = StallReason::atomic;
                break;
        }
    }
    result.level_vmem += static_cast<double>(done - t);
    push_vector(w, {done, pc, reason});
}

void XcdSimulator::Model::complete_lds(Cu& cu, TimedWave& w, const Touched& access, bool vector, std::int64_t t,
                                       std::uint32_t pc) {
    const bool banks = access.space == Space::lds;  // permutes use the LDS's crossbar and touch no bank
    const int in_banks = banks ? access.lds_cycles : 0;
    // Two SIMDs share a way to the LDS and one back. Addresses and what is written go in, what is read comes out.
    const bool writes = access.kind != AccessKind::load || !banks;
    const int data = kLanes * access.bytes * access.lds_addresses / (writes ? c.lds_way_bytes_per_cycle : c.lds_way_back_bytes_per_cycle);
    const int on_way = writes ? c.lds_issue_cycles + data : std::max(c.lds_issue_cycles, data);
    const std::int64_t start = std::max(t, cu.lds_way_free[w.simd / 2]);
    const std::int64_t served = in_banks == 0 ? start : cu.lds_banks.serve(start, in_banks) - in_banks;
    cu.lds_way_free[w.simd / 2] = std::max(start + on_way, served + in_banks);
    result.lds_busy += std::max<double>(in_banks, on_way / 2.0);
    const std::int64_t done = served + std::max(in_banks, c.lds_issue_cycles) - c.lds_issue_cycles + (banks && access.bytes > 8 ? c.lds_wide_latency : c.lds_latency);
    result.level_lds += static_cast<double>(done - t);
    w.local_and_scalar.push({done, pc, StallReason::lds});
    if (vector) push_vector(w, {done, pc, StallReason::lds});
}

std::int64_t XcdSimulator::Model::scratch(Cu& cu, const Touched& access, std::int64_t t) {
    const std::int64_t start = std::max(t, cu.memory.address_free);
    const int cycles = std::max(4, access.lanes * access.bytes / c.return_bytes_per_cycle);
    cu.memory.address_free = start + cycles;
    cu.memory.busy += cycles;
    return start + cycles + c.l1_latency;
}

std::int64_t XcdSimulator::Model::scalar_load(Cu& cu, const Touched& access, std::int64_t t) {
    LineCache& cache = scalar_caches[static_cast<std::size_t>(cu.sqc)];
    const auto line_bytes = static_cast<std::uint64_t>(c.scalar_line_bytes);
    const std::uint64_t first = access.address / line_bytes;
    const std::uint64_t last = (access.address + std::max<std::uint64_t>(access.bytes, 1) - 1) / line_bytes;
    std::int64_t done = t;
    for (std::uint64_t line = first; line <= last; ++line)
        done = std::max(done, cache.get(line, t, c.scalar_hit_cycles, [&] {
            return shared.read_line(line * line_bytes >> kLineBits, t) + c.scalar_l2_cycles - c.l2_latency;
        }));
    return done;
}

/// Cycles until the next instruction of the wave may issue.
std::int64_t XcdSimulator::Model::complete_internal(Cu& cu, TimedWave& w, const InstructionInfo& i, std::int64_t t,
                                                    std::uint32_t pc) {
    if (i.invalidates_l1) cu.memory.l1.clear();
    if (i.cache_cycles != 0) {
        t = room_in(w.vector_memory, t, pc);
        push_vector(w, {t + i.cache_cycles, pc, StallReason::global_memory});
    }
    if (i.idle_cycles > 4) charge(pc, StallReason::dependency, i.idle_cycles - 4);
    return i.idle_cycles;
}

void XcdSimulator::Model::push_vector(TimedWave& w, Pending p) {
    if (w.vector_memory.size > 0) p.time = std::max(p.time, w.vector_memory.back().time);  // results come back in order
    w.vector_memory.push(p);
}

}  // namespace hipscope
