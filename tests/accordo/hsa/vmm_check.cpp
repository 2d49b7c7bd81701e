// The hooks of newer tables, whose calls the oldest headers do not have: a table with them, and one without.
#include "tool/vmm.hpp"

#include <cstdio>

namespace {

enum Status { success = 0, failure = 1 };
struct Handle {
    std::uint64_t handle;
};
struct NewTable {
    Status (*hsa_amd_vmem_map_fn)(void*, std::size_t, std::size_t, Handle, std::uint64_t);
    Status (*hsa_amd_vmem_unmap_fn)(void*, std::size_t);
};
struct OldTable {};

Status map(void*, std::size_t bytes, std::size_t, Handle, std::uint64_t) { return bytes == 13 ? failure : success; }
Status unmap(void*, std::size_t) { return success; }

bool expect(bool ok, const char* what) {
    if (!ok) std::fprintf(stderr, "wrong: %s\n", what);
    return ok;
}

}  // namespace

int main() {
    hipscope::gpu::Allocations seen;
    OldTable old;
    hipscope::gpu::follow_mapped_memory(old, seen);
    NewTable table{map, unmap};
    hipscope::gpu::follow_mapped_memory(table, seen);
    auto* address = reinterpret_cast<void*>(0x10000);
    bool ok = expect(table.hsa_amd_vmem_map_fn(address, 13, 0, {1}, 0) == failure && !seen.find(0x10000), "a failed call is not recorded");
    table.hsa_amd_vmem_map_fn(address, 4096, 0, {1}, 0);
    const auto block = seen.find(0x10fff);
    ok = expect(block && block->address == 0x10000 && block->bytes == 4096, "mapped memory is known, to its last byte") && ok;
    ok = expect(!seen.find(0x11000), "the byte behind it is not") && ok;
    table.hsa_amd_vmem_unmap_fn(address, 4096);
    ok = expect(!seen.find(0x10000), "unmapped memory is forgotten") && ok;
    return ok ? 0 : 1;
}
