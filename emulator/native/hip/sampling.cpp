#include "hip/sampling.hpp"

#include <algorithm>

namespace hipscope {
namespace {

constexpr double kAlike = 1.25;       // instructions of launches that stand for each other differ by less than this
constexpr double kSomeTime = 1e5;     // ns; time goes on, so that a program that waits for it to pass comes to an end

double ratio(std::uint64_t a, std::uint64_t b) {
    const double x = static_cast<double>(std::max<std::uint64_t>(a, 1)), y = static_cast<double>(std::max<std::uint64_t>(b, 1));
    return std::max(x / y, y / x);
}

}  // namespace

bool Sampling::wants(const std::string& shape, const std::string& scalars) const {
    if (first_ == 0) return false;
    const auto known = shapes_.find(shape);
    if (known == shapes_.end()) return true;
    const Shape& s = known->second;
    if (s.timed.size() - s.new_scalars - s.late < first_) return true;
    const std::uint64_t slots = (first_ + 1) / 2;
    return (!s.seen.contains(scalars) && s.new_scalars < slots) || (s.different.contains(scalars) && s.late < slots);
}

void Sampling::timed(const std::string& shape, const std::string& scalars, std::uint64_t instructions, double time_ns) {
    Shape& s = shapes_[shape];
    if (s.timed.size() - s.new_scalars - s.late >= first_) ++(s.seen.contains(scalars) ? s.late : s.new_scalars);
    s.timed.push_back({scalars, instructions, time_ns});
    s.seen.insert(scalars);
    s.different.erase(scalars);
}

double Sampling::untimed(const std::string& shape, const std::string& scalars, std::uint64_t instructions) {
    if (first_ == 0) return kSomeTime;
    Shape& s = shapes_[shape];
    s.seen.insert(scalars);
    if (s.timed.empty()) return 0;
    double nearest = ratio(s.timed.front().instructions, instructions);
    for (const Timed& t : s.timed) nearest = std::min(nearest, ratio(t.instructions, instructions));
    if (nearest > kAlike) s.different.insert(scalars);
    const double limit = std::max(nearest, kAlike);
    const auto alike = [&](const Timed& t) { return ratio(t.instructions, instructions) <= limit; };
    const bool same = std::ranges::any_of(s.timed, [&](const Timed& t) { return alike(t) && t.scalars == scalars; });
    double time = 0, executed = 0;
    for (const Timed& t : s.timed)
        if (alike(t) && (!same || t.scalars == scalars)) {
            time += t.time_ns;
            executed += static_cast<double>(std::max<std::uint64_t>(t.instructions, 1));
        }
    return time * (static_cast<double>(std::max<std::uint64_t>(instructions, 1)) / executed);
}

}  // namespace hipscope
