// Writes the raw output folder: run.json, dispatches.jsonl, profile_<id>.json, faults.jsonl, code_objects/.
// Each process of a program has a folder of its own, from the first thing that it writes on. A killed process leaves whole lines and whole files behind. `lost` has only white space, or why something could not
// be written: then what is there is not the whole run.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "core/processes.hpp"
#include "engine/device_config.hpp"
#include "engine/dispatch.hpp"

namespace hipscope {

struct DispatchRecord {
    std::uint64_t id = 0;
    const PreparedLaunch* launch = nullptr;
    const DispatchResult* result = nullptr;
    double start_ns = 0;
    std::string scalars;  // hexadecimal digest of the arguments that are no pointers
};

class RawOutput {
public:
    RawOutput(const std::string& directory, std::optional<DeviceConfig> device, std::string executable);
    ~RawOutput();
    RawOutput(const RawOutput&) = delete;
    RawOutput& operator=(const RawOutput&) = delete;

    void add(const DispatchRecord& record, const TimingConstants* constants);
    void add_fault(std::uint64_t dispatch, const std::string& kernel, const std::string& code_object,
                   const DispatchFault& fault);
    void add_code_object(const CodeObject& object);
    /// Why not everything was profiled; the first reason is kept.
    void set_partial(const std::string& why);
    /// Something about the program's results that its user should know; each text once.
    void warn(const std::string& what);
    /// Nothing when this process has nothing to write.
    void flush();
    /// Do `write`, which writes below the folder. When it throws, the reason is kept and nothing more is written.
    void attempt(const std::function<void()>& write);
    /// Whether this process has written something.
    [[nodiscard]] bool opened() const { return dispatches_ != nullptr && generation_ == fork_generation(); }
    /// This process's own folder.
    [[nodiscard]] const std::string& directory() { open(); return directory_; }
    /// What could not be written, and why.
    [[nodiscard]] const std::optional<std::string>& lost() const { return lost_; }

private:
    void open();
    void add_line(const std::string& text);
    [[noreturn]] void lines_lost() const;
    void write_profile(const DispatchRecord& record);
    void write_run();

    const std::string root_;
    std::string directory_;
    std::optional<DeviceConfig> device_;
    std::string executable_;
    std::FILE* dispatches_ = nullptr;
    int generation_ = 0;
    std::set<std::string> kernels_, objects_;
    std::uint64_t count_ = 0, profiled_ = 0;
    std::string faults_;
    std::optional<std::string> partial_, lost_;
    std::vector<std::string> warnings_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), flushed_ = begin_;
};

}  // namespace hipscope
