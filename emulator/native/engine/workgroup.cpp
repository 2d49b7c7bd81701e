// Initial wave state (LLVM AMDGPUUsage, "Initial Kernel Execution State"; SGPR order by the descriptor's enable bits).
#include "engine/workgroup.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/host_services.hpp"

namespace hipscope {
namespace {

enum EnableBit : unsigned { private_buffer = 0, dispatch_ptr = 1, queue_ptr = 2, kernarg_ptr = 3, dispatch_id = 4, flat_scratch_init = 5, private_size = 6 };

std::uint64_t next_random(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

/// Eight xorshift generators (Marsaglia 2003) side by side: shifts that the compiler makes vector instructions of.
void fill_random(void* memory, std::size_t bytes, std::uint64_t seed, std::uint64_t flipped) {
    auto* out = static_cast<std::uint8_t*>(memory);
    std::uint64_t state[8];
    for (std::uint64_t& one : state) one = next_random(seed) | 1U;
    for (std::size_t i = 0; i < bytes; i += sizeof state) {
        for (std::uint64_t& one : state) {
            one ^= one << 13U;
            one ^= one >> 7U;
            one ^= one << 17U;
        }
        std::uint64_t shown[8];
        for (unsigned k = 0; k < 8; ++k) shown[k] = state[k] ^ flipped;
        std::memcpy(out + i, shown, std::min(sizeof shown, bytes - i));
    }
}

using ScalarBlocks = std::make_index_sequence<sreg::count / 16>;
static_assert(sreg::count % 16 == 0);

/// All scalar registers, block by block: the compiler makes `rep movs` and `rep stos` of the whole, which take long to start.
template <std::size_t... block>
void copy_scalars(Wave& to, const Wave& from, std::index_sequence<block...>) {
    (std::memcpy(&to.sgpr[block * 16], &from.sgpr[block * 16], 64), ...);
}

template <std::size_t... block>
void clear_scalars(Wave& wave, std::index_sequence<block...>) {
    (std::memset(&wave.sgpr[block * 16], 0, 64), ...);
}

/// Gives how many SGPRs, from s0 on, the launch sets.
std::uint32_t set_scalars(Wave& wave, const PreparedLaunch& p, std::uint64_t kernarg, const std::uint32_t (&group)[3]) {
    const Kernel& kernel = *p.launch.kernel;
    int next = 0;
    const auto enabled = [&](EnableBit bit) { return ((kernel.enable_bits >> bit) & 1U) != 0; };
    const auto push64 = [&](std::uint64_t value) { wave.set_s64(next, value); next += 2; };
    // Without architected flat scratch (gfx90a) the kernel is given a descriptor of its scratch and the wave's offset in it.
    // Here the descriptor's base stands for each wave's own private memory, so the offset is always zero.
    const bool architected = p.launch.object->arch != "gfx90a";
    if (enabled(private_buffer)) {
        constexpr std::uint32_t swizzled = 1U << 31U, lanes_interleaved = 3U << 21U, add_lane = 1U << 23U;
        push64(aperture::scratch_descriptor_base | std::uint64_t{swizzled} << 32U);
        push64(0xffffffffU | std::uint64_t{lanes_interleaved | add_lane} << 32U);
    }
    if (enabled(dispatch_ptr)) push64(p.packet);
    if (enabled(queue_ptr)) push64(p.queue_address);
    if (enabled(kernarg_ptr)) push64(kernarg);
    if (enabled(dispatch_id)) push64(1);
    if (enabled(flat_scratch_init)) push64(aperture::scratch_descriptor_base);
    for (unsigned i = 0; i < kernel.preload_dwords; ++i)
        std::memcpy(&wave.sgpr[static_cast<std::size_t>(next++)],
                    reinterpret_cast<const void*>(kernarg + (kernel.preload_offset + i) * 4ULL),  // NOLINT
                    4);
    if (enabled(private_size)) wave.sgpr[static_cast<std::size_t>(next++)] = p.scratch_per_lane;
    for (unsigned d = 0; d < 3; ++d)
        if (((kernel.rsrc2 >> (7 + d)) & 1U) != 0) wave.sgpr[static_cast<std::size_t>(next++)] = group[d];
    if (((kernel.rsrc2 >> 10U) & 1U) != 0) wave.sgpr[static_cast<std::size_t>(next++)] = 0;  // workgroup info
    if (!architected && (kernel.rsrc2 & 1U) != 0) wave.sgpr[static_cast<std::size_t>(next++)] = 0;
    wave.mode = ((kernel.rsrc1 >> 12U) & 0xffU) | ((kernel.rsrc1 >> 21U) & 1U) << 8U | ((kernel.rsrc1 >> 23U) & 1U) << 9U | ((kernel.rsrc1 >> 26U) & 1U) << 23U;
    return static_cast<std::uint32_t>(next);
}

/// Which bits of the packed work-item ids are set up (ENABLE_VGPR_WORKITEM_ID): a kernel that asks for x alone takes the
/// whole register for it.
std::uint32_t id_bits(std::uint32_t rsrc2) {
    const std::uint32_t last = (rsrc2 >> 11U) & 3U;
    return last == 0 ? 0x3ffU : last == 1 ? 0xfffffU : 0x3fffffffU;
}

/// Packed work-item ids of one wave, x first; goes on from `at` and leaves it at the next wave's first work-item.
void number_lanes(std::uint32_t* row, std::uint32_t bits, const std::uint32_t (&size)[3], std::uint32_t (&at)[3]) {
    for (int lane = 0; lane < kLanes; ++lane) {
        row[lane] = (at[0] | at[1] << 10U | at[2] << 20U) & bits;
        if (++at[0] < size[0]) continue;
        at[0] = 0;
        if (++at[1] < size[1]) continue;
        at[1] = 0;
        ++at[2];
    }
}

}  // namespace

// A damaged disassembly may name fewer registers than the instruction uses; what the last wave then reads is still ours.
constexpr std::size_t kWidestOperand = 32;

void Workgroup::prepare(const PreparedLaunch& launch, Memory& memory) {
    strays = launch.strays;
    cycles_each = launch.cycles_each;
    waves.resize(launch.waves_per_group);
    state.resize(launch.waves_per_group);
    registers.resize(std::size_t{launch.waves_per_group} * launch.vgpr_rows + kWidestOperand);
    lds.resize(launch.lds_bytes + 16);
    scratch.resize(std::size_t{launch.scratch_per_lane} * kLanes * launch.waves_per_group);
    for (std::uint32_t i = 0; i < launch.waves_per_group; ++i) {
        Wave& wave = waves[i];
        wave.vgpr = reinterpret_cast<std::uint32_t(*)[kLanes]>(registers.data() + std::size_t{i} * launch.vgpr_rows);
        wave.id_in_group = i;
        wave.code_base = launch.launch.object->image;
        wave.program = &launch.launch.object->code->program;
        wave.memory = &memory;
        wave.lds = lds.data();
        wave.lds_bytes = launch.lds_bytes;
        wave.scratch = scratch.data() + std::size_t{i} * kLanes * launch.scratch_per_lane;
        wave.scratch_per_lane = launch.scratch_per_lane;
        wave.group = this;
        wave.sync = launch.sync.get();
    }
}

void Workgroup::start(const PreparedLaunch& p, std::uint64_t which) {
    number = which;
    alive = p.waves_per_group;
    waiting = 0;
    executed = 0;
    const Launch& launch = p.launch;
    const std::uint32_t group[3] = {static_cast<std::uint32_t>(which % p.groups[0]),
                                    static_cast<std::uint32_t>(which / p.groups[0] % p.groups[1]),
                                    static_cast<std::uint32_t>(which / p.groups[0] / p.groups[1])};
    std::uint32_t size[3];  // smaller in the last workgroup of a row when the grid is not a multiple
    for (unsigned d = 0; d < 3; ++d)
        size[d] = std::min(launch.workgroup[d], launch.grid[d] - group[d] * launch.workgroup[d]);
    const std::uint32_t items = size[0] * size[1] * size[2];
    if (p.poison.enabled) {
        const std::uint64_t seed = p.poison.seed ^ (which * 0x9e3779b97f4a7c15ULL);
        const std::uint64_t flipped = p.poison.inverted ? ~0ULL : 0;
        fill_random(lds.data(), lds.size(), seed, flipped);
        fill_random(scratch.data(), scratch.size(), seed + 1, flipped);
        fill_random(registers.data(), registers.size() * sizeof(RegisterRow), seed + 2, flipped);
    } else if (!lds.empty()) {
        std::memset(lds.data(), 0, lds.size());
    }
    const std::uint32_t bits = id_bits(launch.kernel->rsrc2);
    std::uint32_t at[3] = {0, 0, 0};
    for (std::uint32_t i = 0; i < p.waves_per_group; ++i) {
        Wave& wave = waves[i];
        if (i == 0) {
            clear_scalars(wave, ScalarBlocks{});
            scalars_set = set_scalars(wave, p, kernarg != 0 ? kernarg : p.kernarg_address, group);
        } else {  // all waves start with the same scalars, but for EXEC
            copy_scalars(wave, waves[0], ScalarBlocks{});
            wave.mode = waves[0].mode;
        }
        wave.scc = false;
        wave.xcd = static_cast<std::uint32_t>(which % p.xcds);
        wave.pc = p.entry;
        wave.clock = 0;
        wave.sync_wait = 0;
        if (wave.fault.kind != FaultKind::none) wave.fault = {};
        wave.realtime_base = p.realtime;
        wave.realtime = p.services != nullptr ? &p.services->realtime : nullptr;
        const std::uint32_t first = i * kLanes;
        const std::uint32_t active = first < items ? std::min<std::uint32_t>(kLanes, items - first) : 0;
        wave.set_s64(sreg::exec, active == kLanes ? ~0ULL : (1ULL << active) - 1);
        if (size[0] == items) {  // one row, the usual case
            for (std::uint32_t lane = 0; lane < kLanes; ++lane) wave.vgpr[0][lane] = first + lane;
        } else {
            number_lanes(wave.vgpr[0], bits, size, at);
        }
        state[i] = active == 0 ? WaveState::done : WaveState::ready;
        if (active == 0) --alive;
    }
}

bool Workgroup::release_barrier() {
    if (!barrier_complete()) return false;
    for (WaveState& s : state)
        if (s == WaveState::at_barrier) s = WaveState::ready;
    waiting = 0;
    return true;
}

}  // namespace hipscope
