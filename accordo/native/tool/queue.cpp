// Packet handler.
#include "tool/queue.hpp"

#include <cstdio>
#include <exception>
#include <optional>

#include "tool/snapshot.hpp"

namespace hipscope::gpu {
namespace {

using Packet = hsa_kernel_dispatch_packet_t;
static_assert(sizeof(Packet) == 64 && sizeof(hsa_barrier_and_packet_t) == 64, "AQL packets have 64 bytes");

void say(const std::string& text) { std::fprintf(stderr, "hipscope: %s\n", text.c_str()); }

bool is_dispatch(const Packet& packet) {
    return (packet.header & 0xffU) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

/// Wait until all packets before this point of the queue are done.
bool drain(const Recorder& recorder, hsa_amd_queue_intercept_packet_writer writer) {
    CompletionSignal done(recorder.core);
    const hsa_barrier_and_packet_t barrier = full_barrier(done.handle());
    writer(&barrier, 1);
    if (done.wait(recorder.settings.timeout_ms)) return true;
    done.abandon();
    return false;
}

DeviceMemory device_memory(const Recorder& recorder) {
    return {[&recorder](std::uint64_t address, std::uint64_t bytes) { return read_device(recorder.core, address, bytes); },
            [&recorder](std::uint64_t address) { return find_block(recorder.allocations, recorder.amd, address); },
            [&recorder](std::uint64_t address) { return recorder.allocations.find(address); }};
}

/// The packet itself is never changed: its completion signal and its place in the queue stay the program's.
void record(Recorder& recorder, const std::shared_ptr<const LoadedKernel>& kernel, const Packet& packet, std::uint64_t id,
            hsa_amd_queue_intercept_packet_writer writer) {
    const std::string name = "launch " + std::to_string(id) + " of " + kernel->metadata.symbol;
    const std::string limit = " within " + std::to_string(recorder.settings.timeout_ms) + " ms";
    std::optional<Snapshot> snapshot;
    try {
        if (drain(recorder, writer)) snapshot.emplace(recorder.settings, id, packet, kernel, device_memory(recorder));
        else say(name + " is not recorded: the work before it did not end" + limit);
    } catch (const std::exception& error) {
        say(name + " is not recorded: " + error.what());
    }
    writer(&packet, 1);
    if (!snapshot) return;
    try {
        if (drain(recorder, writer)) return snapshot->finish();
        say(name + " did not end" + limit);
        snapshot->give_up("the launch did not end" + limit);
    } catch (const std::exception& error) {
        say(name + " is not recorded: " + error.what());
    }
}

}  // namespace

bool Recorder::take(const LoadedKernel& kernel, const hsa_kernel_dispatch_packet_t& p) {
    if (!settings.wants(kernel.metadata.symbol)) return false;
    std::string shape = kernel.metadata.symbol;
    for (const std::uint32_t n : {p.grid_size_x, p.grid_size_y, p.grid_size_z, std::uint32_t{p.workgroup_size_x},
                                  std::uint32_t{p.workgroup_size_y}, std::uint32_t{p.workgroup_size_z}, p.group_segment_size})
        shape += " " + std::to_string(n);
    const std::lock_guard lock(mutex_);
    if (taken_[shape] >= settings.per_shape) return false;
    ++taken_[shape];
    return true;
}

void handle_packets(const void* packets, std::uint64_t count, std::uint64_t /*user_index*/, void* data,
                    hsa_amd_queue_intercept_packet_writer writer) {
    auto& recorder = *static_cast<Recorder*>(data);
    const auto* all = static_cast<const Packet*>(packets);
    std::uint64_t passed = 0;  // packets before this one are with the hardware already
    for (std::uint64_t i = 0; i < count; ++i) {
        if (!is_dispatch(all[i])) continue;
        const std::uint64_t id = recorder.next_id();
        const std::shared_ptr<const LoadedKernel> kernel = recorder.kernels.find(all[i].kernel_object);
        if (kernel == nullptr || !recorder.take(*kernel, all[i])) continue;
        if (passed < i) writer(all + passed, i - passed);
        record(recorder, kernel, all[i], id, writer);
        passed = i + 1;
    }
    if (passed < count) writer(all + passed, count - passed);
}

}  // namespace hipscope::gpu
