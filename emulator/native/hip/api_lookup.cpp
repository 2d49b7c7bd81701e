// Functions and kernels by name: entry points of this library, kernels of libraries loaded at run time.
#include <dlfcn.h>

#include <cstring>
#include <string_view>

#include "hip/api.hpp"

HIPSCOPE_API hipscope::abi::Error hipMalloc(void** pointer, std::size_t bytes);

namespace {

using namespace hipscope;
using abi::Error;

constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;
constexpr std::uint64_t kPerThread = 2;      // HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
enum Status { found, not_found, too_old };   // hipDriverProcAddressQueryResult

void* in_this_library(const std::string& name) {
    static void* const self = [] {
        Dl_info info{};
        return dladdr(reinterpret_cast<void*>(&hipMalloc), &info) == 0 ? nullptr : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }();
    return self == nullptr ? nullptr : dlsym(self, name.c_str());
}

/// `version` as hipDriverGetVersion or HIP_VERSION give it (60300000), or as major * 100 + minor (603).
void* entry(std::string name, int version, std::uint64_t flags) {
    const bool six = version >= 60000000 || (version >= 600 && version < 10000);
    if (six && (name == "hipGetDeviceProperties" || name == "hipChooseDevice")) name += "R0600";
    void* result = flags == kPerThread ? in_this_library(name + "_spt") : nullptr;
    return result != nullptr ? result : in_this_library(name);
}

Error look_up(const char* name, void** function, int version, std::uint64_t flags, int* status) {
    if (name == nullptr || function == nullptr) return fail(kBad);
    *function = std::string_view(name).starts_with("hip") ? entry(name, version, flags) : nullptr;
    if (status != nullptr) *status = *function == nullptr ? not_found : found;
    return *function == nullptr ? fail(kBad) : kOk;
}

}  // namespace

HIPSCOPE_API Error hipModuleLoad(Module** module, const char* path);
HIPSCOPE_API Error hipModuleLoadData(Module** module, const void* image);
HIPSCOPE_API Error hipModuleUnload(Module* module);
HIPSCOPE_API Error hipModuleGetFunction(Function** function, Module* module, const char* name);

HIPSCOPE_API Error hipGetProcAddress(const char* name, void** function, int version, std::uint64_t flags, int* status) {
    return look_up(name, function, version, flags, status);
}
HIPSCOPE_API Error hipGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* status) {
    return look_up(name, function, 600, flags, status);
}
HIPSCOPE_API Error hipGetDriverEntryPoint_spt(const char* name, void** function, unsigned long long, int* status) {
    return look_up(name, function, 600, kPerThread, status);
}

HIPSCOPE_API Error hipModuleLoadFatBinary(Module** module, const void* image) { return hipModuleLoadData(module, image); }
HIPSCOPE_API Error hipModuleGetFunctionCount(unsigned* count, Module* module) {
    Call call;
    if (count == nullptr || module == nullptr || call->load(*module) == nullptr) return fail(kBad);
    *count = static_cast<unsigned>(module->object->kernels.size());
    return kOk;
}
// A library is a module; its kernels are functions. Options (for just-in-time compilation) have nothing to act on.
HIPSCOPE_API Error hipLibraryLoadData(Module** library, const void* image, void*, void**, unsigned, void*, void**, unsigned) {
    return hipModuleLoadData(library, image);
}
HIPSCOPE_API Error hipLibraryLoadFromFile(Module** library, const char* path, void*, void**, unsigned, void*, void**, unsigned) {
    return hipModuleLoad(library, path);
}
HIPSCOPE_API Error hipLibraryUnload(Module* library) { return hipModuleUnload(library); }
HIPSCOPE_API Error hipLibraryGetKernel(Function** kernel, Module* library, const char* name) { return hipModuleGetFunction(kernel, library, name); }
HIPSCOPE_API Error hipLibraryGetKernelCount(unsigned* count, Module* library) { return hipModuleGetFunctionCount(count, library); }
