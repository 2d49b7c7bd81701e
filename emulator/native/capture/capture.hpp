// Records dispatches with everything that a replay needs: arguments, the contents of device memory before and after,
// launch shape and code object. capture/replay.cpp reads what this writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capture/record.hpp"
#include "core/memory.hpp"
#include "engine/dispatch.hpp"

namespace hipscope {

struct CaptureSettings {
    std::string directory;
    std::vector<std::string> kernels;  // mangled names; empty: all
    std::uint64_t per_shape = 1;       // and for each way in which its pointers share memory
    std::uint64_t max_bytes = 1ULL << 30U;  // of one dispatch
};

class Capture {
public:
    Capture(CaptureSettings settings, Memory& memory);

    /// Called before a dispatch: writes its inputs when it is wanted. `internal` lists blocks that are not the
    /// program's (launch area, code object images). True when `after` must be called.
    bool before(std::uint64_t id, const PreparedLaunch& launch, const std::string& shape,
                const std::vector<std::uint64_t>& internal);
    void after(const DispatchResult& result);

private:
    static constexpr std::uint64_t kNextProcess = 1'000'000;

    std::uint64_t own_number(std::uint64_t id);
    void write_memory(const std::string& ending);

    CaptureSettings settings_;
    Memory& memory_;
    std::map<std::string, std::map<std::string, std::uint64_t>> taken_;  // shape -> sharing -> launches
    std::string folder_;
    DispatchWriter files_;
    CapturedLaunch record_;
};

}  // namespace hipscope
