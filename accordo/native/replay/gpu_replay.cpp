// hipscope-gpu-replay: runs a captured dispatch again on the GPU of this machine, with its own code object or a changed
// one, at the addresses that its buffers had. Takes the options of hipscope-replay and writes the same files.
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "capture/meta.hpp"
#include "capture/poison.hpp"
#include "capture/replay_options.hpp"
#include "core/files.hpp"
#include "engine/bundle.hpp"
#include "engine/json.hpp"
#include "replay/device.hpp"
#include "replay/hidden.hpp"
#include "tool/kernels.hpp"

namespace {

using namespace hipscope;
namespace fs = std::filesystem;

struct Outcome {
    std::string status = "ok", message;
    std::optional<double> time_ns;
};

void write_result(const std::string& out, const Outcome& outcome) {
    Json json;
    json.open('{').field("status", outcome.status).field("message", outcome.message).key("fault").null().key("time_ns");
    if (outcome.time_ns) json.value(*outcome.time_ns);
    else json.null();
    json.close('}');
    replace_file(out + "/result.json", json.text());
}

std::string name_of(const char* what, std::size_t index, const char* ending) {
    return std::string(what) + std::to_string(index) + ending;
}

/// The contents of a buffer before the launch: replaced ones from --inputs, poisoned where the reference only writes.
std::string before(const ReplayOptions& o, const Checksums& files, const CapturedBuffer& buffer, std::size_t index) {
    const std::string name = name_of("buffer_", index, ".before");
    const bool replaced = !o.inputs.empty() && fs::exists(o.inputs + "/" + name);
    std::string content = replaced ? read_file(o.inputs + "/" + name) : files.read(name);
    if (content.size() != buffer.bytes) throw std::runtime_error(name + " has the wrong size");
    const std::string parts = o.inputs + "/" + name_of("buffer_", index, ".runs");
    if (!replaced && !o.inputs.empty() && fs::exists(parts)) {
        const std::string pages = read_file(parts);
        place_runs(read_runs(pages), content.data(), content.size());
    }
    const std::string mask = o.poison_mask + "/" + name_of("access_", index, ".bin");
    if (o.poison && !o.poison_mask.empty() && fs::exists(mask)) {
        const std::string flags = read_file(mask);
        poison(content.data(), content.size(), {{0, flags}}, *o.poison, index, o.fill(index));
    }
    return content;
}

gpu::DeviceLaunch prepare(const ReplayOptions& o, const CapturedDispatch& captured, const std::string& elf, const gpu::Device& device) {
    const std::string symbol = o.kernel.empty() ? captured.kernel : o.kernel;
    const auto kernels = gpu::read_kernels(elf);
    const auto metadata = kernels.find(symbol + ".kd");
    if (metadata == kernels.end()) throw std::runtime_error("the code object has no kernel '" + symbol + "'");
    gpu::DeviceLaunch launch{device.kernel(symbol), captured.grid, captured.workgroup, captured.dynamic_lds, {}};
    const std::string kernarg = captured.files.read("kernarg.bin").substr(0, captured.explicit_bytes);
    if (metadata->second.explicit_bytes() > kernarg.size())
        throw std::runtime_error("the kernel takes " + std::to_string(metadata->second.explicit_bytes()) +
                                 " bytes of arguments, the captured launch has " + std::to_string(kernarg.size()));
    launch.kernarg = kernarg;
    launch.kernarg.resize(std::max<std::size_t>(launch.kernel.kernarg_bytes, kernarg.size()), '\0');
    gpu::fill_hidden(metadata->second.arguments, launch.grid, launch.workgroup, launch.dynamic_lds, launch.kernarg);
    return launch;
}

Outcome replay(const ReplayOptions& o) {
    const CapturedDispatch captured = CapturedDispatch::read(o.dispatch);
    gpu::Device device;
    device.map(captured.buffers);
    const std::string elf = o.code_object.empty() ? captured.files.read("code_object.co") : read_file(o.code_object);
    device.load(elf);
    const gpu::DeviceLaunch launch = prepare(o, captured, elf, device);
    for (std::size_t i = 0; i < captured.buffers.size(); ++i)
        device.write(captured.buffers[i].address, before(o, captured.files, captured.buffers[i], i));
    const auto each_global = [&](const auto& visit) {
        for (std::size_t i = 0; i < captured.globals.size(); ++i)
            if (const std::uint64_t address = device.variable(captured.globals[i].symbol)) visit(i, captured.globals[i], address);
    };
    each_global([&](std::size_t, const CapturedGlobal& g, std::uint64_t address) {
        device.write(address, captured.files.read(g.file).substr(0, g.bytes));
    });
    const double limit = o.max_seconds > 0 ? o.max_seconds : 60;
    const double time = device.run(launch, limit);
    if (time < 0) return {"timeout", "it did not end within " + std::to_string(static_cast<int>(limit)) + " s", std::nullopt};
    const auto save = [&](const std::string& name, std::uint64_t address, std::uint64_t bytes) {
        write_file(o.out + "/" + name, device.read(address, bytes));
    };
    for (std::size_t i = 0; i < captured.buffers.size(); ++i)
        save(name_of("buffer_", i, ".after"), captured.buffers[i].address, captured.buffers[i].bytes);
    each_global([&](std::size_t i, const CapturedGlobal& g, std::uint64_t address) { save(name_of("global_", i, ".after"), address, g.bytes); });
    return {"ok", "", time};
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const ReplayOptions options = ReplayOptions::parse(argc, argv);
        if (options.trace_access || options.profile)
            throw std::runtime_error("--trace-access and --profile need the emulator: use hipscope-replay");
        fs::create_directories(options.out);
        Outcome outcome;
        try {
            outcome = replay(options);
        } catch (const CannotWrite&) {
            throw;
        } catch (const std::exception& error) {
            outcome = {"launch_error", error.what(), std::nullopt};
        }
        write_result(options.out, outcome);
        std::fflush(nullptr);
        std::_Exit(0);  // a launch that never ends keeps the runtime's own shutdown waiting
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-gpu-replay: %s\n", error.what());
        return 2;
    }
}
