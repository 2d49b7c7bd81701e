// What the XCDs of a device execute in one launch, of which one is timed: which of them takes longest, and how much longer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hipscope {

/// How fast an XCD gets through the instructions of its waves.
struct XcdPace {
    double cus = 1;             // each of which issues an instruction in a cycle
    double resident_waves = 1;  // as many as its registers and its LDS allow
    double waves_per_group = 1;
    double cycles_each = 1;     // from one instruction of a wave to its next, on average
};

/// What the workgroups of each XCD executed, and the longest one of them, in instructions.
class XcdWork {
public:
    explicit XcdWork(std::uint64_t xcds) : parts_(xcds) {}

    void add(std::uint64_t group, std::uint64_t instructions) {
        Part& part = parts_[group % parts_.size()];
        part.all.fetch_add(instructions, std::memory_order_relaxed);
        std::uint64_t longest = part.longest.load(std::memory_order_relaxed);
        while (longest < instructions && !part.longest.compare_exchange_weak(longest, instructions, std::memory_order_relaxed)) {}
    }
    [[nodiscard]] std::uint64_t of(std::uint64_t xcd) const { return parts_[xcd].all; }

    /// The XCD that takes longest at this pace, if that is another one: it has more to do, or a longer workgroup.
    [[nodiscard]] std::optional<std::uint64_t> busier_than(std::uint64_t xcd, const XcdPace& pace) const {
        constexpr double kMore = 1.1;
        const Part& known = parts_[xcd];
        const auto more = [&](const Part& part) {
            return static_cast<double>(part.all) > kMore * static_cast<double>(known.all) || static_cast<double>(part.longest) > kMore * static_cast<double>(known.longest);
        };
        if (!std::ranges::any_of(parts_, more)) return std::nullopt;
        const auto shorter = [&](const Part& a, const Part& b) { return cycles(a, pace) < cycles(b, pace); };
        const auto busiest = static_cast<std::uint64_t>(std::ranges::max_element(parts_, shorter) - parts_.begin());
        return busiest == xcd ? std::nullopt : std::optional(busiest);
    }
    /// Cycles of the slowest XCD, where those of `xcd` are known and an instruction of a wave takes the others `cost` times as long.
    [[nodiscard]] double slowest(std::uint64_t xcd, double cycles_of_it, XcdPace pace, double cost) const {
        const Part& known = parts_[xcd];
        if (known.all == 0) return cycles_of_it;
        const double takes = cycles(known, pace);
        pace.cycles_each *= cost;
        double longer = 0;
        for (const Part& part : parts_)
            if (&part != &known) longer = std::max(longer, cycles(part, pace) - takes);
        return longer < kUneven * cycles_of_it ? cycles_of_it : cycles_of_it + longer;
    }
    /// What all XCDs execute for each instruction of this one.
    [[nodiscard]] double all_for_each_of(std::uint64_t xcd) const {
        std::uint64_t sum = 0;
        for (const Part& part : parts_) sum += part.all;
        return of(xcd) == 0 ? static_cast<double>(parts_.size()) : static_cast<double>(sum) / static_cast<double>(of(xcd));
    }

private:
    static constexpr double kUneven = 0.02;  // the borders of a grid make less, too
    struct alignas(64) Part {
        std::atomic<std::uint64_t> all{0}, longest{0};
    };

    /// An XCD ends before neither its CUs have issued all of its work, nor the waves that fit on it have had their turns, nor its
    /// longest workgroup has come to its end.
    [[nodiscard]] static double cycles(const Part& part, const XcdPace& pace) {
        const auto all = static_cast<double>(part.all), longest = static_cast<double>(part.longest);
        return std::max({all / pace.cus, all * pace.cycles_each / pace.resident_waves, longest * pace.cycles_each / pace.waves_per_group});
    }

    std::vector<Part> parts_;
};

}  // namespace hipscope
