// Start-up, modules, and the path of a launch: prepare, capture, run, record.
#include "hip/runtime.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "engine/bundle.hpp"
#include "engine/stray_access.hpp"
#include "hip/ipc.hpp"

namespace hipscope {
namespace {


std::string executable_path() {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

void say(const std::string& line) { std::fprintf(stderr, "hipscope emulator: %s\n", line.c_str()); }

/// Do a part of a recording. On an error (a full disk must not end the program) say it, here and in `output`, record
/// no more, return false.
template <class Part>
bool try_capture(std::unique_ptr<Capture>& capture, RawOutput* output, Part part) {
    try {
        return part();
    } catch (const std::exception& error) {
        say(std::string(error.what()) + "; no more launches are recorded");
        if (output != nullptr) output->attempt([] { throw; });
        capture.reset();
        return false;
    }
}

std::string shape_of(const Launch& launch) {
    std::string text = launch.object->hash + launch.kernel->symbol;
    for (const std::uint32_t v : launch.grid) text += ',' + std::to_string(v);
    for (const std::uint32_t v : launch.workgroup) text += ',' + std::to_string(v);
    return text + ',' + std::to_string(launch.dynamic_lds);
}

/// Digest of the arguments that are no pointers.
std::string scalars_of(const Launch& launch) {
    std::string bytes;
    for (const KernelArgument& argument : launch.kernel->arguments)
        if (argument.value_kind == "by_value" && std::size_t{argument.offset} + argument.size <= launch.kernarg.size())
            bytes.append(reinterpret_cast<const char*>(launch.kernarg.data()) + argument.offset, argument.size);
    return content_hash(bytes);
}

abi::Error error_of(const DispatchFault& fault) {
    return fault.kind == "out_of_bounds" || fault.kind == "misaligned" ? abi::error::illegal_address
                                                                       : abi::error::launch_failure;
}

/// Return addresses of the program's calls that led here, for the sanitizers' reports; innermost first.
std::vector<std::uint64_t> callers() {
    std::array<void*, 12> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    std::vector<std::uint64_t> result;
    for (int i = 1; i < count; ++i) result.push_back(reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i)]));
    return result;
}

}  // namespace

abi::Error& last_error() {
    thread_local abi::Error error = abi::error::success;
    return error;
}

Runtime& Runtime::get() {
    static Runtime* const runtime = []() -> Runtime* {
        try {
            return new Runtime;  // NOLINT: lives as long as the process
        } catch (const std::exception& error) {
            say(error.what());
            std::_Exit(70);
        }
    }();
    return *runtime;
}

Runtime::Runtime() : settings(Settings::from_environment()), sampling_(settings.profile_launches) {
    // GPU-sized data may be more than the machine has: then this process is the one to end, not its editor.
    std::ofstream("/proc/self/oom_score_adj") << 1000;
    disassembly_ = {settings.objdump, settings.cache};
    std::optional<TimingConstants> timing;
    if (!settings.device_config.empty()) {
        device = DeviceConfig::read(settings.device_config);
        arch_ = device->text("arch", arch_);
        if (!settings.out.empty() && settings.sanitize.empty()) timing = TimingConstants::from(*device);
        memory.set_limit(static_cast<std::uint64_t>(device->number_or("memory_bytes", 192.0 * (1U << 30U))));
    }
    if (!settings.sanitize.empty()) {
        if (settings.out.empty()) throw std::runtime_error("HIPSCOPE_SANITIZE needs HIPSCOPE_OUT, the folder for the reports");
        sanitizer = std::make_unique<sanitize::Sanitizer>(sanitize::Checks::parse(settings.sanitize), memory);
        services.slab_appeared = [this](std::uint64_t address) {
            appeared(address, false);
            sanitizer->heap_slab(address);
        };
        services.slab_disappears = [this](std::uint64_t address) { disappears(address); };
    }
    EngineSettings engine;
    engine.threads = settings.threads;
    engine.seed = settings.seed;
    engine.max_instructions = settings.max_instructions;
    if (settings.time_limit_ms != 0) {
        engine.time_limit = std::chrono::milliseconds(settings.time_limit_ms);
        engine.deadline = std::chrono::steady_clock::now() + engine.time_limit;
    }
    if (settings.time_budget_ms != ~0ULL)  // at the few million instructions per second that timing always reaches
        engine.max_timed_instructions = std::max<std::uint64_t>(1'000'000, settings.time_budget_ms * 4000);
    engine_ = std::make_unique<Engine>(memory, engine, timing);
    area_ = std::make_unique<LaunchArea>(memory);
    if (!settings.out.empty()) {
        output_ = std::make_unique<RawOutput>(settings.out, device, executable_path());
        std::atexit([] {
            const std::lock_guard lock(get().mutex);
            get().library_calls_.write(*get().output_);
            if (!get().output_->opened()) return;
            get().output_->flush();
            get().write_reports();
        });
    }
    if (output_ && settings.effects_bytes != 0) effects_ = std::make_unique<Effects>(*output_, settings.effects_bytes);
    if (!settings.capture.empty())
        capture_ = std::make_unique<Capture>(
            CaptureSettings{settings.capture, settings.capture_kernels, settings.capture_per_shape,
                            settings.capture_variants, settings.capture_max_bytes,
                            settings.capture_all_bytes}, memory);
}

double Runtime::number(const std::string& key, double otherwise) const {
    return device ? device->number_or(key, otherwise) : otherwise;
}

// ---- modules ----

Module* Runtime::add_module(const void* embedded, std::string image) {
    auto module = std::make_unique<Module>();
    module->embedded = embedded;
    module->image = std::move(image);
    modules_.push_back(std::move(module));
    return modules_.back().get();
}

void Runtime::remove_module(Module* module) {
    std::erase_if(functions, [&](const auto& entry) { return entry.second.module == module; });
    std::erase_if(variables, [&](const auto& entry) { return entry.second.module == module; });
    const auto found = std::find_if(modules_.begin(), modules_.end(), [&](const auto& m) { return m.get() == module; });
    if (found == modules_.end()) return;
    if (module->object) memory.release(module->object->image);
    modules_.erase(found);
}

CodeObject* Runtime::load(Module& module) {
    if (module.object || !module.problem.empty()) return module.object.get();
    try {
        const std::string_view image = module.embedded == nullptr
                                           ? std::string_view(module.image)
                                           : image_bytes(module.embedded);
        module.object = load_code_object(extract_code_object(image, arch_), memory, disassembly_);
        module.image.clear();
        if (output_) output_->add_code_object(*module.object);
        for (const DeviceVariable* variable : module.managed) {
            const auto pointer = module.object->variables.find(variable->name);
            if (pointer != module.object->variables.end())
                std::memcpy(reinterpret_cast<void*>(pointer->second.address), &variable->managed, sizeof(void*));  // NOLINT
        }
    } catch (const std::exception& error) {
        module.problem = error.what();
        say(module.problem);
    }
    return module.object.get();
}

void Runtime::set_kind(std::uint64_t address, MemoryKind kind) {
    kinds.erase(address);
    const Allocation* block = memory.find(address);
    if (block != nullptr && kind != MemoryKind::device) kinds[address] = {address, address + block->bytes, kind};
}

bool Runtime::release(std::uint64_t address) {
    if (is_of_another_process(address)) return false;
    end_sharing(address);
    host_flags.erase(address);
    managed.erase(address);
    kinds.erase(address);
    pools.gave_back(address);
    return graph_memory.contains(address) ? memory.take(address) : memory.release(address);
}

std::uint64_t Runtime::graph_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [address, bytes] : graph_memory)
        if (memory.find(address) != nullptr) sum += bytes;
    return sum;
}

bool Runtime::is_function(const void* handle) const {
    for (const auto& module : modules_)
        for (const auto& [name, function] : module->functions)
            if (function.get() == handle) return true;
    return false;
}

bool Runtime::resolve(Function& function) {
    if (function.kernel != nullptr) return true;
    const CodeObject* object = load(*function.module);
    if (object == nullptr) return false;
    const auto kernel = object->kernels.find(function.name);
    if (kernel == object->kernels.end()) return false;
    function.object = object;
    function.kernel = &kernel->second;
    return true;
}

std::uint64_t Runtime::variable_address(const DeviceVariable& variable) {
    if (variable.managed != nullptr) return reinterpret_cast<std::uint64_t>(variable.managed);
    const CodeObject* object = load(*variable.module);
    if (object == nullptr) return 0;
    const auto found = object->variables.find(variable.name);
    return found == object->variables.end() ? 0 : found->second.address;
}

// ---- launches ----

std::vector<std::uint8_t> Runtime::pack(const Kernel& kernel, void** arguments, std::span<const std::uint8_t> packed) const {
    std::vector<std::uint8_t> bytes(packed.begin(), packed.end());
    bytes.resize(std::max<std::size_t>(bytes.size(), kernel.explicit_bytes()));
    if (!packed.empty()) return bytes;
    std::size_t index = 0;
    for (const KernelArgument& argument : kernel.arguments)
        if (!argument.value_kind.starts_with("hidden_"))
            std::memcpy(bytes.data() + argument.offset, arguments[index++], argument.size);
    return bytes;
}

abi::Error Runtime::launch(const LaunchRequest& request, Stream& stream) {
    if (fault_ != abi::error::success) return fault_;
    if (!resolve(*request.function))
        return request.function->module->object ? abi::error::invalid_device_function : abi::error::no_binary_for_gpu;
    Launch launch;
    launch.object = request.function->object;
    launch.kernel = request.function->kernel;
    launch.workgroup = {request.workgroup.x, request.workgroup.y, request.workgroup.z};
    const std::uint64_t wide[3] = {std::uint64_t{request.grid.x} * request.workgroup.x,
                                   std::uint64_t{request.grid.y} * request.workgroup.y,
                                   std::uint64_t{request.grid.z} * request.workgroup.z};
    for (unsigned d = 0; d < 3; ++d) {
        if (wide[d] > 0xffffffffULL) return abi::error::invalid_configuration;
        launch.grid[d] = static_cast<std::uint32_t>(wide[d]);
    }
    launch.dynamic_lds = request.dynamic_lds;
    launch.cooperative = request.cooperative;
    launch.kernarg = pack(*launch.kernel, request.arguments, request.packed);
    const double earliest = start_of(stream);
    PreparedLaunch prepared;
    try {
        prepared = prepare(std::move(launch), *area_, services);
        prepared.xcds = static_cast<std::uint32_t>(number("xcds", 8));
        for (const auto& [address, range] : kinds) prepared.kinds.push_back(range);
        prepared.realtime += static_cast<std::uint64_t>(earliest / 10);
        if (settings.poison != 0) prepared.poison = {true, settings.poison ^ next_id_, settings.poison_inverted};
    } catch (const std::exception& error) {
        const bool kernel_problem = !request.function->kernel->obstacle.empty() ||
                                    std::strstr(error.what(), "not emulated") != nullptr;
        return refuse(request, error.what(), kernel_problem ? abi::error::launch_failure : abi::error::invalid_configuration);
    }
    // All workgroups of a cooperative launch are on the device together.
    if (request.cooperative && static_cast<double>(prepared.group_count) > groups_per_cu(prepared) * number("compute_units", 304))
        return abi::error::cooperative_too_large;
    const std::string shape = shape_of(prepared.launch), scalars = scalars_of(prepared.launch);
    const std::uint64_t id = next_id_++;
    bool captured = false;
    if (capture_) {
        const std::vector<std::uint64_t> internal = internal_blocks();
        captured = try_capture(capture_, output_.get(), [&] {
            return capture_->before(id, prepared, shape, internal, [this] { return engine_->l2_lines(); });
        });
    }
    const bool profile = output_ && engine_->can_profile() && wants_profile(shape, scalars);
    StrayLog strays;
    if (settings.keep_going) prepared.strays = &strays;
    if (const auto known = cycles_each_.find(shape); known != cycles_each_.end()) prepared.cycles_each = known->second;
    DispatchResult result = sanitizer ? check(prepared, id) : engine_->run(prepared, profile);
    if (sampling_.has_timed(shape)) result.stopped_after.reset();  // launches that came to their ends say more
    if (result.timed && !result.fault) {
        sampling_.timed(shape, scalars, result.instructions, result.time_ns);
        cycles_each_[shape] = static_cast<std::uint32_t>(std::clamp(result.timed->wave_cycles / static_cast<double>(std::max<std::uint64_t>(result.timed->instructions, 1)), 1.0, 10000.0));
        profiling_ms_ += result.wall_ms;
    }
    if (captured)
        try_capture(capture_, output_.get(), [&] {
            capture_->after(result);
            return true;
        });
    if (effects_ && !result.fault)
        output_->attempt([&] { effects_->launched(prepared.launch.kernel->symbol, memory, internal_blocks()); });
    const double duration = result.timed ? result.time_ns : sampling_.untimed(shape, scalars, result.instructions);
    const double start = timeline_.place(earliest, duration, device_share(prepared));
    stream.ready_ns = start + duration;
    timeline_.forget_before(host_ns);
    if (output_) {
        if (result.timed && result.timed->covered < 1)
            output_->set_partial("timing of large dispatches covers a part of their waves, the rest is extrapolated");
        output_->add({id, &prepared, &result, start, scalars}, engine_->timing());
    }
    for (DispatchFault stray : result.left_out) {
        stray.kind = "left_out";
        if (output_) {
            output_->add_fault(id, request.function->name, prepared.launch.object->hash, stray);
            output_->set_partial("the program's accesses out of bounds were left out (--keep-going): what they would have read is NaN, what they would have stored is lost");
        }
        report(request.function->name, stray.message + " (left out)");
    }
    if (!result.fault) return abi::error::success;
    if (output_) output_->add_fault(id, request.function->name, prepared.launch.object->hash, *result.fault);
    char address[32];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(result.fault->instruction_address.value_or(0)));
    report(request.function->name, result.fault->message + " (" + result.fault->instruction + " at " + address + ")");
    fault_ = error_of(*result.fault);
    if (result.fault->kind == fault_name(FaultKind::assertion)) {
        // ROCm's runtime ends the process here too; what was recorded so far is kept.
        if (output_) output_->flush();
        std::fflush(nullptr);
        std::abort();
    }
    return abi::error::success;  // as on hardware: the next call that waits returns the fault
}

/// Blocks of device memory that are the runtime's own.
std::vector<std::uint64_t> Runtime::internal_blocks() const {
    std::vector<std::uint64_t> internal = services.blocks();
    internal.push_back(area_->address());
    for (const auto& module : modules_)
        if (module->object) internal.push_back(module->object->image);
    return internal;
}

void Runtime::copied_to_host(std::string_view rows, std::uint64_t from) {
    output_->attempt([&] { effects_->copied(rows, from); });
}

void Runtime::odd_result(const std::string& kind, const std::string& what) {
    if (odd_results_.insert(kind).second) output_->attempt([&] { output_->warn(what); });
}

void Runtime::no_space(std::uint64_t bytes) {
    if (!output_ || memory.range() == Memory::reserved) return;
    odd_result("no space", "an allocation of " + std::to_string(bytes) + " bytes failed: the device has " + std::to_string(memory.range() >> 20U) +
                               " MiB, since this process may have no more address space (ulimit -v)");
}

DispatchResult Runtime::check(const PreparedLaunch& launch, std::uint64_t id) {
    sanitizer->begin(launch, id);
    DispatchResult result = engine_->check(launch, *sanitizer);
    sanitizer->end();
    // After each dispatch: a program that is killed leaves what was found until then.
    if (sanitizer->reports().changed()) write_reports();
    return result;
}

void Runtime::write_reports() {
    if (sanitizer) output_->attempt([this] { sanitizer->reports().write(output_->directory() + "/sanitize.json"); });
}

bool Runtime::wants_profile(const std::string& shape, const std::string& scalars) {
    if (!sampling_.wants(shape, scalars)) return false;
    if (profiling_ms_ <= static_cast<double>(settings.time_budget_ms)) return true;
    output_->set_partial("the time budget of " + std::to_string(settings.time_budget_ms) +
                         " ms for profiling was used up; later launches ran without it");
    return false;
}

int Runtime::groups_per_cu(const PreparedLaunch& launch) const {
    TimingConstants c{};
    c.simds_per_cu = static_cast<int>(number("simds_per_cu", 4));
    c.max_waves_per_simd = static_cast<int>(number("max_waves_per_simd", 8));
    c.vgprs_per_lane = static_cast<int>(number("vgprs_per_lane", 512));
    c.vgpr_granule = static_cast<int>(number("vgpr_granule", 8));
    c.lds_bytes = static_cast<int>(number("lds_bytes", 65536));
    c.lds_granule = static_cast<int>(number("lds_granule", 512));
    return workgroups_per_cu(c, launch);
}

double Runtime::device_share(const PreparedLaunch& launch) const {
    const double room = number("compute_units", 304) * std::max(1, groups_per_cu(launch));
    return std::min(1.0, static_cast<double>(launch.group_count) / room);
}

// ---- streams ----

Stream* Runtime::stream_of(Stream* handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value <= 1) return &legacy;
    if (value == 2) return &per_thread[std::this_thread::get_id()];
    return streams.contains(handle) ? handle : nullptr;
}

double Runtime::start_of(const Stream& stream) const {
    double start = std::max(host_ns, stream.ready_ns);
    if ((stream.flags & kStreamNonBlocking) != 0) return start;
    if (&stream != &legacy) return std::max(start, legacy.ready_ns);
    for (const Stream* other : streams)
        if ((other->flags & kStreamNonBlocking) == 0) start = std::max(start, other->ready_ns);
    for (const auto& [thread, other] : per_thread) start = std::max(start, other.ready_ns);
    return start;
}

void Runtime::wait_for(const Stream& stream) {
    wait_while(*this, [&] { return parked.holds(*this, stream); });
    host_ns = std::max(host_ns, start_of(stream));
}

void Runtime::wait_for_all() {
    wait_while(*this, [&] { return !parked.empty(); });
    wait_for(legacy);
    for (const Stream* stream : streams) wait_for(*stream);
}

void Runtime::record(Event& event, Stream& stream) {
    event.time_ns = start_of(stream);
    event.recorded = true;
    event.capture.reset();
    stream.ready_ns = event.time_ns + number("event_ns", 0);  // what follows starts that much later
}

bool Runtime::forbid_legacy() const {
    for (const auto& weak : captures)
        if (const auto capture = weak.lock(); capture && capture->origin != nullptr && capture->mode == 0 &&
                                              (capture->origin->flags & kStreamNonBlocking) == 0 &&
                                              capture->thread == std::this_thread::get_id())
            return true;
    return false;
}

bool Runtime::invalidate_captures(const std::function<bool(const StreamCapture&)>& which) {
    bool any = false;
    for (const auto& weak : captures)
        if (const auto capture = weak.lock(); capture && capture->origin != nullptr && which(*capture)) any = capture->invalid = true;
    return any;
}

bool Runtime::spoils_capture() {
    if (captures.empty() || thread_capture_mode == kCaptureRelaxed) return false;
    return invalidate_captures([](const StreamCapture& capture) {
        if (capture.mode != kCaptureRelaxed && capture.thread == std::this_thread::get_id()) return true;
        return capture.mode == kCaptureGlobal && thread_capture_mode == kCaptureGlobal;
    });
}

abi::Error Runtime::refuse(const LaunchRequest& request, const std::string& why, abi::Error error) {
    const Kernel& kernel = *request.function->kernel;
    report(request.function->name, why);
    if (output_) {
        DispatchFault fault{error == abi::error::launch_failure ? "unsupported" : "launch", why, std::nullopt, kernel.obstacle_text};
        if (!kernel.obstacle.empty()) fault.instruction_address = kernel.obstacle_address;
        output_->add_fault(next_id_++, request.function->name, request.function->object->hash, fault);
    }
    if (error == abi::error::launch_failure) fault_ = error;
    return error;
}

void Runtime::report(const std::string& kernel, const std::string& line) { say("kernel " + kernel + ": " + line); }

void Runtime::reset() { fault_ = abi::error::success; }

void Runtime::appeared(std::uint64_t address, bool written) {
    if (sanitizer) sanitizer->allocated(address, callers(), written);
}

void Runtime::disappears(std::uint64_t address) {
    if (sanitizer) sanitizer->released(address, callers());
}

void Runtime::touched(const void* address, std::size_t bytes, bool written) {
    const auto start = reinterpret_cast<std::uint64_t>(address);
    if (bytes > 0 && memory.find(start) != nullptr) engine_->touched(start, bytes, written);
}

void Runtime::library_called(const std::string& name) {
    if (output_) library_calls_.called(name, *output_);
}

void Runtime::say_unsupported(const char* name) {
    if (named_.insert(name).second) say(std::string(name) + " is not emulated; it returns hipErrorNotSupported");
}

}  // namespace hipscope
