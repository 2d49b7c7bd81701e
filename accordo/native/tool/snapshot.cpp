// One launch to files, in the format of capture/record.hpp.
#include "tool/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>

namespace hipscope::gpu {
namespace {

/// The values of the 8-byte words of `content`.
template <class Visit>
void each_word(const std::string& content, std::size_t begin, std::size_t end, const Visit& visit) {
    for (std::size_t at = begin; at + 8 <= std::min(end, content.size()); at += 8) {
        std::uint64_t value = 0;
        std::memcpy(&value, content.data() + at, 8);
        visit(value);
    }
}

/// HIP passes this argument to launches that may synchronise the whole grid.
bool is_cooperative(const KernelMetadata& kernel, const std::string& kernarg) {
    for (const KernelArgument& a : kernel.arguments) {
        if (a.value_kind != "hidden_multigrid_sync_arg") continue;
        bool set = false;
        each_word(kernarg, a.offset, a.offset + 8, [&](std::uint64_t value) { set = value != 0; });
        return set;
    }
    return false;
}

}  // namespace

std::vector<RecordedBuffer> reachable_blocks(const std::vector<KernelArgument>& arguments, const std::string& kernarg,
                                             const DeviceMemory& memory, std::uint64_t max_bytes, bool& cut) {
    std::vector<RecordedBuffer> found;
    std::set<std::uint64_t> known;
    std::deque<Block> open;
    std::uint64_t total = 0;
    cut = false;
    const auto follow = [&](std::uint64_t value, const auto& find) {
        constexpr std::uint64_t kFirstPage = 4096, kUserSpace = 1ULL << 57U;
        if (value < kFirstPage || value >= kUserSpace) return;
        const std::optional<Block> block = find(value);
        if (!block || known.contains(block->address)) return;
        known.insert(block->address);
        if (total + block->bytes > max_bytes) {
            cut = true;
            return;
        }
        total += block->bytes;
        found.push_back({block->address, block->bytes, {}, {}});
        open.push_back(*block);
    };
    for (const KernelArgument& a : arguments)
        if (!a.value_kind.starts_with("hidden_"))
            each_word(kernarg, a.offset, std::size_t{a.offset} + a.size, [&](std::uint64_t v) { follow(v, memory.find); });
    for (; !open.empty(); open.pop_front()) {
        const std::string content = memory.read(open.front().address, open.front().bytes);
        each_word(content, 0, content.size(), [&](std::uint64_t v) { follow(v, memory.find_seen); });
    }
    find_references(arguments, kernarg, found);
    return found;
}

Snapshot::Snapshot(const Settings& settings, std::uint64_t id, const hsa_kernel_dispatch_packet_t& packet,
                   std::shared_ptr<const LoadedKernel> kernel, DeviceMemory memory)
    : kernel_(std::move(kernel)), memory_(std::move(memory)) {
    const KernelMetadata& m = kernel_->metadata;
    const std::string kernarg = memory_.read(reinterpret_cast<std::uint64_t>(packet.kernarg_address), m.kernarg_bytes);
    record_.id = id;
    record_.kernel = m.symbol;
    record_.code_object_hash = kernel_->object->hash;
    record_.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
    record_.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
    record_.dynamic_lds = packet.group_segment_size - std::min(packet.group_segment_size, m.lds_bytes);
    record_.cooperative = is_cooperative(m, kernarg);
    record_.kernarg_bytes = m.kernarg_bytes;
    record_.explicit_bytes = m.explicit_bytes();
    record_.arguments = m.arguments;
    bool cut = false;
    record_.buffers = reachable_blocks(m.arguments, kernarg, memory_, settings.max_bytes, cut);
    if (cut)
        record_.reason = "not all memory that the arguments reach was recorded: the limit is " +
                         std::to_string(settings.max_bytes) + " bytes";
    for (const Variable& v : kernel_->object->variables) record_.globals.push_back({v.symbol, v.address, v.bytes});
    files_ = DispatchWriter(settings.directory + "/dispatch_" + std::to_string(id));
    write_memory(".before");
    files_.add("kernarg.bin", kernarg);
    files_.add("code_object.co", kernel_->object->elf);
}

void Snapshot::finish() {
    write_memory(".after");
    write_meta(files_, record_);
}

void Snapshot::give_up(const std::string& reason) {
    record_.reason = reason;
    write_meta(files_, record_);
}

void Snapshot::write_memory(const std::string& ending) {
    for (std::size_t i = 0; i < record_.buffers.size(); ++i)
        files_.add_memory("buffer_" + std::to_string(i) + ending, memory_.read(record_.buffers[i].address, record_.buffers[i].bytes));
    for (std::size_t i = 0; i < record_.globals.size(); ++i)
        files_.add_memory("global_" + std::to_string(i) + ending, memory_.read(record_.globals[i].address, record_.globals[i].bytes));
}

}  // namespace hipscope::gpu
