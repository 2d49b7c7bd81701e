// A resource that serves so many cycles of work per cycle: L2 channels, the fabric, HBM. Requests may come slightly
// out of time order (CUs run in quanta), so capacity is kept per window of time and none is lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hipscope {

class Server {
public:
    static constexpr std::int64_t window = 32;

    /// `slots`: windows of backlog that it can hold, a power of two.
    explicit Server(std::size_t slots) : slots_(slots) {}

    /// Take `cost` cycles of service at or after time `t`; the time at which the service ends.
    std::int64_t serve(std::int64_t t, double cost) {
        busy_ += cost;
        const std::int64_t w = first_free(t / window);
        double left = cost;
        std::int64_t at = w;
        Slot* slot = &slot_of(at);
        for (;;) {
            const double room = static_cast<double>(window) - slot->used;
            if (left < room) {
                slot->used += static_cast<float>(left);
                break;
            }
            slot->used = static_cast<float>(window);
            left -= room;
            slot = &slot_of(++at);
        }
        const auto end = at * window + static_cast<std::int64_t>(slot->used);
        return std::max(end, t + static_cast<std::int64_t>(cost));
    }
    [[nodiscard]] double busy() const { return busy_; }

private:
    struct Slot {
        std::int32_t window = -1;
        std::int32_t next = 0;  // where to look on when this one is full: always a later window
        float used = 0;
    };

    Slot& slot_of(std::int64_t w) {
        Slot& slot = slots_[static_cast<std::size_t>(w) & (slots_.size() - 1)];
        const auto number = static_cast<std::int32_t>(w);  // 2^31 windows are half a minute of device time
        // `next` lies ahead from the start: a sum of floats may round up to a full window.
        if (slot.window != number) slot = {number, number + 1, 0};
        return slot;
    }
    std::int64_t first_free(std::int64_t w) {
        std::int64_t at = w;
        while (slot_of(at).used >= static_cast<float>(window)) at = slot_of(at).next;
        if (at > w + 1) slot_of(w).next = static_cast<std::int32_t>(at);  // full windows stay full: skip them next time
        return at;
    }

    std::vector<Slot> slots_;
    double busy_ = 0;
};

}  // namespace hipscope
