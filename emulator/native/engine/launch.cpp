// Fills the AQL dispatch packet and the kernarg segment, hidden arguments by their metadata name.
#include "engine/launch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "core/wave.hpp"
#include "engine/host_services.hpp"

namespace hipscope {
namespace {

constexpr std::uint64_t kPacketOffset = 0, kQueueOffset = 256, kKernargOffset = 1024;
constexpr std::uint32_t kStackReserve = 8192;  // per lane, for functions whose frames the compiler cannot bound

// COMPUTE_TMPRING_SIZE.WAVESIZE has 13 bits of 1 KiB for a wave of 64 lanes (CDNA3 register reference).
constexpr std::uint32_t kLargestScratch = 8192 * 1024 / 64;

void* at(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <class T>
void put(std::uint64_t address, T value) {
    std::memcpy(at(address), &value, sizeof value);
}

/// Layout of hsa_kernel_dispatch_packet_t (HSA runtime specification 2.10).
void write_packet(const PreparedLaunch& p) {
    std::memset(at(p.packet), 0, 64);
    const Launch& launch = p.launch;
    put<std::uint16_t>(p.packet, 0x0b02);  // kernel dispatch, system-scope acquire and release
    put<std::uint16_t>(p.packet + 2, launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1);
    for (unsigned d = 0; d < 3; ++d) {
        put(p.packet + 4 + 2 * d, static_cast<std::uint16_t>(launch.workgroup[d]));
        put(p.packet + 12 + 4 * d, launch.grid[d]);
    }
    put(p.packet + 24, p.scratch_per_lane);
    put(p.packet + 28, p.lds_bytes);
    put(p.packet + 32, launch.kernel->descriptor_address);
    put(p.packet + 40, p.kernarg_address);
}

/// What cooperative groups read (ockl's cg.cl, struct mg_info): one grid of one device. Gives its address.
std::uint64_t write_cooperation(const PreparedLaunch& p) {
    const std::uint64_t info = p.packet - kPacketOffset + LaunchArea::cooperation;
    const std::uint64_t all = std::uint64_t{p.launch.grid[0]} * p.launch.grid[1] * p.launch.grid[2];
    std::memset(at(info), 0, LaunchArea::cooperation_bytes);
    put(info, info + 64);                  // the barrier of all grids
    put<std::uint32_t>(info + 8, 0);       // number of this grid
    put<std::uint32_t>(info + 12, 1);      // grids
    put<std::uint64_t>(info + 16, 0);      // work-items of the grids before this one
    put(info + 24, all);                   // of all grids
    put(info + 40, static_cast<std::uint32_t>(p.group_count));  // newer libraries: for the barrier of this grid, at 32
    return info;
}

void write_hidden(const PreparedLaunch& p, const KernelArgument& argument) {
    const std::uint64_t where = p.kernarg_address + argument.offset;
    const Launch& launch = p.launch;
    const std::string_view kind = argument.value_kind;
    const auto axis = std::min<std::size_t>(static_cast<unsigned char>(kind.back() - 'x'), 2);
    if (kind.starts_with("hidden_block_count_")) put(where, launch.grid[axis] / launch.workgroup[axis]);
    else if (kind.starts_with("hidden_group_size_")) put(where, static_cast<std::uint16_t>(launch.workgroup[axis]));
    else if (kind.starts_with("hidden_remainder_"))
        put(where, static_cast<std::uint16_t>(launch.grid[axis] % launch.workgroup[axis]));
    else if (kind.starts_with("hidden_global_offset_")) put<std::uint64_t>(where, 0);
    else if (kind == "hidden_grid_dims")
        put<std::uint16_t>(where, launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1);
    else if (kind == "hidden_dynamic_lds_size") put(where, launch.dynamic_lds);
    else if (kind == "hidden_private_base") put<std::uint32_t>(where, static_cast<std::uint32_t>(aperture::private_base >> 32U));
    else if (kind == "hidden_shared_base") put<std::uint32_t>(where, static_cast<std::uint32_t>(aperture::shared_base >> 32U));
    else if (kind == "hidden_queue_ptr") put(where, p.queue_address);
    else if (kind == "hidden_multigrid_sync_arg" && launch.cooperative) put(where, write_cooperation(p));
    // hidden_none, default queue and completion action stay zero: nothing in HIP's device library reads them.
}

/// What one workgroup may have: LLVM's AddressableLocalMemorySize of the target.
std::uint32_t lds_of_a_workgroup(std::string_view target) { return target == "gfx950" ? 160 * 1024 : 64 * 1024; }

}  // namespace

std::span<const Instruction> code_of(const Launch& launch) {
    const std::vector<Instruction>& all = launch.object->code->program.instructions;
    const auto first = std::ranges::lower_bound(all, launch.kernel->entry, {}, &Instruction::address);
    const auto last = std::ranges::lower_bound(first, all.end(), launch.kernel->code_end, {}, &Instruction::address);
    const auto calls = [](const Instruction& in) { return in.text.starts_with("s_swappc") || in.text.starts_with("s_setpc"); };
    return std::any_of(first, last, calls) ? std::span(all) : std::span(first, last);
}

LaunchArea::LaunchArea(Memory& memory) : address_(memory.allocate(bytes)) {
    if (address_ == 0) throw std::runtime_error("no device memory for the launch area");
}

PreparedLaunch prepare(Launch launch, const LaunchArea& area, HostServices& services) {
    PreparedLaunch p;
    p.sync = std::make_shared<GlobalSync>();
    const Kernel& kernel = *launch.kernel;
    if (!kernel.obstacle.empty()) throw std::runtime_error(kernel.obstacle);
    std::uint64_t threads = 1;
    std::uint64_t groups = 1;
    bool countable = true;
    for (unsigned d = 0; d < 3; ++d) {
        if (launch.workgroup[d] == 0 || launch.grid[d] == 0)
            throw std::runtime_error("the launch has an empty grid or workgroup");
        threads = std::min<std::uint64_t>(threads, 1U << 20U) * launch.workgroup[d];  // more is refused anyway
        p.groups[d] = static_cast<std::uint32_t>((std::uint64_t{launch.grid[d]} + launch.workgroup[d] - 1) / launch.workgroup[d]);
        countable = countable && !__builtin_mul_overflow(groups, p.groups[d], &groups);
    }
    if (!countable) throw std::runtime_error("the launch has more workgroups than can be counted");
    if (threads > 1024 || threads > kernel.max_workgroup_size)
        throw std::runtime_error("the workgroup has " + std::to_string(threads) + " work-items, the kernel allows " +
                                 std::to_string(std::min<std::uint32_t>(1024, kernel.max_workgroup_size)));
    const std::uint64_t lds_bytes = std::uint64_t{kernel.lds_bytes} + launch.dynamic_lds;
    p.lds_bytes = static_cast<std::uint32_t>(lds_bytes);
    const std::uint32_t lds_limit = lds_of_a_workgroup(launch.object->arch);
    if (lds_bytes > lds_limit)
        throw std::runtime_error("the workgroup needs " + std::to_string(lds_bytes) + " bytes of LDS, the device has " +
                                 std::to_string(lds_limit));
    if (std::max<std::uint64_t>(kernel.kernarg_bytes, launch.kernarg.size()) > LaunchArea::bytes - kKernargOffset)
        throw std::runtime_error("the kernel's arguments are too large");
    p.group_count = groups;
    p.waves_per_group = static_cast<std::uint32_t>((threads + kLanes - 1) / kLanes);
    p.scratch_per_lane = kernel.scratch_bytes + (kernel.uses_dynamic_stack ? kStackReserve : 0);
    if (p.scratch_per_lane > kLargestScratch)
        throw std::runtime_error("the kernel needs " + std::to_string(p.scratch_per_lane) + " bytes of scratch for each work-item, the device has " +
                                 std::to_string(kLargestScratch));
    p.packet = area.address() + kPacketOffset;
    p.queue_address = area.address() + kQueueOffset;
    p.kernarg_address = area.address() + kKernargOffset;
    p.entry = static_cast<std::uint32_t>(launch.object->code->program.index_of(kernel.entry));
    p.launch = std::move(launch);
    p.vgpr_rows = kernel.register_rows;
    write_packet(p);
    std::memset(at(p.kernarg_address), 0, kernel.kernarg_bytes);
    if (!p.launch.kernarg.empty()) std::memcpy(at(p.kernarg_address), p.launch.kernarg.data(), p.launch.kernarg.size());
    for (const KernelArgument& argument : kernel.arguments)
        if (argument.value_kind.starts_with("hidden_")) write_hidden(p, argument);
    if (const KernelArgument* call = kernel.hidden("hidden_hostcall_buffer"); call != nullptr) p.host_arguments.hostcall = call->offset;
    if (const KernelArgument* text = kernel.hidden("hidden_printf_buffer"); text != nullptr) p.host_arguments.printf = text->offset;
    if (p.host_arguments.hostcall || p.host_arguments.printf) p.services = &services;
    if (const KernelArgument* heap = kernel.hidden("hidden_heap_v1"); heap != nullptr)
        put(p.kernarg_address + heap->offset, services.heap());
    return p;
}

}  // namespace hipscope
