// Capture set writer.
#include "capture/capture.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace hipscope {
namespace {

namespace fs = std::filesystem;

const void* contents(std::uint64_t address) {
    return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

CapturedLaunch describe(std::uint64_t id, const Launch& launch) {
    CapturedLaunch record;
    record.id = id;
    record.kernel = launch.kernel->symbol;
    record.code_object_hash = launch.object->hash;
    record.grid = launch.grid;
    record.workgroup = launch.workgroup;
    record.dynamic_lds = launch.dynamic_lds;
    record.cooperative = launch.cooperative;
    record.kernarg_bytes = launch.kernel->kernarg_bytes;
    record.explicit_bytes = launch.kernarg.size();
    record.arguments = launch.kernel->arguments;
    return record;
}

/// Write a part of the dispatch; on an error remove all of it.
template <class Part>
void write_or_remove(const std::string& folder, Part part) {
    try {
        part();
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        throw;
    }
}

}  // namespace

Capture::Capture(CaptureSettings settings, Memory& memory) : settings_(std::move(settings)), memory_(memory) {
    std::error_code error;
    fs::create_directories(settings_.directory, error);
    if (error) throw std::runtime_error("cannot write to the capture folder '" + settings_.directory + "' (HIPSCOPE_CAPTURE)");
}

bool Capture::before(std::uint64_t id, const PreparedLaunch& p, const std::string& shape,
                     const std::vector<std::uint64_t>& internal) {
    const std::string& symbol = p.launch.kernel->symbol;
    const auto& wanted = settings_.kernels;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), symbol) == wanted.end()) return false;
    if (taken_[shape] >= settings_.per_shape) return false;
    ++taken_[shape];
    folder_ = settings_.directory + "/dispatch_" + std::to_string(id);
    record_ = describe(id, p.launch);
    fs::create_directories(folder_);
    std::uint64_t total = 0;
    for (const auto& [address, block] : memory_.blocks())
        if (std::find(internal.begin(), internal.end(), address) == internal.end()) {
            record_.buffers.push_back({address, block.bytes, {}, {}});
            total += block.bytes;
        }
    const std::vector<std::uint8_t>& kernarg = p.launch.kernarg;
    find_references(record_.arguments, {reinterpret_cast<const char*>(kernarg.data()), kernarg.size()}, record_.buffers);
    if (total > settings_.max_bytes) {
        std::erase_if(record_.buffers, [](const RecordedBuffer& b) { return b.arguments.empty(); });
        const std::string limit = " bytes, the limit is " + std::to_string(settings_.max_bytes);
        record_.reason = "only buffers that the arguments point to were recorded: all live memory is " +
                         std::to_string(total) + limit;
        total = 0;
        for (const RecordedBuffer& b : record_.buffers) total += b.bytes;
        if (total > settings_.max_bytes) {
            record_.reason = "not recorded: the buffers that the arguments point to have " + std::to_string(total) + limit;
            record_.buffers.clear();
        }
    }
    for (const auto& [name, variable] : p.launch.object->variables)
        if (!name.starts_with("__hip_cuid_"))  // names the compilation, holds nothing
            record_.globals.push_back({name, variable.address, variable.bytes});
    write_or_remove(folder_, [&] {
        write_memory(".before");
        write_capture_file(folder_ + "/kernarg.bin", contents(p.kernarg_address), p.launch.kernel->kernarg_bytes);
        write_capture_file(folder_ + "/code_object.co", p.launch.object->elf.data(), p.launch.object->elf.size());
    });
    return true;
}

void Capture::after(const DispatchResult& result) {
    if (result.fault) record_.reason = "the dispatch faulted: " + result.fault->message;
    write_or_remove(folder_, [&] {
        if (!result.fault) write_memory(".after");
        write_meta(folder_, record_);
    });
}

void Capture::write_memory(const std::string& ending) const {
    const auto write = [&](const char* kind, std::size_t i, std::uint64_t address, std::uint64_t bytes) {
        write_capture_file(folder_ + "/" + kind + std::to_string(i) + ending, contents(address), bytes);
    };
    for (std::size_t i = 0; i < record_.buffers.size(); ++i)
        write("buffer_", i, record_.buffers[i].address, record_.buffers[i].bytes);
    for (std::size_t i = 0; i < record_.globals.size(); ++i)
        write("global_", i, record_.globals[i].address, record_.globals[i].bytes);
}

}  // namespace hipscope
