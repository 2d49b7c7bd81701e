// Entry points of the tools library (HSA_TOOLS_LIB) and the calls that it watches: memory, code objects, queues.
#include <hsa/hsa_api_trace.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/bundle.hpp"
#include "tool/kernels.hpp"
#include "tool/queue.hpp"
#include "tool/vmm.hpp"

namespace hipscope::gpu {
namespace {

/// What this process has: created by OnLoad, never destroyed, since the runtime's threads may outlive OnUnload.
struct State : Recorder {
    std::mutex mutex;
    std::map<std::uint64_t, std::string> readers;      // code object reader -> ELF
    std::map<std::uint64_t, std::string> executables;  // executable -> ELF
};
State* state = nullptr;

std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// --- memory -----------------------------------------------------------------------------------------------------

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t flags, void** pointer) {
    const hsa_status_t status = state->amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, pointer);
    if (status == HSA_STATUS_SUCCESS) state->allocations.add(number(*pointer), size);
    return status;
}

hsa_status_t pool_free(void* pointer) {
    state->allocations.remove(number(pointer));
    return state->amd.hsa_amd_memory_pool_free_fn(pointer);
}

hsa_status_t region_allocate(hsa_region_t region, std::size_t size, void** pointer) {
    const hsa_status_t status = state->core.hsa_memory_allocate_fn(region, size, pointer);
    if (status == HSA_STATUS_SUCCESS) state->allocations.add(number(*pointer), size);
    return status;
}

hsa_status_t region_free(void* pointer) {
    state->allocations.remove(number(pointer));
    return state->core.hsa_memory_free_fn(pointer);
}

// --- code objects -----------------------------------------------------------------------------------------------

hsa_status_t reader_from_memory(const void* code, std::size_t size, hsa_code_object_reader_t* reader) {
    const hsa_status_t status = state->core.hsa_code_object_reader_create_from_memory_fn(code, size, reader);
    if (status == HSA_STATUS_SUCCESS) {
        const std::lock_guard lock(state->mutex);
        state->readers[reader->handle] = std::string(static_cast<const char*>(code), size);
    }
    return status;
}

std::string contents(hsa_file_t file) {
    std::string content;
    char block[1U << 16U];
    off_t at = 0;
    for (ssize_t n; (n = pread(file, block, sizeof block, at)) > 0; at += n) content.append(block, static_cast<std::size_t>(n));
    return content;
}

hsa_status_t reader_from_file(hsa_file_t file, hsa_code_object_reader_t* reader) {
    const hsa_status_t status = state->core.hsa_code_object_reader_create_from_file_fn(file, reader);
    if (status == HSA_STATUS_SUCCESS) {
        const std::lock_guard lock(state->mutex);
        state->readers[reader->handle] = contents(file);
    }
    return status;
}

hsa_status_t reader_destroy(hsa_code_object_reader_t reader) {
    {
        const std::lock_guard lock(state->mutex);
        state->readers.erase(reader.handle);
    }
    return state->core.hsa_code_object_reader_destroy_fn(reader);
}

hsa_status_t load_agent_code(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                             const char* options, hsa_loaded_code_object_t* loaded) {
    {
        const std::lock_guard lock(state->mutex);
        state->executables[executable.handle] = state->readers[reader.handle];
    }
    return state->core.hsa_executable_load_agent_code_object_fn(executable, agent, reader, options, loaded);
}

hsa_status_t executable_destroy(hsa_executable_t executable) {
    {
        const std::lock_guard lock(state->mutex);
        state->executables.erase(executable.handle);
    }
    return state->core.hsa_executable_destroy_fn(executable);
}

template <class T>
T symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what) {
    T value{};
    state->core.hsa_executable_symbol_get_info_fn(symbol, what, &value);
    return value;
}

struct Symbols {
    std::map<std::string, std::uint64_t> kernels;  // name -> kernel object
    std::vector<Variable> variables;
};

hsa_status_t note_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
    auto& symbols = *static_cast<Symbols*>(data);
    std::string name(symbol_info<std::uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), '\0');
    state->core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
    const auto kind = symbol_info<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
    if (kind == HSA_SYMBOL_KIND_KERNEL)
        symbols.kernels[name] = symbol_info<std::uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    else if (kind == HSA_SYMBOL_KIND_VARIABLE && !name.starts_with("__hip_cuid_"))  // names the compilation, holds nothing
        symbols.variables.push_back({name, symbol_info<std::uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS),
                                     symbol_info<std::uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE)});
    return HSA_STATUS_SUCCESS;
}

struct Search {
    hsa_executable_t executable;
    Symbols symbols;
};

hsa_status_t note_agent(hsa_agent_t agent, void* data) {
    auto& search = *static_cast<Search*>(data);
    state->core.hsa_executable_iterate_agent_symbols_fn(search.executable, agent, note_symbol, &search.symbols);
    return HSA_STATUS_SUCCESS;
}

/// A frozen executable has all its addresses: now a packet identifies its kernel.
hsa_status_t executable_freeze(hsa_executable_t executable, const char* options) {
    const hsa_status_t status = state->core.hsa_executable_freeze_fn(executable, options);
    if (status != HSA_STATUS_SUCCESS) return status;
    auto object = std::make_shared<LoadedObject>();
    {
        const std::lock_guard lock(state->mutex);
        object->elf = state->executables[executable.handle];
    }
    try {
        const std::map<std::string, KernelMetadata> kernels = read_kernels(object->elf);
        Search search{executable, {}};
        state->core.hsa_iterate_agents_fn(note_agent, &search);
        object->hash = content_hash(object->elf);
        object->variables = std::move(search.symbols.variables);
        for (const auto& [name, handle] : search.symbols.kernels)
            if (const auto known = kernels.find(name); known != kernels.end())
                state->kernels.add(handle, {known->second, object});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope: a code object's kernels are not recorded: %s\n", error.what());
    }
    return status;
}

// --- queues -----------------------------------------------------------------------------------------------------

hsa_status_t queue_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, std::uint32_t private_bytes,
                          std::uint32_t group_bytes, hsa_queue_t** queue) {
    const hsa_status_t status = state->amd.hsa_amd_queue_intercept_create_fn(agent, size, type, callback, data,
                                                                              private_bytes, group_bytes, queue);
    if (status != HSA_STATUS_SUCCESS)  // an agent without AQL queues, say
        return state->core.hsa_queue_create_fn(agent, size, type, callback, data, private_bytes, group_bytes, queue);
    return state->amd.hsa_amd_queue_intercept_register_fn(*queue, handle_packets, static_cast<Recorder*>(state));
}

void install(CoreApiTable& core, AmdExtTable& amd) {
    amd.hsa_amd_memory_pool_allocate_fn = pool_allocate;
    amd.hsa_amd_memory_pool_free_fn = pool_free;
    core.hsa_memory_allocate_fn = region_allocate;
    core.hsa_memory_free_fn = region_free;
    follow_mapped_memory(amd, state->allocations);
    core.hsa_code_object_reader_create_from_memory_fn = reader_from_memory;
    core.hsa_code_object_reader_create_from_file_fn = reader_from_file;
    core.hsa_code_object_reader_destroy_fn = reader_destroy;
    core.hsa_executable_load_agent_code_object_fn = load_agent_code;
    core.hsa_executable_destroy_fn = executable_destroy;
    core.hsa_executable_freeze_fn = executable_freeze;
    core.hsa_queue_create_fn = queue_create;
}

/// The tables are not append-only between major versions: with another one every hook would land on a wrong call.
bool known_tables(const HsaApiTable& table) {
    const auto same = [](const char* name, const ApiTableVersion& has, std::uint32_t major, std::size_t bytes) {
        if (has.major_id == major && has.minor_id >= bytes) return true;
        std::fprintf(stderr,
                     "hipscope: nothing is recorded: the HSA runtime's %s table is version %u with %u bytes, this library was built "
                     "for version %u with %zu; build it with the headers of the installed ROCm\n",
                     name, has.major_id, has.minor_id, major, bytes);
        return false;
    };
    return same("core", table.core_->version, HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof(CoreApiTable)) &&
           same("AMD extension", table.amd_ext_->version, HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof(AmdExtTable));
}

bool load(HsaApiTable& table) {
    auto fresh = std::make_unique<State>();
    try {
        fresh->settings = Settings::from_environment();
        if (fresh->settings.directory.empty()) return true;  // loaded, but nothing is asked for
        std::filesystem::create_directories(fresh->settings.directory);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope: nothing is recorded: %s\n", error.what());
        return false;
    }
    if (!known_tables(table)) return false;
    fresh->core = *table.core_;
    fresh->amd = *table.amd_ext_;
    state = fresh.release();
    install(*table.core_, *table.amd_ext_);
    return true;
}

}  // namespace
}  // namespace hipscope::gpu

extern "C" {

__attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, std::uint64_t /*runtime_version*/,
                                                    std::uint64_t /*failed_tool_count*/,
                                                    const char* const* /*failed_tool_names*/) {
    return hipscope::gpu::load(*table);
}

__attribute__((visibility("default"))) void OnUnload() {}

}
