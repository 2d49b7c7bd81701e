// Modelled time of the device: when a kernel of some stream starts, given what else runs.
//
// The rule: a kernel starts when what it must wait for has ended and the device has room for it. A kernel takes the
// share of the device that its resident workgroups occupy, at most all of it. Kernels that fit side by side overlap and
// neither becomes slower; one that does not fit waits. Copies, fills and host work take no modelled time.
#pragma once

#include <algorithm>
#include <vector>

namespace hipscope {

class Timeline {
public:
    /// Start of a kernel that may not start before `earliest`, takes `duration` ns and `share` (0 to 1) of the device.
    double place(double earliest, double duration, double share) {
        double start = earliest;
        for (bool moved = true; moved;) {
            moved = false;
            for (const double at : peaks(start, start + duration))
                if (used(at) + share > 1 + 1e-9) {
                    start = next_end(at);
                    moved = true;
                    break;
                }
        }
        if (duration > 0) running_.push_back({start, start + duration, share});
        return start;
    }
    /// Nothing will be placed before `ns` any more.
    void forget_before(double ns) {
        std::erase_if(running_, [ns](const Interval& i) { return i.end <= ns; });
    }

private:
    struct Interval {
        double start, end, share;
    };
    /// The moments in [from, to) at which the device's use can be highest: `from` and every start inside.
    [[nodiscard]] std::vector<double> peaks(double from, double to) const {
        std::vector<double> result{from};
        for (const Interval& i : running_)
            if (i.start > from && i.start < to) result.push_back(i.start);
        std::sort(result.begin(), result.end());
        return result;
    }
    [[nodiscard]] double used(double at) const {
        double sum = 0;
        for (const Interval& i : running_)
            if (i.start <= at && at < i.end) sum += i.share;
        return sum;
    }
    [[nodiscard]] double next_end(double at) const {
        double end = at;
        for (const Interval& i : running_)
            if (i.start <= at && at < i.end && (end == at || i.end < end)) end = i.end;
        return end;
    }

    std::vector<Interval> running_;
};

}  // namespace hipscope
