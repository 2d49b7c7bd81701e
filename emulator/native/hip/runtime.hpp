// The state behind the HIP API: memory, loaded modules, streams and events, and the path of a launch.
// One instance per process, made at the first call and never destroyed (programs call HIP from atexit handlers).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/capture.hpp"
#include "capture/effects.hpp"
#include "core/memory.hpp"
#include "engine/code_object.hpp"
#include "engine/dispatch.hpp"
#include "engine/host_services.hpp"
#include "engine/raw_output.hpp"
#include "hip/abi.hpp"
#include "hip/graph.hpp"
#include "hip/ipc.hpp"
#include "hip/library_calls.hpp"
#include "hip/memory_pool.hpp"
#include "hip/parked.hpp"
#include "hip/sampling.hpp"
#include "hip/settings.hpp"
#include "hip/timeline.hpp"
#include "sanitize/sanitizer.hpp"

namespace hipscope {

struct Module;

/// A kernel as the host names it: the address of its stub, or a hipFunction_t.
struct Function {
    Module* module = nullptr;
    std::string name;
    const CodeObject* object = nullptr;  // set at first use
    const Kernel* kernel = nullptr;
};

/// A registered device variable.
struct DeviceVariable {
    Module* module = nullptr;
    std::string name;
    std::size_t bytes = 0;
    void* managed = nullptr;  // its memory when it is __managed__
};

/// One fat binary; its code object is loaded when something of it is used.
struct Module {
    std::string image;  // bundle or ELF bytes; released after loading
    const void* embedded = nullptr;  // image inside the program, not copied
    std::unique_ptr<CodeObject> object;
    std::string problem;  // why it could not be loaded
    std::vector<DeviceVariable*> managed;
    std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
};

inline constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2, kEventInterprocess = 4;

struct Stream {
    unsigned flags = 0;
    int priority = 0;
    int synchronization_policy = 1;          // hipSyncPolicyAuto; the emulator waits in one way only
    double ready_ns = 0;                     // modelled time at which all its work has ended
    std::shared_ptr<StreamCapture> capture;  // while it is being recorded
    std::vector<GraphNode*> tail;            // what the next recorded work waits for
};

struct Event {
    unsigned flags = 0;
    double time_ns = 0;
    bool recorded = false;
    std::unique_ptr<SharedEvent> shared;     // of an event of several processes
    std::shared_ptr<StreamCapture> capture;  // of the stream it was recorded in last, if that was being captured
    std::vector<GraphNode*> captured_after;
};

struct LaunchRequest {
    Function* function = nullptr;
    abi::Dim3 grid;       // workgroups
    abi::Dim3 workgroup;
    std::uint32_t dynamic_lds = 0;
    void** arguments = nullptr;                // one pointer per explicit argument, or
    std::span<const std::uint8_t> packed;      // the explicit arguments as bytes
    bool cooperative = false;
};

class Runtime {
public:
    /// The process's runtime. Prints one line and exits the process when settings or files are wrong.
    static Runtime& get();

    std::recursive_mutex mutex;  // taken by every API function
    Settings settings;
    Memory memory;
    std::optional<DeviceConfig> device;
    HostServices services{memory, true};
    std::unique_ptr<sanitize::Sanitizer> sanitizer;  // runs under HIPSCOPE_SANITIZE only

    // Modules and symbols
    Module* add_module(const void* embedded, std::string image);
    void remove_module(Module* module);
    /// The module's code object, loaded now if need be; nullptr with a line on stderr when it cannot be.
    CodeObject* load(Module& module);
    std::unordered_map<const void*, Function> functions;      // by host stub
    std::unordered_map<const void*, DeviceVariable> variables;  // by host shadow
    /// Device address of a variable, 0 when unknown.
    std::uint64_t variable_address(const DeviceVariable& variable);
    bool resolve(Function& function);

    // Launches
    abi::Error launch(const LaunchRequest& request, Stream& stream);
    /// The explicit arguments of a kernel as bytes; from one pointer for each, or from an already packed buffer.
    std::vector<std::uint8_t> pack(const Kernel& kernel, void** arguments, std::span<const std::uint8_t> packed) const;
    /// Error that an earlier dispatch left behind, or success.
    [[nodiscard]] abi::Error pending() const { return fault_; }
    void reset();
    /// Copies and fills: keeps the cache model informed.
    void touched(const void* address, std::size_t bytes, bool written);
    /// A box of device memory has been copied to the host; `from` is where its only row lies there, or 0.
    void copied_to_host(std::string_view rows, std::uint64_t from);
    /// Whether results that come to the host are looked at, and what is odd about one; the first of each `kind` is kept.
    [[nodiscard]] bool looks_at_results() const { return output_ != nullptr; }
    void odd_result(const std::string& kind, const std::string& what);
    /// An allocation failed: noted once where the cause is a limit on this process, not the device.
    void no_space(std::uint64_t bytes);
    [[nodiscard]] bool notes_effects() const { return effects_ != nullptr; }
    /// For the sanitizers: a block has appeared, or is about to go, by the program's call that is being served.
    /// `written`: values may have been put there without a call of HIP.
    void appeared(std::uint64_t address, bool written);
    void disappears(std::uint64_t address);
    /// Workgroups of this launch that fit on one CU together.
    [[nodiscard]] int groups_per_cu(const PreparedLaunch& launch) const;
    [[nodiscard]] Engine& engine() { return *engine_; }

    // Modelled time. The host's own instructions take none: its clock moves when it waits for the device.
    double host_ns = 0;
    Stream legacy;                                // the null stream
    std::map<std::thread::id, Stream> per_thread;  // hipStreamPerThread
    std::vector<std::weak_ptr<StreamCapture>> captures;
    /// The stream behind a handle (null, legacy, per-thread or a created one), nullptr when there is none.
    Stream* stream_of(Stream* handle);
    /// Earliest start of what comes next in `stream`: the legacy stream and blocking streams wait for each other.
    [[nodiscard]] double start_of(const Stream& stream) const;
    ParkedWork parked;
    /// The host waits for one stream or for all.
    void wait_for(const Stream& stream);
    void wait_for_all();
    void record(Event& event, Stream& stream);
    /// True when work on the legacy stream would end in a capture that is going on.
    [[nodiscard]] bool forbid_legacy() const;
    /// Makes the captures that are going on and that `which` holds for invalid; true when there are any.
    bool invalidate_captures(const std::function<bool(const StreamCapture&)>& which);
    /// What a call does that is unsafe while a stream is captured, such as hipMalloc: true when this thread may not call it now.
    bool spoils_capture();
    [[nodiscard]] double number(const std::string& key, double otherwise) const;

    std::uint64_t captures_begun = 0;
    std::map<Graph*, std::shared_ptr<Graph>> graphs, executables;
    /// True when `handle` is a function that hipModuleGetFunction gave out.
    [[nodiscard]] bool is_function(const void* handle) const;
    std::set<Stream*> streams;
    std::set<Event*> events;
    std::set<std::uint64_t> managed;  // blocks of hipMallocManaged
    std::map<std::uint64_t, unsigned> host_flags;  // of pinned allocations
    std::map<std::uint64_t, KindRange> kinds;      // of blocks that are no plain device memory, by their starts
    /// What kind of memory the block at `address` is.
    void set_kind(std::uint64_t address, MemoryKind kind);
    MemoryPools pools;
    std::map<std::uint64_t, std::uint64_t> graph_memory;  // address space of allocation nodes, start -> bytes
    std::uint64_t graph_bytes_high = 0;
    [[nodiscard]] std::uint64_t graph_bytes() const;  // of allocation nodes, live now
    std::map<UserObject*, std::vector<std::shared_ptr<UserObject>>> user_objects;  // the program's own references
    /// End a block, wherever it came from. False when none starts at `address`.
    bool release(std::uint64_t address);
    void say_unsupported(const char* name);
    /// A stand-in for a library has computed a call of this function.
    void library_called(const std::string& name);

private:
    Runtime();
    DispatchResult check(const PreparedLaunch& launch, std::uint64_t id);
    void write_reports();
    abi::Error refuse(const LaunchRequest& request, const std::string& why, abi::Error error);
    bool wants_profile(const std::string& shape, const std::string& scalars);
    [[nodiscard]] std::vector<std::uint64_t> internal_blocks() const;
    double device_share(const PreparedLaunch& launch) const;
    void report(const std::string& kernel, const std::string& line);

    DisassemblySettings disassembly_;
    Timeline timeline_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<LaunchArea> area_;
    std::unique_ptr<RawOutput> output_;
    std::set<std::string> odd_results_;  // kinds
    LibraryCalls library_calls_;
    std::unique_ptr<Capture> capture_;
    std::unique_ptr<Effects> effects_;
    Sampling sampling_;
    std::map<std::string, std::uint32_t> cycles_each_;  // of an instruction of a wave, by shape, as timed last
    std::vector<std::unique_ptr<Module>> modules_;
    std::set<std::string> named_;  // unsupported functions already named
    std::uint64_t next_id_ = 1;
    double profiling_ms_ = 0;
    abi::Error fault_ = abi::error::success;
    std::string arch_ = "gfx942";
};

/// Error of the calling thread's last failing call.
abi::Error& last_error();

/// Note and pass on an error.
inline abi::Error fail(abi::Error error) { return last_error() = error; }

}  // namespace hipscope
