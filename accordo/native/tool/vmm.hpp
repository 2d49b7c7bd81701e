// Follows memory that a program maps by hand (hsa_amd_vmem_map). Tables of older runtimes do not have these calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tool/allocations.hpp"

namespace hipscope::gpu {

/// One set of hooks for each type of table; `Status` is its calls' result.
template <class Table>
struct VmmHooks {
    inline static Table saved{};
    inline static Allocations* allocations = nullptr;

    template <class Status, class Handle>
    static Status map(void* address, std::size_t bytes, std::size_t offset, Handle handle, std::uint64_t flags) {
        const Status status = saved.hsa_amd_vmem_map_fn(address, bytes, offset, handle, flags);
        if (static_cast<int>(status) == 0) allocations->add(reinterpret_cast<std::uint64_t>(address), bytes);
        return status;
    }
    template <class Status>
    static Status unmap(void* address, std::size_t bytes) {
        const Status status = saved.hsa_amd_vmem_unmap_fn(address, bytes);
        if (static_cast<int>(status) == 0) allocations->remove(reinterpret_cast<std::uint64_t>(address));
        return status;
    }
    template <class Status, class Handle>
    static void install(Table& table, Status (*)(void*, std::size_t, std::size_t, Handle, std::uint64_t)) {
        table.hsa_amd_vmem_map_fn = map<Status, Handle>;
        table.hsa_amd_vmem_unmap_fn = unmap<Status>;
    }
};

/// Hook the calls of `table` where it has them. `allocations` must live as long as the process.
template <class Table>
void follow_mapped_memory(Table& table, Allocations& allocations) {
    if constexpr (requires { table.hsa_amd_vmem_map_fn; table.hsa_amd_vmem_unmap_fn; }) {
        VmmHooks<Table>::saved = table;
        VmmHooks<Table>::allocations = &allocations;
        VmmHooks<Table>::install(table, table.hsa_amd_vmem_map_fn);
    }
}

}  // namespace hipscope::gpu
