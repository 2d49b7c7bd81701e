// What happens to the packets of an intercepted queue: launches to record are put between two barriers, everything else
// passes untouched, so that no other kernel waits.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "tool/kernels.hpp"
#include "tool/runtime.hpp"
#include "tool/settings.hpp"

namespace hipscope::gpu {

/// The state that all queues of a process share.
struct Recorder {
    Settings settings;
    CoreApiTable core;      // the runtime's own calls
    AmdExtTable amd;
    Allocations allocations;
    Kernels kernels;

    /// Whether this launch is to be recorded; counts it when it is.
    [[nodiscard]] bool take(const LoadedKernel& kernel, const hsa_kernel_dispatch_packet_t& packet);
    [[nodiscard]] std::uint64_t next_id() { return ++launches_; }

private:
    std::atomic<std::uint64_t> launches_{0};
    std::mutex mutex_;
    std::map<std::string, std::uint64_t> taken_;  // by kernel and shape
};

/// Handler of hsa_amd_queue_intercept_register; `data` is the Recorder.
void handle_packets(const void* packets, std::uint64_t count, std::uint64_t user_index, void* data,
                    hsa_amd_queue_intercept_packet_writer writer);

}  // namespace hipscope::gpu
