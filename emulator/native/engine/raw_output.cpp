// Raw output files.
#include "engine/raw_output.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "core/files.hpp"
#include "engine/counters.hpp"
#include "engine/json.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::size_t kLostBytes = 4096;

constexpr std::string_view space_name(Space space) {
    switch (space) {
        case Space::lds: return "lds";
        case Space::scratch: return "scratch";
        case Space::scalar: return "scalar";
        default: return "global";
    }
}

constexpr std::string_view kind_name(AccessKind kind) {
    return kind == AccessKind::load ? "load" : kind == AccessKind::store ? "store" : "atomic";
}

/// By MemoryKind.
constexpr std::string_view kMemoryKindNames[kMemoryKinds] = {"device", "managed", "host", "host_noncoherent", "fine_grained", "uncached"};

/// Instruction categories of the thread-trace wave files.
int trace_category(const Instruction& i) {
    switch (i.unit) {
        case Unit::smem: return 1;
        case Unit::salu: return 2;
        case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch:
            return i.text.starts_with("flat_") ? 4 : 3;
        case Unit::lds: return 5;
        case Unit::valu: case Unit::valu_half: case Unit::valu_trans: case Unit::mfma: return 6;
        case Unit::branch: return 7;
        case Unit::message: return 11;
        case Unit::waitcnt: case Unit::internal: case Unit::barrier: case Unit::end_program: break;
    }
    return 9;
}

void triple(Json& json, std::string_view name, const std::array<std::uint32_t, 3>& values) { json.list(name, values); }

void resources(Json& json, const PreparedLaunch& p) {
    const Kernel& kernel = *p.launch.kernel;
    json.key("resources").open('{');
    json.field("vgprs", kernel.vgprs).field("agprs", kernel.agprs).field("sgprs", kernel.sgprs);
    json.field("lds", p.lds_bytes).field("scratch", kernel.scratch_bytes).close('}');
}

void memory_pattern(Json& json, const PatternCounts& p, const CacheCounts& cache, double waves) {
    json.key("memory").open('{');
    json.field("space", space_name(p.space)).field("kind", kind_name(p.kind)).field("bytes", p.bytes);
    json.field("accesses", p.accesses).field("lanes", p.lanes);
    if (p.space == Space::global) {
        json.field("lines_needed", p.lines_needed).field("lines_used", p.lines_used);
        if (cache.lines > 0) {
            const double scale = line_scale(p, cache, waves);
            json.field("l1_hits", static_cast<double>(cache.l1_hits) * scale);
            json.field("l2_hits", static_cast<double>(cache.l2_hits) * scale);
            json.field("memory_lines", static_cast<double>(cache.memory_lines) * scale);
        }
        if (p.kind == AccessKind::load && (p.lanes == 0 || !p.distinct_lines.empty())) json.field("distinct_lines", p.distinct_lines.estimate());
        if (!p.atomic_lines.empty()) {
            std::uint64_t most = 0;
            for (const auto& [line, lanes] : p.atomic_lines) most = std::max(most, lanes);
            json.field("atomic_conflicts", p.same_address);
            json.field("same_address_share", static_cast<double>(most) / static_cast<double>(p.lanes));
        }
    }
    if (std::ranges::any_of(p.of_kind, [](std::uint64_t n) { return n != 0; })) {
        json.key("memory_kinds").open('{');
        for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
            if (p.of_kind[kind] != 0) json.field(kMemoryKindNames[kind], p.of_kind[kind]);
        json.close('}');
    }
    if (p.space == Space::lds) json.field("lds_cycles", p.lds_cycles).field("lds_conflict_cycles", p.lds_conflicts);
    json.close('}');
}

}  // namespace

RawOutput::RawOutput(const std::string& directory, std::optional<DeviceConfig> device, std::string executable)
    : root_(directory), device_(std::move(device)), executable_(std::move(executable)) {}

RawOutput::~RawOutput() {
    flush();
    if (opened()) std::fclose(dispatches_);
}

void RawOutput::open() {
    if (opened()) return;
    // What a parent has not written yet is in this copy of its file, too: it is left alone.
    dispatches_ = nullptr;
    generation_ = fork_generation();
    kernels_.clear();
    objects_.clear();
    faults_.clear();
    count_ = profiled_ = 0;
    partial_.reset();
    warnings_.clear();
    lost_.reset();
    try {
        directory_ = own_folder(root_);
        fs::create_directories(fs::path(directory_) / "code_objects");
        dispatches_ = std::fopen((directory_ + "/dispatches.jsonl").c_str(), "ae");
        if (dispatches_ == nullptr) throw std::runtime_error("cannot write to the output folder '" + directory_ + "' (HIPSCOPE_OUT)");
        // Its place is taken now: on a full disk there would be none for the message that the disk is full.
        write_file(directory_ + "/lost", std::string(kLostBytes, '\n'));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope emulator: %s\n", error.what());
        std::_Exit(70);
    }
}

void RawOutput::attempt(const std::function<void()>& write) {
    open();
    if (lost_) return;
    try {
        write();
    } catch (const std::exception& error) {
        lost_ = error.what();
        const int file = ::open((directory_ + "/lost").c_str(), O_WRONLY | O_CLOEXEC);
        if (file < 0) return;
        // Nothing more can be done if even this fails: the file then stays empty, and what is missing is seen as missing.
        [[maybe_unused]] const ssize_t ignored = ::write(file, lost_->data(), std::min(lost_->size(), kLostBytes - 1));
        ::close(file);
    }
}

void RawOutput::add_code_object(const CodeObject& object) {
    open();
    if (!objects_.insert(object.hash).second) return;
    attempt([&] { replace_file(directory_ + "/code_objects/" + object.hash + ".co", object.elf); });
}

void RawOutput::add(const DispatchRecord& record, const TimingConstants* constants) {
    const PreparedLaunch& p = *record.launch;
    const DispatchResult& result = *record.result;
    const bool profiled = result.timed.has_value() && (!result.fault || result.stopped_after);
    open();
    ++count_;
    profiled_ += profiled ? 1 : 0;
    kernels_.insert(p.launch.kernel->symbol);
    if (profiled) attempt([&] { write_profile(record); });  // before the line that announces it
    Json json;
    json.open('{').field("id", record.id).field("kernel", p.launch.kernel->symbol);
    json.field("code_object", p.launch.object->hash);
    triple(json, "grid", p.launch.grid);
    triple(json, "workgroup", p.launch.workgroup);
    json.field("dynamic_lds", p.launch.dynamic_lds);
    json.field("process", static_cast<std::uint64_t>(getpid())).field("thread", static_cast<std::uint64_t>(syscall(SYS_gettid)));
    if (profiled) json.field("start_ns", record.start_ns).field("end_ns", record.start_ns + result.time_ns);
    else json.key("start_ns").null().key("end_ns").null();
    json.field("profiled", profiled).field("scalars", record.scalars).field("instructions", result.instructions).field("waves", p.waves()).field("wall_ms", result.wall_ms).field("cpu_ms", result.cpu_ms);
    resources(json, p);
    if (profiled) {
        json.field("occupancy_waves_per_simd", result.timed->occupancy).field("bound_by", result.bound_by);
        json.field("timed_share", result.timed->covered);
        json.key("busy").open('{');
        for (const auto& [unit, part] : result.busy) json.field(unit, part);
        json.close('}');
        if (result.stopped_after) json.field("stopped_after", *result.stopped_after).field("workgroups", p.group_count);
        json.key("counters").open('{');
        for (const auto& [name, value] : hardware_counters(p, result, *constants)) json.field(name, value);
        json.close('}');
    }
    json.close('}');
    attempt([&] { add_line(json.text()); });
    // A program of many tiny launches must not spend its time on flushing.
    if (profiled || count_ < 100 || steady_clock::now() - flushed_ > std::chrono::milliseconds(50)) flush();
}

void RawOutput::write_profile(const DispatchRecord& record) {
    const PreparedLaunch& p = *record.launch;
    const TimedResult& t = *record.result->timed;
    const DispatchCounts& counts = *record.result->counts;
    const auto& code = p.launch.object->code->program.instructions;
    const MemorySlots slots(p.launch.object->code->program);
    const double scale = wave_scale(p, t);
    Json json;
    json.open('{').field("id", record.id).field("code_object", p.launch.object->hash);
    json.key("instructions").open('[');
    for (std::size_t i = 0; i < code.size(); ++i) {
        const ExecutionCounts& n = counts.executions[i];
        if (n.hits == 0) continue;
        const InstructionTime& time = t.times[i];
        std::int64_t stall = 0;
        for (const std::int64_t s : time.stall) stall += s;
        json.open('{').field("address", code[i].address).field("text", code[i].text);
        json.field("hits", n.hits).field("lanes", n.lanes);
        json.field("issue", static_cast<double>(time.issue) * scale).field("stall", static_cast<double>(stall) * scale);
        json.key("stalls").open('{');
        for (std::size_t r = 0; r < kStallReasons; ++r)
            if (time.stall[r] != 0) json.field(kStallNames[r], static_cast<double>(time.stall[r]) * scale);
        json.close('}');
        json.key("waited_for").open('{');
        for (const auto& [pc, cycles] : time.waited_for)
            json.field(std::to_string(code[pc].address), static_cast<double>(cycles) * scale);
        json.close('}');
        if (const std::int32_t slot = slots.slot[i]; slot >= 0 && counts.patterns[static_cast<std::size_t>(slot)].accesses > 0)
            memory_pattern(json, counts.patterns[static_cast<std::size_t>(slot)], t.caches[static_cast<std::size_t>(slot)], scale);
        json.close('}');
    }
    json.close(']').key("waves").open('[');
    for (const WaveTrace& wave : t.traces) {
        json.open('{').field("xcd", 0).field("cu", wave.cu).field("simd", wave.simd).field("slot", wave.slot);
        json.field("begin", wave.begin).field("end", wave.end).key("instructions").open('[');
        for (const TraceStep& s : wave.steps)
            json.open('[').value(s.time).value(trace_category(code[s.pc])).value(s.stall).value(s.duration)
                .value(code[s.pc].address).close(']');
        json.close(']').close('}');
    }
    json.close(']').close('}');
    replace_file(directory_ + "/profile_" + std::to_string(record.id) + ".json", json.text());
}

void RawOutput::add_fault(std::uint64_t dispatch, const std::string& kernel, const std::string& code_object,
                          const DispatchFault& fault) {
    open();
    Json json;
    json.open('{').field("dispatch", dispatch).field("kernel", kernel).field("kind", fault.kind);
    json.field("message", fault.message).key("address");
    if (fault.instruction_address) json.value(*fault.instruction_address);
    else json.null();
    json.field("instruction", fault.instruction).field("code_object", code_object).close('}');
    faults_ += json.text() + "\n";
    attempt([&] { replace_file(directory_ + "/faults.jsonl", faults_); });
    flush();
}

void RawOutput::set_partial(const std::string& why) {
    open();
    if (!partial_) partial_ = why;
}

void RawOutput::warn(const std::string& what) {
    open();
    if (std::find(warnings_.begin(), warnings_.end(), what) == warnings_.end()) warnings_.push_back(what);
}

void RawOutput::add_line(const std::string& text) {
    if (std::fputs((text + "\n").c_str(), dispatches_) < 0) lines_lost();
}

void RawOutput::lines_lost() const {
    throw std::runtime_error("cannot write '" + directory_ + "/dispatches.jsonl': " + std::strerror(errno));
}

void RawOutput::flush() {
    if (!opened()) return;
    attempt([&] {
        if (std::fflush(dispatches_) != 0) lines_lost();
        write_run();
    });
    flushed_ = steady_clock::now();
}

void RawOutput::write_run() {
    Json json;
    json.open('{').field("version", 1).field("pid", getpid()).key("device").open('{');
    if (device_)
        for (const auto& [name, value] : device_->values()) json.field(name, value);
    json.close('}').field("executable", executable_);
    json.field("kernels_seen", kernels_.size()).field("dispatches", count_).field("profiled", profiled_).key("partial");
    if (partial_) json.value(*partial_);
    else json.null();
    json.key("warnings").open('[');
    for (const std::string& what : warnings_) json.value(what);
    json.close(']').field("wall_ms", std::chrono::duration<double, std::milli>(steady_clock::now() - begin_).count()).close('}');
    replace_file(directory_ + "/run.json", json.text());
}

}  // namespace hipscope
