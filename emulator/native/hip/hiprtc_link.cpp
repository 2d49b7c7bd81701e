// hipRTC's linker: LLVM bitcode of several programs to one code object, with the compiler that HIPSCOPE_HIPRTC names.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "hip/rtc_tools.hpp"

#define HIPSCOPE_API extern "C" __attribute__((visibility("default")))

namespace hipscope {

/// hiprtcLinkState: what is to be linked, then the code object.
struct RtcLink {
    std::list<MemoryFile> files;
    std::string code;
};

namespace {

constexpr int kBitcode = 100;  // HIPRTC_JIT_INPUT_LLVM_BITCODE

bool is_bitcode(std::string_view data) { return data.starts_with("BC\xc0\xde"); }

Result add(RtcLink* link, int type, std::string_view data) {
    if (link == nullptr || data.empty()) return invalid_input;
    if (type != kBitcode || !is_bitcode(data)) {
        std::fputs("hipscope emulator: hiprtcLink takes LLVM bitcode only, not bundles or archives\n", stderr);
        return invalid_input;
    }
    link->files.emplace_back(data, "the bitcode");
    return ok;
}

Result complete(RtcLink& link) {
    if (link.files.empty()) return invalid_input;
    const std::vector<std::string> clang = compiler();
    std::vector<std::string> arguments{clang[0], "--target=amdgcn-amd-amdhsa", "-nogpulib", "-flto", "-O3"};
    constexpr std::string_view arch = "--offload-arch=";
    for (const std::string& a : clang)
        if (a.starts_with(arch)) arguments.push_back("-mcpu=" + a.substr(arch.size()));
    for (const MemoryFile& file : link.files) arguments.push_back(file.path());
    arguments.insert(arguments.end(), {"-o", "-"});
    Ran linked = run(arguments, link.files);
    if (!linked.done) {
        std::fprintf(stderr, "hipscope emulator: hiprtcLinkComplete: %s", linked.log.c_str());
        return linking;
    }
    link.code = std::move(linked.output);
    return ok;
}

/// Exceptions end at the C interface: as a line and a code.
template <class Do>
Result guarded(Do action) {
    try {
        return action();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope emulator: %s\n", error.what());
        return internal_error;
    }
}

}  // namespace
}  // namespace hipscope

using hipscope::RtcLink;

// Options and names are for just-in-time compilers that this one is not.
HIPSCOPE_API int hiprtcLinkCreate(unsigned, void*, void**, RtcLink** link) {
    if (link == nullptr) return hipscope::invalid_input;
    return hipscope::guarded([link] {
        *link = new RtcLink;
        return hipscope::ok;
    });
}
HIPSCOPE_API int hiprtcLinkAddData(RtcLink* link, int type, void* data, std::size_t bytes, const char*, unsigned, void*, void**) {
    if (data == nullptr) return hipscope::invalid_input;
    return hipscope::guarded([=] { return hipscope::add(link, type, {static_cast<const char*>(data), bytes}); });
}
HIPSCOPE_API int hiprtcLinkAddFile(RtcLink* link, int type, const char* path, unsigned, void*, void**) {
    if (path == nullptr) return hipscope::invalid_input;
    return hipscope::guarded([=] {
        std::ifstream file(path, std::ios::binary);
        return hipscope::add(link, type, std::string(std::istreambuf_iterator<char>(file), {}));
    });
}
/// The code object belongs to the link state.
HIPSCOPE_API int hiprtcLinkComplete(RtcLink* link, void** code, std::size_t* bytes) {
    if (link == nullptr || code == nullptr || bytes == nullptr) return hipscope::invalid_input;
    return hipscope::guarded([=] {
        const int result = hipscope::complete(*link);
        *code = link->code.data();
        *bytes = link->code.size();
        return result;
    });
}
HIPSCOPE_API int hiprtcLinkDestroy(RtcLink* link) {
    delete link;
    return link == nullptr ? hipscope::invalid_input : hipscope::ok;
}
