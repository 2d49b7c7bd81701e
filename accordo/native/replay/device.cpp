// HSA calls of a replay.
#include "replay/device.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace hipscope::gpu {
namespace {

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct AgentSearch {
    const HsaRuntime& hsa;
    hsa_agent_t gpu{}, cpu{};
};

hsa_status_t note_agent(hsa_agent_t agent, void* data) {
    auto& search = *static_cast<AgentSearch*>(data);
    hsa_device_type_t type{};
    search.hsa.agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    hsa_agent_t& slot = type == HSA_DEVICE_TYPE_GPU ? search.gpu : search.cpu;
    if (slot.handle == 0) slot = agent;
    return HSA_STATUS_SUCCESS;
}

struct PoolSearch {
    const HsaRuntime& hsa;
    std::uint32_t wanted;  // a bit of hsa_amd_memory_pool_global_flag_t
    hsa_amd_memory_pool_t found{};
};

hsa_status_t note_pool(hsa_amd_memory_pool_t pool, void* data) {
    auto& search = *static_cast<PoolSearch*>(data);
    hsa_amd_segment_t segment{};
    std::uint32_t flags = 0;
    search.hsa.pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    search.hsa.pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if ((flags & search.wanted) != 0 && search.found.handle == 0) search.found = pool;
    return HSA_STATUS_SUCCESS;
}

}  // namespace

std::vector<Range> granules(const std::vector<CapturedBuffer>& buffers, std::uint64_t granule) {
    std::vector<Range> ranges;
    for (const CapturedBuffer& b : buffers)
        ranges.push_back({b.address / granule * granule, (b.address + std::max<std::uint64_t>(b.bytes, 1) + granule - 1) / granule * granule});
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> joined;
    for (const Range& r : ranges)
        if (!joined.empty() && r.begin <= joined.back().end) joined.back().end = std::max(joined.back().end, r.end);
        else joined.push_back(r);
    return joined;
}

Device::Device() : hsa_(HsaRuntime::load()) {
    hsa_.check(hsa_.init(), "cannot start the HSA runtime");
    AgentSearch agents{hsa_};
    hsa_.check(hsa_.iterate_agents(note_agent, &agents), "cannot list the GPUs");
    if (agents.gpu.handle == 0) throw std::runtime_error("the HSA runtime sees no GPU");
    gpu_ = agents.gpu;
    cpu_ = agents.cpu;
    PoolSearch device{hsa_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED};
    PoolSearch kernarg{hsa_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT};
    hsa_.check(hsa_.iterate_pools(gpu_, note_pool, &device), "cannot list the GPU's memory");
    hsa_.check(hsa_.iterate_pools(cpu_, note_pool, &kernarg), "cannot list the host's memory");
    if (device.found.handle == 0 || kernarg.found.handle == 0) throw std::runtime_error("the GPU has no memory for a replay");
    memory_ = device.found;
    kernarg_pool_ = kernarg.found;
    create_queue();
}

void Device::create_queue() {
    constexpr std::uint32_t kPackets = 64;
    hsa_.check(hsa_.queue_create(gpu_, kPackets, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue_),
               "cannot create a queue");
    hsa_.check(hsa_.profiling_enable(queue_, 1), "cannot time launches");
}

void Device::map(const std::vector<CapturedBuffer>& buffers) {
    std::size_t granule = 0;
    hsa_.check(hsa_.pool_get_info(memory_, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &granule), "no memory granule");
    for (const Range& range : granules(buffers, granule)) {
        const std::size_t bytes = range.end - range.begin;
        void* got = nullptr;
        const hsa_status_t status = hsa_.vmem_reserve(&got, bytes, range.begin, 0);
        if (status != HSA_STATUS_SUCCESS || got != pointer(range.begin)) {
            char where[40];
            std::snprintf(where, sizeof where, "0x%llx", static_cast<unsigned long long>(range.begin));
            throw std::runtime_error(std::string("the captured address ") + where + " is taken in this process; record the program again");
        }
        VmemHandle handle;
        hsa_.check(hsa_.vmem_create(memory_, bytes, kMemoryTypePinned, 0, &handle), "no device memory for the captured buffers");
        hsa_.check(hsa_.vmem_map(got, bytes, 0, handle, 0), "cannot map device memory");
        const VmemAccess access{HSA_ACCESS_PERMISSION_RW, gpu_};
        hsa_.check(hsa_.vmem_set_access(got, bytes, &access, 1), "cannot give the GPU access to its memory");
    }
}

void Device::load(const std::string& elf) {
    hsa_code_object_reader_t reader{};
    hsa_.check(hsa_.reader_create(elf.data(), elf.size(), &reader), "the code object cannot be read");
    hsa_.check(hsa_.executable_create(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_),
               "cannot create an executable");
    hsa_.check(hsa_.executable_load(executable_, gpu_, reader, nullptr, nullptr), "the code object does not fit this GPU");
    hsa_.check(hsa_.executable_freeze(executable_, nullptr), "the code object cannot be loaded");
}

DeviceKernel Device::kernel(const std::string& symbol) const {
    hsa_executable_symbol_t found{};
    if (hsa_.get_symbol(executable_, (symbol + ".kd").c_str(), &gpu_, &found) != HSA_STATUS_SUCCESS)
        throw std::runtime_error("the code object has no kernel '" + symbol + "'");
    DeviceKernel k;
    hsa_.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
    hsa_.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.lds_bytes);
    hsa_.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.scratch_bytes);
    hsa_.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.kernarg_bytes);
    return k;
}

std::uint64_t Device::variable(const std::string& symbol) const {
    hsa_executable_symbol_t found{};
    if (hsa_.get_symbol(executable_, symbol.c_str(), &gpu_, &found) != HSA_STATUS_SUCCESS) return 0;
    std::uint64_t address = 0;
    hsa_.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address);
    return address;
}

void Device::write(std::uint64_t address, const std::string& content) const {
    if (!content.empty()) hsa_.check(hsa_.copy(pointer(address), content.data(), content.size()), "cannot write device memory");
}

std::string Device::read(std::uint64_t address, std::uint64_t bytes) const {
    std::string content(bytes, '\0');
    if (bytes != 0) hsa_.check(hsa_.copy(content.data(), pointer(address), bytes), "cannot read device memory");
    return content;
}

double Device::run(const DeviceLaunch& launch, double seconds) {
    void* kernarg = nullptr;
    const std::size_t bytes = std::max<std::size_t>(launch.kernarg.size(), 16);
    hsa_.check(hsa_.pool_allocate(kernarg_pool_, bytes, 0, &kernarg), "no memory for the arguments");
    hsa_.check(hsa_.allow_access(1, &gpu_, nullptr, kernarg), "cannot show the GPU the arguments");
    std::memcpy(kernarg, launch.kernarg.data(), launch.kernarg.size());
    hsa_signal_t done{};
    hsa_.check(hsa_.signal_create(1, 0, nullptr, &done), "cannot create a signal");

    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1;
    packet.workgroup_size_x = static_cast<std::uint16_t>(launch.workgroup[0]);
    packet.workgroup_size_y = static_cast<std::uint16_t>(launch.workgroup[1]);
    packet.workgroup_size_z = static_cast<std::uint16_t>(launch.workgroup[2]);
    packet.grid_size_x = launch.grid[0];
    packet.grid_size_y = launch.grid[1];
    packet.grid_size_z = launch.grid[2];
    packet.private_segment_size = launch.kernel.scratch_bytes;
    packet.group_segment_size = launch.kernel.lds_bytes + launch.dynamic_lds;
    packet.kernel_object = launch.kernel.object;
    packet.kernarg_address = kernarg;
    packet.completion_signal = done;
    const std::uint64_t index = hsa_.add_write_index(queue_, 1);
    auto* slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
    std::memcpy(reinterpret_cast<char*>(slot) + 2, reinterpret_cast<const char*>(&packet) + 2, sizeof packet - 2);
    constexpr std::uint16_t header = (HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE) |
                                     (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                     (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
    // The packet processor takes the packet as soon as its header is valid: last, and behind a release.
    std::atomic_ref<std::uint16_t>(slot->header).store(header, std::memory_order_release);
    hsa_.signal_store(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));

    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    constexpr std::uint64_t kHint = 1'000'000;
    while (hsa_.signal_wait(done, HSA_SIGNAL_CONDITION_LT, 1, kHint, HSA_WAIT_STATE_BLOCKED) > 0)
        if (std::chrono::steady_clock::now() >= end) return -1;
    hsa_amd_profiling_dispatch_time_t time{};
    std::uint64_t ticks_per_second = 0;
    hsa_.check(hsa_.dispatch_time(gpu_, done, &time), "the launch has no time stamps");
    hsa_.check(hsa_.system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &ticks_per_second), "unknown clock");
    return static_cast<double>(time.end - time.start) * 1e9 / static_cast<double>(ticks_per_second);
}

}  // namespace hipscope::gpu
