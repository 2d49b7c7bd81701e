// dlopen and dlsym.
#include "replay/hsa_runtime.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace hipscope::gpu {
namespace {

constexpr const char* kLibrary = "libhsa-runtime64.so.1";

template <class Function>
void find(void* library, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(library, name));
    if (into == nullptr)
        throw std::runtime_error(std::string(kLibrary) + " has no " + name + ": ROCm 6.0 or newer is needed");
}

}  // namespace

HsaRuntime HsaRuntime::load() {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw std::runtime_error(std::string("cannot open the HSA runtime: ") + dlerror());
    HsaRuntime r{};
    find(library, "hsa_init", r.init);
    find(library, "hsa_status_string", r.status_string);
    find(library, "hsa_system_get_info", r.system_get_info);
    find(library, "hsa_iterate_agents", r.iterate_agents);
    find(library, "hsa_agent_get_info", r.agent_get_info);
    find(library, "hsa_amd_agent_iterate_memory_pools", r.iterate_pools);
    find(library, "hsa_amd_memory_pool_get_info", r.pool_get_info);
    find(library, "hsa_amd_memory_pool_allocate", r.pool_allocate);
    find(library, "hsa_amd_agents_allow_access", r.allow_access);
    find(library, "hsa_memory_copy", r.copy);
    find(library, "hsa_signal_create", r.signal_create);
    find(library, "hsa_signal_store_screlease", r.signal_store);
    find(library, "hsa_signal_wait_scacquire", r.signal_wait);
    find(library, "hsa_queue_create", r.queue_create);
    find(library, "hsa_queue_add_write_index_screlease", r.add_write_index);
    find(library, "hsa_code_object_reader_create_from_memory", r.reader_create);
    find(library, "hsa_executable_create_alt", r.executable_create);
    find(library, "hsa_executable_load_agent_code_object", r.executable_load);
    find(library, "hsa_executable_freeze", r.executable_freeze);
    find(library, "hsa_executable_get_symbol_by_name", r.get_symbol);
    find(library, "hsa_executable_symbol_get_info", r.symbol_get_info);
    find(library, "hsa_amd_profiling_set_profiler_enabled", r.profiling_enable);
    find(library, "hsa_amd_profiling_get_dispatch_time", r.dispatch_time);
    find(library, "hsa_amd_vmem_address_reserve", r.vmem_reserve);
    find(library, "hsa_amd_vmem_handle_create", r.vmem_create);
    find(library, "hsa_amd_vmem_map", r.vmem_map);
    find(library, "hsa_amd_vmem_set_access", r.vmem_set_access);
    return r;
}

void HsaRuntime::check(hsa_status_t status, const std::string& what) const {
    if (status == HSA_STATUS_SUCCESS) return;
    const char* text = nullptr;
    status_string(status, &text);
    throw std::runtime_error(what + ": " + (text == nullptr ? "error " + std::to_string(status) : std::string(text)));
}

}  // namespace hipscope::gpu
