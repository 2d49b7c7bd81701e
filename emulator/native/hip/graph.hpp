// What can be put into a stream or a graph, graphs of it, and the recording of a stream into a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hip/abi.hpp"

namespace hipscope {

class Runtime;
struct Event;
struct Function;
struct Graph;
struct Stream;

struct KernelWork {
    Function* function = nullptr;
    void* handle = nullptr;  // as the program named the kernel
    abi::Dim3 grid, workgroup;
    std::uint32_t dynamic_lds = 0;
    std::vector<std::uint8_t> kernarg;  // explicit arguments
    bool cooperative = false;
    std::vector<void*> pointers;        // into kernarg, for hipGraphKernelNodeGetParams
};
struct CopyWork {
    abi::Memcpy3DParms p{};
};
struct FillWork {
    abi::MemsetParams p{};
};
struct HostWork {
    void (*function)(void*) = nullptr;
    void* data = nullptr;
};
struct EmptyWork {};
struct ChildWork {
    std::shared_ptr<Graph> graph;
};
struct WaitWork {
    Event* event = nullptr;
    std::uint64_t ticket = 0;  // of an event of several processes: the record that is waited for
};
struct RecordWork {
    Event* event = nullptr;
    std::uint64_t ticket = 0;  // of an event of several processes: which record this is
};
/// Address space of an allocation node: kept as long as a graph with that node exists, so that the address stays the same
/// in every launch. A block that is live at the end belongs to the program, which frees it.
class GraphMemory {
public:
    /// nullptr when there is no address space left.
    static std::shared_ptr<GraphMemory> make(Runtime& runtime, std::size_t bytes);
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;
    const std::uint64_t address, bytes;

private:
    GraphMemory(Runtime& runtime, std::uint64_t address, std::uint64_t bytes) : address(address), bytes(bytes), runtime_(runtime) {}
    Runtime& runtime_;
};
struct AllocateWork {
    std::shared_ptr<GraphMemory> memory;
};
struct FreeWork {
    void* pointer = nullptr;
};
/// A value written to memory, or a wait until it is there (hipStreamWaitValue).
struct ValueWork {
    bool wait = false;
    void* pointer = nullptr;
    std::size_t bytes = 4;  // or 8
    std::uint64_t value = 0, mask = ~0ULL;
    unsigned comparison = 0;  // at least, equal, and, nor
};
/// In the order of hipGraphNodeType, which has two kinds for external semaphores before the last three here; values are in no graph.
using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork, AllocateWork, FreeWork, ValueWork>;

/// Device address and size of the variable whose host shadow is `symbol`.
abi::Error symbol_range(Runtime& runtime, const void* symbol, std::uint64_t& address, std::size_t& bytes);
CopyWork copy_work(void* to, const void* from, std::size_t bytes, int kind);
FillWork fill_work(void* to, unsigned value, unsigned element, std::size_t count);

struct GraphNode {
    Graph* graph = nullptr;
    Work work;
    std::vector<GraphNode*> before;  // nodes that must have ended
    GraphNode* original = nullptr;   // of a clone
    bool enabled = true;             // a node that is not runs as an empty one
};

/// An object of the program that `destroy` ends with its last reference.
struct UserObject {
    void* pointer;
    void (*destroy)(void*);
    UserObject(void* pointer, void (*destroy)(void*)) : pointer(pointer), destroy(destroy) {}
    ~UserObject() { destroy(pointer); }
    UserObject(const UserObject&) = delete;
    UserObject& operator=(const UserObject&) = delete;
};

struct Graph {
    std::vector<std::unique_ptr<GraphNode>> nodes;
    std::vector<std::shared_ptr<UserObject>> objects;
    unsigned long long flags = 0;  // of hipGraphInstantiateWithFlags

    GraphNode* add(Work work, std::vector<GraphNode*> before);
    [[nodiscard]] bool holds(const GraphNode* node) const;
    /// A copy whose nodes know which ones they were made from.
    [[nodiscard]] std::shared_ptr<Graph> clone() const;
    /// The node made from `original`, nullptr when there is none.
    [[nodiscard]] GraphNode* copy_of(const GraphNode* original) const;
    /// Every node after all that it waits for; empty with nodes in the graph when they wait for each other in a ring.
    [[nodiscard]] std::vector<GraphNode*> order() const;
};

enum CaptureMode { kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed };
/// How strictly captures bind the calling thread.
inline thread_local int thread_capture_mode = kCaptureGlobal;

/// A stream, and those that joined it through events, being recorded.
struct StreamCapture {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::size_t first = 0;  // nodes of the graph that were there before
    Stream* origin = nullptr;
    std::set<Stream*> joined;
    std::uint64_t id = 0;
    int mode = kCaptureGlobal;
    std::thread::id thread = std::this_thread::get_id();
    bool invalid = false;
};

/// Put work into a stream: run it at its place in modelled time, or record it when the stream is being captured.
abi::Error submit(Runtime& runtime, Stream* stream, Work work);
/// Run it now.
abi::Error run(Runtime& runtime, Stream& stream, const Work& work);
/// Run all nodes of a graph in `stream`. Nodes that do not wait for each other may overlap in modelled time.
abi::Error run_graph(Runtime& runtime, Stream& stream, const Graph& graph);

}  // namespace hipscope
