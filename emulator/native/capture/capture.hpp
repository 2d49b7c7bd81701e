// Records dispatches with everything that a replay needs: arguments, the contents of device memory before and after,
// launch shape and code object. capture/replay.cpp reads what this writes.
#pragma once

#include <cstdint>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/record.hpp"
#include "capture/touched.hpp"
#include "core/memory.hpp"
#include "engine/dispatch.hpp"
#include "timing/l2_lines.hpp"

namespace hipscope {

struct CaptureSettings {
    std::string directory;
    std::vector<std::string> kernels;  // mangled names; empty: all
    std::uint64_t per_shape = 1;       // and for each way in which its pointers share memory
    std::uint64_t variants = 8;        // further launches of a kernel, with other arguments, beside those
    std::uint64_t max_bytes = 1ULL << 30U;  // of one dispatch; where more is live, what it touches is recorded
    std::uint64_t all_bytes = ~0ULL;        // of all files of a process
};

/// Of the launches of a kernel that differ in their arguments alone, those that are recorded: the first ones, and of
/// the later ones some at growing distances, each of which takes the place of an earlier one.
class ArgumentClasses {
public:
    explicit ArgumentClasses(std::uint64_t most) : most_(most) {}

    /// True when a launch with these arguments is to be recorded; `replaced` is then the folder that it takes the
    /// place of, if any. Of `cheap` launches more are recorded.
    bool wants(const std::string& arguments, bool cheap, std::string& replaced);
    void recorded(const std::string& folder);
    /// The arguments of a launch that is recorded anyhow.
    void know(const std::string& arguments) { known_.insert(arguments); }
    bool has(const std::string& arguments) const { return known_.contains(arguments); }

private:
    std::uint64_t most_, taken_ = 0, later_ = 0, next_ = 1;
    std::set<std::string> known_;     // digests
    std::deque<std::string> late_;    // folders, the oldest first
};

class Capture {
public:
    Capture(CaptureSettings settings, Memory& memory);

    /// Called before a dispatch: writes its inputs when it is wanted. `internal` lists blocks that are not the
    /// program's (launch area, code object images). True when `after` must be called.
    /// `l2_lines` tells what the launch finds in the L2, if that is known.
    bool before(std::uint64_t id, const PreparedLaunch& launch, const std::string& shape,
                const std::vector<std::uint64_t>& internal, const std::function<std::optional<L2Lines>()>& l2_lines);
    void after(const DispatchResult& result);

private:
    static constexpr std::uint64_t kNextProcess = 1'000'000;

    std::uint64_t own_number(std::uint64_t id);
    void write_buffers(const std::string& ending);
    void write_globals(const std::string& ending);
    void keep_touched();
    /// Whether all files may take so many bytes more; else the launch that is being recorded says why not.
    bool has_room(std::uint64_t bytes);
    /// Whether the launch is the first of its shape and sharing, another variant, or not recorded.
    enum class Wanted { no, first, variant };
    Wanted wants(const std::string& symbol, const std::string& shape, const std::string& pattern,
                 const std::string& arguments);
    /// Keep with the first launch of a shape what it, or another one of the first ones, found in the L2: most find what the
    /// launches before them left, which the very first one does not. `pointed`: the blocks that its arguments point to.
    void keep_l2_lines(const std::string& shape_and_pattern, const std::vector<std::uint64_t>& pointed,
                       const std::function<std::optional<L2Lines>()>& l2_lines);
    void list(const std::string& symbol, const std::string& launch_class, std::uint64_t id);

    CaptureSettings settings_;
    Memory& memory_;
    std::map<std::string, std::map<std::string, std::uint64_t>> taken_;  // shape -> sharing -> launches
    struct OfShape {
        std::string folder;                  // of the first launch
        std::vector<std::uint64_t> pointed;  // blocks that its arguments point to
        std::uint64_t launches = 0;          // whose L2 was looked at
    };
    std::map<std::string, OfShape> shapes_;  // by shape and sharing
    std::map<std::string, ArgumentClasses> classes_;  // by kernel
    std::ofstream launches_;
    std::string replaced_;  // the folder that goes when the one that is being recorded is whole
    std::map<std::string, std::uint64_t> work_;  // by kernel: instructions of its recorded launches
    std::uint64_t variant_bytes_ = 0;  // of memory in variants, also in those that others have replaced
    std::uint64_t written_ = 0;  // bytes of files, also of those that others have replaced
    std::string folder_;
    DispatchWriter files_;
    CapturedLaunch record_;
    std::string kernarg_;
    std::optional<TouchedMemory> watch_;  // when all live memory is more than may be recorded
    std::uint64_t live_bytes_ = 0;
};

}  // namespace hipscope
