// One replay: the captured memory at its addresses, the code object, the launch, and what it left behind.
#include "capture/replay_dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "capture/mapped_file.hpp"
#include "capture/meta.hpp"
#include "capture/poison.hpp"
#include "capture/runs.hpp"
#include "capture/trace.hpp"
#include "core/files.hpp"
#include "core/page_table.hpp"
#include "engine/bundle.hpp"
#include "engine/host_services.hpp"
#include "engine/json.hpp"
#include "engine/kept_code.hpp"
#include "engine/raw_output.hpp"
#include "sanitize/number_kinds.hpp"
#include "sanitize/sanitizer.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchitecture = "gfx942";  // where no device is given

char* pointer_to(std::uint64_t address) {
    return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

std::string name_of(const char* what, std::size_t index, const char* ending) {
    return std::string(what) + std::to_string(index) + ending;
}

std::string architecture(const std::optional<DeviceConfig>& device) {
    return device ? device->text("arch", kArchitecture) : kArchitecture;
}

class Replay {
public:
    explicit Replay(const ReplayOptions& options) : o_(options), captured_(CapturedDispatch::read(options.dispatch)) {
        std::optional<TimingConstants> timing;
        if (!o_.device_config.empty()) {
            device_ = DeviceConfig::read(o_.device_config);
            if (o_.profile) timing = TimingConstants::from(*device_);
        }
        if (!o_.sanitize.empty()) sanitizer_.emplace(sanitize::Checks::parse(o_.sanitize), memory_);
        area_.emplace(memory_);
        for (const CapturedBuffer& b : captured_.buffers)
            if (!memory_.allocate_at(b.address, b.bytes)) throw std::runtime_error("the capture's buffers overlap");
        const std::string file = o_.code_object.empty() ? captured_.files.read("code_object.co") : read_file(o_.code_object);
        object_ = load_code_object(extract_code_object(file, architecture(device_)), memory_, {o_.objdump, o_.cache});
        EngineSettings settings;
        settings.threads = o_.trace_access && !o_.profile ? 1 : o_.threads;
        settings.seed = o_.seed;
        settings.timed_only = o_.timed_only;
        settings.code_in_caches = true;  // candidates are compared in the state that later launches find
        if (const std::string path = o_.dispatch + "/" + kL2LinesFile; timing && fs::exists(path)) settings.l2_lines = lines_from(read_file(path));
        if (o_.max_seconds > 0)
            settings.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(o_.max_seconds));
        engine_.emplace(memory_, settings, timing);
    }

    ReplayOutcome run() {
        PreparedLaunch launch;
        try {
            launch = prepare_launch();
        } catch (const std::exception& error) {
            const auto kernel = object_->kernels.find(kernel_name());
            const bool unsupported = kernel != object_->kernels.end() && !kernel->second.obstacle.empty();
            return {unsupported ? "unsupported" : "launch_error", error.what()};
        }
        if (o_.trace_access && !sanitizer_) {
            fill_memory();
            const DispatchResult traced = trace(launch);
            if (traced.fault) return fault(*traced.fault);
            if (!o_.profile) {
                write_buffers();
                write_said();
                ReplayOutcome outcome;
                outcome.instructions = traced.instructions;
                return outcome;
            }
        }
        fill_memory();
        DispatchResult result = sanitizer_ ? check(launch) : o_.held.hold != Hold::none ? engine_->held(launch, o_.held) : engine_->run(launch, o_.profile);
        if (o_.profile) write_profile(launch, result);
        if (result.fault) return fault(*result.fault);
        write_buffers();
        write_said();
        ReplayOutcome outcome;
        outcome.instructions = result.instructions;
        if (result.timed) outcome.time_ns = result.time_ns;
        return outcome;
    }

private:
    [[nodiscard]] const std::string& kernel_name() const { return o_.kernel.empty() ? captured_.kernel : o_.kernel; }

    PreparedLaunch prepare_launch() {
        const auto kernel = object_->kernels.find(kernel_name());
        if (kernel == object_->kernels.end())
            throw std::runtime_error("the code object has no kernel '" + kernel_name() + "'");
        Launch launch;
        launch.object = object_.get();
        launch.kernel = &kernel->second;
        launch.grid = o_.grid.value_or(captured_.grid);
        launch.workgroup = o_.workgroup.value_or(captured_.workgroup);
        launch.dynamic_lds = o_.dynamic_lds.value_or(captured_.dynamic_lds);
        launch.cooperative = captured_.cooperative;
        const std::string kernarg = captured_.files.read("kernarg.bin");
        launch.kernarg.assign(kernarg.begin(), kernarg.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(kernarg.size(), captured_.explicit_bytes)));
        if (launch.kernel->explicit_bytes() > launch.kernarg.size())
            throw std::runtime_error("the kernel takes " + std::to_string(launch.kernel->explicit_bytes()) + " bytes of arguments, the captured launch has " +
                                     std::to_string(launch.kernarg.size()));
        PreparedLaunch prepared = prepare(std::move(launch), *area_, services_);
        prepared.xcds = static_cast<std::uint32_t>(device_ ? device_->number_or("xcds", 8) : 8);
        if (o_.poison) prepared.poison = {true, *o_.poison, o_.poison_inverted};
        return prepared;
    }

    /// What the launch printed: how many messages, and the texts in alphabetical order, whichever wave came first.
    void write_said() const {
        if (services_.messages() == 0) return;
        std::vector<std::string> texts = services_.said();
        std::sort(texts.begin(), texts.end());
        std::string content = std::to_string(services_.messages()) + '\n';
        for (const std::string& text : texts) content += text + '\0';
        write_file(o_.out + "/printed", content);
    }

    void fill_memory() {
        before_.clear();
        services_.forget_said();
        for (std::size_t i = 0; i < captured_.buffers.size(); ++i) {
            const CapturedBuffer& b = captured_.buffers[i];
            const std::string name = name_of("buffer_", i, ".before");
            const bool replaced = !o_.inputs.empty() && fs::exists(o_.inputs + "/" + name);
            auto content = replaced ? std::make_shared<const MappedFile>(o_.inputs + "/" + name) : captured_.files.map(name);
            if (content->bytes().size() != b.bytes)
                throw std::runtime_error(name + " has " + std::to_string(content->bytes().size()) + " bytes instead of " + std::to_string(b.bytes));
            Before before{std::move(content), 0, nullptr, {}};
            before.shared = before.content->place_at(b.address);
            if (!replaced && !o_.inputs.empty()) write_over(i, before);
            if (o_.poison && !o_.poison_mask.empty()) poison(i);
            engine_->touched(b.address, b.bytes, true);  // as after the program's own copies
            if (o_.runs) before_.push_back(std::move(before));
        }
        for (const CapturedGlobal& g : captured_.globals) {
            const auto variable = object_->variables.find(g.symbol);
            if (variable == object_->variables.end() || variable->second.bytes != g.bytes) continue;  // the candidate has dropped it
            const std::string content = captured_.files.read(g.file);
            std::memcpy(pointer_to(variable->second.address), content.data(), std::min<std::size_t>(content.size(), g.bytes));
        }
    }

    struct Before {
        std::shared_ptr<const MappedFile> content;
        std::size_t shared = 0;  // bytes of the buffer that are the file's, until the first write to them
        std::shared_ptr<const MappedFile> other;
        std::vector<Run> replaced;  // what `other` has in place of parts of the content
    };

    /// Put the pages that the inputs have of a buffer over what was captured.
    void write_over(std::size_t buffer, Before& before) const {
        const std::string path = o_.inputs + "/" + name_of("buffer_", buffer, ".runs");
        if (!fs::exists(path)) return;
        const CapturedBuffer& b = captured_.buffers[buffer];
        before.other = std::make_shared<const MappedFile>(path);
        before.replaced = read_runs(before.other->bytes());
        place_runs(before.replaced, pointer_to(b.address), b.bytes);
    }

    /// Overwrite what the reference writes without reading it first: a candidate must not depend on it either.
    void poison(std::size_t buffer) {
        const std::string whole = o_.poison_mask + "/" + name_of("access_", buffer, ".bin");
        const std::string parts = o_.poison_mask + "/" + name_of("access_", buffer, ".runs");
        const bool in_parts = fs::exists(parts);
        if (!in_parts && !fs::exists(whole)) return;
        const MappedFile flags(in_parts ? parts : whole);
        const std::vector<Run> mask = in_parts ? read_runs(flags.bytes()) : std::vector<Run>{{0, flags.bytes()}};
        const CapturedBuffer& b = captured_.buffers[buffer];
        if (in_parts) // the candidate will access what the reference does
            for (const Run& run : mask) expected_.push_back({buffer, run.offset, std::min(run.bytes.size(), b.bytes - run.offset)});
        hipscope::poison(pointer_to(b.address), b.bytes, mask, *o_.poison, buffer, o_.fill(buffer));
        if (sanitizer_) each_poisoned(mask, b.bytes, [&](std::size_t offset, std::size_t bytes) { sanitizer_->undefined(b.address + offset, bytes); });
    }

    DispatchResult trace(const PreparedLaunch& launch) {
        AccessMap map(watched());
        DispatchResult result = o_.number_kinds ? trace_kinds(launch, map) : engine_->trace(launch, [&](const MemoryAccess& access) { map.note(access); });
        write_accesses(map);
        return result;
    }

    DispatchResult trace_kinds(const PreparedLaunch& launch, AccessMap& map) {
        sanitize::NumberKinds kinds([&](std::uint64_t address) { return map.number_at(address); });
        return engine_->trace(launch, kinds, [&](const MemoryAccess& access) { map.note(access, kinds.stored()); });
    }

    /// The variables of the program that the code object has, by their numbers there.
    [[nodiscard]] std::vector<std::pair<std::size_t, CapturedBuffer>> variables() const {
        std::vector<std::pair<std::size_t, CapturedBuffer>> found;
        for (std::size_t i = 0; i < captured_.globals.size(); ++i) {
            const auto variable = object_->variables.find(captured_.globals[i].symbol);
            if (variable != object_->variables.end() && variable->second.bytes == captured_.globals[i].bytes)
                found.emplace_back(i, CapturedBuffer{variable->second.address, variable->second.bytes});
        }
        return found;
    }

    /// Memory whose accesses are noted: the buffers, and behind them the variables.
    [[nodiscard]] std::vector<CapturedBuffer> watched() const {
        std::vector<CapturedBuffer> all = captured_.buffers;
        for (const auto& [number, memory] : variables()) all.push_back(memory);
        return all;
    }

    void write_accesses(const AccessMap& map) const {
        const auto known = variables();
        for (std::size_t i = 0; i < captured_.buffers.size() + known.size(); ++i) {
            const bool buffer = i < captured_.buffers.size();
            const std::string name = o_.out + "/" + (buffer ? name_of("access_", i, "") : name_of("access_global_", known[i - captured_.buffers.size()].first, ""));
            if (o_.runs) write_runs(name + ".runs", map.accessed(i));
            else write_file(name + ".bin", map.flags(i));
        }
    }

    DispatchResult check(const PreparedLaunch& launch) {
        sanitizer_->begin(launch, captured_.id);
        for (const Expected& e : expected_) sanitizer_->populate(captured_.buffers[e.buffer].address + e.offset, e.bytes);
        std::optional<AccessMap> map;
        std::function<void(const MemoryAccess&)> observe;
        if (o_.trace_access) {
            map.emplace(watched());
            for (const Expected& e : expected_) map->populate(e.buffer, e.offset, e.bytes);
            observe = [&](const MemoryAccess& access) { map->note(access); };
        }
        DispatchResult result = engine_->check(launch, *sanitizer_, observe);
        sanitizer_->end();
        if (map) write_accesses(*map);
        sanitizer_->reports().write(o_.out + "/sanitize.json");
        return result;
    }

    /// What the launch counts and takes, without the timeline of its waves, which no viewer opens and which is most of it.
    void write_profile(const PreparedLaunch& launch, DispatchResult& result) {
        if (result.timed) result.timed->traces.clear();
        RawOutput output(o_.out, device_, "hipscope-replay");
        output.add_code_object(*object_);
        output.add({1, &launch, &result, 0, {}}, engine_->timing());
        if (result.fault) output.add_fault(1, kernel_name(), object_->hash, *result.fault);
        output.flush();
        if (output.lost()) throw std::runtime_error(*output.lost());
    }

    void write_buffers() const {
        for (std::size_t i = 0; i < captured_.buffers.size(); ++i) {
            const CapturedBuffer& b = captured_.buffers[i];
            if (o_.runs) {
                const std::string_view now{pointer_to(b.address), b.bytes};
                const Before& before = before_[i];
                const std::vector<bool> written = written_pages(now.data(), before.shared);
                write_runs(o_.out + "/" + name_of("buffer_", i, ".runs"), different_runs(before.content->bytes(), now, written, before.replaced));
                continue;
            }
            write_file(o_.out + "/" + name_of("buffer_", i, ".after"), {pointer_to(b.address), b.bytes});
        }
        for (std::size_t i = 0; i < captured_.globals.size(); ++i) {
            const auto variable = object_->variables.find(captured_.globals[i].symbol);
            if (variable == object_->variables.end() || variable->second.bytes != captured_.globals[i].bytes) continue;
            write_file(o_.out + "/" + name_of("global_", i, ".after"), {pointer_to(variable->second.address), variable->second.bytes});
        }
    }

    [[nodiscard]] ReplayOutcome fault(const DispatchFault& f) const {
        if (f.kind != fault_name(FaultKind::runaway) && f.kind != kUnfinished) return {"fault", f.message, f};
        char text[64];
        std::snprintf(text, sizeof text, "it did not end within %g s", o_.max_seconds);
        return {"timeout", text};
    }

    /// A part of a buffer that will be accessed.
    struct Expected {
        std::size_t buffer, offset, bytes;
    };

    const ReplayOptions& o_;
    CapturedDispatch captured_;
    Memory memory_;
    HostServices services_{memory_, false};
    std::optional<sanitize::Sanitizer> sanitizer_;
    std::optional<DeviceConfig> device_;
    std::optional<LaunchArea> area_;
    std::unique_ptr<CodeObject> object_;
    std::optional<Engine> engine_;
    std::vector<Expected> expected_;
    std::vector<Before> before_;  // the contents of the buffers, when only what changed is written
};

}  // namespace

ReplayOutcome replay_dispatch(const ReplayOptions& options) {
    try {
        return Replay(options).run();
    } catch (const CannotWrite&) {
        throw;
    } catch (const std::exception& error) {
        return {"launch_error", error.what()};
    }
}

void prepare_code(const ReplayOptions& options) {
    if (options.code_object.empty()) return;
    try {
        std::optional<DeviceConfig> device;
        if (!options.device_config.empty()) device = DeviceConfig::read(options.device_config);
        keep_decoded(extract_code_object(read_file(options.code_object), architecture(device)), {options.objdump, options.cache});
    } catch (const std::exception&) {
        return;
    }
}

void write_result(const std::string& out, const ReplayOutcome& outcome) {
    Json json;
    json.open('{').field("status", outcome.status).field("message", outcome.message).key("fault");
    if (outcome.fault) {
        json.open('{').field("kind", outcome.fault->kind).field("message", outcome.fault->message).key("address");
        if (outcome.fault->instruction_address) json.value(*outcome.fault->instruction_address);
        else json.null();
        json.field("instruction", outcome.fault->instruction).close('}');
    } else {
        json.null();
    }
    json.key("time_ns");
    if (outcome.time_ns) json.value(*outcome.time_ns);
    else json.null();
    if (outcome.seconds > 0) json.field("seconds", outcome.seconds);
    if (outcome.instructions > 0) json.field("instructions", outcome.instructions);
    json.close('}');
    replace_file(out + "/result.json", json.text());
}

}  // namespace hipscope
