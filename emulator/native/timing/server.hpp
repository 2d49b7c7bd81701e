// A resource that serves so many cycles of work per cycle: L2 channels, the fabric, HBM. Requests may come slightly
// out of time order (CUs run in quanta), so capacity is kept per window of time and none is lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hipscope {

class Server {
public:
    static constexpr std::int64_t window = 32;

    /// `now`: the model's clock, which outlives the server. Requests come for times at or after it.
    explicit Server(const std::int64_t& now) : now_(&now), slots_(kSlotsAtFirst) {}

    /// Take `cost` cycles of service at or after time `t`; the time at which the service ends.
    std::int64_t serve(std::int64_t t, double cost) {
        const std::int64_t asked = t / window;
        if (Slot& slot = place_of(asked);
            slot.window == static_cast<std::int32_t>(asked) && cost < static_cast<double>(window) - slot.used) {
            slot.used += static_cast<float>(cost);  // the usual case
            return std::max(asked * window + static_cast<std::int64_t>(slot.used), t + static_cast<std::int64_t>(cost));
        }
        const std::int64_t w = first_free(asked);
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

private:
    struct alignas(16) Slot {
        std::int32_t window = -1;
        std::int32_t next = 0;  // where to look on when this one is full: always a later window
        float used = 0;
    };
    static constexpr std::size_t kSlotsAtFirst = 64;

    Slot& place_of(std::int64_t w) { return slots_[static_cast<std::size_t>(w) & last_]; }
    /// The window's slot. Windows share slots; one whose time is over leaves its slot to the next, and for two that are
    /// both still to come there are made more slots. May move all slots.
    Slot& slot_of(std::int64_t w) {
        const auto number = static_cast<std::int32_t>(w);  // 2^31 windows are half a minute of device time
        Slot* slot = &place_of(w);
        if (slot->window == number) return *slot;
        if (slot->window >= *now_ / window) {
            make_room(number);
            slot = &place_of(w);
        }
        // `next` lies ahead from the start: a sum of floats may round up to a full window.
        *slot = {number, number + 1, 0};
        return *slot;
    }
    /// Enough slots for all windows from now on that were asked for, and for `number`.
    void make_room(std::int32_t number) {
        const auto first = static_cast<std::int32_t>(*now_ / window);
        std::int32_t earliest = number, latest = number;
        for (const Slot& slot : slots_) {
            if (slot.window < first) continue;
            earliest = std::min(earliest, slot.window);
            latest = std::max(latest, slot.window);
        }
        std::vector<Slot> more(std::bit_ceil(static_cast<std::size_t>(latest - earliest) + 1));
        for (const Slot& slot : slots_)
            if (slot.window >= first) more[static_cast<std::size_t>(slot.window) & (more.size() - 1)] = slot;
        slots_ = std::move(more);
        last_ = slots_.size() - 1;
    }
    std::int64_t first_free(std::int64_t w) {
        std::int64_t free = w;
        while (slot_of(free).used >= static_cast<float>(window)) free = slot_of(free).next;
        for (std::int64_t at = w; at < free;) {  // full windows stay full: skip all of them next time
            Slot& passed = slot_of(at);
            at = passed.next;
            passed.next = static_cast<std::int32_t>(free);
        }
        return free;
    }

    const std::int64_t* now_;
    std::vector<Slot> slots_;      // a power of two
    std::size_t last_ = kSlotsAtFirst - 1;
};

}  // namespace hipscope
