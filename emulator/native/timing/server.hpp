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

    Server() : slots_(kSlots) {}

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
                slot->used += left;
                break;
            }
            slot->used = static_cast<double>(window);
            slot->next = at + 1;
            left -= room;
            slot = &slot_of(++at);
        }
        const auto end = at * window + static_cast<std::int64_t>(slot->used);
        return std::max(end, t + static_cast<std::int64_t>(cost));
    }
    [[nodiscard]] double busy() const { return busy_; }

private:
    static constexpr std::int64_t kSlots = 1 << 13;
    struct Slot {
        std::int64_t window = -1;
        std::int64_t next = 0;  // where to look on when this one is full
        double used = 0;
    };

    Slot& slot_of(std::int64_t w) {
        Slot& slot = slots_[static_cast<std::size_t>(w & (kSlots - 1))];
        if (slot.window != w) slot = {w, w, 0};
        return slot;
    }
    std::int64_t first_free(std::int64_t w) {
        std::int64_t at = w;
        while (slot_of(at).used >= static_cast<double>(window)) at = slot_of(at).next;
        if (at > w + 1) slot_of(w).next = at;  // full windows stay full: skip them next time
        return at;
    }

    std::vector<Slot> slots_;
    double busy_ = 0;
};

}  // namespace hipscope
