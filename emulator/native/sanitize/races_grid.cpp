// Order through global wave sync (ds_gws_*): grid barriers and semaphores, which all waves of a dispatch share.
//
// What a workgroup did before it arrived comes before what others do once they have left the barrier, as far as the arriving
// wave knew of it: a store of another wave needs a workgroup barrier in between. A load after such a store also needs the
// caches: the writer's written back before it arrived, and the reader's invalidated between the barrier before and the
// load. Before this barrier is soon enough, for nothing is loaded while the workgroup waits; that is where the device
// library's grid barrier has its fence.
#include <algorithm>

#include "sanitize/races.hpp"

namespace hipscope::sanitize {

void Races::grid_sync(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role, bool first, bool passed) {
    if (first && role != Role::grid_take) arrive(order, group, wave);
    if (!passed) return;
    if (role == Role::grid_give || (role == Role::grid_barrier && first)) ++grid_opened_;  // the last to arrive opens it
    if (role == Role::grid_give) return;
    GroupFences& own = fences_of(order, group);
    WaveOrder& w = order.waves[wave];
    w.clocks[kGrid] = grid_opened_;
    if (!own.arrivals.empty()) join(w.clocks, own.arrivals.back().known);  // of the other waves of the workgroup
    if (own.left_number == grid_opened_) return;
    own.left_number = grid_opened_;
    own.left = ++time_;
}

void Races::arrive(GroupOrder& order, std::uint64_t group, std::uint32_t wave) {
    GroupFences& own = fences_of(order, group);
    if (own.arrivals.empty() || own.arrivals.back().number != grid_opened_ + 1) {
        const Clocks before = own.arrivals.empty() ? Clocks{} : own.arrivals.back().known;
        own.arrivals.push_back({grid_opened_ + 1, 0, own.left, before});
    }
    Arrival& here = own.arrivals.back();
    here.releases = static_cast<std::uint32_t>(own.releases.size());
    join(here.known, order.waves[wave].clocks);
    next_segment(order, group, wave);
}

/// The first arrival of the earlier access's workgroup after it, if `now` knows that this barrier has opened.
const Arrival* Races::arrival_between(const Segment& earlier, const Clocks& now) const {
    const auto fences = fences_.find(earlier.group);
    if (fences == fences_.end()) return nullptr;
    const auto& all = fences->second.arrivals;
    const auto after = std::partition_point(all.begin(), all.end(), [&](const Arrival& a) { return a.known[earlier.wave] < earlier.clock; });
    return after == all.end() || after->number > now[kGrid] ? nullptr : &*after;
}

/// True when the writer wrote back before it arrived and the reader invalidated since it left the barrier before.
bool Races::grid_fenced(const Arrival& arrival, const Segment& writer, std::uint64_t reader) const {
    const auto own = fences_.find(reader);
    if (arrival.releases <= writer.releases || own == fences_.end()) return false;
    const auto& all = own->second.arrivals;
    const auto same = std::ranges::lower_bound(all, arrival.number, {}, &Arrival::number);
    return same != all.end() && same->number == arrival.number && own->second.acquired > same->since;
}

}  // namespace hipscope::sanitize
