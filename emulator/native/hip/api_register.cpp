// Program start-up: what clang's generated constructors call, launch configuration, and module functions.
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/bundle.hpp"
#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Dim3;
using abi::Error;

/// Layout of clang's __CudaFatBinaryWrapper / HIP wrapper section entry.
struct FatBinaryWrapper {
    std::uint32_t magic, version;
    const void* binary;
    void* unused;
};
constexpr std::uint32_t kHipMagic = 0x48495046;  // "HIPF"

struct Configuration {
    Dim3 grid, workgroup;
    std::size_t dynamic_lds;
    void* stream;
};

std::vector<Configuration>& configurations() {
    thread_local std::vector<Configuration> stack;
    return stack;
}

std::span<const std::uint8_t> packed_arguments(void** extra) {
    // HIP_LAUNCH_PARAM_BUFFER_POINTER 1, _BUFFER_SIZE 2, _END 3 (or 0)
    const std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    for (; extra != nullptr && (address_of(*extra) == 1 || address_of(*extra) == 2); extra += 2) {
        if (address_of(extra[0]) == 1) buffer = static_cast<const std::uint8_t*>(extra[1]);
        else size = *static_cast<std::size_t*>(extra[1]);
    }
    return {buffer, buffer == nullptr ? 0 : size};
}

Error launch(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t dynamic_lds, bool cooperative) {
    Call call;
    const auto function = call->functions.find(stub);
    if (function == call->functions.end()) return fail(abi::error::invalid_device_function);
    LaunchRequest request{&function->second, grid, workgroup, static_cast<std::uint32_t>(dynamic_lds), arguments, {}, cooperative};
    return finish(call->launch(request));
}

Error module_launch(Function* function, Dim3 grid, Dim3 workgroup, unsigned dynamic_lds, void** arguments, void** extra,
                    bool cooperative) {
    Call call;
    if (function == nullptr) return fail(abi::error::invalid_handle);
    LaunchRequest request{function, grid, workgroup, dynamic_lds, arguments, packed_arguments(extra), cooperative};
    if (arguments == nullptr && request.packed.empty() && call->resolve(*function) && function->kernel->explicit_bytes() > 0)
        return fail(abi::error::invalid_value);
    return finish(call->launch(request));
}

Error load_module(Module** module, std::string image) {
    Call call;
    if (module == nullptr) return fail(abi::error::invalid_value);
    Module* added = call->add_module(nullptr, std::move(image));
    if (call->load(*added) == nullptr) {
        call->remove_module(added);
        return fail(abi::error::invalid_image);
    }
    *module = added;
    return abi::error::success;
}

}  // namespace

HIPSCOPE_API void** __hipRegisterFatBinary(const void* data) {
    Call call;
    const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
    if (wrapper->magic != kHipMagic) return nullptr;
    return reinterpret_cast<void**>(call->add_module(wrapper->binary, {}));
}

HIPSCOPE_API void __hipUnregisterFatBinary(void** handle) {
    Call call;
    if (handle != nullptr) call->remove_module(reinterpret_cast<Module*>(handle));
}

HIPSCOPE_API void __hipRegisterFunction(void** handle, const void* stub, char*, const char* name, unsigned, void*, void*,
                                        void*, void*, int*) {
    Call call;
    if (handle != nullptr) call->functions[stub] = Function{reinterpret_cast<Module*>(handle), name, nullptr, nullptr};
}

HIPSCOPE_API void __hipRegisterVar(void** handle, void* shadow, char*, char* name, int, std::size_t size, int, int) {
    Call call;
    if (handle != nullptr) call->variables[shadow] = DeviceVariable{reinterpret_cast<Module*>(handle), name, size, nullptr};
}

HIPSCOPE_API void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, std::size_t size, unsigned) {
    Call call;
    if (handle == nullptr) return;
    void* memory = pointer_to(call->memory.allocate(size, true));
    if (initial != nullptr) std::memcpy(memory, initial, size);
    *pointer = memory;
    auto* module = static_cast<Module*>(handle);
    DeviceVariable& variable = call->variables[pointer] = DeviceVariable{module, name, size, memory};
    module->managed.push_back(&variable);
}

HIPSCOPE_API void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
HIPSCOPE_API void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}

HIPSCOPE_API Error __hipPushCallConfiguration(Dim3 grid, Dim3 workgroup, std::size_t dynamic_lds, void* stream) {
    configurations().push_back({grid, workgroup, dynamic_lds, stream});
    return abi::error::success;
}

HIPSCOPE_API Error __hipPopCallConfiguration(Dim3* grid, Dim3* workgroup, std::size_t* dynamic_lds, void** stream) {
    auto& stack = configurations();
    if (stack.empty()) return fail(abi::error::invalid_configuration);
    const Configuration c = stack.back();
    stack.pop_back();
    *grid = c.grid;
    *workgroup = c.workgroup;
    *dynamic_lds = c.dynamic_lds;
    *stream = c.stream;
    return abi::error::success;
}

HIPSCOPE_API Error hipConfigureCall(Dim3 grid, Dim3 workgroup, std::size_t dynamic_lds, void* stream) {
    return __hipPushCallConfiguration(grid, workgroup, dynamic_lds, stream);
}

HIPSCOPE_API Error hipLaunchKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t dynamic_lds, void*) {
    return launch(stub, grid, workgroup, arguments, dynamic_lds, false);
}
HIPSCOPE_API Error hipLaunchKernel_spt(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t dynamic_lds, void*) {
    return launch(stub, grid, workgroup, arguments, dynamic_lds, false);
}
HIPSCOPE_API Error hipLaunchCooperativeKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, unsigned dynamic_lds, void*) {
    return launch(stub, grid, workgroup, arguments, dynamic_lds, true);
}
HIPSCOPE_API Error hipLaunchCooperativeKernel_spt(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, unsigned dynamic_lds, void*) {
    return launch(stub, grid, workgroup, arguments, dynamic_lds, true);
}
HIPSCOPE_API Error hipExtLaunchKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t dynamic_lds, void*,
                                      Event* start, Event* stop, int) {
    Call call;
    if (start != nullptr) *start = {call->now_ns, true};
    const Error error = launch(stub, grid, workgroup, arguments, dynamic_lds, false);
    if (stop != nullptr) *stop = {call->now_ns, true};
    return error;
}

HIPSCOPE_API Error hipModuleLoadData(Module** module, const void* image) {
    if (image == nullptr) return fail(abi::error::invalid_value);
    return load_module(module, std::string(image_bytes(image)));
}
HIPSCOPE_API Error hipModuleLoadDataEx(Module** module, const void* image, unsigned, void*, void**) {
    return hipModuleLoadData(module, image);
}
HIPSCOPE_API Error hipModuleLoad(Module** module, const char* path) {
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    if (!file) return fail(abi::error::file_not_found);
    return load_module(module, std::string(std::istreambuf_iterator<char>(file), {}));
}
HIPSCOPE_API Error hipModuleUnload(Module* module) {
    Call call;
    call->remove_module(module);
    return abi::error::success;
}
HIPSCOPE_API Error hipModuleGetFunction(Function** function, Module* module, const char* name) {
    Call call;
    if (function == nullptr || module == nullptr || name == nullptr) return fail(abi::error::invalid_value);
    auto& entry = module->functions[name];
    if (!entry) entry = std::make_unique<Function>(Function{module, name, nullptr, nullptr});
    if (!call->resolve(*entry)) return fail(abi::error::not_found);
    *function = entry.get();
    return abi::error::success;
}
HIPSCOPE_API Error hipModuleGetGlobal(void** address, std::size_t* bytes, Module* module, const char* name) {
    Call call;
    if (module == nullptr || name == nullptr || call->load(*module) == nullptr) return fail(abi::error::invalid_value);
    const auto found = module->object->variables.find(name);
    if (found == module->object->variables.end()) return fail(abi::error::not_found);
    if (address != nullptr) *address = pointer_to(found->second.address);
    if (bytes != nullptr) *bytes = found->second.bytes;
    return abi::error::success;
}
HIPSCOPE_API Error hipModuleLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                         unsigned bz, unsigned dynamic_lds, void*, void** arguments, void** extra) {
    return module_launch(function, {gx, gy, gz}, {bx, by, bz}, dynamic_lds, arguments, extra, false);
}
HIPSCOPE_API Error hipModuleLaunchCooperativeKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                    unsigned by, unsigned bz, unsigned dynamic_lds, void*, void** arguments) {
    return module_launch(function, {gx, gy, gz}, {bx, by, bz}, dynamic_lds, arguments, nullptr, true);
}
/// Grid in work-items, unlike hipModuleLaunchKernel.
HIPSCOPE_API Error hipExtModuleLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                            unsigned bz, std::size_t dynamic_lds, void*, void** arguments, void** extra,
                                            Event* start, Event* stop, unsigned) {
    Call call;
    if (bx == 0 || by == 0 || bz == 0) return fail(abi::error::invalid_configuration);
    if (start != nullptr) *start = {call->now_ns, true};
    const Error error = module_launch(function, {gx / bx, gy / by, gz / bz}, {bx, by, bz}, static_cast<unsigned>(dynamic_lds), arguments, extra, false);
    if (stop != nullptr) *stop = {call->now_ns, true};
    return error;
}
