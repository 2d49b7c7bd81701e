// Stands in for libhsa-runtime64.so.1 where there is no AMD GPU: one GPU whose kernels the emulator's engine executes.
// It has the calls that the tools library, the GPU replayer and host_program.cpp make, and nothing else. Like the real
// one it keeps its calls in tables that a tool named by HSA_TOOLS_LIB may change.
#include <dlfcn.h>
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/dispatch.hpp"
#include "engine/host_services.hpp"

namespace {

using namespace hipscope;

constexpr std::uint64_t kCpu = 1, kGpu = 2, kHostPool = 1, kDevicePool = 2, kGranule = 4096;

struct Signal {
    std::atomic<std::int64_t> value{0};
    std::atomic<std::uint64_t> start{0}, end{0};
    struct Queue* doorbell_of = nullptr;
};

Signal& signal_of(hsa_signal_t handle) { return *reinterpret_cast<Signal*>(handle.handle); }  // NOLINT

std::uint64_t now() { return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

using Packet = hsa_kernel_dispatch_packet_t;

struct Executable {
    std::unique_ptr<CodeObject> object;
    bool frozen = false;
};

struct Machine {
    Memory memory;
    LaunchArea area{memory};
    HostServices services{memory, false};
    EngineSettings settings;
    Engine engine{memory, settings, std::nullopt};
    std::mutex one_launch;
    std::map<std::uint64_t, std::pair<const CodeObject*, const Kernel*>> kernels;  // by kernel object
};

Machine& machine() {
    static Machine* one = new Machine;  // outlives the queues' threads
    return *one;
}

void execute(const Packet& packet) {
    const auto [object, kernel] = machine().kernels.at(packet.kernel_object);
    Launch launch;
    launch.object = object;
    launch.kernel = kernel;
    launch.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
    launch.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
    launch.dynamic_lds = packet.group_segment_size - kernel->lds_bytes;
    const auto* bytes = static_cast<const std::uint8_t*>(packet.kernarg_address);
    launch.kernarg.assign(bytes, bytes + kernel->explicit_bytes());
    const std::lock_guard lock(machine().one_launch);
    const DispatchResult result = machine().engine.run(prepare(std::move(launch), machine().area, machine().services), false);
    if (result.fault) {
        std::fprintf(stderr, "fake runtime: %s\n", result.fault->message.c_str());
        std::_Exit(70);
    }
}

struct Queue : hsa_queue_t {
    std::unique_ptr<Packet[]> ring;
    Signal doorbell;
    std::uint64_t read = 0;
    std::atomic<std::uint64_t> write{0};
    bool intercepted = false;
    hsa_amd_queue_intercept_handler handler = nullptr;
    void* handler_data = nullptr;
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Packet> waiting;

    explicit Queue(std::uint32_t packets) : hsa_queue_t{}, ring(new Packet[packets]()) {
        size = packets;
        base_address = ring.get();
        doorbell.doorbell_of = this;
        doorbell_signal.handle = reinterpret_cast<std::uint64_t>(&doorbell);
        std::thread([this] { work(); }).detach();
    }
    void push(const Packet* packets, std::uint64_t count) {
        const std::lock_guard lock(mutex);
        waiting.insert(waiting.end(), packets, packets + count);
        filled.notify_all();
    }
    [[noreturn]] void work() {
        for (;;) {
            Packet packet;
            {
                std::unique_lock lock(mutex);
                filled.wait(lock, [this] { return !waiting.empty(); });
                packet = waiting.front();
                waiting.pop_front();
            }
            const std::uint64_t start = now();
            if ((packet.header & 0xffU) == HSA_PACKET_TYPE_KERNEL_DISPATCH) execute(packet);
            else wait_for_others(std::bit_cast<hsa_barrier_and_packet_t>(packet));
            if (packet.completion_signal.handle != 0) {
                Signal& done = signal_of(packet.completion_signal);
                done.start = start;
                done.end = now();
                --done.value;
            }
        }
    }
    static void wait_for_others(const hsa_barrier_and_packet_t& barrier) {
        for (const hsa_signal_t dependency : barrier.dep_signal)
            while (dependency.handle != 0 && signal_of(dependency).value != 0) std::this_thread::yield();
    }
};

thread_local Queue* queue_of_writer = nullptr;

void write_packets(const void* packets, std::uint64_t count) { queue_of_writer->push(static_cast<const Packet*>(packets), count); }

void ring_doorbell(Queue& queue, std::uint64_t last) {
    std::deque<Packet> fresh;
    for (; queue.read <= last; ++queue.read) fresh.push_back(queue.ring[queue.read % queue.size]);
    const std::unique_ptr<Packet[]> packets(new Packet[fresh.size()]);
    std::copy(fresh.begin(), fresh.end(), packets.get());
    if (queue.handler == nullptr) return queue.push(packets.get(), fresh.size());
    queue_of_writer = &queue;
    queue.handler(packets.get(), fresh.size(), queue.read - fresh.size(), queue.handler_data, write_packets);
}

// --- the calls --------------------------------------------------------------------------------------------------

hsa_status_t status_string(hsa_status_t status, const char** text) {
    *text = status == HSA_STATUS_SUCCESS ? "success" : "refused by the fake runtime";
    return HSA_STATUS_SUCCESS;
}

hsa_status_t system_get_info(hsa_system_info_t, void* value) {
    const std::uint64_t frequency = 1'000'000'000;
    std::memcpy(value, &frequency, 8);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void*), void* data) {
    visit({kCpu}, data);
    return visit({kGpu}, data);
}

hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t what, void* value) {
    if (what != HSA_AGENT_INFO_DEVICE) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const hsa_device_type_t type = agent.handle == kGpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU;
    std::memcpy(value, &type, sizeof type);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_pools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void*), void* data) {
    return visit({agent.handle == kGpu ? kDevicePool : kHostPool}, data);
}

hsa_status_t pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* value) {
    if (what == HSA_AMD_MEMORY_POOL_INFO_SEGMENT) {
        const hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
        std::memcpy(value, &segment, sizeof segment);
    } else if (what == HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS) {
        const std::uint32_t flags = pool.handle == kDevicePool ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED
                                                               : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
        std::memcpy(value, &flags, sizeof flags);
    } else if (what == HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE) {
        const std::size_t granule = kGranule;
        std::memcpy(value, &granule, sizeof granule);
    } else {
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t, std::size_t bytes, std::uint32_t, void** pointer) {
    *pointer = reinterpret_cast<void*>(machine().memory.allocate(bytes));  // NOLINT
    return *pointer == nullptr ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

hsa_status_t pool_free(void* pointer) {
    return machine().memory.release(reinterpret_cast<std::uint64_t>(pointer)) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

hsa_status_t region_allocate(hsa_region_t, std::size_t bytes, void** pointer) { return pool_allocate({kDevicePool}, bytes, 0, pointer); }

hsa_status_t copy(void* to, const void* from, std::size_t bytes) {
    std::memmove(to, from, bytes);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t allow_access(std::uint32_t, const hsa_agent_t*, const std::uint32_t*, const void*) { return HSA_STATUS_SUCCESS; }

hsa_status_t pointer_info(const void* pointer, hsa_amd_pointer_info_t* info, void* (*)(std::size_t), std::uint32_t*, hsa_agent_t**) {
    const Allocation* block = machine().memory.find(reinterpret_cast<std::uint64_t>(pointer));
    info->type = block == nullptr ? HSA_EXT_POINTER_TYPE_UNKNOWN : HSA_EXT_POINTER_TYPE_HSA;
    if (block == nullptr) return HSA_STATUS_SUCCESS;
    info->agentBaseAddress = reinterpret_cast<void*>(block->address);  // NOLINT
    info->sizeInBytes = block->bytes;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t signal_create(hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*, hsa_signal_t* signal) {
    auto* fresh = new Signal;
    fresh->value = value;
    signal->handle = reinterpret_cast<std::uint64_t>(fresh);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t signal_destroy(hsa_signal_t signal) {
    delete &signal_of(signal);
    return HSA_STATUS_SUCCESS;
}

void signal_store(hsa_signal_t handle, hsa_signal_value_t value) {
    Signal& signal = signal_of(handle);
    signal.value = value;
    if (signal.doorbell_of != nullptr) ring_doorbell(*signal.doorbell_of, static_cast<std::uint64_t>(value));
}

hsa_signal_value_t signal_load(hsa_signal_t signal) { return signal_of(signal).value; }

hsa_signal_value_t signal_wait(hsa_signal_t handle, hsa_signal_condition_t, hsa_signal_value_t compare, std::uint64_t timeout, hsa_wait_state_t) {
    const std::uint64_t end = timeout > ~0ULL - now() ? ~0ULL : now() + timeout;
    while (signal_of(handle).value >= compare && now() < end) std::this_thread::sleep_for(std::chrono::microseconds(20));
    return signal_of(handle).value;
}

hsa_status_t queue_create(hsa_agent_t, std::uint32_t size, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*), void*,
                          std::uint32_t, std::uint32_t, hsa_queue_t** queue) {
    *queue = new Queue(size);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t intercept_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t*, void*),
                              void* data, std::uint32_t scratch, std::uint32_t lds, hsa_queue_t** queue) {
    queue_create(agent, size, type, callback, data, scratch, lds, queue);
    static_cast<Queue*>(*queue)->intercepted = true;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler handler, void* data) {
    auto* mine = static_cast<Queue*>(queue);
    if (!mine->intercepted) return HSA_STATUS_ERROR_INVALID_QUEUE;
    mine->handler = handler;
    mine->handler_data = data;
    return HSA_STATUS_SUCCESS;
}

std::uint64_t add_write_index(const hsa_queue_t* queue, std::uint64_t value) {
    return const_cast<Queue*>(static_cast<const Queue*>(queue))->write.fetch_add(value);
}

hsa_status_t reader_create(const void* code, std::size_t bytes, hsa_code_object_reader_t* reader) {
    reader->handle = reinterpret_cast<std::uint64_t>(new std::string(static_cast<const char*>(code), bytes));
    return HSA_STATUS_SUCCESS;
}

hsa_status_t reader_create_from_file(hsa_file_t, hsa_code_object_reader_t*) { return HSA_STATUS_ERROR; }

hsa_status_t reader_destroy(hsa_code_object_reader_t reader) {
    delete reinterpret_cast<std::string*>(reader.handle);  // NOLINT
    return HSA_STATUS_SUCCESS;
}

Executable& executable_of(hsa_executable_t handle) { return *reinterpret_cast<Executable*>(handle.handle); }  // NOLINT

hsa_status_t executable_create(hsa_profile_t, hsa_default_float_rounding_mode_t, const char*, hsa_executable_t* executable) {
    executable->handle = reinterpret_cast<std::uint64_t>(new Executable);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t executable_load(hsa_executable_t executable, hsa_agent_t, hsa_code_object_reader_t reader, const char*, hsa_loaded_code_object_t*) {
    const auto& elf = *reinterpret_cast<const std::string*>(reader.handle);  // NOLINT
    const char* objdump = std::getenv("FAKE_HSA_OBJDUMP");
    try {
        executable_of(executable).object = load_code_object(elf, machine().memory, {objdump == nullptr ? "llvm-objdump" : objdump, ""});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fake runtime: %s\n", error.what());
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t executable_freeze(hsa_executable_t handle, const char*) {
    Executable& executable = executable_of(handle);
    for (const auto& [name, kernel] : executable.object->kernels)
        machine().kernels[kernel.descriptor_address] = {executable.object.get(), &kernel};
    executable.frozen = true;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t executable_destroy(hsa_executable_t) { return HSA_STATUS_SUCCESS; }

/// A symbol is a pair of a kernel or a variable; handles live as long as the process.
struct Symbol {
    std::string name;
    const Kernel* kernel = nullptr;
    Variable variable;
};

hsa_executable_symbol_t symbol(Symbol content) { return {reinterpret_cast<std::uint64_t>(new Symbol(std::move(content)))}; }

hsa_status_t iterate_symbols(hsa_executable_t handle, hsa_agent_t agent,
                             hsa_status_t (*visit)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
    if (agent.handle != kGpu || !executable_of(handle).frozen) return HSA_STATUS_SUCCESS;
    const CodeObject& object = *executable_of(handle).object;
    for (const auto& [name, kernel] : object.kernels) visit(handle, agent, symbol({name + ".kd", &kernel, {}}), data);
    for (const auto& [name, variable] : object.variables) visit(handle, agent, symbol({name, nullptr, variable}), data);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t get_symbol(hsa_executable_t handle, const char* name, const hsa_agent_t*, hsa_executable_symbol_t* found) {
    const CodeObject& object = *executable_of(handle).object;
    const std::string text = name;
    if (text.ends_with(".kd")) {
        const auto kernel = object.kernels.find(text.substr(0, text.size() - 3));
        if (kernel == object.kernels.end()) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
        *found = symbol({text, &kernel->second, {}});
        return HSA_STATUS_SUCCESS;
    }
    const auto variable = object.variables.find(text);
    if (variable == object.variables.end()) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    *found = symbol({text, nullptr, variable->second});
    return HSA_STATUS_SUCCESS;
}

template <class T>
hsa_status_t give(void* value, T content) {
    std::memcpy(value, &content, sizeof content);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t symbol_get_info(hsa_executable_symbol_t handle, hsa_executable_symbol_info_t what, void* value) {
    const Symbol& s = *reinterpret_cast<const Symbol*>(handle.handle);  // NOLINT
    switch (what) {
        case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: return give(value, s.kernel != nullptr ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
        case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH: return give(value, static_cast<std::uint32_t>(s.name.size()));
        case HSA_EXECUTABLE_SYMBOL_INFO_NAME: std::memcpy(value, s.name.data(), s.name.size()); return HSA_STATUS_SUCCESS;
        case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: return give(value, s.kernel->descriptor_address);
        case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE: return give(value, s.kernel->kernarg_bytes);
        case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE: return give(value, s.kernel->lds_bytes);
        case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE: return give(value, s.kernel->scratch_bytes);
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS: return give(value, s.variable.address);
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE: return give(value, static_cast<std::uint32_t>(s.variable.bytes));
        default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

HsaApiTableContainer& table() {
    static HsaApiTableContainer* one = [] {
        auto* t = new HsaApiTableContainer;
        CoreApiTable& c = t->core;
        c.hsa_status_string_fn = status_string;
        c.hsa_system_get_info_fn = system_get_info;
        c.hsa_iterate_agents_fn = iterate_agents;
        c.hsa_agent_get_info_fn = agent_get_info;
        c.hsa_memory_allocate_fn = region_allocate;
        c.hsa_memory_free_fn = pool_free;
        c.hsa_memory_copy_fn = copy;
        c.hsa_signal_create_fn = signal_create;
        c.hsa_signal_destroy_fn = signal_destroy;
        c.hsa_signal_store_screlease_fn = signal_store;
        c.hsa_signal_load_scacquire_fn = signal_load;
        c.hsa_signal_wait_scacquire_fn = signal_wait;
        c.hsa_queue_create_fn = queue_create;
        c.hsa_queue_add_write_index_screlease_fn = add_write_index;
        c.hsa_code_object_reader_create_from_memory_fn = reader_create;
        c.hsa_code_object_reader_create_from_file_fn = reader_create_from_file;
        c.hsa_code_object_reader_destroy_fn = reader_destroy;
        c.hsa_executable_create_alt_fn = executable_create;
        c.hsa_executable_load_agent_code_object_fn = executable_load;
        c.hsa_executable_freeze_fn = executable_freeze;
        c.hsa_executable_destroy_fn = executable_destroy;
        c.hsa_executable_iterate_agent_symbols_fn = iterate_symbols;
        c.hsa_executable_get_symbol_by_name_fn = get_symbol;
        c.hsa_executable_symbol_get_info_fn = symbol_get_info;
        AmdExtTable& a = t->amd_ext;
        a.hsa_amd_agent_iterate_memory_pools_fn = iterate_pools;
        a.hsa_amd_memory_pool_get_info_fn = pool_get_info;
        a.hsa_amd_memory_pool_allocate_fn = pool_allocate;
        a.hsa_amd_memory_pool_free_fn = pool_free;
        a.hsa_amd_agents_allow_access_fn = allow_access;
        a.hsa_amd_pointer_info_fn = pointer_info;
        a.hsa_amd_queue_intercept_create_fn = intercept_create;
        a.hsa_amd_queue_intercept_register_fn = intercept_register;
        // A runtime of another generation, for the test of the version check.
        if (const char* major = std::getenv("FAKE_HSA_AMD_TABLE_MAJOR")) a.version.major_id = static_cast<std::uint32_t>(std::atoi(major));
        return t;
    }();
    return *one;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

hsa_status_t hsa_init() {
    static bool started = false;
    if (started) return HSA_STATUS_SUCCESS;
    started = true;
    machine();
    const char* tool = std::getenv("HSA_TOOLS_LIB");
    if (tool == nullptr) return HSA_STATUS_SUCCESS;
    void* library = dlopen(tool, RTLD_NOW);
    if (library == nullptr) {
        std::fprintf(stderr, "fake runtime: %s\n", dlerror());
        return HSA_STATUS_SUCCESS;
    }
    using Load = bool (*)(HsaApiTable*, std::uint64_t, std::uint64_t, const char* const*);
    reinterpret_cast<Load>(dlsym(library, "OnLoad"))(&table().root, 1, 0, nullptr);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_status_string(hsa_status_t s, const char** t) { return table().core.hsa_status_string_fn(s, t); }
hsa_status_t hsa_system_get_info(hsa_system_info_t w, void* v) { return table().core.hsa_system_get_info_fn(w, v); }
hsa_status_t hsa_iterate_agents(hsa_status_t (*f)(hsa_agent_t, void*), void* d) { return table().core.hsa_iterate_agents_fn(f, d); }
hsa_status_t hsa_agent_get_info(hsa_agent_t a, hsa_agent_info_t w, void* v) { return table().core.hsa_agent_get_info_fn(a, w, v); }
hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t a, hsa_status_t (*f)(hsa_amd_memory_pool_t, void*), void* d) {
    return table().amd_ext.hsa_amd_agent_iterate_memory_pools_fn(a, f, d);
}
hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t p, hsa_amd_memory_pool_info_t w, void* v) {
    return table().amd_ext.hsa_amd_memory_pool_get_info_fn(p, w, v);
}
hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t p, size_t n, uint32_t f, void** r) {
    return table().amd_ext.hsa_amd_memory_pool_allocate_fn(p, n, f, r);
}
hsa_status_t hsa_amd_agents_allow_access(uint32_t n, const hsa_agent_t* a, const uint32_t* f, const void* p) {
    return table().amd_ext.hsa_amd_agents_allow_access_fn(n, a, f, p);
}
hsa_status_t hsa_memory_copy(void* d, const void* s, size_t n) { return table().core.hsa_memory_copy_fn(d, s, n); }
hsa_status_t hsa_signal_create(hsa_signal_value_t v, uint32_t n, const hsa_agent_t* a, hsa_signal_t* s) {
    return table().core.hsa_signal_create_fn(v, n, a, s);
}
void hsa_signal_store_screlease(hsa_signal_t s, hsa_signal_value_t v) { table().core.hsa_signal_store_screlease_fn(s, v); }
hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t s, hsa_signal_condition_t c, hsa_signal_value_t v, uint64_t t, hsa_wait_state_t w) {
    return table().core.hsa_signal_wait_scacquire_fn(s, c, v, t, w);
}
hsa_status_t hsa_queue_create(hsa_agent_t a, uint32_t n, hsa_queue_type32_t t, void (*f)(hsa_status_t, hsa_queue_t*, void*), void* d,
                              uint32_t p, uint32_t g, hsa_queue_t** q) {
    return table().core.hsa_queue_create_fn(a, n, t, f, d, p, g, q);
}
uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t* q, uint64_t v) {
    return table().core.hsa_queue_add_write_index_screlease_fn(q, v);
}
hsa_status_t hsa_code_object_reader_create_from_memory(const void* c, size_t n, hsa_code_object_reader_t* r) {
    return table().core.hsa_code_object_reader_create_from_memory_fn(c, n, r);
}
hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t r) { return table().core.hsa_code_object_reader_destroy_fn(r); }
hsa_status_t hsa_executable_create_alt(hsa_profile_t p, hsa_default_float_rounding_mode_t m, const char* o, hsa_executable_t* e) {
    return table().core.hsa_executable_create_alt_fn(p, m, o, e);
}
hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t e, hsa_agent_t a, hsa_code_object_reader_t r, const char* o,
                                                   hsa_loaded_code_object_t* l) {
    return table().core.hsa_executable_load_agent_code_object_fn(e, a, r, o, l);
}
hsa_status_t hsa_executable_freeze(hsa_executable_t e, const char* o) { return table().core.hsa_executable_freeze_fn(e, o); }
hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t e, const char* n, const hsa_agent_t* a, hsa_executable_symbol_t* s) {
    return table().core.hsa_executable_get_symbol_by_name_fn(e, n, a, s);
}
hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t s, hsa_executable_symbol_info_t w, void* v) {
    return table().core.hsa_executable_symbol_get_info_fn(s, w, v);
}
hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t s, hsa_amd_profiling_dispatch_time_t* t) {
    *t = {signal_of(s).start, signal_of(s).end};
    return HSA_STATUS_SUCCESS;
}

// Memory that a tool does not see being made, as from a call that our headers do not know.
void* fake_hidden_allocate(size_t bytes) { return reinterpret_cast<void*>(machine().memory.allocate(bytes)); }  // NOLINT

// Virtual memory, in the real runtime since ROCm 6.0. A reservation at a taken address goes elsewhere, as mmap's does.
hsa_status_t hsa_amd_vmem_address_reserve(void** address, size_t bytes, uint64_t wanted, uint64_t) {
    const bool fits = machine().memory.allocate_at(wanted, bytes);
    *address = reinterpret_cast<void*>(fits ? wanted : machine().memory.allocate(bytes));  // NOLINT
    return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t, size_t, int, uint64_t, uint64_t* handle) {
    *handle = 1;
    return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_vmem_map(void*, size_t, size_t, uint64_t, uint64_t) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_amd_vmem_set_access(void*, size_t, const void*, size_t) { return HSA_STATUS_SUCCESS; }

}
#pragma GCC visibility pop
