// Keeps what streams cannot do yet.
#include "hip/parked.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "hip/runtime.hpp"

namespace hipscope {
namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 100us;  // between two looks at the memory
constexpr auto kPatience = 5s;  // then a line says what the program waits for

bool blocking(const Stream& stream) { return (stream.flags & kStreamNonBlocking) == 0; }

/// What is put into `later` waits for what was put into `earlier` before.
bool follows(const Runtime& runtime, const Stream& later, const Stream& earlier) {
    if (&later == &earlier) return true;
    return (&later == &runtime.legacy && blocking(earlier)) || (&earlier == &runtime.legacy && blocking(later));
}

bool records(const Work& work, const Event* event) {
    const auto* record = std::get_if<RecordWork>(&work);
    return record != nullptr && record->event == event;
}

}  // namespace

bool ready(const ValueWork& w) {
    if (!w.wait) return true;
    std::uint64_t found = 0;
    std::memcpy(&found, w.pointer, w.bytes);
    const std::uint64_t range = w.bytes == 8 ? ~0ULL : 0xffffffffULL;
    found &= w.mask & range;
    switch (w.comparison) {
        case 0: return found >= (w.value & range);
        case 1: return found == (w.value & range);
        case 2: return (found & w.value) != 0;
        default: return (~(found | (w.value & w.mask)) & range) != 0;
    }
}

bool ParkedWork::blocked(const Runtime& runtime, const Stream& stream, const Work& work, Items::const_iterator end) const {
    const auto* wait = std::get_if<WaitWork>(&work);
    for (auto item = items_.begin(); item != end; ++item)
        if (follows(runtime, stream, *item->stream) || (wait != nullptr && records(item->work, wait->event))) return true;
    if (wait != nullptr && wait->ticket != 0 && !wait->event->shared->reached(wait->ticket)) return true;  // another process has it
    const auto* value = std::get_if<ValueWork>(&work);
    return value != nullptr && !ready(*value);
}

bool ParkedWork::blocks(const Runtime& runtime, const Stream& stream, const Work& work) const {
    return blocked(runtime, stream, work, items_.end());
}

void ParkedWork::advance(Runtime& runtime, double from_ns) {
    if (advancing_) return;  // a host function that is parked calls HIP
    advancing_ = true;
    for (auto item = items_.begin(); item != items_.end();) {
        if (blocked(runtime, *item->stream, item->work, item)) {
            ++item;
            continue;
        }
        Stream& stream = *item->stream;
        stream.ready_ns = std::max(stream.ready_ns, from_ns);
        if (const abi::Error error = run(runtime, stream, item->work); error != abi::error::success) fail(error);
        from_ns = std::max(from_ns, stream.ready_ns);
        items_.erase(item);
        item = items_.begin();  // it may have written what something before it waits for
    }
    advancing_ = false;
}

bool ParkedWork::holds(const Runtime& runtime, const Stream& stream) const {
    for (const Item& item : items_)
        if (follows(runtime, stream, *item.stream)) return true;
    return false;
}

bool ParkedWork::holds(const Event& event) const {
    for (const Item& item : items_)
        if (records(item.work, &event)) return true;
    return event.shared && !event.shared->reached(event.shared->last_record());
}

void ParkedWork::forget(const Event& event) {
    for (Item& item : items_) {
        const auto* wait = std::get_if<WaitWork>(&item.work);
        if (records(item.work, &event) || (wait != nullptr && wait->event == &event)) item.work = EmptyWork{};
    }
}

void wait_while(Runtime& runtime, const std::function<bool()>& parked) {
    const auto begin = std::chrono::steady_clock::now();
    bool said = false;
    while (parked()) {
        runtime.mutex.unlock();
        std::this_thread::sleep_for(kPause);
        runtime.mutex.lock();
        runtime.parked.advance(runtime, runtime.host_ns);
        if (said || std::chrono::steady_clock::now() - begin < kPatience) continue;
        said = true;
        std::fprintf(stderr, "hipscope emulator: the program waits for a stream that waits for a value in memory, or for another process, and nothing has come so far\n");
    }
}

}  // namespace hipscope
