// A program that launches kernels through HSA as HIP's runtime does. argv: CODE_OBJECT SCENARIO. Exit code 0: all results
// are right and every completion signal came to exactly 0.
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

extern "C" void* fake_hidden_allocate(size_t bytes);

namespace {

const hsa_agent_t kGpu{2};
hsa_executable_t executable;

void* device_memory(std::size_t bytes) {
    void* pointer = nullptr;
    hsa_amd_memory_pool_allocate({2}, bytes, 0, &pointer);
    return pointer;
}

struct Kernel {
    std::uint64_t object = 0;
    std::uint32_t lds = 0, kernarg = 0;
};

Kernel kernel(const std::string& name) {
    hsa_executable_symbol_t symbol{};
    if (hsa_executable_get_symbol_by_name(executable, (name + ".kd").c_str(), &kGpu, &symbol) != HSA_STATUS_SUCCESS) {
        std::fprintf(stderr, "no kernel %s\n", name.c_str());
        std::exit(2);
    }
    Kernel k;
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.lds);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.kernarg);
    return k;
}

hsa_queue_t* queue() {
    hsa_queue_t* q = nullptr;
    hsa_queue_create(kGpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &q);
    return q;
}

hsa_signal_t signal() {
    hsa_signal_t s{};
    hsa_signal_create(1, 0, nullptr, &s);
    return s;
}

using Packet = hsa_kernel_dispatch_packet_t;

template <class... T>
Packet launch(const Kernel& k, std::uint32_t items, hsa_signal_t done, T... arguments) {
    void* kernarg = nullptr;
    hsa_amd_memory_pool_allocate({1}, k.kernarg, 0, &kernarg);
    std::memset(kernarg, 0, k.kernarg);
    std::size_t at = 0;
    const auto put = [&](auto value) {
        at = (at + sizeof value - 1) / sizeof value * sizeof value;
        std::memcpy(static_cast<char*>(kernarg) + at, &value, sizeof value);
        at += sizeof value;
    };
    (put(arguments), ...);
    Packet p{};
    p.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1U << HSA_PACKET_HEADER_BARRIER;
    p.setup = 1;
    p.workgroup_size_x = 64;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = items;
    p.grid_size_y = p.grid_size_z = 1;
    p.group_segment_size = k.lds;
    p.kernel_object = k.object;
    p.kernarg_address = kernarg;
    p.completion_signal = done;
    return p;
}

/// Put packets into the queue with one ring of the doorbell.
void submit(hsa_queue_t* q, const std::vector<Packet>& packets) {
    const std::uint64_t first = hsa_queue_add_write_index_screlease(q, packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) static_cast<Packet*>(q->base_address)[(first + i) % q->size] = packets[i];
    hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(first + packets.size() - 1));
}

bool done(hsa_signal_t s) {
    return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000'000ULL, HSA_WAIT_STATE_BLOCKED) == 0;
}

bool expect(bool ok, const char* what) {
    if (!ok) std::fprintf(stderr, "wrong: %s\n", what);
    return ok;
}

constexpr int kN = 256;

float* floats(int n, float first) {
    auto* data = static_cast<float*>(device_memory(static_cast<std::size_t>(n) * sizeof(float)));
    for (int i = 0; i < n; ++i) data[i] = first + static_cast<float>(i);
    return data;
}

/// Two launches and a copy kernel in one batch; pointers into the middle of an allocation.
bool batch() {
    float* in = floats(kN + 16, 1);
    float* out = floats(kN, 0);
    float* other = floats(kN, 0);
    const hsa_signal_t a = signal(), b = signal(), c = signal();
    const Kernel scale = kernel("scale"), copy = kernel("copy");
    submit(queue(), {launch(copy, kN, a, in, other, kN), launch(scale, kN, b, in + 16, out, 3.0F, kN), launch(copy, kN, c, out, other, kN)});
    bool ok = expect(done(a) && done(b) && done(c), "completion signals");
    for (int i = 0; i < kN; ++i) ok = ok && out[i] == 3.0F * static_cast<float>(i + 17) && other[i] == out[i];
    return expect(ok, "results of the batch");
}

/// Buffers that only a table in memory points to, one of which was allocated behind the tool's back; a device variable.
bool table() {
    auto** rows = static_cast<float**>(device_memory(3 * sizeof(float*)));
    rows[0] = floats(kN, 0);
    rows[1] = floats(kN, 100);
    rows[2] = floats(kN, 200) + 8;
    auto* sum = static_cast<float*>(fake_hidden_allocate(kN * sizeof(float)));
    const hsa_signal_t a = signal(), b = signal();
    const Kernel gather = kernel("gather");
    submit(queue(), {launch(gather, kN, a, rows, sum, kN - 8), launch(gather, kN, b, rows, sum, kN - 8)});
    bool ok = expect(done(a) && done(b), "completion signals");
    for (int i = 0; i < kN - 8; ++i) ok = ok && sum[i] == 308.0F + 3.0F * static_cast<float>(i) + 1.0F;
    return expect(ok, "sums");
}

/// Two queues at once.
bool queues() {
    bool good[2] = {false, false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&good, t] {
            float* in = floats(kN, static_cast<float>(t));
            float* out = floats(kN, 0);
            const Kernel scale = kernel("scale");
            hsa_queue_t* q = queue();
            good[t] = true;
            for (int i = 0; i < 8; ++i) {
                const hsa_signal_t s = signal();
                submit(q, {launch(scale, static_cast<std::uint32_t>(64 * (i % 4 + 1)), s, in, out, 2.0F, 64 * (i % 4 + 1))});
                good[t] = good[t] && done(s);
            }
            good[t] = good[t] && out[255] == 2.0F * in[255];
        });
    for (std::thread& t : threads) t.join();
    return expect(good[0] && good[1], "two queues");
}

/// The launch waits for a signal that the host sets only after it has rung the doorbell.
bool blocked() {
    float* in = floats(kN, 1);
    float* out = floats(kN, 0);
    const hsa_signal_t gate = signal(), a = signal();
    hsa_barrier_and_packet_t barrier{};
    barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
    barrier.dep_signal[0] = gate;
    Packet first;
    std::memcpy(&first, &barrier, sizeof first);
    submit(queue(), {first, launch(kernel("scale"), kN, a, in, out, 2.0F, kN)});
    hsa_signal_store_screlease(gate, 0);
    return expect(done(a) && out[5] == 12.0F, "a launch behind a gate");
}

/// A kernel that does not end until another queue lets it.
bool slow() {
    auto* flag = static_cast<int*>(device_memory(4));
    *flag = 0;
    const hsa_signal_t a = signal();
    submit(queue(), {launch(kernel("spin"), 64, a, flag)});
    std::atomic_ref<int>(*flag).store(1);
    return expect(done(a), "a slow kernel");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    hsa_init();
    std::ifstream file(argv[1], std::ios::binary);
    const std::string code{std::istreambuf_iterator<char>(file), {}};
    hsa_code_object_reader_t reader{};
    hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader);
    hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable);
    if (hsa_executable_load_agent_code_object(executable, kGpu, reader, nullptr, nullptr) != HSA_STATUS_SUCCESS) return 2;
    hsa_executable_freeze(executable, nullptr);
    hsa_code_object_reader_destroy(reader);
    const std::string scenario = argv[2];
    const bool ok = scenario == "batch" ? batch() : scenario == "table" ? table() : scenario == "queues" ? queues()
                  : scenario == "blocked" ? blocked() : scenario == "slow" && slow();
    std::fflush(nullptr);
    std::_Exit(ok ? 0 : 1);
}
