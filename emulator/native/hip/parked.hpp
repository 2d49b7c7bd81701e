// Streams that wait for a value in memory: what has been put into them, and into streams that wait for them, until it is there.
//
// All other work runs in the call that puts it into a stream (see api_stream.cpp). Only a wait for a value that something
// else has yet to write cannot: it is kept here, with everything that must come after it, and tried again in each later call.
#pragma once

#include <functional>
#include <list>

#include "hip/graph.hpp"

namespace hipscope {

class ParkedWork {
public:
    [[nodiscard]] bool empty() const { return items_.empty(); }
    /// True when `work` cannot run in `stream` yet: its value is not there, or something parked comes before it.
    [[nodiscard]] bool blocks(const Runtime& runtime, const Stream& stream, const Work& work) const;
    void add(Stream& stream, Work work) { items_.push_back({&stream, std::move(work)}); }
    /// Run what can run by now. `from_ns`: modelled time of what may have written a value.
    void advance(Runtime& runtime, double from_ns);

    /// Something is parked that who waits for `stream` must wait for.
    [[nodiscard]] bool holds(const Runtime& runtime, const Stream& stream) const;
    /// A record of the event is parked, here or in another process.
    [[nodiscard]] bool holds(const Event& event) const;
    void forget(const Event& event);

private:
    struct Item {
        Stream* stream;
        Work work;
    };
    using Items = std::list<Item>;
    [[nodiscard]] bool blocked(const Runtime& runtime, const Stream& stream, const Work& work, Items::const_iterator end) const;

    Items items_;  // in the order of the calls
    bool advancing_ = false;
};

/// Wait, with the runtime unlocked for other threads, until `parked` gives false.
void wait_while(Runtime& runtime, const std::function<bool()>& parked);
/// True when the value that a wait is for is in memory; a write is always ready.
bool ready(const ValueWork& work);

}  // namespace hipscope
