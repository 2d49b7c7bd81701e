// Capture set writer.
#include "capture/capture.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "engine/json.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;

void write_bytes(const std::string& path, std::uint64_t address, std::uint64_t bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(address), static_cast<std::streamsize>(bytes));  // NOLINT
    if (!file) throw std::runtime_error("cannot write the capture file '" + path + "'");
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
    id_ = id;
    folder_ = settings_.directory + "/dispatch_" + std::to_string(id);
    reason_.clear();
    buffers_.clear();
    globals_.clear();
    fs::create_directories(folder_);
    std::uint64_t total = 0;
    for (const auto& [address, block] : memory_.blocks())
        if (std::find(internal.begin(), internal.end(), address) == internal.end()) {
            buffers_.push_back({address, block.bytes, {}, {}});
            total += block.bytes;
        }
    // A pointer may be an argument of its own or a field of a structure passed by value: look at every 8 bytes.
    for (std::size_t a = 0; a < p.launch.kernel->arguments.size(); ++a) {
        const KernelArgument& argument = p.launch.kernel->arguments[a];
        if (argument.value_kind.starts_with("hidden_")) continue;
        for (std::uint32_t at = argument.offset; at + 8 <= argument.offset + argument.size; at += 8) {
            std::uint64_t value = 0;
            std::memcpy(&value, p.launch.kernarg.data() + at, 8);
            for (Buffer& buffer : buffers_)
                if (value - buffer.address < std::max<std::uint64_t>(buffer.bytes, 1)) {
                    buffer.arguments.push_back(a);
                    buffer.offsets.push_back(value - buffer.address);
                }
        }
    }
    if (total > settings_.max_bytes) {
        std::erase_if(buffers_, [](const Buffer& b) { return b.arguments.empty(); });
        reason_ = "only buffers that the arguments point to were recorded: all live memory is " + std::to_string(total) +
                  " bytes, the limit is " + std::to_string(settings_.max_bytes);
        total = 0;
        for (const Buffer& b : buffers_) total += b.bytes;
        if (total > settings_.max_bytes) {
            reason_ = "not recorded: the buffers that the arguments point to have " + std::to_string(total) +
                      " bytes, the limit is " + std::to_string(settings_.max_bytes);
            buffers_.clear();
        }
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        write_bytes(folder_ + "/buffer_" + std::to_string(i) + ".before", buffers_[i].address, buffers_[i].bytes);
    for (const auto& [name, variable] : p.launch.object->variables) {
        if (name.starts_with("__hip_cuid_")) continue;  // names the compilation, holds nothing
        write_bytes(folder_ + "/global_" + std::to_string(globals_.size()) + ".before", variable.address, variable.bytes);
        globals_.emplace_back(name, variable);
    }
    write_bytes(folder_ + "/kernarg.bin", p.kernarg_address, p.launch.kernel->kernarg_bytes);
    std::ofstream(folder_ + "/code_object.co", std::ios::binary) << p.launch.object->elf;
    return true;
}

void Capture::after(const PreparedLaunch& p, const DispatchResult& result) {
    if (result.fault) reason_ = "the dispatch faulted: " + result.fault->message;
    else {
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            write_bytes(folder_ + "/buffer_" + std::to_string(i) + ".after", buffers_[i].address, buffers_[i].bytes);
        for (std::size_t i = 0; i < globals_.size(); ++i)
            write_bytes(folder_ + "/global_" + std::to_string(i) + ".after", globals_[i].second.address, globals_[i].second.bytes);
    }
    write_meta(p);
}

void Capture::write_meta(const PreparedLaunch& p) const {
    Json json;
    json.open('{').field("id", id_).field("kernel", p.launch.kernel->symbol).field("code_object", p.launch.object->hash);
    json.list("grid", p.launch.grid).list("workgroup", p.launch.workgroup).field("dynamic_lds", p.launch.dynamic_lds);
    json.field("cooperative", p.launch.cooperative).field("kernarg_bytes", p.launch.kernel->kernarg_bytes);
    json.field("explicit_bytes", p.launch.kernarg.size());
    json.key("arguments").open('[');
    for (const KernelArgument& a : p.launch.kernel->arguments)
        json.open('{').field("offset", a.offset).field("size", a.size).field("value_kind", a.value_kind).close('}');
    json.close(']').key("buffers").open('[');
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        const Buffer& b = buffers_[i];
        json.open('{').field("index", i).field("address", b.address).field("bytes", b.bytes);
        json.list("referenced_by", b.arguments).list("offset_in_buffer", b.offsets);
        json.field("before", "buffer_" + std::to_string(i) + ".before").close('}');
    }
    json.close(']').key("globals").open('[');
    for (std::size_t i = 0; i < globals_.size(); ++i)
        json.open('{').field("symbol", globals_[i].first).field("address", globals_[i].second.address)
            .field("bytes", globals_[i].second.bytes).field("before", "global_" + std::to_string(i) + ".before").close('}');
    json.close(']').field("complete", reason_.empty()).key("reason");
    if (reason_.empty()) json.null();
    else json.value(reason_);
    json.close('}');
    const std::string path = folder_ + "/meta.json";
    std::ofstream(path + ".part") << json.text();
    fs::rename(path + ".part", path);  // last, so that a folder with meta.json is whole
}

}  // namespace hipscope
