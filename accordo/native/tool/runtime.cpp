// Signals, copies and pointer look-ups over the saved API table.
#include "tool/runtime.hpp"

#include <chrono>
#include <stdexcept>

namespace hipscope::gpu {
namespace {

void check(const CoreApiTable& core, hsa_status_t status, const char* what) {
    if (status == HSA_STATUS_SUCCESS) return;
    const char* text = nullptr;
    core.hsa_status_string_fn(status, &text);
    throw std::runtime_error(std::string(what) + ": " + (text == nullptr ? "unknown error" : text));
}

}  // namespace

CompletionSignal::CompletionSignal(const CoreApiTable& core) : core_(core) {
    check(core, core.hsa_signal_create_fn(1, 0, nullptr, &signal_), "no signal for a capture");
}

CompletionSignal::~CompletionSignal() {
    if (owned_) core_.hsa_signal_destroy_fn(signal_);
}

bool CompletionSignal::wait(std::uint64_t timeout_ms) const {
    // The runtime may come back early, and counts in a clock of its own: short waits against our clock.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    constexpr std::uint64_t kHint = 1'000'000;
    while (core_.hsa_signal_wait_scacquire_fn(signal_, HSA_SIGNAL_CONDITION_LT, 1, kHint, HSA_WAIT_STATE_BLOCKED) > 0)
        if (std::chrono::steady_clock::now() >= end) return false;
    return true;
}

hsa_barrier_and_packet_t full_barrier(hsa_signal_t completion) {
    hsa_barrier_and_packet_t packet{};
    packet.header = (HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE) | (1U << HSA_PACKET_HEADER_BARRIER) |
                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
    packet.completion_signal = completion;
    return packet;
}

std::string read_device(const CoreApiTable& core, std::uint64_t address, std::uint64_t bytes) {
    std::string content(bytes, '\0');
    const auto* source = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
    if (bytes != 0) check(core, core.hsa_memory_copy_fn(content.data(), source, bytes), "cannot read device memory");
    return content;
}

std::optional<Block> find_block(const Allocations& seen, const AmdExtTable& amd, std::uint64_t address) {
    if (const auto block = seen.find(address)) return block;
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    auto* pointer = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    const hsa_status_t status = amd.hsa_amd_pointer_info_fn(pointer, &info, nullptr, nullptr, nullptr);
    if (status != HSA_STATUS_SUCCESS || info.type == HSA_EXT_POINTER_TYPE_UNKNOWN) return std::nullopt;
    return Block{reinterpret_cast<std::uint64_t>(info.agentBaseAddress), info.sizeInBytes};
}

}  // namespace hipscope::gpu
