// One GPU as a replay needs it: memory at given addresses, one kernel, one queue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/meta.hpp"
#include "replay/hsa_runtime.hpp"

namespace hipscope::gpu {

struct Range {
    std::uint64_t begin = 0, end = 0;
};

/// The buffers widened to whole granules, touching ones joined, in address order.
std::vector<Range> granules(const std::vector<CapturedBuffer>& buffers, std::uint64_t granule);

/// A kernel of a loaded code object.
struct DeviceKernel {
    std::uint64_t object = 0;
    std::uint32_t lds_bytes = 0, scratch_bytes = 0, kernarg_bytes = 0;
};

/// What a launch is given. `kernarg` is the whole segment.
struct DeviceLaunch {
    DeviceKernel kernel;
    std::array<std::uint32_t, 3> grid{}, workgroup{};
    std::uint32_t dynamic_lds = 0;
    std::string kernarg;
};

/// The first GPU of the machine. Everything throws std::runtime_error with one line. Nothing is given back before the
/// process ends: a replay is one process.
class Device {
public:
    Device();

    /// Make `ranges` accessible at exactly their addresses.
    void map(const std::vector<CapturedBuffer>& buffers);
    void load(const std::string& elf);
    [[nodiscard]] DeviceKernel kernel(const std::string& symbol) const;
    /// Address of a variable, 0 when the code object has none of that name.
    [[nodiscard]] std::uint64_t variable(const std::string& symbol) const;
    void write(std::uint64_t address, const std::string& content) const;
    [[nodiscard]] std::string read(std::uint64_t address, std::uint64_t bytes) const;
    /// Run and wait. Nanoseconds by the GPU's clock, or -1 when it did not end within the time.
    double run(const DeviceLaunch& launch, double seconds);

private:
    void create_queue();

    HsaRuntime hsa_;
    hsa_agent_t gpu_{}, cpu_{};
    hsa_amd_memory_pool_t memory_{}, kernarg_pool_{};
    hsa_executable_t executable_{};
    hsa_queue_t* queue_ = nullptr;
};

}  // namespace hipscope::gpu
