// Program start-up: what clang's generated constructors call, launch configuration, and module functions.
#include <algorithm>
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
    std::vector<std::uint8_t> arguments{};  // of hipSetupArgument, as the kernel will see them
};

std::vector<Configuration>& configurations() {
    thread_local std::vector<Configuration> stack;
    return stack;
}

struct Shape {
    Dim3 grid, workgroup;
    std::size_t dynamic_lds = 0;
    bool cooperative = false;
};

/// Run a kernel in a stream, or record it when the stream is being captured. `handle`: how the program named the kernel.
Error launch(Runtime& runtime, Function& function, void* handle, const Shape& shape, void** arguments,
             std::span<const std::uint8_t> packed, Stream* stream) {
    Stream* target = runtime.stream_of(stream);
    if (target == nullptr) return abi::error::invalid_handle;
    if (!target->capture && runtime.parked.empty()) {
        if (target == &runtime.legacy && runtime.forbid_legacy()) return abi::error::stream_capture_implicit;
        return runtime.launch({&function, shape.grid, shape.workgroup, static_cast<std::uint32_t>(shape.dynamic_lds), arguments, packed, shape.cooperative}, *target);
    }
    if (!runtime.resolve(function)) return abi::error::invalid_device_function;
    return submit(runtime, stream,
                  KernelWork{&function, handle, shape.grid, shape.workgroup, static_cast<std::uint32_t>(shape.dynamic_lds),
                             runtime.pack(*function.kernel, arguments, packed), shape.cooperative, {}});
}

Error module_launch(Function* function, const Shape& shape, void** arguments, void** extra, Stream* stream) {
    Call call;
    if (function == nullptr) return fail(abi::error::invalid_handle);
    const auto packed = packed_arguments(extra);
    if (arguments == nullptr && packed.empty() && call->resolve(*function) && function->kernel->explicit_bytes() > 0)
        return fail(abi::error::invalid_value);
    return finish(launch(call.runtime, *function, function, shape, arguments, packed, stream));
}

Error stub_launch(const void* stub, const Shape& shape, void** arguments, Stream* stream, std::span<const std::uint8_t> packed = {}) {
    Call call;
    const auto function = call->functions.find(stub);
    if (function == call->functions.end() && call->is_function(stub))  // a kernel of a library
        return module_launch(static_cast<Function*>(const_cast<void*>(stub)), shape, arguments, nullptr, stream);
    if (function == call->functions.end()) return fail(abi::error::invalid_device_function);
    return finish(launch(call.runtime, function->second, const_cast<void*>(stub), shape, arguments, packed, stream));
}

bool cooperative(const abi::LaunchAttribute* attributes, unsigned count) {
    bool result = false;
    for (unsigned i = 0; i < count; ++i)
        if (attributes[i].id == abi::kAttributeCooperative) result = attributes[i].value != 0;
    return result;
}

/// Set the events around a launch (hipExt... functions).
template <class Launch>
Error between(Event* start, Event* stop, Stream* handle, Launch run) {
    Call call;
    Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (start != nullptr) call->record(*start, *stream);
    const Error error = run();
    if (stop != nullptr) call->record(*stop, *stream);
    return error;
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
    call->set_kind(address_of(memory), MemoryKind::managed);
    if (initial != nullptr) std::memcpy(memory, initial, size);
    *pointer = memory;
    auto* module = static_cast<Module*>(handle);
    DeviceVariable& variable = call->variables[pointer] = DeviceVariable{module, name, size, memory};
    module->managed.push_back(&variable);
}

HIPSCOPE_API void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
HIPSCOPE_API void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}

HIPSCOPE_API Error __hipPushCallConfiguration(Dim3 grid, Dim3 workgroup, std::size_t dynamic_lds, void* stream) {
    configurations().push_back({grid, workgroup, dynamic_lds, stream, {}});
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

/// How programs launch that were compiled with -fno-hip-new-launch-api: argument by argument, then the kernel.
HIPSCOPE_API Error hipSetupArgument(const void* argument, std::size_t bytes, std::size_t offset) {
    auto& stack = configurations();
    if (stack.empty()) return fail(abi::error::missing_configuration);
    if (argument == nullptr) return fail(abi::error::invalid_value);
    auto& arguments = stack.back().arguments;
    arguments.resize(std::max(arguments.size(), offset + bytes));
    std::memcpy(arguments.data() + offset, argument, bytes);
    return abi::error::success;
}
HIPSCOPE_API Error hipLaunchByPtr(const void* stub) {
    auto& stack = configurations();
    if (stack.empty()) return fail(abi::error::missing_configuration);
    const Configuration c = std::move(stack.back());
    stack.pop_back();
    return stub_launch(stub, {c.grid, c.workgroup, c.dynamic_lds}, nullptr, static_cast<Stream*>(c.stream), c.arguments);
}

HIPSCOPE_API Error hipLaunchKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t lds, Stream* s) {
    return stub_launch(stub, {grid, workgroup, lds}, arguments, s);
}
HIPSCOPE_API Error hipLaunchKernel_spt(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t lds, Stream* s) {
    return stub_launch(stub, {grid, workgroup, lds}, arguments, per_thread(s));
}
HIPSCOPE_API Error hipLaunchCooperativeKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, unsigned lds, Stream* s) {
    return stub_launch(stub, {grid, workgroup, lds, true}, arguments, s);
}
HIPSCOPE_API Error hipLaunchCooperativeKernel_spt(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, unsigned lds, Stream* s) {
    return stub_launch(stub, {grid, workgroup, lds, true}, arguments, per_thread(s));
}
/// There is one device, so the list has one launch.
HIPSCOPE_API Error hipLaunchCooperativeKernelMultiDevice(const abi::LaunchParams* list, int count, unsigned) {
    if (list == nullptr || count != 1) return fail(abi::error::invalid_value);
    return stub_launch(list->function, {list->grid, list->workgroup, list->dynamic_lds, true}, list->arguments, list->stream);
}
HIPSCOPE_API Error hipExtLaunchMultiKernelMultiDevice(const abi::LaunchParams* list, int count, unsigned) {
    if (list == nullptr || count != 1) return fail(abi::error::invalid_value);
    return stub_launch(list->function, {list->grid, list->workgroup, list->dynamic_lds}, list->arguments, list->stream);
}
HIPSCOPE_API Error hipExtLaunchKernel(const void* stub, Dim3 grid, Dim3 workgroup, void** arguments, std::size_t lds, Stream* s,
                                      Event* start, Event* stop, int) {
    return between(start, stop, s, [&] { return stub_launch(stub, {grid, workgroup, lds}, arguments, s); });
}
HIPSCOPE_API Error hipLaunchKernelExC(const abi::LaunchConfig* config, const void* stub, void** arguments) {
    if (config == nullptr) return fail(abi::error::invalid_value);
    const bool together = cooperative(config->attributes, config->attribute_count);
    return stub_launch(stub, {config->grid, config->workgroup, config->dynamic_lds, together}, arguments, config->stream);
}
HIPSCOPE_API Error hipDrvLaunchKernelEx(const abi::DriverLaunchConfig* c, Function* function, void** arguments, void** extra) {
    if (c == nullptr) return fail(abi::error::invalid_value);
    const Shape shape{{c->grid[0], c->grid[1], c->grid[2]}, {c->workgroup[0], c->workgroup[1], c->workgroup[2]}, c->dynamic_lds,
                      cooperative(c->attributes, c->attribute_count)};
    return module_launch(function, shape, arguments, extra, c->stream);
}
HIPSCOPE_API Error hipGetFuncBySymbol(Function** function, const void* symbol) {
    Call call;
    const auto found = call->functions.find(symbol);
    if (function == nullptr) return fail(abi::error::invalid_value);
    if (found == call->functions.end() || !call->resolve(found->second)) return fail(abi::error::invalid_device_function);
    *function = &found->second;
    return abi::error::success;
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
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
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
                                         unsigned bz, unsigned lds, Stream* s, void** arguments, void** extra) {
    return module_launch(function, {{gx, gy, gz}, {bx, by, bz}, lds}, arguments, extra, s);
}
HIPSCOPE_API Error hipModuleLaunchCooperativeKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                    unsigned by, unsigned bz, unsigned lds, Stream* s, void** arguments) {
    return module_launch(function, {{gx, gy, gz}, {bx, by, bz}, lds, true}, arguments, nullptr, s);
}
HIPSCOPE_API Error hipModuleLaunchCooperativeKernelMultiDevice(const abi::FunctionLaunchParams* list, unsigned count, unsigned) {
    if (list == nullptr || count != 1) return fail(abi::error::invalid_value);
    return module_launch(list->function, {{list->grid[0], list->grid[1], list->grid[2]}, {list->workgroup[0], list->workgroup[1], list->workgroup[2]}, list->dynamic_lds, true},
                         list->arguments, nullptr, list->stream);
}
/// Grid in work-items, unlike hipModuleLaunchKernel; workgroups are whole ones.
HIPSCOPE_API Error hipExtModuleLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                            unsigned bz, std::size_t lds, Stream* s, void** arguments, void** extra,
                                            Event* start, Event* stop, unsigned) {
    if (bx == 0 || by == 0 || bz == 0) return fail(abi::error::invalid_configuration);
    if (gx % bx != 0 || gy % by != 0 || gz % bz != 0) {
        Call()->say_unsupported("hipExtModuleLaunchKernel with a grid that is no multiple of the workgroup");
        return fail(abi::error::not_supported);
    }
    return between(start, stop, s, [&] {
        return module_launch(function, {{gx / bx, gy / by, gz / bz}, {bx, by, bz}, lds}, arguments, extra, s);
    });
}
HIPSCOPE_API Error hipHccModuleLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                            unsigned bz, std::size_t lds, Stream* s, void** arguments, void** extra,
                                            Event* start, Event* stop) {
    return hipExtModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, s, arguments, extra, start, stop, 0);
}

// HIP 5's headers declare some functions without extern "C"; its library exports them under these names.
HIPSCOPE_API decltype(hipExtModuleLaunchKernel) _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
    __attribute__((alias("hipExtModuleLaunchKernel")));
HIPSCOPE_API decltype(hipHccModuleLaunchKernel) _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_
    __attribute__((alias("hipHccModuleLaunchKernel")));
/// hip_impl::hipLaunchKernelGGLImpl
HIPSCOPE_API void _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(std::uintptr_t stub, const Dim3& grid, const Dim3& workgroup,
                                                                                     std::uint32_t lds, Stream* s, void** extra) {
    stub_launch(reinterpret_cast<const void*>(stub), {grid, workgroup, lds}, nullptr, s, packed_arguments(extra));
}
