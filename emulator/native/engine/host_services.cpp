// Hostcall packets, device printf messages, device heap requests.
#include "engine/host_services.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "engine/device_printf.hpp"

namespace hipscope {
namespace {

// Layouts of ockl's hostcall_impl.cl.
struct Header {
    std::uint64_t next, active;
    std::uint32_t service, control;
};
struct Payload {
    std::uint64_t slots[64][8];
};
struct Buffer {
    std::uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};
/// The start of amd_signal_t (HSA runtime); a zero mailbox means that there is no waiter to wake.
struct Signal {
    std::int64_t kind, value;
    std::uint64_t mailbox;
    std::uint32_t event, reserved;
    std::uint64_t unused[4];
};
constexpr std::uint64_t kSignalOffset = 64, kHeadersOffset = 128;
constexpr std::uint32_t kPrintf = 2, kMemory = 3;  // service numbers
constexpr std::uint64_t kHeapBytes = 256 * 1024;   // ockl's heap_t has a good 100 KiB, newer ones a little more
constexpr std::uint64_t kSlab = 2 << 20;           // and its slabs are found again by rounding down to this
constexpr std::size_t kOutputBytes = 4 << 20;      // printed text that is kept for sorting
constexpr std::uint64_t kSaidBytes = 256 << 10;  // of a replay's printed texts that are kept

// Descriptor of a printf message (ockl's services.cl): first and last part, words in this part, number.
constexpr std::uint64_t kBegin = 1, kEnd = 2;
constexpr unsigned kWordsShift = 5, kNumberShift = 8;

void* at(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
Buffer& buffer_at(std::uint64_t address) { return *static_cast<Buffer*>(at(address)); }

}  // namespace

void HostServices::open(int threads, std::uint64_t waves, const PreparedLaunch& launch) {
    formats_ = launch.host_arguments.printf ? &launch.launch.object->printf_formats : nullptr;
    if (formats_ != nullptr) printf_buffers_.open(threads);
    const std::uint64_t wanted = std::bit_ceil(std::max<std::uint64_t>(waves + 1, 4096));
    if (static_cast<int>(lines_.size()) >= threads && packets_ >= wanted) return;
    for (const Line& line : lines_) memory_.release(line.block);
    lines_.clear();
    packets_ = wanted;
    const std::uint64_t payloads = (kHeadersOffset + wanted * sizeof(Header) + 255) / 256 * 256;
    const std::uint64_t kernarg = payloads + wanted * sizeof(Payload);
    for (int i = 0; i < threads; ++i) {
        const std::uint64_t block = memory_.allocate(kernarg + LaunchArea::bytes);
        if (block == 0) throw std::runtime_error("no device memory left for the kernel's host services (printf, malloc)");
        Buffer& buffer = buffer_at(block);
        buffer.headers = block + kHeadersOffset;
        buffer.payloads = block + payloads;
        buffer.doorbell = block + kSignalOffset;
        buffer.index_mask = wanted - 1;
        // A packet's number carries a tag above the index bits, so that packet 0 is not the null pointer.
        auto* headers = static_cast<Header*>(at(buffer.headers));
        for (std::uint64_t p = 0; p < wanted; ++p) headers[p].next = p == 0 ? 0 : wanted | (p - 1);
        buffer.free_stack = wanted | (wanted - 1);
        lines_.push_back({block, block, block + kernarg});
    }
}

void HostServices::put_addresses(int thread, std::uint64_t kernarg, const HostArguments& arguments) const {
    const auto put = [kernarg](std::uint32_t offset, std::uint64_t address) { std::memcpy(at(kernarg + offset), &address, sizeof address); };
    if (arguments.hostcall) put(*arguments.hostcall, lines_.at(static_cast<std::size_t>(thread)).buffer);
    if (arguments.printf) put(*arguments.printf, printf_buffers_.address(thread));
}

std::uint64_t HostServices::kernarg_for(int thread, const PreparedLaunch& launch) {
    const Line& line = lines_.at(static_cast<std::size_t>(thread));
    std::memcpy(at(line.kernarg), at(launch.kernarg_address), launch.launch.kernel->kernarg_bytes);
    put_addresses(thread, line.kernarg, launch.host_arguments);
    return line.kernarg;
}

std::uint64_t HostServices::heap() {
    if (heap_ == 0) heap_ = memory_.allocate(kHeapBytes);
    if (heap_ == 0) throw std::runtime_error("no device memory left for the device heap");
    return heap_;
}

std::vector<std::uint64_t> HostServices::blocks() const {
    std::vector<std::uint64_t> result;
    for (const Line& line : lines_) result.push_back(line.block);
    printf_buffers_.add_blocks(result);
    return result;
}

bool HostServices::ready(int thread) const {
    Buffer& buffer = buffer_at(lines_[static_cast<std::size_t>(thread)].buffer);
    return std::atomic_ref(buffer.ready_stack).load(std::memory_order_relaxed) != 0;
}

void HostServices::answer_all(int thread, std::uint64_t group) {
    const std::lock_guard lock(mutex_);
    Buffer& buffer = buffer_at(lines_[static_cast<std::size_t>(thread)].buffer);
    auto* headers = static_cast<Header*>(at(buffer.headers));
    auto* payloads = static_cast<Payload*>(at(buffer.payloads));
    std::vector<std::uint64_t> packets;  // the stack has the newest first
    for (std::uint64_t p = std::atomic_ref(buffer.ready_stack).exchange(0); p != 0;) {
        packets.push_back(p & buffer.index_mask);
        p = headers[packets.back()].next;
    }
    for (auto p = packets.rbegin(); p != packets.rend(); ++p) {
        Header& header = headers[*p];
        for (unsigned lane = 0; lane < 64; ++lane) {
            if (((header.active >> lane) & 1U) == 0) continue;
            std::uint64_t* slots = payloads[*p].slots[lane];
            if (header.service == kPrintf) {
                printed(slots, group);
            } else if (header.service == kMemory) {
                memory_request(slots);
            } else {
                if (!unknown_said_)
                    std::fprintf(stderr, "hipscope emulator: the kernel calls host service %u, which is not emulated; it gets 0\n", header.service);
                unknown_said_ = true;
                slots[0] = slots[1] = 0;
            }
        }
        std::atomic_ref(header.control).store(header.control & ~1U, std::memory_order_release);
    }
}

void HostServices::printed(std::uint64_t* slots, std::uint64_t group) {
    const std::uint64_t descriptor = slots[0];
    const std::uint64_t count = (descriptor >> kWordsShift) & 7U;
    std::uint64_t number = descriptor >> kNumberShift;
    if ((descriptor & kBegin) != 0) {
        number = next_message_++;
        messages_[number].group = group;
    }
    const auto found = messages_.find(number);
    if (found == messages_.end()) {
        slots[0] = 0;
        return;
    }
    std::vector<std::uint64_t>& words = found->second.words;
    words.insert(words.end(), slots + 1, slots + 1 + count);
    slots[0] = number << kNumberShift;
    if ((descriptor & kEnd) == 0) return;
    slots[0] = finish(found->second);  // what printf returns
    messages_.erase(found);
}

std::size_t HostServices::finish(const Message& message) {
    if (message.words.empty()) return 0;
    const bool error = message.words.front() == 1;
    std::string text = format_device_text(std::span(message.words).subspan(1));
    const std::size_t size = text.size();
    if (error && text.find("Device-side assertion") != std::string::npos) asserted_ = true;
    add_output(message.group, error, std::move(text));
    if (output_bytes_ > kOutputBytes) write_output();
    return size;
}

void HostServices::add_output(std::uint64_t group, bool error, std::string text) {
    output_bytes_ += text.size();
    output_.push_back({group, error, std::move(text)});
}

void HostServices::flush() {
    if (formats_ != nullptr)
        printf_buffers_.read(*formats_, [this](std::uint64_t group, std::string text) { add_output(group, false, std::move(text)); });
    formats_ = nullptr;
    write_output();
}

void HostServices::write_output() {
    if (output_.empty()) return;
    std::stable_sort(output_.begin(), output_.end(), [](const Output& a, const Output& b) { return a.group < b.group; });
    if (print_) {
        for (const Output& o : output_) std::fwrite(o.text.data(), 1, o.text.size(), o.error ? stderr : stdout);
        std::fflush(stdout);
    } else {
        for (Output& o : output_) {
            ++said_count_;
            if ((said_bytes_ += o.text.size()) <= kSaidBytes) said_.push_back(std::move(o.text));
        }
    }
    output_.clear();
    output_bytes_ = 0;
}

void HostServices::memory_request(std::uint64_t* slots) {
    const std::uint64_t address = slots[0];
    const std::uint64_t bytes = slots[1];
    slots[1] = 0;
    if (address != 0) {
        const auto block = heap_blocks_.find(address);
        slots[0] = 0;
        if (block == heap_blocks_.end()) return;  // freed twice, or never allocated: as on the device, nothing happens
        heap_bytes_ -= block->second;
        heap_blocks_.erase(block);
        if (slab_disappears) slab_disappears(address);
        memory_.release(address);
        return;
    }
    slots[0] = 0;
    if (bytes <= heap_limit - std::min(heap_limit, heap_bytes_)) slots[0] = memory_.allocate(bytes, false, bytes >= kSlab ? kSlab : 4096);
    if (slots[0] != 0) {
        heap_blocks_[slots[0]] = bytes;
        heap_bytes_ += bytes;
        if (slab_appeared) slab_appeared(slots[0]);
    } else if (!heap_full_said_) {
        heap_full_said_ = true;
        std::fprintf(stderr, "hipscope emulator: the device heap is full (%llu of %llu bytes are used, %llu more were asked for); "
                     "malloc on the device gives NULL. hipDeviceSetLimit(hipLimitMallocHeapSize, ...) sets the limit\n",
                     static_cast<unsigned long long>(heap_bytes_), static_cast<unsigned long long>(heap_limit),
                     static_cast<unsigned long long>(bytes));
    }
}

}  // namespace hipscope
