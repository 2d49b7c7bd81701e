// The installed HSA runtime, opened when it is needed: a machine without ROCm can build and carry this program.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hipscope::gpu {

// Calls on virtual memory are younger than the oldest headers that we build with (ROCm 5.2). Layouts and values as in
// ROCm 6's hsa_ext_amd.h.
struct VmemHandle {
    std::uint64_t handle = 0;
};
struct VmemAccess {
    hsa_access_permission_t permissions;
    hsa_agent_t agent;
};
inline constexpr int kMemoryTypePinned = 1;

/// Function pointers of the runtime. A missing one is named when the table is loaded.
struct HsaRuntime {
    /// Opens libhsa-runtime64.so.1. Throws std::runtime_error with one line.
    static HsaRuntime load();

    decltype(&::hsa_init) init;
    decltype(&::hsa_status_string) status_string;
    decltype(&::hsa_system_get_info) system_get_info;
    decltype(&::hsa_iterate_agents) iterate_agents;
    decltype(&::hsa_agent_get_info) agent_get_info;
    decltype(&::hsa_amd_agent_iterate_memory_pools) iterate_pools;
    decltype(&::hsa_amd_memory_pool_get_info) pool_get_info;
    decltype(&::hsa_amd_memory_pool_allocate) pool_allocate;
    decltype(&::hsa_amd_agents_allow_access) allow_access;
    decltype(&::hsa_memory_copy) copy;
    decltype(&::hsa_signal_create) signal_create;
    decltype(&::hsa_signal_store_screlease) signal_store;
    decltype(&::hsa_signal_wait_scacquire) signal_wait;
    decltype(&::hsa_queue_create) queue_create;
    decltype(&::hsa_queue_add_write_index_screlease) add_write_index;
    decltype(&::hsa_code_object_reader_create_from_memory) reader_create;
    decltype(&::hsa_executable_create_alt) executable_create;
    decltype(&::hsa_executable_load_agent_code_object) executable_load;
    decltype(&::hsa_executable_freeze) executable_freeze;
    decltype(&::hsa_executable_get_symbol_by_name) get_symbol;
    decltype(&::hsa_executable_symbol_get_info) symbol_get_info;
    decltype(&::hsa_amd_profiling_set_profiler_enabled) profiling_enable;
    decltype(&::hsa_amd_profiling_get_dispatch_time) dispatch_time;
    hsa_status_t (*vmem_reserve)(void** address, std::size_t bytes, std::uint64_t wanted, std::uint64_t flags);
    hsa_status_t (*vmem_create)(hsa_amd_memory_pool_t pool, std::size_t bytes, int type, std::uint64_t flags, VmemHandle* handle);
    hsa_status_t (*vmem_map)(void* address, std::size_t bytes, std::size_t offset, VmemHandle handle, std::uint64_t flags);
    hsa_status_t (*vmem_set_access)(void* address, std::size_t bytes, const VmemAccess* access, std::size_t count);

    /// Throws std::runtime_error "WHAT: the runtime's words" unless `status` is success.
    void check(hsa_status_t status, const std::string& what) const;
};

}  // namespace hipscope::gpu
