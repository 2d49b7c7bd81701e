// Which launches are timed, and how long the others take: launches of a kernel with one grid may do very different work.
//
// The first launches of a shape (kernel, grid, workgroup, LDS) are timed, then as many again that the first cannot stand for: half of
// those for scalar arguments that have not come before, the others for launches like one that executed far more or far fewer
// instructions than any that was timed. Every launch counts its instructions. emulator/layout.py estimates in the same way.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hipscope {

class Sampling {
public:
    /// `first`: how many launches of each shape are timed in any case; 0: none is timed at all.
    explicit Sampling(std::uint64_t first) : first_(first) {}

    /// Whether the next launch is to be timed.
    [[nodiscard]] bool wants(const std::string& shape, const std::string& scalars) const;
    void timed(const std::string& shape, const std::string& scalars, std::uint64_t instructions, double time_ns);
    /// Whether a launch of the shape was timed.
    [[nodiscard]] bool has_timed(const std::string& shape) const { return shapes_.contains(shape) && !shapes_.at(shape).timed.empty(); }
    /// A launch ran without the model. Gives its time in ns: that of timed launches that did about as much, scaled by the instructions.
    double untimed(const std::string& shape, const std::string& scalars, std::uint64_t instructions);

private:
    struct Timed {
        std::string scalars;
        std::uint64_t instructions;
        double time_ns;
    };
    struct Shape {
        std::vector<Timed> timed;
        std::set<std::string> seen;       // scalars of all launches
        std::set<std::string> different;  // scalars of launches that nothing stands for
        std::uint64_t new_scalars = 0, late = 0;  // launches timed for these two reasons
    };
    std::uint64_t first_;
    std::map<std::string, Shape> shapes_;
};

}  // namespace hipscope
